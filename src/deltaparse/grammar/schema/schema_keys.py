"""Which keys an object may have, and which schema each of them has to fit.

A key that `properties` names has that schema, and those of all `patternProperties` that match it;
one that is named and matched nowhere has the schema of `additionalProperties`. So the keys that are
not named fall into parts: those that some patterns match and the others do not.
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
"""Patterns whose parts are told apart; each twice as many."""

ANY_KEY = repeat(ANY_CHAR)

Plain = dict[str, Any]


class Reporter(Protocol):
    """How a schema is read, and what takes the keywords that are not expressed."""

    standard: bool

    def report(self, path: str, keyword: str) -> None:
        """Report a keyword that the rules do not express."""


class KeyRules:
    """The keys of one object schema; `named`: those that it describes or requires, in order."""

    __slots__ = ("_allowed", "_path", "_patterns", "_report", "_rest", "_schema", "named")

    def __init__(self, values: Reporter, schema: Plain, path: str) -> None:
        self._schema, self._path = schema, path
        self._report = values.report
        speaks = "properties" in schema or "patternProperties" in schema
        self._rest: Schema = schema.get("additionalProperties", values.standard or not speaks)
        self.named = list(
            dict.fromkeys([*schema.get("properties", {}), *schema.get("required", [])])
        )
        patterns = schema.get("patternProperties", {})
        try:
            self._patterns = {pattern: pattern_text(pattern) for pattern in patterns}
        except NotRegular:
            # Nobody knows which keys it matches: each may have any value.
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
        """Return what the value of a named key has to fit, and where that stands."""
        if self._allowed != ANY_KEY and not matches(self._allowed, key):
            return False, self._path
        properties = self._schema.get("properties", {})
        matched = [pattern for pattern, text in self._patterns.items() if matches(text, key)]
        if not matched:
            if key in properties:
                return properties[key], step(self._path, "properties", key)
            # Required, and described nowhere: where the schema says nothing, anything.
            return self._schema.get("additionalProperties", True), self._at_rest()
        own = [properties[key]] if key in properties else []
        return conjunction(*own, *map(self._of_pattern, matched)), self._at(matched)

    def others(self) -> Iterator[tuple[Expr, Schema, str]]:
        """Iterate over the keys that are not named: a text, its value's schema, and its place."""
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
        """Iterate over the parts of the keys, None for one that takes too large an expression."""
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
