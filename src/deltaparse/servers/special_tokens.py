"""The special tokens of a server's tokenizer: which a format needs, and which are none of its own.

A server that is asked to keep special tokens, because markers are among them, keeps all of them:
also padding, or the end of a text, which no format reads and no user should see. `StrayTokens`
leaves those out, as `Policies(stray_token="drop")` has it.
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
    """Return whether a special token stands in a marker, other than those that end the turn.

    True where the tokenizer does not say which tokens are special.
    """
    special = _special(tokenizer)
    if special is None:
        return True
    return any(token in text for text in _texts(fmt, own=False) for token in special)


def with_special_tokens(request: Any, fmt: WireFormat, tokenizer: object) -> Any:
    """Ask for the special tokens in a request's answer, if markers are among them; return it.

    Without the spaces that vLLM writes round added tokens where a tokenizer is no fast one: no
    model wrote them.
    """
    if needs_special_tokens(fmt, tokenizer):
        request.skip_special_tokens = False
    if hasattr(request, "spaces_between_special_tokens"):
        request.spaces_between_special_tokens = False
    return request


class StrayTokens:
    """Leaves out of an output the special tokens that stand in no marker of its format.

    Where a step says which tokens it has, text that only looks like one of them stays.

    Args:
        fmt: how the model writes.
        tokenizer: the server's. One that does not name its special tokens has none.
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
        """Take the text of the next step and its tokens, return what is no stray token."""
        if self._tokens is None:
            return text
        if ids:
            self._known = True
            self._due.update(self._ids[id] for id in ids if id in self._ids)
        return self._without(self._held + text, final=False)

    def finish(self) -> str:
        """End the output; return what was held back."""
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
    """Return the tokens that decoding drops, None where the tokenizer does not say.

    transformers names a few of them as `all_special_tokens`, and drops all that are flagged.
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
    """Return the texts of a format; `own`: those too that a server's stop tokens leave out."""
    return tuple(text for group, text in marker_texts(fmt) if own or group != "turn")
