"""Charts of a run's figures: bars on a logarithmic axis, in SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from families import COLUMNS, FAMILIES
from partial import FLOOR
from results import Results
from targets import TARGETS

__all__ = ["draw", "draw_short"]

OURS, PRIMITIVE, THEIRS = "#1f6feb", "#79a8e8", "#9aa0a6"
INK, PALE, MARK = "#202124", "#e3e5e8", "#d93025"
LABELS, PLOT, VALUES, GAP = 150, 400, 80, 40
SHORT = 560
ROW, HEAD, TOP, BOTTOM, MARGIN = 16, 24, 110, 44, 20
STYLE = (
    "text{font:12px system-ui,'DejaVu Sans',sans-serif;fill:" + INK + "}"
    ".title{font-size:17px;font-weight:600}.head{font-weight:600}.small{font-size:11px}"
)
NAMES = {"ijson.backends.yajl2_c": "ijson (yajl2_c)", "ijson.backends.python": "ijson (python)"}

NOTES = (
    "transformers emits a call as raw text, and its arguments when it has ended.",
    "jiter, pydantic_core, partial_json_parser and json_repair read all that has come again for",
    "each chunk; ijson and deltaparse.partial are fed chunks. They read the arguments alone.",
)


@dataclass(frozen=True)
class Bar:
    """One reader, its cost in floors, and its target."""

    name: str
    floors: float
    colour: str
    target: float | None = None


@dataclass(frozen=True)
class Group:
    """Bars under one heading."""

    title: str
    bars: Sequence[Bar]


def target(kind: str) -> float | None:
    """Return the target of a kind of workload, in floors."""
    limits = (row.limit for row in TARGETS if row.figure == "floors" and row.kind == kind)
    return next(limits, None)


def workloads(results: Results) -> Iterator[Group]:
    """Group the readers by workload. A string argument in a large text has its own group."""
    for row in results.streams:
        yield Group(row.workload, bars(results, row.workload, row.kind, row.four))
        if row.kind == "string":
            title = f"{row.workload}, {results.settings.large:,}"
            found = bars(results, title, row.kind, row.four_large, large=True)
            yield Group(f"{title} characters", found)


def bars(
    results: Results, text: str, kind: str, ours: float, *, large: bool = False
) -> Sequence[Bar]:
    """Return the bars of one text."""
    found = [Bar("deltaparse", ours, OURS, target(kind))]
    theirs = results.transformers_large if large else results.transformers
    name = text.partition(",")[0] if large else text
    if name in theirs:
        found.append(Bar("transformers", theirs[name].floors, THEIRS))
    for row in results.primitives:
        if row.workload == text and row.reader != FLOOR and "," not in row.reader:
            colour = PRIMITIVE if row.reader.startswith("Json") else THEIRS
            found.append(Bar(NAMES.get(row.reader, row.reader), row.cost.floors, colour))
    return found


def families(results: Results) -> Iterator[Group]:
    """Group our formats by column, for all families."""
    for column in COLUMNS:
        found = [
            Bar(name, row[column].floors, OURS, target(FAMILIES[name][column].kind))
            for name, row in results.families.items()
            if column in row
        ]
        yield Group(f"{column}, by format", found)


def draw(results: Results) -> str:
    """Return the chart as SVG."""
    left, right = list(workloads(results)), list(families(results))
    width = 2 * (LABELS + PLOT + VALUES) + GAP + 2 * MARGIN
    height = TOP + max(tall(left), tall(right)) + BOTTOM
    second = MARGIN + LABELS + PLOT + VALUES + GAP
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">',
            f"<style>{STYLE}</style>",
            f'<rect width="{width}" height="{height}" fill="white"/>',
            words(MARGIN, 34, "What a chunk of four characters costs", "title"),
            words(
                MARGIN,
                56,
                "In floors: a floor is a generator in Python that returns a list with one "
                "delta. Less is better; the axes are logarithmic.",
            ),
            words(MARGIN, 74, f"{results.where}."),
            *legend(MARGIN, 94),
            *panel(MARGIN, left),
            *panel(second, right),
            *notes(second, TOP + tall(right) + 70),
            "</svg>",
        ]
    )


def draw_short(results: Results) -> str:
    """Return the README's chart as SVG: all parsers, in microseconds as in `readme`."""
    theirs = {"transformers": results.transformers, **results.servers}
    groups = []
    for row in results.streams:
        found = [Bar("deltaparse", row.microseconds, OURS)]
        found += [
            Bar(name, costs[row.workload].floors * row.microseconds / row.four, THEIRS)
            for name, costs in theirs.items()
            if row.workload in costs
        ]
        groups.append(Group(row.workload, found))
    width, height = LABELS + SHORT + VALUES + 2 * MARGIN, TOP + tall(groups) + BOTTOM
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">',
            f"<style>{STYLE}</style>",
            f'<rect width="{width}" height="{height}" fill="white"/>',
            words(MARGIN, 34, "What a chunk of four characters costs, in microseconds", "title"),
            words(MARGIN, 56, "Less is better; the axis is logarithmic. Servers' parsers read all"),
            words(
                MARGIN,
                72,
                f"again for some chunks: in texts of {results.settings.small:,} characters.",
            ),
            words(MARGIN, 92, f"{results.where}.", "small"),
            *panel(MARGIN, groups, wide=SHORT, least=-1, unit="microseconds"),
            "</svg>",
        ]
    )


