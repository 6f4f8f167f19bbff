"""Tests of multi-token markers: detected by function, written as tags, and restored."""

from __future__ import annotations

import pytest

from deltaparse import WireFormat
from deltaparse.analyzer.split_markers import Brackets, find_brackets

PAIRS = "<|open|>think<|sep|>hm<|close|>think<|sep|><|open|>say it<|sep|>x<|close|>say<|sep|>"
PREFIXED = "]<]ns[>[<call>]<]ns[>[<f>1]<]ns[>[</f>]<]ns[>[</call>"
BOTH = PAIRS + PREFIXED


def test_multi_token_markers_are_found():
    pairs = (("<|open|>", "<|sep|>"), ("<|close|>", "<|sep|>"))
    assert find_brackets(PAIRS) == Brackets(pairs=pairs)
    assert find_brackets(PREFIXED) == Brackets(prefixes=("]<]ns[>[",))
    assert find_brackets(BOTH) == Brackets(pairs, ("]<]ns[>[",))


@pytest.mark.parametrize(
    "text",
    [
        "<|open|>think<|sep|>hm<|close|>think<|sep|>",  # one word may be there by chance
        "<|open|>a<|sep|>x<|close|>b<|sep|><|open|>c<|sep|>",  # an unclosed marker
        "<|open|>a<|x|><|close|>a<|y|><|open|>b<|x|><|close|>b<|y|>",  # they have other ends
        "]<]ns[>[<call>]<]ns[>[</call>",  # as with one word
        f"{PREFIXED} ]<]ns[>[",  # it occurs elsewhere too
        "a:<call>a:<f>1a:</f>a:</call>",  # a word before a tag
        "<x><call><x><f>1<x></f><x></call>",  # a tag before a tag
    ],
)
def test_other_markers_are_plain(text):
    assert find_brackets(text) == Brackets()


@pytest.mark.parametrize("text", [PAIRS, PREFIXED, BOTH])
def test_tags_are_restored_to_markers(text):
    brackets = find_brackets(text)
    plain = brackets.plain(text)
    assert "<|open|>" not in plain
    assert "]<]ns[>[" not in plain
    assert brackets.restored(plain) == text


@pytest.mark.parametrize("text", [PAIRS, PREFIXED])
def test_the_markers_of_a_format_are_written_back(text):
    brackets = find_brackets(text)
    fmt = WireFormat().replace(
        reasoning={"mode": "TAG_BASED", "start": text[: len(text) // 4], "end": "</think>"},
        turn={"ends": (text,)},
    )
    plain = fmt.replace(
        reasoning={"start": brackets.plain(fmt.reasoning.start)},
        turn={"ends": (brackets.plain(text),)},
    )
    assert brackets.restored_format(plain) == fmt
    assert Brackets().restored_format(plain) is plain


def test_prefix_must_precede_closing_tags_too():
    opening = "]<]m[>[<a>1]<]m[>[<b>2"
    assert find_brackets(opening) == find_brackets("")
    assert find_brackets(opening + "]<]m[>[</a>]<]m[>[</b>") != find_brackets("")
