"""The gate's implementations of some JSON Schema keywords. Others are those of jsonschema.

    uniqueItems                                   in linear time instead of quadratic time
    multipleOf, divisibleBy                       in decimal: 0.07 is a multiple of 0.01
    pattern, patternProperties                    in ECMA 262, see `ecma`
    additionalProperties, unevaluatedProperties   with patterns in ECMA 262
    format "regex"                                in ECMA 262

The work of all keywords is counted and cached, see `work_budget`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

from .ecma import NotAPattern, NotTranslated, compiled, is_pattern
from .work_budget import counted, found, within

__all__ = ["allowing", "names_in", "schema_checker"]

OPEN = ("additionalProperties", "unevaluatedProperties")
"""Keywords for all members without a keyword of their own."""


@lru_cache(maxsize=16)
def allowing(base: Any) -> Any:
    """Return the validator class of a draft with the gate's keywords."""
    from jsonschema import validators

    ours = {keyword: OURS.get(keyword, apply) for keyword, apply in base.VALIDATORS.items()}
    library: Any = validators  # its type hints lack `extend`
    made: Any = library.extend(
        base,
        {keyword: counted(keyword, apply) for keyword, apply in ours.items()},
        format_checker=_checker(base, is_pattern),
    )
    return made


def schema_checker(base: Any) -> Any:
    """Return a format checker for schemas. It requires patterns with a translation."""
    return _checker(base, _is_applicable)


def _checker(base: Any, is_regex: Any) -> Any:
    from jsonschema import FormatChecker

    checker = FormatChecker(())
    checker.checkers = {**base.FORMAT_CHECKER.checkers}
    checker.checks("regex", raises=(NotAPattern, NotTranslated))(is_regex)
    return checker


def _is_applicable(pattern: object) -> bool:
    return not isinstance(pattern, str) or compiled(pattern) is not None


def names_in(
    validator: Any, instance: dict[str, Any], schema: Any, others: Collection[str] = OPEN
) -> set[str]:
    """Return the members of a valid object that the schema evaluates.

    Optional subschemas, e.g. of `anyOf`, count if they hold. `others` are the keywords for all
    remaining members.
    """
    if not isinstance(schema, dict):
        return set()
    # Keywords unknown to the draft are not applied.
    known = {key: schema[key] for key in schema if key in validator.VALIDATORS}
    if "$ref" in known and "unevaluatedProperties" not in validator.VALIDATORS:
        # In these drafts the siblings of a reference are ignored.
        known = {"$ref": known["$ref"]}
    if any(known.get(keyword, False) is not False for keyword in others):
        return set(instance)
    names: set[str] = instance.keys() & known.get("properties", {}).keys()
    names |= {name for name in instance if _matches(known, name)}
    with within("names", instance, schema):
        for part in _parts(validator, instance, known, schema):
            names |= names_in(validator, instance, part)
        for target in _targets(validator, known):
            at = validator.evolve(schema=target.contents, _resolver=target.resolver)
            names |= names_in(at, instance, target.contents)
    return names


def _parts(
    validator: Any, instance: dict[str, Any], known: dict[str, Any], schema: dict[str, Any]
) -> Iterator[Any]:
    """Yield the subschemas for the same object, if they hold for it."""
    yield from (*known.get("extends", []), *known.get("allOf", []))
    for part in (*known.get("anyOf", []), *known.get("oneOf", [])):
        if _holds(validator, instance, part):
            yield part
    for keyword in ("dependencies", "dependentSchemas"):
        for name, part in known.get(keyword, {}).items():
            if name in instance:
                yield part
    if "if" in known:
        holds = _holds(validator, instance, known["if"])
        yield from [known["if"], schema.get("then")] if holds else [schema.get("else")]


def _targets(validator: Any, known: dict[str, Any]) -> Iterator[Any]:
    """Yield the targets of a schema's references."""
    from referencing.jsonschema import lookup_recursive_ref

    resolver = validator._resolver  # noqa: SLF001 - jsonschema's keywords have no public access to it
    for keyword in ("$ref", "$dynamicRef"):
        if keyword in known:
            yield resolver.lookup(known[keyword])
    if "$recursiveRef" in known:
        yield lookup_recursive_ref(resolver)


def _holds(validator: Any, instance: Any, schema: Any) -> bool:
    return next(validator.descend(instance, schema), None) is None


def _matches(schema: dict[str, Any], name: str) -> bool:
    """Return True if a pattern of the schema's `patternProperties` matches a name."""
    return any(found(compiled(each), name) for each in schema.get("patternProperties", {}))


def _unevaluated_properties(validator: Any, rest: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        named = names_in(validator, instance, schema, OPEN[:1])
        yield from _others(validator, rest, {k: v for k, v in instance.items() if k not in named})


def _additional_properties(validator: Any, rest: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        named = schema.get("properties", {})
        others = {k: v for k, v in instance.items() if k not in named and not _matches(schema, k)}
        yield from _others(validator, rest, others)


def _others(validator: Any, rest: Any, others: dict[str, Any]) -> Iterator[Any]:
    """Yield the errors of the remaining members under the schema `rest`."""
    if rest is False and others:
        # Names are left out of the error, because the model wrote them.
        yield _error()
    else:
        for name, value in others.items():
            yield from validator.descend(value, rest, path=name)


def _pattern_properties(validator: Any, of: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for pattern, part in of.items():
            for name in instance:
                if found(compiled(pattern), name):
                    yield from validator.descend(instance[name], part, name, pattern)


def _pattern(_validator: Any, pattern: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not found(compiled(pattern), instance):
        yield _error()


def _multiple_of(validator: Any, unit: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if validator.is_type(instance, "number") and _exactly(instance) % _exactly(unit):
        yield _error()


def _exactly(number: float) -> Fraction:
    """Return the shortest decimal of a float as a fraction, because floats are inexact."""
    return Fraction(repr(number))


def _unique_items(_validator: Any, unique: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if unique is True and isinstance(instance, list):
        if len({_key(item) for item in instance}) < len(instance):
            yield _error()


def _key(value: Any) -> Hashable:
    """Return a key that is equal for equal JSON values: 1 and 1.0, but not 1 and true."""
    if isinstance(value, dict):
        return frozenset((name, _key(item)) for name, item in value.items())
    if isinstance(value, list):
        return tuple(_key(item) for item in value)
    return (isinstance(value, bool), value)


def _error() -> Any:
    """Return an error without a text. The gate reports its keyword and place."""
    from jsonschema import ValidationError

    return ValidationError("")


OURS: dict[str, Any] = {
    "additionalProperties": _additional_properties,
    "divisibleBy": _multiple_of,
    "multipleOf": _multiple_of,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "unevaluatedProperties": _unevaluated_properties,
    "uniqueItems": _unique_items,
}
