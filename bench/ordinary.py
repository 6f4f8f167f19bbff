"""Ordinary text as an answer, in every named format: how often it does not come out as it is.

    python bench/ordinary.py

The texts are this project's own: its documentation and sources, its JSON, pages of HTML, and chat
templates, which are full of markers. Each is read as the answer of a model that had tools, behind
its reasoning. Where no marker of the format stands in a text, it must come out as it went in. Where
one does, it may mean what it says: no parser that reads text alone can always tell.
"""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deltaparse import StreamParser, WireFormat, get_format, list_formats
from deltaparse.stream.request import behind_reasoning

__all__ = ["Row", "answered", "marker_in", "measure", "texts"]

ROOT = Path(__file__).parents[1]
CHUNK = 64
"""Characters that are fed at a time."""

TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("get_weather", "search_flights")
]


@dataclass(frozen=True)
class Row:
    """What became of the texts of one kind, each in each format.

    `plain` have no marker of the format in them, and `marked` do. Of both is said how many changed;
    `became` says what of the marked: reasoning, calls, or text that is gone. `held` is the most
    that was held back of a plain text at the end of a chunk.
    """

    kind: str
    texts: int
    plain: int
    plain_changed: int
    marked: int
    marked_changed: int
    became: Mapping[str, int]
    held: int


def texts() -> dict[str, list[str]]:
    """Return the texts of each kind."""
    documents = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
    written = [path.read_text(encoding="utf-8") for path in documents]
    return {
        "documentation": [part for text in written for part in sections(text)],
        "sources": [read(path) for path in sorted((ROOT / "partial").rglob("*.py"))],
        "JSON": [
            json.dumps({"name": "deltaparse", "version": "0.1.0", "parameters": {"a": [1, None]}}),
            json.dumps([{"id": number, "type": "function"} for number in range(9)], indent=2),
            *(read(path) for path in sorted((ROOT / "tests").glob("*.json"))),
        ],
        "HTML": [page(text) for text in written],
        "templates": [
            read(path) for path in sorted((ROOT / "tests" / "templates").glob("*.jinja"))
        ],
    }


def read(path: Path) -> str:
    """Return the text of a file, without white space round it."""
    return path.read_text(encoding="utf-8").strip()


def sections(text: str) -> Iterator[str]:
    """Yield the sections of a page in Markdown."""
    for section in text.split("\n## "):
        yield section.strip()


def page(text: str) -> str:
    """Write the paragraphs of a text as HTML."""
    body = "\n".join(f"<p>{html.escape(part)}</p>" for part in text.split("\n\n"))
    return (
        f"<!doctype html>\n<html><head><title>A page</title></head>\n<body>\n{body}\n</body></html>"
    )


def markers(fmt: WireFormat) -> Iterator[str]:
    """Yield the markers of a format, without white space round them."""
    turn, reasoning, content, channels = fmt.turn, fmt.reasoning, fmt.content, fmt.channels
    found: Iterable[str] = (
        *(*turn.headers, *turn.ends, reasoning.start, reasoning.end, content.start, content.end),
        *(*fmt.derived.openers, *fmt.derived.closers, fmt.code.start),
        *(channels.start, channels.message, channels.channel, *channels.ends),
    )
    return (marker.strip() for marker in found if marker.strip())


def marker_in(text: str, fmt: WireFormat) -> bool:
    """Whether a marker of the format stands in the text, or what its calls begin with."""
    return any(marker in text for marker in markers(fmt))


def answered(text: str, fmt: WireFormat) -> tuple[StreamParser, int]:
    """Read the text as an answer; return the parser, and the most that it held back."""
    fmt, prompt = behind_reasoning(fmt)
    if fmt.derived.has_channels:
        # An answer stands in a message of its own.
        channels = fmt.channels
        prompt = f"{fmt.turn.headers[0]}{channels.channel}final{channels.message}"
    parser = StreamParser(fmt, tools=TOOLS, prompt=prompt)
    emitted = most = 0
    for at in range(0, len(text), CHUNK):
        deltas = parser.feed(text[at : at + CHUNK])
        emitted += sum(len(getattr(delta, "text", "")) for delta in deltas)
        most = max(most, min(at + CHUNK, len(text)) - emitted)
    parser.finish("stop")
    return parser, most


def measure(names: Sequence[str] = ()) -> list[Row]:
    """Read all texts in the formats of these names, all of them if none are given."""
    formats = [get_format(name) for name in names or list_formats()]
    return [_row(kind, found, formats) for kind, found in texts().items()]


def _row(kind: str, found: Sequence[str], formats: Sequence[WireFormat]) -> Row:
    counted: Counter[str] = Counter()
    became: Counter[str] = Counter()
    held = 0
    for text in found:
        for fmt in formats:
            parser, most = answered(text, fmt)
            message = parser.message
            marked = marker_in(text, fmt)
            changed = message.content.strip() != text.strip()
            counted["marked" if marked else "plain"] += 1
            if changed:
                counted["marked changed" if marked else "plain changed"] += 1
            if not marked:
                held = max(held, most)
            elif changed:
                calls = "calls" if message.tool_calls else "text that is gone"
                became["reasoning" if message.reasoning_content else calls] += 1
    return Row(
        kind,
        len(found),
        counted["plain"],
        counted["plain changed"],
        counted["marked"],
        counted["marked changed"],
        dict(became),
        held,
    )


if __name__ == "__main__":
    for row in measure():
        print(row)
