"""Combined schemas, expanded into alternatives: plain schemas, of which one must hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from deltaparse.partial import UsageError
from deltaparse.stream.wire.argument_types import ALL_TYPES, type_of

from ..rules.work import spend
from .schema_document import MAX_DEPTH, Schema, canonical, check_schema, step
from .schema_merge import DEPENDING, merged, plain

__all__ = ["MAX_BRANCHES", "Apart", "Branches"]

MAX_BRANCHES = 64
"""Most alternatives of one schema."""

Plain = dict[str, Any]


class Branches:
    """Expands `$ref`, `allOf`, `anyOf` and `oneOf`, each schema of a document once.

    `target` resolves a `$ref`, given the pointer of its schema. `report` receives the pointer and
    name of each keyword that could not be merged.
    """

    __slots__ = ("_known", "_report", "_sure", "_target")

    def __init__(
        self, target: Callable[[str, str], Schema], report: Callable[[str, str], None]
    ) -> None:
        self._target = target
        self._report = report
        # Schemas are kept alive, because their ids are keys. None marks an unfinished entry.
        self._known: dict[tuple[int, str], tuple[Schema, list[Plain] | None]] = {}
        self._sure: dict[int, tuple[Schema, bool]] = {}

    def of(self, schema: Schema, path: str, depth: int = 0, outer: str = "") -> list[Plain]:
        """Return the alternatives of a schema, [] if no value fits.

        Args:
            schema: the schema.
            path: its JSON pointer.
            depth: the number of enclosing combinations.
            outer: the JSON pointer of the enclosing schema.

        Raises:
            UsageError: the schema is invalid, contains itself, has too many branches, or takes too
                much work.
        """
        spend(2, path)
        check_schema(schema, path)
        if isinstance(schema, bool):
            return [{}] if schema else []
        key = id(schema), path
        if key not in self._known:
            self._known[key] = schema, None
            if depth <= MAX_DEPTH:
                self._known[key] = schema, self._multiplied(schema, path, depth)
        found = self._known[key][1]
        if found is None:
            raise UsageError(
                f"{outer or path}: the schema contains itself, or is nested too deeply"
            )
        return found

    def _multiplied(self, schema: Plain, path: str, depth: int) -> list[Plain]:
        own = plain(schema)
        unevaluated = own.pop("unevaluatedProperties", True)
        result = [own]
        for options in _conjuncts(schema, path, self._target):
            inner = [
                branch
                for option, where in options
                for branch in self.of(option, where, depth + 1, path)
            ]
            spend(len(inner), path)
            if len(result) * len(inner) > MAX_BRANCHES:
                raise UsageError(
                    f"{path}: anyOf and oneOf must not have more than {MAX_BRANCHES} combinations"
                )
            pairs = [
                merged(own, branch, lambda keyword: self._report(path, keyword))
                for own in result
                for branch in inner
            ]
            result = [branch for branch in pairs if branch is not None]
        if unevaluated is not True and self._describes_surely(schema, path):
            return [{"additionalProperties": unevaluated, **branch} for branch in result]
        if unevaluated is not True:
            self._report(path, "unevaluatedProperties")
        return result

    def _describes_surely(self, schema: Schema, path: str) -> bool:
        """Return True if each branch describes the same members for all its values.

        References cannot be circular here, since the schema has been expanded.
        """
        if isinstance(schema, bool):
            return True
        if id(schema) not in self._sure:
            spend(2, path)
            sure = (
                schema.keys().isdisjoint(DEPENDING)
                and len(schema.get("anyOf", [])) <= 1
                and schema.get("$ref", "#").startswith("#")
                and all(
                    self._describes_surely(option, where)
                    for options in _conjuncts(schema, path, self._target)
                    for option, where in options
                )
            )
            self._sure[id(schema)] = schema, sure
        return self._sure[id(schema)][1]


def _conjuncts(
    schema: Plain, path: str, target: Callable[[str, str], Schema]
) -> Iterator[list[tuple[Schema, str]]]:
    """Iterate over the lists of alternatives: one schema of each list must hold."""
    if "$ref" in schema:
        pointer = schema["$ref"]
        yield [(target(pointer, path), pointer if pointer.startswith("#") else path)]
    for i, part in enumerate(schema.get("allOf", [])):
        yield [(part, step(path, "allOf", i))]
    for key in ("anyOf", "oneOf"):
        if key in schema:
            yield [(option, step(path, key, i)) for i, option in enumerate(schema[key])]


class Apart:
    """Tests if schemas exclude each other, and reads the values of each enum only once.

    `standard` is the argument of `schema_rules`.
    """

    __slots__ = ("_known", "_standard")

    def __init__(self, *, standard: bool) -> None:
        self._standard = standard
        self._known: dict[int, tuple[Schema, frozenset[str] | None]] = {}

    def are(self, a: Plain, b: Plain) -> bool:
        """Return True if each text generated for `a` is invalid for `b`."""
        spend(2)
        return (
            _types(a).isdisjoint(_types(b))
            or self._values_apart(a, b)
            or any(self._member_apart(a, b, name) for name in a.get("required", []))
            or self._lacks_member(a, b)
        )

    def _values_apart(self, a: Schema, b: Schema) -> bool:
        """Return True if two schemas have disjoint enums."""
        first, second = self._values(a), self._values(b)
        if first is None or second is None:
            return False
        spend(min(len(first), len(second)) // 100)
        return first.isdisjoint(second)

    def _values(self, schema: Schema) -> frozenset[str] | None:
        """Return the values of a schema's enum, or None without an enum."""
        if not isinstance(schema, dict):
            return None
        if id(schema) not in self._known:
            values = plain(schema).get("enum")
            found = None if values is None else frozenset(map(canonical, values))
            self._known[id(schema)] = schema, found
        return self._known[id(schema)][1]

    def _member_apart(self, a: Plain, b: Plain, name: str) -> bool:
        """Return True if a required member of `a` is always invalid for `b`."""
        spend(1)
        first, second = (side.get("properties", {}).get(name, True) for side in (a, b))
        if second is True and b.get("additionalProperties") is False:
            second = name in b.get("properties", {}) or "patternProperties" in b
        return second is False or self._values_apart(first, second)

    def _lacks_member(self, a: Plain, b: Plain) -> bool:
        """Return True if `b` requires a member never generated for `a`."""
        if _types(a) != {"object"}:
            return False
        shut = a.get("additionalProperties", self._standard or "properties" not in a) is False
        if not shut:
            return False
        spend((len(a.get("properties", {})) + len(b.get("required", []))) // 10)
        offered = {*a.get("properties", {}), *a.get("required", [])}
        return not offered.issuperset(b.get("required", []))


def _types(schema: Plain) -> set[str]:
    if "enum" in schema:
        spend(len(schema["enum"]) // 10)
        return set(map(type_of, schema["enum"]))
    return {name.replace("integer", "number") for name in schema.get("type", ALL_TYPES)}
