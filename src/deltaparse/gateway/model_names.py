"""Model names: the upstream's list, and the names for clients."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from .settings import Settings
from .upstreams.http_client import HttpClient

__all__ = ["ModelNames"]

# Seconds to wait for the list, and seconds until it may be requested again.
PATIENCE = 5.0
FRESH = 10.0


class ModelNames:
    """The upstream's model names, requested on first use and again for an unknown name.

    An upstream without a list accepts any name. If clients forward their own keys, the list is not
    cached, because it may differ between clients.
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
        """Return True if a client may use a name, and the upstream's name of that model.

        The upstream's name is the client's name, or else the first name of the upstream's list.
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
        """Return the names in the upstream's list, None if there is no list."""
        try:
            said = await self._client.json("/v1/models", headers=headers, patience=PATIENCE)
            return tuple(str(model["id"]) for model in said["data"])
        except (OSError, KeyError, TypeError):
            return None
