"""Request bodies in memory. They share a limit, so slow uploads do not block other clients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from .faults import Fault

__all__ = ["Upload", "Uploads"]

SMALL = 64 << 10
"""Bodies of up to this many bytes are accepted even if larger ones fill the memory."""


@dataclass(eq=False)
class Upload:
    """One body, from its first byte until its request is parsed.

    `scope` is cancelled if the upload must end early in favor of others.
    """

    client: str
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    body: bytearray = field(default_factory=bytearray)
    is_given_up: bool = False


class Uploads:
    """All bodies in memory.

    If they are too many or too large, the client with the most of them loses its oldest incomplete
    body.

    Args:
        most: the limit of incomplete bodies.
        most_bytes: the limit of bytes in all bodies.
    """

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        # In order of their start.
        self._arriving: dict[Upload, None] = {}
        self._held: Counter[str] = Counter()
        self._bytes = 0

    @contextmanager
    def upload(self, client: str) -> Iterator[Upload]:
        """Register a body of a client."""
        made = Upload(client)
        self._arriving[made] = None
        if len(self._arriving) > self._most:
            self._give_up(Counter(one.client for one in self._arriving))
        try:
            yield made
        finally:
            self.drop(made)

    def add(self, upload: Upload, block: bytes) -> None:
        """Add bytes to a body.

        Raises:
            Fault: the limit is exceeded, and no other body can be dropped.
        """
        upload.body += block
        self._count(upload.client, len(block))
        if self._bytes > self._most_bytes:
            self._give_up(self._held)
            if self._bytes > self._most_bytes and len(upload.body) > SMALL:
                raise Fault("too many request bytes in memory", status=503, retry_after="1")

    def arrived(self, upload: Upload) -> None:
        """Mark a body as complete."""
        self._arriving.pop(upload, None)

    def drop(self, upload: Upload) -> None:
        """Remove a body."""
        self._arriving.pop(upload, None)
        self._count(upload.client, -len(upload.body))
        upload.body = bytearray()

    def _count(self, client: str, size: int) -> None:
        self._bytes += size
        self._held[client] += size
        if not self._held[client]:
            del self._held[client]

    def _give_up(self, held: Counter[str]) -> None:
        """Drop the oldest incomplete body of the client that uses the most."""
        if self._arriving:
            one = max(self._arriving, key=lambda one: held[one.client])
            one.is_given_up = True
            one.scope.cancel()
            self.drop(one)
