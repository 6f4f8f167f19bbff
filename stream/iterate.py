"""Functions that parse a complete response, or iterate over the deltas of its chunks."""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
)
from inspect import isawaitable
from typing import Any, TypeVar

from deltaparse.partial import UsageError

from .finish_reasons import Reason, StopReason, WhenEnded, WhereStopped
from .message.deltas import Delta
from .message.message import Message
from .parser import StreamParser
from .wire.format import WireFormat

__all__ = ["AsyncDeltaIterator", "DeltaIterator", "aiter_deltas", "iter_deltas", "parse"]

Known = TypeVar("Known")


def parse(
    text: str | bytes,
    fmt: WireFormat | str,
    *,
    finish_reason: Reason = None,
    stop_reason: StopReason = None,
    **options: Any,
) -> Message:
    """Parse a complete response at once, with the same engine as `StreamParser`.

    Args:
        text: the response.
        fmt: the wire format of the model, or the name of a built-in format.
        finish_reason: the engine's finish reason (see `StreamParser.finish`).
        stop_reason: the engine's stop string or token id (see `StreamParser.finish`).
        options: the options of `StreamParser`.

    Returns:
        The message.

    Raises:
        UsageError: an argument is invalid.
        MalformedOutput: the response violates a policy that is "error".
    """
    # Fed as a stream of one chunk, so that the result never differs from that of a stream.
    parser = StreamParser(fmt, **options)
    parser.feed(text)
    parser.finish(finish_reason, stop_reason=stop_reason)
    return parser.message


def iter_deltas(
    texts: Iterable[str | bytes],
    fmt: WireFormat | str,
    *,
    finish_reason: WhenEnded = None,
    stop_reason: WhereStopped = None,
    **options: Any,
) -> DeltaIterator:
    """Iterate over the deltas of a response in chunks, each as soon as it is certain.

        deltas = iter_deltas(texts, fmt)
        for delta in deltas:
            ...
        deltas.parser.finish_reason, deltas.parser.message

    Args:
        texts: the chunks of the response.
        fmt: the wire format of the model, or the name of a built-in format.
        finish_reason: the engine's finish reason, or a function that returns it. The function is
            called when `texts` has ended, because the engine knows the reason only then. See
            `StreamParser.finish`.
        stop_reason: the engine's stop string or token id, or a function that returns it.
        options: the options of `StreamParser`. They are checked by this call, not at the first
            chunk.

    Raises:
        UsageError: an argument is invalid.
    """
    # Not a generator function, because its arguments would be checked at the first chunk only.
    return DeltaIterator(StreamParser(fmt, **options), texts, finish_reason, stop_reason)


def aiter_deltas(
    texts: AsyncIterable[str | bytes],
    fmt: WireFormat | str,
    *,
    finish_reason: WhenEnded = None,
    stop_reason: WhereStopped = None,
    **options: Any,
) -> AsyncDeltaIterator:
    """Iterate over the deltas of asynchronous chunks.

    Args:
        texts: the chunks of the response.
        fmt: see `iter_deltas`.
        finish_reason: see `iter_deltas`.
        stop_reason: see `iter_deltas`.
        options: see `iter_deltas`.

    Raises:
        UsageError: an argument is invalid.
    """
    return AsyncDeltaIterator(StreamParser(fmt, **options), texts, finish_reason, stop_reason)


class DeltaIterator:
    """An iterator of deltas, returned by `iter_deltas`.

    The iteration ends early after `close`, or after an exception of the chunks or of a policy. The
    parser then keeps the message so far and is not finished. The source of the chunks is closed at
    once if it has a `close` method, so the engine can stop generating.

    Attributes:
        parser: the parser of the response, available before the first delta.
    """

    # Slots, because a server makes one object for each request.
    __slots__ = ("_deltas", "_texts", "parser")

    def __init__(
        self,
        parser: StreamParser,
        texts: Iterable[str | bytes],
        finish_reason: WhenEnded,
        stop_reason: WhereStopped = None,
    ) -> None:
        # Checked here, because an iterable of the wrong kind would fail at the first chunk.
        _check_chunks(texts, Iterable, "iter_deltas")
        self.parser = parser
        # Kept, because `close` must close the iterator and not the iterable.
        self._texts = iter(texts)
        self._deltas = _deltas(parser, self._texts, finish_reason, stop_reason)

    # A loop uses the generator itself, because `__next__` would add one call to each delta.
    def __iter__(self) -> Iterator[Delta]:
        return self._deltas

    def __next__(self) -> Delta:
        return next(self._deltas)

    def close(self) -> None:
        """End the iteration and close the source of the chunks, without reading the rest."""
        # The generator first, because a running one must not read a closed source.
        self._deltas.close()
        # Closed here too, because a generator that was not started runs no handler.
        _close(self._texts)


