r"""Escaped characters in the names and strings of a format.

    key="a&amp;b"        `&` is written as `&amp;`
    key="a\"b"           `"` is written as `\"`, and `\` as `\\`

A table has pairs of a character and its spelling. Other characters are not escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from deltaparse.partial import Emit

__all__ = ["LONGEST_SPELLING", "Escapes", "Unescaped", "escapes_of", "faults_of"]

LONGEST_SPELLING = 32
"""The maximum length of a spelling, in characters."""


class Escapes:
    """Writer and reader of text with escaped characters. An instance without pairs is false.

    Args:
        pairs: alternately a character and its spelling.

    Attributes:
        spellings: all spellings.
    """

    __slots__ = ("_begun", "_characters", "_table", "_whole", "spellings")

    def __init__(self, pairs: Sequence[str] = ()) -> None:
        # A flat tuple is hashable, and fits a tuple of strings in JSON.
        spelled = dict(zip(pairs[::2], pairs[1::2], strict=True))
        # One translation, so that the output of one pair is not escaped by another.
        self._table = str.maketrans(spelled)
        self._characters = {text: char for char, text in spelled.items()}
        self.spellings = tuple(spelled.values())
        whole = _one_of(self.spellings)
        # A longer spelling may still be incomplete, so beginnings are matched first.
        cut = _one_of({text[:size] for text in self.spellings for size in range(1, len(text))})
        # One pass over the text, so that the result of one spelling is not read again as another.
        self._whole = re.compile(f"({whole})")
        self._begun = re.compile(rf"(?:{cut})\Z|({whole})")

    def __bool__(self) -> bool:
        return bool(self.spellings)

    def write(self, text: str) -> str:
        """Return a text with escaped characters."""
        return text.translate(self._table)

    def read(self, text: str) -> str:
        """Return a text without escapes."""
        return self._whole.sub(lambda found: self._characters[found[1]], text)

    def read_some(self, text: str) -> tuple[str, str]:
        """Return the certain part of an incomplete text without escapes, and the rest as written.

        Args:
            text: the text so far.
        """
        # The beginning of a spelling at the end of the text may still be completed.
        rest = next((found for found in self._begun.finditer(text) if found[1] is None), None)
        end = rest.start() if rest else len(text)
        return self.read(text[:end]), text[end:]

    def without(self, text: str) -> str:
        """Return a text with all spellings removed."""
        return self._whole.sub("", text)

    def reaches_over(self, text: str, at: int) -> bool:
        """Return whether a spelling crosses an index of the text. An incomplete one counts too.

        Args:
            text: the text as written.
            at: the index.
        """
        return any(found.start() < at < found.end() for found in self._begun.finditer(text))


def _one_of(texts: Iterable[str]) -> str:
    """Return a pattern of several texts, the longest first. Without texts it never matches."""
    # Alternatives are tried in order, so a longer spelling must precede its beginning.
    return "|".join(map(re.escape, sorted(texts, key=len, reverse=True))) or "(?!)"


class Unescaped:
    """A stream. It emits written chunks without their escapes.

    Args:
        escapes: the escapes of the text.
        emit: the receiver of the text.

    Attributes:
        held: the buffered beginning of a spelling.
    """

    __slots__ = ("_emit", "_escapes", "held")

    def __init__(self, escapes: Escapes, emit: Emit) -> None:
        self._escapes, self._emit = escapes, emit
        self.held = ""

    def write(self, text: str) -> None:
        """Read the next chunk."""
        read, self.held = self._escapes.read_some(self.held + text)
        # Empty deltas are never emitted.
        if read:
            self._emit(read)

    def goes_on(self, marker: str) -> bool:
        """Return whether a marker could continue the buffered beginning of a spelling.

        Args:
            marker: the marker after the buffered text.
        """
        return any(
            # Only as many characters of the marker are compared as the spelling still needs.
            text[len(self.held) :].startswith(marker[: len(text) - len(self.held)])
            for text in self._escapes.spellings
            if self.held and text.startswith(self.held)
        )

    def end(self) -> None:
        """Emit the buffered text at the end of the stream."""
        if self.held:
            # The buffered beginning of a longer spelling may itself be a complete spelling.
            self._emit(self._escapes.read(self.held))
            self.held = ""


@lru_cache(maxsize=256)
def escapes_of(pairs: tuple[str, ...]) -> Escapes:
    """Return the `Escapes` of a table. They are made once."""
    return Escapes(pairs)


def faults_of(pairs: Sequence[str], where: str) -> Iterator[str]:
    """Yield the faults of a table.

    Args:
        pairs: alternately a character and its spelling.
        where: the name of the table, for the messages.
    """
    # Each check assumes the previous one.
    if len(pairs) % 2:
        yield f"{where} must be pairs of a character and its spelling"
    elif any(len(char) != 1 for char in pairs[::2]):
        yield f"{where}: only single characters can have a spelling"
    # Otherwise the text could not be parsed back.
    elif len({*pairs[::2]}) < len(pairs[::2]) or len({*pairs[1::2]}) < len(pairs[1::2]):
        yield f"{where}: characters and spellings must be unique"
    # An incomplete spelling is buffered, so its length needs a limit.
    elif not all(0 < len(text) <= LONGEST_SPELLING for text in pairs[1::2]):
        yield f"{where}: a spelling must have 1 to {LONGEST_SPELLING} characters"
