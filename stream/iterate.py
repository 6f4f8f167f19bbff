"""The parser in a loop: over a whole output, over chunks, over chunks that come asynchronously."""

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
    """Parse a whole output at once: the same engine, fed once and finished.

    `options` are those of `StreamParser`; `finish_reason` and `stop_reason` are what
    `StreamParser.finish` takes.
    """
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
    """Iterate over the deltas of an output that comes in chunks, each as soon as it is certain.

        deltas = iter_deltas(texts, fmt)
        for delta in deltas:
            ...
        deltas.parser.finish_reason, deltas.parser.message

    `options` are those of `StreamParser`, and are checked here, not at the first chunk.
    `finish_reason` and `stop_reason` are what `StreamParser.finish` takes, which is called when
    `texts` has ended; or functions that return it, for that is when an engine knows.
    """
    return DeltaIterator(StreamParser(fmt, **options), texts, finish_reason, stop_reason)


def aiter_deltas(
    texts: AsyncIterable[str | bytes],
    fmt: WireFormat | str,
    *,
    finish_reason: WhenEnded = None,
    stop_reason: WhereStopped = None,
    **options: Any,
) -> AsyncDeltaIterator:
    """Iterate like `iter_deltas`, over chunks that come asynchronously."""
    return AsyncDeltaIterator(StreamParser(fmt, **options), texts, finish_reason, stop_reason)


class DeltaIterator:
    """An iterator of deltas, and the `parser` that makes them; `iter_deltas` returns it.

    The parser is there before the first delta. An exception, of the chunks or of a policy, ends
    the iteration, and so does `close`: the parser then keeps what it has read, unfinished, and the
    source of the chunks is closed at once, if it has a `close`: an engine need not go on.
    """

    __slots__ = ("_deltas", "_texts", "parser")

    def __init__(
        self,
        parser: StreamParser,
        texts: Iterable[str | bytes],
        finish_reason: WhenEnded,
        stop_reason: WhereStopped = None,
    ) -> None:
        _check_chunks(texts, Iterable, "iter_deltas")
        self.parser = parser
        self._texts = iter(texts)
        self._deltas = _deltas(parser, self._texts, finish_reason, stop_reason)

    # A loop runs over the generator itself: `__next__` would be one more call for each delta.
    def __iter__(self) -> Iterator[Delta]:
        return self._deltas

    def __next__(self) -> Delta:
        return next(self._deltas)

    def close(self) -> None:
        """End the iteration, and the source of the chunks; what is left of them is not read."""
        self._deltas.close()
        _close(self._texts)


class AsyncDeltaIterator:
    """What `DeltaIterator` is, for `async for`; `aiter_deltas` returns it."""

    __slots__ = ("_deltas", "_texts", "parser")

    def __init__(
        self,
        parser: StreamParser,
        texts: AsyncIterable[str | bytes],
        finish_reason: WhenEnded,
        stop_reason: WhereStopped = None,
    ) -> None:
        _check_chunks(texts, AsyncIterable, "aiter_deltas")
        self.parser = parser
        self._texts = aiter(texts)
        self._deltas = _async_deltas(parser, self._texts, finish_reason, stop_reason)

    def __aiter__(self) -> AsyncIterator[Delta]:
        return self._deltas

    async def __anext__(self) -> Delta:
        return await anext(self._deltas)

    async def aclose(self) -> None:
        """End the iteration, and the source of the chunks; what is left of them is not read."""
        await self._deltas.aclose()
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
    except BaseException:
        _close(texts)
        raise
    yield from parser.finish(_asked(finish_reason), stop_reason=_asked(stop_reason))


async def _async_deltas(
    parser: StreamParser,
    texts: AsyncIterator[str | bytes],
    finish_reason: WhenEnded,
    stop_reason: WhereStopped,
) -> AsyncGenerator[Delta, None]:
    try:
        async for text in texts:
            for delta in parser.feed(text):
                yield delta
    except BaseException:
        await _aclose(texts)
        raise
    for delta in parser.finish(_asked(finish_reason), stop_reason=_asked(stop_reason)):
        yield delta


def _check_chunks(texts: Any, wanted: type, name: str) -> None:
    """Refuse what are no chunks of an output; bytes are integers."""
    if isinstance(texts, wanted) and not isinstance(texts, bytes):
        return
    kind = type(texts).__name__
    words = f"{name}() takes chunks, each str or bytes, not {kind}; of a whole output: [output]"
    if isinstance(texts, AsyncIterable):
        words = f"these chunks come asynchronously, and {name}() does not wait: aiter_deltas(...)"
    elif isinstance(texts, Iterable) and not isinstance(texts, bytes):
        words = f"{name}() takes chunks that come asynchronously; iter_deltas(...) takes others"
    raise UsageError(words)


def _asked(known: Known | Callable[[], Known]) -> Known:
    """What is known, or what the function says that is asked for it."""
    return known() if callable(known) else known


def _close(texts: object) -> None:
    """Close a source of chunks that can be closed."""
    close = getattr(texts, "close", None)
    if callable(close):
        close()


async def _aclose(texts: object) -> None:
    close = getattr(texts, "aclose", None) or getattr(texts, "close", None)
    if callable(close):
        closing = close()
        if isawaitable(closing):
            await closing
