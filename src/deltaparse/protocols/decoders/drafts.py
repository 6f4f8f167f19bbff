"""Parts of a message while events add to them, and the message that they come to."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

from deltaparse.stream import Content, Issue, Message, Part, Reasoning, ToolCall
from deltaparse.stream.finish_reasons import Reason, how_it_ended, reason_text

__all__ = ["Draft", "Outcome", "error_text", "text_of"]


@dataclass(slots=True)
class Draft:
    """A part that grows. `complete` is what the protocol says of a call, None for nothing."""

    kind: type[Part]
    call_id: str = ""
    name: str = ""
    complete: bool | None = None
    text: StringIO = field(default_factory=StringIO)

    def replace(self, text: str) -> None:
        """Take another text for the one that came, which may have been less."""
        self.text = StringIO()
        self.text.write(text)

    def is_another(self, call_id: Any, name: Any) -> bool:
        """Whether these are of another call, which some servers send with the same index."""
        return bool(call_id and name and self.call_id and str(call_id) != self.call_id)

    def identify(self, call_id: Any, name: Any) -> None:
        """Take the id and the name of a call, which some servers send again, or late, or in parts.

        A name that is sent again is the same one; what differs is more of it.
        """
        self.call_id = self.call_id or str(call_id or "")
        if name and name != self.name:
            self.name += name

    def part(self, *, cut: bool, last: bool) -> Part:
        """Return the part that it is, the last of its message or not, and that may be `cut` off."""
        text = self.text.getvalue()
        if self.kind is not ToolCall:
            return Content(text) if self.kind is Content else Reasoning(text)
        bare = not text.strip()
        whole = not (cut and (last or bare)) if self.complete is None else self.complete
        if whole and bare:
            text = "{}"  # a call without arguments may come without any text for them
        return ToolCall(self.call_id, self.name, text, whole and _is_object(text))


@dataclass(slots=True)
class Outcome:
    """How a stream ended: `natural` is None as long as no event says so."""

    natural: bool | None = None
    errors: list[str] = field(default_factory=list)

    def ends(self, reason: Reason) -> None:
        """Take why the turn ended, in the words of any engine or protocol."""
        self.natural = how_it_ended(reason_text(reason)) == "natural"

    def message(self, drafts: Iterable[Draft]) -> Message:
        """Return the message that the drafts come to; parts without text are none."""
        kept = [draft for draft in drafts if draft.kind is ToolCall or draft.text.tell()]
        parts = [
            draft.part(cut=not self.natural, last=place == len(kept))
            for place, draft in enumerate(kept, 1)
        ]
        issues = [Issue("stream_error", (0, 0), text) for text in self.errors]
        if self.natural is None and not issues:
            issues = [Issue("stream_cut", (0, 0), "the events end before the one that is last")]
        return Message(parts, tuple(issues))


def error_text(error: Any) -> str:
    """Return what a server says of an error."""
    if isinstance(error, dict):
        return str(error.get("message") or error)
    return str(error)


def text_of(value: Any) -> str:
    """Return a text that may be given as a list of parts, of which some may be no text."""
    if isinstance(value, list):
        return "".join(str(part.get("text") or "") for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, parse_constant=_refuse), dict)
    except (ValueError, RecursionError):
        return False


def _refuse(word: str) -> None:
    """Refuse what Python reads as a number and JSON does not have, such as NaN."""
    raise ValueError(word)
