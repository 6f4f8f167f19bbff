"""Test cases for the servers: built-in formats, prompts, outputs, and chunkings."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2] / part) for part in ("src", "")]

from tests.strategies.wire_named import TOOLS, WIRES  # noqa: E402

from deltaparse import WireFormat, get_format, parse  # noqa: E402

__all__ = [
    "FUNCTIONS",
    "STRAY",
    "Case",
    "Expected",
    "Reader",
    "Tokens",
    "cases",
    "cases_of",
    "cuts",
]

FUNCTIONS = [{"type": "function", "function": tool} for tool in TOOLS]
STRAY = "<|stray_of_no_format|>"
Expected = tuple[str, str, list[tuple[str, str]]]
"""Content, reasoning, and the names and arguments of the calls."""


@dataclass(frozen=True)
class Case:
    """One output for one prompt."""

    name: str
    fmt: WireFormat
    prompt_kind: str
    prompt: str
    kind: str
    text: str

    @property
    def expected(self) -> Expected:
        """The result of our own parser."""
        message = parse(self.text, self.fmt, tools=TOOLS, prompt=self.prompt, finish_reason="stop")
        calls = [(call.name, call.arguments) for call in message.tool_calls]
        return message.content, message.reasoning_content, calls


@dataclass(frozen=True)
class Reader:
    """A server's own parsers for a name.

    Args:
        calls: True if the name has a parser of calls.
        thinks: True if the name has a parser of reasoning.
        read: returns their results for an output, in each state that a request can select.
    """

    calls: bool
    thinks: bool
    read: Callable[[Case], Iterable[Expected]]

    def reads(self, case: Case) -> bool:
        """Return True if the parsers cover all parts of an output."""
        thinks = any(
            text.strip() and text.strip() in case.text for text in case.fmt.reasoning.pairs[0]
        )
        return (self.calls or not case.expected[2]) and (self.thinks or not thinks)


class Tokens:
    """A tokenizer with a token for each special token of a format and for each other character."""

    chat_template = None

    def __init__(self, fmt: WireFormat) -> None:
        self.all_special_tokens = [*dict.fromkeys((*fmt.preserved_tokens, STRAY))]
        self._special = {0x200000 + at: text for at, text in enumerate(self.all_special_tokens)}
        self._ids = {text: id for id, text in self._special.items()}
        longest = sorted(map(re.escape, self._ids), key=len, reverse=True)
        self._pattern = re.compile("|".join([*longest, r"[\s\S]"]))
        self.all_special_ids = list(self._special)

    def encode(self, text: str, **options: object) -> list[int]:
        """Return the tokens of a text."""
        del options
        return [self._ids.get(part) or ord(part) for part in self._pattern.findall(text)]

    def decode(self, ids: list[int], **options: object) -> str:
        """Return the text of tokens."""
        del options
        texts = (self._special.get(id) or chr(id) for id in ids)
        return "".join(texts)

    def get_vocab(self) -> dict[str, int]:
        """Return the special tokens."""
        return dict(self._ids)

    def convert_tokens_to_ids(self, token: str) -> int | None:
        """Return the id of a special token."""
        return self._ids.get(token)


def cases() -> Iterator[Case]:
    """Yield the cases of each built-in format."""
    for name in sorted(WIRES):
        yield from cases_of(name, get_format(name))


def cases_of(name: str, fmt: WireFormat) -> Iterator[Case]:
    """Yield the outputs of one format after each of its prompts."""
    wire = WIRES[name]
    header = next(iter(fmt.turn.headers), "")
    for kind in wire._fields:
        text = getattr(wire, kind) + (wire.one if kind == "before_calls" else "")
        if not text:
            continue
        own = fmt.turn.generation_prompt or header
        yield Case(name, fmt, "own", own, kind, text)
        start, end = fmt.reasoning.start, fmt.reasoning.end
        if not start.strip() or fmt.derived.has_channels or not header:
            # Our parser ignores a prompt without a header, but servers read its end.
            continue
        if "hm" in text and text.lstrip().startswith(start.strip()):
            rest = text.lstrip().removeprefix(start.strip()).lstrip()
            yield Case(name, fmt, "opened", header + start, kind, rest)
        if "hm" not in text:
            closed = text.removeprefix(end.strip())
            yield Case(name, fmt, "closed", header + start + end, kind, closed)


def cuts(ids: list[int], seed: str) -> Iterator[tuple[str, list[list[int]]]]:
    """Yield five chunkings of an output, each split between tokens."""
    yield "whole", [ids]
    yield "each token", [[id] for id in ids]
    for size in (2, 7):
        yield f"by {size}", [ids[at : at + size] for at in range(0, len(ids), size)]
    chance = random.Random(seed)
    parts: list[list[int]] = [[]]
    for id in ids:
        if chance.random() < 0.2:
            parts.append([])
        parts[-1].append(id)
    yield "anyhow", [part for part in parts if part]
