"""The short ways that text takes past the sub-parsers, against the long way, chunk by chunk.

A parser that records takes none of them, so the two must emit the same for every chunk.
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
from deltaparse.stream.reading import assistant_turn

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
def test_the_short_way_gives_what_the_long_way_gives(case, kw, data, reason, as_bytes):
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
def test_a_parser_that_collects_nothing_hands_out_the_same(case, kw, data, reason):
    fmt, text = case
    kw.pop("policies", None)
    collecting, parser = made(fmt, kw), made(fmt, kw, collect=False)
    for chunk in data.draw(cuts(text)):
        assert parser.feed(chunk) == collecting.feed(chunk)
    assert parser.finish(reason) == collecting.finish(reason)
    # What tells of a lost marker is the content, which is not kept.
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
def test_plain_text_takes_the_short_way(fmt, start, text, monkeypatch):
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


def test_a_call_behind_text_that_passed_by_is_read():
    parser = parser_in(TAGS, "x")
    for text in ("y", "<call>", '{"na', 'me": "f"', ', "arguments"', ": {}}", "</call>", "z"):
        parser.feed(text)
    parser.finish("stop")
    assert parser.message.content == "xyz"
    assert [(call.name, call.arguments) for call in parser.message.tool_calls] == [("f", "{}")]


def test_what_took_the_short_way_is_written_down_in_time():
    parser = parser_in(TAGS, "x")
    for _ in range(3 * MOST_PASSED):
        parser.feed("abc")
        assert len(parser._passed) <= MOST_PASSED
    assert parser.message.content == "x" + "abc" * 3 * MOST_PASSED
    assert parser.counts.content.chunks == 3 * MOST_PASSED + 1


@pytest.mark.parametrize("behind", ["b", b"b", "\ud83d", b"\xf0"])
def test_what_was_held_back_comes_before_what_follows(behind):
    parser = parser_in(TAGS, "x")
    assert parser.feed("a <") == [ContentDelta("a ")]
    deltas = [*parser.feed(behind), *parser.feed("c")]
    shown = "\ufffd" if behind not in ("b", b"b") else "b"
    assert "".join(delta.text for delta in deltas) == f"<{shown}c"


def test_behind_what_was_held_back_text_takes_the_short_way_again(monkeypatch):
    parser = parser_in(TAGS, "x")
    assert parser.feed("a <") == [ContentDelta("a ")]
    assert parser.feed("b") == [ContentDelta("<b")]
    monkeypatch.delattr(Feeder, "_read")
    assert parser.feed(PROSE) == [ContentDelta(PROSE)]


def test_of_what_is_not_collected_little_is_kept():
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
def test_a_call_that_the_prompt_began_comes_with_the_first_chunk(fmt, begun, first):
    parser = StreamParser(fmt, prompt=fmt.turn.headers[0] + begun)
    assert parser.feed(first)[0].name == "f"


@pytest.mark.parametrize("nothing", ["", b""])
def test_nothing_makes_no_delta(nothing):
    parser = parser_in(TAGS, "x")
    parser.feed("y")
    assert parser.feed(nothing) == []
    assert parser.counts.content.chunks == 3


@pytest.mark.parametrize("wrong", [None, 7, ["a"], ("<",)])
def test_what_is_no_text_is_refused(wrong):
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
def test_a_parser_goes_when_it_is_done(fmt, text, reasoning):
    # Servers run without the garbage collector for long. What the caches drop for this format is
    # not the parser's.
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


def test_a_reader_that_waits_beyond_the_end_loses_nothing(monkeypatch):
    def waits(*_, **__):
        while True:
            yield

    monkeypatch.setattr(assistant_turn, "tool_calls", waits)
    parser = StreamParser(TAGS)
    parser.feed(CALL[:9])
    parser.feed(CALL[9:])
    parser.finish("stop")
    assert parser.message.content == CALL
    (issue,) = parser.issues
    assert (issue.kind, "waits after the end" in issue.detail) == ("internal_error", True)
    assert parser.where() == "end"


@pytest.mark.parametrize("before", ["", "text "])
def test_a_bug_of_ours_is_told_of_where_it_was(before, monkeypatch):
    def breaks(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(assistant_turn, "tool_calls", breaks)
    parser = StreamParser(TAGS)
    parser.feed(before)
    parser.feed(CALL)
    (issue,) = parser.issues
    assert (issue.kind, issue.span) == ("internal_error", (len(before), len(before)))
    assert issue.detail == "ZeroDivisionError(); the rest is content"


def test_a_bug_of_ours_within_a_call_cuts_it():
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


def test_a_bug_of_ours_within_reasoning_ends_it():
    def breaks():
        raise ZeroDivisionError
        yield

    parser = StreamParser(TAGS)
    parser.feed("<think>hm")
    parser._steps = breaks()
    assert parser.feed("</think>") == [ContentDelta("</think>")]
    assert not parser.in_reasoning
    assert (parser.message.reasoning_content, parser.message.content) == ("hm", "</think>")
