"""What a tool's JSON Schema says of the type of an argument.

What counts is `type`, `enum`, `const` and `nullable`, through `$ref`, `allOf`, `anyOf` and `oneOf`,
which are read like `anyOf`. `docs/values.md` shows what comes of each.
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

ALL_TYPES = frozenset({"string", "number", "boolean", "null", "array", "object"})
DEEPEST = 64
"""Schemas within each other, or references to references, that are followed."""

MAX_STEPS = 100_000
"""Schemas, and values that they name, that are combined to find the types of one argument."""

Kinds: TypeAlias = Mapping[str, frozenset[object] | None]
"""The JSON types that a value may have, an integer being a number; for each, the values of it that
are allowed, None for all. All integers are the member `INTEGER`."""

INTEGER: Final = object()
ANY: Final[Kinds] = dict.fromkeys(sorted(ALL_TYPES))
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
"""Words for types that are none of JSON Schema's."""
COMBINING = ("$ref", "allOf", "anyOf", "oneOf")
"""Keywords that bring in what other schemas say."""
BESIDE_TYPE = frozenset({*COMBINING, "enum", "const", "nullable"})
LIST = (list, tuple)


def argument_types(schema: object, key: str) -> Kinds:
    """What the argument `key` may be.

    `schema` is that of the arguments: a tool's `parameters`. Anything where it does not say,
    allows nothing, is none, or combines more than `MAX_STEPS` schemas and values; what no JSON
    Schema allows is taken for not said.
    """
    # As nearly all arguments are described, read at a fraction of the cost.
    if type(schema) is dict and schema.keys().isdisjoint(COMBINING):
        properties = schema.get("properties")
        said = properties.get(key) if type(properties) is dict else None
        if type(said) is dict and said.keys().isdisjoint(BESIDE_TYPE):
            return _named(said["type"]) if "type" in said else ANY
    types = _Combined(schema, _said, of_types=True)

    def named(part: object) -> Kinds | None:
        if not isinstance(part, Mapping):
            return None
        properties = part.get("properties")
        if isinstance(properties, Mapping) and key in properties:
            return types.of(properties[key])
        # Patterns are the operator's, and names the model's: none is run on the other.
        others = None if "patternProperties" in part else part.get("additionalProperties")
        return types.of(others) if isinstance(others, Mapping) else None

    try:
        return _Combined(schema, named).of(schema) or ANY
    except _TooMuch:
        return ANY


def item_types(schema: object) -> Kinds:
    """What the items of a list may be, of which `schema` is the schema."""
    return argument_types({"additionalProperties": schema_of_items(schema)}, "")


def schema_of_argument(schema: object, key: str) -> object:
    """The schema of the member `key` of an object; None where its own schema has none for it."""
    if not isinstance(schema, Mapping):
        return None
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and key in properties:
        return properties[key]
    return schema.get("additionalProperties")


def schema_of_items(schema: object) -> object:
    """The schema of the items of a list; None where its own schema has none for them."""
    return schema.get("items") if isinstance(schema, Mapping) else None


def types_named(word: str) -> Kinds:
    """The types that one word means, as formats write it; none where it is no type."""
    kind = word.strip().lower()
    return NAMED.get(OTHER_WORDS.get(kind, kind), {})


def words_for(kind: str) -> list[str]:
    """The words for one type, as formats write it: JSON Schema's first."""
    words = dict.fromkeys([kind, *NAMED, *OTHER_WORDS])
    return [word for word in words if kind in types_named(word)]


def argument_names(schema: object) -> frozenset[str] | None:
    """The names of the arguments that a tool's `parameters` have, None where they have none."""
    names: set[str] = set()
    known = False
    seen: set[int] = set()
    todo = [schema]
    while todo:
        part = todo.pop()
        # Each once: a chain of references may lead to the same schema in any number of ways.
        if not isinstance(part, Mapping) or id(part) in seen:
            continue
        seen.add(id(part))
        properties = part.get("properties")
        if isinstance(properties, Mapping):
            known = True
            names.update(map(str, properties))
        todo += chain.from_iterable(_conjuncts(part, schema))
    return frozenset(names) if known else None


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


def fits(value: object, allowed: frozenset[object] | None) -> bool:
    """Whether a value is one of those that are allowed of its type."""
    if allowed is None or value in allowed:
        return True
    is_integer = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return is_integer and INTEGER in allowed


