"""The inspection: an output is parsed chunk by chunk, and what becomes of it is written down.

One pass, and nothing is written down twice: of a chunk, its length, the lengths of its deltas, and
what has changed of the state. Whoever shows a moment adds up lengths, so that a megabyte of output
costs a few, however finely it is cut.

Steps count from 1: step k is the chunk that came k-th, and the last is the end of the output.
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
"""Characters of what is held back that are looked at."""


@dataclass(slots=True)
class InspectedPart:
    """A run of deltas of one kind, or those of one call; `deltas` has a step and a length each."""

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
        """All of its text."""
        return "".join(self.texts)


@dataclass(frozen=True, slots=True)
class Held:
    """From a step on, so many characters at the end of what has come are held back, and why."""

    step: int
    size: int
    why: str


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the raw text, and what it was: a role of tokens, or "unread"."""

    start: int
    end: int
    role: str


@dataclass(slots=True)
class Inspection:
    """What became of one output, step by step; spans and lengths are in characters of `text`.

    text: the raw output. `chunks` are the lengths of what came at each step, the end of the output
        among them. `ids` are the tokens, where there were any, one a chunk.
    spans: what each character was in the end, without gaps.
    states: what the parser waited in, from a step on.
    issues: each with the step at which it was reported.
    note: what is to be said of it.
    error: why it could not be parsed to the end.
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
        """How many steps there are: chunks, and the end."""
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
    """Parse an output with a fresh parser, and write down what becomes of it.

    `chunks` are text or bytes for a `TracedParser`, ids for a `TokenParser`, whose vocabulary is
    `token_text`. What a policy refuses ends the pass; the text behind it is "unread".
    """
    pass_ = _Pass(parser, Inspection(title, format, reason_text(reason)), token_text)
    pass_.run(chunks, reason)
    return pass_.inspection


class _Pass:
    """One parser at work, and what is written down of it."""

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
        """Feed all chunks, and the end."""
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
        """Write down the text of a chunk."""
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
        """Write down what a step made."""
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
        """Write down what has changed of what the parser waits in, holds back and has reported."""
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
        """Write down what is known when all is read."""
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
