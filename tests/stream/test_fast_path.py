"""The fast paths of text, which bypass the sub-parsers, compared with the slow path.

A recording parser takes no fast path. Both must emit the same deltas for every chunk.
"""

from __future__ import annotations

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import (
    ContentDelta,
    StreamParser,
    ToolCallDelta,
    UsageError,
    get_format,
)
from deltaparse.partial.json_text.value_lane import LONG_STRING
from deltaparse.stream.fast_path import MOST_KEPT, MOST_PASSED, Feeder
from deltaparse.stream.message.deltas import arguments_deltas
from deltaparse.stream.reading import sections

from ..strategies.requests import options, reasons
from ..strategies.wire_by_hand import CALL, TAGS
from ..strategies.wire_families import any_soup
from ..strategies.wire_json_and_tags import TOOLS
from ..support import cuts

PROSE = "It was a bright cold day in April. "
STRING = CALL.partition("{")[0] + '{"name": "f", "arguments": {"a": "'
TAGGED = "<tool_call>\n<function=f>\n<parameter=s>\n"


def made(fmt, kw, **more):
    return StreamParser(fmt, **kw, **more, id_factory=lambda place: f"id{place.index}")


@given(case=any_soup, kw=options, data=st.data(), reason=reasons, as_bytes=st.booleans())
def test_fast_path_emits_the_same_as_the_slow_path(case, kw, data, reason, as_bytes):
    fmt, text = case
    text += data.draw(st.sampled_from(["", PROSE]))
    chunks = data.draw(st.one_of(cuts(text), st.just(list(text))))
    parser, recording = made(fmt, kw), made(fmt, kw, record=True)
    for chunk in chunks:
        given_chunk = chunk.encode() if as_bytes else chunk
        assert parser.feed(given_chunk) == recording.feed(chunk)
        if data.draw(st.booleans()):
            assert parser.counts == recording.counts
            assert parser.message == recording.message
            assert repr(parser) == repr(recording)
    assert parser.finish(reason) == recording.finish(reason)
    assert parser.message == recording.message
    assert parser.issues == recording.issues
    assert parser.counts == recording.counts


@given(case=any_soup, kw=options, data=st.data(), reason=reasons)
def test_parser_without_collection_emits_the_same(case, kw, data, reason):
    fmt, text = case
    kw.pop("policies", None)
    collecting, parser = made(fmt, kw), made(fmt, kw, collect=False)
    for chunk in data.draw(cuts(text)):
        assert parser.feed(chunk) == collecting.feed(chunk)
    assert parser.finish(reason) == collecting.finish(reason)
    # A lost marker is found in the content, which this parser does not keep.
    assert parser.issues == [one for one in collecting.issues if one.kind != "lost_marker"]
    assert parser.counts == collecting.counts
    with pytest.raises(UsageError, match="collect=True"):
        _ = parser.message


def parser_in(fmt, start):
    parser = StreamParser(fmt, tools=TOOLS)
    parser.feed(start)
    return parser


@pytest.mark.parametrize(
    ("fmt", "start", "text"),
    [
        (TAGS, "x", PROSE),
        (TAGS, "x", "a < b,\n漢字 "),
        (TAGS, "<think>x", PROSE),
        (TAGS, STRING, r"def f(x):\n    return \"ä\" "),
        (get_format("qwen3_coder"), TAGGED, PROSE),
    ],
    ids=["content", "content, odd", "reasoning", "string", "string in tags"],
)
def test_plain_text_takes_the_fast_path(fmt, start, text, monkeypatch):
    parser = parser_in(fmt, start)
    longer = []
    read = StreamParser._read
    monkeypatch.setattr(StreamParser, "_read", lambda *given: longer.append(1) or read(*given))
    for _ in range(LONG_STRING + 2):
        parser.feed(text)
    longer.clear()
    for _ in range(10):
        assert len(parser.feed(text)) == 1
        assert parser.message
    assert not longer


def test_call_after_text_on_the_fast_path_is_parsed():
    parser = parser_in(TAGS, "x")
    for text in ("y", "<call>", '{"na', 'me": "f"', ', "arguments"', ": {}}", "</call>", "z"):
        parser.feed(text)
    parser.finish("stop")
    assert parser.message.content == "xyz"
    assert [(call.name, call.arguments) for call in parser.message.tool_calls] == [("f", "{}")]


def test_text_on_the_fast_path_is_recorded_in_time():
    parser = parser_in(TAGS, "x")
    for _ in range(3 * MOST_PASSED):
        parser.feed("abc")
        assert len(parser._passed) <= MOST_PASSED
    assert parser.message.content == "x" + "abc" * 3 * MOST_PASSED
    assert parser.counts.content.chunks == 3 * MOST_PASSED + 1


@pytest.mark.parametrize("behind", ["b", b"b", "\ud83d", b"\xf0"])
def test_buffered_text_is_emitted_before_later_text(behind):
    parser = parser_in(TAGS, "x")
    assert parser.feed("a <") == [ContentDelta("a ")]
    deltas = [*parser.feed(behind), *parser.feed("c")]
    shown = "\ufffd" if behind not in ("b", b"b") else "b"
    assert "".join(delta.text for delta in deltas) == f"<{shown}c"


def test_fast_path_resumes_after_buffered_text_is_released(monkeypatch):
    parser = parser_in(TAGS, "x")
    assert parser.feed("a <") == [ContentDelta("a ")]
    assert parser.feed("b") == [ContentDelta("<b")]
    monkeypatch.delattr(Feeder, "_read")
    assert parser.feed(PROSE) == [ContentDelta(PROSE)]


