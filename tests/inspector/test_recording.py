"""The recording pass: all of an output is in it, once, and it costs what the output does."""

from __future__ import annotations

import json
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import Policies, StreamParser, Vocabulary, get_format
from deltaparse.inspector import Recording, record_log, record_output
from deltaparse.inspector.page_data import page_data
from deltaparse.inspector.why_held import WhyHeld
from deltaparse.replay import Replayer
from deltaparse.stream.tokens.traced_parser import TracedParser

from ..strategies.requests import options, reasons
from ..stream.invariants import in_families
from ..support import as_joined, cuts
from .outputs import FORMAT, TEXT, TOOLS, call, recorded


def joined(recording):
    """Content, reasoning and calls of a recording, as `as_joined` has them of a message."""
    texts = {
        kind: "".join(part.text for part in recording.parts if part.kind == kind)
        for kind in ("content", "reasoning")
    }
    calls = [part for part in recording.parts if part.kind == "tool_call"]
    return texts["content"], texts["reasoning"], [(one.id, one.name, one.text) for one in calls]


def starts(lengths):
    return [0, *accumulate(lengths)]


@in_families()
@given(data=st.data(), kw=options, reason=reasons)
def test_all_of_an_output_is_in_its_recording(family, data, kw, reason):
    fmt, text = data.draw(family.texts)
    chunks = data.draw(cuts(text))
    recording = record_output(TracedParser(fmt, **kw), chunks, reason)
    parser = StreamParser(fmt, **kw)
    for chunk in chunks:
        parser.feed(chunk)
    parser.finish(reason)

    assert recording.text == text
    assert recording.chunks == [*map(len, chunks), 0]
    edges = [0, *(span.end for span in recording.spans)]
    assert edges == [*(span.start for span in recording.spans), len(text)]
    assert joined(recording) == as_joined(parser.message)
    assert [issue for _, issue in recording.issues] == parser.issues
    assert recording.finish_reason == parser.finish_reason
    for rows in (recording.states, recording.issues):
        assert all(one[0] <= two[0] for one, two in pairwise(rows))
    for part in recording.parts:
        assert sum(length for _, length in part.deltas) == len(part.text)
    assert all(0 <= one.size <= sum(recording.chunks[: one.step]) for one in recording.held)
    assert all(bool(one.why) is bool(one.size) for one in recording.held)
    if recording.held:
        assert recording.held[-1].size == 0


def utf16(text):
    return len(text.encode("utf-16-le")) // 2


@given(data=st.data(), text=st.text(alphabet=st.sampled_from("a😀<\n天"), max_size=30))
def test_a_page_counts_in_utf_16(data, text):
    text = f"{text}{call('f😀', '{}')}{text}"
    chunks = data.draw(cuts(text))
    recording = record_output(TracedParser(FORMAT), chunks, "stop")
    shown = page_data(recording)
    assert shown["chunks"] == [*map(utf16, chunks), 0]
    spans = [recording.text[span.start : span.end] for span in recording.spans]
    assert shown["spans"][1::2] == list(map(utf16, spans))
    for part, made in zip(recording.parts, shown["parts"], strict=True):
        places = starts(length for _, length in part.deltas)
        deltas = [part.text[start:end] for start, end in pairwise(places)]
        assert made["deltas"][1::2] == list(map(utf16, deltas))
    for (_, issue), made in zip(recording.issues, shown["issues"], strict=True):
        assert made["start"] == utf16(recording.text[: issue.span[0]])


def test_what_is_known_of_each_step():
    recording = recorded()
    assert recording.error == ""
    assert recording.finish_reason == "tool_calls"
    assert [one.status for one in recording.attempts] == ["complete", "unknown_tool"]
    assert [issue.kind for _, issue in recording.issues] == ["unknown_tool", "repaired_arguments"]
    first, second = (part for part in recording.parts if part.kind == "tool_call")
    assert (first.complete, first.repaired, second.repaired) == (True, False, True)
    ends = starts(recording.chunks)
    assert TEXT[: ends[first.whole_at]].endswith(("3}", "3}}", "3}}\n"))
    step, issue = recording.issues[0]
    assert ends[step] >= issue.span[0]
    assert recording.states[-1] == (recording.steps, "end")


def test_bytes_that_are_cut_in_a_character():
    chunks = [b"caf\xc3", b"\xa9 \xf0\x9f", b"\x98\x80 \xff", b"\xe2"]
    recording = record_output(TracedParser(FORMAT), chunks, "stop")
    assert recording.text == "café 😀 \ufffd\ufffd"
    assert recording.chunks == [3, 2, 3, 0, 1]
    assert recording.parts[0].text == recording.text
    assert [issue.kind for _, issue in recording.issues] == ["invalid_text"]


