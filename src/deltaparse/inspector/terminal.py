"""A recording for a terminal: each stretch of the raw text on lines of its own, and what it was."""

from __future__ import annotations

from collections.abc import Iterator

from .recording import Recording
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
"""What terminals are told; the names beside the text say the same."""

MARGIN = 10


def text_picture(recording: Recording, *, colour: bool = False) -> str:
    """Return the raw text with what each stretch of it was, then its calls and its issues."""
    return "".join(f"{line}\n" for line in _lines(recording, colour))


def _lines(recording: Recording, colour: bool) -> Iterator[str]:
    yield headline(recording)
    if recording.note:
        yield readable(recording.note)
    if recording.error:
        yield f"error: {readable(recording.error)}"
    yield ""
    for role, text in stretches(recording):
        lines = text.removesuffix("\n").split("\n")
        for number, line in enumerate(lines):
            label = NAMES[role] if not number else ""
            code = COLOURS[role]
            shown = f"\x1b[{code}m{line}\x1b[0m" if colour and code and line else line
            yield f"{label:>{MARGIN}} │ {shown}".rstrip()
    if recording.attempts:
        yield ""
        for one in recording.attempts:
            why = f": {_one_line(one.detail)}" if one.detail else ""
            yield f"{'call':>{MARGIN}} │ {_one_line(one.name) or 'no name'}, {one.status}{why}"
    if recording.issues:
        yield ""
        for step, issue in recording.issues:
            at = f"at {issue.span[0]}-{issue.span[1]}, chunk {step}"
            yield f"{'issue':>{MARGIN}} │ {issue.kind} {at}: {_one_line(issue.detail)}"


def _one_line(text: str) -> str:
    return readable(text).replace("\n", "\\n")
