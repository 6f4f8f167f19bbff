"""State shared by all responses of a gateway: model, upstream, limits, and access."""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from .choice_stream import Turn
from .faults import Fault
from .metrics import Metrics
from .model import Model
from .model_names import ModelNames
from .settings import Settings
from .turn_log import Records
from .uploads import Uploads
from .upstreams.http_client import HttpClient
from .upstreams.upstream import Upstream, token_count
from .work.pool import Pool
from .work.tasks import served

__all__ = ["Shared"]

COUNTING = 5.0
"""Seconds to wait for the upstream's token count of a prompt."""


class Shared:
    """State shared by responses. It contains no data of a request.

    open: number of responses in progress.
    turns: the turns that are being read.
    uploads: the request bodies that are being read.
    pool: runs the slow steps of requests.
    served: the pickled model, traits and settings for the workers.
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
        self.names = ModelNames(client, settings)
        self.records = records or Records(latest=settings.inspect)
        self.turns: set[Turn] = set()
        self.open = 0
        self.uploads = Uploads(settings.max_streams, settings.max_bodies)
        self.pool = Pool(settings.work_timeout)
        self.served = served(model, upstream, settings)
        self._open_by: Counter[str] = Counter()

    def check_key(self, headers: Mapping[str, str]) -> None:
        """Check the API key of a client.

        Without a configured key, access is open, except for web pages of other origins. Their
        scripts run in the browser of a local user.

        Raises:
            Fault: the key is missing or wrong, or the page is of another origin.
        """
        key = self.settings.api_key
        if not key:
            origin = headers.get("origin", "")
            if origin.startswith(("http", "null")) and not is_own(origin, headers.get("host", "")):
                raise Fault("web pages of other origins need an API key", status=403)
            return
        bearer = headers.get("authorization", "")
        shown = headers.get("x-api-key") or bearer.partition(" ")[2].strip()
        if not hmac.compare_digest(shown.encode("latin-1"), key.encode()):
            raise Fault("missing or wrong API key", status=401)

    def authorization(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the authorization header for the upstream, forwarded from the client.

        The result is empty if the gateway has its own key, or does not forward headers.

        Raises:
            Fault: the header contains characters that cannot be forwarded.
        """
        settings = self.settings
        if settings.forward_authorization and not settings.upstream_key:
            if "authorization" in headers:
                shown = headers["authorization"]
                if not (shown.isascii() and shown.isprintable()):
                    raise Fault(
                        "the authorization header must contain printable ASCII characters only"
                    )
                return {"authorization": shown}
        return {}

    @asynccontextmanager
    async def place(self, client: str) -> AsyncIterator[None]:
        """Reserve a place for a response.

        Raises:
            Fault: all places are taken, or the client has reached its own limit.
        """
        most, most_of_one = self.settings.max_streams, self.settings.max_client_streams
        if most_of_one is None:
            # One client gets three quarters by default, so it cannot block all others.
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
            self._open_by += Counter()  # removes zero counts
            self.metrics.open.dec()

    async def count_tokens(self, prompt: str, model: str | None, headers: Mapping[str, str]) -> int:
        """Return the number of tokens of a prompt, estimated if the upstream does not count."""
        upstream = self.upstream
        asked = upstream.tokenizing(prompt, model, special=upstream.adds_bos)
        try:
            answer = await self.client.json("/tokenize", asked, headers=headers, patience=COUNTING)
        except OSError:
            answer = None
        count = token_count(answer)
        return -(-len(prompt) // 4) if count is None else count


def is_own(origin: str, host: str) -> bool:
    """Return True if a page is served from this machine and was requested by its address.

    Other names are not trusted, since anybody may point a domain name at this machine.
    """
    try:
        parts = urlsplit(origin)
        name = parts.hostname
    except ValueError:
        return False
    return parts.netloc == host and name in ("localhost", "127.0.0.1", "::1")
