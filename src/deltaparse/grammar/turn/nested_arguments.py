"""Object and list arguments, as elements within their values.

    value = { element } end            element = head value

A list consists of elements with one name, given by the format. An object consists of its members,
in the schema's order. The parser (`nested_values.py`) distinguishes elements from text by types
the schema states directly. Values with types from references or without types are therefore written
as JSON, which the parser accepts too, and are reported. Objects with unnamed members are reported
as well: their end markers would have to repeat the names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltaparse.stream import WireFormat
from deltaparse.stream.wire.argument_types import (
    ALL_TYPES,
    COMBINING,
    Kinds,
    argument_types,
    item_types,
)
from deltaparse.stream.wire.escapes import escapes_of

from ..rules.rules import (
    MAX_REPEAT,
    NOTHING,
    Expr,
    Ref,
    chars,
    choice,
    except_chars,
    literal,
    optional,
    repeat,
    seq,
    token,
)
from ..schema.json_schema import Compiler
from ..schema.schema_containers import Member, below, ordered
from ..schema.schema_document import step
from ..schema.schema_keywords import BY_TYPE
from .tagged_values import TaggedValue, ValueEnd, meaningless_values

__all__ = ["NESTING", "Elements", "can_nest"]

NESTING = frozenset({"object", "array"})
"""Types of values with nested values."""

WHITE = " \t\r\n"
SAID_ELSEWHERE = {*COMBINING, "enum", "const", "nullable"}
READ = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "minItems", "maxItems", "uniqueItems"},
}
"""Keywords that elements express."""


def can_nest(fmt: WireFormat) -> bool:
    """Return True if a format writes elements within values, with one head and one end."""
    marks = fmt.arguments
    several = marks.alternatives or marks.type_suffix.strip() or marks.literal_name_suffix.strip()
    return bool(marks.item) and not several


class Elements:
    """Builds values with their ends, and adds rules to the book of a compiler."""

    def __init__(self, fmt: WireFormat, compiler: Compiler) -> None:
        self._fmt = fmt
        self._compiler = compiler
        self._rules = compiler.rules
        self._any: Ref | None = None

    def value(self, key: str, schema: Any, kinds: Kinds, path: str, name: str) -> Expr:
        """Return the value of an element and its end. `kinds` are the types for the parser."""
        end = ValueEnd(self._fmt, key)
        own = TaggedValue(self._compiler, schema, path, name, end)
        if kinds.keys().isdisjoint(NESTING):
            return own.any_of(kinds)
        if kinds.keys() == ALL_TYPES and meaningless_values(schema):
            self._compiler.report(path, "type")
            return self._anything(end)
        made = self._nested(schema, kinds, path, name, end)
        if made is not None:
            return made
        self._compiler.report(path, "type")
        return own.any_of(kinds)

    def _nested(
        self, schema: Any, kinds: Kinds, path: str, name: str, end: ValueEnd
    ) -> Expr | None:
        """Return an object, a list or another value of few types, or None if unsupported."""
        known = isinstance(schema, Mapping) and schema.keys().isdisjoint(SAID_ELSEWHERE)
        if not known or "string" in kinds:
            return None
        own = TaggedValue(self._compiler, schema, path, name, end)
        options = [own.of_type(kind) for kind in kinds if kind not in NESTING]
        for kind, make in (("object", self._object), ("array", self._array)):
            if kind in kinds:
                body = make(schema, kinds, path, name)
                if body is None:
                    return None
                options.append(end.after(body))
        return self._rules.add(name, choice(*options))

    def _object(self, schema: Mapping[str, Any], kinds: Kinds, path: str, name: str) -> Expr | None:
        properties, required = schema.get("properties", {}), {*schema.get("required", [])}
        is_open = schema.get("additionalProperties", "properties" not in schema) is not False
        names = ValueEnd(self._fmt).in_names
        written = map(escapes_of(self._fmt.arguments.name_escapes).write, properties)
        odd = any(not key or key != key.strip() or any(m in key for m in names) for key in written)
        if is_open or odd or not required <= properties.keys():
            return None
        if "array" in kinds and self._fmt.arguments.item in properties:
            return None  # its first member might begin a list
        self._leave_out("object", schema, path)
        members = []
        for key, inner in properties.items():
            where, called = step(path, "properties", key), below(name, key)
            value = self.value(key, inner, argument_types(schema, key), where, called)
            if value == NOTHING and key in required:
                return NOTHING
            if value != NOTHING:
                member = self._rules.add(f"{called}-element", seq(self._head(key), value))
                members.append(Member(member, key in required))
        some = ordered(self._rules, name, members, lambda expr: expr)
        may_be_empty = not required and kinds.keys() <= NESTING
        return optional(some) if may_be_empty else some

    def _array(self, schema: Mapping[str, Any], kinds: Kinds, path: str, name: str) -> Expr | None:
        items = schema.get("items", True)
        least, most = int(schema.get("minItems", 0)), schema.get("maxItems")
        if isinstance(items, list) or "prefixItems" in schema:
            return None
        self._leave_out("array", schema, path)
        for keyword, bound in (("minItems", least), ("maxItems", most)):
            if bound is not None and bound > MAX_REPEAT:
                self._compiler.report(path, keyword)
        if schema.get("uniqueItems") and most not in (0, 1):
            self._compiler.report(path, "uniqueItems")
        most = None if most is None or most > MAX_REPEAT else int(most)
        if kinds.keys() != {"array"}:
            least = max(least, 1)  # an empty value would be parsed as another type
        if most is not None and least > most:
            return NOTHING
        item = self._fmt.arguments.item
        value = self.value(item, items, item_types(schema), step(path, "items"), f"{name}-item")
        one = self._rules.add(f"{name}-element", seq(self._head(item), value))
        return repeat(one, min(least, MAX_REPEAT), most)

    def _leave_out(self, kind: str, schema: Mapping[str, Any], path: str) -> None:
        """Report the keywords of a type that elements do not enforce."""
        for keyword in sorted((schema.keys() & BY_TYPE[kind]) - READ[kind]):
            self._compiler.report(path, keyword)

    def _anything(self, end: ValueEnd) -> Expr:
        """Return any value: text that does not begin like an element, or a list of any values."""
        return choice(self._any_text(end), end.after(repeat(self._any_item(), 1)))

    def _any_item(self) -> Expr:
        """Return an item of a list of any values. Its rule is recursive."""
        if self._any is None:
            self._any = self._rules.reserve("any-element")
            item = self._fmt.arguments.item
            value = self._anything(ValueEnd(self._fmt, item))
            self._rules.define(self._any, seq(self._head(item), value))
        return self._any

    def _any_text(self, end: ValueEnd) -> Expr:
        marks = (self._fmt.arguments.name_prefix.strip(), end.marker.lstrip(), *end.others)
        first = except_chars(chars(*WHITE, *(mark[0] for mark in marks if mark)))
        space = repeat(chars(*WHITE))
        return choice(end.after_text(space), seq(token(seq(space, first)), end.text(self._rules)))

    def _head(self, key: str) -> Expr:
        marks = self._fmt.arguments
        key = escapes_of(marks.name_escapes).write(key)
        return literal(marks.name_prefix + key + marks.name_suffix + marks.value_prefix)