def pointed(document: object, reference: str) -> Any:
    """What a reference within the document, like "#/$defs/a", points at.

    Raises:
        LookupError: it points at nothing, or is none within the document.
    """
    if reference != "#" and not reference.startswith("#/"):
        raise LookupError(reference)
    pointer = reference[2:]
    try:
        return _walked(document, unquote(pointer).split("/") if reference != "#" else [])
    except LookupError:
        # By the standard a "/" that is spelled as %2F divides names too; it may be meant as one's.
        return _walked(document, list(map(unquote, pointer.split("/"))))


def _walked(place: Any, names: Iterable[str]) -> Any:
    for name in names:
        key = name.replace("~1", "/").replace("~0", "~")
        if isinstance(place, Mapping):
            place = place[key]
        elif isinstance(place, LIST) and key.isascii() and key.isdecimal():
            place = place[int(key)]
        else:
            raise LookupError(key)
    return place


class _Combined:
    """Reads what a schema says together with all that it combines.

    `own` reads what a schema says by itself, None for nothing. `of_types`: that is what types its
    values have, so that `nullable` adds one, and a schema that says nothing allows all. Each schema
    is read once; one that leads back to itself says nothing by that.
    """

    __slots__ = ("_depth", "_known", "_of_types", "_own", "_root", "_steps")

    def __init__(
        self, root: object, own: Callable[[object], Kinds | None], *, of_types: bool = False
    ) -> None:
        self._root = root
        self._own = own
        self._of_types = of_types
        self._known: dict[int, Kinds | None] = {}
        self._depth = 0
        self._steps = 0

    def of(self, schema: object) -> Kinds | None:
        """What a schema says, None for nothing."""
        if not isinstance(schema, Mapping):
            return self._own(schema)
        if id(schema) in self._known or self._depth > DEEPEST:
            return self._known.get(id(schema))
        self._known[id(schema)] = None
        self._depth += 1
        found = self._own(schema)
        leads_back = False
        for options in _conjuncts(schema, self._root):
            parts = [self.of(option) for option in options]
            said = _either(parts)
            leads_back = leads_back or said is None
            self._steps += len(parts) + sum(map(_size, (found, *parts)))
            if self._steps > MAX_STEPS:
                raise _TooMuch
            found = _both(found, said)
        if self._of_types and found is None and not leads_back:
            found = ANY
        if self._of_types and found is not None and schema.get("nullable") is True:
            # The text `null` is the string of that name, if the schema names it; nothing else is.
            named = "null" in (found.get("string") or ())
            found = {**found, "null": frozenset() if named else None}
        self._depth -= 1
        self._known[id(schema)] = found
        return found


class _TooMuch(Exception):
    """A schema combines too much to be read."""


def _size(kinds: Kinds | None) -> int:
    """The values that are named."""
    return sum(len(allowed or ()) for allowed in (kinds or {}).values())


def _conjuncts(schema: Mapping[str, Any], root: object) -> Iterator[list[object]]:
    """Iterate over what must all hold, each a list of what may."""
    if isinstance(schema.get("$ref"), str):
        with suppress(LookupError):
            yield [pointed(root, schema["$ref"])]
    if isinstance(schema.get("allOf"), LIST):
        yield from ([part] for part in schema["allOf"])
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), LIST):
            yield list(schema[key])


def _said(schema: object) -> Kinds | None:
    """What a schema says by itself of the type of its values, None for nothing."""
    if not isinstance(schema, Mapping):
        return {} if schema is False else ANY
    found = _named(schema["type"]) if "type" in schema else None
    if isinstance(schema.get("enum"), LIST) and schema["enum"]:
        found = _both(found, _listed(schema["enum"]))
    return _both(found, _listed([schema["const"]])) if "const" in schema else found


def _named(words: object) -> Kinds:
    """What types of these names are; anything where one of them is none."""
    if isinstance(words, str):
        return NAMED.get(words, ANY)
    names = words if isinstance(words, LIST) else [words]
    kinds = [NAMED.get(name) if isinstance(name, str) else None for name in names]
    return ANY if None in kinds else _either(kinds) or ANY


def _listed(values: Iterable[object]) -> Kinds:
    """What may be one of these values. Lists and objects are not compared."""
    found: dict[str, set[object]] = {}
    for value in values:
        kind = type_of(value)
        known = found.setdefault(kind, set())
        if kind not in ("array", "object"):
            known.add(value)
    return {kind: frozenset(known) or None for kind, known in found.items()}


def _either(options: Iterable[Kinds | None]) -> Kinds | None:
    """What one of the options allows; those that say nothing do not count."""
    said = [option for option in options if option is not None]
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
    """What both allow; one that says nothing does not count."""
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
        shared = {value for value in mine if fits(value, yours)}
        shared |= {value for value in yours if fits(value, mine)}
        if shared:
            found[kind] = frozenset(shared)
    return found
