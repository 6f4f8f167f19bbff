r"""How a format spells characters that would be markup in a name or in a string.

    key="a&amp;b"        `&` is written as `&amp;`
    key="a\"b"           `"` is written as `\"`, and `\` as `\\`

A table is pairs: a character, and how it is spelled. What no pair has stands for itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from deltaparse.partial import Emit

__all__ = ["LONGEST_SPELLING", "Escapes", "Unescaped", "escapes_of", "faults_of"]

LONGEST_SPELLING = 32
"""Characters of a spelling."""


class Escapes:
    """Writes and reads text in which some characters have a spelling of their own.

    `spellings` are all spellings. A table without pairs is false.
    """

    __slots__ = ("_begun", "_characters", "_table", "_whole", "spellings")

    def __init__(self, pairs: Sequence[str] = ()) -> None:
        spelled = dict(zip(pairs[::2], pairs[1::2], strict=True))
        self._table = str.maketrans(spelled)
        self._characters = {text: char for char, text in spelled.items()}
        self.spellings = tuple(spelled.values())
        whole = _one_of(self.spellings)
        # What may become a longer spelling waits, so it is looked for first.
        cut = _one_of({text[:size] for text in self.spellings for size in range(1, len(text))})
        self._whole = re.compile(f"({whole})")
        self._begun = re.compile(rf"(?:{cut})\Z|({whole})")

    def __bool__(self) -> bool:
        return bool(self.spellings)

    def write(self, text: str) -> str:
        """Spell a text as the format does."""
        return text.translate(self._table)

    def read(self, text: str) -> str:
        """Return the text that is spelled so."""
        return self._whole.sub(lambda found: self._characters[found[1]], text)

    def read_some(self, text: str) -> tuple[str, str]:
        """Return what is certain of the text that is spelled so, and the rest as it stands."""
        rest = next((found for found in self._begun.finditer(text) if found[1] is None), None)
        end = rest.start() if rest else len(text)
        return self.read(text[:end]), text[end:]

    def without(self, text: str) -> str:
        """Return a text without the spellings in it."""
        return self._whole.sub("", text)

    def reaches_over(self, text: str, at: int) -> bool:
        """Whether what is a spelling, or may become one, begins before an index and ends behind."""
        return any(found.start() < at < found.end() for found in self._begun.finditer(text))


def _one_of(texts: Iterable[str]) -> str:
    """A pattern of several texts, the longest first; of none, one that matches nothing."""
    return "|".join(map(re.escape, sorted(texts, key=len, reverse=True))) or "(?!)"


class Unescaped:
    """Emits the text that is spelled in the chunks that are written to it."""

    __slots__ = ("_emit", "_escapes", "held")

    def __init__(self, escapes: Escapes, emit: Emit) -> None:
        self._escapes, self._emit = escapes, emit
        self.held = ""
        """What may become a spelling."""

    def write(self, text: str) -> None:
        """Take the next chunk."""
        read, self.held = self._escapes.read_some(self.held + text)
        if read:
            self._emit(read)

    def goes_on(self, marker: str) -> bool:
        """Whether a spelling that has begun goes on where a marker stands."""
        return any(
            text[len(self.held) :].startswith(marker[: len(text) - len(self.held)])
            for text in self._escapes.spellings
            if self.held and text.startswith(self.held)
        )

    def end(self) -> None:
        """No more chunks come."""
        if self.held:
            self._emit(self._escapes.read(self.held))
            self.held = ""


@lru_cache(maxsize=256)
def escapes_of(pairs: tuple[str, ...]) -> Escapes:
    """The `Escapes` of a table, made once."""
    return Escapes(pairs)


def faults_of(pairs: Sequence[str], where: str) -> Iterator[str]:
    """Yield what is wrong with a table; `where` is its name."""
    if len(pairs) % 2:
        yield f"{where} are pairs of a character and its spelling"
    elif any(len(char) != 1 for char in pairs[::2]):
        yield f"{where}: only single characters have a spelling"
    elif len({*pairs[::2]}) < len(pairs[::2]) or len({*pairs[1::2]}) < len(pairs[1::2]):
        yield f"{where}: no character and no spelling may stand in it twice"
    elif not all(0 < len(text) <= LONGEST_SPELLING for text in pairs[1::2]):
        yield f"{where}: a spelling has 1 to {LONGEST_SPELLING} characters"
