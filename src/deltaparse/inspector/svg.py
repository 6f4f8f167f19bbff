"""SVG picture of an inspection for documents: the raw text with its roles, and a legend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from .inspection import Inspection
from .shown_text import NAMES, headline, readable, stretches, width

__all__ = ["svg_picture"]

COLUMNS = 96
MOST_LINES = 60
"""Maximum number of lines of raw text in a picture. A note counts the omitted lines."""

CELL, LINE, MARGIN, TOP = 7.8, 24, 28, 84
MOST_ISSUES = 6

Run = tuple[str, int, str, int]
"""A role, the first column of the run, its text, and its width in columns."""

UNDER: dict[str, tuple[float, ...]] = {
    "reasoning": (5,),
    "arguments": (5,),
    "name": (4, 6.5),
    "dropped": (-4,),
    "unread": (-4,),
}
"""Vertical offsets of lines under or through a text, so that roles differ without colors."""

STYLE = """\
.paper{fill:#fff}.ink,.content{fill:#1f1f1d}.soft{fill:#62605a}.line{stroke:#dedcd5}
text{font:13px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}
text.ui{font:13px system-ui,'DejaVu Sans',sans-serif}text.title{font-size:15px;font-weight:650}
.reasoning{fill:#4d3877;font-style:italic}.name{fill:#22683f;font-weight:700}
.arguments{fill:#1f1f1d}.marker,.end{fill:#5d5b55}.dropped,.unread{fill:#a3321f}.flag{fill:#a3321f}
rect.reasoning{fill:#f3eef9}rect.name{fill:#e2f1e7}rect.arguments{fill:#e7f0f9}
rect.dropped,rect.unread{fill:#faeae6}rect.marker,rect.end{fill:#eeece6;stroke:#5d5b55}
rect.end{stroke-dasharray:3 2}path[class]{fill:none;stroke-width:1.4}
path.reasoning{stroke:#6a4c9c;stroke-dasharray:2 2}path.name{stroke:#22683f}
path.arguments{stroke:#23609f}path.dropped,path.unread{stroke:#a3321f}
@media(prefers-color-scheme:dark){.paper{fill:#1e2022}.ink,.content,.arguments{fill:#e9e6df}
.soft{fill:#aaa69c}.line{stroke:#36383b}.reasoning{fill:#d4c1f5}.name{fill:#8fd3a8}.marker,.end{fill:#b5b1a6}
.dropped,.unread,.flag{fill:#f09a86}rect.reasoning{fill:#2a2337}rect.name{fill:#1c3326}rect.arguments{fill:#1b2c3e}
rect.marker,rect.end{fill:#2b2c2e;stroke:#8d8a82}rect.dropped,rect.unread{fill:#3a221d}
path.reasoning{stroke:#c3a8ee}path.name{stroke:#8fd3a8}path.arguments{stroke:#92c1f0}
path.dropped,path.unread{stroke:#f09a86}}"""


def svg_picture(inspection: Inspection, *, most: int = MOST_LINES) -> str:
    """Return an SVG document of the first `most` lines, with a light and a dark color scheme."""
    parts: list[str] = []
    y, left = TOP, 0
    for number, line in enumerate(_wrapped(stretches(inspection))):
        if number >= most:
            left += 1
            continue
        for run in line:
            parts += _drawn(run, y)
        y += LINE
    if left:
        parts.append(_words(f"and {left:,} line{'s' * (left != 1)} more", y, "ui soft"))
        y += LINE
    y += 8
    for step, issue in inspection.issues[:MOST_ISSUES]:
        words = f"⚑ {issue.kind}, chunk {step}: {readable(issue.detail)}".replace("\n", " ")
        parts.append(_words(_cut(words), y, "ui flag"))
        y += LINE
    if len(inspection.issues) > MOST_ISSUES:
        more = len(inspection.issues) - MOST_ISSUES
        parts.append(_words(f"and {more} more", y, "ui soft"))
        y += LINE
    y += 6
    parts += _legend([span.role for span in inspection.spans], y)
    wide, high = COLUMNS * CELL + 2 * MARGIN, y + 24
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high}" '
        f'viewBox="0 0 {wide:.0f} {high}" role="img">\n'
        f"<title>{escape(headline(inspection))}</title>\n<style>{STYLE}</style>\n"
        f'<rect class="paper" width="100%" height="100%" rx="10"/>'
    )
    title, _, facts = headline(inspection).partition(" · ")
    top = [_words(_cut(title), 32, "ui title ink"), _words(_cut(facts), 52, "ui soft")]
    return "\n".join([head, *top, *parts, "</svg>\n"])


def _wrapped(spans: Iterable[tuple[str, str]]) -> Iterator[list[Run]]:
    """Yield the runs of each line, wrapped at `COLUMNS`."""
    line: list[Run] = []
    column = 0
    for role, text in spans:
        start, run = column, list[str]()
        for char in text:
            size = width(char)
            if char == "\n" or column + size > COLUMNS:
                if run:
                    line.append((role, start, "".join(run), column - start))
                yield line
                line, run, start, column = [], [], 0, 0
                if char == "\n":
                    continue
            run.append(char)
            column += size
        if run:
            line.append((role, start, "".join(run), column - start))
    if line:
        yield line


def _drawn(run: Run, y: float) -> Iterator[str]:
    """Yield the elements of a run: its background, its text and its lines."""
    role, column, text, columns = run
    x, wide = MARGIN + column * CELL, columns * CELL
    if role in ("marker", "end"):
        box = f'x="{x + 0.5:.1f}" y="{y - 14.5:.1f}" width="{wide - 1:.1f}" height="19" rx="3"'
    else:
        box = f'x="{x:.1f}" y="{y - 14:.1f}" width="{wide:.1f}" height="19"'
    if role != "content":
        yield f'<rect class="{role}" {box}/>'
    yield (
        f'<text class="{role}" xml:space="preserve" x="{x:.1f}" y="{y}" textLength="{wide:.1f}" '
        f'lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
    )
    for below in UNDER.get(role, ()):
        yield f'<path class="{role}" d="M{x:.1f} {y + below - 0.5}h{wide:.1f}"/>'


def _legend(roles: Iterable[str], y: float) -> Iterator[str]:
    yield f'<path class="line" d="M{MARGIN} {y - 18}h{COLUMNS * CELL:.0f}"/>'
    column, known = 0, set(roles)
    for role, name in NAMES.items():
        if role in known:
            yield from _drawn((role, column, name, len(name)), y)
            column += len(name) + 3


def _words(text: str, y: float, kind: str) -> str:
    return f'<text class="{kind}" x="{MARGIN}" y="{y}">{escape(text)}</text>'


def _cut(text: str) -> str:
    return text if len(text) <= COLUMNS + 10 else f"{text[: COLUMNS + 10]}…"