def test_parser_without_collection_keeps_little_text():
    parser = StreamParser(TAGS, collect=False)
    for _ in range(2 * MOST_PASSED):
        parser.feed("long " * MOST_KEPT)
        parser.feed("short ")
        assert sum(map(len, parser._passed)) <= MOST_PASSED * MOST_KEPT


@pytest.mark.parametrize("first", ["", ",", "<arg", "<parameter=a", "x"])
@pytest.mark.parametrize(
    ("fmt", "begun"),
    [
        (TAGS, '<call>{"name": "f"'),
        (get_format("hermes"), '<tool_call>{"name": "f", "arguments": '),
        (get_format("qwen3_coder"), "<tool_call>\n<function=f>\n<parameter="),
        (get_format("glm45"), "<tool_call>f\n<arg_key>"),
    ],
    ids=["TAGS", "hermes", "qwen3_coder", "glm45"],
)
def test_call_started_in_the_prompt_is_in_the_first_deltas(fmt, begun, first):
    parser = StreamParser(fmt, prompt=fmt.turn.headers[0] + begun)
    assert parser.feed(first)[0].name == "f"


@pytest.mark.parametrize("nothing", ["", b""])
def test_empty_chunk_emits_no_delta(nothing):
    parser = parser_in(TAGS, "x")
    parser.feed("y")
    assert parser.feed(nothing) == []
    assert parser.counts.content.chunks == 3


@pytest.mark.parametrize("wrong", [None, 7, ["a"], ("<",)])
def test_chunk_of_another_type_is_rejected(wrong):
    parser = parser_in(TAGS, "x")
    parser.feed("y")
    with pytest.raises(UsageError, match="takes str or bytes"):
        parser.feed(wrong)
    assert parser.feed("z") == [ContentDelta("z")]


@given(index=st.integers(0, 9), text=st.text())
def test_deltas_of_arguments_are_like_any_other(index, text):
    delta = arguments_deltas(index)(text)
    assert delta == ToolCallDelta(index, None, None, text)
    assert repr(delta) == repr(ToolCallDelta(index, arguments=text))


@pytest.mark.usefixtures("own_garbage")
@pytest.mark.parametrize("reasoning", ["separate", "inline", "raw"])
@pytest.mark.parametrize(
    ("fmt", "text"),
    [
        (TAGS, f"<think>hm</think>Hello{CALL}so{CALL}."),
        (get_format("qwen3_coder"), f"a{TAGGED}1 < 2\n</parameter>\n</function>\n</tool_call>b"),
        (get_format("llama4_pythonic"), "[f(a='b')]"),
        (get_format("gpt_oss"), "<|channel|>final<|message|>Hello"),
    ],
)
def test_finished_parser_is_freed_without_garbage_collection(fmt, text, reasoning):
    # Servers run for long without garbage collection, so a parser must not be in a cycle.
    # The first parser fills the caches, so that their garbage is not counted.
    StreamParser(fmt, reasoning=reasoning).feed(text)
    gc.collect()
    gc.disable()
    try:
        parser = StreamParser(fmt, reasoning=reasoning)
        for char in text:
            parser.feed(char)
        parser.finish("stop")
        del parser
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_reader_that_waits_after_the_end_loses_no_text(monkeypatch):
    def waits(*_, **__):
        while True:
            yield

    monkeypatch.setattr(sections, "tool_calls", waits)
    parser = StreamParser(TAGS)
    parser.feed(CALL[:9])
    parser.feed(CALL[9:])
    parser.finish("stop")
    assert parser.message.content == CALL
    (issue,) = parser.issues
    assert (issue.kind, "waits after the end" in issue.detail) == ("internal_error", True)
    assert parser.where() == "end"


@pytest.mark.parametrize("before", ["", "text "])
def test_internal_error_is_reported_with_its_place(before, monkeypatch):
    def breaks(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(sections, "tool_calls", breaks)
    parser = StreamParser(TAGS)
    parser.feed(before)
    parser.feed(CALL)
    (issue,) = parser.issues
    assert (issue.kind, issue.span) == ("internal_error", (len(before), len(before)))
    assert issue.detail == "ZeroDivisionError(); the rest is content"


def test_internal_error_in_a_call_leaves_it_incomplete():
    def breaks():
        raise ZeroDivisionError
        yield

    parser = StreamParser(TAGS)
    parser.feed('<call>{"name": "f", "x": 1, "y": [2], "arguments": {"a": "b')
    parser._steps = breaks()
    assert parser.feed('"}, <') == [ContentDelta('"}, <')]
    assert [(call.arguments, call.complete) for call in parser.message.tool_calls] == [
        ('{"a": "b', False)
    ]
    (issue,) = parser.issues
    assert issue.detail == "ZeroDivisionError(); not emitted: 'x: 1, y: [2]'; the rest is content"


def test_internal_error_in_reasoning_ends_it():
    def breaks():
        raise ZeroDivisionError
        yield

    parser = StreamParser(TAGS)
    parser.feed("<think>hm")
    parser._steps = breaks()
    assert parser.feed("</think>") == [ContentDelta("</think>")]
    assert not parser.in_reasoning
    assert (parser.message.reasoning_content, parser.message.content) == ("hm", "</think>")
