"""Record the parser's results for some thousands of outputs, and compare them with a recording.

    python tools/record_outputs.py --out build/before.jsonl    record
    python tools/record_outputs.py --compare build/before.jsonl    exit with 1 if a result differs

A refactoring must not change a result. The outputs are a turn in each built-in format and each
format of `tests/templates/formats.json`, complete, truncated, and with a part removed or repeated.
Each is parsed with one combination of options, as text and as token ids. A record has the deltas,
the message, the attempts, and the kind and span of each issue, but not its details.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import deltaparse as dp
from deltaparse.command.format_sample import sample

__all__ = ["cases", "main", "result"]

ROOT = Path(__file__).resolve().parents[1]
MARKER = re.compile(r"<[^<>\s]{1,40}>|\[[A-Z_/]{2,40}\]")
SIZES = (1, 3, 7, 10_000)
POLICIES: tuple[dict[str, str], ...] = (
    {},
    {"tool_in_reasoning": "call", "unknown_tool": "text", "text_after_tool_call": "drop"},
    {"malformed_arguments": "strict", "extra_calls": "drop", "unclosed_reasoning": "copy"},
    {"malformed_arguments": "text", "tool_in_reasoning": "reasoning", "extra_calls": "text"},
)
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"tools": "declared"},
    {"tools": "other"},
    {"tools": "declared", "parallel_tool_calls": False},
    {"tool_choice": "none", "tools": "declared"},
    {"reasoning": "inline"},
    {"reasoning": "raw", "tools": "declared"},
    {"calls": "json", "tools": "declared"},
)
OTHER = [{"type": "function", "function": {"name": "other", "parameters": {"type": "object"}}}]


def formats() -> Iterator[tuple[str, dp.WireFormat]]:
    """Yield the built-in formats, then those of the test templates."""
    for name in dp.list_formats():
        yield name, dp.get_format(name)
    file = ROOT / "tests" / "templates" / "formats.json"
    for name, fmt in sorted(json.loads(file.read_text(encoding="utf-8")).items()):
        yield name, dp.WireFormat.from_json(json.dumps(fmt))


def texts(text: str, rng: random.Random) -> Iterator[str]:
    """Yield a turn, truncated turns, and turns with a part removed, repeated or moved."""
    yield text
    for part in range(1, 12):
        yield text[: len(text) * part // 12]
    for _ in range(6):
        start, end = sorted(rng.sample(range(len(text) + 1), 2))
        yield text[:start] + text[end:]
        yield text[:end] + text[start:]
    markers = MARKER.findall(text) or ["\n"]
    for _ in range(4):
        at = rng.randrange(len(text) + 1)
        yield text[:at] + rng.choice(markers) + text[at:]
    yield text.replace('"', "'")
    yield "Hello.\n" + text + "\nBye."


def declared(fmt: dp.WireFormat, text: str) -> list[dict[str, Any]]:
    """Declare the functions that a turn calls, with arguments of several types."""
    types = ("string", "integer", "object", "boolean")
    tools = {}
    for call in dp.parse(text, fmt, finish_reason="stop").tool_calls:
        names = call.healed() if call.complete else {}
        properties = {key: {"type": types[at % 4]} for at, key in enumerate(names)}
        function = {"name": call.name, "parameters": {"type": "object", "properties": properties}}
        tools[call.name] = {"type": "function", "function": function}
    return list(tools.values())


def cases() -> Iterator[tuple[str, dp.WireFormat, str, int, dict[str, Any]]]:
    """Yield the name, the format, the text, the chunk size and the options of each case."""
    number = 0
    for name, fmt in formats():
        turn = sample(fmt)
        tools = declared(fmt, turn)
        for at, text in enumerate(texts(turn, random.Random(name))):
            options = dict(OPTIONS[number % len(OPTIONS)])
            kind = options.pop("tools", None)
            if kind:
                options["tools"] = tools if kind == "declared" else OTHER
            options["policies"] = dp.Policies(**POLICIES[number // len(OPTIONS) % len(POLICIES)])  # type: ignore[arg-type]
            yield f"{name} {at}", fmt, text, SIZES[number % len(SIZES)], options
            number += 1


def result(
    fmt: dp.WireFormat, text: str, size: int, options: dict[str, Any], *, ids: bool
) -> dict[str, Any]:
    """Parse a text and return the JSON of the record."""
    deltas: list[Any] = []
    try:
        parser: dp.StreamParser | dp.TokenParser
        if ids:
            vocabulary = vocabulary_of(text)
            encoded = encode(text, vocabulary)
            parser = dp.TokenParser(
                fmt, dp.Vocabulary(vocabulary, special=[*vocabulary][256:]), **options
            )
            for start in range(0, len(encoded), size):
                deltas += parser.feed(encoded[start : start + size])
        else:
            parser = dp.StreamParser(fmt, **options)
            for start in range(0, len(text), size):
                deltas += parser.feed(text[start : start + size])
        deltas += parser.finish("stop" if len(text) % 3 else "length")
    except dp.DeltaParseError as error:
        return {"error": type(error).__name__}
    made: dict[str, Any] = {
        "deltas": [delta.to_openai() for delta in deltas],
        "parts": [repr(part) for part in parser.message.parts],
        "finish_reason": parser.finish_reason,
        "attempts": [(a.name, a.span, a.status) for a in parser.attempts],
        "issues": [(issue.kind, issue.span) for issue in parser.issues],
    }
    if isinstance(parser, dp.TokenParser):
        made["roles"] = list(parser.roles)
    return made


def vocabulary_of(text: str) -> dict[int, bytes]:
    """Make a vocabulary of bytes, with a special token for each marker of a text."""
    markers = sorted(set(MARKER.findall(text)))
    tokens = [bytes([byte]) for byte in range(256)] + [marker.encode() for marker in markers]
    return dict(enumerate(tokens))


def encode(text: str, vocabulary: dict[int, bytes]) -> list[int]:
    """Encode a text: markers as special tokens, other text as bytes."""
    special = {token.decode(): at for at, token in vocabulary.items() if at > 255}
    ids: list[int] = []
    end = 0
    for found in MARKER.finditer(text):
        ids += [*text[end : found.start()].encode(), special[found[0]]]
        end = found.end()
    return [*ids, *text[end:].encode()]


def records() -> Iterator[str]:
    """Yield the records, a line of JSON each."""
    for name, fmt, text, size, options in cases():
        for ids in (False, True):
            made = result(fmt, text, size, options, ids=ids)
            yield json.dumps({"case": f"{name}{' ids' * ids}", "text": text, **made})


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--out", type=Path, help="write the records to FILE")
    group.add_argument("--compare", type=Path, help="compare the records with FILE")
    asked = parser.parse_args()
    if asked.out:
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        lines = list(records())
        asked.out.write_text("\n".join(lines), encoding="utf-8")
        print(f"{len(lines)} records written to {asked.out}")
        return 0
    different = total = 0
    old = asked.compare.read_text(encoding="utf-8").splitlines()
    for before, after in zip_longest(old, records()):
        total += 1
        if before != after:
            different += 1
            if different <= 5:
                print(f"before: {before}\nafter:  {after}\n")
    print(f"{different} of {total} records differ")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
