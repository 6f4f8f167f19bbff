"""A wire format for a vocabulary: where a marker has a special token, one character stands for it.

That character is a surrogate, which no text can hold: so nothing in the text looks like such a
marker, nothing is held back for it, and the readers are the same. `TokenTrail` puts the token's
text back where the character is emitted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from threading import Lock
from typing import Any, Literal
from weakref import WeakKeyDictionary

from deltaparse.partial import UsageError, is_whole

from ..wire.format import WireFormat, marker_fields, marker_texts
from .vocabulary import Vocabulary

__all__ = ["Markers", "TokenFormat", "token_format", "written_texts"]

How = Literal["token", "text", "either"]
Markers = How | Mapping[str, How]
"""How markers are written that the vocabulary has a special token for: all, or some of them."""

CHOICES = ("token", "text", "either")

FIRST_MARKER, FIRST_STRAY, LAST = 0xD800, 0xDC00, 0xDFFF


class TokenFormat:
    """How a vocabulary writes the markers of a format; shared by all parsers of the two.

    fmt:        the format with a character in the place of each special token of its markers.
    marker_ids: the special tokens of markers, by their characters.
    texts:      the text of ordinary tokens that are whole characters, as far as they came.
    tokens:     the special token that each character stands for: its id and its text.
    look_alike: finds the text of a marker that counts as a token only, in group 1; None if there
                is none. `longest` is the length of the longest.
    either:     special tokens that count like their text; `either_opens`: calls begin with one.
    """

    __slots__ = (
        "_chars",
        "_lock",
        "_markers",
        "_pattern",
        "either",
        "either_opens",
        "fmt",
        "longest",
        "look_alike",
        "marker_ids",
        "texts",
        "tokens",
    )

    def __init__(self, fmt: WireFormat, vocabulary: Vocabulary, markers: Markers) -> None:
        self._lock = Lock()
        self.texts: dict[int, str] = {}
        specials = _specials(fmt, vocabulary)
        modes = _modes(specials, fmt, markers)
        as_tokens = sorted(text for text in specials if modes[text] == "token")
        chars = {text: chr(FIRST_MARKER + at) for at, text in enumerate(as_tokens)}
        # Those that are text only, and all others, are strays: each gets a character when it comes.
        self._chars = {specials[text]: char for text, char in chars.items()}
        self.marker_ids = {char: id for id, char in self._chars.items()}
        self.tokens = {char: (specials[text], text) for text, char in chars.items()}
        either = [text for text in specials if modes[text] == "either"]
        self.either = frozenset(specials[text] for text in either)
        self.either_opens = any(text in opener for text in either for opener in fmt.derived.openers)
        self._pattern, self._markers = _any_of(as_tokens), chars
        # At each place the shortest: whether a longer one follows, text that is to come would say.
        any_text = "|".join(map(re.escape, sorted(as_tokens, key=len)))
        self.look_alike = re.compile(f"(?=({any_text}))") if as_tokens else None
        self.longest = max(map(len, as_tokens), default=0)
        self.fmt = _with_characters(fmt, self.characters_in) if chars else fmt

    def characters_in(self, text: str) -> str:
        """A text with a character in the place of each special token of a marker in it."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda found: self._markers[found[0]], text)

    def character_of(self, id: int, text: str) -> str:
        """The character that stands for a special token: that of its marker, or one of a stray."""
        char = self._chars.get(id)
        if char is None:
            with self._lock:
                at = FIRST_STRAY + len(self.tokens) - len(self.marker_ids)
                if at > LAST:
                    # More special tokens than any output has, none of them of a marker.
                    return text
                char = self._chars.setdefault(id, chr(at))
                self.tokens.setdefault(char, (id, text))
        return char


_formats: WeakKeyDictionary[Vocabulary, dict[Any, TokenFormat]] = WeakKeyDictionary()


def token_format(fmt: WireFormat, vocabulary: Vocabulary, markers: Markers) -> TokenFormat:
    """The `TokenFormat` of a format and a vocabulary, made once.

    Raises:
        UsageError: `markers` names a choice, or a marker, that there is not.
    """
    chosen = tuple(sorted(markers.items())) if isinstance(markers, Mapping) else markers
    made = _formats.setdefault(vocabulary, {})
    found = made.get((fmt, chosen))
    if found is None:
        found = made.setdefault((fmt, chosen), TokenFormat(fmt, vocabulary, markers))
    return found


@lru_cache(maxsize=256)
def written_texts(fmt: WireFormat) -> tuple[str, ...]:
    """The texts of a format that a model writes or reads.

    Raises:
        UsageError: half of a character stands in one, which no text holds.
    """
    found = tuple(text for _, text in marker_texts(fmt))
    for text in found:
        if not is_whole(text):
            raise UsageError(f"a marker that nobody can write: half of a character in {text!r}")
    return found


def _specials(fmt: WireFormat, vocabulary: Vocabulary) -> dict[str, int]:
    """The special tokens that stand in the markers of a format, and their ids."""
    return {
        part.text: part.id
        for text in written_texts(fmt)
        for part in vocabulary.spelled(text).stretches
        if part.id is not None
    }


def _modes(specials: Mapping[str, int], fmt: WireFormat, markers: Markers) -> dict[str, How]:
    """How each special token of a marker is written."""
    modes: dict[str, How]
    if not isinstance(markers, Mapping):
        modes = dict.fromkeys(specials, _checked(markers))
        if markers == "text":
            # Models are not asked to spell what ends the turn.
            modes |= dict.fromkeys(map(str.strip, fmt.turn.ends), "token")
        return modes
    modes = dict.fromkeys(specials, "token")
    known = {text.strip() for text in written_texts(fmt)}
    for marker, how in markers.items():
        core = marker.strip()
        if not core or (core not in known and core not in specials):
            names = ", ".join(map(repr, sorted(specials))) or "none with a special token"
            raise UsageError(f"markers: {marker!r} is no marker of the format; it has {names}")
        modes |= dict.fromkeys((text for text in specials if text in core), _checked(how))
    return modes


def _checked(how: object) -> How:
    if how not in CHOICES:
        raise UsageError(f'markers={how!r}: choose "token", "text" or "either"')
    return how  # type: ignore[return-value]


def _any_of(texts: list[str]) -> re.Pattern[str] | None:
    longest_first = sorted(texts, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))) if texts else None


def _with_characters(fmt: WireFormat, written: Callable[[str], str]) -> WireFormat:
    """A format with all texts that a model writes as `written` makes them."""
    groups: dict[str, Any] = {}
    for name, texts in marker_fields().items():
        group = getattr(fmt, name)
        changed: dict[str, Any] = {}
        for text in texts:
            value = getattr(group, text)
            made = written(value) if isinstance(value, str) else tuple(map(written, value))
            changed[text] = made
        groups[name] = replace(group, **changed)
    return replace(fmt, **groups)
