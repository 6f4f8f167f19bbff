"""Forks of parsers, and parsers restored from snapshots."""

from __future__ import annotations

import itertools
import json
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import MalformedOutput, Policies, StreamParser, UsageError

from ..strategies.requests import options, reasons
from ..strategies.wire_by_hand import CALL, OTHER, TAGS, chunkings
from ..strategies.wire_families import any_soup
from ..support import as_joined, cuts, joined

TEXT = f"<think>\nhm\n</think>\n\nWéll 😀.\n{CALL}\n{OTHER}<|end|>"


def state(parser):
    """Return all observable state of a parser."""
    return (
        parser.message,
        parser.issues,
        parser.counts,
        parser.in_reasoning,
        parser.finish_reason,
        parser.where(),
    )


def copies(parser):
    """Return a fork of the parser and a restored parser."""
    snapshot = parser.snapshot()
    assert json.loads(snapshot)
    return [parser.fork(), StreamParser.restore(snapshot), parser.fork().fork()]


def feed_rest(parser, texts, reason):
    deltas = [delta for text in texts for delta in parser.feed(text)]
    return deltas + parser.finish(reason)


@given(case=any_soup, kw=options, data=st.data(), reason=reasons, as_bytes=st.booleans())
def test_copy_continues_like_the_original(case, kw, data, reason, as_bytes):
    fmt, text = case
    output = text.encode() if as_bytes else text
    chunks = data.draw(cuts(output))
    at = data.draw(st.integers(0, len(chunks)))
    parser = StreamParser(fmt, record=True, **kw)
    before = [delta for chunk in chunks[:at] for delta in parser.feed(chunk)]
    made = copies(parser)
    assert [state(copy) for copy in made] == [state(parser)] * len(made)
    rest = feed_rest(parser, chunks[at:], reason)

    assert joined(before + rest) == as_joined(parser.message)
    for copy in made:
        assert feed_rest(copy, chunks[at:], reason) == rest
        assert state(copy) == state(parser)
    plain = StreamParser(fmt, **kw)
    feed_rest(plain, chunks, reason)
    assert state(plain) == state(parser)


@pytest.mark.parametrize("output", [TEXT, TEXT.encode()])
def test_restored_parser_continues_after_every_first_chunk(output):
    for chunks in chunkings(output):
        parser = StreamParser(TAGS, record=True)
        before = parser.feed(chunks[0])
        copy = StreamParser.restore(parser.snapshot())
        rest = feed_rest(copy, chunks[1:], "stop")
        assert feed_rest(parser, chunks[1:], "stop") == rest
        assert joined(before + rest) == as_joined(copy.message)


def test_copies_are_independent():
    parser = StreamParser(TAGS, record=True)
    parser.feed("a")
    fork = parser.fork()
    parser.feed("b")
    fork.feed("c")
    assert parser.message.content == "ab"
    assert fork.message.content == "ac"
    assert fork.fork().message.content == "ac"


def test_after_the_end_a_copy_has_ended_too():
    for reason in ("stop", "length", None):
        parser = StreamParser(TAGS, record=True)
        feed_rest(parser, [TEXT[:80]], reason)
        for copy in copies(parser):
            assert state(copy) == state(parser)
            assert copy.finish("stop") == []
            with pytest.raises(UsageError):
                copy.feed("x")


def test_copy_after_an_error_emits_the_rest_without_raising():
    policies = Policies(unknown_tool="error")
    parser = StreamParser(TAGS, record=True, tools=[{"name": "g"}], policies=policies)
    with pytest.raises(MalformedOutput):
        parser.feed(f"before{CALL}")
    made = copies(parser)
    expected = parser.feed("after")
    assert joined(expected)[0].startswith("before")
    assert [copy.feed("after") for copy in made] == [expected] * len(made)


