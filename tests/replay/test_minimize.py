"""Reduction of outputs: the result still shows the fault and cannot be reduced further."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import deltaparse as dp
from deltaparse.replay import Replayer
from deltaparse.replay.minimize import (
    as_test,
    breaks_against,
    breaks_ours,
    breaks_peer,
    minimal,
    peer_named,
)

from ..command.plain import PLAIN
from .records import FORMAT, REPLAYER, TEXT, call, record


def each_smaller(chunks):
    """All that is one step smaller: two chunks merged, or a character left out."""
    for at in range(len(chunks) - 1):
        yield [*chunks[:at], chunks[at] + chunks[at + 1], *chunks[at + 2 :]]
    for at, chunk in enumerate(chunks):
        for char in range(len(chunk)):
            short = chunk[:char] + chunk[char + 1 :]
            yield [*chunks[:at], *([short] if short else []), *chunks[at + 1 :]] or [""]


PREDICATES = [
    lambda chunks: "ab" in "".join(chunks) and not any("ab" in chunk for chunk in chunks),
    lambda chunks: "".join(chunks).count("a") >= 3,
    lambda chunks: len(chunks) >= 3,
    lambda chunks: re.search("a.*b", "".join(chunks), re.DOTALL) is not None,
    lambda chunks: True,
]


@given(st.lists(st.text("abc", min_size=1, max_size=5), min_size=1), st.sampled_from(PREDICATES))
def test_minimal_output_cannot_be_reduced_further(chunks, breaks):
    chunks += ["aa", "a", "bb"]
    assume(breaks(chunks))
    found = minimal(chunks, breaks)
    assert breaks(found)
    assert not any(breaks(smaller) for smaller in each_smaller(found))


def naive(chunks, _):
    """A parser that looks for its marker in each chunk alone."""
    content, calls = "", []
    for chunk in chunks:
        if "<tool_call>" in chunk:
            calls.append({"function": {"name": "weather", "arguments": "{}"}})
        content += chunk.replace("<tool_call>", "")
    return {"content": content, "tool_calls": calls}


def test_the_cut_that_breaks_another_parser():
    text = 'Hello.\n<tool_call>\n{"name": "weather", "arguments": {}}\n</tool_call>'
    chunks = [text[at : at + 3] for at in range(0, len(text), 3)]
    breaks = breaks_peer(REPLAYER, record(text=text), naive, "call_lost")
    found = minimal(chunks, breaks)
    assert len(found) == 2
    assert "<tool_call>" in "".join(found)
    assert "Hello" not in "".join(found)


def test_a_parser_that_raises_breaks():
    def raises(chunks, _):
        if "Paris" in "".join(chunks):
            raise KeyError
        return {}

    assert minimal([TEXT], breaks_peer(REPLAYER, record(), raises, "raised")) == ["Paris"]


def test_minimal_text_for_two_different_policies():
    other = Replayer(FORMAT, policies=dp.Policies(unknown_tool="text"))
    both = Replayer(FORMAT, against=other)
    given = record(tools=[{"name": "other"}])
    (found,) = minimal([TEXT], breaks_against(both, given, "call_lost"))
    assert len(found) < 60
    assert both(given | {"text": found})["class"] == "call_lost"
    with pytest.raises(dp.UsageError):
        breaks_against(REPLAYER, given)


def test_ours_breaks_nowhere():
    breaks = breaks_ours(REPLAYER, record())
    with pytest.raises(dp.UsageError, match="does not show the fault"):
        minimal(list(TEXT), breaks)


def holds(source):
    names = {}
    exec(source, names)
    names["test_this_output"]()
    exec(source.replace("chunks = [", "chunks = ['?', "), names)
    with pytest.raises(AssertionError):
        names["test_this_output"]()


ASKED = st.fixed_dictionaries(
    {},
    optional={
        "tools": st.sampled_from([[], record()["tools"][:1], json.dumps(record()["tools"])]),
        "tool_choice": st.sampled_from(["none", "required", None]),
        "parallel_tool_calls": st.booleans(),
        "extra_calls": st.sampled_from(["flag", "drop", "text"]),
        "finish_reason": st.sampled_from(["stop", "length", {"type": "eos_token"}, None]),
        "prompt": st.sampled_from(["<|im_start|>assistant\n", "<|im_start|>assistant\n<think>\n"]),
        "response_schema": st.just({"type": "object"}),
    },
)
POLICIES = st.sampled_from([dp.Policies(), dp.Policies(unknown_tool="text", extra_calls="drop")])


@given(ASKED, POLICIES, st.integers(1, len(TEXT) - 1))
def test_it_is_printed_as_a_test_that_holds(fields, policies, cut):
    replayer = Replayer(FORMAT, policies=policies)
    given = record(**fields)
    source = as_test(replayer, given, [TEXT[:cut], TEXT[cut:]], 'dp.get_format("qwen3")')
    holds(source)


def test_finish_reason_of_a_chunk_is_kept():
    text = call("weather", '{"city": "Pa')
    chunks = [
        {"choices": [{"delta": {"content": text}}]},
        {"choices": [{"delta": {}, "finish_reason": "length"}]},
    ]
    given = record(text=None, chunks=chunks, finish_reason=None)
    source = as_test(REPLAYER, given, [text[:3], text[3:]], 'dp.get_format("qwen3")')
    assert "parser.finish('length')" in source
    seen = []
    breaks = breaks_peer(REPLAYER, given, lambda chunks, record: seen.append(record) or {})
    breaks([text])
    assert seen[0]["finish_reason"] == "length"


def test_a_test_has_the_prompt_that_messages_are_rendered_to():
    asked = "<assistant>\n{% if thinks %}<note>{% endif %}{% endif %}"
    template = dp.ChatTemplate(PLAIN.replace("<assistant>\n{% endif %}", asked))
    given = {
        "text": "So.</note>\nHi",
        "messages": [{"role": "user", "content": "?"}],
        "chat_template_kwargs": {"thinks": True},
    }
    source = as_test(
        Replayer(template=template),
        given,
        ["So.</note>\nHi"],
        f"dp.analyze({str(template.source)!r})",
    )
    assert "'reasoning_content': 'So.'" in source
    holds(source)


def test_a_peer_is_named_by_its_module():
    assert peer_named("json:dumps") is __import__("json").dumps
    for bad in ("json", "json:nothing", "no_such_module:x", ":x"):
        with pytest.raises(dp.UsageError):
            peer_named(bad)
