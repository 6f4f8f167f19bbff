"""Check ordinary text as a response in every built-in format, and count changed texts.

    python bench/ordinary.py

The texts are from this project: documentation, sources, JSON, HTML pages, and chat templates with
many markers. Each is parsed as a response after reasoning, with tools declared. A text without a
marker of the format must be unchanged. A text with a marker is ambiguous, and cannot always be
recognized from the text alone.
"""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deltaparse import StreamParser, WireFormat, get_format, list_formats
from deltaparse.stream.request import after_reasoning

__all__ = ["Row", "answered", "marker_in", "measure", "texts"]

ROOT = Path(__file__).parents[1]
CHUNK = 64
"""Chunk size in characters."""

TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("get_weather", "search_flights")
]


@dataclass(frozen=True)
class Row:
    """The results for the texts of one kind, in all formats.

    `plain` counts texts without a marker of the format, `marked` the others. Both have a number of
    changed texts. `became` counts the results of changed marked texts: reasoning, calls, or lost
    text.
    `held` is the maximum of buffered characters of a plain text after a chunk.
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
    """Return the text of a file, without surrounding whitespace."""
    return path.read_text(encoding="utf-8").strip()


def sections(text: str) -> Iterator[str]:
    """Yield the sections of a Markdown page."""
    for section in text.split("\n## "):
        yield section.strip()


def page(text: str) -> str:
    """Return the paragraphs of a text as HTML."""
    body = "\n".join(f"<p>{html.escape(part)}</p>" for part in text.split("\n\n"))
    return (
        f"<!doctype html>\n<html><head><title>A page</title></head>\n<body>\n{body}\n</body></html>"
    )


def markers(fmt: WireFormat) -> Iterator[str]:
    """Yield the markers of a format, without surrounding whitespace."""
    turn, reasoning, content, channels = fmt.turn, fmt.reasoning, fmt.content, fmt.channels
    found: Iterable[str] = (
        *(*turn.headers, *turn.ends, reasoning.start, reasoning.end, content.start, content.end),
        *(*fmt.derived.openers, *fmt.derived.closers, fmt.code.start),
        *(channels.start, channels.message, channels.channel, *channels.ends),
    )
    return (marker.strip() for marker in found if marker.strip())


def marker_in(text: str, fmt: WireFormat) -> bool:
    """Return True if the text contains a marker of the format, or an opener of its calls."""
    return any(marker in text for marker in markers(fmt))


def answered(text: str, fmt: WireFormat) -> tuple[StreamParser, int]:
    """Parse the text as a response. Return the parser, and the maximum of buffered characters."""
    fmt, prompt = after_reasoning(fmt)
    if fmt.derived.has_channels:
        # In channels, content has its own message.
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
    """Parse all texts in the named formats, or in all formats."""
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
