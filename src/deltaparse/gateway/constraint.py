"""What a model is held to: calls that are required, JSON of a schema, calls of strict tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from deltaparse.grammar import Grammar, gbnf, structural_tag
from deltaparse.protocols import Request
from deltaparse.stream import StreamParser

from .faults import Fault, refusing
from .model import Model
from .upstreams.upstream import Constraint, Upstream

__all__ = ["constraint_of"]

ANYTHING = {"type": "object", "properties": {}}


def constraint_of(
    request: Request,
    prompt: str,
    model: Model,
    upstream: Upstream,
    *,
    strict: bool,
    schema_member: str,
) -> Constraint | None:
    """Return what a model is to be held to, in the best of the ways that its upstream has.

    Args:
        request: what is asked.
        prompt: the rendered prompt.
        model: how the model writes.
        upstream: what takes the constraint.
        strict: whether calls that are free to come are held to the schemas of their functions.
        schema_member: what the request calls the schema of its answer, for refusals.

    Raises:
        Fault: the upstream has no way that will do; the text and `param` name the member.
    """
    if request.choice.mode == "required":
        made = _Made(request, prompt, model, upstream, "tool_choice", "a call")
        return made.of_schema(_calls_schema(request)) if made.by_schema else made.eager()
    if request.response_schema is not None:
        made = _Made(request, prompt, model, upstream, schema_member, "JSON")
        return made.of_schema(request.response_schema) if made.by_schema else made.eager()
    if strict and request.choice.mode == "auto":
        return _Made(request, prompt, model, upstream, "tools", "strict calls").lazy()
    return None


@dataclass
class _Made:
    """Makes one constraint.

    member: which member of the request asks for it; wanted: what for, in words.
    """

    request: Request
    prompt: str
    model: Model
    upstream: Upstream
    member: str
    wanted: str
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
        """Whether the upstream takes schemas and nothing better."""
        return self.upstream.ways == {"schema"}

    def eager(self) -> Constraint | None:
        """Hold the whole turn to a grammar."""
        if "grammar" not in self.upstream.ways:
            raise self._refused("takes no grammar")
        return self._grammar()

    def lazy(self) -> Constraint | None:
        """Hold calls to a grammar, and leave what stands round them free."""
        ways = self.upstream.ways
        if "triggers" in ways:
            return self._grammar()
        if "tag" in ways:
            with refusing(self.member):
                tag = structural_tag(self.model.fmt, self.request.tools, **self.options)
            return Constraint(tag=tag)
        if "grammar" in ways:
            return self._grammar(lazy=False)
        raise self._refused("takes no grammar")

    def of_schema(self, schema: Mapping[str, Any]) -> Constraint:
        """Hold the whole output to JSON of a schema, which stands alone."""
        with refusing():
            parser = StreamParser(self.model.fmt, prompt=self.prompt)
        if parser.in_reasoning:
            raise self._refused("holds a model to JSON only, and the prompt lets it reason first")
        calls: Literal["format", "json"] = "json" if self.member == "tool_choice" else "format"
        return Constraint(schema=schema, calls=calls)

    def _grammar(self, **more: Any) -> Constraint | None:
        with refusing(self.member):
            made: Grammar = gbnf(self.model.fmt, self.request.tools, **self.options, **more)
        return Constraint(grammar=made) if made.text else None

    def _refused(self, why: str) -> Fault:
        kind = self.upstream.kind
        message = f"{self.member} asks for {self.wanted}, and the upstream ({kind}) {why}"
        return Fault(message, param=self.member, code="unsupported_parameter")


def _calls_schema(request: Request) -> dict[str, Any]:
    """Return the schema of calls as JSON that stands alone, as a parser reads it.

    Where one function is named, its arguments alone are all that is to be written.
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
