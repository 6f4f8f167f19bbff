"""The names of the models: what the upstream has, and what clients ask for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from .settings import Settings
from .upstreams.http_client import HttpClient

__all__ = ["Names"]

PATIENCE = 5.0
FRESH = 10.0


class Names:
    """Asked of the upstream when they are first needed, and again where one is not known.

    An upstream that names none takes any name. Where clients show the upstream keys of their own,
    what it tells one is not for another: then nothing is remembered.
    """

    def __init__(self, client: HttpClient, settings: Settings) -> None:
        self._client = client
        self._given = settings.models
        self._shares = not settings.forward_authorization
        self._found: tuple[str, ...] = ()
        self._asked = -FRESH
        self._one_asks = asyncio.Lock()

    async def served(self, headers: Mapping[str, str]) -> tuple[str, ...]:
        """Return the names for clients."""
        return self._given or await self._known(headers)

    async def resolve(
        self, name: str | None, headers: Mapping[str, str]
    ) -> tuple[bool, str | None]:
        """Return whether a client may ask for a name, and what the upstream calls that model.

        That is what the client calls it, or the upstream's first one.
        """
        names = await self._known(headers)
        if self._given:
            fits = name is None or name in self._given
        else:
            if names and name is not None and name not in names:
                names = await self._known(headers, again=True)
            fits = not names or name is None or name in names
        return fits, name if name in names or not names else names[0]

    async def _known(self, headers: Mapping[str, str], *, again: bool = False) -> tuple[str, ...]:
        if not self._shares:
            return await self._listed(headers) or ()
        if self._found and not again:
            return self._found
        async with self._one_asks:
            now = time.monotonic()
            if now - self._asked >= FRESH:
                found = await self._listed(headers)
                self._asked = now
                if found is not None:
                    self._found = found
        return self._found

    async def _listed(self, headers: Mapping[str, str]) -> tuple[str, ...] | None:
        """Return the names that the upstream lists, None where it lists none."""
        try:
            said = await self._client.json("/v1/models", headers=headers, patience=PATIENCE)
            return tuple(str(model["id"]) for model in said["data"])
        except (OSError, KeyError, TypeError):
            return None
