"""The bodies of requests that are held: they share memory, and a slow one keeps nobody waiting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from .faults import Fault

__all__ = ["Upload", "Uploads"]

SMALL = 64 << 10
"""Bytes of a body that is taken even if larger ones fill the memory."""


@dataclass(eq=False)
class Upload:
    """One body, from its first byte until its request is understood.

    `scope` is cancelled if the upload has to end for others while it arrives.
    """

    client: str
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    body: bytearray = field(default_factory=bytearray)
    is_given_up: bool = False


class Uploads:
    """All bodies that are held.

    If they are too many or too large, the client that holds the most loses its oldest body among
    those that still arrive.

    Args:
        most: how many bodies may arrive at a time.
        most_bytes: how many bytes all bodies may have.
    """

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        # In the order in which they began.
        self._arriving: dict[Upload, None] = {}
        self._held: Counter[str] = Counter()
        self._bytes = 0

    @contextmanager
    def upload(self, client: str) -> Iterator[Upload]:
        """Hold a body of a client."""
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
            Fault: all bodies have too many, and none of them can be given up for this one.
        """
        upload.body += block
        self._count(upload.client, len(block))
        if self._bytes > self._most_bytes:
            self._give_up(self._held)
            if self._bytes > self._most_bytes and len(upload.body) > SMALL:
                raise Fault("too many bytes of requests at a time", status=503, retry_after="1")

    def arrived(self, upload: Upload) -> None:
        """Take note that a body is all there."""
        self._arriving.pop(upload, None)

    def drop(self, upload: Upload) -> None:
        """Hold a body no longer."""
        self._arriving.pop(upload, None)
        self._count(upload.client, -len(upload.body))
        upload.body = bytearray()

    def _count(self, client: str, size: int) -> None:
        self._bytes += size
        self._held[client] += size
        if not self._held[client]:
            del self._held[client]

    def _give_up(self, held: Counter[str]) -> None:
        """Give up the oldest body, among those that arrive, of whoever holds the most."""
        if self._arriving:
            one = max(self._arriving, key=lambda one: held[one.client])
            one.is_given_up = True
            one.scope.cancel()
            self.drop(one)
