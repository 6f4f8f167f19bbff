"""Validation and size limits of JSON Schema documents."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from deltaparse.partial import UsageError
from deltaparse.partial.surrogates import is_whole

from ..rules.work import spend

__all__ = [
    "MAX_DEPTH",
    "MAX_NODES",
    "TYPES",
    "Schema",
    "canonical",
    "check_document",
    "check_schema",
    "step",
]

Schema: TypeAlias = Any
"""A dict or a bool."""

MAX_DEPTH = 64
"""Most nested objects and lists in a schema document."""

MAX_NODES = 100_000
"""Most values in a schema document. Each 100 characters of text count as one more."""

LONGEST_PLACE = 1_000
"""Most characters of a JSON pointer in a message."""

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")


def step(path: str, *keys: str | int) -> str:
    """Append keys to a JSON pointer."""
    escaped = (str(key).replace("~", "~0").replace("/", "~1") for key in keys)
    return "/".join((path, *escaped))


def canonical(schema: Schema) -> str:
    """Write a schema as text. Equal schemas with equal order have equal texts."""
    text = json.dumps(schema)
    spend(1 + len(text) // 100)
    return text


def check_document(document: Any) -> None:
    """Check that a document is JSON, and within the limits.

    Raises:
        UsageError: it contains other values, is too large or too deep, or contains itself.
    """
    stack: list[Iterator[tuple[Any, str, int]]] = [iter([(document, "#", 0)])]
    count = 0
    while stack:
        value, path, depth = next(stack[-1], (None, "", -1))
        if depth < 0:
            stack.pop()
            continue
        # Pointers count too: a long key is part of the pointer of every nested value.
        count += 1 + len(path) // 1_000
        if count > MAX_NODES or depth > MAX_DEPTH:
            raise UsageError(
                f"{path[:LONGEST_PLACE]}: the schema is too large, or is a Python object that"
                " contains itself"
            )
        match value:
            case dict():
                for key in value:
                    _check_scalar(key, path)
                    count += len(key) // 100
                stack.append(_within(value.items(), path, depth + 1))
            case list():
                stack.append(_within(enumerate(value), path, depth + 1))
            case _:
                _check_scalar(value, path, inner=True)
                count += len(value) // 100 if isinstance(value, str) else 0


def _within(
    parts: Iterable[tuple[str | int, Any]], path: str, depth: int
) -> Iterator[tuple[Any, str, int]]:
    # Lazily, since a long path for each of many parts would take much memory.
    for key, inner in parts:
        yield inner, step(path, key), depth


def _check_scalar(value: Any, path: str, *, inner: bool = False) -> None:
    match value:
        case str():
            # Engines do not accept lone surrogates.
            if not is_whole(value):
                raise UsageError(f"{path}: strings must be valid Unicode")
        case bool() | int() | None if inner:
            # Python refuses to format integers with more than 4,300 digits.
            if isinstance(value, int) and value.bit_length() > 1_000:
                raise UsageError(f"{path}: integers must not have more than 1,000 bits")
        case float() if inner and math.isfinite(value):
            pass
        case _:
            kind = type(value).__name__
            raise UsageError(f"{path}: must be a JSON value (finite, with string keys), not {kind}")


def _is_schema(value: Any) -> bool:
    return isinstance(value, (bool, dict))


def _are_schemas(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_schema, value))


def _named_schemas(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_schema, value.values()))


def _is_type(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return (
        bool(names)
        and all(name in TYPES for name in names if isinstance(name, str))
        and all(isinstance(name, str) for name in names)
    )


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_bound(value: Any) -> bool:
    return isinstance(value, bool) or _is_number(value)  # a bool in draft 4


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _are_items(value: Any) -> bool:
    return _is_schema(value) or value == [] or _are_schemas(value)  # a list up to draft 2019-09


_HELD_BY_A_SCHEMA = (
    "additionalProperties additionalItems unevaluatedProperties unevaluatedItems propertyNames"
    " contains not if then else"
)

_SHAPES: dict[Callable[[Any], bool], tuple[str, str]] = {
    _is_schema: (_HELD_BY_A_SCHEMA, "a schema"),
    _are_schemas: ("allOf anyOf oneOf prefixItems", "a list of schemas"),
    _named_schemas: ("properties patternProperties $defs definitions", "an object of schemas"),
    _are_items: ("items", "a schema"),
    _is_type: ("type", f"one of {', '.join(TYPES)}, or a list of these"),
    _is_count: (
        "minLength maxLength minItems maxItems minProperties maxProperties",
        "a non-negative integer",
    ),
    _is_number: ("minimum maximum multipleOf", "a number"),
    _is_bound: ("exclusiveMinimum exclusiveMaximum", "a number"),
    _are_names: ("required", "a list of strings"),
    lambda value: isinstance(value, list): ("enum", "a list"),
    lambda value: isinstance(value, str): ("pattern format $ref", "a string"),
    lambda value: isinstance(value, bool): ("uniqueItems nullable", "true or false"),
}

SHAPES = {
    keyword: (fits, expected)
    for fits, (keywords, expected) in _SHAPES.items()
    for keyword in keywords.split()
}


def check_schema(schema: Schema, path: str) -> None:
    """Check the keywords of one schema, without nested schemas.

    Raises:
        UsageError: it is not a schema, or a keyword has a value of the wrong form.
    """
    if not _is_schema(schema):
        raise UsageError(f"{path}: a schema must be an object, true or false")
    for keyword, value in schema.items() if isinstance(schema, dict) else ():
        fits, expected = SHAPES.get(keyword, (None, ""))
        if fits and not fits(value):
            raise UsageError(f"{step(path, keyword)}: must be {expected}")
