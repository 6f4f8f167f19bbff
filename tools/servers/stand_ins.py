"""Replacement tokenizers for tests that load one from a hub.

Tokenizers cannot be downloaded where the tests run. The tests need markers as single tokens, other
text as several tokens, and tokens that are parts of characters. So a small byte-level BPE is
trained on the tests themselves, with the markers of the peers' parsers as additional tokens.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

import peers
from deltaparse import get_format, list_formats

__all__ = ["markers", "stand_in", "suffixes"]

MARKER = re.compile(r"""["'](</?[^<>"'\s{}()\\=]{1,60}>|\[/?[A-Z_]{3,}\])["']""")
SUFFIXED = re.compile(r"(</?[^<>:]+)(:\w+)>")
PLAIN = ("gpt2", "opt-125m")
"""Models whose tokenizers have no markers."""
FOLDERS = ("tool_parsers", "reasoning", "parser")


@cache
def markers() -> list[str]:
    """Return the markers with their own tokens: of our formats, and of vLLM's parsers."""
    found = {text for name in list_formats() for text in get_format(name).preserved_tokens}
    root = peers.fetch("vllm", peers.VERSIONS["vllm"]) / "vllm"
    for folder in FOLDERS:
        for path in sorted((root / folder).glob("**/*.py")):
            found.update(MARKER.findall(path.read_text(encoding="utf-8")))
    return sorted(found)


@cache
def _suffixed() -> dict[str, tuple[str, str]]:
    """Return the markers with a suffix, each with its plain form and the suffix."""
    found = (found for found in map(SUFFIXED.fullmatch, markers()) if found)
    return {one[0]: (f"{one[1]}>", one[2]) for one in found if f"{one[1]}>" in markers()}


def suffixes() -> list[str]:
    """Return the suffixes of markers."""
    return sorted({suffix for _, suffix in _suffixed().values()})


@cache
def _trained() -> str:
    kept = peers.KEPT / "stand_in.json"
    if not kept.exists():
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=4000,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        tests = sorted((peers.source() / "tool_parsers").glob("*.py"))
        tokenizer.train([str(path) for path in tests], trainer)
        kept.write_text(tokenizer.to_str(), encoding="utf-8")
    return kept.read_text(encoding="utf-8")


@cache
def stand_in(name: str | Path = "", suffix: str = "") -> Any:
    """Return the replacement for a model's tokenizer. `suffix` is one of `suffixes`."""
    tokenizer = Tokenizer.from_str(_trained())
    if not str(name).endswith(PLAIN):
        others = {bare if end == suffix else longer for longer, (bare, end) in _suffixed().items()}
        known = [text for text in markers() if text not in others]
        tokenizer.add_tokens([AddedToken(text, normalized=False) for text in known])
    options = {"bos_token": "<s>", "eos_token": "</s>", "token_suffix": suffix}
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **options)
    made.name_or_path = str(name)
    return made