def notes(x: float, y: float) -> Iterator[str]:
    """Draw the notes about other parsers."""
    for line in NOTES:
        yield words(x, y, line, "small")
        y += ROW


def legend(x: float, y: float) -> Iterator[str]:
    """Draw the legend of the colors."""
    for colour, name in (
        (OURS, "deltaparse, the parser"),
        (PRIMITIVE, "deltaparse.partial, JSON alone"),
        (THEIRS, "others"),
    ):
        yield f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{colour}"/>'
        yield words(x + 15, y, name, "small")
        x += 36 + 5.8 * len(name)
    yield f'<path d="M{x + 5} {y - 10}v12" stroke="{MARK}" stroke-width="2"/>'
    yield words(x + 15, y, "to reach", "small")


def tall(groups: Sequence[Group]) -> int:
    """Return the height of groups."""
    return sum(HEAD + ROW * len(group.bars) for group in groups)


def panel(
    x: float, groups: Sequence[Group], *, wide: int = PLOT, least: int = 0, unit: str = "floors"
) -> Iterator[str]:
    """Draw a column of groups on one axis, which begins at a power of ten."""
    most = max(bar.floors for group in groups for bar in group.bars)
    highest = max(math.ceil(math.log10(most)), least + 1)
    axis = x + LABELS
    bottom = TOP + tall(groups)

    def at(floors: float) -> float:
        return axis + wide * min(max((math.log10(floors) - least) / (highest - least), 0), 1)

    for power in range(least, highest + 1):
        yield f'<path d="M{at(10**power):.1f} {TOP}V{bottom + 6}" stroke="{PALE}"/>'
        yield words(at(10**power), bottom + 20, tick(power), "small", "middle")
    y = TOP
    for one in groups:
        yield words(x, y + HEAD - 8, one.title, "head")
        y += HEAD
        for bar in one.bars:
            yield words(axis - 8, y + 12, bar.name, "small", "end")
            yield (
                f'<rect x="{axis}" y="{y + 2}" width="{max(at(bar.floors) - axis, 1):.1f}"'
                f' height="{ROW - 4}" fill="{bar.colour}"/>'
            )
            right = at(max(bar.floors, bar.target or 0))
            yield words(right + 6, y + 12, number(bar.floors), "small")
            if bar.target is not None:
                path = f"M{at(bar.target):.1f} {y}v{ROW}"
                yield f'<path d="{path}" stroke="{MARK}" stroke-width="2"/>'
            y += ROW
    yield words(axis + wide / 2, bottom + 36, unit, "small", "middle")


def tick(power: int) -> str:
    """Format a power of ten."""
    return f"{10**power:,}" if power < 6 else f"{10 ** (power - 6):,} M"


def number(floors: float) -> str:
    """Format a figure with three digits."""
    if floors >= 1e6:
        return f"{floors / 1e6:.3g} M"
    return f"{floors:,.0f}" if floors >= 100 else f"{floors:.{1 if floors >= 10 else 2}f}"


def words(x: float, y: float, text: str, style: str = "", anchor: str = "start") -> str:
    """Draw a line of text."""
    named = f' class="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}"{named}>{escape(text)}</text>'
