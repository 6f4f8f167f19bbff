"""The inspection contains the output completely, and its cost is linear."""

from __future__ import annotations

import json
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import Policies, StreamParser, Vocabulary, get_format
from deltaparse.inspector import Inspection, inspect_output, inspect_record
from deltaparse.inspector.page_data import page_data
from deltaparse.inspector.why_held import WhyHeld
from deltaparse.replay import Replayer
from deltaparse.stream.tokens.traced_parser import TracedParser

from ..strategies.requests import options, reasons
from ..stream.invariants import in_families
from ..support import as_joined, cuts
from .outputs import FORMAT, TEXT, TOOLS, call, inspected


def joined(inspection):
    """Content, reasoning and calls of an inspection, as `as_joined` has them of a message."""
    texts = {
        kind: "".join(part.text for part in inspection.parts if part.kind == kind)
        for kind in ("content", "reasoning")
    }
    calls = [part for part in inspection.parts if part.kind == "tool_call"]
    return texts["content"], texts["reasoning"], [(one.id, one.name, one.text) for one in calls]


def starts(lengths):
    return [0, *accumulate(lengths)]


@in_families()
@given(data=st.data(), kw=options, reason=reasons)
def test_all_of_an_output_is_in_its_inspection(family, data, kw, reason):
    fmt, text = data.draw(family.texts)
    chunks = data.draw(cuts(text))
    inspection = inspect_output(TracedParser(fmt, **kw), chunks, reason)
    parser = StreamParser(fmt, **kw)
    for chunk in chunks:
        parser.feed(chunk)
    parser.finish(reason)

    assert inspection.text == text
    assert inspection.chunks == [*map(len, chunks), 0]
    edges = [0, *(span.end for span in inspection.spans)]
    assert edges == [*(span.start for span in inspection.spans), len(text)]
    assert joined(inspection) == as_joined(parser.message)
    assert [issue for _, issue in inspection.issues] == parser.issues
    assert inspection.finish_reason == parser.finish_reason
    for rows in (inspection.states, inspection.issues):
        assert all(one[0] <= two[0] for one, two in pairwise(rows))
    for part in inspection.parts:
        assert sum(length for _, length in part.deltas) == len(part.text)
    assert all(0 <= one.size <= sum(inspection.chunks[: one.step]) for one in inspection.held)
    assert all(bool(one.why) is bool(one.size) for one in inspection.held)
    if inspection.held:
        assert inspection.held[-1].size == 0


def utf16(text):
    return len(text.encode("utf-16-le")) // 2


@given(data=st.data(), text=st.text(alphabet=st.sampled_from("a😀<\n天"), max_size=30))
def test_a_page_counts_in_utf_16(data, text):
    text = f"{text}{call('f😀', '{}')}{text}"
    chunks = data.draw(cuts(text))
    inspection = inspect_output(TracedParser(FORMAT), chunks, "stop")
    shown = page_data(inspection)
    assert shown["chunks"] == [*map(utf16, chunks), 0]
    spans = [inspection.text[span.start : span.end] for span in inspection.spans]
    assert shown["spans"][1::2] == list(map(utf16, spans))
    for part, made in zip(inspection.parts, shown["parts"], strict=True):
        places = starts(length for _, length in part.deltas)
        deltas = [part.text[start:end] for start, end in pairwise(places)]
        assert made["deltas"][1::2] == list(map(utf16, deltas))
    for (_, issue), made in zip(inspection.issues, shown["issues"], strict=True):
        assert made["start"] == utf16(inspection.text[: issue.span[0]])


def test_recording_of_each_step():
    inspection = inspected()
    assert inspection.error == ""
    assert inspection.finish_reason == "tool_calls"
    assert [one.status for one in inspection.attempts] == ["complete", "unknown_tool"]
    assert [issue.kind for _, issue in inspection.issues] == ["unknown_tool", "repaired_arguments"]
    first, second = (part for part in inspection.parts if part.kind == "tool_call")
    assert (first.complete, first.repaired, second.repaired) == (True, False, True)
    ends = starts(inspection.chunks)
    assert TEXT[: ends[first.whole_at]].endswith(("3}", "3}}", "3}}\n"))
    step, issue = inspection.issues[0]
    assert ends[step] >= issue.span[0]
    assert inspection.states[-1] == (inspection.steps, "end")


def test_bytes_that_are_cut_in_a_character():
    chunks = [b"caf\xc3", b"\xa9 \xf0\x9f", b"\x98\x80 \xff", b"\xe2"]
    inspection = inspect_output(TracedParser(FORMAT), chunks, "stop")
    assert inspection.text == "café 😀 \ufffd\ufffd"
    assert inspection.chunks == [3, 2, 3, 0, 1]
    assert inspection.parts[0].text == inspection.text
    assert [issue.kind for _, issue in inspection.issues] == ["invalid_text"]


