"""The tools of a request, and the choice among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from deltaparse.partial import UsageError
from deltaparse.partial.surrogates import is_whole
from deltaparse.stream.tools import Choice, ToolChoice, read_choice, read_tools

__all__ = ["Tool", "offered", "with_sorted_names"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the model may call, with the JSON Schema of its arguments object.

    `strict` is True if its schema is enforced. Otherwise its arguments may have any values.
    """

    name: str
    schema: Mapping[str, Any]
    strict: bool = True


def offered(
    tools: Sequence[Mapping[str, Any]] | None, tool_choice: ToolChoice
) -> tuple[list[Tool], Choice]:
    """Return the functions the model may call ([] with "none"), and the choice.

    Args:
        tools: as `Tools` reads them.
        tool_choice: as `read_choice` reads it.

    Raises:
        UsageError: a tool or the choice is invalid, or the choice names an unknown tool.
    """
    given = read_tools(() if tools is None else tools)
    schemas = given.schemas
    loose = {one["function"]["name"] for one in given if one["function"].get("strict") is False}
    found = [
        Tool(name, _loosened(name, schema), strict=False)
        if name in loose
        else Tool(name, _arguments(name, schema))
        for name, schema in schemas.items()
    ]
    for name in schemas:
        # In rules, half of a surrogate pair represents a special token.
        if not is_whole(name):
            raise UsageError(f"tool {name!r}: the name is not valid Unicode")
    choice = read_choice(tool_choice, schemas)
    if choice.allowed is not None:
        found = [tool for tool in found if tool.name in choice.allowed]
    if choice.mode == "required" and not found:
        raise UsageError('tool_choice="required" needs at least one tool')
    return [] if choice.mode == "none" else found, choice


NAMES_ELSEWHERE = frozenset(
    [
        "patternProperties",
        "$ref",
        "$dynamicRef",
        "allOf",
        "anyOf",
        "oneOf",
        "if",
        "dependentSchemas",
    ]
)
"""Keywords of a schema that may permit arguments outside its `properties`."""

OTHERS = ("additionalProperties", "unevaluatedProperties")
"""Keywords for all arguments without a name in the schema."""


def _loosened(name: str, schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the schema of a tool that is not strict: arguments of these names, with any values.

    It permits everything the schema permits. If the schema does not name all arguments, others are
    permitted too.
    """
    arguments = _arguments(name, schema)
    unnamed = "properties" not in arguments or not NAMES_ELSEWHERE.isdisjoint(arguments)
    properties = dict.fromkeys(arguments.get("properties", ()), True)
    others = (arguments.get(keyword, False) for keyword in OTHERS)
    is_open = unnamed or any(other is not False for other in others)
    return {"type": "object", "properties": properties, "additionalProperties": is_open}


def _arguments(name: str, schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return a tool's schema as that of an object. Without a schema, it has no properties."""
    if schema is None or schema == {}:
        return {"type": "object", "properties": {}}
    types = schema.get("type", "object")
    if types != "object" and not (isinstance(types, list) and "object" in types):
        raise UsageError(f"tool {name!r}: #/type: must be 'object', not {types!r}")
    return {**schema, "type": "object"}


def with_sorted_names(tool: Tool) -> Tool:
    """Return the tool with its object members sorted as templates sort them."""
    return replace(tool, schema=_sorted(tool.schema))


def _sorted(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_sorted(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    made = {key: _sorted(part) for key, part in schema.items()}
    properties = made.get("properties")
    if isinstance(properties, dict):
        made["properties"] = {key: properties[key] for key in sorted(properties, key=_as_jinja)}
    return made


def _as_jinja(key: str) -> tuple[str, str]:
    return key.lower(), key
