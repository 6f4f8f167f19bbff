"""The assistant's turns of a template: asked for by what is said in them, cut out of the rendering.

A phase compares turns that differ in one thing. It says which, `turns.body(calls=[call()])`, and
gets the text that the model would have written, without header and end, or None where the template
refuses the conversation or does not show it as a turn. So a phase never handles a whole rendering,
and where a turn begins and ends is known here alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

from deltaparse.stream import TurnFormat

from .brackets import Brackets
from .diff import after, begins_with_marker, between, first_marker, segments
from .probes import CONTENT, FUNCTIONS, NEXT_USER, RESULT, USER, Message, Said
from .renderer import Renderer
from .trace import Trace

__all__ = ["Frame", "Turns"]


@dataclass(frozen=True, slots=True)
class Frame:
    """The surroundings of a turn.

    `turn` is what of it goes into the format. `header` stands right before the turn after a
    user's message; `trailer` is what the template writes at the very end of every conversation;
    `asked` is what ends the user's message, `opening` what begins one behind a turn, `returned`
    what begins what a tool returned, where calls are not shown without.
    """

    turn: TurnFormat
    header: str
    trailer: str
    asked: str = ""
    opening: str = ""
    returned: str = ""

    def body(self, rendered: str | None) -> str | None:
        """The assistant's turn that follows `USER`, without its end-of-turn marker.

        It is the last of the rendering, or followed by `RESULT` or `NEXT_USER`. None when there is
        none.
        """
        return next((body for body, _ in self.bodies_and_ends(rendered, USER)), None)

    def bodies_and_ends(self, rendered: str | None, behind: str) -> Iterator[tuple[str, str]]:
        """Yield the turn behind a text and its end as the template wrote it, "" if it wrote none.

        `behind` is the text that the turn answers: the user's, or what a tool returned. Before
        another message, that is the turn up to the first of several ends, and up to the last.
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
            # The white space round an end-of-turn marker may differ between kinds of turns.
            core = end if turn.endswith(end) else end.strip()
            if turn.endswith(end) or turn.rstrip().endswith(core):
                at = turn.rindex(core)
                yield turn[:at], turn[at:]
                return
        yield turn, ""

    def _before_result(self, turn: str) -> Iterator[tuple[str, str]]:
        """Yield what of a turn stands before the last end in it, or before what begins a result."""
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
        """Yield all of a turn before the user's next message, and which of `ends` it ends with."""
        turn = self._turn(rendered, behind)
        if turn is not None and NEXT_USER in turn and self.turn.ends:
            turn = turn[: turn.index(NEXT_USER)]
            if turn.endswith(self.opening):
                turn = turn.removesuffix(self.opening)
                end = next((end for end in ends if turn.endswith(end)), "")
                yield turn.removesuffix(end), end

    def _turn(self, rendered: str | None, behind: str) -> str | None:
        """All that follows the header of the turn behind a text; None where there is no header."""
        if rendered is None or behind not in rendered:
            return None
        answer = after(rendered, behind)
        # A template may leave out the white space that ends the header.
        headers = [self.header, self.header.rstrip()]
        if behind != USER:
            headers += self.turn.headers
        header = next((text for text in headers if text in answer.partition(NEXT_USER)[0]), None)
        if header is None and self.asked.strip() and answer.startswith(self.asked):
            header = self.asked  # calls that are listed without a header
        if header is None:
            return None
        return answer[answer.index(header) + len(header) :]

    def _ends_at(self, turn: str, end: str) -> int:
        """Where a turn, and what follows it, has this end; -1 if nowhere."""
        at = turn.find(end)
        while self.turn.several_messages and at >= 0:
            rest = turn[at + len(end) :].lstrip()
            if not rest.startswith(self.header.strip()):
                break
            at = turn.find(end, at + 1)
        return at

    def with_several_messages(self, rendered: str | None) -> Frame:
        """The same, where a turn with content and a call is `rendered` as two messages."""
        gap = between(rendered, CONTENT, FUNCTIONS[0]) or ""
        header = self.header.strip()
        for end in map(first_marker, self.turn.ends) if header else ():
            _, found, rest = gap.partition(end)
            if found and rest.lstrip().startswith(header):
                return replace(self, turn=replace(self.turn, several_messages=True))
        return self

    def with_last_end_marker(self) -> Frame:
        """The same with an end of turn of one marker, the last."""
        ends = self.turn.ends
        markers = [part.text for part in segments(ends[0]) if part.marker] if ends else []
        if len(markers) < 2:
            return self
        return replace(self, turn=replace(self.turn, ends=(markers[-1], *ends[1:])))

    def with_longer_end(self, before: str) -> Frame:
        """The same with an end of turn that begins with what stands before it, if markers do."""
        ends = self.turn.ends
        if not ends or not begins_with_marker(before):
            return self
        return replace(self, turn=replace(self.turn, ends=(before + ends[0], *ends)))

    def without(self, marker: str) -> Frame:
        """The same with a header that ends before `marker`, if that had got into it.

        Where nothing is left of it, what ends the user's message is all that a turn begins with.
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
    """A template's turns, as far as it is known where they begin and end."""

    render: Renderer
    frame: Frame

    @property
    def trace(self) -> Trace:
        """Where the renderings are noted."""
        return self.render.trace

    def within(self, frame: Frame) -> Turns:
        """The same turns, cut out by another frame."""
        return replace(self, frame=frame)

    def restored(self) -> Turns:
        """The same turns as the template writes them, without tags in the place of tokens."""
        brackets, frame = self.render.brackets, self.frame
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
        """The turn in which the model says this, as it would write it; None if there is none.

        Args:
            then: the messages that follow it; the last of them is the user's, `NEXT_USER`.
            said: what `assistant` takes; what is left out is not in the turn, but for the content.
        """
        return self.frame.body(self.render.turn(then=then, **said))
