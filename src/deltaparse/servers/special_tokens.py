"""Special tokens of a server's tokenizer: detection of needed ones, and removal of stray ones.

If markers are special tokens, the server must keep all special tokens in its output. The output
then also contains padding and end-of-text tokens, unrelated to the format. `StrayTokens` removes
them if `Policies(stray_token="drop")` is set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from deltaparse.partial import Markers
from deltaparse.stream import WireFormat
from deltaparse.stream.wire.format import marker_texts

__all__ = ["StrayTokens", "needs_special_tokens", "with_special_tokens"]


def needs_special_tokens(fmt: WireFormat, tokenizer: object) -> bool:
    """Return True if a marker contains a special token. End-of-turn markers do not count.

    The result is also True if the tokenizer does not list its special tokens.
    """
    special = _special(tokenizer)
    if special is None:
        return True
    return any(token in text for text in _texts(fmt, own=False) for token in special)


def with_special_tokens(request: Any, fmt: WireFormat, tokenizer: object) -> Any:
    """Set a request to keep special tokens if markers need them, and return it.

    Spaces around added tokens are disabled, because vLLM inserts them for slow tokenizers.
    """
    if needs_special_tokens(fmt, tokenizer):
        request.skip_special_tokens = False
    if hasattr(request, "spaces_between_special_tokens"):
        request.spaces_between_special_tokens = False
    return request


class StrayTokens:
    """Filter for special tokens outside of the format's markers.

    If a step has token ids, text with only the spelling of a special token is kept.

    Args:
        fmt: the format of the response.
        tokenizer: the server's tokenizer. It must list its special tokens, else no text is removed.
    """

    __slots__ = ("_due", "_held", "_ids", "_known", "_tokens")

    def __init__(self, fmt: WireFormat, tokenizer: object) -> None:
        known = _texts(fmt, own=True)
        tokens = _special(tokenizer) or ()
        strays = [token for token in tokens if not any(token in text for text in known)]
        self._tokens = Markers(strays) if strays else None
        self._ids = _ids_of(strays, tokenizer)
        self._held = ""
        self._known = False
        self._due: Counter[str] = Counter()

    def feed(self, text: str, ids: Sequence[int] = ()) -> str:
        """Return the text of the next step without stray tokens, given its token ids if known."""
        if self._tokens is None:
            return text
        if ids:
            self._known = True
            self._due.update(self._ids[id] for id in ids if id in self._ids)
        return self._without(self._held + text, final=False)

    def finish(self) -> str:
        """End the response and return the buffered text."""
        return self._without(self._held, final=True) if self._held else ""

    def _without(self, text: str, *, final: bool) -> str:
        tokens = self._tokens
        kept: list[str] = []
        while tokens is not None:
            start, end = tokens.find(text, final=final)
            kept.append(text[:start])
            found, text = text[start:end], text[end:]
            if not found:
                break
            if self._known and not self._due[found]:
                kept.append(found)
            elif self._known:
                self._due[found] -= 1
        self._held = text
        return "".join(kept)


def _special(tokenizer: object) -> tuple[str, ...] | None:
    """Return the tokens removed by decoding, or None if the tokenizer does not list them.

    In transformers, `all_special_tokens` has only some of them, but decoding removes all flagged
    tokens.
    """
    named = getattr(tokenizer, "all_special_tokens", None)
    if not isinstance(named, (list, tuple)):
        return None
    added = getattr(tokenizer, "added_tokens_decoder", None)
    entries = added.values() if isinstance(added, Mapping) else ()
    flagged = [entry.content for entry in entries if getattr(entry, "special", False)]
    tokens = (str(token) for token in (*named, *flagged))
    return tuple(dict.fromkeys(token for token in tokens if token.strip()))


def _ids_of(tokens: Iterable[str], tokenizer: object) -> dict[int, str]:
    found: Callable[[str], Any] | None = getattr(tokenizer, "convert_tokens_to_ids", None)
    if found is None:
        return {}
    ids = {token: found(token) for token in tokens}
    return {id: token for token, id in ids.items() if isinstance(id, int)}


@lru_cache(maxsize=256)
def _texts(fmt: WireFormat, *, own: bool) -> tuple[str, ...]:
    """Return a format's marker texts. `own` includes the turn's, often removed as stop tokens."""
    return tuple(text for group, text in marker_texts(fmt) if own or group != "turn")
