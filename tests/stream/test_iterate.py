"""Iterators of deltas close the source of the chunks when they end."""

from __future__ import annotations

import pytest

from deltaparse import MalformedOutput, Policies, UsageError, aiter_deltas, iter_deltas, parse

from ..strategies.wire_by_hand import CALL, TAGS


class Source:
    """Chunks with a count of `close` calls; they may be read again after that."""

    def __init__(self, *chunks):
        self.chunks = list(chunks)
        self.closed = 0

    def __iter__(self):
        return self

    def __next__(self):
        if not self.chunks:
            raise StopIteration
        return self.chunks.pop(0)

    def close(self):
        self.closed += 1


class AsyncSource(Source):
    """An asynchronous `Source`."""

    def __aiter__(self):
        return self

    async def __anext__(self):
        if not self.chunks:
            raise StopAsyncIteration
        return self.chunks.pop(0)

    async def aclose(self):
        self.closed += 1


REFUSES = {"tools": [{"name": "g"}], "policies": Policies(unknown_tool="error")}


def test_unread_source_is_closed_too():
    source = Source("a", "b")
    deltas = iter_deltas(source, TAGS)
    deltas.close()
    assert (source.closed, source.chunks) == (1, ["a", "b"])
    assert list(deltas) == []
    assert deltas.parser.finish_reason is None


async def test_unread_async_source_is_closed_too():
    source = AsyncSource("a", "b")
    deltas = aiter_deltas(source, TAGS)
    await deltas.aclose()
    assert (source.closed, source.chunks) == (1, ["a", "b"])
    assert [delta async for delta in deltas] == []
    assert deltas.parser.finish_reason is None


def test_a_policy_that_raises_closes_the_source():
    source = Source(CALL, "b")
    with pytest.raises(MalformedOutput):
        list(iter_deltas(source, TAGS, **REFUSES))
    assert (source.closed, source.chunks) == (1, ["b"])


async def test_a_policy_that_raises_closes_an_async_source():
    source = AsyncSource(CALL, "b")
    with pytest.raises(MalformedOutput):
        [delta async for delta in aiter_deltas(source, TAGS, **REFUSES)]
    assert (source.closed, source.chunks) == (1, ["b"])


@pytest.mark.parametrize(
    ("reason", "made"), [("length", "length"), ("stop", "tool_calls"), (None, "tool_calls")]
)
async def test_finish_reason_function_is_called_after_the_chunks(reason, made):
    source, later = Source(CALL), AsyncSource(CALL)
    left = []

    def ended():
        left.append(len(source.chunks) + len(later.chunks))
        return reason

    deltas = iter_deltas(source, TAGS, finish_reason=ended)
    got = list(deltas)
    assert left == [1]
    others = aiter_deltas(later, TAGS, finish_reason=ended)
    assert [delta async for delta in others] == got
    assert left == [1, 0]
    for parser in (deltas.parser, others.parser):
        assert parser.finish_reason == made
        assert parser.message == parse(CALL, TAGS, finish_reason=reason)


async def asynchronously():
    yield "Hi"


@pytest.mark.parametrize(
    ("iterate", "chunks", "says"),
    [
        (iter_deltas, b"Hi", r"must be an iterable .* not bytes; .* iter_deltas\(\[response\]"),
        (iter_deltas, None, r"not NoneType"),
        (iter_deltas, asynchronously(), r"asynchronous iterable; use aiter_deltas"),
        (aiter_deltas, ["Hi"], r"asynchronous iterable; use iter_deltas"),
        (aiter_deltas, b"Hi", r"not bytes; .* aiter_deltas\(\[response\]"),
    ],
)
def test_wrong_type_of_chunks_is_rejected_at_once(iterate, chunks, says):
    with pytest.raises(UsageError, match=says):
        iterate(chunks, TAGS)
