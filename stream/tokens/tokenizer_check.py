"""A check that the text decoded by an engine contains the markers of a format.

Engines decode with `skip_special_tokens=True` by default. If a marker is a special token with the
flag, it is then missing in the text, and calls are emitted as content.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..wire.format import WireFormat, marker_texts
from ..wire.format_source import FormatGiven, as_format
from .vocabulary import Spelling, Vocabulary

__all__ = ["TokenizerFinding", "check_tokenizer"]

# Engines remove the end of the turn themselves, so dropping it has no effect.
NOT_WRITTEN = ("turn",)
"""Groups of a format with markers that are part of the prompt, or that engines stop at."""

# Shorter texts, e.g. `, ` or `=`, are ordinary text in any vocabulary.
SHORTEST = 3
"""The minimum length of a marker that is not a special token."""

SETTINGS = {
    "transformers": (
        "pass `skip_special_tokens=False` to `decode`, `batch_decode` or `TextIteratorStreamer`"
    ),
    "vllm": (
        'send `"skip_special_tokens": false` with each request, or `SamplingParams('
        "skip_special_tokens=False)`; most of its own tool parsers set it themselves"
    ),
    "sglang": (
        'send `"skip_special_tokens": false` with each request, in `sampling_params` of '
        "`/generate`; a server with `--tool-call-parser` sets it itself if a request has tools"
    ),
    "llama.cpp": (
        'start `llama-server` with `--special`, or send the markers as `"preserved_tokens"` with '
        "each request to `/completion`"
    ),
    "mlx-lm": (
        "no setting needed: its detokenizer keeps special tokens; in your own call of `decode`, "
        "pass `skip_special_tokens=False`"
    ),
}
"""The settings that keep special tokens in the text, by engine."""


@dataclass(frozen=True, slots=True)
class TokenizerFinding:
    """A finding of `check_tokenizer`.

    Attributes:
        kind: "dropped": decoding with the defaults of engines drops the marker or a part of it.
            "token": the marker is one special token, which is kept.
            "tokens": the marker contains special tokens, which are kept, and text or other tokens.
            "text": the vocabulary has no special token for the marker.
            "setting": a setting of the engine `about` that keeps all markers.
        about: the marker, or the name of the engine.
        detail: the explanation in a sentence.
        ids: the ids of the special tokens in the marker.
    """

    kind: Literal["dropped", "token", "tokens", "text", "setting"]
    about: str
    detail: str
    ids: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.about}: {self.detail}"


def check_tokenizer(tokenizer: object, fmt: FormatGiven) -> list[TokenizerFinding]:
    """Check if decoding with a tokenizer keeps the markers of a format.

    If a marker would be dropped, the settings of each engine follow. A `TokenParser` does not need
    them, because its token ids are not decoded.

    Args:
        tokenizer: a `Vocabulary`, or any argument of `Vocabulary.load`.
        fmt: the format of the model, or the name of a built-in format.

    Returns:
        The findings: dropped markers first, then other markers, then settings if any are needed.

    Raises:
        UsageError: the tokenizer cannot be read, or no format has the name.
    """
    fmt = as_format(fmt)
    vocabulary = Vocabulary.load(tokenizer)
    made = [_of_marker(vocabulary, text) for text in _markers(fmt, vocabulary)]
    # Dropped markers first, because they require action.
    dropped = [finding for finding in made if finding.kind == "dropped"]
    found = [*dropped, *(finding for finding in made if finding.kind != "dropped")]
    # Without dropped markers, the defaults of the engines work.
    if dropped:
        found += [TokenizerFinding("setting", name, text) for name, text in SETTINGS.items()]
    return found


def _markers(fmt: WireFormat, vocabulary: Vocabulary) -> list[str]:
    """Return the markers that a model writes, without surrounding whitespace."""
    # A dict, because the order of the format makes the report readable.
    found: dict[str, None] = {}
    for group, text in marker_texts(fmt):
        # Tokenizers split whitespace from special tokens.
        core = text.strip()
        # Even a single character is a marker if it is a special token.
        is_marker = len(core) >= SHORTEST or vocabulary.spelled(core).ids
        if is_marker and group not in NOT_WRITTEN:
            found[core] = None
    return list(found)


def _of_marker(vocabulary: Vocabulary, text: str) -> TokenizerFinding:
    spelling = vocabulary.spelled(text)
    ids, kind = spelling.ids, spelling.kind
    # One dropped token is enough to break a marker.
    dropped = [id for id in ids if id in vocabulary.skipped_ids]
    if dropped:
        return TokenizerFinding("dropped", text, _dropped_detail(vocabulary, spelling), ids)
    if kind == "text":
        detail = "not a special token: the model spells it in ordinary tokens, kept by decoding"
    elif kind == "token":
        detail = f"one special token, {ids[0]}, kept by decoding because it is not flagged"
    else:
        detail = f"contains the special tokens {_listed(vocabulary, ids)}, kept by decoding"
    return TokenizerFinding(kind, text, detail, ids)


def _dropped_detail(vocabulary: Vocabulary, spelling: Spelling) -> str:
    ids = spelling.ids
    if spelling.kind == "token":
        return f"special token {ids[0]}: decoding with skip_special_tokens=True drops it"
    skipped = tuple(id for id in ids if id in vocabulary.skipped_ids)
    # The rest helps to recognize broken markers in the content.
    left = "".join(part.text for part in spelling.stretches if part.id not in skipped)
    return (
        f"decoding with skip_special_tokens=True drops {_listed(vocabulary, skipped)} and keeps "
        f"{left!r}"
    )


def _listed(vocabulary: Vocabulary, ids: tuple[int, ...]) -> str:
    return ", ".join(f"{vocabulary.special_text(id)} ({id})" for id in ids)
