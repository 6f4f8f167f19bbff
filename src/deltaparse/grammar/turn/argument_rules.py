"""The arguments of a function, in each form of the wire formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

from deltaparse.partial import LONGEST_MARKER, UsageError
from deltaparse.stream import WireFormat
from deltaparse.stream.wire.argument_types import (
    Kinds,
    argument_names,
    argument_types,
    schema_of_argument,
    types_named,
    words_for,
)
from deltaparse.stream.wire.call_names import is_python_call_name
from deltaparse.stream.wire.escapes import escapes_of

from ..rules.prefixes import lead
from ..rules.rulebook import RuleBook
from ..rules.rules import (
    NOTHING,
    Chars,
    Expr,
    Literal,
    Ref,
    choice,
    literal,
    optional,
    rebuilt,
    repeat,
    seq,
    token,
    walk,
)
from ..schema.json_schema import Compiler, Dialect, NotExpressed, schema_rules
from ..schema.schema_containers import Member, below, ordered
from ..schema.schema_document import check_document, step
from ..text.custom_quotes import OwnQuotes
from ..text.json_text import FLEXIBLE, FLEXIBLE_IN_TEXT, JsonText, Spacing
from ..text.python_text import PythonText, ReprText
from .free_names import other_argument, other_python_name
from .nested_arguments import NESTING, Elements, can_nest
from .offered_tools import Tool
from .tagged_values import TaggedValue, ValueEnd

__all__ = ["Arguments", "written_in"]

TOP = {"type", "properties", "required", "additionalProperties"}
"""Keywords of the arguments object that every form of arguments expresses."""


class Parameter(NamedTuple):
    """One argument: its name, its schema, its JSON pointer, and True if it is required.

    `others` is set for a parameter without a name: it represents all arguments except the names
    in `others`.
    """

    key: str
    schema: Any
    path: str
    required: bool = False
    others: frozenset[str] | None = None


class Arguments:
    """Builds the text of arguments, and adds rules to a book.

    `not_expressed` collects the schema keywords the rules do not enforce. Its paths begin with the
    tool's name.
    """

    def __init__(self, fmt: WireFormat, rules: RuleBook, spacing: Spacing) -> None:
        self.fmt = fmt
        self.rules = rules
        self.spacing = spacing
        self.dialect = _dialect(fmt)
        self.not_expressed: list[NotExpressed] = []

    def json(
        self,
        tool: Tool,
        rules: RuleBook | None = None,
        dialect: Dialect | None = None,
        spacing: Spacing | None = None,
    ) -> Expr:
        """Return a JSON object, or its equivalent in the format's dialect or in `dialect`."""
        try:
            found = schema_rules(
                tool.schema,
                name=tool.name,
                spacing=spacing or self.spacing,
                rules=rules or self.rules,
                dialect=dialect or self.dialect,
            )
        except UsageError as error:
            raise _in_tool(tool, error) from None
        self._note(tool, found.not_expressed)
        return found.value

    @cached_property
    def any(self) -> Expr:
        """Any value."""
        spacing, rules, dialect = self.spacing, self.rules, self.dialect
        return schema_rules({}, spacing=spacing, rules=rules, dialect=dialect).value

    def text(self, tool: Tool) -> Expr:
        """Return a JSON or Python string with a JSON object in it."""
        own = RuleBook()
        spacing = FLEXIBLE_IN_TEXT if self.spacing == FLEXIBLE else self.spacing
        value = self.json(tool, own, JsonText, spacing)
        copies: dict[str, Ref] = {}
        speller = written_in(self.dialect)(self.rules, self.spacing)
        todo = [value]
        while todo:
            for inner in walk(todo.pop()):
                if isinstance(inner, Ref) and inner.name not in copies:
                    copies[inner.name] = self.rules.reserve(f"text-{inner.name}")
                    todo.append(own.rules[inner.name])
        for name, ref in copies.items():
            self.rules.define(ref, _spelled(own.rules[name], copies, speller))
        quote = token(Literal(speller.quote))
        return seq(quote, _spelled(value, copies, speller), quote)

    def python(self, tool: Tool) -> Expr:
        """Return the arguments of a Python call, without the parentheses: `a="b", c=[1]`."""

        def after(expr: Expr) -> Expr:
            return seq(token(Literal(",")), self.spacing.comma, expr)

        def member(compiler: Compiler, parameter: Parameter, name: str) -> Expr:
            value = compiler.value(parameter.schema, parameter.path, name)
            if parameter.others is not None:
                return seq(token(seq(other_python_name(parameter.others), Literal("="))), value)
            if not is_python_call_name(parameter.key):
                raise UsageError(f"{parameter.path}: this name cannot be written in Python")
            return seq(literal(f"{parameter.key}="), value)

        return self._in_order(tool, PythonText, member, after)

    def tagged(self, tool: Tool) -> Expr:
        """Return arguments with markers around each.

        Raises:
            UsageError: argument values have no closing marker in this format, a name cannot be
                written, or a required argument has no valid value.
        """
        marks = self.fmt.arguments
        if not all(way.value_suffix for way in marks.ways):
            raise UsageError(
                "cannot build a grammar: argument values have no closing marker in this format"
            )

        def member(compiler: Compiler, parameter: Parameter, name: str) -> Expr:
            key, others = parameter.key, parameter.others
            if others is None:
                self._check_name(parameter)
            elif marks.key_suffix:
                # The end marker would have to repeat the unknown name.
                compiler.report("#", "additionalProperties")
                return NOTHING
            types = argument_types(tool.schema, key)
            if can_nest(self.fmt) and parameter.schema == schema_of_argument(tool.schema, key):
                before, behind = marks.name_prefix, marks.name_suffix + marks.value_prefix
                elements = Elements(self.fmt, compiler)
                value_of = elements.value(key, parameter.schema, types, parameter.path, name)
                return seq(self._head(parameter, before, behind), value_of)
            if marks.item and not types.keys().isdisjoint(NESTING):
                # Nested values are written as JSON, which the parser accepts as well.
                compiler.report(parameter.path, "type")

            def value(suffix: str) -> TaggedValue:
                ended = ValueEnd(self.fmt, key, suffix)
                return TaggedValue(compiler, parameter.schema, parameter.path, name, ended)

            return choice(
                *(
                    seq(self._head(parameter, before, behind + marks.value_prefix), text)
                    for before, behind, text in self._ways(value, types)
                )
            )

        return self._in_order(tool, self.dialect, member, self._after(marks.separator))

    def _check_name(self, parameter: Parameter) -> None:
        """Refuse a name the parser could not read back from between its markers."""
        marks = self.fmt.arguments
        key, suffix = escapes_of(marks.name_escapes).write(parameter.key), marks.key_suffix
        marked = any(mark in key for mark in ValueEnd(self.fmt, key).in_names)
        again = key + suffix if suffix else ""
        if not key or key != key.strip() or marked or len(again) > LONGEST_MARKER:
            raise UsageError(f"{parameter.path}: this name cannot be written between markers")

    def _head(self, parameter: Parameter, before: str, behind: str) -> Expr:
        """Return the name of an argument between the given markers."""
        if parameter.others is None:
            escapes = escapes_of(self.fmt.arguments.name_escapes)
            return literal(before + escapes.write(parameter.key) + behind)
        return other_argument(self.fmt, before, behind, parameter.others)

    def _ways(
        self, value: Callable[[str], TaggedValue], types: Kinds
    ) -> Iterator[tuple[str, str, Expr]]:
        """Yield the markers before and after a name, and the value with its end.

        `value` returns the value for an end marker. `types` are the types permitted by the schema.
        """
        marks = self.fmt.arguments
        usual, *others = marks.ways
        own = value(usual.value_suffix)
        before, behind = marks.name_prefix, marks.name_suffix
        if marks.type_suffix.strip():
            for kind, word in [(one, word) for one in types for word in words_for(one)]:
                typed = f"{word}{marks.type_suffix}"
                if marks.type_first:
                    yield before + typed, behind, own.of_type(kind)
                else:
                    yield before, behind + typed, own.of_type(kind)
        elif marks.literal_name_suffix.strip():
            yield before, behind, own.strings()
            yield before, marks.literal_name_suffix, own.others()
        elif others:
            yield before, behind, own.strings()
            for way in others:
                made = value(way.value_suffix)
                for kind in _named(way.types):
                    if kind in types:
                        yield way.name_prefix, way.name_suffix, made.of_type(kind)
        else:
            ways = [own.any_of(types)]
            if marks.escape_start.strip() and "string" in types:
                escaped = value(marks.escape_end + marks.value_suffix)
                ways.append(seq(literal(marks.escape_start), escaped.strings()))
            yield before, behind, choice(*ways)

    def _in_order(
        self,
        tool: Tool,
        dialect: Dialect,
        member: Callable[[Compiler, Parameter, str], Expr],
        after: Callable[[Expr], Expr],
    ) -> Expr:
        """Return arguments in the schema's order, with optional ones optional."""
        try:
            check_document(tool.schema)
            json_text = dialect(self.rules, self.spacing)
            compiler = Compiler(tool.schema, json_text, self.rules)
            options = []
            for branch in compiler.branches.of(tool.schema, "#"):
                members = []
                for parameter in _parameters(branch, compiler.report):
                    name = below(tool.name, parameter.key)
                    text = _needed(member(compiler, parameter, name), parameter)
                    if text != NOTHING:
                        whole = self.rules.add(f"{name}-argument", text)
                        members.append(Member(whole, parameter.required))
                rest = self._rest(tool, branch, compiler, member)
                some = ordered(
                    self.rules,
                    tool.name,
                    members,
                    after,
                    alone=seq(rest, repeat(after(rest))),
                    following=repeat(after(rest)),
                )
                needed = any(member.required for member in members)
                options.append(some if needed else optional(some))
            compiler.finish()
            found = choice(*options)
            self.rules.grammar(found)
        except UsageError as error:
            raise _in_tool(tool, error) from None
        self._note(tool, compiler.not_expressed)
        return found

    def _rest(
        self,
        tool: Tool,
        branch: Mapping[str, Any],
        compiler: Compiler,
        member: Callable[[Compiler, Parameter, str], Expr],
    ) -> Expr:
        """Return an argument without a name in the schema, if permitted."""
        lists_keys = "properties" in branch or "patternProperties" in branch
        schema = branch.get("additionalProperties", not lists_keys)
        if schema is False:
            return NOTHING
        # A name from another branch would be parsed with the type of that branch.
        named = {*(argument_names(tool.schema) or ()), *_names(branch)}
        path = step("#", "additionalProperties")
        parameter = Parameter("", schema, path, others=frozenset(named))
        text = member(compiler, parameter, f"{tool.name}-other")
        return self.rules.add(f"{tool.name}-other-argument", text)

    def _after(self, separator: str) -> Callable[[Expr], Expr]:
        return lambda expr: lead(separator, expr, self.rules)

    def _note(
        self, tool: Tool, found: Sequence[NotExpressed] | Mapping[NotExpressed, None]
    ) -> None:
        self.not_expressed += [NotExpressed(f"{tool.name}{at}", keyword) for at, keyword in found]


