"""Which tokens each delta of content is made of, for their log probabilities.

Upstreams say how likely each token was, and of a parser comes text. So the parser is fed with one
token at a time: what comes of it stands in the text up to there, in order, and ends before what the
parser holds back. The text of a delta is looked for from there backwards, and the tokens that begin
in it, or run into it, are its own. Those of markers, reasoning and calls belong to no content.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from deltaparse.stream import ContentDelta, Delta, ReasoningDelta

__all__ = ["TokenTexts"]

Entry = dict[str, Any]


class TokenTexts:
    """The tokens of one output, and the deltas of content that have them.

    >>> tokens = TokenTexts()
    >>> for text in tokens.came("<think>H", [{"token": "<think>"}, {"token": "H"}]):
    ...     deltas = [ContentDelta(text)] if text == "H" else []
    ...     tokens.place(deltas, held=0)
    >>> tokens.of(deltas[0])
    [{'token': 'H'}]
    """

    def __init__(self) -> None:
        self._text = ""
        self._base = 0
        # Each with the offsets where its text begins and ends.
        self._entries: deque[tuple[int, int, Entry]] = deque()
        self._placed: dict[int, list[Entry]] = {}

    def came(self, text: str, entries: Sequence[Entry]) -> Iterator[str]:
        """Take more of the output, token by token, and yield the text of each.

        The text of a token that is a part of a character is not what comes of it, so the last
        token ends where the text does; one that brought no text counts for what follows.
        """
        start, at = self._base + len(self._text), 0
        for place, entry in enumerate(entries, 1):
            begin = at
            at = len(text) if place == len(entries) else min(at + len(entry["token"]), len(text))
            self._entries.append((start + begin, start + max(at, 1), entry))
            self._text += text[begin:at]
            yield text[begin:at]
        if not entries:
            self._text += text
            yield text

    def end(self, count: int) -> None:
        """Take note that the last characters, so many, are behind the end of the output."""
        self._text = self._text[: len(self._text) - count]

    def place(self, deltas: Sequence[Delta], held: int) -> None:
        """Say which tokens belong to deltas, `held` characters being held back behind them."""
        end = len(self._text) - held
        spans = []
        for delta in reversed(deltas):
            if isinstance(delta, ContentDelta | ReasoningDelta) and delta.text:
                at = self._text.rfind(delta.text, 0, max(end, 0))
                if at >= 0:
                    spans.append((delta, at, at + len(delta.text)))
                    end = at
        for delta, start, end in reversed(spans):
            found = self._taken(self._base + start, self._base + end)
            if isinstance(delta, ContentDelta):
                self._placed[id(delta)] = found
        if spans:
            behind = spans[0][2]
            self._text, self._base = self._text[behind:], self._base + behind

    def of(self, delta: Delta) -> list[Entry] | None:
        """Return the tokens of a delta that was placed, once; None if it is no content."""
        return self._placed.pop(id(delta), None)

    def _taken(self, start: int, end: int) -> list[Entry]:
        found: list[Entry] = []
        while self._entries and self._entries[0][0] < end:
            _, at, entry = self._entries.popleft()
            if at > start:
                found.append(entry)
        return found
