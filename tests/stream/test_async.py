"""Streams that are abandoned, canceled or interrupted by an error keep their deltas silently."""

from __future__ import annotations

import asyncio
import gc
import sys
from contextlib import closing

import pytest

from deltaparse import (
    MalformedOutput,
    Policies,
    ReasoningDelta,
    StreamParser,
    UsageError,
    aiter_deltas,
    iter_deltas,
    parse,
)

from ..strategies.call_patterns import FAMILIES
from ..strategies.wire_by_hand import CALL, TAGS
from ..support import as_joined, joined

pytestmark = pytest.mark.usefixtures("own_garbage")

TEXT = f"<think>\nhm\n</think>\n\nWell. {CALL} And more."


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """Fail on every warning or message about a garbage-collected stream."""
    noise = []
    monkeypatch.setattr(sys, "unraisablehook", lambda reported: noise.append(reported.exc_value))
    yield
    gc.collect()
    assert noise == []


class Pieces:
    """An async iterable of characters with a record of how the iteration ended.

    At `stop` it raises `error`. Without an error it sets `waits` and waits forever.
    """

    def __init__(self, text, stop=None, error=None):
        self.text = text
        self.stop = stop
        self.error = error
        self.waits = asyncio.Event()
        self.given = 0
        self.left = False

    async def __aiter__(self):
        try:
            for at, char in enumerate(self.text):
                if at == self.stop and self.error:
                    raise self.error
                if at == self.stop:
                    self.waits.set()
                    await asyncio.Event().wait()
                await asyncio.sleep(0)
                self.given += 1
                yield char
        finally:
            self.left = True


def so_far(text):
    """Return the deltas for a prefix of a response."""
    parser = StreamParser(TAGS)
    return [delta for char in text for delta in parser.feed(char)]


async def collect(deltas, into):
    async for delta in deltas:
        into.append(delta)


@pytest.mark.parametrize("stop", range(0, len(TEXT), 9))
async def test_cancelled_task_keeps_the_deltas_so_far(stop):
    chunks, got = Pieces(TEXT, stop), []
    task = asyncio.create_task(collect(aiter_deltas(chunks, TAGS), got))
    await chunks.waits.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert got == so_far(TEXT[:stop])
    assert chunks.left


async def test_timeout_keeps_the_deltas_so_far():
    chunks, got = Pieces(TEXT, 40), []
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await collect(aiter_deltas(chunks, TAGS), got)
    assert got == so_far(TEXT[:40])[: len(got)]
    assert chunks.left


@pytest.mark.parametrize("count", range(6))
async def test_closed_stream_stops_emitting_and_reading(count):
    chunks = Pieces(TEXT)
    deltas = aiter_deltas(chunks, TAGS)
    got = [await anext(deltas) for _ in range(count)]
    await deltas.aclose()
    assert got == so_far(TEXT)[:count]
    with pytest.raises(StopAsyncIteration):
        await anext(deltas)
    assert chunks.left is (count > 0)
    assert chunks.given < len(TEXT)
    await deltas.aclose()


class Engine:
    """An iterator of chunks with the close method of one engine."""

    def __init__(self, name):
        self.closed = 0
        setattr(self, name, self._aclose if name == "aclose" else self._close)

    async def _aclose(self):
        self.closed += 1

    def _close(self):
        self.closed += 1

    def __iter__(self):
        return self

    def __next__(self):
        return "text"

    __aiter__ = __iter__

    async def __anext__(self):
        return "text"


@pytest.mark.parametrize("name", ["aclose", "close", "finalize"])
async def test_closing_a_stream_closes_its_source(name):
    engine = Engine(name)
    deltas = aiter_deltas(engine, TAGS)
    await anext(deltas)
    await deltas.aclose()
    assert bool(engine.closed) is (name != "finalize")
    if name == "close":
        engine = Engine(name)
        deltas = iter_deltas(engine, TAGS)
        next(deltas)
        deltas.close()
        assert engine.closed


async def test_source_is_closed_if_a_policy_raises():
    left = []

    def chunks():
        try:
            yield from [CALL] * 9
        finally:
            left.append(True)

    policies, tools = Policies(unknown_tool="error"), [{"name": "g"}]
    source = chunks()
    with pytest.raises(MalformedOutput):
        list(iter_deltas(source, TAGS, tools=tools, policies=policies))
    assert left


