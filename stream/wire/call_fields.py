"""The keys of a JSON call and their meanings, in one format and in general."""

from __future__ import annotations

from enum import Enum, auto

from .format import ToolsFormat

__all__ = [
    "IN_CONSTRAINED",
    "KNOWN_FIELDS",
    "MEANINGLESS_VALUES",
    "Field",
    "own_fields",
    "own_keys",
]


class Field(Enum):
    """The meaning of a key in a JSON call. `FUNCTION` is an object with name and arguments."""

    NAME = auto()
    ARGUMENTS = auto()
    ID = auto()
    FUNCTION = auto()
    TYPE = auto()


KNOWN_FIELDS: dict[str, Field] = {
    "name": Field.NAME,
    "arguments": Field.ARGUMENTS,
    "parameters": Field.ARGUMENTS,
    "args": Field.ARGUMENTS,
    "input": Field.ARGUMENTS,
    "id": Field.ID,
    "function": Field.FUNCTION,
}
"""Keys accepted in all formats, because many models know them from other formats."""


MEANINGLESS_VALUES = {"type": {'"function"', "null"}}
"""Values of meaningless members, written by templates that render complete calls."""

IN_CONSTRAINED: dict[Field, set[str]] = {
    Field.NAME: {"name"},
    Field.ARGUMENTS: {"arguments", "parameters"},
    Field.FUNCTION: set(),
}
"""The keys of a call when a server constrains the model to JSON."""


def own_fields(tools: ToolsFormat) -> dict[str, Field]:
    """Return the meanings of the keys of a JSON call in a format."""
    # Later entries win: a format may use one key twice, and the name matters most.
    own = {
        "type": Field.TYPE,
        tools.function_field: Field.FUNCTION,
        tools.id_field: Field.ID,
        tools.generated_id_field: Field.ID,
        tools.arguments_field: Field.ARGUMENTS,
        tools.name_field: Field.NAME,
    }
    # An empty key represents a missing field.
    return {key: field for key, field in own.items() if key}


def own_keys(tools: ToolsFormat) -> dict[Field, set[str]]:
    """Return a format's own keys by their field, empty if the format does not specify them."""
    return {
        Field.NAME: {tools.name_field} - {""},
        Field.ARGUMENTS: {tools.arguments_field} - {""},
        # A flat layout has "" here: name and arguments must then be outside an inner object.
        Field.FUNCTION: {tools.function_field} if tools.name_field else set(),
    }
