"""The text of tool calls, from their first marker to their last.

    calls = section_start ( "[" call { "," call } "]" | item { separator item } ) section_end
    item  = per_call_start call per_call_end

Whitespace at markers is as in the template, because models are trained on it. Whitespace in JSON
follows `Spacing`, because models choose it. Each format family has its own `call`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from json import loads

from deltaparse.partial import UsageError
from deltaparse.stream import CallIdPosition, ToolFormat, WireFormat
from deltaparse.stream.wire.call_names import is_python_call_name, is_readable_name
from deltaparse.stream.wire.escapes import escapes_of
from deltaparse.stream.wire.tag_markers import tagged_markers

from ..rules.prefixes import lead
from ..rules.rulebook import RuleBook
from ..rules.rules import (
    ANY_CHAR,
    EMPTY,
    Expr,
    Literal,
    Token,
    chars,
    choice,
    except_chars,
    literal,
    may_be_empty,
    repeat,
    seq,
    token,
)
from ..text.json_text import Spacing
from .argument_rules import Arguments, written_in
from .free_names import call_id
from .offered_tools import Tool

__all__ = ["Calls"]

ID = repeat(ANY_CHAR, 1)
"""The id of a call in JSON. Formats do not specify its characters or its length."""

POST = CallIdPosition.POST_ARGS

INDEX = Token(repeat(chars("09"), 1, 9))

COUNT = choice(token(Literal("0")), token(seq(chars("19"), repeat(chars("09"), 0, 8))))
"""The same as a JSON number."""

CODE = seq(except_chars(chars("{", " ", "\t", "\n", "\r")), repeat(ANY_CHAR))
"""Code. It must not begin with a brace, which would start JSON."""


class Calls:
    """Builds calls of some tools in a format's syntax, and adds rules to a book."""

    def __init__(
        self, fmt: WireFormat, tools: Sequence[Tool], rules: RuleBook, spacing: Spacing
    ) -> None:
        self.fmt = fmt
        self.tools = tools
        self.rules = rules
        self.arguments = Arguments(fmt, rules, spacing)
        self._json = written_in(self.arguments.dialect)(rules, spacing)

    def of(self, tool: Tool) -> Expr:
        """Return one call of a tool, with its markers."""
        return self.text(parallel=False, called=[tool])

    def text(self, *, parallel: bool, called: Sequence[Tool] | None = None) -> Expr:
        """Return one call, or several if `parallel`, with their markers."""
        tools, kind = self.fmt.tools, self.fmt.tools.format
        families: dict[ToolFormat, Callable[[Tool], Expr]] = {
            ToolFormat.JSON_NATIVE: self._json_call,
            ToolFormat.TAG_WITH_JSON: self._tagged_call,
            ToolFormat.TAG_WITH_TAGGED: self._tagged_call,
            ToolFormat.PYTHONIC: self._python_call,
        }
        call = self.rules.add("call", choice(*map(families[kind], called or self.tools)))
        parallel = parallel and self.fmt.derived.several_calls
        in_json = kind is ToolFormat.JSON_NATIVE
        if self.fmt.derived.in_one_list:
            body = self._list(call, parallel=parallel, in_json=in_json)
        else:
            if tools.array_wrapped:
                call = self._list(call, parallel=False, in_json=in_json)
            item = seq(lead(tools.per_call_start, call, self.rules), literal(tools.per_call_end))
            body = _several(item, tools.separator, self.rules) if parallel else item
        return seq(lead(tools.section_start, body, self.rules), literal(tools.section_end))

    def code(self) -> Expr:
        """Return code after its own marker, or `EMPTY` if the format does not support code."""
        code = self.fmt.code
        if not code.start.strip():
            return EMPTY
        if code.function in {tool.name for tool in self.tools}:
            return seq(literal(code.start), token(CODE))
        if not code.method:
            return EMPTY
        ways = (self._python_call(tool, code.method) for tool in self.tools)
        return seq(literal(code.start), choice(*ways))

    def _list(self, call: Expr, *, parallel: bool, in_json: bool) -> Expr:
        if in_json:
            more = repeat(self._json.after_comma(call)) if parallel else EMPTY
            return self._json.within("[]", seq(call, more))
        separator = self.fmt.tools.separator or ", "
        items = _several(call, separator, self.rules) if parallel else call
        return seq(token(Literal("[")), items, token(Literal("]")))

    def _json_call(self, tool: Tool) -> Expr:
        tools, json = self.fmt.tools, self._json
        if tools.name_is_key:
            return self._object([json.pair(literal(tool.name), self.arguments.json(tool))])
        as_text = tools.arguments_as_text
        value = self.arguments.text(tool) if as_text else self.arguments.json(tool)
        fields = {tools.name_field: json.written(tool.name), tools.arguments_field: value}
        ids: dict[str, Expr] = {}
        if tools.id_field or tools.generated_id_field:
            text = self.rules.add("id", json.quoted(ID))
            ids = {tools.id_field: text, tools.generated_id_field: choice(text, COUNT)}
            ids.pop("", None)
        if tools.function_field:
            return self._nested(fields, ids)
        constants = zip(tools.constants[::2], tools.constants[1::2], strict=False)
        fields |= ids | {key: self._constant(value) for key, value in constants}
        order = [*(key for key in tools.field_order if key in fields), *fields]
        return self._object([json.pair(literal(key), fields[key]) for key in dict.fromkeys(order)])

    def _constant(self, value: str) -> Expr:
        """Return the value of a constant member, or any value if it differs between calls."""
        return self._json.written(loads(value)) if value else self.arguments.any

    def _nested(self, fields: dict[str, Expr], ids: dict[str, Expr]) -> Expr:
        """Return a call with a nested function object, in each permitted order of members."""
        tools, json = self.fmt.tools, self._json
        order = [*(key for key in tools.field_order if key in fields), *fields]
        inner = [json.pair(literal(key), fields[key]) for key in dict.fromkeys(order)]
        function = json.pair(literal(tools.function_field), self._object(inner))
        with_id = [json.pair(literal(key), value) for key, value in ids.items()]
        kind = json.pair(literal("type"), json.written("function"))
        ways = [[*with_id, kind, function], [*with_id, function]]
        if with_id:
            ways += [[kind, function, *with_id], [function, *with_id]]
        return choice(*map(self._object, ways))

    def _object(self, members: Sequence[Expr]) -> Expr:
        more = map(self._json.after_comma, members[1:])
        return self._json.within("{}", seq(members[0], *more))

    def _tagged_call(self, tool: Tool) -> Expr:
        fmt = self.fmt
        function, marks, ids = fmt.function, fmt.arguments, fmt.call_id
        written = function.namespace + escapes_of(function.name_escapes).write(tool.name)
        index = ":0" if ids.holds_name else ""
        # After the opener, a bracket begins the other form of calls.
        is_json = fmt.tools.also is ToolFormat.JSON_NATIVE and written[:1] in ("[", "{")
        ends = tagged_markers(fmt).name_ends
        if is_json or not is_readable_name(written + index, [tool.name], ends):
            raise UsageError(f"tool {tool.name!r}: this name cannot be written in this format")
        name: Expr = literal(function.name_prefix + written)
        given: Expr = EMPTY
        if ids.holds_name:
            name = seq(name, Literal(":"), INDEX)
        elif ids.position is not CallIdPosition.NONE:
            text = self.rules.add("id", call_id(fmt))
            given = seq(literal(ids.prefix), text, literal(ids.suffix))
        if fmt.tools.format is ToolFormat.TAG_WITH_TAGGED:
            values = self.arguments.tagged(tool)
            following = marks.end or function.close
            plain = not marks.start and following[:1].strip() and ids.position is not POST
            if function.name_suffix.endswith("\n") and plain and may_be_empty(values):
                # Without arguments, templates leave an empty line.
                values = choice(values, literal("\n"))
        else:
            values = self.arguments.json(tool)
        at = dict.fromkeys(CallIdPosition, EMPTY) | {ids.position: given}
        return seq(
            at[CallIdPosition.PRE_FUNC_NAME],
            name,
            literal(function.name_suffix),
            at[CallIdPosition.BETWEEN_FUNC_AND_ARGS],
            lead(marks.start, values, self.rules),
            literal(marks.end),
            at[CallIdPosition.POST_ARGS],
            literal(
                function.close + (written + function.close_suffix) * fmt.derived.closes_by_name
            ),
        )

    def _python_call(self, tool: Tool, method: str = "") -> Expr:
        name = self.fmt.function.namespace + tool.name
        if not is_python_call_name(name):
            raise UsageError(f"tool {tool.name!r}: this name cannot be written in Python")
        return seq(literal(f"{name}{method}("), self.arguments.python(tool), token(Literal(")")))


def _several(item: Expr, separator: str, rules: RuleBook) -> Expr:
    return seq(item, repeat(lead(separator, item, rules)))
