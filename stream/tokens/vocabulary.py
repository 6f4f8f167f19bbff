r"""The vocabulary of a model: the bytes of each token id, and the special tokens.

    vocabulary = Vocabulary.load(tokenizer)         # or a path, or {id: bytes}
    vocabulary[9906]                                # b"Hello"
    vocabulary.find("<tool_call>")                  # 151657, or None if it is ordinary text
    vocabulary.spelled("<tool_call>\n")             # one special token, then text

A token is special here if the tokenizer never splits its text, with or without a flag. For example,
`<tool_call>` of the Qwen models is not flagged, but is always one token. Whitespace that is never
split counts as ordinary text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import index
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from deltaparse.partial import UsageError

from .load_files import load_file
from .load_tokenizers import load_tokenizer
from .token_source import FixedTokens, MoreTokens, Special, TokenSource

__all__ = ["Spelling", "Stretch", "Vocabulary"]


class Stretch(NamedTuple):
    """A part of a text: one special token, or the text between two special tokens.

    Attributes:
        start: the start of the part in the text.
        end: the end of the part in the text.
        text: `text[start:end]` of the text.
        id: the id of the special token, None for ordinary text.
    """

    start: int
    end: int
    text: str
    id: int | None


@dataclass(frozen=True, slots=True)
class Spelling:
    """A text split into special tokens and ordinary text, as a tokenizer does.

    Attributes:
        text: the text.
        stretches: its parts, in order.
    """

    text: str
    stretches: tuple[Stretch, ...]

    @property
    def kind(self) -> Literal["token", "tokens", "text"]:
        """The kind of the text.

        "token": one special token. "tokens": several special tokens, or special tokens and text.
        "text": no special tokens.
        """
        if not self.ids:
            return "text"
        return "token" if len(self.stretches) == 1 else "tokens"

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of the special tokens, in order."""
        return tuple(part.id for part in self.stretches if part.id is not None)


