"""Detection of the end of reasoning after each step of a response, in tokens.

The server passes all tokens so far. In speculative decoding, the last tokens may be drafts that are
withdrawn later. Only tokens before a step are read permanently, and the tokens of the step are
checked separately each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .reasoning_split import ReasoningSplit

__all__ = ["ReasoningSteps"]

COMPARED = 16
"""Number of last tokens that identify a response."""


class ReasoningSteps:
    """Detector for one response.

    Args:
        new: creates a splitter for a response, given its prompt.
        decode: returns the text of tokens.
        prompt: the text of the prompt.
        start: the number of prompt tokens at the start of each step's tokens.
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
        """Return True if the tokens continue the same response after the tokens read so far."""
        first = max(self._at - len(self._last), 0)
        return since >= self._at and (not self._last or list(ids[first : self._at]) == self._last)

    def over(self, ids: Sequence[int], since: int) -> bool:
        """Return True if reasoning is over at the end of `ids`. The step begins at `since`."""
        if self._split.closed:
            return True
        text = self._decode(ids[self._at : since])
        if not text.endswith("\ufffd"):
            # A replacement character at the end is an incomplete character.
            self._split.feed(text)
            self._at = since
            self._last = list(ids[max(since - COMPARED, 0) : since])
        if self._split.opened:
            return self._split.closes_in(self._decode(ids[self._at :]))
        # Before reasoning the response is short, so it can be read again from its start.
        probe = self._new(self._prompt)
        probe.feed(self._decode(ids[self._start :]))
        return probe.closed
