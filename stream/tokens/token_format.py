"""Wire formats adapted to a vocabulary: one character replaces each special token in a marker.

The character is a surrogate, which valid text cannot contain. So text never looks like a marker and
is not buffered for it, and all readers work unchanged. `TokenRecorder` restores the text of the
token if the character is emitted.
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
"""The spelling of markers that have a special token: of all markers, or by marker."""

CHOICES = ("token", "text", "either")

# High surrogates for the tokens of markers, low ones for all other special tokens.
FIRST_MARKER, FIRST_STRAY, LAST = 0xD800, 0xDC00, 0xDFFF


class TokenFormat:
    """The markers of a format in the tokens of a vocabulary, shared by all parsers of the two.

    Attributes:
        either: the ids of special tokens that count like their text.
        either_opens: True if calls start with a token of `either`.
        fmt: the format, with a character instead of each special token in its markers.
        longest: the length of the longest text that `look_alike` finds.
        look_alike: a pattern of the texts of markers that count only as tokens, in group 1. None
            if there are no texts.
        marker_ids: the ids of the special tokens in markers, by character.
        texts: the texts of ordinary tokens so far that are complete characters.
        tokens: the id and text of each special token, by character.
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
        # A lock for strays only, because the characters of markers never change.
        self._lock = Lock()
        self.texts: dict[int, str] = {}
        specials = _specials(fmt, vocabulary)
        modes = _modes(specials, fmt, markers)
        # Sorted, so that the characters do not depend on the order of the markers.
        as_tokens = sorted(text for text in specials if modes[text] == "token")
        chars = {text: chr(FIRST_MARKER + at) for at, text in enumerate(as_tokens)}
        # Other special tokens get a character when they occur, because a response has few of them.
        self._chars = {specials[text]: char for text, char in chars.items()}
        self.marker_ids = {char: id for id, char in self._chars.items()}
        self.tokens = {char: (specials[text], text) for text, char in chars.items()}
        either = [text for text in specials if modes[text] == "either"]
        self.either = frozenset(specials[text] for text in either)
        self.either_opens = any(text in opener for text in either for opener in fmt.derived.openers)
        self._pattern, self._markers = _any_of(as_tokens), chars
        # The shortest first, because later text would decide if a longer one matches.
        any_text = "|".join(map(re.escape, sorted(as_tokens, key=len)))
        # A lookahead, so that overlapping texts are found too.
        self.look_alike = re.compile(f"(?=({any_text}))") if as_tokens else None
        self.longest = max(map(len, as_tokens), default=0)
        # Without special tokens in markers the format stays the same object, with its caches.
        self.fmt = _with_characters(fmt, self.characters_in) if chars else fmt

    def characters_in(self, text: str) -> str:
        """Replace the text of each special token of a marker with its character."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda found: self._markers[found[0]], text)

    def character_of(self, id: int, text: str) -> str:
        """Return the character of a special token, or its text if there are too many tokens."""
        char = self._chars.get(id)
        if char is None:
            # Parsers in several threads share this object, and each character must be used once.
            with self._lock:
                at = FIRST_STRAY + len(self.tokens) - len(self.marker_ids)
                if at > LAST:
                    # All surrogates are used, but the tokens of markers have got theirs.
                    return text
                char = self._chars.setdefault(id, chr(at))
                self.tokens.setdefault(char, (id, text))
        return char


# Weak keys, so that a vocabulary is freed when its parsers are.
_formats: WeakKeyDictionary[Vocabulary, dict[Any, TokenFormat]] = WeakKeyDictionary()


def token_format(fmt: WireFormat, vocabulary: Vocabulary, markers: Markers) -> TokenFormat:
    """Return the cached `TokenFormat` of a format and a vocabulary.

    Args:
        fmt: the wire format.
        vocabulary: the tokens of the model.
        markers: the spelling of markers (see `TokenParser`).

    Raises:
        UsageError: `markers` has an unknown spelling, or a marker that is not in the format.
    """
    # A mapping cannot be a key of the cache.
    chosen = tuple(sorted(markers.items())) if isinstance(markers, Mapping) else markers
    made = _formats.setdefault(vocabulary, {})
    found = made.get((fmt, chosen))
    if found is None:
        # Another thread may have made it too, and all parsers must share one.
        found = made.setdefault((fmt, chosen), TokenFormat(fmt, vocabulary, markers))
    return found


@lru_cache(maxsize=256)
def written_texts(fmt: WireFormat) -> tuple[str, ...]:
    """Return the texts of a format that a model writes or reads.

    Raises:
        UsageError: a marker contains half a character, i.e. a surrogate.
    """
    found = tuple(text for _, text in marker_texts(fmt))
    for text in found:
        # A surrogate in the format would be taken for a special token.
        if not is_whole(text):
            raise UsageError(f"invalid marker {text!r}: it contains half a character (a surrogate)")
    return found


def _specials(fmt: WireFormat, vocabulary: Vocabulary) -> dict[str, int]:
    """Return the special tokens in the markers of a format, with their ids."""
    return {
        part.text: part.id
        for text in written_texts(fmt)
        for part in vocabulary.spelled(text).stretches
        if part.id is not None
    }


def _modes(specials: Mapping[str, int], fmt: WireFormat, markers: Markers) -> dict[str, How]:
    """Return the spelling of each special token of a marker."""
    modes: dict[str, How]
    if not isinstance(markers, Mapping):
        modes = dict.fromkeys(specials, _checked(markers))
        if markers == "text":
            # The end of the turn is always a token, because engines stop at it.
            modes |= dict.fromkeys(map(str.strip, fmt.turn.ends), "token")
        return modes
    modes = dict.fromkeys(specials, "token")
    # A caller may omit the whitespace around a marker.
    known = {text.strip() for text in written_texts(fmt)}
    for marker, how in markers.items():
        core = marker.strip()
        if not core or (core not in known and core not in specials):
            names = ", ".join(map(repr, sorted(specials))) or "no marker with a special token"
            raise UsageError(f"markers: unknown marker {marker!r} (the format has {names})")
        # One marker may contain several special tokens.
        modes |= dict.fromkeys((text for text in specials if text in core), _checked(how))
    return modes


def _checked(how: object) -> How:
    if how not in CHOICES:
        raise UsageError(f'markers must be "token", "text" or "either", not {how!r}')
    return how  # type: ignore[return-value]


def _any_of(texts: list[str]) -> re.Pattern[str] | None:
    # A token may be the prefix of another one, and a tokenizer takes the longest.
    longest_first = sorted(texts, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))) if texts else None


def _with_characters(fmt: WireFormat, written: Callable[[str], str]) -> WireFormat:
    """Return a format with `written` applied to all texts that a model writes."""
    groups: dict[str, Any] = {}
    for name, texts in marker_fields().items():
        group = getattr(fmt, name)
        changed: dict[str, Any] = {}
        for text in texts:
            value = getattr(group, text)
            made = written(value) if isinstance(value, str) else tuple(map(written, value))
            changed[text] = made
        groups[name] = replace(group, **changed)
    # A frozen format, so that it can be cached and shared like the original.
    return replace(fmt, **groups)
