"""What all answers of a gateway share: the model, the upstream, limits, and who may ask."""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from .choice_stream import Turn
from .faults import Fault
from .headers_and_ids import Names
from .metrics import Metrics
from .model import Model
from .settings import Settings
from .turn_log import Records
from .uploads import Uploads
from .upstreams.http_client import HttpClient
from .upstreams.upstream import Upstream, token_count
from .work.pool import Pool
from .work.tasks import served

__all__ = ["Shared"]

COUNTING = 5.0
"""Seconds in which an upstream may say how many tokens a prompt has."""


class Shared:
    """What answers share: nothing of one request is kept for another.

    open:     how many answers are being made.
    turns:    what of them is being read.
    uploads:  the requests that are being read.
    pool:     runs what may take long for a request.
    served:   what a worker of the pool must know of this gateway.
    """

    def __init__(
        self,
        model: Model,
        upstream: Upstream,
        client: HttpClient,
        settings: Settings = Settings(),  # noqa: B008 - frozen
        records: Records | None = None,
    ) -> None:
        self.model = model
        self.upstream = upstream
        self.client = client
        self.settings = settings
        self.metrics = Metrics()
        self.names = Names(client, settings)
        self.records = records or Records(latest=settings.inspect)
        self.turns: set[Turn] = set()
        self.open = 0
        self.uploads = Uploads(settings.max_streams, settings.max_bodies)
        self.pool = Pool(settings.work_timeout)
        self.served = served(model, upstream, settings)
        self._open_by: Counter[str] = Counter()

    def check_key(self, headers: Mapping[str, str]) -> None:
        """Raise `Fault` for a client that does not show the key.

        Without a key, whoever reaches the port may ask; but a web page of elsewhere, for which the
        browser of somebody who does may speak, may not.
        """
        key = self.settings.api_key
        if not key:
            origin = headers.get("origin", "")
            if origin.startswith(("http", "null")) and not is_own(origin, headers.get("host", "")):
                raise Fault("pages of other origins may ask only with an API key", status=403)
            return
        bearer = headers.get("authorization", "")
        shown = headers.get("x-api-key") or bearer.partition(" ")[2].strip()
        if not hmac.compare_digest(shown.encode("latin-1"), key.encode()):
            raise Fault("the API key is missing, or wrong", status=401)

    def authorization(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return what the upstream is shown of a client's key; its own the client has.

        Raises:
            Fault: it could not be shown as it came.
        """
        settings = self.settings
        if settings.forward_authorization and not settings.upstream_key:
            if "authorization" in headers:
                shown = headers["authorization"]
                if not (shown.isascii() and shown.isprintable()):
                    raise Fault("an authorization is of printable ASCII characters")
                return {"authorization": shown}
        return {}

    @asynccontextmanager
    async def place(self, client: str) -> AsyncIterator[None]:
        """Hold one of the places for answers.

        Raises:
            Fault: all are taken, or the client has as many as one may have.
        """
        most, most_of_one = self.settings.max_streams, self.settings.max_client_streams
        if most_of_one is None:
            most_of_one = -(-most * 3 // 4)
        if self.open >= most or self._open_by[client] >= most_of_one:
            raise Fault("too many requests at a time", status=503, retry_after="1")
        self.open += 1
        self._open_by[client] += 1
        self.metrics.open.inc()
        try:
            yield
        finally:
            self.open -= 1
            self._open_by[client] -= 1
            self._open_by += Counter()  # drops those without any
            self.metrics.open.dec()

    async def count_tokens(self, prompt: str, model: str | None, headers: Mapping[str, str]) -> int:
        """Return how many tokens a prompt has: what the upstream says, or about that."""
        upstream = self.upstream
        asked = upstream.tokenizing(prompt, model, special=upstream.adds_bos)
        try:
            answer = await self.client.json("/tokenize", asked, headers=headers, patience=COUNTING)
        except OSError:
            answer = None
        count = token_count(answer)
        return -(-len(prompt) // 4) if count is None else count


def is_own(origin: str, host: str) -> bool:
    """Return whether a page comes from this machine's own address, by which it was asked for.

    A name that is not the machine's own may be anybody's.
    """
    try:
        parts = urlsplit(origin)
        name = parts.hostname
    except ValueError:
        return False
    return parts.netloc == host and name in ("localhost", "127.0.0.1", "::1")
