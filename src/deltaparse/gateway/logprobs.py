"""Assignment of tokens to deltas of content, for log probabilities.

Upstreams report a probability for each token, but a parser returns text. So the parser is fed one
token at a time. The text of its deltas occurs in the output in order, before the buffered text. It
is searched for backwards from there. A delta owns the tokens that overlap its text. Tokens of
markers, reasoning and calls have no delta of content.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from deltaparse.stream import ContentDelta, Delta, ReasoningDelta

__all__ = ["TokenTexts"]

Entry = dict[str, Any]


class TokenTexts:
    """The tokens of one output, and their deltas of content.

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
        # Each entry has the start and end offsets of its text.
        self._entries: deque[tuple[int, int, Entry]] = deque()
        self._placed: dict[int, list[Entry]] = {}

    def came(self, text: str, entries: Sequence[Entry]) -> Iterator[str]:
        """Add output, and yield the text of each token.

        A token may be a part of a character, and its own text is unusable then. So the last token
        ends at the end of the text. A token without text counts for the text after it.
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
        """Remove the last `count` characters, which follow the end of the output."""
        self._text = self._text[: len(self._text) - count]

    def place(self, deltas: Sequence[Delta], held: int) -> None:
        """Assign tokens to deltas, with `held` characters buffered after them."""
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
        """Return the tokens of an assigned delta, once. None if the delta is not content."""
        return self._placed.pop(id(delta), None)

    def _taken(self, start: int, end: int) -> list[Entry]:
        found: list[Entry] = []
        while self._entries and self._entries[0][0] < end:
            _, at, entry = self._entries.popleft()
            if at > start:
                found.append(entry)
        return found
