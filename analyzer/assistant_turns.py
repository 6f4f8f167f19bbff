"""Assistant turns of a template, extracted from its renderings.

A phase compares turns that differ in one thing, for example `turns.body(calls=[call()])`. It gets
the text that the model would have written, without header and end marker. It gets None if the
template refuses the conversation or does not show a turn. Phases never handle complete renderings,
because only this module knows the borders of a turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

from deltaparse.stream import TurnFormat

from .diff import after, begins_with_marker, between, first_marker, segments
from .probes import CONTENT, FUNCTIONS, NEXT_USER, RESULT, USER, Message, Said
from .renderer import Renderer
from .split_markers import Brackets
from .trace import Trace

__all__ = ["Frame", "Turns"]


@dataclass(frozen=True, slots=True)
class Frame:
    """Texts around an assistant turn.

    Attributes:
        turn: the fields of the frame in the format.
        header: the text between a user message and the turn.
        trailer: the text at the end of every conversation.
        asked: the end of a user message.
        opening: the start of a user message after a turn.
        returned: the start of a tool result, if the template shows calls only with results.
    """

    turn: TurnFormat
    header: str
    trailer: str
    asked: str = ""
    opening: str = ""
    returned: str = ""

    def body(self, rendered: str | None) -> str | None:
        """Return the assistant turn after `USER`, without its end-of-turn marker, or None.

        The turn is the last of the rendering, or `RESULT` or `NEXT_USER` follows it.
        """
        return next((body for body, _ in self.bodies_and_ends(rendered, USER)), None)

    def bodies_and_ends(self, rendered: str | None, behind: str) -> Iterator[tuple[str, str]]:
        """Yield the turn after a text with its rendered end marker, or "" without a marker.

        `behind` is the text that the turn answers, from the user or a tool. If another message
        follows, yield the turn up to the first end marker, then the turn up to the last.
        """
        turn = self._turn(rendered, behind)
        if turn is None:
            return
        if NEXT_USER not in turn and RESULT in turn:
            yield from self._before_result(turn.partition(RESULT)[0])
            return
        if NEXT_USER in turn:
            turn = turn[: turn.index(NEXT_USER)].partition(RESULT)[0]
            cuts = [(at, end) for end in self.turn.ends if (at := self._ends_at(turn, end)) >= 0]
            if cuts:
                yield turn[: min(cuts)[0]], min(cuts)[1]
                at, end = max((turn.rindex(end), end) for _, end in cuts)
                if at > min(cuts)[0]:
                    yield turn[:at], end
            return
        turn = turn.removesuffix(self.trailer)
        for end in self.turn.ends:
            # Whitespace around an end-of-turn marker may differ between kinds of turns.
            core = end if turn.endswith(end) else end.strip()
            if turn.endswith(end) or turn.rstrip().endswith(core):
                at = turn.rindex(core)
                yield turn[:at], turn[at:]
                return
        yield turn, ""

    def _before_result(self, turn: str) -> Iterator[tuple[str, str]]:
        """Yield the part of a turn before its last end marker, or before the start of a result."""
        marker = first_marker(self.returned)
        cuts = [(turn.rindex(end), end) for end in self.turn.ends if end in turn]
        if not cuts and marker and marker in turn:
            cuts = [(turn.rindex(marker), "")]
        if cuts:
            at, end = max(cuts)
            yield turn[:at], end

    def before_the_next(
        self, rendered: str | None, behind: str, ends: Sequence[str]
    ) -> Iterator[tuple[str, str]]:
        """Yield the complete turn before the next user message, and which of `ends` ends it."""
        turn = self._turn(rendered, behind)
        if turn is not None and NEXT_USER in turn and self.turn.ends:
            turn = turn[: turn.index(NEXT_USER)]
            if turn.endswith(self.opening):
                turn = turn.removesuffix(self.opening)
                end = next((end for end in ends if turn.endswith(end)), "")
                yield turn.removesuffix(end), end

    def _turn(self, rendered: str | None, behind: str) -> str | None:
        """Return the text after the header of the turn that follows `behind`, or None."""
        if rendered is None or behind not in rendered:
            return None
        answer = after(rendered, behind)
        # A template may omit the whitespace at the end of the header.
        headers = [self.header, self.header.rstrip()]
        if behind != USER:
            headers += self.turn.headers
        header = next((text for text in headers if text in answer.partition(NEXT_USER)[0]), None)
        if header is None and self.asked.strip() and answer.startswith(self.asked):
            header = self.asked  # some templates list calls without a header
        if header is None:
            return None
        return answer[answer.index(header) + len(header) :]

    def _ends_at(self, turn: str, end: str) -> int:
        """Return the offset of the end marker of a turn, or -1.

        If a turn has several messages, an end marker before another header does not end it.
        """
        at = turn.find(end)
        while self.turn.several_messages and at >= 0:
            rest = turn[at + len(end) :].lstrip()
            if not rest.startswith(self.header.strip()):
                break
            at = turn.find(end, at + 1)
        return at

    def with_several_messages(self, rendered: str | None) -> Frame:
        """Return this frame for turns of several messages, if `rendered` shows two in one turn."""
        gap = between(rendered, CONTENT, FUNCTIONS[0]) or ""
        header = self.header.strip()
        for end in map(first_marker, self.turn.ends) if header else ():
            _, found, rest = gap.partition(end)
            if found and rest.lstrip().startswith(header):
                return replace(self, turn=replace(self.turn, several_messages=True))
        return self

    def with_last_end_marker(self) -> Frame:
        """Return this frame with only the last marker of the end of a turn."""
        ends = self.turn.ends
        markers = [part.text for part in segments(ends[0]) if part.marker] if ends else []
        if len(markers) < 2:
            return self
        return replace(self, turn=replace(self.turn, ends=(markers[-1], *ends[1:])))

    def with_longer_end(self, before: str) -> Frame:
        """Return this frame with `before` prepended to the end of a turn, if it is a marker."""
        ends = self.turn.ends
        if not ends or not begins_with_marker(before):
            return self
        return replace(self, turn=replace(self.turn, ends=(before + ends[0], *ends)))

    def without(self, marker: str) -> Frame:
        """Return this frame with headers truncated before `marker`, if they contain it.

        If the header is then empty, the end of the user's message serves as the header.
        """
        if not marker or not any(marker in text for text in (self.header, *self.turn.headers)):
            return self
        header = self.header.partition(marker)[0]
        headers = (text.partition(marker)[0] for text in self.turn.headers)
        kept = tuple(text for text in headers if text.strip())
        turn = replace(self.turn, headers=kept)
        if not header.strip() and self.asked.strip() and self.asked not in kept:
            header, prompt = self.asked, turn.generation_prompt
            prompt = header + prompt if prompt.lstrip().startswith(marker) else prompt
            turn = replace(turn, headers=(header, *kept), generation_prompt=prompt)
        return replace(self, header=header, turn=turn)


@dataclass(frozen=True, slots=True)
class Turns:
    """Assistant turns of a template, delimited by a frame."""

    render: Renderer
    frame: Frame

    @property
    def trace(self) -> Trace:
        """Return the trace that records the renderings."""
        return self.render.trace

    def within(self, frame: Frame) -> Turns:
        """Return the turns of the same template, delimited by another frame."""
        return replace(self, frame=frame)

    def restored(self) -> Turns:
        """Return the turns with the original markers instead of tags."""
        brackets, frame = self.render.settings.brackets, self.frame
        turn = TurnFormat(
            headers=tuple(map(brackets.restored, frame.turn.headers)),
            ends=tuple(map(brackets.restored, frame.turn.ends)),
            generation_prompt=brackets.restored(frame.turn.generation_prompt),
            several_messages=frame.turn.several_messages,
        )
        texts = (frame.header, frame.trailer, frame.asked, frame.opening, frame.returned)
        whole = Frame(turn, *map(brackets.restored, texts))
        return Turns(self.render.with_brackets(Brackets()), whole)

    def body(self, *, then: Sequence[Message] = (), **said: Unpack[Said]) -> str | None:
        """Render a turn and return its text as a model would write it, or None.

        Args:
            then: the messages after the turn. The last one is the user's, `NEXT_USER`.
            said: the arguments of `assistant`. Except for content, parts not given are not
                in the turn.
        """
        return self.frame.body(self.render.turn(then=then, **said))
