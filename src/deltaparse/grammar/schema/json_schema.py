"""JSON Schema compiled into rules for the text of its values.

Every text of the rules is valid, except for the keywords in `SchemaRules.not_expressed`.
Conversely, the rules accept valid values as models write them. They deliberately exclude:

- members in another order than the schema's;
- unless `standard=True`, additional keys of an object with `properties`, and values of types
  without keywords in a schema without `type`: `{"properties": ...}` means an object, though by the
  standard 5 is valid too;
- integers written as `1.0`, and the exclusions of `numbers`, `string_formats` and `Spacing`.

`oneOf` is compiled like `anyOf`, and is reported if one text might fit two of its schemas. An
invalid schema is an error, and so is one without valid values. Parts without valid values are
omitted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from deltaparse.partial import UsageError
from deltaparse.stream.wire.argument_types import COMBINING, pointed

from ..rules.rulebook import GrammarRules, RuleBook
from ..rules.rules import NOTHING, Expr, Ref, choice
from ..rules.work import counted_work, spend
from ..text.json_text import FLEXIBLE, JsonText, Spacing
from .schema_branches import MAX_BRANCHES, Apart, Branches
from .schema_containers import array, object_
from .schema_document import (
    TYPES,
    Schema,
    canonical,
    check_document,
    check_schema,
    step,
)
from .schema_keywords import ALL_KEYWORDS, BY_TYPE, OTHER_KEYWORDS, types_of, unknown
from .schema_merge import plain as plain_schema
from .schema_scalars import fitting, integer, number, string

__all__ = ["Compiler", "Dialect", "NotExpressed", "SchemaRules", "schema_rules"]

STEPS = 5
"""Steps of work for a schema by itself."""

Plain = dict[str, Any]
Dialect: TypeAlias = Callable[[RuleBook, Spacing], JsonText]


class NotExpressed(NamedTuple):
    """A keyword the rules do not enforce, and the JSON pointer of its schema."""

    path: str
    keyword: str


@dataclass(frozen=True, slots=True)
class SchemaRules:
    """A compiled schema. `value` is the text of its values, and refers to rules in `rules`."""

    value: Expr
    rules: RuleBook
    not_expressed: tuple[NotExpressed, ...]

    def grammar(self) -> GrammarRules:
        """Return the grammar of exactly one value."""
        return self.rules.grammar(self.value)


@counted_work()
def schema_rules(
    document: Schema,
    *,
    at: str = "#",
    name: str = "value",
    spacing: Spacing = FLEXIBLE,
    standard: bool = False,
    rules: RuleBook | None = None,
    dialect: Dialect = JsonText,
) -> SchemaRules:
    """Compile a JSON Schema into rules for the text of its values.

    Args:
        document: the schema, draft 4 to 2020-12. A `$ref` is resolved within it.
        at: the pointer of the part to compile, e.g. "#/properties/city".
        name: prefix of the names of rules.
        spacing: the permitted whitespace.
        standard: True to follow the standard: it permits types other than those of the keywords,
            and keys besides `properties`. False excludes them, since tool descriptions are usually
            complete.
        rules: add to these rules, to share rules between schemas.
        dialect: the notation of values, if not JSON.

    Returns:
        The compiled schema.

    Raises:
        UsageError: the schema is invalid, has no valid value, is too large, or takes too much work.
            The message begins with the pointer of the error.
    """
    check_document(document)
    rules = RuleBook() if rules is None else rules
    compiler = Compiler(document, dialect(rules, spacing), rules, standard=standard)
    try:
        value = compiler.compiled(_pointed(document, at), at, name)
        found = SchemaRules(value, compiler.rules, tuple(compiler.not_expressed))
        found.grammar()
    except UsageError as error:
        # Errors of the rules as a whole do not have a pointer of their own.
        text = str(error)
        raise UsageError(text if text.startswith("#") else f"{at}: {text}") from None
    return found


class Compiler:
    """Compiles one schema document into a book of rules, as the `Values` of containers."""

    def __init__(
        self, document: Schema, json_text: JsonText, rules: RuleBook, *, standard: bool = False
    ) -> None:
        self.rules = rules
        self.json_text = json_text
        self.standard = standard
        self.not_expressed: dict[NotExpressed, None] = {}
        self._document = document
        self._known: dict[str, Ref] = {}
        self._todo: deque[tuple[str, Schema, str]] = deque()
        self.branches = Branches(self.target, self.report)
        self._unreported = Branches(self.target, lambda _path, _keyword: None)
        self._apart = Apart(standard=standard)

    def compiled(self, schema: Schema, path: str, name: str) -> Expr:
        """Return a schema's values, and add all rules they need."""
        value = self._later(path, schema, path, name)
        self.finish()
        return value

    def finish(self) -> None:
        """Define rules that have been referred to but not defined."""
        while self._todo:
            # Schemas are queued rather than nested, because they may be deep or recursive.
            key, schema, path = self._todo.popleft()
            ref = self._known[key]
            make = self.value if key.startswith("#") else self._joined
            self.rules.define(ref, make(schema, path, ref.name))

    def report(self, path: str, keyword: str) -> None:
        """Report a keyword that the rules do not express."""
        self.not_expressed[NotExpressed(path, keyword)] = None

    def value(self, schema: Schema, path: str, name: str) -> Expr:
        """Return the text of a schema's values."""
        spend(STEPS + (len(path) + len(name)) // 100, path)
        check_schema(schema, path)
        if isinstance(schema, bool):
            return self._any() if schema else NOTHING
        combining = [key for key in COMBINING if key in schema]
        own = plain_schema(schema)
        if not combining:
            return self.plain(own, path, name)
        if len(combining) == 1 and not own:
            key = combining[0]
            if key == "$ref":
                return self._reference(schema[key], path)
            if key != "allOf":
                return self._choice(schema[key], step(path, key), name)
            if len(schema[key]) == 1:
                return self.value(schema[key][0], step(path, key, 0), name)
        return self._later(canonical(schema), schema, path, name)

    def _later(self, key: str, schema: Schema, path: str, name: str) -> Expr:
        """Return a reference to a schema's only rule. `key` is a pointer, or the schema."""
        if key not in self._known:
            spend(len(key) // 100, path)
            self._known[key] = self.rules.reserve(name)
            self._todo.append((key, schema, path))
        return self._known[key]

    def _reference(self, pointer: str, path: str) -> Expr:
        target = self.target(pointer, path)
        if target is True:
            return self._any()
        return self._later(pointer, target, pointer, pointer.rpartition("/")[2])

    def target(self, pointer: str, path: str) -> Schema:
        """Resolve a `$ref` of the schema at `path`."""
        if pointer != "#" and not pointer.startswith("#/"):
            self.report(path, "$ref")  # another document, or an anchor
            return True
        spend(1 + len(pointer) // 100, path)
        return _pointed(self._document, pointer)

    def _choice(self, schemas: list[Schema], path: str, name: str) -> Expr:
        if path.endswith("/oneOf"):
            self._check_one(schemas, path)
        return choice(
            *(self.value(schema, step(path, i), name) for i, schema in enumerate(schemas))
        )

    def _check_one(self, schemas: list[Schema], path: str) -> None:
        """Report `oneOf` if a text might fit more than one of its schemas."""
        where = path.removesuffix("/oneOf")
        if len(schemas) > MAX_BRANCHES:
            self.report(where, "oneOf")
            return
        branches = [self._unreported.of(schema, step(path, i)) for i, schema in enumerate(schemas)]
        for i, first in enumerate(branches):
            for j, second in enumerate(branches):
                if i != j and not all(self._apart.are(a, b) for a in first for b in second):
                    self.report(where, "oneOf")
                    return

    def _joined(self, schema: Plain, path: str, name: str) -> Expr:
        """Return the values of a combined schema, including its own keywords."""
        if "oneOf" in schema:
            self._check_one(schema["oneOf"], step(path, "oneOf"))
        branches = self.branches.of(schema, path)
        return choice(*(self.plain(branch, path, name) for branch in branches))

    def plain(self, schema: Plain, path: str, name: str) -> Expr:
        """Return the values of a schema without combining keywords."""
        spend(STEPS, path)

        def report(keyword: str) -> None:
            self.report(path, keyword)

        for keyword in sorted(schema.keys() - ALL_KEYWORDS - OTHER_KEYWORDS):
            if not keyword.startswith("x-"):
                report(keyword)
        if "enum" in schema:
            values = fitting(schema["enum"], schema, report)
            return choice(*map(self.json_text.written, values))
        types = types_of(schema, standard=self.standard)
        if set(types) == set(TYPES) - {"integer"} and not schema.keys() & ALL_KEYWORDS:
            return self._any()
        for keyword in sorted(schema.keys() & frozenset().union(*map(unknown, types))):
            report(keyword)
        return choice(*(self._typed(type_, schema, path, name) for type_ in types))

    def _typed(self, type_: str, schema: Plain, path: str, name: str) -> Expr:
        def report(keyword: str) -> None:
            self.report(path, keyword)

        own = {key: value for key, value in schema.items() if key in BY_TYPE.get(type_, ())}
        match type_:
            case "object":
                return object_(self, own, path, name)
            case "array":
                return array(self, own, path, name)
            case "string":
                text = string(own, self.json_text, report)
                return text if own else self.rules.add("string", text)
            case "integer":
                text = integer(own, report)
                return text if own else self.rules.add("integer", text)
            case "number":
                text = number(own, report)
                return text if own else self.rules.add("number", text)
            case "boolean":
                return choice(self.json_text.word(True), self.json_text.word(False))
            case _:
                return self.json_text.word(None)

    def _any(self) -> Expr:
        """Return any JSON value."""
        if "any" not in self._known:
            ref = self._known["any"] = self.rules.reserve("any")
            parts = [self._typed(name, {}, "#", "any") for name in TYPES if name != "integer"]
            self.rules.define(ref, choice(*parts))
        return self._known["any"]


def _pointed(document: Schema, pointer: str) -> Schema:
    try:
        return pointed(document, pointer)
    except LookupError:
        raise UsageError(f"{pointer}: unresolvable $ref") from None
