"""The parser in a loop: over all of the text at once, over an iterable, over an async one."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, Literal

from .message.deltas import Delta
from .message.message import Message
from .parser import StreamParser
from .wire.format import WireFormat

__all__ = ["astream", "parse", "stream"]

Reason = Literal["stop", "length"] | None


def parse(
    text: str | bytes, fmt: WireFormat, *, finish_reason: Reason = None, **options: Any
) -> Message:
    """Parse a whole output at once: the same engine, fed once and finished.

    `options` are those of `StreamParser`; `finish_reason` is what `StreamParser.finish` takes.
    """
    parser = StreamParser(fmt, **options)
    parser.feed(text)
    parser.finish(finish_reason)
    return parser.message


def stream(
    texts: Iterable[str | bytes],
    fmt: WireFormat,
    *,
    finish_reason: Reason = None,
    **options: Any,
) -> Iterator[Delta]:
    """Yield the deltas of an output that comes in pieces, each as soon as it is certain.

    `options` are those of `StreamParser`, and are checked here, not at the first piece.
    """
    parser = StreamParser(fmt, **options)

    def deltas() -> Iterator[Delta]:
        for text in texts:
            yield from parser.feed(text)
        yield from parser.finish(finish_reason)

    return deltas()


def astream(
    texts: AsyncIterable[str | bytes],
    fmt: WireFormat,
    *,
    finish_reason: Reason = None,
    **options: Any,
) -> AsyncIterator[Delta]:
    """Like `stream`, for pieces that come asynchronously."""
    parser = StreamParser(fmt, **options)

    async def deltas() -> AsyncIterator[Delta]:
        async for text in texts:
            for delta in parser.feed(text):
                yield delta
        for delta in parser.finish(finish_reason):
            yield delta

    return deltas()
