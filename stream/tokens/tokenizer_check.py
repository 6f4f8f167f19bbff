"""Does text that an engine decodes still have the markers? Said before the first request.

Engines decode with `skip_special_tokens=True`, unless they are told otherwise. A marker that is a
special token with the flag is then not in the text, and calls come out as content.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..wire.format import WireFormat, marker_texts
from ..wire.format_source import FormatGiven, as_format
from .vocabulary import Spelling, Vocabulary

__all__ = ["TokenizerFinding", "check_tokenizer"]

NOT_WRITTEN = ("turn",)
"""Groups of a format whose markers the model reads, or which engines stop at."""

SHORTEST = 3
"""Characters of a text that counts as a marker, if it is no special token: not of `, ` or `=`."""

SETTINGS = {
    "transformers": (
        "decode with `skip_special_tokens=False`; it goes to `decode`, `batch_decode` and "
        "`TextIteratorStreamer` alike"
    ),
    "vllm": (
        'send `"skip_special_tokens": false` with each request, or `SamplingParams('
        "skip_special_tokens=False)`; most of its own tool parsers set it themselves"
    ),
    "sglang": (
        'send `"skip_special_tokens": false` with each request, in `sampling_params` of '
        "`/generate`; a server with `--tool-call-parser` sets it itself where tools are given"
    ),
    "llama.cpp": (
        'start `llama-server` with `--special`, or send the markers as `"preserved_tokens"` with '
        "each request to `/completion`"
    ),
    "mlx-lm": (
        "nothing: its detokenizer keeps special tokens; with a decode of your own, "
        "`skip_special_tokens=False`"
    ),
}
"""What keeps special tokens in the text, by engine."""


@dataclass(frozen=True, slots=True)
class TokenizerFinding:
    """One thing that `check_tokenizer` found.

    kind:    "dropped": decoding as engines usually do leaves the marker, or a part of it, out.
             "token": the marker is one special token, which is kept.
             "tokens": it has special tokens in it, which are kept, and text or other such tokens.
             "text": the vocabulary has no special token for it.
             "setting": what to set in an engine, `about`, so that nothing is dropped.
    about:   the marker, or the engine.
    detail:  a sentence that says what it means.
    ids:     the special tokens of the marker.
    """

    kind: Literal["dropped", "token", "tokens", "text", "setting"]
    about: str
    detail: str
    ids: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.about}: {self.detail}"


def check_tokenizer(tokenizer: object, fmt: FormatGiven) -> list[TokenizerFinding]:
    """Say how a tokenizer writes the markers of a format, and what decoding does to them.

    Where a marker would be dropped, what to set in each engine follows. What feeds a `TokenParser`
    with ids needs none of it: no decoding comes between.

    Args:
        tokenizer: a `Vocabulary`, or what `Vocabulary.load` takes.
        fmt: the format of the model, or its name.

    Returns:
        The markers that are dropped first, then the others, then the settings, if any are needed.

    Raises:
        UsageError: the tokenizer cannot be read, or no format has the name.
    """
    fmt = as_format(fmt)
    vocabulary = Vocabulary.load(tokenizer)
    made = [_of_marker(vocabulary, text) for text in _markers(fmt, vocabulary)]
    dropped = [finding for finding in made if finding.kind == "dropped"]
    found = [*dropped, *(finding for finding in made if finding.kind != "dropped")]
    if dropped:
        found += [TokenizerFinding("setting", name, text) for name, text in SETTINGS.items()]
    return found


def _markers(fmt: WireFormat, vocabulary: Vocabulary) -> list[str]:
    """List the markers that a model writes, without the white space at them."""
    found: dict[str, None] = {}
    for group, text in marker_texts(fmt):
        core = text.strip()
        is_marker = len(core) >= SHORTEST or vocabulary.spelled(core).ids
        if is_marker and group not in NOT_WRITTEN:
            found[core] = None
    return list(found)


def _of_marker(vocabulary: Vocabulary, text: str) -> TokenizerFinding:
    spelling = vocabulary.spelled(text)
    ids, kind = spelling.ids, spelling.kind
    dropped = [id for id in ids if id in vocabulary.skipped_ids]
    if dropped:
        return TokenizerFinding("dropped", text, _what_is_dropped(vocabulary, spelling), ids)
    if kind == "text":
        said = "no special token: the model spells it in ordinary tokens, which decoding keeps"
    elif kind == "token":
        said = f"one special token, {ids[0]}, without the flag that lets decoding drop it"
    else:
        said = f"of the special tokens {_listed(vocabulary, ids)}, which decoding keeps"
    return TokenizerFinding(kind, text, said, ids)


def _what_is_dropped(vocabulary: Vocabulary, spelling: Spelling) -> str:
    ids = spelling.ids
    if spelling.kind == "token":
        return f"the special token {ids[0]}, which decoding with skip_special_tokens=True drops"
    skipped = tuple(id for id in ids if id in vocabulary.skipped_ids)
    left = "".join(part.text for part in spelling.stretches if part.id not in skipped)
    return (
        f"decoding with skip_special_tokens=True drops {_listed(vocabulary, skipped)} of it, and "
        f"leaves {left!r}"
    )


def _listed(vocabulary: Vocabulary, ids: tuple[int, ...]) -> str:
    return ", ".join(f"{vocabulary.special_text(id)} ({id})" for id in ids)
