"""A tally as a picture: bars of classes by model, format, tool and truncation, in SVG."""

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
INK, PALE = "#202124", "#e3e5e8"
LABELS, PLOT, VALUES, MARGIN = 220, 460, 90, 20
ROW, HEAD, TOP = 20, 30, 96
MOST = 12
"""Bars of one kind, the most frequent."""

STYLE = f"text{{font:12px system-ui,'DejaVu Sans',sans-serif;fill:{INK}}}.title{{font-size:17px;"
STYLE += "font-weight:600}.head{font-weight:600}"


def picture(tally: Tally) -> str:
    """Return the SVG document of a tally: each bar is a share of the outputs of its row."""
    kinds = columns(tally)
    parts = list(_legend(kinds))
    y = TOP
    for title, rows in _groups(tally):
        parts.append(f'<text class="head" x="{MARGIN}" y="{y + 18}">{escape(title)}</text>')
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
    """The bars under each heading, the most frequent first."""
    yield "all", [("", tally.by[""].get("", Counter()))]
    for kind, title in TITLES.items():
        rows = sorted(tally.by[kind].items(), key=lambda row: (-row[1].total(), row[0]))
        if rows:
            yield title, rows[:MOST]


def _legend(kinds: list[str]) -> Iterator[str]:
    x = MARGIN
    for kind in kinds:
        yield f'<rect x="{x}" y="68" width="12" height="12" fill="{COLOURS[kind]}"/>'
        yield f'<text x="{x + 17}" y="78">{kind}</text>'
        x += 30 + 7 * len(kind)


def _bar(name: str, counts: Counter[str], kinds: list[str], y: int) -> Iterator[str]:
    total = counts.total()
    label = name if len(name) <= 28 else f"{name[:25]}..."
    yield f'<text x="{LABELS}" y="{y + 13}" text-anchor="end">{escape(label)}</text>'
    x = float(LABELS + MARGIN)
    yield f'<rect x="{x}" y="{y + 2}" width="{PLOT}" height="{ROW - 6}" fill="{PALE}"/>'
    for kind in kinds:
        if counts[kind]:
            width = PLOT * counts[kind] / total
            yield (
                f'<rect x="{x:.1f}" y="{y + 2}" width="{width:.1f}" height="{ROW - 6}" '
                f'fill="{COLOURS[kind]}"><title>{kind}: {counts[kind]}</title></rect>'
            )
            x += width
    yield f'<text x="{LABELS + PLOT + MARGIN + 8}" y="{y + 13}">{total}</text>'
