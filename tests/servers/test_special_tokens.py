"""Special tokens removed by a tokenizer, compared with the decoding of transformers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import get_format
from deltaparse.servers.special_tokens import StrayTokens, needs_special_tokens

tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")

FMT = get_format("hermes")
MARKER, STRAY = "<tool_call>", "<|reserved|>"


def tokenizer(flags, named):
    """Return a tokenizer with added tokens, some of them flagged as special or also listed."""
    # Imported lazily, because the package is large.
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    made = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0}, []))
    added = [tokenizers.AddedToken(text, special=flag) for text, flag in flags.items()]
    made.add_tokens(added)
    names = {"additional_special_tokens": named} if named else {}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **names)


@given(st.booleans(), st.booleans(), st.sets(st.sampled_from([MARKER, STRAY])))
def test_tokens_removed_by_decoding_are_requested(marker, stray, named):
    flags = {MARKER: marker, STRAY: stray}
    words = tokenizer(flags, [text for text in sorted(named) if flags[text]])
    text = MARKER + STRAY
    decoded = words.decode(words.encode(text), skip_special_tokens=True).replace(" ", "")
    assert needs_special_tokens(FMT, words) == (MARKER not in decoded)
    strays = StrayTokens(FMT, words)
    assert (STRAY in strays.feed(text) + strays.finish()) == (STRAY in decoded)


def test_flagged_token_is_special_without_being_listed():
    words = tokenizer({MARKER: True}, [])
    assert MARKER not in words.all_special_tokens
    assert needs_special_tokens(FMT, words)
