"""uvicorn's protocol of HTTP, with limits on heads and on short chunks.

The body of a request may come in chunks. A chunk costs the event loop about as much as a stream's
does, however short it is, so a client that sends a body byte by byte would keep others waiting.
"""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["LimitedHttp"]

FREE_CHUNKS = 4096
SHORTEST = 64
"""Bytes that the chunks of a body have on average, behind the first `FREE_CHUNKS` of them."""

LONGEST_HEAD = 1 << 19
"""Bytes of a head: its first line and its headers; more than one read of a socket has."""


class LimitedHttp(HttpToolsProtocol):
    """Answers 400 and closes the connection where a head is too long, or chunks are too short."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._is_in_head = True
        self._head = 0
        self._chunks = 0
        self._bytes = 0

    def data_received(self, data: bytes) -> None:
        """Take bytes of the client."""
        if self._is_in_head:
            self._head += len(data)
            if self._head > LONGEST_HEAD:
                self.send_400_response("The head of the request is too long.")
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Take note that a request begins."""
        self._chunks = self._bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Take note that the head of a request has ended."""
        self._is_in_head, self._head = False, 0
        super().on_headers_complete()

    def on_chunk_header(self) -> None:
        """Take note that a chunk begins.

        Raises:
            ValueError: there are too many short ones; the parser passes it on as its own error.
        """
        self._chunks += 1
        if self._chunks > FREE_CHUNKS + self._bytes // SHORTEST:
            raise ValueError("the chunks of the request are too short")

    def on_body(self, body: bytes) -> None:
        """Take bytes of a body."""
        self._bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Take note that a request has ended."""
        self._is_in_head = True
        super().on_message_complete()
