"""The tools of a request, and which of them the model is to call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deltaparse.partial import UsageError
from deltaparse.stream.tools import Choice, ToolChoice, read_choice, read_tools

__all__ = ["Tool", "offered"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that may be called, and the JSON Schema of its arguments, which are an object."""

    name: str
    schema: Mapping[str, Any]


def offered(
    tools: Sequence[Mapping[str, Any]] | None, tool_choice: ToolChoice
) -> tuple[list[Tool], Choice]:
    """Return the functions that a request lets the model call, none for "none", and the choice.

    Args:
        tools: as `Tools` reads them.
        tool_choice: as `read_choice` reads it.

    Raises:
        UsageError: a tool or the choice is none, or names what is not there.
    """
    schemas = read_tools(() if tools is None else tools).schemas
    found = [Tool(name, _arguments(name, schema)) for name, schema in schemas.items()]
    choice = read_choice(tool_choice, schemas)
    if choice.allowed is not None:
        found = [tool for tool in found if tool.name in choice.allowed]
    if choice.mode == "required" and not found:
        raise UsageError('tool_choice="required", and there are no tools')
    return [] if choice.mode == "none" else found, choice


def _arguments(name: str, schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The schema of a tool's arguments as that of an object; without a schema, there are none."""
    if schema is None or schema == {}:
        return {"type": "object", "properties": {}}
    types = schema.get("type", "object")
    if types != "object" and not (isinstance(types, list) and "object" in types):
        raise UsageError(f"tool {name!r}: #/type: arguments are an object, not {types!r}")
    return {**schema, "type": "object"}