def _named(words: str) -> Iterator[str]:
    """Iterate over the distinct types that words name."""
    yield from dict.fromkeys(kind for word in words.split() for kind in types_named(word))


def _dialect(fmt: WireFormat) -> Dialect:
    """Return the notation of values other than raw strings, and of nested values."""
    if fmt.arguments.quote:
        return partial(OwnQuotes, quote=fmt.arguments.quote)
    return PythonText if fmt.arguments.python_literals else JsonText


def written_in(dialect: Dialect) -> Dialect:
    """Return the notation of the whole call, as its first quote determines it."""
    return ReprText if dialect is PythonText else dialect


def _needed(text: Expr, parameter: Parameter) -> Expr:
    """Refuse a required argument without a valid value."""
    if text == NOTHING and parameter.required:
        raise UsageError(f"{parameter.path}: no value fits")
    return text


def _parameters(branch: Mapping[str, Any], report: Callable[[str, str], None]) -> list[Parameter]:
    """List the arguments in a schema, and report its other keywords."""
    for keyword in sorted(branch.keys() - TOP):
        report("#", keyword)
    properties, required = branch.get("properties", {}), {*branch.get("required", [])}
    rest = branch.get("additionalProperties", True)
    return [
        Parameter(key, properties.get(key, rest), step("#", "properties", key), key in required)
        for key in _names(branch)
    ]


def _names(branch: Mapping[str, Any]) -> Iterator[str]:
    """Iterate over the distinct argument names a schema describes or requires."""
    yield from dict.fromkeys([*branch.get("properties", {}), *branch.get("required", [])])


def _in_tool(tool: Tool, error: UsageError) -> UsageError:
    return UsageError(f"tool {tool.name!r}: {error}")


def _spelled(expr: Expr, copies: Mapping[str, Ref], speller: JsonText) -> Expr:
    r"""Spell JSON inside a JSON string. Tokens stay tokens, since a quote is `\"` there."""
    match expr:
        case Ref(name):
            return copies[name]
        case Literal() | Chars():
            return speller.spelled(expr)
        case _:
            return rebuilt(expr, lambda part: _spelled(part, copies, speller))
