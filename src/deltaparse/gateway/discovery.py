"""Detection of the upstream: its kind, its template, and its handling of the BOS token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from deltaparse.analyzer import ChatTemplate, analyze
from deltaparse.partial import UsageError

from .model import Model
from .upstreams.http_client import HttpClient
from .upstreams.llama_cpp_upstream import LlamaCpp
from .upstreams.openai_upstream import Grammars, OpenAI
from .upstreams.sglang_upstream import SGLang
from .upstreams.tgi_upstream import TGI
from .upstreams.upstream import Upstream, token_count

__all__ = ["KINDS", "Found", "discover"]

KINDS = ("auto", "openai", "llama.cpp", "sglang", "tgi")
SIGNS = (
    ("llama.cpp", "/props", ("chat_template", "default_generation_settings")),
    ("sglang", "/get_model_info", ("model_path",)),
    ("tgi", "/info", ("model_id", "max_total_tokens")),
)
"""A path for each kind, and the members by which its answer is recognized."""

# Seconds to wait for each answer of the upstream.
PATIENCE = 10.0


FIRST_WITH_STRUCTURED_OUTPUTS = (0, 11)
"""The first version of vLLM with grammars in `structured_outputs`."""


@dataclass(frozen=True, slots=True)
class Found:
    """The model and the upstream to serve, and a description of both."""

    model: Model
    upstream: Upstream
    said: tuple[str, ...] = ()


async def discover(
    client: HttpClient, kind: str, template: str, grammars: Grammars | Literal["auto"] = "auto"
) -> Found:
    """Detect the upstream at an address.

    Args:
        client: the HTTP client for the upstream.
        kind: one of `KINDS`. "auto" detects it.
        template: an argument of `ChatTemplate.load`. "auto" requests it from the upstream.
        grammars: the grammar parameter of an "openai" upstream. "auto" detects it.

    Raises:
        UsageError: the upstream is unreachable, or does not provide the template.
        TemplateError: the template does not compile.
    """
    if kind not in KINDS:
        raise UsageError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
    # The named template is read first, to report its errors even if the upstream is unreachable.
    named = None if template == "auto" else (ChatTemplate.load(template), template)
    if kind == "auto":
        kind = await _kind(client)
    found, source = named or await _template(client)
    model = Model(found, analyze(found))
    model.prepare()
    upstream = await _upstream(client, kind, found.bos_token, grammars)
    return Found(model, upstream, _said(client, upstream, model, source))


def _said(client: HttpClient, upstream: Upstream, model: Model, source: str) -> tuple[str, ...]:
    """Describe the upstream, the template and the grammars."""
    fmt = model.fmt
    proof = "verified: rendered conversations are parsed back correctly"
    if not fmt.verified:
        proof = f"NOT verified: {fmt.issues[0] if fmt.issues else 'it was not parsed back'}"
    parts = [fmt.tools.format.value if fmt.derived.has_calls else "no tool calls"]
    if fmt.reasoning.start or fmt.reasoning.end or fmt.derived.has_channels:
        parts.append("reasoning")
    held = (
        ", ".join(sorted(upstream.ways))
        or "not detected; set --grammars if the server supports them"
    )
    bos = f"; the server adds {model.template.bos_token!r} itself" if upstream.adds_bos else ""
    return (
        f"upstream {upstream.kind} at {client.url}{bos}",
        f"template {source}: {', '.join(parts)}; {proof}",
        f"grammars {held}",
    )


async def _get(client: HttpClient, path: str) -> Any:
    """Return the JSON at a path, None if there is none.

    Raises:
        UsageError: the upstream is unreachable.
    """
    try:
        return await client.json(path, patience=PATIENCE)
    except OSError as error:
        why = str(error) or "timeout"
        raise UsageError(f"cannot reach the upstream {client.url}: {why}") from error


async def _kind(client: HttpClient) -> str:
    for kind, path, signs in SIGNS:
        said = await _get(client, path)
        if isinstance(said, Mapping) and any(sign in said for sign in signs):
            return kind
    return "openai"


async def _template(client: HttpClient) -> tuple[ChatTemplate, str]:
    """Return the template and its source: llama-server's `/props`, or the model's local folder."""
    said = await _get(client, "/props")
    if isinstance(said, Mapping) and isinstance(said.get("chat_template"), str):
        bos, eos = (str(said.get(name) or "") for name in ("bos_token", "eos_token"))
        return ChatTemplate(said["chat_template"], bos_token=bos, eos_token=eos), "/props"
    models = await _get(client, "/v1/models")
    folder = _own_folder(models.get("data") if isinstance(models, Mapping) else None)
    if folder is not None:
        return ChatTemplate.load(folder), folder
    raise UsageError(f"{client.url} does not provide a chat template, pass one with --template")


def _own_folder(models: Any) -> str | None:
    """Return the local folder of the upstream's model, if it is on this machine."""
    for model in models if isinstance(models, list) else ():
        for name in ("root", "id"):
            folder = model.get(name) if isinstance(model, Mapping) else None
            if isinstance(folder, str) and Path(folder).is_dir():
                return folder
    return None


async def _upstream(
    client: HttpClient, kind: str, bos: str, grammars: Grammars | Literal["auto"]
) -> Upstream:
    """Create an upstream of a kind."""
    if kind == "openai":  # requests to it disable the BOS token
        return OpenAI(grammars=await _grammars(client) if grammars == "auto" else grammars)
    if kind == "llama.cpp":
        return LlamaCpp(adds_bos=await _adds_bos(client, LlamaCpp(), bos))
    if kind == "tgi":
        return TGI(adds_bos=await _adds_bos(client, TGI(), bos))
    info = await _optional(client, "/get_server_info")
    args = info if isinstance(info, Mapping) else {}
    increments = any(args.get(name) for name in ("incremental_streaming_output", "stream_output"))
    return SGLang(adds_bos=await _adds_bos(client, SGLang(), bos), increments=increments)


async def _grammars(client: HttpClient) -> Grammars:
    """Detect the grammar parameter from vLLM's version or llama-server's `/props`."""
    said = await _optional(client, "/version")
    version = said.get("version") if isinstance(said, Mapping) else None
    if isinstance(version, str):
        parts = version.split(".")[:2]
        numbers = [int(part) for part in parts if part.isascii() and part.isdigit()]
        new = len(numbers) < 2 or tuple(numbers) >= FIRST_WITH_STRUCTURED_OUTPUTS
        return "structured_outputs" if new else "guided"
    props = await _optional(client, "/props")
    return "gbnf" if isinstance(props, Mapping) and "chat_template" in props else "none"


async def _adds_bos(client: HttpClient, upstream: Upstream, bos: str) -> bool:
    """Return True if the upstream adds a BOS token: an empty text then has a token.

    An unknown upstream counts as adding it, since most tokenizers with a BOS token do.
    """
    if not bos:
        return False
    try:
        asked = upstream.tokenizing("", None, special=True)
        count = token_count(await client.json("/tokenize", asked, patience=PATIENCE))
    except OSError:
        count = None
    return count is None or count > 0


async def _optional(client: HttpClient, path: str) -> Any:
    try:
        return await _get(client, path)
    except UsageError:
        return None