class AsyncDeltaIterator:
    """An asynchronous `DeltaIterator`, returned by `aiter_deltas`."""

    __slots__ = ("_deltas", "_texts", "parser")

    def __init__(
        self,
        parser: StreamParser,
        texts: AsyncIterable[str | bytes],
        finish_reason: WhenEnded,
        stop_reason: WhereStopped = None,
    ) -> None:
        # Checked here, because an iterable of the wrong kind would fail at the first chunk.
        _check_chunks(texts, AsyncIterable, "aiter_deltas")
        self.parser = parser
        # Kept, because `aclose` must close the iterator and not the iterable.
        self._texts = aiter(texts)
        self._deltas = _async_deltas(parser, self._texts, finish_reason, stop_reason)

    # A loop uses the generator itself, because `__anext__` would add one call to each delta.
    def __aiter__(self) -> AsyncIterator[Delta]:
        return self._deltas

    async def __anext__(self) -> Delta:
        return await anext(self._deltas)

    async def aclose(self) -> None:
        """End the iteration and close the source of the chunks, without reading the rest."""
        await self._deltas.aclose()
        # Closed here too, because a generator that was not started runs no handler.
        await _aclose(self._texts)


def _deltas(
    parser: StreamParser,
    texts: Iterator[str | bytes],
    finish_reason: WhenEnded,
    stop_reason: WhereStopped,
) -> Generator[Delta, None, None]:
    try:
        for text in texts:
            yield from parser.feed(text)
    # `BaseException`, because `close` raises `GeneratorExit` in here.
    except BaseException:
        _close(texts)
        raise
    # Called only now, because an engine knows the reasons only after the last chunk.
    yield from parser.finish(_called(finish_reason), stop_reason=_called(stop_reason))


async def _async_deltas(
    parser: StreamParser,
    texts: AsyncIterator[str | bytes],
    finish_reason: WhenEnded,
    stop_reason: WhereStopped,
) -> AsyncGenerator[Delta, None]:
    try:
        async for text in texts:
            # An asynchronous generator cannot use `yield from`.
            for delta in parser.feed(text):
                yield delta
    # `BaseException`, because a cancelled task raises `CancelledError` in here.
    except BaseException:
        await _aclose(texts)
        raise
    # Called only now, because an engine knows the reasons only after the last chunk.
    for delta in parser.finish(_called(finish_reason), stop_reason=_called(stop_reason)):
        yield delta


def _check_chunks(texts: Any, wanted: type, name: str) -> None:
    """Check that `texts` can be iterated over as chunks.

    Raises:
        UsageError: `texts` is not of the type `wanted`.
    """
    # bytes are iterable, but their items are integers, not chunks.
    if isinstance(texts, wanted) and not isinstance(texts, bytes):
        return
    kind = type(texts).__name__
    words = (
        f"texts must be an iterable of str or bytes chunks, not {kind}; for a complete response "
        f"use {name}([response], ...)"
    )
    # Mixing up the two functions is an easy mistake, so the message names the other one.
    if isinstance(texts, AsyncIterable):
        words = f"{name}() does not accept an asynchronous iterable; use aiter_deltas()"
    elif isinstance(texts, Iterable) and not isinstance(texts, bytes):
        words = f"{name}() needs an asynchronous iterable; use iter_deltas() for other iterables"
    raise UsageError(words)


def _called(known: Known | Callable[[], Known]) -> Known:
    """Return the value, or the result of the function."""
    # Neither a string, nor an id, nor a mapping is callable, so the test is exact.
    return known() if callable(known) else known


def _close(texts: object) -> None:
    """Close a source of chunks if it has a `close` method."""
    # Lists and other iterables have none.
    close = getattr(texts, "close", None)
    if callable(close):
        close()


async def _aclose(texts: object) -> None:
    # Asynchronous generators have `aclose`, while the streams of clients may have `close`.
    close = getattr(texts, "aclose", None) or getattr(texts, "close", None)
    if callable(close):
        # A `close` method may be a coroutine function or a plain one.
        closing = close()
        if isawaitable(closing):
            await closing
