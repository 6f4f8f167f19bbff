"""Text of an inspection for a terminal: each stretch of the raw text with its role."""

from __future__ import annotations

from collections.abc import Iterator

from .inspection import Inspection
from .shown_text import NAMES, headline, readable, stretches

__all__ = ["text_picture"]

COLOURS = {
    "content": "",
    "reasoning": "3;35",
    "name": "1;32",
    "arguments": "34",
    "marker": "2",
    "end": "2",
    "dropped": "9;31",
    "unread": "9;2",
}
"""Escape codes of the roles. The names in the margin give the same information without color."""

MARGIN = 10


def text_picture(inspection: Inspection, *, colour: bool = False) -> str:
    """Return the raw text with the role of each stretch, the calls and the issues."""
    return "".join(f"{line}\n" for line in _lines(inspection, colour))


def _lines(inspection: Inspection, colour: bool) -> Iterator[str]:
    yield headline(inspection)
    if inspection.note:
        yield readable(inspection.note)
    if inspection.error:
        yield f"error: {readable(inspection.error)}"
    yield ""
    for role, text in stretches(inspection):
        lines = text.removesuffix("\n").split("\n")
        for number, line in enumerate(lines):
            label = NAMES[role] if not number else ""
            code = COLOURS[role]
            shown = f"\x1b[{code}m{line}\x1b[0m" if colour and code and line else line
            yield f"{label:>{MARGIN}} │ {shown}".rstrip()
    if inspection.attempts:
        yield ""
        for one in inspection.attempts:
            why = f": {_one_line(one.detail)}" if one.detail else ""
            yield f"{'call':>{MARGIN}} │ {_one_line(one.name) or 'no name'}, {one.status}{why}"
    if inspection.issues:
        yield ""
        for step, issue in inspection.issues:
            at = f"at {issue.span[0]}-{issue.span[1]}, chunk {step}"
            yield f"{'issue':>{MARGIN}} │ {issue.kind} {at}: {_one_line(issue.detail)}"


def _one_line(text: str) -> str:
    return readable(text).replace("\n", "\\n")
