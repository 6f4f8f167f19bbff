"""A request that was understood: all that is to be done for it, before anything is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from deltaparse.grammar import Grammar, gbnf
from deltaparse.protocols import Request
from deltaparse.stream import Policies, StreamParser

from .faults import Fault, refusing
from .model import Model, Thinking
from .protocol import Protocol
from .sampling import Sampling, flag
from .settings import Settings
from .upstreams.upstream import Generation, Upstream

__all__ = ["Asked", "asked", "read_body"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a client asks for, and with what prompt."""

    model: Model
    request: Request
    sampling: Sampling
    thinking: Thinking
    prompt: str
    grammar: Grammar | None
    stream: bool
    with_usage: bool
    repeated: Mapping[str, Any]

    def parser(self, *, collect: bool) -> StreamParser:
        """Return a parser for one choice."""
        request = self.request
        with refusing():
            return StreamParser(
                self.model.fmt,
                **request.parser_options(),
                prompt=self.prompt,
                policies=Policies(extra_calls="flag" if request.parallel_tool_calls else "drop"),
                id_factory=self.model.id_factory,
                collect=collect,
            )

    def generation(self, upstream: Upstream, name: str | None, index: int) -> Generation:
        """Return what an upstream is asked for a choice; each has a seed of its own."""
        sampling, prompt = self.sampling, self.prompt
        if sampling.seed is not None:
            sampling = replace(sampling, seed=sampling.seed + index)
        if upstream.adds_bos:
            # It stands there once: the template's goes where the upstream writes it.
            prompt = prompt.removeprefix(self.model.template.bos_token)
        return Generation(prompt=prompt, model=name, sampling=sampling, grammar=self.grammar)


def read_body(data: bytes) -> Mapping[str, Any]:
    """Read the JSON of a request.

    Raises:
        Fault: it is none, or no object.
    """
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Fault("the body of the request is no JSON") from error
    if not isinstance(body, dict):
        raise Fault("the body of the request is no JSON object")
    return body


def asked(
    body: Mapping[str, Any],
    protocol: Protocol,
    model: Model,
    upstream: Upstream,
    settings: Settings,
) -> Asked:
    """Understand a request.

    Raises:
        Fault: it is not what the protocol says, or asks for what cannot be done.
    """
    request = protocol.request(body)
    sampling = protocol.sampling(body, settings.max_choices)
    if sampling.max_tokens is None and settings.max_tokens is not None:
        sampling = replace(sampling, max_tokens=settings.max_tokens)
    thinking = protocol.thinking(body)
    prompt = model.prompt(request, thinking)
    made = Asked(
        model=model,
        request=request,
        sampling=sampling,
        thinking=thinking,
        prompt=prompt,
        grammar=_grammar(request, prompt, model, upstream),
        stream=flag(body, "stream"),
        with_usage=protocol.with_usage(body),
        repeated={name: body[name] for name in protocol.repeated if body.get(name) is not None},
    )
    made.parser(collect=False)  # what is wrong shows now, not when the answer has begun
    return made


def _grammar(request: Request, prompt: str, model: Model, upstream: Upstream) -> Grammar | None:
    """Return what the model is to be held to: a call that is required, or a schema."""
    required = request.choice.mode == "required"
    if not required and request.response_schema is None:
        return None
    if not upstream.takes_grammars:
        what = "tool_choice asks for a call" if required else "response_format asks for JSON"
        raise Fault(f"{what}, and the upstream ({upstream.kind}) takes no grammar")
    choice: Any = request.tool_choice if request.tools else "auto"
    with refusing():
        grammar = gbnf(
            model.fmt,
            request.tools,
            tool_choice=choice,
            parallel_tool_calls=request.parallel_tool_calls,
            response_schema=request.response_schema,
            prompt=prompt,
        )
    return grammar if grammar.text else None
