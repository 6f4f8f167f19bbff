"""The names of the models: what the upstream has, and what clients ask for."""

from __future__ import annotations

import time
from collections.abc import Mapping

import httpx

from .settings import Settings

__all__ = ["Names"]

PATIENCE = 5.0
FRESH = 10.0


class Names:
    """Asked of the upstream when they are first needed, and again where one is not known.

    An upstream that names none takes any name.
    """

    def __init__(self, client: httpx.AsyncClient, settings: Settings) -> None:
        self._client = client
        self._given = settings.models
        self._found: tuple[str, ...] = ()
        self._asked = -FRESH

    async def served(self, headers: Mapping[str, str]) -> tuple[str, ...]:
        """Return the names for clients."""
        return self._given or await self._known(headers)

    async def knows(self, name: str, headers: Mapping[str, str]) -> bool:
        """Return whether a client may ask for this name."""
        if self._given:
            return name in self._given
        names = await self._known(headers)
        if names and name not in names:
            names = await self._known(headers, again=True)
        return not names or name in names

    async def upstream(self, name: str | None, headers: Mapping[str, str]) -> str | None:
        """Return what the upstream calls a model: as the client does, or its first one."""
        names = await self._known(headers)
        if name in names or not names:
            return name
        return names[0]

    async def _known(self, headers: Mapping[str, str], *, again: bool = False) -> tuple[str, ...]:
        now = time.monotonic()
        if (self._found and not again) or now - self._asked < FRESH:
            return self._found
        self._asked = now
        try:
            answer = await self._client.get("/v1/models", headers=headers, timeout=PATIENCE)
            listed = answer.raise_for_status().json()["data"]
            self._found = tuple(str(model["id"]) for model in listed)
        except (httpx.HTTPError, KeyError, TypeError, ValueError):
            pass  # then the names are not known
        return self._found