async def test_break_from_a_loop_stops_reading():
    chunks = Pieces(TEXT)
    async for _ in aiter_deltas(chunks, TAGS):
        break
    assert 0 < chunks.given < len(TEXT)


@pytest.mark.parametrize("stop", range(0, len(TEXT), 9))
async def test_error_of_an_async_source_is_raised_after_the_deltas(stop):
    error, got = ConnectionResetError("gone"), []
    deltas = aiter_deltas(Pieces(TEXT, stop, error), TAGS)
    with pytest.raises(ConnectionResetError) as caught:
        await collect(deltas, got)
    assert caught.value is error
    assert got == so_far(TEXT[:stop])
    with pytest.raises(StopAsyncIteration):
        await anext(deltas)


async def test_raising_policy_keeps_the_deltas_so_far():
    policies, got = Policies(text_after_tool_call="error"), []
    with pytest.raises(MalformedOutput):
        await collect(aiter_deltas(Pieces(TEXT), TAGS, policies=policies), got)
    assert joined(got)[2][0][1] == "f"


async def test_streams_side_by_side():
    streams = [[] for _ in FAMILIES]
    texts = [family.write(v='"x"') for family in FAMILIES.values()]
    made = [
        collect(aiter_deltas(Pieces(text), family.format), got)
        for family, text, got in zip(FAMILIES.values(), texts, streams, strict=True)
    ]
    await asyncio.gather(*made)
    for family, text, got in zip(FAMILIES.values(), texts, streams, strict=True):
        assert got == list(iter_deltas(text, family.format))


async def test_unread_streams_are_collected_silently():
    aiter_deltas(Pieces(TEXT), TAGS)
    iter_deltas(TEXT, TAGS)
    started = aiter_deltas(Pieces(TEXT), TAGS)
    await anext(started)
    del started
    gc.collect()
    await asyncio.sleep(0)


@pytest.mark.parametrize("name", FAMILIES)
def test_abandoned_parsers_and_iterators_are_collected_silently(name):
    family = FAMILIES[name]
    text = f"{family.write(v='[1, {')}"
    for cut in range(len(text)):
        parser = StreamParser(family.format)
        parser.feed(text[:cut])
        deltas = iter_deltas([text[:cut], text[cut:]], family.format)
        next(deltas, None)
        del parser, deltas
    gc.collect()


def test_closed_iterator_emits_no_more_deltas():
    deltas = iter_deltas(TEXT, TAGS)
    assert next(deltas) == so_far(TEXT)[0]
    with closing(deltas):
        assert next(deltas) == so_far(TEXT)[1]
    assert list(deltas) == []
    assert deltas.parser.finish_reason is None


def test_an_iterator_has_its_parser_from_the_beginning():
    deltas = iter_deltas(TEXT, TAGS, finish_reason="stop")
    parser = deltas.parser
    assert parser.message.parts == []
    assert next(deltas) == ReasoningDelta("h")
    assert parser.in_reasoning
    got = [ReasoningDelta("h"), *deltas]
    assert parser.message == parse(TEXT, TAGS, finish_reason="stop")
    assert joined(got) == as_joined(parser.message)
    assert parser.finish_reason == "tool_calls"


async def test_an_async_iterator_has_its_parser_from_the_beginning():
    deltas = aiter_deltas(Pieces(TEXT), TAGS, finish_reason="length")
    assert deltas.parser.message.parts == []
    got = [delta async for delta in deltas]
    assert joined(got) == as_joined(deltas.parser.message)
    assert deltas.parser.finish_reason == "length"
    with pytest.raises(StopAsyncIteration):
        await anext(deltas)


@pytest.mark.parametrize("iterate", [iter_deltas, aiter_deltas])
def test_options_are_checked_at_once(iterate):
    with pytest.raises(UsageError):
        iterate([], TAGS, reasoning="loud")


def test_error_of_a_source_is_raised_after_the_deltas():
    def chunks():
        yield TEXT[:30]
        raise OSError

    deltas, got = iter_deltas(chunks(), TAGS), []
    with pytest.raises(OSError):
        got.extend(deltas)
    assert joined(got) == joined(so_far(TEXT[:30]))
    assert list(deltas) == []
    assert as_joined(deltas.parser.message) == joined(got)
