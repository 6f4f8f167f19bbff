"""The types of a tool's arguments, read from its JSON Schema.

The keywords `type`, `enum`, `const` and `nullable` are read, also through `$ref`, `allOf`, `anyOf`
and `oneOf`. `oneOf` is treated like `anyOf`. `docs/values.md` shows the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

__all__ = [
    "ALL_TYPES",
    "ANY",
    "COMBINING",
    "INTEGER",
    "Kinds",
    "argument_names",
    "argument_types",
    "fits",
    "item_types",
    "pointed",
    "schema_of_argument",
    "schema_of_items",
    "type_of",
    "types_named",
    "words_for",
]

# Without "integer": JSON text does not distinguish integers from other numbers.
ALL_TYPES = frozenset({"string", "number", "boolean", "null", "array", "object"})
DEEPEST = 64
"""The maximum depth of nested schemas, or of references to references."""

MAX_STEPS = 100_000
"""The maximum number of schemas, and of values in them, combined for one argument."""

Kinds: TypeAlias = Mapping[str, frozenset[object] | None]
"""The possible JSON types of a value, each with its allowed values, or None for all values.
Integers are numbers. The member `INTEGER` allows all integers.
"""

# A unique object, because any JSON value may be an allowed value.
INTEGER: Final = object()
# Sorted, so that results do not depend on the hash seed.
ANY: Final[Kinds] = dict.fromkeys(sorted(ALL_TYPES))
# "integer" is a type of JSON Schema, but not of JSON text.
NAMED: Final[Mapping[str, Kinds]] = {
    **{kind: {kind: None} for kind in ALL_TYPES},
    "integer": {"number": frozenset({INTEGER})},
}
OTHER_WORDS = {
    **dict.fromkeys(("int", "float", "double"), "number"),
    **dict.fromkeys(("str", "text"), "string"),
    **dict.fromkeys(("list", "tuple"), "array"),
    **dict.fromkeys(("dict", "map", "json"), "object"),
    "bool": "boolean",
    "none": "null",
}
"""Words for types outside JSON Schema, used by models and formats."""
COMBINING = ("$ref", "allOf", "anyOf", "oneOf")
"""Keywords that combine a schema with other schemas."""
# With one of these keywords, `type` alone does not decide.
NEXT_TO_TYPE = frozenset({*COMBINING, "enum", "const", "nullable"})
# Schemas built in Python may contain tuples.
LIST = (list, tuple)


def argument_types(schema: object, key: str) -> Kinds:
    """Return the types and values that an argument may have.

    All types are allowed if the schema does not restrict the argument, is invalid, allows no value,
    or combines more than `MAX_STEPS` schemas and values. Invalid keywords are ignored.

    Args:
        schema: the schema of all arguments: a tool's `parameters`.
        key: the name of the argument.
    """
    # Fast path for nearly all arguments: a plain schema with a type only. The general path costs
    # many times as much.
    if type(schema) is dict and schema.keys().isdisjoint(COMBINING):
        properties = schema.get("properties")
        said = properties.get(key) if type(properties) is dict else None
        if type(said) is dict and said.keys().isdisjoint(NEXT_TO_TYPE):
            return _named(said["type"]) if "type" in said else ANY
    types = _Combined(schema, _said, of_types=True)

    def named(part: object) -> Kinds | None:
        if not isinstance(part, Mapping):
            return None
        properties = part.get("properties")
        if isinstance(properties, Mapping) and key in properties:
            return types.of(properties[key])
        # Patterns are not run. They belong to the operator, and argument names to the model, so a
        # match could take very long.
        others = None if "patternProperties" in part else part.get("additionalProperties")
        return types.of(others) if isinstance(others, Mapping) else None

    try:
        # A schema without allowed values cannot choose between types.
        return _Combined(schema, named).of(schema) or ANY
    except _TooMuch:
        return ANY


def item_types(schema: object) -> Kinds:
    """Return the types and values that the items of a list may have.

    Args:
        schema: the schema of the list.
    """
    # An unknown argument takes this path, so lists need no code of their own.
    return argument_types({"additionalProperties": schema_of_items(schema)}, "")


def schema_of_argument(schema: object, key: str) -> object:
    """Return the schema of an object's member, None if the object's schema has none for it.

    Args:
        schema: the schema of the object.
        key: the name of the member.
    """
    if not isinstance(schema, Mapping):
        return None
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and key in properties:
        return properties[key]
    return schema.get("additionalProperties")


def schema_of_items(schema: object) -> object:
    """Return the schema of a list's items, None if the list's schema has none.

    Args:
        schema: the schema of the list.
    """
    return schema.get("items") if isinstance(schema, Mapping) else None


def types_named(word: str) -> Kinds:
    """Return the types with this name in a format, empty if the word is not a type."""
    kind = word.strip().lower()
    return NAMED.get(OTHER_WORDS.get(kind, kind), {})


def words_for(kind: str) -> list[str]:
    """Return the words for a type in formats, the word of JSON Schema first."""
    # A dict keeps the order and removes duplicates.
    words = dict.fromkeys([kind, *NAMED, *OTHER_WORDS])
    return [word for word in words if kind in types_named(word)]


def argument_names(schema: object) -> frozenset[str] | None:
    """Return the argument names in a tool's `parameters`, None if the schema names no arguments."""
    names: set[str] = set()
    known = False
    seen: set[int] = set()
    todo = [schema]
    while todo:
        part = todo.pop()
        # A chain of references may lead to one schema in exponentially many ways, so each schema is
        # visited once.
        if not isinstance(part, Mapping) or id(part) in seen:
            continue
        seen.add(id(part))
        properties = part.get("properties")
        if isinstance(properties, Mapping):
            # An empty `properties` means that the tool has no arguments, unlike a missing one.
            known = True
            names.update(map(str, properties))
        todo += chain.from_iterable(_conjuncts(part, schema))
    return frozenset(names) if known else None


