"""Constraints on a model: required calls, JSON of a schema, and calls of strict tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from deltaparse.grammar import Grammar, gbnf, structural_tag
from deltaparse.protocols import Request
from deltaparse.stream import StreamParser

from .faults import Fault, refusing
from .model import Model
from .upstreams.upstream import Constraint, Traits, Upstream

__all__ = ["constraining_member", "constraint_of"]

ANYTHING = {"type": "object", "properties": {}}
WANTED = {"tool_choice": "a call", "tools": "strict calls"}


def constraint_of(
    request: Request,
    prompt: str,
    model: Model,
    upstream: Upstream | Traits,
    *,
    strict: bool,
    schema_member: str,
) -> Constraint | None:
    """Return the constraint for a request, in the best way supported by the upstream.

    Args:
        request: the request.
        prompt: the rendered prompt.
        model: the template and the format.
        upstream: the upstream, or its traits.
        strict: constrain optional calls to the schemas of their functions.
        schema_member: the name of the request's member with the response schema, for errors.

    Returns:
        The constraint, None if the request needs none.

    Raises:
        Fault: the upstream does not support a suitable constraint. The text and `param` name the
            member.
    """
    member = constraining_member(request, strict=strict, schema_member=schema_member)
    if member is None:
        return None
    made = _Made(request, prompt, model, upstream, member)
    if member == "tools":
        return made.lazy()
    if not made.by_schema:
        return made.eager()
    schema = _calls_schema(request) if member == "tool_choice" else request.response_schema
    return made.of_schema(schema or {})


def constraining_member(request: Request, *, strict: bool, schema_member: str) -> str | None:
    """Return the member of a request that requires a constraint, None if there is none.

    The arguments are those of `constraint_of`.
    """
    if request.choice.mode == "required":
        return "tool_choice"
    if request.response_schema is not None:
        return schema_member
    return "tools" if strict and request.choice.mode == "auto" else None


@dataclass
class _Made:
    """Builds one constraint.

    member: the member of the request that requires the constraint.
    """

    request: Request
    prompt: str
    model: Model
    upstream: Upstream | Traits
    member: str
    options: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        request = self.request
        self.options = {
            "tool_choice": request.tool_choice if request.tools else "auto",
            "parallel_tool_calls": request.parallel_tool_calls,
            "response_schema": request.response_schema,
            "prompt": self.prompt,
        }

    @property
    def by_schema(self) -> bool:
        """True if the upstream supports schemas only."""
        return self.upstream.ways == {"schema"}

    def eager(self) -> Constraint | None:
        """Constrain the complete turn by a grammar."""
        if "grammar" not in self.upstream.ways:
            raise self._refused("does not support grammars")
        return self._grammar()

    def lazy(self) -> Constraint | None:
        """Constrain calls by a grammar, and leave the text around them free."""
        ways = self.upstream.ways
        if "triggers" in ways:
            return self._grammar()
        if "tag" in ways:
            with refusing(self.member):
                tag = structural_tag(self.model.fmt, self.request.tools, **self.options)
            return Constraint(tag=tag)
        if "grammar" in ways:
            return self._grammar(lazy=False)
        raise self._refused("does not support grammars")

    def of_schema(self, schema: Mapping[str, Any]) -> Constraint:
        """Constrain the complete output to JSON of a schema, without markers."""
        with refusing():
            parser = StreamParser(self.model.fmt, prompt=self.prompt)
        if parser.in_reasoning:
            raise self._refused("supports JSON only, but the prompt allows reasoning first")
        calls: Literal["format", "json"] = "json" if self.member == "tool_choice" else "format"
        return Constraint(schema=schema, calls=calls)

    def _grammar(self, **more: Any) -> Constraint | None:
        with refusing(self.member):
            made: Grammar = gbnf(self.model.fmt, self.request.tools, **self.options, **more)
        return Constraint(grammar=made) if made.text else None

    def _refused(self, why: str) -> Fault:
        kind = self.upstream.kind
        wanted = WANTED.get(self.member, "JSON")
        message = f"{self.member} requires {wanted}, but the upstream ({kind}) {why}"
        return Fault(message, param=self.member, code="unsupported_parameter")


def _calls_schema(request: Request) -> dict[str, Any]:
    """Return the schema of calls as plain JSON, in the shape read by a parser.

    For one named function the model writes its arguments only.
    """
    choice = request.choice
    schemas = {
        tool["function"]["name"]: tool["function"].get("parameters") or ANYTHING
        for tool in request.tools or ()
    }
    if choice.function is not None:
        return dict(schemas[choice.function])
    calls = [
        {
            "type": "object",
            "properties": {"name": {"const": name}, "arguments": schema},
            "required": ["name", "arguments"],
        }
        for name, schema in schemas.items()
        if not choice.allowed or name in choice.allowed
    ]
    one = calls[0] if len(calls) == 1 else {"anyOf": calls}
    if not request.parallel_tool_calls:
        return one
    return {"type": "array", "items": one, "minItems": 1}
