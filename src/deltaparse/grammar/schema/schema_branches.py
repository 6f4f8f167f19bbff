"""Schemas that combine others, multiplied out: plain schemas, any one of which must hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from deltaparse.partial import UsageError
from deltaparse.stream.reading.tool_calls.schema import ALL_TYPES, type_of

from .schema_document import MAX_DEPTH, Schema, canonical, check_schema, step
from .schema_merge import DEPENDING, merged, plain

__all__ = ["MAX_BRANCHES", "apart", "expanded"]

MAX_BRANCHES = 64
"""Plain schemas that one may be multiplied out to."""

Plain = dict[str, Any]


def expanded(
    schema: Schema,
    path: str,
    target: Callable[[str, str], Schema],
    report: Callable[[str, str], None],
    depth: int = 0,
) -> list[Plain]:
    """Multiply out `$ref`, `allOf`, `anyOf` and `oneOf`; no branch: no value fits.

    Args:
        schema: the schema.
        path: its place, for errors and reports.
        target: looks up a `$ref`, given the place of the schema that has it.
        report: takes the place and the name of each keyword that could not be joined.
        depth: of the recursion.

    Raises:
        UsageError: the schema is none, joins itself, or has too many branches.
    """
    if depth > MAX_DEPTH:
        raise UsageError(f"{path}: the schema joins itself, or is too deep")
    check_schema(schema, path)
    if isinstance(schema, bool):
        return [{}] if schema else []
    own = plain(schema)
    unevaluated = own.pop("unevaluatedProperties", True)
    result = [own]
    for options in _conjuncts(schema, path, target):
        inner = [
            branch
            for option, where in options
            for branch in expanded(option, where, target, report, depth + 1)
        ]
        if len(result) * len(inner) > MAX_BRANCHES:
            raise UsageError(f"{path}: more than {MAX_BRANCHES} combinations of anyOf and oneOf")
        pairs = [
            merged(own, branch, lambda keyword: report(path, keyword))
            for own in result
            for branch in inner
        ]
        result = [branch for branch in pairs if branch is not None]
    if unevaluated is not True and _describes_surely(schema, path, target):
        return [{"additionalProperties": unevaluated, **branch} for branch in result]
    if unevaluated is not True:
        report(path, "unevaluatedProperties")
    return result


def _describes_surely(
    schema: Schema, path: str, target: Callable[[str, str], Schema], depth: int = 0
) -> bool:
    """Whether each branch of a schema describes the same members for all values that fit it."""
    if isinstance(schema, bool):
        return True
    if depth > MAX_DEPTH or not schema.keys().isdisjoint(DEPENDING):
        return False
    if len(schema.get("anyOf", [])) > 1 or not schema.get("$ref", "#").startswith("#"):
        return False
    return all(
        _describes_surely(option, where, target, depth + 1)
        for options in _conjuncts(schema, path, target)
        for option, where in options
    )


def _conjuncts(
    schema: Plain, path: str, target: Callable[[str, str], Schema]
) -> Iterator[list[tuple[Schema, str]]]:
    """Iterate over what must all hold, each a list of what may."""
    if "$ref" in schema:
        pointer = schema["$ref"]
        yield [(target(pointer, path), pointer if pointer.startswith("#") else path)]
    for i, part in enumerate(schema.get("allOf", [])):
        yield [(part, step(path, "allOf", i))]
    for key in ("anyOf", "oneOf"):
        if key in schema:
            yield [(option, step(path, key, i)) for i, option in enumerate(schema[key])]


def apart(a: Plain, b: Plain, *, standard: bool) -> bool:
    """Whether no text made for `a` is valid for `b`."""
    return (
        _types(a).isdisjoint(_types(b))
        or _values_apart(a, b)
        or any(_member_apart(a, b, name) for name in a.get("required", []))
        or _lacks_member(a, b, standard=standard)
    )


def _types(schema: Plain) -> set[str]:
    if "enum" in schema:
        return set(map(type_of, schema["enum"]))
    return {name.replace("integer", "number") for name in schema.get("type", ALL_TYPES)}


def _values_apart(a: Any, b: Any) -> bool:
    """Whether two schemas have enums with nothing in common."""
    if not isinstance(a, dict) or not isinstance(b, dict):
        return False
    a, b = plain(a), plain(b)
    if "enum" not in a or "enum" not in b:
        return False
    return {*map(canonical, a["enum"])}.isdisjoint(map(canonical, b["enum"]))


def _member_apart(a: Plain, b: Plain, name: str) -> bool:
    """Whether a member that `a` always has is never right for `b`."""
    first, second = (side.get("properties", {}).get(name, True) for side in (a, b))
    if second is True and b.get("additionalProperties") is False:
        second = name in b.get("properties", {}) or "patternProperties" in b
    return second is False or _values_apart(first, second)


def _lacks_member(a: Plain, b: Plain, *, standard: bool) -> bool:
    """Whether `b` requires a member that is not offered for `a`."""
    if _types(a) != {"object"}:
        return False
    shut = a.get("additionalProperties", standard or "properties" not in a) is False
    offered = {*a.get("properties", {}), *a.get("required", [])}
    return shut and not offered.issuperset(b.get("required", []))