def type_of(value: object) -> str:
    """Return the JSON type of a Python value. An integer is a number."""
    if value is None:
        return "null"
    # Before numbers, because bool is a subclass of int.
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"


def fits(value: object, allowed: frozenset[object] | None) -> bool:
    """Return whether a value is allowed for its type.

    Args:
        value: the value.
        allowed: the allowed values, None for all.
    """
    if allowed is None or value in allowed:
        return True
    # In JSON Schema, 1.0 is an integer too.
    is_integer = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return is_integer and INTEGER in allowed


def pointed(document: object, reference: str) -> Any:
    """Return the part of a document at a local reference like "#/$defs/a".

    Args:
        document: the document.
        reference: the JSON pointer, with a leading "#".

    Raises:
        LookupError: the reference is not local, or the part does not exist.
    """
    if reference != "#" and not reference.startswith("#/"):
        raise LookupError(reference)
    pointer = reference[2:]
    try:
        return _walked(document, unquote(pointer).split("/") if reference != "#" else [])
    except LookupError:
        # By the standard, a "/" spelled as %2F also separates names. But it may be meant as part of
        # a name.
        return _walked(document, list(map(unquote, pointer.split("/"))))


def _walked(place: Any, names: Iterable[str]) -> Any:
    for name in names:
        # The order matters: "~01" is the spelling of "~1".
        key = name.replace("~1", "/").replace("~0", "~")
        if isinstance(place, Mapping):
            place = place[key]
        # `int` also accepts digits of other scripts, signs and underscores.
        elif isinstance(place, LIST) and key.isascii() and key.isdecimal():
            place = place[int(key)]
        else:
            raise LookupError(key)
    return place


class _Combined:
    """Reader of a schema together with the schemas that it combines.

    Each schema is read once. A schema that leads back to itself adds no restriction.

    Args:
        root: the document, for references.
        own: a function from a schema to its own restriction, None if it has no restriction.
        of_types: True if `own` returns the types of values. Then `nullable` adds null, and a schema
            without restrictions allows all types.
    """

    __slots__ = ("_depth", "_known", "_of_types", "_own", "_root", "_steps")

    def __init__(
        self, root: object, own: Callable[[object], Kinds | None], *, of_types: bool = False
    ) -> None:
        self._root = root
        self._own = own
        self._of_types = of_types
        # By id, because schemas are mutable and not hashable. The root keeps them alive.
        self._known: dict[int, Kinds | None] = {}
        self._depth = 0
        self._steps = 0

    def of(self, schema: object) -> Kinds | None:
        """Return the restriction of a schema, None if it has no restriction."""
        if not isinstance(schema, Mapping):
            return self._own(schema)
        if id(schema) in self._known or self._depth > DEEPEST:
            return self._known.get(id(schema))
        # An entry before the end of the reading ends circular references.
        self._known[id(schema)] = None
        self._depth += 1
        found = self._own(schema)
        leads_back = False
        for options in _conjuncts(schema, self._root):
            parts = [self.of(option) for option in options]
            said = _either(parts)
            # A circular reference must not be read as "all types are allowed".
            leads_back = leads_back or said is None
            self._steps += len(parts) + sum(map(_size, (found, *parts)))
            # The schema may be hostile.
            if self._steps > MAX_STEPS:
                raise _TooMuch
            found = _both(found, said)
        if self._of_types and found is None and not leads_back:
            found = ANY
        if self._of_types and found is not None and schema.get("nullable") is True:
            # If the schema names the string "null", the text `null` means that string.
            named = "null" in (found.get("string") or ())
            found = {**found, "null": frozenset() if named else None}
        self._depth -= 1
        self._known[id(schema)] = found
        return found


