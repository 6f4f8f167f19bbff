"""One argument's value between markers: a string as it stands there, other values as JSON.

How a parser reads the text again is what decides: a value that may only be a string is one to its
last character, so the marker behind it must not stand in it; what may be other things too is read
as JSON where it is JSON of one of these types (`stream/tool_calls/values.py`).
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from deltaparse.stream import WireFormat
from deltaparse.stream.tool_calls.schema import ALL_TYPES, type_of

from .json_schema import Compiler
from .rulebook import RuleBook
from .rules import NOTHING, Chars, Expr, choice, literal, seq, token, walk
from .schema_branches import expanded
from .schema_merge import plain
from .schema_scalars import fitting, string_text
from .until import text_until

__all__ = ["ValueEnd", "tagged_value"]

STRING = frozenset({"minLength", "maxLength", "pattern", "format"})
FREE = {"null", "boolean", "number"}
"""Types of which any text that is read as one is valid, where nothing else is said."""


class ValueEnd:
    """What ends a value: the marker, the white space after it, and what must not stand in text.

    Markers that can only stand behind a value are among the latter, because models forget the
    marker itself, and parsers know that.
    """

    __slots__ = ("in_names", "json", "marker", "others", "quotes", "trailing")

    def __init__(self, fmt: WireFormat) -> None:
        suffix = fmt.arguments.value_suffix
        self.marker = suffix.rstrip()
        self.trailing = suffix[len(self.marker) :]
        self.quotes = fmt.arguments.quoted_strings
        closers = (fmt.function.close, fmt.tools.per_call_end, fmt.tools.section_end)
        cores = {text.strip() for text in (suffix, *closers, *fmt.turn.ends)}
        inside = {core for core in cores if core in self.marker}
        own = {core for core in inside if self.marker.endswith(core)} - {self.marker, ""}
        self.others = tuple(sorted((cores - inside) | own))
        marks = (fmt.arguments.name_suffix.strip(), fmt.arguments.value_prefix.strip())
        self.in_names = tuple(text for text in marks if text)

    def text(self, rules: RuleBook) -> Expr:
        """Make any text, up to and with the marker."""
        until = rules.add("text", text_until(self.marker, *self.others))
        return seq(until, literal(self.trailing))

    def after(self, value: Expr) -> Expr:
        """Put the marker behind a value that tells its own end."""
        return seq(value, literal(self.marker + self.trailing))

    def after_text(self, text: Expr) -> Expr:
        """Put the marker behind text that cannot hold it."""
        return seq(token(seq(text, literal(self.marker))), literal(self.trailing))

    def may_stand_in(self, text: Expr) -> bool:
        """Tell whether one of the markers might: whether all its characters might."""
        ranges = [span for expr in walk(text) for span in _spans(expr)]
        return any(
            all(any(low <= ord(char) <= high for low, high in ranges) for char in core)
            for core in (self.marker.strip(), *self.others)
        )


def _spans(expr: Expr) -> tuple[tuple[int, int], ...]:
    if isinstance(expr, Chars):
        return expr.ranges
    text = getattr(expr, "text", "")
    return tuple((ord(char), ord(char)) for char in text)


def tagged_value(
    compiler: Compiler, schema: Any, path: str, name: str, types: Collection[str], end: ValueEnd
) -> Expr:
    """Make one value with its end; `types` are those that the parser takes it to have."""
    if set(types) == ALL_TYPES and isinstance(schema, dict | bool) and _says_nothing(schema):
        return end.text(compiler.rules)
    if "string" not in types or set(types) == ALL_TYPES or end.quotes:
        # Where strings are among all types, they are told by their quotes.
        value = compiler.value(schema, path, name)
        return end.after(compiler.rules.add(name, value))
    return _with_strings(compiler, schema, path, name, types, end)


def _says_nothing(schema: dict[str, Any] | bool) -> bool:
    return schema is True or (isinstance(schema, dict) and not plain(schema) and not _joins(schema))


def _joins(schema: dict[str, Any]) -> bool:
    return bool(schema.keys() & {"$ref", "allOf", "anyOf", "oneOf"})


def _with_strings(
    compiler: Compiler, schema: Any, path: str, name: str, types: Collection[str], end: ValueEnd
) -> Expr:
    """Make a value that may be a string without quotes, and maybe something else."""
    options: list[Expr] = []
    free, bound = False, False
    for branch in expanded(schema, path, compiler.target, compiler.report):
        if "enum" in branch:
            values = fitting(branch["enum"], branch, lambda word: compiler.report(path, word))
            options += [_given(compiler, value, path, types, end) for value in values]
            bound = True
            continue
        for kind in branch.get("type") or sorted(ALL_TYPES):
            said = {key: value for key, value in branch.items() if key != "type"}
            if kind == "string":
                text = _string(compiler, said, path, end)
                free |= text is None
                options += [text] if text is not None else []
                bound |= text is not None
            else:
                bound |= kind not in FREE or bool(said)
                value = compiler.plain({**said, "type": [kind]}, path, name)
                options.append(end.after(value))
    if free:
        # Any text is one of the strings; but what is read as another type should fit there.
        if bound:
            compiler.report(path, "type")
        return end.text(compiler.rules)
    return compiler.rules.add(name, choice(*(option for option in options if option != NOTHING)))


def _given(
    compiler: Compiler, value: Any, path: str, types: Collection[str], end: ValueEnd
) -> Expr:
    if not isinstance(value, str):
        return end.after(compiler.json_text.written(value))
    if any(mark in value for mark in (end.marker, *end.others)):
        return NOTHING
    if _read_otherwise(value, types):
        compiler.report(path, "enum")
    return end.after(literal(value))


def _read_otherwise(text: str, types: Collection[str]) -> bool:
    """Whether a string is spelled like a value of another type that may stand here."""
    try:
        kind = type_of(json.loads(text))
    except ValueError:
        return False
    return kind != "string" and kind in types


def _string(compiler: Compiler, schema: dict[str, Any], path: str, end: ValueEnd) -> Expr | None:
    """Make a string that a schema bounds; None for any."""
    said = {key: value for key, value in schema.items() if key in STRING}
    if not said:
        return None
    text = string_text(said, lambda keyword: compiler.report(path, keyword))
    if end.may_stand_in(text):
        for keyword in sorted(said):
            compiler.report(path, keyword)
        return None
    return end.after_text(text)
