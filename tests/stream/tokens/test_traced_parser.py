"""`TracedParser`: the results of `StreamParser`, with the role of each character."""

from __future__ import annotations

from inspect import signature
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import MalformedOutput, Policies, StreamParser, UsageError, get_format
from deltaparse.stream.tokens.traced_parser import DEFAULTS, TracedParser

from ...strategies.requests import options, reasons
from ...strategies.token_texts import Text
from ...support import cuts
from ..invariants import in_families

QWEN = get_format("qwen3")
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": "x"}}\n</tool_call>'


def fed(parser, chunks, reason):
    """Return the merged deltas of each chunk and of the end."""
    made = [parser.feed(chunk) for chunk in chunks] + [parser.finish(reason)]
    return list(map(merged, made))


def merged(deltas):
    """Return the contents of deltas, with adjacent deltas of one part merged."""
    joined = []
    for delta in deltas:
        index, name = getattr(delta, "index", None), getattr(delta, "name", None)
        text = delta.text if index is None else delta.arguments
        if joined and name is None and joined[-1][:2] == [type(delta), index]:
            joined[-1][-1] += text
        else:
            joined.append([type(delta), index, getattr(delta, "id", None), name, text])
    return joined


def traced(text, fmt=QWEN, reason="stop", **kw):
    parser = TracedParser(fmt, **kw)
    parser.feed(text)
    parser.finish(reason)
    return parser


def by_role(text, parser):
    """Return the text of each role."""
    joined = {}
    for start, end, role in parser.role_spans:
        joined[role] = joined.get(role, "") + text[start:end]
    return joined


@in_families()
@given(data=st.data(), kw=options, reason=reasons)
def test_traced_parser_equals_stream_parser(family, data, kw, reason):
    fmt, text = data.draw(family.texts)
    chunks = data.draw(cuts(text))
    plain, parser = StreamParser(fmt, **kw), TracedParser(fmt, **kw)
    assert fed(parser, chunks, reason) == fed(plain, chunks, reason)
    assert parser.message == plain.message
    assert parser.issues == plain.issues
    assert parser.attempts == plain.attempts
    assert parser.finish_reason == plain.finish_reason


@in_families()
@given(data=st.data(), kw=options, reason=reasons)
def test_spans_cover_the_response_for_any_chunking(family, data, kw, reason):
    fmt, text = data.draw(family.texts)
    whole = TracedParser(fmt, **kw)
    fed(whole, [text], reason)
    spans = whole.role_spans
    assert [0, *(span.end for span in spans)] == [*(span.start for span in spans), len(text)]
    assert all(one.role != two.role and one.start < one.end for one, two in pairwise(spans))
    parser = TracedParser(fmt, **kw)
    fed(parser, data.draw(cuts(text)), reason)
    assert parser.role_spans == spans
    assert parser.held == 0


@in_families()
@given(data=st.data())
def test_content_and_reasoning_have_their_roles(family, data):
    fmt, turn, text = data.draw(family.written)
    parser = TracedParser(fmt, tools=family.tools[0])
    fed(parser, data.draw(cuts(text)), "stop")
    found = by_role(text, parser)
    assert found.get("content", "") == turn.content
    assert found.get("reasoning", "") == turn.reasoning


@in_families()
@given(data=st.data(), kw=options)
def test_held_is_at_most_the_received_length(family, data, kw):
    fmt, text = data.draw(family.texts)
    parsers = StreamParser(fmt, **kw), TracedParser(fmt, **kw)
    for came, char in enumerate(text, 1):
        held = set()
        for parser in parsers:
            parser.feed(char)
            held.add(parser.held)
        assert len(held) == 1
        assert 0 <= held.pop() <= came


def test_roles_of_a_call_and_of_dropped_text():
    text = f"<think>\nHm.\n</think>\n\nSo.\n{CALL} more<|im_end|>"
    parser = traced(text, policies=Policies(text_after_tool_call="drop"))
    assert by_role(text, parser) == {
        "marker": '<think>\n\n</think>\n\n\n<tool_call>\n{"name": "", "arguments": }\n</tool_call>',
        "reasoning": "Hm.",
        "content": "So.",
        "name": "f",
        "arguments": '{"a": "x"}',
        "dropped": " more",
        "end": "<|im_end|>",
    }


def test_held_counts_the_characters_of_possible_markers():
    parser = StreamParser(QWEN)
    seen = []
    for chunk in ("So.", " <to", "ol_call>", '\n{"name": "f', '", "arguments": ', "{}"):
        parser.feed(chunk)
        seen.append(parser.held)
    assert seen[:4] == [0, 3, 11, 23]
    assert seen[-1] == 0


def test_held_of_a_token_parser_counts_decoded_text():
    text = Text(
        QWEN, ["<tool_call>", "</tool_call>", "<|im_end|>"], ["a", "<tool_call>", "\n", "{"]
    )
    parser = text.parser()
    seen = []
    for id in text.ids:
        parser.feed(id)
        seen.append(parser.held)
    assert seen == [0, 11, 12, 13]
    parser = text.read()
    assert parser.ends == [1, 12, 13, 14]
    assert parser.role_spans[-1].end == 14
    blind = text.parser(spans=False)
    with pytest.raises(UsageError, match="spans=True"):
        _ = blind.ends
    with pytest.raises(UsageError, match="spans=True"):
        _ = blind.role_spans


def test_spans_are_kept_after_a_policy_error():
    parser = TracedParser(QWEN, policies=Policies(text_after_tool_call="error"))
    with pytest.raises(MalformedOutput):
        parser.feed(f"{CALL} more")
    assert parser.role_spans[0] == (0, 22, "marker")


def test_prompt_is_not_in_the_spans():
    text = "on.</think>Yes."
    prompt = "<|im_start|>assistant\n<think>\nGo "
    assert by_role(text, traced(text, prompt=prompt)) == {
        "reasoning": "on.",
        "marker": "</think>",
        "content": "Yes.",
    }


def test_issue_count_equals_the_number_of_issues():
    parser = traced(f"{CALL} more")
    assert parser.issue_count == len(parser.issues) == 1


def test_defaults_equal_those_of_stream_parser():
    takes = signature(StreamParser).parameters
    assert {name: takes[name].default for name in DEFAULTS} == dict(DEFAULTS)


def test_spans_are_available_before_the_end():
    parser = TracedParser(QWEN)
    seen = []
    for chunk in ("So", " it", " goes", " <to"):
        parser.feed(chunk)
        seen.append(parser.role_spans)
    assert seen == [
        *([(0, 2, "content")], [(0, 5, "content")], [(0, 10, "content")]),
        [(0, 11, "content"), (11, 14, "marker")],
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize(
    ("before", "arguments", "behind"),
    [
        ('<tool_call>\n{name: "f", arguments: ', "{a: 1}", "}\n</tool_call>"),
        ("<tool_call>\n{'name': 'f', 'arguments': ", "{'a': ['x', {}]}", "}\n</tool_call>"),
        ("<tool_call>\n{arguments: ", "{a: 1}", ', name: "f"}\n</tool_call>'),
    ],
)
def test_repaired_arguments_span_from_bracket_to_bracket(before, arguments, behind, size):
    text = before + arguments + behind
    parser = TracedParser(QWEN)
    for at in range(0, len(text), size):
        parser.feed(text[at : at + size])
    parser.finish("stop")
    spans = [text[start:end] for start, end, role in parser.role_spans if role == "arguments"]
    assert spans == [arguments]


def test_traced_parser_keeps_no_record():
    parser = TracedParser(QWEN)
    parser.feed("Hi")
    assert parser._record is None
