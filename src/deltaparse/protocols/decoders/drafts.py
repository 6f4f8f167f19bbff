"""The parts of a message while events extend them, and the final message."""

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
    """A growing part. `complete` is the protocol's statement about a call, or None."""

    kind: type[Part]
    call_id: str = ""
    name: str = ""
    complete: bool | None = None
    text: StringIO = field(default_factory=StringIO)

    def replace(self, text: str) -> None:
        """Replace the text, which may have been incomplete."""
        self.text = StringIO()
        self.text.write(text)

    def is_another(self, call_id: Any, name: Any) -> bool:
        """Return True if id or name are of another call. Some servers reuse an index."""
        return bool(call_id and name and self.call_id and str(call_id) != self.call_id)

    def identify(self, call_id: Any, name: Any) -> None:
        """Set the id and the name of a call, which some servers repeat, delay, or split.

        A repeated name is the same one, and other text continues it.
        """
        self.call_id = self.call_id or str(call_id or "")
        if name and name != self.name:
            self.name += name

    def part(self, *, cut: bool, last: bool) -> Part:
        """Return the part. The last part of a `cut` message may be truncated."""
        text = self.text.getvalue()
        if self.kind is not ToolCall:
            return Content(text) if self.kind is Content else Reasoning(text)
        bare = not text.strip()
        whole = not (cut and (last or bare)) if self.complete is None else self.complete
        if whole and bare:
            text = "{}"  # servers may send no text for empty arguments
        return ToolCall(self.call_id, self.name, text, whole and _is_object(text))


@dataclass(slots=True)
class Outcome:
    """The end of a stream: `natural` is None until an event has the reason."""

    natural: bool | None = None
    errors: list[str] = field(default_factory=list)

    def ends(self, reason: Reason) -> None:
        """Set the finish reason, in the terms of any engine or protocol."""
        self.natural = how_it_ended(reason_text(reason)) == "natural"

    def message(self, drafts: Iterable[Draft]) -> Message:
        """Return the message of the drafts, without empty parts."""
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
    """Return the text of a server's error."""
    if isinstance(error, dict):
        return str(error.get("message") or error)
    return str(error)


def text_of(value: Any) -> str:
    """Return the text of a string, or of a list of parts."""
    if isinstance(value, list):
        return "".join(str(part.get("text") or "") for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, parse_constant=_refuse), dict)
    except (ValueError, RecursionError):
        return False


def _refuse(word: str) -> None:
    """Refuse numbers that Python reads and JSON does not allow, such as NaN."""
    raise ValueError(word)
