"""A request that was understood: all that is to be done for it, before anything is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from deltaparse.partial import replace_surrogates
from deltaparse.protocols import Request
from deltaparse.stream import Policies, StreamParser

from .constraint import constraint_of
from .faults import Fault, refusing
from .model import Model, Thinking
from .protocol import Protocol
from .sampling import Sampling, flag
from .settings import Settings
from .upstreams.upstream import Constraint, Generation, Upstream

__all__ = ["Asked", "asked", "read_body"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a client asks for, and with what prompt.

    strict: whether calls that are free to come are held to their schemas.
    with_usage, with_raw: whether the answer has what it took, and the output as it came.
    repeated: members of the request that the answer repeats.
    """

    model: Model
    upstream: Upstream
    request: Request
    sampling: Sampling
    thinking: Thinking
    prompt: str
    constraint: Constraint | None
    strict: bool
    schema_member: str
    stream: bool
    with_usage: bool
    with_raw: bool
    repeated: Mapping[str, Any]

    def parser(self, *, collect: bool) -> StreamParser:
        """Return a parser for one choice."""
        request = self.request
        with refusing():
            return StreamParser(
                self.model.fmt,
                **request.parser_options(),
                prompt=self.prompt,
                calls=self.constraint.calls if self.constraint else "format",
                policies=self.policies,
                id_factory=self.model.id_factory,
                collect=collect,
            )

    @property
    def policies(self) -> Policies:
        """What is done where an output is odd: a call too many, no client is sent."""
        return Policies(extra_calls="flag" if self.request.parallel_tool_calls else "drop")

    @property
    def budget(self) -> int | None:
        """How many tokens of reasoning there may be; None where nothing could end it."""
        budget = self.thinking.budget
        return budget if budget is not None and self.forced_end("") else None

    def forced_end(self, output: str) -> str:
        """Return the text that ends reasoning behind what the model wrote so far."""
        return self.model.forced_end(output, self.prompt)

    def generation(self, name: str | None, index: int) -> Generation:
        """Return what the upstream is asked for a choice; a seed is another for each."""
        sampling = self.sampling
        if sampling.seed is not None:
            sampling = replace(sampling, seed=sampling.seed + index)
        return Generation(
            prompt=self._without_bos(self.prompt),
            model=name,
            sampling=sampling,
            constraint=self.constraint,
        )

    def resumed(self, generation: Generation, output: str, made: int) -> Generation | None:
        """Return what the upstream is asked to go on with an output, of `made` tokens.

        None where it has all the tokens that it may have.

        Raises:
            Fault: what is left of the turn cannot be held to what was asked.
        """
        prompt, sampling = self.prompt + output, generation.sampling
        if sampling.max_tokens is not None:
            if made >= sampling.max_tokens:
                return None
            sampling = replace(sampling, max_tokens=sampling.max_tokens - made)
        return replace(
            generation,
            prompt=self._without_bos(prompt),
            sampling=sampling,
            constraint=self._constraint(prompt),
        )

    def _constraint(self, prompt: str) -> Constraint | None:
        return constraint_of(
            self.request,
            prompt,
            self.model,
            self.upstream,
            strict=self.strict,
            schema_member=self.schema_member,
        )

    def _without_bos(self, prompt: str) -> str:
        """Return a prompt as it is sent: with one BOS token, where the upstream writes it too."""
        bos = self.model.template.bos_token if self.upstream.adds_bos else ""
        return prompt.removeprefix(bos)


def read_body(data: bytes) -> Mapping[str, Any]:
    """Read the JSON of a request; half a character in it becomes U+FFFD.

    Raises:
        Fault: it is none, or no object.
    """
    try:
        body = json.loads(data)
        if b"\\ud" in data or b"\\uD" in data:
            body = json.loads(replace_surrogates(json.dumps(body, ensure_ascii=False)))
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
    continues = protocol.continues(body, request)
    made = Asked(
        model=model,
        upstream=upstream,
        request=request,
        sampling=sampling,
        thinking=thinking,
        prompt=replace_surrogates(model.prompt(request, thinking, continues=continues)),
        constraint=None,
        strict=protocol.strict(body),
        schema_member=protocol.schema_member,
        stream=flag(body, "stream"),
        with_usage=protocol.with_usage(body),
        with_raw=flag(body, "include_raw"),
        repeated={name: body[name] for name in protocol.repeated if body.get(name) is not None},
    )
    made = replace(made, constraint=made._constraint(made.prompt))  # noqa: SLF001
    made.parser(collect=False)  # what is wrong shows now, not when the answer has begun
    return made
