"""Strings, numbers and enums of a JSON Schema, as JSON text.

Each function takes a plain schema, returns the matching text, and passes unexpressed keywords to
`report`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from deltaparse.stream.wire.argument_types import COMBINING, type_of

from ..rules.rules import (
    ANY_CHAR,
    MAX_REPEAT,
    NOTHING,
    Chars,
    Expr,
    Repeat,
    choice,
    literal,
    repeat,
    token,
)
from ..text.intersection import both
from ..text.json_text import JsonText
from ..text.number_ranges import MAX_DIGITS, Bound, integers, numbers
from ..text.patterns import NotRegular, lengths, pattern_text
from ..text.string_formats import format_text
from .schema_document import Schema, canonical
from .schema_merge import plain

__all__ = ["STRING", "Report", "fitting", "integer", "key_text", "number", "string", "string_text"]

Report = Callable[[str], None]

Plain = dict[str, Any]

ANY_TEXT = repeat(ANY_CHAR)
STRING = frozenset({"minLength", "maxLength", "pattern", "format"})
"""Keywords of strings."""

MAX_COUNTED = 100
"""Most counted characters of a text with a shape. Each may be a state of a machine."""

KEY_KEYWORDS = STRING | {"type", "enum"}


def key_text(schema: Schema) -> Expr | None:
    """Return the texts `propertyNames` allows, or None if rules cannot express it."""
    if isinstance(schema, bool):
        return ANY_TEXT if schema else NOTHING
    own = plain(schema)
    if own.get("type", ["string"]) != ["string"] or own.keys() - KEY_KEYWORDS or _combines(schema):
        return None
    if "enum" in own:
        if own.keys() & STRING:
            return None
        return choice(*(literal(value) for value in own["enum"] if isinstance(value, str)))
    reported: list[str] = []
    text = string_text(own, reported.append)
    return None if reported else text


def _combines(schema: Plain) -> bool:
    return not schema.keys().isdisjoint(COMBINING)


def string(schema: Plain, json_text: JsonText, report: Report) -> Expr:
    """Return a JSON string."""
    return json_text.quoted(string_text(schema, report))


def string_text(schema: Plain, report: Report) -> Expr:
    """Return the text of a string, before it is spelled as JSON."""
    least, most = int(schema.get("minLength", 0)), schema.get("maxLength")
    if most is not None and most < least:
        return NOTHING
    text = _shape(schema, report)
    if text is None:
        text = ANY_TEXT
    return _sized(text, least, None if most is None else int(most), report)


def _shape(schema: Plain, report: Report) -> Expr | None:
    """Return the texts of `pattern`, otherwise of `format`."""
    result = None
    if "pattern" in schema:
        try:
            result = pattern_text(schema["pattern"])
        except NotRegular:
            report("pattern")
    if "format" in schema:
        shape = format_text(schema["format"])
        if shape is None or result is not None:
            report("format")
        else:
            result = shape
    return result


def _sized(text: Expr, least: int, most: int | None, report: Report) -> Expr:
    """Limit the length of a text, if it repeats one character or is short."""
    low, high = lengths(text)
    if isinstance(text, Chars):
        text = Repeat(text, 1, 1)
    if isinstance(text, Repeat) and isinstance(text.body, Chars):
        low = _limited(max(least, low), "minLength", report) or 0
        ends = [end for end in (most, high) if end is not None]
        high = _limited(min(ends, default=None), "maxLength", report)
        return repeat(text.body, low, high) if high is None or low <= high else NOTHING
    if low >= least and (most is None or (high is not None and high <= most)):
        return text
    if max(least, most or 0) <= MAX_COUNTED:
        found = both((text, repeat(ANY_CHAR, least, most)))
        if found is not None:
            return found
    if low < least:
        report("minLength")
    if most is not None and (high is None or high > most):
        report("maxLength")
    return text


def _limited(count: int | None, keyword: str, report: Report) -> int | None:
    """Return a bound, or report one too large to be counted."""
    if count is None or count <= MAX_REPEAT:
        return count
    report(keyword)
    return MAX_REPEAT if keyword.startswith("min") else None


def integer(schema: Plain, report: Report) -> Expr:
    """Return an integer in digits. Models never write the equivalents `1.0` and `1e3`."""
    if schema.get("multipleOf", 1) != 1:
        report("multipleOf")
    # Rounding a bound inwards does not exclude any integer.
    least = [math.ceil(schema["minimum"])] if "minimum" in schema else []
    most = [math.floor(schema["maximum"])] if "maximum" in schema else []
    if "exclusiveMinimum" in schema:
        least.append(math.floor(schema["exclusiveMinimum"]) + 1)
    if "exclusiveMaximum" in schema:
        most.append(math.ceil(schema["exclusiveMaximum"]) - 1)
    return token(integers(max(least, default=None), min(most, default=None)))


def number(schema: Plain, report: Report) -> Expr:
    """Return a number, or an integer if it must be a multiple of 1."""
    if schema.get("multipleOf") == 1:
        return integer(schema, report)
    if "multipleOf" in schema:
        report("multipleOf")
    low = [_bound(schema, key, report) for key in ("minimum", "exclusiveMinimum")]
    high = [_bound(schema, key, report) for key in ("maximum", "exclusiveMaximum")]
    lows = [bound for bound in low if bound]
    highs = [bound for bound in high if bound]
    # Of two equal bounds, the exclusive one is stricter.
    return token(
        numbers(
            max(lows, key=lambda bound: (bound.value, not bound.inclusive), default=None),
            min(highs, key=lambda bound: (bound.value, bound.inclusive), default=None),
        )
    )


def _bound(schema: Plain, keyword: str, report: Report) -> Bound | None:
    if keyword not in schema:
        return None
    value = Decimal(str(schema[keyword]))
    _, digits, exponent = value.as_tuple()
    places = max(0, -int(exponent))
    if places > MAX_DIGITS or max(len(digits) - places, int(exponent) + len(digits)) > MAX_DIGITS:
        report(keyword)
        return None
    return Bound(value, inclusive=not keyword.startswith("exclusive"))


def fitting(values: list[Any], schema: Plain, report: Report) -> list[Any]:
    """Return the values of an enum that fit the other simple keywords."""
    unsure = set()
    kept = {}
    for value in values:
        fits, relevant = _fits(value, schema)
        unsure |= relevant
        if fits:
            kept[canonical(value)] = value
    for keyword in sorted(unsure):
        report(keyword)
    return list(kept.values())


def _fits(value: Any, schema: Plain) -> tuple[bool, set[str]]:
    """Return True if a value fits, and the keywords that were not checked."""
    if "type" in schema and not _has_type(value, schema["type"]):
        return False, set()
    match value:
        case str():
            size, skipped = len(value), {"pattern", "format"}
            keys = "minLength", "maxLength"
        case list():
            size, skipped = len(value), {"items", "prefixItems", "uniqueItems", "contains"}
            keys = "minItems", "maxItems"
        case dict():
            missing = any(name not in value for name in schema.get("required", []))
            size = -1 if missing else len(value)
            skipped = {"properties", "additionalProperties", "patternProperties", "propertyNames"}
            keys = "minProperties", "maxProperties"
        case bool() | None:
            return True, set()
        case _:
            return _within(value, schema), {"multipleOf"} & schema.keys()
    fits = max(0, schema.get(keys[0], 0)) <= size <= schema.get(keys[1], size)
    return fits, skipped & schema.keys() if fits else set()


def _has_type(value: Any, types: list[str]) -> bool:
    kind = type_of(value)
    return kind in types or (kind == "number" and "integer" in types and value == int(value))


def _within(value: float, schema: Plain) -> bool:
    return (
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
        and not value <= schema.get("exclusiveMinimum", -math.inf)
        and not value >= schema.get("exclusiveMaximum", math.inf)
    )
