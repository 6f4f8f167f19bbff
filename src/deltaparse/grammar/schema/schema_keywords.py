"""JSON Schema keywords by type, and the subset of them that rules express."""

from __future__ import annotations

from typing import Any

from .schema_document import TYPES

__all__ = ["ALL_KEYWORDS", "BY_TYPE", "OTHER_KEYWORDS", "types_of", "unknown"]

_KEYWORDS = {
    "object": "properties required additionalProperties minProperties maxProperties"
    " patternProperties propertyNames unevaluatedProperties dependentRequired dependentSchemas"
    " dependencies",
    "array": "items prefixItems minItems maxItems uniqueItems contains minContains maxContains"
    " unevaluatedItems",
    "string": "minLength maxLength pattern format",
    "number": "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
}
BY_TYPE = {name: frozenset(text.split()) for name, text in _KEYWORDS.items()}
BY_TYPE["integer"] = BY_TYPE["number"]

# Keywords not supported by the containers and scalars.
_UNKNOWN_TO = {
    "object": BY_TYPE["object"]
    & {"unevaluatedProperties", "dependentRequired", "dependentSchemas", "dependencies"},
    "array": BY_TYPE["array"] & {"contains", "minContains", "maxContains", "unevaluatedItems"},
}
ALL_KEYWORDS = frozenset().union(*BY_TYPE.values())
OTHER_KEYWORDS = frozenset(
    {"type", "enum", "then", "else"}
)  # `then` and `else` belong to `if`, which is reported


def unknown(type_: str) -> frozenset[str]:
    """Return the keywords of a type that the builders of its values do not read."""
    return _UNKNOWN_TO.get(type_, frozenset())


def types_of(schema: dict[str, Any], *, standard: bool) -> list[str]:
    """Return the types of a schema: its `type`, the types of its keywords, or all.

    With `standard`, keywords of one type do not constrain values of other types, so they do not
    select a type.
    """
    types = schema.get("type") or [
        name
        for name in TYPES
        if not standard and name != "integer" and schema.keys() & BY_TYPE.get(name, set())
    ]
    types = list(dict.fromkeys(types or TYPES))
    return [name for name in types if name != "integer" or "number" not in types]
