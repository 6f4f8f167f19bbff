"""The tasks of workers: parsing a request, and building the grammar for the rest of a turn."""

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
    """Return the pickled data of a gateway for workers, without keys and connections."""
    known = replace(settings, api_key="", upstream_key="")
    return pickle.dumps((Model(model.template, model.fmt), upstream.traits, known))


def warm(gateway: bytes) -> None:
    """Compile the template of a gateway, which takes longer than most requests."""
    _known(gateway)[0].template.render(HI, add_generation_prompt=True)


def understand(at: Callable[[str], None], gateway: bytes, path: str, body: bytes) -> dict[str, Any]:
    """Parse the request in a body, and return `ParsedRequest.portable()`.

    Args:
        at: a callback for the member in progress.
        gateway: the result of `served`.
        path: the path of the protocol.
        body: the JSON.

    Raises:
        Fault: the request is rejected.
    """
    model, traits, settings = _known(gateway)
    read = read_body(body, settings.max_values)
    return asked(read, PROTOCOLS[path], model, traits, settings, at).portable()


def constrain(
    at: Callable[[str], None], gateway: bytes, understood: dict[str, Any], prompt: str
) -> Constraint | None:
    """Return the constraint for the rest of a turn.

    Args:
        at: a callback for the member in progress.
        gateway: the result of `served`.
        understood: the result of `understand`.
        prompt: the prompt, with the output so far.

    Raises:
        Fault: the upstream does not support a suitable constraint.
    """
    del at
    model, traits, _ = _known(gateway)
    return ParsedRequest(model=model, upstream=traits, **understood).constraint_after(prompt)


@lru_cache(maxsize=8)
def _known(gateway: bytes) -> tuple[Model, Traits, Settings]:
    found: tuple[Model, Traits, Settings] = pickle.loads(gateway)  # noqa: S301 - the gateway's own
    return found
