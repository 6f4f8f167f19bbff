"""uvicorn's HTTP protocol, with limits for heads and for short chunks.

The body of a request may be sent in chunks. A chunk costs the event loop about as much as a chunk
of a streamed response, however short it is. So a body sent byte by byte would delay other clients.
"""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["LimitedHttp"]

FREE_CHUNKS = 4096
SHORTEST = 64
"""Minimum average size of a body's chunks after the first `FREE_CHUNKS`, in bytes."""

LONGEST_HEAD = 1 << 19
"""Maximum size of a head (request line and headers) in bytes. It exceeds one socket read."""


class LimitedHttp(HttpToolsProtocol):
    """Responds with 400 and closes the connection if a head is too long or chunks are too short."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._is_in_head = True
        self._head = 0
        self._chunks = 0
        self._bytes = 0

    def data_received(self, data: bytes) -> None:
        """Process bytes of the client."""
        if self._is_in_head:
            self._head += len(data)
            if self._head > LONGEST_HEAD:
                self.send_400_response("The request headers are too long.")
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Reset the counts for a new request."""
        self._chunks = self._bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Reset the size of the head at its end."""
        self._is_in_head, self._head = False, 0
        super().on_headers_complete()

    def on_chunk_header(self) -> None:
        """Count a chunk.

        Raises:
            ValueError: there are too many short chunks. The HTTP parser converts it to its own
                error.
        """
        self._chunks += 1
        if self._chunks > FREE_CHUNKS + self._bytes // SHORTEST:
            raise ValueError("too many short chunks in the request body")

    def on_body(self, body: bytes) -> None:
        """Count bytes of a body."""
        self._bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Expect a head after the end of a request."""
        self._is_in_head = True
        super().on_message_complete()
