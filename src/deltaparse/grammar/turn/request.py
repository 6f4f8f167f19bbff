"""The tools of a request, and which of them the model is to call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deltaparse.partial import UsageError
from deltaparse.stream.tools import chosen_function, distinct, read_tools

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
        tools: OpenAI tools, or function descriptions.
        tool_choice: "auto", "none", "required", or an OpenAI tool choice object.

    Raises:
        UsageError: a tool or the choice is none, or names what is not there.
    """
    named = distinct(read_tools(() if tools is None else tools))
    found = {name: Tool(name, _arguments(name, schema)) for name, schema in named.items()}
    chosen = chosen_function(tool_choice, found)
    if chosen is not None:
        return [found[chosen]]
    if tool_choice == "required" and not found:
        raise UsageError('tool_choice="required", and there are no tools')
    return [] if tool_choice == "none" else list(found.values())


def _arguments(name: str, schema: object) -> Mapping[str, Any]:
    """The schema of a tool's arguments as that of an object; without a schema, there are none."""
    if not name:
        raise UsageError("a tool has no name: a model cannot call it")
    if schema is None or schema == {}:
        return {"type": "object", "properties": {}}
    if not isinstance(schema, Mapping):
        raise UsageError(f"tool {name!r}: #: parameters are a JSON Schema, not {schema!r}")
    types = schema.get("type", "object")
    if types != "object" and not (isinstance(types, list) and "object" in types):
        raise UsageError(f"tool {name!r}: #/type: arguments are an object, not {types!r}")
    return {**schema, "type": "object"}
