"""The tools of a request, and which of them the model is to call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deltaparse.partial import UsageError

__all__ = ["Tool", "offered"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that may be called, and the JSON Schema of its arguments, which are an object."""

    name: str
    schema: Mapping[str, Any]


def offered(
    tools: Sequence[Mapping[str, Any]] | None, tool_choice: str | Mapping[str, Any]
) -> list[Tool]:
    """Return the functions that a request lets the model call, none for "none".

    Args:
        tools: OpenAI tools, or bare function descriptions.
        tool_choice: "auto", "none", "required", or an OpenAI tool choice object.

    Raises:
        UsageError: a tool or the choice is none, or names what is not there.
    """
    if isinstance(tools, str | bytes | Mapping):
        raise UsageError(f"tools are a list of OpenAI tools, not {type(tools).__name__}")
    found: dict[str, Tool] = {}
    for at, tool in enumerate(tools or ()):
        made = _tool(tool, at)
        if made.name in found:
            raise UsageError(f"tool {made.name!r}: there are two of this name")
        found[made.name] = made
    if isinstance(tool_choice, Mapping):
        function = tool_choice.get("function", tool_choice)
        name = function.get("name") if isinstance(function, Mapping) else None
        if name not in found:
            raise UsageError(f"tool_choice names {name!r}, which is not one of the tools")
        return [found[name]]
    if tool_choice not in ("auto", "none", "required"):
        raise UsageError(
            f'tool_choice={tool_choice!r}: "auto", "none", "required" or a tool choice object'
        )
    if tool_choice == "required" and not found:
        raise UsageError('tool_choice="required", and there are no tools')
    return [] if tool_choice == "none" else list(found.values())


def _tool(tool: object, at: int) -> Tool:
    function = tool.get("function", tool) if isinstance(tool, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(name, str) or not name:
        raise UsageError(
            f'tools[{at}]: a tool is {{"type": "function", "function": {{"name": ...}}}}, '
            f"not {tool!r}"
        )
    return Tool(name, _arguments(name, function.get("parameters")))


def _arguments(name: str, schema: object) -> Mapping[str, Any]:
    """Return the schema of the arguments; without one, there are none."""
    if schema is None or schema == {}:
        return {"type": "object", "properties": {}}
    if not isinstance(schema, Mapping):
        raise UsageError(f"tool {name!r}: #: parameters are a JSON Schema, not {schema!r}")
    types = schema.get("type", "object")
    if types != "object" and not (isinstance(types, list) and "object" in types):
        raise UsageError(f"tool {name!r}: #/type: arguments are an object, not {types!r}")
    return {**schema, "type": "object"}
