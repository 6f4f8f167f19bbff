"""What an upstream says of itself: its kind, its template, and whether it adds a BOS token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from deltaparse.analyzer import ChatTemplate, analyze
from deltaparse.partial import DeltaParseError, UsageError

from .model import Model
from .upstreams.llama_cpp import LlamaCpp
from .upstreams.openai import OpenAI
from .upstreams.sglang import SGLang
from .upstreams.tgi import TGI
from .upstreams.upstream import Upstream

__all__ = ["KINDS", "Found", "discover"]

KINDS = ("auto", "openai", "llama.cpp", "sglang", "tgi")
SIGNS = (
    ("llama.cpp", "/props", ("chat_template", "default_generation_settings")),
    ("sglang", "/get_model_info", ("model_path",)),
    ("tgi", "/info", ("model_id", "max_total_tokens")),
)
"""What each kind answers to at an address of its own."""

PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class Found:
    """What to serve."""

    model: Model
    upstream: Upstream


async def discover(client: httpx.AsyncClient, kind: str, template: str) -> Found:
    """Find out what stands behind an address.

    Args:
        client: what asks.
        kind: one of `KINDS`; "auto" asks the upstream.
        template: what `ChatTemplate.load` takes; "auto" asks the upstream.

    Raises:
        UsageError: the upstream does not say, or cannot be reached.
        TemplateError: the template does not compile.
    """
    if kind not in KINDS:
        raise UsageError(f"kind={kind!r} is none of {', '.join(KINDS)}")
    if kind == "auto":
        kind = await _kind(client)
    found = await _template(client) if template == "auto" else ChatTemplate.load(template)
    return Found(Model(found, analyze(found)), await _upstream(client, kind, found.bos_token))


async def _get(client: httpx.AsyncClient, path: str) -> Any:
    """Return the JSON at a path, None where there is none.

    Raises:
        UsageError: the upstream cannot be reached.
    """
    try:
        answer = await client.get(path, timeout=PATIENCE)
        return answer.json() if answer.is_success else None
    except httpx.TransportError as error:
        raise UsageError(f"{client.base_url}: the upstream cannot be reached: {error}") from error
    except ValueError:
        return None


async def _kind(client: httpx.AsyncClient) -> str:
    for kind, path, signs in SIGNS:
        said = await _get(client, path)
        if isinstance(said, Mapping) and any(sign in said for sign in signs):
            return kind
    return "openai"


async def _template(client: httpx.AsyncClient) -> ChatTemplate:
    """Return the template that llama-server tells, or that lies in the model's own folder."""
    said = await _get(client, "/props")
    if isinstance(said, Mapping) and isinstance(said.get("chat_template"), str):
        bos, eos = (str(said.get(name) or "") for name in ("bos_token", "eos_token"))
        return ChatTemplate(said["chat_template"], bos_token=bos, eos_token=eos)
    models = await _get(client, "/v1/models")
    folder = _own_folder(models.get("data") if isinstance(models, Mapping) else None)
    if folder is not None:
        return ChatTemplate.load(folder)
    raise UsageError(
        f"{client.base_url}: the upstream tells no chat template: name one with --template"
    )


def _own_folder(models: Any) -> str | None:
    """Return the folder that an upstream on this machine has a model from."""
    for model in models if isinstance(models, list) else ():
        for name in ("root", "id"):
            folder = model.get(name) if isinstance(model, Mapping) else None
            if isinstance(folder, str) and Path(folder).is_dir():
                return folder
    return None


async def _upstream(client: httpx.AsyncClient, kind: str, bos: str) -> Upstream:
    """Make an upstream of a kind."""
    if kind == "openai":
        return OpenAI()  # it is asked to add nothing
    adds_bos = bool(bos) and await _adds_bos(client, kind)
    if kind == "llama.cpp":
        return LlamaCpp(adds_bos=adds_bos)
    if kind == "tgi":
        return TGI(adds_bos=adds_bos)
    info = await _optional(client, "/get_server_info")
    args = info if isinstance(info, Mapping) else {}
    increments = any(args.get(name) for name in ("incremental_streaming_output", "stream_output"))
    return SGLang(adds_bos=adds_bos, increments=increments)


async def _adds_bos(client: httpx.AsyncClient, kind: str) -> bool:
    """Return whether a text is given a token before it: whether no text at all has one.

    An upstream that does not tell is one that does: tokenizers with a BOS token mostly do.
    """
    questions: dict[str, Any] = {
        "llama.cpp": {"content": "", "add_special": True},
        "sglang": {"prompt": "", "add_special_tokens": True},
        "tgi": {"inputs": "", "parameters": {}},
    }
    try:
        answer = await client.post("/tokenize", json=questions[kind], timeout=PATIENCE)
        tokens = answer.raise_for_status().json()
        if isinstance(tokens, Mapping):
            tokens = tokens["tokens"]
        return len(tokens) > 0
    except (httpx.HTTPError, DeltaParseError, KeyError, TypeError, ValueError):
        return True


async def _optional(client: httpx.AsyncClient, path: str) -> Any:
    try:
        return await _get(client, path)
    except UsageError:
        return None
