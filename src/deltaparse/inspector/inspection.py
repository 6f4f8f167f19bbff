"""Inspection of an output: a recording of each chunk and its effects.

The recording is made in one pass and is incremental. It has the length of each chunk, the lengths
of its deltas and the changes of the parser's state. A viewer adds up the lengths, so the size of
the recording depends little on the size of the chunks.

Steps are numbered from 1: step k is the k-th chunk, and the last step is the end of the output.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from deltaparse.partial import MalformedOutput, TextDecoder
from deltaparse.stream import (
    Attempt,
    ContentDelta,
    Delta,
    Issue,
    ReasoningDelta,
    TokenParser,
    ToolCall,
)
from deltaparse.stream.finish_reasons import Reason, reason_text
from deltaparse.stream.tokens.traced_parser import TracedParser

from .why_held import WhyHeld

__all__ = ["Held", "InspectedPart", "Inspection", "Span", "inspect_output"]

Kind = Literal["content", "reasoning", "tool_call"]

TAIL = 256
"""Number of buffered characters that are searched for a reason."""


@dataclass(slots=True)
class InspectedPart:
    """Consecutive deltas of one kind, or of one call. `deltas` has pairs of step and length."""

    kind: Kind
    index: int = -1
    id: str = ""
    name: str = ""
    texts: list[str] = field(default_factory=list)
    deltas: list[tuple[int, int]] = field(default_factory=list)
    whole_at: int | None = None
    complete: bool = False
    repaired: bool = False

    @property
    def text(self) -> str:
        """Complete text of the part."""
        return "".join(self.texts)


@dataclass(frozen=True, slots=True)
class Held:
    """Number of buffered characters from a step on, and the reason."""

    step: int
    size: int
    why: str


@dataclass(frozen=True, slots=True)
class Span:
    """Stretch of the raw text with its token role, or "unread"."""

    start: int
    end: int
    role: str


@dataclass(slots=True)
class Inspection:
    """Recording of one output. Spans and lengths are in characters of `text`.

    Attributes:
        title: the name of the output.
        format: the name of the format.
        reason: the engine's finish reason.
        finish_reason: the parser's finish reason.
        text: the raw output.
        chunks: the number of characters received at each step, including the end.
        ids: the token ids, one per chunk, if the output has tokens.
        spans: the final role of each character, without gaps.
        states: pairs of a step and the state of the parser from this step on.
        held: the changes of the buffered text.
        parts: the parts of the message.
        issues: pairs of the step of a report and the issue.
        attempts: the attempted calls.
        note: a note for the reader.
        error: the error that stopped the parser, if any.
    """

    title: str
    format: str = ""
    reason: str | None = None
    finish_reason: str | None = None
    text: str = ""
    chunks: list[int] = field(default_factory=list)
    ids: list[int] | None = None
    spans: list[Span] = field(default_factory=list)
    states: list[tuple[int, str]] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    parts: list[InspectedPart] = field(default_factory=list)
    issues: list[tuple[int, Issue]] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    note: str = ""
    error: str = ""

    @property
    def steps(self) -> int:
        """Number of steps: the chunks and the end."""
        return len(self.chunks)


def inspect_output(
    parser: TracedParser | TokenParser,
    chunks: Iterable[str | bytes | int],
    reason: Reason = None,
    *,
    title: str = "output",
    format: str = "",
    token_text: Any = None,
) -> Inspection:
    """Parse an output and record the effects of each chunk.

    If a policy rejects the output, the pass ends, and the remaining text is "unread".

    Args:
        parser: a new parser.
        chunks: text or bytes for a `TracedParser`, token ids for a `TokenParser`.
        reason: the engine's finish reason.
        title: the name of the output.
        format: the name of the format.
        token_text: the vocabulary of a `TokenParser`.
    """
    pass_ = _Pass(parser, Inspection(title, format, reason_text(reason)), token_text)
    pass_.run(chunks, reason)
    return pass_.inspection


class _Pass:
    """One pass of a parser with its recording."""

    def __init__(
        self, parser: TracedParser | TokenParser, inspection: Inspection, token_text: Any
    ) -> None:
        self.inspection = inspection
        self._parser = parser
        self._token_text = token_text
        self._decoder = TextDecoder()
        self._texts: list[str] = []
        self._tail = ""
        self._why = WhyHeld(parser.format)
        self._held = 0, ""
        self._state = ""
        self._issue_steps: list[int] = []
        if token_text is not None:
            inspection.ids = []

    def run(self, chunks: Iterable[str | bytes | int], reason: Reason) -> None:
        """Feed all chunks and the end of the output."""
        parser, inspection = self._parser, self.inspection
        self._note_state(0)
        came = iter(chunks)
        try:
            for chunk in came:
                self._take(chunk)
                self._after(len(inspection.chunks), parser.feed(chunk))  # type: ignore[arg-type]
            self._came(self._decoder.finish())
            self._after(len(inspection.chunks), parser.finish(reason))
        except MalformedOutput as error:
            inspection.error = str(error)
            self._note_state(len(inspection.chunks))
        self._conclude(came)

    def _take(self, chunk: str | bytes | int) -> None:
        """Record the text of a chunk."""
        if isinstance(chunk, int):
            if self.inspection.ids is not None:
                self.inspection.ids.append(chunk)
            chunk = self._token_text[chunk]
        self._came(self._decoder.feed(chunk))  # type: ignore[arg-type]

    def _came(self, text: str) -> None:
        self._texts.append(text)
        self._tail = (self._tail + text)[-TAIL:] if len(text) < TAIL else text[-TAIL:]
        self.inspection.chunks.append(len(text))

    def _after(self, step: int, deltas: list[Delta]) -> None:
        """Record the deltas and the state of a step."""
        for delta in deltas:
            self._note_delta(step, delta)
        self._note_state(step)

    def _note_delta(self, step: int, delta: Delta) -> None:
        parts = self.inspection.parts
        last = parts[-1] if parts else None
        if isinstance(delta, ContentDelta | ReasoningDelta):
            kind: Kind = "content" if isinstance(delta, ContentDelta) else "reasoning"
            if last is None or last.kind != kind:
                last = InspectedPart(kind)
                parts.append(last)
            text = delta.text
        else:
            if last is None or last.index != delta.index:
                last = InspectedPart("tool_call", delta.index, delta.id or "", delta.name or "")
                parts.append(last)
            text = delta.arguments
            if delta.last:
                last.whole_at = step
        last.texts.append(text)
        last.deltas.append((step, len(text)))

    def _note_state(self, step: int) -> None:
        """Record changes of the parser's state, its buffered text and its issues."""
        parser, inspection = self._parser, self.inspection
        state, size = parser.where(), parser.held
        if state != self._state:
            self._state = state
            inspection.states.append((step, state))
        before, why = self._held
        if size or before:
            words = self._why(self._tail[-size:], size, state) if size else ""
            if size != before or words != why:
                self._held = size, words
                inspection.held.append(Held(step, size, words))
        new = parser.issue_count - len(self._issue_steps)
        self._issue_steps += [step] * new

    def _conclude(self, rest: Iterable[str | bytes | int]) -> None:
        """Record the results after the last step."""
        parser, inspection = self._parser, self.inspection
        spans = [Span(*span) for span in parser.role_spans]
        if inspection.error:
            for chunk in rest:
                self._take(chunk)
            self._came(self._decoder.finish())
        inspection.text = "".join(self._texts)
        known = spans[-1].end if spans else 0
        if known < len(inspection.text):
            spans.append(Span(known, len(inspection.text), "unread"))
        inspection.spans = spans
        inspection.finish_reason = parser.finish_reason
        inspection.attempts = parser.attempts
        inspection.issues = list(zip(self._issue_steps, parser.issues, strict=True))
        calls = [part for part in parser.message.parts if isinstance(part, ToolCall)]
        noted = [part for part in inspection.parts if part.kind == "tool_call"]
        for part, call in zip(noted, calls, strict=False):
            part.complete, part.repaired = call.complete, call.repaired
