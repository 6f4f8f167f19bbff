"""A request that was understood: all that is to be done for it, before anything is."""

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
"""A JSON value stands first, or behind one of these."""

LONGEST_NAME = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRequest:
    """What a client asks for, and with what prompt.

    named: the model that it names, None if it names none.
    strict: whether calls that are free to come are held to their schemas.
    with_usage, with_raw: whether the answer has what it took, and the output as it came.
    repeated: members of the request that the answer repeats.
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

        None where it has all the tokens that it may have. The constraint is that of the first
        request: `constraint_behind` returns the one for the rest of the turn.
        """
        prompt, sampling = self.prompt + output, generation.sampling
        if sampling.max_tokens is not None:
            if made >= sampling.max_tokens:
                return None
            sampling = replace(sampling, max_tokens=sampling.max_tokens - made)
        return replace(generation, prompt=self._without_bos(prompt), sampling=sampling)

    @property
    def constraining_member(self) -> str | None:
        """The member of the request by which the model is held to something."""
        return constraining_member(
            self.request, strict=self.strict, schema_member=self.schema_member
        )

    def portable(self) -> dict[str, Any]:
        """Return the fields that another process needs, which has the model and the upstream."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        del found["model"], found["upstream"]
        # The prompt has them.
        return found | {"request": replace(self.request, messages=[])}

    def constraint_behind(self, prompt: str) -> Constraint | None:
        """Return what the model is held to behind this prompt.

        Raises:
            Fault: it cannot be held to what was asked.
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
        """Return a prompt as it is sent: with one BOS token, where the upstream writes it too."""
        bos = self.model.template.bos_token if self.upstream.adds_bos else ""
        return prompt.removeprefix(bos)


def read_body(data: bytes, most: int | None = None) -> Mapping[str, Any]:
    """Read the JSON of a request; half a character in it becomes U+FFFD.

    Args:
        data: the body.
        most: how many values it may have, None for any number.

    Raises:
        Fault: it is none, or no object, or has too many values.
    """
    try:
        text = data.decode(json.detect_encoding(data), "surrogatepass")
        if most is not None and value_count(text, most) > most:
            raise Fault(f"a request has at most {most} JSON values", status=413)
        body = json.loads(text)
        if "\\ud" in text or "\\uD" in text:
            body = json.loads(replace_surrogates(json.dumps(body, ensure_ascii=False)))
    except (ValueError, RecursionError) as error:
        raise Fault("the body of the request is no JSON") from error
    if not isinstance(body, dict):
        raise Fault("the body of the request is no JSON object")
    return body


def value_count(text: str, enough: int) -> int:
    """Return about how many values a JSON text has, before any of them takes memory.

    Strings are looked into only where the marks in them could make it more than `enough`.
    """
    count = sum(map(text.count, MARKS))
    if count <= enough:
        return count
    text = text.replace("\\\\", "").replace('\\"', "")
    # A string is a value or the name of one.
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
    """Understand a request.

    Args:
        body: the request.
        protocol: how it is written.
        model: how the model writes.
        upstream: what takes the prompt.
        settings: limits.
        at: is called with the member that is worked on next, where that may take long.

    Raises:
        Fault: it is not what the protocol says, or asks for what cannot be done.
    """
    named = body.get("model")
    if named is not None and not isinstance(named, str):
        raise Fault(f"model is a name, not {named!r:.80}", param="model")
    if named is not None and len(named) > LONGEST_NAME:
        raise Fault(f"model is a name of at most {LONGEST_NAME} characters", param="model")
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
        raise Fault(f"n: its {sampling.n} prompts have over {most} characters", param="n")
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
        made = replace(made, constraint=made.constraint_behind(made.prompt))
    made.parser(collect=False)  # what is wrong shows now, not when the answer has begun
    return made