def test_what_a_policy_refuses_is_not_read():
    text = f"{call('f', '{}')} more and more"
    policies = Policies(text_after_tool_call="error")
    recording = recorded(text, policies=policies)
    assert "text after a call" in recording.error
    assert recording.text == text
    assert recording.spans[-1].role == "unread"
    assert recording.spans[-1].end == len(text) == sum(recording.chunks)


def test_tokens():
    tokens = dict(enumerate([b"<tool_call>", b"</tool_call>", *(bytes([at]) for at in range(256))]))
    vocabulary = Vocabulary(tokens, special=[0, 1])
    inner = [at + 2 for at in '\n{"name": "f", "arguments": {"é": 1}}\n'.encode()]
    record = {"token_ids": [2 + ord("a"), 0, *inner, 1], "finish_reason": "stop"}
    recording = record_log(record, Replayer(FORMAT, vocabulary=vocabulary), 7)
    assert recording.title == "7"
    assert recording.ids == record["token_ids"]
    assert recording.steps == len(recording.ids) + 1
    assert recording.text == "a" + call("f", '{"é": 1}')
    assert recording.chunks[1] == len("<tool_call>")
    assert [span.role for span in recording.spans[:3]] == ["content", "marker", "name"]
    assert recording.parts[1].text == '{"é": 1}'


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({}, "no text"),
        ([], "a record is an object"),
        (ValueError("not JSON: x"), "not JSON"),
        ({"token_ids": [1]}, "no vocabulary"),
        ({"text": "a", "prompt": [1]}, "prompt is in ids"),
        ({"text": "a", "format": "nothing"}, "no format is called"),
    ],
)
def test_what_cannot_be_read_says_why(record, words):
    fmt = None if isinstance(record, dict) and "format" in record else FORMAT
    recording = record_log(record, Replayer(fmt), 3)
    assert recording == Recording("3", error=recording.error)
    assert words in recording.error


def test_formats_without_a_name_are_described():
    recording = record_log({"text": "", "id": {"a": 1}}, Replayer(FORMAT))
    assert (recording.title, recording.format) == ('{"a": 1}', "reasoning, calls JSON_NATIVE")
    assert record_log({"text": "", "format": "hermes"}, Replayer()).format == "hermes"
    assert (
        record_log({"text": ""}, Replayer(get_format("gpt_oss"))).format
        == "channels, calls TAG_WITH_JSON"
    )


@pytest.mark.parametrize("piece", ["word <b> ", call("f", '{"a": [1, "x"]}'), "<think>x</think>"])
def test_cost_is_linear(piece):
    """What is written down grows with the output, not with what came before."""
    sizes = []
    for count in (50, 100):
        recording = recorded(piece * count)
        sizes.append(len(json.dumps(page_data(recording))))
    assert sizes[1] < 2.1 * sizes[0]
    assert sizes[1] < 20 * len(piece * 100) + 5000


@pytest.mark.parametrize(
    ("text", "state", "words"),
    [
        ("  \n", "content", "white space"),
        ("<tool", "content > until", "it may become <tool_call>"),
        (" x <thi", "content > until", "its end may become <think>"),
        ("<", "content > until", "it may become <think>, </think>, <|im_end|> or another marker"),
        ('<tool_call>\n{"na', "tool_calls > json_key", "behind <tool_call>, a call is not certain"),
        ("<tool_call>\n</", "tool_calls > json_key", "behind <tool_call>, a call is not certain"),
        ("f(a=1", "sections > read > prove > calls", "it may be calls: without tools"),
        ("<think>\n", "skip", "behind <think>, what follows says what it is"),
        ("get_we", "tool_calls > name_of", "a name is not whole"),
        ("12", "json_calls > json_arguments", "a value of the arguments is not whole"),
        ("?", "until", "what follows says what it is"),
    ],
)
def test_why_text_is_held_back(text, state, words):
    assert WhyHeld(FORMAT)(text, len(text), state).startswith(words)


def test_unproven_calls_are_held_back_for_what_they_are():
    text = '{"name": "f", "parameters": {"a": 1}}'
    recording = record_log({"text": text}, Replayer(get_format("llama3_json")), chunk=1)
    assert [one.size for one in recording.held] == [*range(1, len(text) + 1), 0]
    assert all("without tools" in one.why for one in recording.held[:-1])


def test_tools_of_a_record_are_known():
    assert recorded(tools=None).issues[0][1].kind == "repaired_arguments"
    assert recorded(tools=TOOLS).issues[0][1].kind == "unknown_tool"