class _TooMuch(Exception):
    """Raised if a schema combines too much to be read."""


def _size(kinds: Kinds | None) -> int:
    """Return the number of listed values."""
    return sum(len(allowed or ()) for allowed in (kinds or {}).values())


def _conjuncts(schema: Mapping[str, Any], root: object) -> Iterator[list[object]]:
    """Yield lists of schemas. A value must match at least one schema of each list."""
    if isinstance(schema.get("$ref"), str):
        # A broken reference is ignored, as other invalid keywords are.
        with suppress(LookupError):
            yield [pointed(root, schema["$ref"])]
    if isinstance(schema.get("allOf"), LIST):
        yield from ([part] for part in schema["allOf"])
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), LIST):
            yield list(schema[key])


def _said(schema: object) -> Kinds | None:
    """Return the types in a schema's own keywords, None if it has no restriction."""
    if not isinstance(schema, Mapping):
        # `false` is a schema that allows no value.
        return {} if schema is False else ANY
    found = _named(schema["type"]) if "type" in schema else None
    if isinstance(schema.get("enum"), LIST) and schema["enum"]:
        found = _both(found, _listed(schema["enum"]))
    return _both(found, _listed([schema["const"]])) if "const" in schema else found


def _named(words: object) -> Kinds:
    """Return the types with these names, all types if a name is unknown."""
    if isinstance(words, str):
        return NAMED.get(words, ANY)
    names = words if isinstance(words, LIST) else [words]
    # An unknown name may be a mistake, so it must not forbid values.
    kinds = [NAMED.get(name) if isinstance(name, str) else None for name in names]
    return ANY if None in kinds else _either(kinds) or ANY


def _listed(values: Iterable[object]) -> Kinds:
    """Return the types of these values. Lists and objects are not compared, only their types."""
    found: dict[str, set[object]] = {}
    for value in values:
        kind = type_of(value)
        known = found.setdefault(kind, set())
        # Lists and objects are not hashable.
        if kind not in ("array", "object"):
            known.add(value)
    return {kind: frozenset(known) or None for kind, known in found.items()}


def _either(options: Iterable[Kinds | None]) -> Kinds | None:
    """Return the types and values allowed by any option. Unrestricted options are ignored."""
    said = [option for option in options if option is not None]
    # The most frequent case: the option is returned as it is.
    if len(said) < 2:
        return said[0] if said else None
    found: dict[str, set[object] | None] = {}
    for option in said:
        for kind, allowed in option.items():
            known = found.setdefault(kind, set())
            if known is None or allowed is None:
                found[kind] = None
            else:
                known |= allowed
    return {kind: None if known is None else frozenset(known) for kind, known in found.items()}


def _both(one: Kinds | None, other: Kinds | None) -> Kinds | None:
    """Return the types and values allowed by both. A missing restriction is ignored."""
    if one is None or other is None:
        return other if one is None else one
    found: dict[str, frozenset[object] | None] = {}
    for kind in one:
        if kind not in other:
            continue
        mine, yours = one[kind], other[kind]
        if mine is None or yours is None:
            found[kind] = yours if mine is None else mine
            continue
        # In both directions, because `INTEGER` on one side matches integers on the other.
        shared = {value for value in mine if fits(value, yours)}
        shared |= {value for value in yours if fits(value, mine)}
        if shared:
            found[kind] = frozenset(shared)
    return found
