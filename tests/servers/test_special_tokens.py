"""Which special tokens a server's tokenizer drops, held against the decoding of transformers."""

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
    """A tokenizer with these added tokens, flagged as special or not; some it also names."""
    # Large: it is imported where a test needs it.
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    made = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0}, []))
    added = [tokenizers.AddedToken(text, special=flag) for text, flag in flags.items()]
    made.add_tokens(added)
    names = {"additional_special_tokens": named} if named else {}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **names)


@given(st.booleans(), st.booleans(), st.sets(st.sampled_from([MARKER, STRAY])))
def test_what_decoding_drops_is_asked_for(marker, stray, named):
    flags = {MARKER: marker, STRAY: stray}
    words = tokenizer(flags, [text for text in sorted(named) if flags[text]])
    text = MARKER + STRAY
    decoded = words.decode(words.encode(text), skip_special_tokens=True).replace(" ", "")
    assert needs_special_tokens(FMT, words) == (MARKER not in decoded)
    strays = StrayTokens(FMT, words)
    assert (STRAY in strays.feed(text) + strays.finish()) == (STRAY in decoded)


def test_a_token_that_is_flagged_and_not_named_is_special():
    words = tokenizer({MARKER: True}, [])
    assert MARKER not in words.all_special_tokens
    assert needs_special_tokens(FMT, words)