def test_copies_keep_old_ids_and_make_their_own_new_ids():
    numbers = itertools.count()
    parser = StreamParser(TAGS, record=True, id_factory=lambda _: f"id{next(numbers)}")
    parser.feed(CALL)
    fork = parser.fork()
    restored = StreamParser.restore(parser.snapshot(), id_factory=lambda place: place.name)
    for each in (parser, fork, restored):
        each.feed(OTHER)
    found = [[call.id for call in each.message.tool_calls] for each in (parser, fork, restored)]
    assert found == [["id0", "id1"], ["id0", "id2"], ["id0", "g"]]


def test_fork_retries_a_failed_id_factory():
    made = iter([7, "id"])
    parser = StreamParser(TAGS, record=True, id_factory=lambda _: next(made))
    with pytest.raises(UsageError):
        parser.feed(CALL)
    assert [call.id for call in parser.fork().message.tool_calls] == ["id"]


def test_a_snapshot_holds_the_whole_request():
    tools = [MappingProxyType({"type": "function", "function": {"name": "f"}})]
    parser = StreamParser(
        TAGS,
        record=True,
        tools=tools,
        prompt="<|start|>model\n<think>\n",
        tool_choice={"type": "function", "function": {"name": "f"}},
        parallel_tool_calls=False,
        reasoning="inline",
        policies=Policies(extra_calls="drop", tool_in_reasoning="call"),
        response_schema={"type": "object"},
    )
    for copy in copies(parser):
        for each in (copy, parser.fork()):
            each.feed(f"hm{CALL}{CALL}")
            each.finish("stop")
        assert state(copy) == state(each)
        assert len(copy.message.tool_calls) == 1
    assert "😀" not in parser.snapshot()


def test_a_snapshot_is_a_json_document():
    schema = MappingProxyType({"type": "object"})
    parser = StreamParser(TAGS, record=True, response_schema=schema)
    parser.feed("a")
    parser.feed(b"b")
    parser.feed(CALL)
    document = json.loads(parser.snapshot())
    assert list(document) == ["deltaparse", "format", "options", "chunks", "ids", "finish"]
    assert document["chunks"] == ["a", {"bytes": "Yg=="}, CALL]
    assert document["options"]["response_schema"] == {"type": "object"}
    assert document["ids"] == [call.id for call in parser.message.tool_calls]
    assert document["finish"] is None
    parser.finish("end_turn")
    assert json.loads(parser.snapshot())["finish"] == ["end_turn"]


def test_copy_keeps_a_partial_character():
    parser = StreamParser(TAGS, record=True)
    for half, rest in ((bytearray(b"\xf0\x9f"), b"\x98\x80"), ("\ud83d", "\ude00")):
        parser.feed(half)
        assert [copy.feed(rest) for copy in copies(parser)] == [parser.feed(rest)] * 3
    assert parser.message.content == "😀😀"


def changed(**changes):
    return json.dumps(json.loads(StreamParser(TAGS, record=True).snapshot()) | changes)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        "[" * 100_000,
        changed(deltaparse=2),
        changed(format={"turn": 7}),
        changed(options={}),
        changed(chunks=[7]),
        changed(chunks=[{"bytes": "?"}]),
        changed(chunks=None),
        changed(finish=[7]),
        changed(ids=None),
    ],
)
def test_invalid_snapshot_is_rejected(text):
    with pytest.raises(UsageError, match="snapshot"):
        StreamParser.restore(text)


def test_token_parser_snapshot_error_names_the_right_function():
    document = json.loads(StreamParser("hermes", record=True).snapshot())
    tokens = {"prompt": None, "markers": None, "spans": False}
    with pytest.raises(UsageError, match=r"TokenParser\.restore\(snapshot, vocabulary\)"):
        StreamParser.restore(json.dumps(document | {"tokens": tokens}))


def test_snapshot_of_tools_that_are_not_json_is_rejected():
    tools = [{"name": "f", "parameters": {"x": {1, 2}}}]
    parser = StreamParser(TAGS, record=True, tools=tools)
    parser.fork()
    with pytest.raises(UsageError, match="JSON"):
        parser.snapshot()
