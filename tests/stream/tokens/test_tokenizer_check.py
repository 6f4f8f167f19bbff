"""Findings of `check_tokenizer`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken

import deltaparse as dp
from deltaparse import check_tokenizer, get_format, list_formats

from ... import vocabularies

ENGINES = ["transformers", "vllm", "sglang", "llama.cpp", "mlx-lm"]
CALL = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'


def tokenizer_with(flags):
    """Return a tokenizer with added tokens, each flagged as special or not."""
    made = type(vocabularies.trained()).from_str(vocabularies.trained().to_str())
    made.add_tokens(
        [AddedToken(text, special=flag, normalized=False) for text, flag in flags.items()]
    )
    return made


def kinds(found):
    return {finding.about: finding.kind for finding in found if finding.kind != "setting"}


@given(st.booleans(), st.booleans())
def test_markers_reported_as_dropped_are_dropped(start, end):
    tokenizer = tokenizer_with({"<tool_call>": start, "</tool_call>": end})
    found = check_tokenizer(tokenizer, get_format("hermes"))
    reported = {about for about, kind in kinds(found).items() if kind == "dropped"}
    decoded = tokenizer.decode(tokenizer.encode(CALL).ids, skip_special_tokens=True)
    assert reported == {
        marker for marker in ("<tool_call>", "</tool_call>") if marker not in decoded
    }
    assert [finding.about for finding in found if finding.kind == "setting"] == ENGINES * bool(
        reported
    )
    # Dropped markers are first.
    order = [finding.kind == "dropped" for finding in found]
    assert order == sorted(order, reverse=True)


def test_each_marker_has_one_finding():
    tokenizer = tokenizer_with({"<tool_call>": False, "｜x｜": False, "<|a|>": True})
    fmt = get_format("hermes").replace(
        tools={"per_call_end": "</｜x｜end>", "section_start": "<|a|>calls"}
    )
    found = check_tokenizer(tokenizer, fmt)
    assert kinds(found) == {
        "<|a|>calls": "dropped",
        "<tool_call>": "token",
        "</｜x｜end>": "tokens",
    }
    (dropped,) = [finding for finding in found if finding.kind == "dropped"]
    assert "keeps 'calls'" in dropped.detail
    assert str(dropped).startswith("<|a|>calls: decoding with skip_special_tokens=True drops")
    assert kinds(check_tokenizer(tokenizer_with({}), fmt)) == dict.fromkeys(kinds(found), "text")


@pytest.mark.parametrize("name", list_formats())
def test_all_formats_are_checked(name):
    fmt = get_format(name)
    found = check_tokenizer(dp.Vocabulary({0: b"<tool_call>"}, special=[0]), fmt)
    assert all(finding.detail for finding in found)
    markers = {text.strip() for text in (*fmt.derived.openers, *fmt.derived.closers)}
    assert {text for text in markers if len(text) > 2} <= set(kinds(found))


def test_no_settings_if_all_markers_are_kept():
    found = check_tokenizer(tokenizer_with({}), get_format("hermes"))
    assert kinds(found) == {"<tool_call>": "text", "</tool_call>": "text"}
    assert len(found) == 2


@vocabularies.needs_vocabularies
def test_findings_for_real_tokenizers():
    def of(model, name):
        return kinds(check_tokenizer(vocabularies.path(model), get_format(name)))

    assert of("tekken", "mistral")["[TOOL_CALLS]"] == "dropped"
    assert set(of("deepseek", "deepseekv31").values()) == {"token"}
    assert of("deepseek", "deepseek_v32")["</｜DSML｜invoke>"] == "tokens"
    assert of("qwen", "hermes") == {"<tool_call>": "text", "</tool_call>": "text"}


def details(special, skipped=(), **tools):
    """Return the detail of each marker for a vocabulary with these special tokens."""
    tokens = {id: text.encode() for id, text in enumerate(["a", *special])}
    vocabulary = dp.Vocabulary(tokens, special=range(1, len(tokens)))
    vocabulary._skipped = frozenset(vocabulary.find(text) for text in skipped)
    fmt = get_format("hermes").replace(tools=tools)
    found = check_tokenizer(vocabulary, fmt)
    return {finding.about: finding.detail for finding in found if finding.kind != "setting"}


def test_detail_of_each_kind_of_marker():
    given = {"per_call_start": "<call>", "per_call_end": "<end>call<stop>"}
    assert details([], **given)["<call>"].startswith("not a special token: ")
    special = ["<call>", "<end>", "<stop>"]
    kept = details(special, **given)
    assert kept["<call>"].startswith("one special token, 1, kept by decoding")
    assert kept["<end>call<stop>"].startswith("contains the special tokens <end> (2), <stop> (3)")
    dropped = details(special, ["<call>", "<stop>"], **given)
    assert dropped["<call>"].startswith("special token 1: decoding with")
    assert dropped["<end>call<stop>"].endswith("drops <stop> (3) and keeps '<end>call'")


def test_short_text_is_a_marker_only_if_it_is_a_token():
    given = {"per_call_start": "§", "per_call_end": "<call>"}
    assert set(details([], **given)) == {"<call>"}
    assert set(details(["§"], **given)) == {"<call>", "§"}


def test_format_may_be_given_by_name():
    made = tokenizer_with({"<tool_call>": True})
    assert check_tokenizer(made, "hermes") == check_tokenizer(made, get_format("hermes"))
