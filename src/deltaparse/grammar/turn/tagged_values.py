"""One argument's value between markers: a string as it stands there, other values as JSON.

How a parser reads the text again is what decides: a value that may only be a string is one to its
last character, so the marker behind it must not stand in it; what may be other things too is read
as JSON where it is JSON of one of these types (`stream/reading/tool_calls/typed_value.py`).
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

__all__ = ["TaggedValue", "ValueEnd", "says_nothing"]

SIZES = frozenset({"minLength", "maxLength"})
FREE = {"null", "boolean", "number"}
"""Types of which any text that is read as one is valid, where nothing else is said."""

NUMBERS = {"number", "integer"}
STRINGS: Kinds = {"string": None}
BRACKETS = {"object": "{", "array": "["}
"""What values of these types begin with."""


class ValueEnd:
    """What ends a value: the marker, the white space after it, and what must not stand in text.

    Markers that can only stand behind a value are among the latter, because models forget the
    marker itself, and parsers know that. `escapes` are those of strings.
    """

    __slots__ = ("escapes", "in_names", "json", "marker", "others", "quotes", "trailing")

    def __init__(self, fmt: WireFormat, key: str = "", suffix: str | None = None) -> None:
        suffix = fmt.arguments.value_suffix if suffix is None else suffix
        if fmt.arguments.key_suffix and key:
            suffix += escapes_of(fmt.arguments.name_escapes).write(key) + fmt.arguments.key_suffix
        # A line end alone is a marker.
        self.marker = suffix.rstrip() or suffix
        self.trailing = suffix.removeprefix(self.marker)
        self.quotes = fmt.arguments.quoted_strings
        self.escapes = escapes_of(fmt.arguments.value_escapes)
        escape, escaped = fmt.arguments.escape_start, fmt.arguments.escape_end
        # What opens an escape is none where a text is escaped already.
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
        """Make any text, up to and with the marker."""
        return self.text_of_size(rules, 0, None)

    def text_of_size(
        self, rules: RuleBook, least: int, most: int | None, not_first: str = ""
    ) -> Expr:
        """Make any text of so many characters, up to and with the marker.

        It does not begin with what is in `not_first`.
        """
        until = text_until(self.marker, *self.others, least=least, most=most, not_first=not_first)
        return seq(rules.add("text", until), literal(self.trailing))

    def is_counted(self, least: int, most: int | None) -> bool:
        """Whether rules can count the characters of a text."""
        return is_counted(text_until(self.marker, *self.others, least=least, most=most))

    def without_markers(self, text: Expr) -> Expr | None:
        """Leave out of a text what has one of the markers in it; None where that is too large."""
        if not is_whole(self.marker):
            return None
        anything, more = repeat(ANY_CHAR), repeat(ANY_CHAR, 1)
        # The marker ends the text, and so may what it ends with; nowhere else does one stand.
        wrong = [
            seq(anything, Literal(core), more if self.marker.endswith(core) else anything)
            for core in (self.marker, *filter(is_whole, self.others))
        ]
        return both((seq(text, Literal(self.marker)),), (choice(*wrong),))

    def after(self, value: Expr) -> Expr:
        """Put the marker behind a value that shows its own end."""
        return seq(value, literal(self.marker + self.trailing))

    def after_text(self, text: Expr) -> Expr:
        """Put the marker behind text that cannot hold it."""
        return seq(token(seq(text, literal(self.marker))), literal(self.trailing))

    def may_stand_in(self, text: Expr) -> bool:
        """Whether one of the markers might stand in a text: whether all its characters might."""
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
    """One argument, of a schema that stands at `path`; its rules are named like `name`."""

    def __init__(
        self, compiler: Compiler, schema: Any, path: str, name: str, end: ValueEnd
    ) -> None:
        self._compiler = compiler
        self._schema = schema
        self._path = path
        self._name = name
        self._end = end

    def any_of(self, types: Kinds) -> Expr:
        """Make the value with its end; `types` are those that the parser takes it to have."""
        is_any = types.keys() == ALL_TYPES
        if is_any and says_nothing(self._schema):
            return self._end.text(self._compiler.rules)
        if is_any or "string" not in types or self._end.quotes:
            # Where a value may be of any type, a string shows by its quotes.
            return self._as_json()
        texts, others, bound = self._parts(types)
        if None in texts:
            # Any text is one of the strings; but what is read as another type should fit there.
            if bound:
                self._report("type")
            return self._end.text(self._compiler.rules)
        return self._choice([*texts, *others])

    def strings(self) -> Expr:
        """Make what of the value are strings, where the marker before it says so."""
        texts, _, _ = self._parts(STRINGS)
        return self._end.text(self._compiler.rules) if None in texts else self._choice(texts)

    def others(self) -> Expr:
        """Make what of the value are no strings."""
        return self._choice(self._parts(STRINGS)[1])

    def of_type(self, kind: str) -> Expr:
        """Make what of the value has one type, where the marker before it says which."""
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
        """Take the value apart; `only` the values of one type, if it is given.

        Returns its strings, None for any, its other values, and whether there are such of which
        a text that is read as one might be none.
        """
        compiler, path, end = self._compiler, self._path, self._end
        texts: list[Expr | None] = []
        others: list[Expr] = []
        bound = some = held = False
        # What begins like a list or an object is none of the strings that are held to something: it
        # might be read as that, and a lexer does not come back from a string that gets too long.
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
                        bound = True
                continue
            for kind in branch.get("type") or sorted(ALL_TYPES):
                if only not in ("", "number" if kind == "integer" else kind):
                    continue
                said = {key: value for key, value in branch.items() if key != "type"}
                if kind == "string":
                    texts.append(self._string(said, not_first))
                    some = some or texts[-1] not in (None, NOTHING)
                    continue
                bound = bound or kind not in FREE or bool(said)
                held = held or (kind in NUMBERS and not BY_TYPE[kind].isdisjoint(said))
                others.append(end.after(compiler.plain({**said, "type": [kind]}, path, self._name)))
        if some and "string" in types and (held or brackets != not_first):
            self._report("type")  # a string may be read as a value that does not fit
        return texts, others, bound

    def _report(self, keyword: str) -> None:
        self._compiler.report(self._path, keyword)

    def _given(self, value: str, types: Kinds) -> Expr:
        written = self._end.escapes.write(value)
        if any(mark in written for mark in (self._end.marker, *self._end.others)):
            return NOTHING
        if _read_otherwise(written, types):
            self._report("enum")
        return self._end.after(literal(written))

    def _string(self, schema: dict[str, Any], not_first: str) -> Expr | None:
        """Make a string that a schema bounds, which begins otherwise; None for any."""
        said = {key: value for key, value in schema.items() if key in STRING}
        if not said:
            return None
        if self._end.escapes:
            # Rules see the spelling, and not the text of which the schema says this.
            for keyword in sorted(said):
                self._report(keyword)
            return None
        if said.keys() <= SIZES:
            return self._sized(said, not_first)
        text = _begun_otherwise(string_text(said, self._report), not_first)
        if text is not None and (text == NOTHING or not self._end.may_stand_in(text)):
            return text if text == NOTHING else self._end.after_text(text)
        whole = None if text is None else self._end.without_markers(text)
        if whole is not None:
            return seq(token(whole), literal(self._end.trailing)) if whole != NOTHING else NOTHING
        for keyword in sorted(said):
            self._report(keyword)
        return None

    def _sized(self, schema: dict[str, Any], not_first: str) -> Expr | None:
        """Make any text of some size, as far as rules can count."""
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


def says_nothing(schema: Any) -> bool:
    """Whether any value fits a schema."""
    if not isinstance(schema, dict):
        return schema is True
    return not plain(schema) and not schema.keys() & {"$ref", "allOf", "anyOf", "oneOf"}


def _begun_otherwise(text: Expr, not_first: str) -> Expr | None:
    """Leave out of a text what begins with such a character; None where that is too large."""
    begun = seq(repeat(chars(*JSON_SPACE)), chars(*not_first), repeat(ANY_CHAR))
    return text if both((text, begun)) == NOTHING else both((text,), (begun,))


def _read_otherwise(text: str, types: Kinds) -> bool:
    """Whether a string is spelled like a value of another type that may stand here."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    kind = type_of(value)
    return kind != "string" and kind in types and fits(value, types[kind])
