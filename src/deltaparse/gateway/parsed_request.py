"""A parsed and validated request, with its rendered prompt."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from deltaparse.partial import replace_surrogates
from deltaparse.protocols import Request
from deltaparse.stream import Policies, StreamParser

from .constraint import constraining_member, constraint_of
from .faults import Fault, refusing
from .model import Model, Thinking
from .protocol import Protocol
from .sampling_parameters import Sampling, flag
from .settings import Settings
from .upstreams.upstream import Constraint, Generation, Traits, Upstream

__all__ = ["ParsedRequest", "asked", "read_body"]

MARKS = ",[{"
"""A JSON value is at the start of a text, or after one of these characters."""

LONGEST_NAME = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRequest:
    """A validated request of a client.

    named: the requested model, None if missing.
    strict: optional calls are constrained to their schemas.
    with_usage: the response includes the usage.
    with_raw: the response includes the raw output.
    repeated: members of the request that are repeated in the response.
    """

    model: Model
    upstream: Upstream | Traits
    named: str | None
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
        """The policies for malformed output. Calls after the first are dropped if not allowed."""
        return Policies(extra_calls="flag" if self.request.parallel_tool_calls else "drop")

    @property
    def budget(self) -> int | None:
        """The limit of reasoning tokens, None if the format cannot end reasoning."""
        budget = self.thinking.budget
        return budget if budget is not None and self.forced_end("") else None

    def forced_end(self, output: str) -> str:
        """Return the text that ends reasoning after the output so far."""
        return self.model.forced_end(output, self.prompt)

    def generation(self, name: str | None, index: int) -> Generation:
        """Return the generation request of a choice. Each choice has a different seed."""
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
        """Return the generation request for the rest of an output.

        The constraint is unchanged. `constraint_after` returns the one for the rest of the turn.

        Args:
            generation: the first generation request.
            output: the output so far.
            made: the number of tokens of the output.

        Returns:
            The generation request, None if the token limit is reached.
        """
        prompt, sampling = self.prompt + output, generation.sampling
        if sampling.max_tokens is not None:
            if made >= sampling.max_tokens:
                return None
            sampling = replace(sampling, max_tokens=sampling.max_tokens - made)
        return replace(generation, prompt=self._without_bos(prompt), sampling=sampling)

    @property
    def constraining_member(self) -> str | None:
        """The member of the request that requires a constraint, if any, otherwise None."""
        return constraining_member(
            self.request, strict=self.strict, schema_member=self.schema_member
        )

    def portable(self) -> dict[str, Any]:
        """Return all fields except the model and the upstream, for another process."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        del found["model"], found["upstream"]
        # The prompt contains the messages.
        return found | {"request": replace(self.request, messages=[])}

    def constraint_after(self, prompt: str) -> Constraint | None:
        """Return the constraint for the output after a prompt.

        Raises:
            Fault: the upstream does not support a suitable constraint.
        """
        return constraint_of(
            self.request,
            prompt,
            self.model,
            self.upstream,
            strict=self.strict,
            schema_member=self.schema_member,
        )

    def _without_bos(self, prompt: str) -> str:
        """Return the prompt for the upstream, without the BOS token if the upstream adds it."""
        bos = self.model.template.bos_token if self.upstream.adds_bos else ""
        return prompt.removeprefix(bos)


def read_body(data: bytes, most: int | None = None) -> Mapping[str, Any]:
    """Parse the JSON of a request. Unpaired surrogates are replaced by U+FFFD.

    Args:
        data: the body.
        most: the limit of JSON values, None for no limit.

    Raises:
        Fault: the body is not JSON, is not an object, or has too many values.
    """
    try:
        text = data.decode(json.detect_encoding(data), "surrogatepass")
        if most is not None and value_count(text, most) > most:
            raise Fault(f"the request exceeds the limit of {most} JSON values", status=413)
        body = json.loads(text)
        if "\\ud" in text or "\\uD" in text:
            body = json.loads(replace_surrogates(json.dumps(body, ensure_ascii=False)))
    except (ValueError, RecursionError) as error:
        raise Fault("the request body is not valid JSON") from error
    if not isinstance(body, dict):
        raise Fault("the request body must be a JSON object")
    return body


def value_count(text: str, enough: int) -> int:
    """Estimate the number of values in a JSON text, without allocating them.

    Strings are excluded only if their characters could make the count exceed `enough`.
    """
    count = sum(map(text.count, MARKS))
    if count <= enough:
        return count
    text = text.replace("\\\\", "").replace('\\"', "")
    # A string is a value or a member name.
    if text.count('"') > 4 * enough:
        return enough + 1
    bare = "".join(text.split('"')[::2])
    return sum(map(bare.count, MARKS))


def asked(
    body: Mapping[str, Any],
    protocol: Protocol,
    model: Model,
    upstream: Upstream | Traits,
    settings: Settings,
    at: Callable[[str], None] = lambda _: None,
) -> ParsedRequest:
    """Parse and validate a request.

    Args:
        body: the request.
        protocol: its protocol.
        model: the template and the format.
        upstream: the upstream, or its traits.
        settings: limits.
        at: a function that is called with the name of a member before its slow processing.

    Raises:
        Fault: the request is invalid or not supported.
    """
    named = body.get("model")
    if named is not None and not isinstance(named, str):
        raise Fault(f"model must be a string, not {named!r:.80}", param="model")
    if named is not None and len(named) > LONGEST_NAME:
        raise Fault(f"model must have at most {LONGEST_NAME} characters", param="model")
    at(protocol.messages)
    request = protocol.request(body)
    sampling = protocol.sampling(body, settings.max_choices)
    if sampling.max_tokens is None and settings.max_tokens is not None:
        sampling = replace(sampling, max_tokens=settings.max_tokens)
    thinking = protocol.thinking(body)
    continues = protocol.continues(body, request)
    prompt = replace_surrogates(model.prompt(request, thinking, continues=continues))
    if sampling.n * len(prompt) > settings.max_prompts:
        most = settings.max_prompts
        raise Fault(
            f"the prompts of n={sampling.n} choices exceed the limit of {most} characters",
            param="n",
        )
    made = ParsedRequest(
        model=model,
        upstream=upstream,
        named=named,
        request=request,
        sampling=sampling,
        thinking=thinking,
        prompt=prompt,
        constraint=None,
        strict=protocol.strict(body),
        schema_member=protocol.schema_member,
        stream=flag(body, "stream"),
        with_usage=protocol.with_usage(body),
        with_raw=flag(body, "include_raw"),
        repeated={name: body[name] for name in protocol.repeated if body.get(name) is not None},
    )
    member = made.constraining_member
    if member is not None:
        at(member)
        made = replace(made, constraint=made.constraint_after(made.prompt))
    made.parser(collect=False)  # reports errors before the response begins
    return made
