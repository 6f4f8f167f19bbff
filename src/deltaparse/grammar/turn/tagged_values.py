"""One argument's value between markers: a raw string, or JSON for other types.

The rules follow the parser (`stream/reading/tool_calls/typed_value.py`). A value of type string
only is a string up to its last character, so it must not contain its end marker. A value of several
types is parsed as JSON if it is valid JSON of one of these types.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from deltaparse.partial.surrogates import is_whole
from deltaparse.stream import WireFormat
from deltaparse.stream.wire.argument_types import ALL_TYPES, Kinds, fits, type_of
from deltaparse.stream.wire.escapes import escapes_of
from deltaparse.stream.wire.spellings import stripped

from ..rules.rulebook import RuleBook
from ..rules.rules import (
    ANY_CHAR,
    JSON_SPACE,
    NOTHING,
    Chars,
    Expr,
    Literal,
    chars,
    choice,
    literal,
    repeat,
    seq,
    token,
    walk,
)
from ..rules.text_until import is_counted, text_until
from ..schema.json_schema import Compiler
from ..schema.schema_keywords import BY_TYPE
from ..schema.schema_merge import plain
from ..schema.schema_scalars import STRING, fitting, string_text
from ..text.intersection import both

__all__ = ["TaggedValue", "ValueEnd", "meaningless_values"]

SIZES = frozenset({"minLength", "maxLength"})
FREE = {"null", "boolean", "number"}
"""Types for which any text parsed as such a value is valid, unless other keywords apply."""

NUMBERS = {"number", "integer"}
STRINGS: Kinds = {"string": None}
BRACKETS = {"object": "{", "array": "["}
"""First characters of values of these types."""


class ValueEnd:
    """The end of a value: the marker, its trailing whitespace, and other markers.

    The text of a value must not contain these other markers. They include markers that only occur
    after a value, because models forget the end marker and parsers allow for it. `escapes` are the
    escapes of strings.
    """

    __slots__ = ("escapes", "in_names", "json", "marker", "others", "quotes", "trailing")

    def __init__(self, fmt: WireFormat, key: str = "", suffix: str | None = None) -> None:
        suffix = fmt.arguments.value_suffix if suffix is None else suffix
        if fmt.arguments.key_suffix and key:
            suffix += escapes_of(fmt.arguments.name_escapes).write(key) + fmt.arguments.key_suffix
        # A marker may consist of a single line end.
        self.marker = suffix.rstrip() or suffix
        self.trailing = suffix.removeprefix(self.marker)
        self.quotes = fmt.arguments.quoted_strings
        self.escapes = escapes_of(fmt.arguments.value_escapes)
        escape, escaped = fmt.arguments.escape_start, fmt.arguments.escape_end
        # Within an escaped text, the start of an escape is plain text.
        opened = escaped.strip() and suffix.startswith(escaped)
        cores = stripped(
            (suffix, *fmt.derived.closers, *fmt.turn.ends, *(() if opened else (escape,)))
        )
        inside = {core for core in cores if core in self.marker}
        own = {core for core in inside if self.marker.endswith(core)} - {self.marker}
        self.others = tuple(sorted((cores - inside) | own))
        marks = (fmt.arguments.name_suffix.strip(), fmt.arguments.value_prefix.strip())
        self.in_names = tuple(text for text in marks if text)

    def text(self, rules: RuleBook) -> Expr:
        """Return any text, up to and including the marker."""
        return self.text_of_size(rules, 0, None)

    def text_of_size(
        self, rules: RuleBook, least: int, most: int | None, not_first: str = ""
    ) -> Expr:
        """Return any text of a bounded length, up to and including the marker.

        The text does not begin with any character of `not_first`.
        """
        until = text_until(self.marker, *self.others, least=least, most=most, not_first=not_first)
        return seq(rules.add("text", until), literal(self.trailing))

    def is_counted(self, least: int, most: int | None) -> bool:
        """Return True if rules can count the characters of a text."""
        return is_counted(text_until(self.marker, *self.others, least=least, most=most))

    def without_markers(self, text: Expr) -> Expr | None:
        """Remove texts with a marker in them, or return None if the result is too large."""
        if not is_whole(self.marker):
            return None
        anything, more = repeat(ANY_CHAR), repeat(ANY_CHAR, 1)
        # Only the marker, or a suffix of it, may occur, and only at the end of the text.
        wrong = [
            seq(anything, Literal(core), more if self.marker.endswith(core) else anything)
            for core in (self.marker, *filter(is_whole, self.others))
        ]
        return both((seq(text, Literal(self.marker)),), (choice(*wrong),))

    def after(self, value: Expr) -> Expr:
        """Append the marker to a value that shows its own end."""
        return seq(value, literal(self.marker + self.trailing))

    def after_text(self, text: Expr) -> Expr:
        """Append the marker to text that cannot contain it."""
        return seq(token(seq(text, literal(self.marker))), literal(self.trailing))

    def may_occur_in(self, text: Expr) -> bool:
        """Return True if a text may contain a marker, i.e. all of its characters."""
        ranges = [span for expr in walk(text) for span in _spans(expr)]
        return any(
            all(any(low <= ord(char) <= high for low, high in ranges) for char in core)
            for core in (self.marker.strip() or self.marker, *self.others)
        )


def _spans(expr: Expr) -> tuple[tuple[int, int], ...]:
    if isinstance(expr, Chars):
        return expr.ranges
    text = getattr(expr, "text", "")
    return tuple((ord(char), ord(char)) for char in text)


class TaggedValue:
    """One argument with the schema at `path`. Its rules are named after `name`."""

    def __init__(
        self, compiler: Compiler, schema: Any, path: str, name: str, end: ValueEnd
    ) -> None:
        self._compiler = compiler
        self._schema = schema
        self._path = path
        self._name = name
        self._end = end

    def any_of(self, types: Kinds) -> Expr:
        """Return the value with its end. `types` are the types the parser may assign to it."""
        is_any = types.keys() == ALL_TYPES
        if is_any and meaningless_values(self._schema):
            return self._end.text(self._compiler.rules)
        if is_any or "string" not in types or self._end.quotes:
            # If a value may have any type, only quotes distinguish a string.
            return self._as_json()
        texts, others, may_violate = self._parts(types)
        if None in texts:
            # All texts are valid strings, but one read as another type may be invalid for that
            # type.
            if may_violate:
                self._report("type")
            return self._end.text(self._compiler.rules)
        return self._choice([*texts, *others])

    def strings(self) -> Expr:
        """Return only the strings, for markers that indicate a string."""
        texts, _, _ = self._parts(STRINGS)
        return self._end.text(self._compiler.rules) if None in texts else self._choice(texts)

    def others(self) -> Expr:
        """Return all values except strings."""
        return self._choice(self._parts(STRINGS)[1])

    def of_type(self, kind: str) -> Expr:
        """Return the values of one type, for markers that indicate the type."""
        if kind == "string":
            return self.strings()
        return self._choice(self._parts({kind: None}, kind)[1])

    def _as_json(self) -> Expr:
        return self._end.after(self._compiler.value(self._schema, self._path, self._name))

    def _choice(self, options: Iterable[Expr | None]) -> Expr:
        return self._compiler.rules.add(
            self._name, choice(*(option for option in options if option is not None))
        )

    def _parts(self, types: Kinds, only: str = "") -> tuple[list[Expr | None], list[Expr], bool]:
        """Split the value into strings and others, or into the values of type `only`.

        Returns:
            The strings (None for any string), the other values, and True if some of these others
            have constraints a parsed text may violate.
        """
        compiler, path, end = self._compiler, self._path, self._end
        texts: list[Expr | None] = []
        others: list[Expr] = []
        may_violate = has_strings = bounded_numbers = False
        # Constrained strings must not begin like a list or an object, since they might be parsed as
        # one. A lexer cannot backtrack from a string that gets too long.
        brackets = "".join(BRACKETS[kind] for kind in sorted(BRACKETS.keys() & types.keys()))
        free = end.marker.lstrip()[:1]
        not_first = brackets.replace(free, "")
        for branch in compiler.branches.of(self._schema, path):
            if "enum" in branch:
                for value in fitting(branch["enum"], branch, self._report):
                    if only not in ("", type_of(value)):
                        continue
                    if isinstance(value, str):
                        texts.append(self._given(value, types))
                    else:
                        others.append(end.after(compiler.json_text.written(value)))
                        may_violate = True
                continue
            for kind in branch.get("type") or sorted(ALL_TYPES):
                if only not in ("", "number" if kind == "integer" else kind):
                    continue
                keywords = {key: value for key, value in branch.items() if key != "type"}
                if kind == "string":
                    texts.append(self._string(keywords, not_first))
                    has_strings = has_strings or texts[-1] not in (None, NOTHING)
                    continue
                may_violate = may_violate or kind not in FREE or bool(keywords)
                bounded_numbers = bounded_numbers or (
                    kind in NUMBERS and not BY_TYPE[kind].isdisjoint(keywords)
                )
                others.append(
                    end.after(compiler.plain({**keywords, "type": [kind]}, path, self._name))
                )
        if has_strings and "string" in types and (bounded_numbers or brackets != not_first):
            self._report("type")  # a string may be parsed as an invalid value of another type
        return texts, others, may_violate

    def _report(self, keyword: str) -> None:
        self._compiler.report(self._path, keyword)

    def _given(self, value: str, types: Kinds) -> Expr:
        written = self._end.escapes.write(value)
        if any(mark in written for mark in (self._end.marker, *self._end.others)):
            return NOTHING
        if _read_as_other_type(written, types):
            self._report("enum")
        return self._end.after(literal(written))

    def _string(self, schema: dict[str, Any], not_first: str) -> Expr | None:
        """Return a constrained string without `not_first` at its start, or None for any string."""
        keywords = {key: value for key, value in schema.items() if key in STRING}
        if not keywords:
            return None
        if self._end.escapes:
            # Rules describe the escaped spelling, while the schema describes the unescaped text.
            for keyword in sorted(keywords):
                self._report(keyword)
            return None
        if keywords.keys() <= SIZES:
            return self._sized(keywords, not_first)
        text = _without_first(string_text(keywords, self._report), not_first)
        if text is not None and (text == NOTHING or not self._end.may_occur_in(text)):
            return text if text == NOTHING else self._end.after_text(text)
        whole = None if text is None else self._end.without_markers(text)
        if whole is not None:
            return seq(token(whole), literal(self._end.trailing)) if whole != NOTHING else NOTHING
        for keyword in sorted(keywords):
            self._report(keyword)
        return None

    def _sized(self, schema: dict[str, Any], not_first: str) -> Expr | None:
        """Return any text of a bounded length, as far as rules can count."""
        least, most = int(schema.get("minLength", 0)), schema.get("maxLength")
        most = None if most is None else int(most)
        if most is not None and most < least:
            return NOTHING
        if most is not None and not self._end.is_counted(least, most):
            self._report("maxLength")
            most = None
        if not self._end.is_counted(least, None):
            self._report("minLength")
            least = 0
        if not least and most is None:
            return None
        return self._end.text_of_size(self._compiler.rules, least, most, not_first)


def meaningless_values(schema: Any) -> bool:
    """Return True if any value fits a schema."""
    if not isinstance(schema, dict):
        return schema is True
    return not plain(schema) and not schema.keys() & {"$ref", "allOf", "anyOf", "oneOf"}


def _without_first(text: Expr, not_first: str) -> Expr | None:
    """Remove texts with this first character, or return None if the result is too large."""
    begun = seq(repeat(chars(*JSON_SPACE)), chars(*not_first), repeat(ANY_CHAR))
    return text if both((text, begun)) == NOTHING else both((text,), (begun,))


def _read_as_other_type(text: str, types: Kinds) -> bool:
    """Return True if a string is spelled like a value of another permitted type."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    kind = type_of(value)
    return kind != "string" and kind in types and fits(value, types[kind])
