"""What a tool's JSON Schema says of the type of an argument."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = [
    "ALL_TYPES",
    "DEEPEST",
    "Typed",
    "argument_names",
    "argument_types",
    "type_of",
    "types_named",
]

ALL_TYPES = frozenset({"string", "number", "boolean", "null", "array", "object"})
DEEPEST = 32
OTHER_WORDS = {
    **dict.fromkeys(("integer", "int", "float", "double"), "number"),
    **dict.fromkeys(("str", "text"), "string"),
    **dict.fromkeys(("list", "tuple"), "array"),
    **dict.fromkeys(("dict", "map", "json"), "object"),
    "bool": "boolean",
    "none": "null",
}


class Typed(NamedTuple):
    """The types that a value may have, and the schema that says it, for what is in the value."""

    types: frozenset[str]
    schema: object = None

    @classmethod
    def of(cls, schema: object, key: str, types: frozenset[str]) -> Typed:
        """What is known of the argument `key`; `types` are those that its marker says, if any."""
        part = None
        if isinstance(schema, Mapping):
            part = schema.get("additionalProperties")
            properties = schema.get("properties")
            if isinstance(properties, Mapping) and key in properties:
                part = properties[key]
        return cls(types or argument_types(schema, key), part)

    def property(self, key: str, types: frozenset[str]) -> Typed:
        """The same of a member of the object that the value is."""
        return Typed.of(self.schema, key, types)

    def item(self, types: frozenset[str]) -> Typed:
        """The same of an item of the list that the value is."""
        part = self.schema.get("items") if isinstance(self.schema, Mapping) else None
        root = part if isinstance(part, Mapping) else {}
        return Typed(types or _types(part, root, 0), part)


def argument_types(schema: object, key: str) -> frozenset[str]:
    """The JSON types that the argument `key` may have, an integer being a number.

    `schema` is that of the arguments: a tool's `parameters`. All types where it does not say,
    or is none; what no JSON Schema allows is taken for not said.
    """
    if not isinstance(schema, Mapping):
        return ALL_TYPES
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and key in properties:
        return _types(properties[key], schema, 0)
    return _types(schema.get("additionalProperties"), schema, 0)


def argument_names(schema: object) -> frozenset[str] | None:
    """The names of the arguments that a tool's `parameters` have, None where they have none."""
    names: set[str] = set()
    known = isinstance(schema, Mapping) and _add_names(schema, schema, 0, names)
    return frozenset(names) if known else None


def _add_names(schema: object, root: Mapping[str, Any], depth: int, names: set[str]) -> bool:
    """Add the names of the properties of a schema and its parts; return whether it has some."""
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return False
    properties = schema.get("properties")
    known = isinstance(properties, Mapping)
    if isinstance(properties, Mapping):
        names.update(map(str, properties))
    for word in ("anyOf", "oneOf", "allOf"):
        for part in schema[word] if isinstance(schema.get(word), list) else ():
            known = _add_names(part, root, depth + 1, names) or known
    if isinstance(schema.get("$ref"), str):
        known = _add_names(_referred(schema["$ref"], root), root, depth + 1, names) or known
    return known


def types_named(word: str) -> frozenset[str]:
    """The types that one word means, as formats write it; all types where it is none."""
    kind = OTHER_WORDS.get(word.strip().lower(), word.strip().lower())
    return frozenset({kind}) if kind in ALL_TYPES else ALL_TYPES


def type_of(value: object) -> str:
    """The JSON type of a Python value, an integer being a number."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"


def _types(schema: object, root: Mapping[str, Any], depth: int) -> frozenset[str]:
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return ALL_TYPES
    types = ALL_TYPES
    if "type" in schema:
        named = schema["type"]
        words = {named} if isinstance(named, str) else set(map(str, named or ()))
        known = {"number" if word == "integer" else word for word in words} & ALL_TYPES
        types = frozenset(known) or ALL_TYPES
        if schema.get("nullable") is True:
            types |= {"null"}
    if isinstance(schema.get("enum"), list):
        types &= frozenset(map(type_of, schema["enum"])) or ALL_TYPES
    if "const" in schema:
        types &= {type_of(schema["const"])}
    for either in ("anyOf", "oneOf"):
        if isinstance(schema.get(either), list) and schema[either]:
            types &= frozenset().union(*(_types(part, root, depth + 1) for part in schema[either]))
    if isinstance(schema.get("allOf"), list):
        for part in schema["allOf"]:
            types &= _types(part, root, depth + 1)
    if isinstance(schema.get("$ref"), str):
        types &= _types(_referred(schema["$ref"], root), root, depth + 1)
    return types or ALL_TYPES


def _referred(reference: str, root: Mapping[str, Any]) -> object:
    """What a reference within the same schema means; None for any other."""
    place: object = root
    for step in reference.removeprefix("#").split("/")[1:] if reference.startswith("#") else [""]:
        name = step.replace("~1", "/").replace("~0", "~")
        place = place.get(name) if isinstance(place, Mapping) else None
    return place