def test_text_after_a_policy_error_is_unread():
    text = f"{call('f', '{}')} more and more"
    policies = Policies(text_after_tool_call="error")
    inspection = inspected(text, policies=policies)
    assert "text after a call" in inspection.error
    assert inspection.text == text
    assert inspection.spans[-1].role == "unread"
    assert inspection.spans[-1].end == len(text) == sum(inspection.chunks)


def test_tokens():
    tokens = dict(enumerate([b"<tool_call>", b"</tool_call>", *(bytes([at]) for at in range(256))]))
    vocabulary = Vocabulary(tokens, special=[0, 1])
    inner = [at + 2 for at in '\n{"name": "f", "arguments": {"é": 1}}\n'.encode()]
    record = {"token_ids": [2 + ord("a"), 0, *inner, 1], "finish_reason": "stop"}
    inspection = inspect_record(record, Replayer(FORMAT, vocabulary=vocabulary), 7)
    assert inspection.title == "7"
    assert inspection.ids == record["token_ids"]
    assert inspection.steps == len(inspection.ids) + 1
    assert inspection.text == "a" + call("f", '{"é": 1}')
    assert inspection.chunks[1] == len("<tool_call>")
    assert [span.role for span in inspection.spans[:3]] == ["content", "marker", "name"]
    assert inspection.parts[1].text == '{"é": 1}'


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({}, "lacks text"),
        ([], "a record must be an object"),
        (ValueError("not JSON: x"), "not JSON"),
        ({"token_ids": [1]}, "a vocabulary is required"),
        ({"text": "a", "prompt": [1]}, "the prompt has token ids"),
        ({"text": "a", "format": "nothing"}, "no format is called"),
    ],
)
def test_unreadable_record_has_an_error(record, words):
    fmt = None if isinstance(record, dict) and "format" in record else FORMAT
    inspection = inspect_record(record, Replayer(fmt), 3)
    assert inspection == Inspection("3", error=inspection.error)
    assert words in inspection.error


def test_formats_without_a_name_are_described():
    inspection = inspect_record({"text": "", "id": {"a": 1}}, Replayer(FORMAT))
    assert (inspection.title, inspection.format) == ('{"a": 1}', "reasoning, calls JSON_NATIVE")
    assert inspect_record({"text": "", "format": "hermes"}, Replayer()).format == "hermes"
    assert (
        inspect_record({"text": ""}, Replayer(get_format("gpt_oss"))).format
        == "channels, calls TAG_WITH_JSON"
    )


@pytest.mark.parametrize("piece", ["word <b> ", call("f", '{"a": [1, "x"]}'), "<think>x</think>"])
def test_cost_is_linear(piece):
    """The recording grows linearly with the output."""
    sizes = []
    for count in (50, 100):
        inspection = inspected(piece * count)
        sizes.append(len(json.dumps(page_data(inspection))))
    assert sizes[1] < 2.1 * sizes[0]
    assert sizes[1] < 20 * len(piece * 100) + 5000


@pytest.mark.parametrize(
    ("text", "state", "words"),
    [
        ("  \n", "content", "whitespace"),
        ("<tool", "content > until", "it may become <tool_call>"),
        (" x <thi", "content > until", "its end may become <think>"),
        ("<", "content > until", "it may become <think>, </think>, <|im_end|> or another marker"),
        ('<tool_call>\n{"na', "tool_calls > json_key", "after <tool_call>, a call is not certain"),
        ("<tool_call>\n</", "tool_calls > json_key", "after <tool_call>, a call is not certain"),
        ("f(a=1", "sections > read > prove > calls", "it may be calls: without tools"),
        ("<think>\n", "skip", "after <think>, the next characters decide"),
        ("get_we", "tool_calls > name_of", "a name is incomplete"),
        ("12", "json_calls > json_arguments", "an argument value is incomplete"),
        ("?", "until", "its role depends on the next characters"),
    ],
)
def test_reason_for_buffered_text(text, state, words):
    assert WhyHeld(FORMAT)(text, len(text), state).startswith(words)


def test_reason_for_buffered_unproven_calls():
    text = '{"name": "f", "parameters": {"a": 1}}'
    inspection = inspect_record({"text": text}, Replayer(get_format("llama3_json")), chunk=1)
    assert [one.size for one in inspection.held] == [*range(1, len(text) + 1), 0]
    assert all("without tools" in one.why for one in inspection.held[:-1])


def test_tools_of_a_record_are_known():
    assert inspected(tools=None).issues[0][1].kind == "repaired_arguments"
    assert inspected(tools=TOOLS).issues[0][1].kind == "unknown_tool"
