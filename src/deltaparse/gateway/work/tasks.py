"""What the workers do: understand a request, and make the grammar for the rest of a turn."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ..model import HI, Model
from ..parsed_request import ParsedRequest, asked, read_body
from ..protocol import PROTOCOLS
from ..settings import Settings
from ..upstreams.upstream import Constraint, Traits, Upstream

__all__ = ["constrain", "served", "understand", "warm"]


def served(model: Model, upstream: Upstream, settings: Settings) -> bytes:
    """Return what a worker must know of a gateway: no key, and nothing of the upstream's state."""
    known = replace(settings, api_key="", upstream_key="")
    return pickle.dumps((Model(model.template, model.fmt), upstream.traits, known))


def warm(gateway: bytes) -> None:
    """Compile the template of a gateway, which takes longer than most requests."""
    _known(gateway)[0].template.render(HI, add_generation_prompt=True)


def understand(at: Callable[[str], None], gateway: bytes, path: str, body: bytes) -> dict[str, Any]:
    """Understand the request in a body, and return what `Asked.portable` does.

    Args:
        at: is called with the member that is worked on.
        gateway: what `served` returned.
        path: which protocol it is.
        body: the JSON.

    Raises:
        Fault: the request is refused.
    """
    model, traits, settings = _known(gateway)
    read = read_body(body, settings.max_values)
    return asked(read, PROTOCOLS[path], model, traits, settings, at).portable()


def constrain(
    at: Callable[[str], None], gateway: bytes, understood: dict[str, Any], prompt: str
) -> Constraint | None:
    """Return what a model is held to behind a prompt that the turn goes on from.

    Args:
        at: is called with the member that is worked on.
        gateway: what `served` returned.
        understood: what `understand` returned.
        prompt: the prompt.

    Raises:
        Fault: it cannot be held to what was asked.
    """
    del at
    model, traits, _ = _known(gateway)
    return ParsedRequest(model=model, upstream=traits, **understood).constraint_behind(prompt)


@lru_cache(maxsize=8)
def _known(gateway: bytes) -> tuple[Model, Traits, Settings]:
    found: tuple[Model, Traits, Settings] = pickle.loads(gateway)  # noqa: S301 - the gateway's own
    return found