class Vocabulary:
    """The tokens of a model: the exact bytes of each id, and the special tokens.

    Any number of parsers may share a vocabulary, in any number of threads. The bytes of a token are
    decoded on first use.

    Args:
        tokens: the bytes of each id. A token may be a part of a character.
        special: the ids of the special tokens, or a mapping of text to id for special tokens that
            are missing in `tokens`.

    Raises:
        UsageError: an id is not an int of at least 0, a token is not `bytes`, or a special token is
            not in `tokens`.
    """

    def __init__(
        self, tokens: Mapping[int, bytes], special: Iterable[int] | Mapping[str, int] = ()
    ) -> None:
        for id, token in tokens.items():
            if type(id) is not int or id < 0:
                raise UsageError(f"a token id must be an int of at least 0, not {id!r}")
            if not isinstance(token, bytes):
                raise UsageError(f"token {id}: its text must be bytes, not {type(token).__name__}")
        # A copy, so that later changes to the caller's mapping have no effect.
        source = FixedTokens(dict(tokens), {})
        self._set(MoreTokens(source, _kept_whole(special, source)), "tokens")

    @classmethod
    def load(cls, source: object, special: Iterable[int] | Mapping[str, int] = ()) -> Vocabulary:
        """Load the vocabulary of a tokenizer. Only the tokenizer's own package is needed.

        Args:
            source: one of
                - a tokenizer of transformers, `tokenizers`, tiktoken, mistral-common or
                  SentencePiece, or an object with one, e.g. a processor
                - the path of a `tokenizer.json`, a `tekken.json`, a tiktoken ranks file, a
                  SentencePiece model, a GGUF file, or a model's folder with one of these files
                - a mapping of ids to bytes
            special: the special tokens that are missing in the source, as a mapping of text to id,
                or as ids of tokens in the source. Ranks files have no special tokens.

        Raises:
            UsageError: `source` is not one of these, or cannot be read, or its tokens have no bytes
                of their own, as in BERT.
        """
        # Made empty, because `__init__` needs all bytes, but other sources are read on first use.
        made = cls({})
        # A vocabulary is never changed, so it needs no copy.
        if isinstance(source, Vocabulary):
            made = source
        elif isinstance(source, Mapping):
            made = cls(source)
        # A string is always a path, because models are not downloaded from a hub.
        elif isinstance(source, str | Path):
            made._set(*load_file(Path(source)))
        else:
            found, kind = load_tokenizer(source), type(source).__name__
            if found is None:
                raise UsageError(f"source must be a tokenizer, a path or a mapping, not {kind}")
            made._set(found, kind)
        if special:
            # A new object, because a given `Vocabulary` must not change.
            tokens, kind = made._source, made._kind
            made = cls({})
            made._set(MoreTokens(tokens, _kept_whole(special, tokens)), kind)
        return made

    def _set(self, source: TokenSource, kind: str) -> None:
        self._source = source
        # The kind is shown by `repr`.
        self._kind = kind
        self._known: dict[int, bytes] = {}
        # Without whitespace tokens, which would make any indentation a marker.
        self._texts = {id: token.text for id, token in source.special.items() if token.text.strip()}
        special: dict[str, int] = {}
        for id, text in self._texts.items():
            # Of ids with the same text, the first counts.
            special.setdefault(text, id)
        self._special = special
        self._skipped = frozenset(id for id, token in source.special.items() if token.skipped)

    def __len__(self) -> int:
        """Return the number of ids that have a token."""
        return len(self._ids)

    def __iter__(self) -> Iterator[int]:
        """Iterate over the ids that have a token."""
        return iter(self._ids)

    def __contains__(self, id: object) -> bool:
        """Return True if an id has a token."""
        # The type is checked, because True equals 1.
        return type(id) is int and id in self._ids

    def __getitem__(self, id: int) -> bytes:
        """Return the bytes of a token.

        Raises:
            UsageError: the vocabulary has no token with this id.
        """
        # Tested in line, because token parsers look up every token.
        if type(id) is not int:
            id = self._number(id)
        known = self._known.get(id)
        if known is None:
            known = self._source.bytes_of(id)
            if known is None:
                raise UsageError(self._missing(id))
            self._known[id] = known
        return known

    def __repr__(self) -> str:
        return f"<Vocabulary of {self._kind}: {len(self)} tokens, {len(self._texts)} special>"

    @property
    def special(self) -> Mapping[str, int]:
        """The ids of the special tokens by text."""
        # Read-only, because parsers share the vocabulary.
        return MappingProxyType(self._special)

    @property
    def special_ids(self) -> frozenset[int]:
        """The ids of the special tokens."""
        # All ids, although `special` has only the first id of each text.
        return frozenset(self._texts)

    @property
    def skipped_ids(self) -> frozenset[int]:
        """The ids of the special tokens that decoding drops by default."""
        return self._skipped

    def find(self, text: str) -> int | None:
        """Return the id of the special token with this text, None without one."""
        return self._special.get(text)

    def special_text(self, id: int) -> str | None:
        """Return the text of a special token, None for ordinary tokens."""
        return self._texts.get(id)

    def spelled(self, text: str) -> Spelling:
        """Split a text into special tokens and ordinary text, as the tokenizer does.

        If two special tokens start at the same place, the longer one counts.
        """
        parts: list[Stretch] = []
        at = 0
        # A search for all special tokens at once, because a model has up to a thousand.
        for match in self._pattern.finditer(text) if self._pattern else ():
            start, end = match.span()
            if at < start:
                parts.append(Stretch(at, start, text[at:start], None))
            parts.append(Stretch(start, end, match[0], self._special[match[0]]))
            at = end
        if at < len(text):
            parts.append(Stretch(at, len(text), text[at:], None))
        return Spelling(text, tuple(parts))

    # Cached, because a source may collect the ids anew at each access.
    @cached_property
    def _ids(self) -> Collection[int]:
        return self._source.ids

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        """A pattern of all special tokens that finds the longest one at each place."""
        # An alternation takes the first match, so the longest text must be first.
        texts = sorted(self._special, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, texts))) if texts else None

    def _number(self, id: object) -> int:
        try:
            # Integers of numpy and torch have `__index__`, and so has bool.
            if not isinstance(id, bool):
                return index(id)  # type: ignore[arg-type]
        except TypeError:
            pass
        raise UsageError(f"a token id must be an int, not {id!r}")

    def _missing(self, id: int) -> str:
        # Models with a padded output layer can sample unknown ids, so the message explains them.
        last = max(self._ids, default=-1)
        if id < 0:
            return f"token id {id} is negative"
        if id > last:
            return (
                f"token id {id} is outside of the vocabulary, whose last id is {last} "
                "(ids of padding in the model's output layer cannot be decoded)"
            )
        return f"token id {id} has no token: it is padding of the vocabulary"


def _kept_whole(
    special: Iterable[int] | Mapping[str, int], tokens: TokenSource
) -> dict[int, Special]:
    """Return the special tokens, given as ids by text or as ids of tokens."""
    if isinstance(special, Mapping):
        return {_checked(id, isinstance(text, str)): Special(text) for text, id in special.items()}
    kept: dict[int, Special] = {}
    for id in special:
        known = tokens.bytes_of(_checked(id, True))
        _checked(id, known is not None)
        # `known` is not None here, but the type checker cannot infer it.
        kept[id] = Special((known or b"").decode("utf-8", "replace"))
    return kept


def _checked(id: int, is_known: bool) -> int:
    # The type is checked, because True equals 1.
    if type(id) is not int or id < 0 or not is_known:
        raise UsageError(f"special token {id!r} is not in the vocabulary")
    return id
