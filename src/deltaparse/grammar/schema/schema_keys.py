"""The keys of an object, and the schema of each key.

The value of a key must fit its schema in `properties`, and all matching `patternProperties`. A key
without a name and a match has the schema of `additionalProperties`. Unnamed keys are therefore
partitioned by the subset of patterns they match.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, combinations
from typing import Any, Protocol

from ..rules.rules import ANY_CHAR, Expr, choice, literal, repeat
from ..text.intersection import both, matches
from ..text.json_text import other_texts
from ..text.patterns import NotRegular, pattern_text
from .schema_document import Schema, step
from .schema_merge import conjunction
from .schema_scalars import key_text

__all__ = ["KeyRules"]

MAX_PATTERNS = 4
"""Most patterns to be partitioned. Each doubles the number of parts."""

ANY_KEY = repeat(ANY_CHAR)

Plain = dict[str, Any]


class Reporter(Protocol):
    """The mode of a schema (`standard`), and a receiver of unexpressed keywords."""

    standard: bool

    def report(self, path: str, keyword: str) -> None:
        """Report a keyword that the rules do not express."""


class KeyRules:
    """The keys of one object schema. `named` lists the described or required keys, in order."""

    __slots__ = ("_allowed", "_path", "_patterns", "_report", "_rest", "_schema", "named")

    def __init__(self, values: Reporter, schema: Plain, path: str) -> None:
        self._schema, self._path = schema, path
        self._report = values.report
        lists_keys = "properties" in schema or "patternProperties" in schema
        self._rest: Schema = schema.get("additionalProperties", values.standard or not lists_keys)
        self.named = list(
            dict.fromkeys([*schema.get("properties", {}), *schema.get("required", [])])
        )
        patterns = schema.get("patternProperties", {})
        try:
            self._patterns = {pattern: pattern_text(pattern) for pattern in patterns}
        except NotRegular:
            # The matching keys are unknown, so each key may have any value.
            self._report(path, "patternProperties")
            self._patterns = {}
            self._rest = True
        self._allowed = self._names(schema.get("propertyNames", True))

    def _names(self, schema: Schema) -> Expr:
        text = key_text(schema)
        if text is None:
            self._report(self._path, "propertyNames")
        return ANY_KEY if text is None else text

    def schema_of(self, key: str) -> tuple[Schema, str]:
        """Return the schema of a named key's value, and its JSON pointer."""
        if self._allowed != ANY_KEY and not matches(self._allowed, key):
            return False, self._path
        properties = self._schema.get("properties", {})
        matched = [pattern for pattern, text in self._patterns.items() if matches(text, key)]
        if not matched:
            if key in properties:
                return properties[key], step(self._path, "properties", key)
            # A key that is required but not described may have any value by default.
            return self._schema.get("additionalProperties", True), self._at_rest()
        own = [properties[key]] if key in properties else []
        return conjunction(*own, *map(self._of_pattern, matched)), self._at(matched)

    def others(self) -> Iterator[tuple[Expr, Schema, str]]:
        """Iterate over the unnamed keys: a text, the schema of its value, and its pointer."""
        if not self._patterns:
            if self._rest is not False:
                yield self._unnamed(), self._rest, self._at_rest()
            return
        parts = list(self._parts()) if len(self._patterns) <= MAX_PATTERNS else [None]
        known = [part for part in parts if part is not None]
        if len(known) == len(parts):
            yield from known
            return
        self._report(self._path, "patternProperties")
        yield self._unnamed(), True, self._at_rest()

    def _unnamed(self) -> Expr:
        if self._allowed == ANY_KEY:
            return other_texts(self.named)
        found = both((self._allowed,), map(literal, self.named))
        if found is None:
            self._report(self._path, "propertyNames")
            return other_texts(self.named)
        return found

    def _parts(self) -> Iterator[tuple[Expr, Schema, str] | None]:
        """Iterate over the parts of the keys; None represents a part that is too large."""
        names = [literal(name) for name in self.named if name]
        least = 1 if "" in self.named else 0
        for some in chain.from_iterable(
            combinations(self._patterns, count) for count in range(len(self._patterns) + 1)
        ):
            schema = conjunction(*map(self._of_pattern, some)) if some else self._rest
            if schema is False:
                continue
            wanted = [self._patterns[pattern] for pattern in some]
            others = [text for pattern, text in self._patterns.items() if pattern not in some]
            keys = both(
                (self._allowed, repeat(ANY_CHAR, least), *wanted), (choice(*others, *names),)
            )
            yield None if keys is None else (keys, schema, self._at(some))

    def _of_pattern(self, pattern: str) -> Schema:
        return self._schema["patternProperties"][pattern]

    def _at_rest(self) -> str:
        return step(self._path, "additionalProperties")

    def _at(self, patterns: Iterable[str]) -> str:
        first = next(iter(patterns), None)
        if first is None:
            return self._at_rest()
        return step(self._path, "patternProperties", first)
