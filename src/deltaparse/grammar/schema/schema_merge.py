"""Conjunctions of schemas, merged into one equivalent schema.

`plain` converts older spellings to draft 2020-12. `merged` joins two plain schemas, keyword by
keyword. `conjunction` defers joining nested schemas until they are compiled, so recursive schemas
can be joined too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deltaparse.stream.wire.argument_types import COMBINING

from ..rules.work import spend
from .schema_document import TYPES, Schema, canonical

__all__ = ["ANNOTATIONS", "DEPENDING", "conjunction", "merged", "plain"]

_ANNOTATIONS = (
    "$schema $id id $comment $defs definitions $anchor $vocabulary title description default"
    " examples example deprecated readOnly writeOnly contentEncoding contentMediaType"
    " contentSchema discriminator xml externalDocs"
)
ANNOTATIONS = frozenset(_ANNOTATIONS.split())
"""Keywords without an effect on validity."""

LARGER = {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"}
SMALLER = {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"}

TOGETHER = {"properties", "additionalProperties", "prefixItems", "items"}

DEPENDING = frozenset({"if", "dependentSchemas", "dependencies", "$dynamicRef", "$recursiveRef"})
"""Keywords whose described members depend on the value."""

EVALUATING = DEPENDING.union(COMBINING)

Plain = dict[str, Any]


def plain(schema: Plain) -> Plain:
    """Remove annotations and combining keywords, and write the rest as in draft 2020-12."""
    result = {
        key: value
        for key, value in schema.items()
        if key not in COMBINING and key not in ANNOTATIONS
    }
    if isinstance(result.get("type"), str):
        result["type"] = [result["type"]]
    elif "type" in result:
        result["type"] = list(dict.fromkeys(result["type"]))
    if "const" in result:
        value = result.pop("const")
        result["enum"] = _shared(result.get("enum", [value]), [value])
    if result.pop("nullable", False) and "type" in result:  # OpenAPI 3.0
        result["type"] = [*result["type"], "null"]
    for bound in ("minimum", "maximum"):
        exclusive = f"exclusive{bound.title()}"
        if isinstance(result.get(exclusive), bool) and result.pop(exclusive) and bound in result:
            result[exclusive] = result.pop(bound)
    if isinstance(result.get("items"), list):
        result["prefixItems"] = result.pop("items")
        result["items"] = result.pop("additionalItems", True)
    result.pop("additionalItems", None)
    if "unevaluatedProperties" in result and schema.keys().isdisjoint(EVALUATING):
        result.setdefault("additionalProperties", result.pop("unevaluatedProperties"))
    return result


def _shared(values: list[Any], others: list[Any]) -> list[Any]:
    """Return the values that are also in `others`."""
    known = set(map(canonical, others))
    return [value for value in values if canonical(value) in known]


def _same(a: Any, b: Any) -> bool:
    """Compare values as JSON: true is not equal to 1."""
    return canonical(a) == canonical(b)


def conjunction(*schemas: Schema) -> Schema:
    """Return a schema equivalent to all of these together."""
    parts: dict[str, Schema] = {}
    for schema in schemas:
        alone = isinstance(schema, dict) and schema.keys() == {"allOf"}
        for part in schema["allOf"] if alone else [schema]:
            if part is False:
                return False
            if part not in (True, {}):
                parts[canonical(part)] = part
    if len(parts) < 2:
        return next(iter(parts.values()), True)
    return {"allOf": list(parts.values())}


def merged(a: Plain, b: Plain, report: Callable[[str], None]) -> Plain | None:
    """Merge two plain schemas, or return None if no value fits both.

    `report` receives keywords that both have and that cannot be merged. The first one is kept.
    """
    spend(1 + len(a) + len(b))
    result = {**b, **a}
    for key in sorted(a.keys() & b.keys() - TOGETHER):
        if key in LARGER or key in SMALLER:
            result[key] = (max if key in LARGER else min)(a[key], b[key])
        elif key == "type":
            result[key] = [name for name in TYPES if _has(a[key], name) and _has(b[key], name)]
        elif key == "enum":
            result[key] = _shared(a[key], b[key])
        elif key == "required":
            result[key] = list(dict.fromkeys([*a[key], *b[key]]))
            spend(len(result[key]) // 10)
        elif key == "uniqueItems":
            result[key] = a[key] or b[key]
        elif not _same(a[key], b[key]):
            report(key)
    if [] in (result.get("type"), result.get("enum")):
        return None
    return result | _members(a, b) | _items(a, b)


def _has(types: list[str], name: str) -> bool:
    return name in types or (name == "integer" and "number" in types)


def _members(a: Plain, b: Plain) -> Plain:
    """Join properties. A name of one side must also fit the other's additional properties."""
    result: Plain = {}
    if "properties" in a or "properties" in b:
        names = dict.fromkeys([*a.get("properties", {}), *b.get("properties", {})])
        result["properties"] = {
            name: conjunction(*(_member(side, name) for side in (a, b))) for name in names
        }
    if "additionalProperties" in a or "additionalProperties" in b:
        rest = (side.get("additionalProperties", True) for side in (a, b))
        result["additionalProperties"] = conjunction(*rest)
    return result


def _member(side: Plain, name: str) -> Schema:
    # If a pattern matches the name, it is not an additional property. Patterns are reported.
    default = True if "patternProperties" in side else side.get("additionalProperties", True)
    return side.get("properties", {}).get(name, default)


def _items(a: Plain, b: Plain) -> Plain:
    if not TOGETHER & {"prefixItems", "items"} & (a.keys() | b.keys()):
        return {}
    first, second = a.get("prefixItems", []), b.get("prefixItems", [])
    rests = a.get("items", True), b.get("items", True)
    prefix = [
        conjunction(
            first[i] if i < len(first) else rests[0], second[i] if i < len(second) else rests[1]
        )
        for i in range(max(len(first), len(second)))
    ]
    result: Plain = {"items": conjunction(*rests)}
    return result | ({"prefixItems": prefix} if prefix else {})
