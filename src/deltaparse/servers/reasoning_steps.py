"""Whether reasoning is over, asked after each step of an output, in tokens.

A server asks with all tokens so far, of which the last may be drafts that it takes back
(speculative decoding). So what is read for good is what stood before a step, and the step itself
is looked at anew each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .reasoning_split import ReasoningSplit

__all__ = ["ReasoningSteps"]

COMPARED = 16
"""Tokens by which an output is known again."""


class ReasoningSteps:
    """Answers for one output.

    Args:
        new: makes what reads an output from its start, behind a prompt.
        decode: the text of tokens.
        prompt: the text of the prompt.
        start: how many of the tokens that a step comes with are the prompt.
    """

    __slots__ = ("_at", "_decode", "_last", "_new", "_prompt", "_split", "_start")

    def __init__(
        self,
        new: Callable[[str], ReasoningSplit],
        decode: Callable[[Sequence[int]], str],
        prompt: str,
        start: int,
    ) -> None:
        self._new = new
        self._decode = decode
        self._prompt = prompt
        self._start = self._at = start
        self._last: list[int] = []
        self._split = new(prompt)

    def go_on(self, ids: Sequence[int], since: int) -> bool:
        """Return whether these are tokens of the same output, not before what was read of it."""
        first = max(self._at - len(self._last), 0)
        return since >= self._at and (not self._last or list(ids[first : self._at]) == self._last)

    def over(self, ids: Sequence[int], since: int) -> bool:
        """Return whether reasoning is over at the end of `ids`; a step begins at `since`."""
        if self._split.closed:
            return True
        text = self._decode(ids[self._at : since])
        if not text.endswith("\ufffd"):
            # Otherwise half of a character, whose rest is still to come.
            self._split.feed(text)
            self._at = since
            self._last = list(ids[max(since - COMPARED, 0) : since])
        if self._split.opened:
            return self._split.closes_in(self._decode(ids[self._at :]))
        # Next to nothing was written before.
        probe = self._new(self._prompt)
        probe.feed(self._decode(ids[self._start :]))
        return probe.closed
