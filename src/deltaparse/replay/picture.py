"""SVG picture of a tally: bars of classes by model, format, tool and truncation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html import escape

from .tables import TITLES, answer, columns
from .tally import Tally

__all__ = ["picture"]

COLOURS = {
    "same": "#4c9f70",
    "whitespace": "#a8d5ba",
    "merge": "#f3d27a",
    "order": "#e9b44c",
    "leak": "#e4803a",
    "loss": "#d9503f",
    "arguments": "#b8336a",
    "call_lost": "#8f2d56",
    "call_invented": "#5c1a6b",
    "not compared": "#b9bfc6",
}
BLAMED = {
    "parser": ("the parser", COLOURS["call_lost"]),
    "model": ("the model", "#3b6fb6"),
    "limit": ("the token limit", COLOURS["not compared"]),
    "nobody": ("no fault", COLOURS["same"]),
}
INK, PALE = "#202124", "#e3e5e8"
LABELS, PLOT, VALUES, MARGIN = 220, 460, 90, 20
ROW, HEAD, TOP = 20, 30, 96
MOST = 12
"""Maximum number of bars of one kind. The most frequent ones are drawn."""

STYLE = f"text{{font:12px system-ui,'DejaVu Sans',sans-serif;fill:{INK}}}.title{{font-size:17px;"
STYLE += "font-weight:600}.head{font-weight:600}"


def picture(tally: Tally) -> str:
    """Return a tally as an SVG document. Bars show shares of the outputs of their rows."""
    kinds = columns(tally)
    parts, y = list(_legend(kinds)), TOP
    if tally.verdicts:
        y += HEAD + ROW * len(tally.verdicts)
        parts += _blamed(tally.verdicts)
    for title, rows in _groups(tally):
        parts.append(_text(MARGIN, y + 18, title, 'class="head" '))
        y += HEAD
        for name, counts in rows:
            parts += _bar(name, counts, kinds, y)
            y += ROW
    width, height = LABELS + PLOT + VALUES + 2 * MARGIN, y + MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}"><style>{STYLE}</style>'
        f'<rect width="{width}" height="{height}" fill="white"/>'
        f'<text class="title" x="{MARGIN}" y="30">{tally.records} outputs, replayed</text>'
        f'<text x="{MARGIN}" y="52">{escape(answer(tally))}</text>'
    )
    return "\n".join((head, *parts, "</svg>\n"))


def _groups(tally: Tally) -> Iterator[tuple[str, list[tuple[str, Counter[str]]]]]:
    """Yield each heading with its rows, the most frequent first."""
    yield "all", [("", tally.by[""].get("", Counter()))]
    for kind, title in TITLES.items():
        rows = sorted(tally.by[kind].items(), key=lambda row: (-row[1].total(), row[0]))
        if rows:
            yield title, rows[:MOST]


def _blamed(verdicts: Counter[str]) -> Iterator[str]:
    """Draw one bar per culprit, scaled to its share."""
    yield _text(MARGIN, TOP + 18, "fault of", 'class="head" ')
    y = TOP + HEAD
    for name, words in BLAMED.items():
        if verdicts[name]:
            width = PLOT * verdicts[name] / verdicts.total()
            yield _text(LABELS, y + 13, words[0], 'text-anchor="end" ')
            yield _rect(LABELS + MARGIN, y, PLOT, PALE)
            yield _rect(LABELS + MARGIN, y, width, words[1])
            yield _text(LABELS + PLOT + MARGIN + 8, y + 13, str(verdicts[name]))
            y += ROW


def _text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text {more}x="{x}" y="{y}">{escape(words)}</text>'


def _rect(x: float, y: float, width: float, colour: str, inner: str = "") -> str:
    end = f">{inner}</rect>" if inner else "/>"
    size = f'width="{width:.1f}" height="{ROW - 6}"'
    return f'<rect x="{x:.1f}" y="{y + 2}" {size} fill="{colour}"{end}'


def _legend(kinds: list[str]) -> Iterator[str]:
    x = MARGIN
    for kind in kinds:
        yield f'<rect x="{x}" y="68" width="12" height="12" fill="{COLOURS[kind]}"/>'
        yield f'<text x="{x + 17}" y="78">{kind}</text>'
        x += 30 + 7 * len(kind)


def _bar(name: str, counts: Counter[str], kinds: list[str], y: int) -> Iterator[str]:
    total = counts.total()
    label = name if len(name) <= 28 else f"{name[:25]}..."
    yield _text(LABELS, y + 13, label, 'text-anchor="end" ')
    x = float(LABELS + MARGIN)
    yield _rect(x, y, PLOT, PALE)
    for kind in kinds:
        if counts[kind]:
            width = PLOT * counts[kind] / total
            title = f"<title>{kind}: {counts[kind]}</title>"
            yield _rect(x, y, width, COLOURS[kind], title)
            x += width
    yield _text(LABELS + PLOT + MARGIN + 8, y + 13, str(total))
