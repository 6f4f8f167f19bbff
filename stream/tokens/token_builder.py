"""The message builder of token parsers, which records the tokens of each delta."""

from __future__ import annotations

from collections.abc import Callable

from deltaparse.partial import is_whole

from ..message.builder import MessageBuilder
from ..message.deltas import ContentDelta, Delta, ReasoningDelta, unplaced_deltas
from ..message.message import Content, Part, Reasoning
from ..message.provenance import TextRole
from .token_provenance import TokenRecorder

__all__ = ["TokenBuilder"]


class TokenBuilder(MessageBuilder):
    """A `MessageBuilder` that records on `recorder` the source of each emitted text.

    Text is emitted right after it was read, so it ends at the current offset of the reader.
    """

    __slots__ = ("_recorder",)

    def __init__(self, recorder: TokenRecorder, *, collect: bool) -> None:
        super().__init__(collect)
        self._recorder = recorder

    # Deltas of arguments get their tokens later, so their place must be unset at first.
    _arguments_deltas = staticmethod(unplaced_deltas)

    def content(self, text: str) -> None:
        """Emit content."""
        self._emit(text, Content, ContentDelta)

    def reasoning(self, text: str) -> None:
        """Emit reasoning."""
        self._emit(text, Reasoning, ReasoningDelta)

    def begin_call(self, index: int, call_id: str, name: str, start: int) -> None:
        """Begin a call, and emit its first delta."""
        recorder = self._recorder
        # An id may contain the name, so a stray token in the name must be reported only once.
        before, held, behind = call_id.partition(name)
        before, shown, behind = map(recorder.text_of, (before, name, behind))
        super().begin_call(index, before + (shown if held else "") + behind, shown, start)
        # Offsets of the prompt are negative, and have no tokens.
        recorder.begin_call(name, max(start, 0))
        self.out[-1].place = recorder.stand(max(start, 0), recorder.offset)

    def arguments(self, text: str) -> None:
        """Emit text of the arguments of the open call."""
        recorder = self._recorder
        text = recorder.json_of(text)
        # Under the policy "drop", a text of stray tokens alone becomes empty.
        if text:
            super().arguments(text)
            self.out[-1].place = recorder.stand(recorder.emitted, recorder.offset)

    def passed(self, text: str) -> None:
        """Record `text`, which bypassed the reader and belongs to the open part alone."""
        recorder, kind, end = self._recorder, self.kind, self._recorder.offset
        recorder.stand(end - len(text), end)
        # The roles of arguments are recorded by the reader of the call.
        if kind is Content or kind is Reasoning:
            recorder.set_role(end - len(text), end, self._role())
            recorder.look(text, end)

    def forget(self) -> None:
        """Remove all parts and deltas."""
        super().forget()
        self._recorder.parts.clear()

    def _role(self) -> TextRole:
        # The section is checked instead of the kind, because reasoning may be emitted as content.
        return TextRole.REASONING if self.section == "reasoning" else TextRole.CONTENT

    def _emit(self, text: str, kind: type[Part], make: Callable[[str], Delta]) -> None:
        if not text:
            return
        recorder, end = self._recorder, self._recorder.offset
        start = end - len(text)
        recorder.set_role(start, end, self._role())
        recorder.look(text, end)
        # `isascii` first, because it reads a flag of the string while `is_whole` searches.
        shown = text if text.isascii() or is_whole(text) else recorder.text_of(text)
        if shown:
            self._add(shown, kind, make)
            self.out[-1].place = recorder.stand(start, end)

    def _begin(self, kind: type[Part], make: Callable[[str], Delta]) -> None:
        # Without a message, old parts are not needed, and would grow with the response.
        if not self.collect:
            self._recorder.parts.clear()
        self._recorder.begin_part()
        super()._begin(kind, make)
