r"""The vocabulary of a model: which bytes each token id stands for, and which tokens are special.

    vocabulary = Vocabulary.load(tokenizer)         # or a path, or {id: bytes}
    vocabulary[9906]                                # b"Hello"
    vocabulary.find("<tool_call>")                  # 151657, or None where it is ordinary text
    vocabulary.spelled("<tool_call>\n")             # one special token, and text behind it

A token is special here if the tokenizer keeps it whole wherever its text stands, whatever its flag:
`<tool_call>` of the Qwen models is not flagged, and is one token all the same. White space that is
kept whole is ordinary text.
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
    """A part of a text, `text[start:end]`: one special token, or what stands between two.

    `id` is None where the text is spelled in ordinary tokens.
    """

    start: int
    end: int
    text: str
    id: int | None


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a tokenizer writes a text: its special tokens, and ordinary text between them."""

    text: str
    stretches: tuple[Stretch, ...]

    @property
    def kind(self) -> Literal["token", "tokens", "text"]:
        """How the text is made.

        "token": it is one special token. "tokens": it has special tokens, several or with text.
        "text": it has none.
        """
        if not self.ids:
            return "text"
        return "token" if len(self.stretches) == 1 else "tokens"

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of the special tokens, in order."""
        return tuple(part.id for part in self.stretches if part.id is not None)


class Vocabulary:
    """The tokens of a model: the exact bytes of each id, and which of them are special.

    One vocabulary serves any number of parsers, in any number of threads. A token's bytes are
    decoded when they are first asked for.

    Args:
        tokens: the bytes of each id. Bytes of a token may be a part of a character.
        special: the special tokens: their ids, or, for tokens missing from `tokens`, a mapping of
            text to id.

    Raises:
        UsageError: an id is no number of at least 0, a token is no `bytes`, or a special token is
            not among the tokens.
    """

    def __init__(
        self, tokens: Mapping[int, bytes], special: Iterable[int] | Mapping[str, int] = ()
    ) -> None:
        for id, token in tokens.items():
            if type(id) is not int or id < 0:
                raise UsageError(f"a token's id is an int of at least 0, not {id!r}")
            if not isinstance(token, bytes):
                raise UsageError(f"token {id}: its text is bytes, not {type(token).__name__}")
        source = FixedTokens(dict(tokens), {})
        self._set(MoreTokens(source, _kept_whole(special, source)), "tokens")

    @classmethod
    def load(cls, source: object, special: Iterable[int] | Mapping[str, int] = ()) -> Vocabulary:
        """Load the vocabulary of a tokenizer. Only that tokenizer's own package is needed.

        Args:
            source: a tokenizer of transformers, `tokenizers`, tiktoken, mistral-common or
                SentencePiece, or what has one, such as a processor; the path of a
                `tokenizer.json`, a `tekken.json`, a file of ranks for tiktoken, a model of
                SentencePiece or a GGUF file, or of a model's folder with one of these; or a
                mapping of ids to bytes.
            special: special tokens that the source does not name (files of ranks name none): a
                mapping of text to id, or the ids of tokens that it has.

        Raises:
            UsageError: it is none of these, cannot be read, or has tokens without bytes of their
                own, such as those of BERT.
        """
        made = cls({})
        if isinstance(source, Vocabulary):
            made = source
        elif isinstance(source, Mapping):
            made = cls(source)
        elif isinstance(source, str | Path):
            made._set(*load_file(Path(source)))
        else:
            found, kind = load_tokenizer(source), type(source).__name__
            if found is None:
                raise UsageError(f"a vocabulary is loaded from a tokenizer or a path, not {kind}")
            made._set(found, kind)
        if special:
            tokens, kind = made._source, made._kind
            made = cls({})
            made._set(MoreTokens(tokens, _kept_whole(special, tokens)), kind)
        return made

    def _set(self, source: TokenSource, kind: str) -> None:
        self._source = source
        self._kind = kind
        self._known: dict[int, bytes] = {}
        self._texts = {id: token.text for id, token in source.special.items() if token.text.strip()}
        special: dict[str, int] = {}
        for id, text in self._texts.items():
            special.setdefault(text, id)
        self._special = special
        self._skipped = frozenset(id for id, token in source.special.items() if token.skipped)

    def __len__(self) -> int:
        """Count the ids that have a token."""
        return len(self._ids)

    def __iter__(self) -> Iterator[int]:
        """Iterate over the ids that have a token."""
        return iter(self._ids)

    def __contains__(self, id: object) -> bool:
        """Whether an id has a token."""
        return type(id) is int and id in self._ids

    def __getitem__(self, id: int) -> bytes:
        """Return the bytes of a token.

        Raises:
            UsageError: no token has this id.
        """
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
        """The text of each special token, and its id."""
        return MappingProxyType(self._special)

    @property
    def special_ids(self) -> frozenset[int]:
        """The ids of the special tokens."""
        return frozenset(self._texts)

    @property
    def skipped_ids(self) -> frozenset[int]:
        """The special tokens that decoding leaves out, unless it is told to keep them."""
        return self._skipped

    def find(self, text: str) -> int | None:
        """Find the special token whose text this is, None where there is none."""
        return self._special.get(text)

    def special_text(self, id: int) -> str | None:
        """Return the text of a special token, None for ordinary tokens."""
        return self._texts.get(id)

    def spelled(self, text: str) -> Spelling:
        """Cut a text into special tokens and ordinary text, as the tokenizer does.

        Of two special tokens that begin at the same place, the longer one is taken.
        """
        parts: list[Stretch] = []
        at = 0
        for match in self._pattern.finditer(text) if self._pattern else ():
            start, end = match.span()
            if at < start:
                parts.append(Stretch(at, start, text[at:start], None))
            parts.append(Stretch(start, end, match[0], self._special[match[0]]))
            at = end
        if at < len(text):
            parts.append(Stretch(at, len(text), text[at:], None))
        return Spelling(text, tuple(parts))

    @cached_property
    def _ids(self) -> Collection[int]:
        return self._source.ids

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        """Any special token, the longest that there is at its place."""
        texts = sorted(self._special, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, texts))) if texts else None

    def _number(self, id: object) -> int:
        try:
            if not isinstance(id, bool):
                return index(id)  # type: ignore[arg-type]
        except TypeError:
            pass
        raise UsageError(f"a token's id is an int, not {id!r}")

    def _missing(self, id: int) -> str:
        last = max(self._ids, default=-1)
        if id < 0:
            return f"token id {id}: ids begin at 0"
        if id > last:
            return (
                f"token id {id}: outside of the vocabulary, whose last id is {last}; "
                "a model's output may be padded beyond it, and no such id can be decoded"
            )
        return f"token id {id}: no token has this id: it is padding of the vocabulary"


def _kept_whole(
    special: Iterable[int] | Mapping[str, int], tokens: TokenSource
) -> dict[int, Special]:
    """Read which tokens are special: ids by their texts, or ids of tokens."""
    if isinstance(special, Mapping):
        return {_checked(id, isinstance(text, str)): Special(text) for text, id in special.items()}
    kept: dict[int, Special] = {}
    for id in special:
        known = tokens.bytes_of(_checked(id, True))
        _checked(id, known is not None)
        kept[id] = Special((known or b"").decode("utf-8", "replace"))
    return kept


def _checked(id: int, is_known: bool) -> int:
    if type(id) is not int or id < 0 or not is_known:
        raise UsageError(f"special token {id!r}: not among the tokens")
    return id
