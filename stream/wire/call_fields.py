"""What the keys of a call in JSON mean, to a format and to all models."""

from __future__ import annotations

from enum import Enum, auto

from .format import ToolsFormat

__all__ = ["IN_CONSTRAINED", "KNOWN_FIELDS", "SAYS_NOTHING", "Field", "own_fields", "own_keys"]


class Field(Enum):
    """What a key of a JSON call holds; `FUNCTION`: an object with name and arguments."""

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
"""What keys mean that all models know, also where the format has others."""


SAYS_NOTHING = {"type": {'"function"', "null"}}
"""What members have beside name and arguments in templates that write all of a call."""

IN_CONSTRAINED: dict[Field, set[str]] = {
    Field.NAME: {"name"},
    Field.ARGUMENTS: {"arguments", "parameters"},
    Field.FUNCTION: set(),
}
"""The keys of a call that a server constrained the model to write."""


def own_fields(tools: ToolsFormat) -> dict[str, Field]:
    """What the keys of a JSON call mean in a format."""
    own = {
        "type": Field.TYPE,
        tools.function_field: Field.FUNCTION,
        tools.id_field: Field.ID,
        tools.generated_id_field: Field.ID,
        tools.arguments_field: Field.ARGUMENTS,
        tools.name_field: Field.NAME,
    }
    return {key: field for key, field in own.items() if key}


def own_keys(tools: ToolsFormat) -> dict[Field, set[str]]:
    """The keys under which a format has what a call holds; none where it says nothing of them."""
    return {
        Field.NAME: {tools.name_field} - {""},
        Field.ARGUMENTS: {tools.arguments_field} - {""},
        Field.FUNCTION: {tools.function_field} if tools.name_field else set(),
    }
