"""Layout of a turn in a format, as a sample and as an EBNF grammar.

Both use the same elements: a turn is a sequence of markers (strings) and `Slot`s. The sample fills
slots with words in capitals. The grammar shows their names. The notation is ISO 14977: `[x]` is
optional, `{x}` repeats, and `? x ?` is a description in words. The parser treats whitespace at
the edges of markers as optional.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import deltaparse as dp

__all__ = ["ebnf", "sample", "sample_call"]

FROM_PROMPT = (dp.ReasoningMode.FORCED_OPEN, dp.ReasoningMode.FORCED_CLOSED)
PYTHON = "Python literal"
STRING = "raw string"


@dataclass(frozen=True, slots=True)
class Slot:
    """A place between markers: its name in the grammar and its text in the sample."""

    name: str
    filled: str


Element = str | Slot
NAME, CONTENT, THOUGHT = Slot("name", "NAME"), Slot("text", "CONTENT"), Slot("text", "REASONING")


def sample(fmt: dp.WireFormat) -> str:
    """Return a sample turn with all parts of the format, with placeholders in capitals.

    Unmarked calls are recognized only at the start of a turn, so their sample has no content.
    """
    if fmt.derived.has_channels:
        return "".join(_filled(_messages(fmt))) + "".join(fmt.turn.ends[:1])
    tools, content, derived = fmt.tools, fmt.content, fmt.derived
    turn = ""
    if derived.has_reasoning:
        turn += "".join(_filled(_reasoning(fmt)))
    if not derived.unmarked_calls:
        turn += f"{content.start}CONTENT{content.end}"
    if derived.has_calls:
        count = 2 if tools.supports_parallel_calls else 1
        joined = tools.separator.join(sample_call(fmt, index) for index in range(count))
        joined = f"[{joined}]" if derived.in_one_list else joined
        joined = f"{tools.section_start}{joined}{tools.section_end}"
        unmarked = derived.unmarked_calls
        turn = turn + joined if unmarked else _apart(turn, tools.content_separator, joined)
    return turn + "".join(fmt.turn.ends[:1])


def sample_call(fmt: dp.WireFormat, index: int = 0) -> str:
    """Return one sample call with its markers. `index` counts calls from 0."""
    return "".join(_filled(_call(fmt, index)))


def ebnf(fmt: dp.WireFormat) -> str:
    """Return the grammar of a turn in this format, with one rule per line."""
    rules = dict(_channel_rules(fmt) if fmt.derived.has_channels else _rules(fmt))
    width = max(map(len, rules))
    return "\n".join(f"{name:<{width}} = {body}" for name, body in rules.items())


def _rules(fmt: dp.WireFormat) -> Iterator[tuple[str, str]]:
    tools, content = fmt.tools, fmt.content
    derived = fmt.derived
    has_calls, has_reasoning = derived.has_calls, derived.has_reasoning
    parts = ["[ reasoning ]"] * has_reasoning + ["[ content ]"] + ["[ calls ]"] * has_calls
    yield "turn", " ".join([*parts, *["[ end ]"] * bool(fmt.turn.ends)])
    if has_reasoning:
        others = [_joined([start, THOUGHT, end]) for start, end in fmt.reasoning.pairs[1:]]
        yield "reasoning", " | ".join([_joined(_reasoning(fmt)), *others])
    yield "content", _joined([content.start, CONTENT, content.end])
    if has_calls:
        more = f"{{ {_joined([tools.separator])} call }}".replace("{  ", "{ ")
        many = "call" if not tools.supports_parallel_calls else f"call {more}"
        many = f'"[" {many} "]"' if derived.in_one_list else many
        opened = _joined([_apart("", tools.content_separator, tools.section_start)])
        yield "calls", " ".join(filter(None, [opened, many, _joined([tools.section_end])]))
        yield "call", _joined(_call(fmt))
        yield from _argument_rules(fmt)
    if fmt.code.function:
        said = f"? code: argument {fmt.code.argument} of {fmt.code.function} ?"
        yield "code", f"{_joined([fmt.code.start])} {said}".strip()
    if fmt.turn.ends:
        yield "end", " | ".join(map(_quoted, fmt.turn.ends))
    yield "text", "? any text without the next marker ?"


def _argument_rules(fmt: dp.WireFormat) -> Iterator[tuple[str, str]]:
    arguments = fmt.arguments
    if fmt.call_id.holds_name:
        yield "id", _joined([fmt.function.namespace, NAME]) + ' ":" ? digits ?'
    match fmt.tools.format:
        case dp.ToolFormat.TAG_WITH_TAGGED:
            joined = _joined([arguments.separator])
            more = f"{{ {joined} argument }}" if joined else "{ argument }"
            inner = f"[ argument {more} ]" if joined else more
            whole = [_joined([arguments.start]), inner, _joined([arguments.end])]
            yield "arguments", " ".join(filter(None, whole))
            argument = _joined(_argument(fmt))
            if arguments.literal_name_suffix:
                other = replace(arguments, name_suffix=arguments.literal_name_suffix)
                argument += f" | {_joined(_argument(fmt.replace(arguments=other)))}"
            for _, prefix, suffix, end in arguments.ways[1:]:
                other = replace(arguments, name_prefix=prefix, name_suffix=suffix, value_suffix=end)
                argument += f" | {_joined(_argument(fmt.replace(arguments=other)))}"
            yield "argument", argument
            literal = PYTHON if arguments.python_literals else "JSON"
            plain = "JSON string" if arguments.quoted_strings else STRING
            yield "value", f"? {plain} or {literal}, depending on the schema ?"
        case dp.ToolFormat.PYTHONIC:
            yield "arguments", '[ argument { "," argument } ]'
            yield "argument", f'key "=" ? {PYTHON} ?'
        case _:
            text = " encoded as a JSON string" if fmt.tools.arguments_as_text else ""
            yield "arguments", f"? JSON object{text} ?"


def _channel_rules(fmt: dp.WireFormat) -> Iterator[tuple[str, str]]:
    marks, role = fmt.channels, _role(fmt)
    parts = [f"{_quoted(marks.channel)} channel"] * bool(marks.channel)
    parts += [f"{_quoted(marks.recipient)} recipient"]
    parts += [f"{_quoted(marks.constrain)} word"] * bool(marks.constrain)
    yield "turn", f"message {{ {_quoted(marks.start + role)} message }}"
    yield "message", f"header {_quoted(marks.message)} body end"
    yield "header", f"{{ {' | '.join(parts)} }}"
    reasoning = " or ".join(marks.reasoning) or "none"
    if marks.channel:
        yield "channel", f"? {reasoning}: the body is reasoning; any other word: content ?"
    own = fmt.derived.calls_in_messages
    body = "the body contains calls" if own else "the body is a JSON object"
    named = f"{_joined([fmt.function.namespace, NAME])} ? {body} ?"
    if marks.readers:
        named += f" | ? {' or '.join(marks.readers)}: the body is content ?"
    if not marks.channel:
        named += f" | ? {reasoning}: the body is reasoning ?"
    yield "recipient", named
    if own:
        yield "call", _joined(_call(fmt))
    yield "body", "? any text without an end marker ?"
    yield "end", " | ".join(map(_quoted, marks.ends))


def _reasoning(fmt: dp.WireFormat) -> list[Element]:
    start = "" if fmt.reasoning.mode in FROM_PROMPT else fmt.reasoning.start
    return [start, THOUGHT, fmt.reasoning.end]


def _call(fmt: dp.WireFormat, index: int = 0) -> list[Element]:
    """Return the elements of one call, including its markers."""
    tools = fmt.tools
    if tools.format is dp.ToolFormat.JSON_NATIVE:
        inner = _json_call(tools, index)
    elif tools.format is dp.ToolFormat.PYTHONIC:
        inner = [NAME, "(", Slot("arguments", 'KEY="VALUE"'), ")"]
    else:
        inner = _tagged_call(fmt, index)
    if tools.array_wrapped and not fmt.derived.in_one_list:
        inner = ["[", *inner, "]"]
    return [tools.per_call_start, *inner, tools.per_call_end]


def _json_call(tools: dp.ToolsFormat, index: int) -> list[Element]:
    values = json.dumps({"KEY": "VALUE"})
    arguments = Slot("arguments", json.dumps(values) if tools.arguments_as_text else values)
    if tools.name_is_key:
        return ['{"', NAME, '": ', arguments, "}"]
    function: dict[str, list[Element]] = {
        tools.name_field: ['"', NAME, '"'],
        tools.arguments_field: [arguments],
    }
    order = tools.field_order
    fields = function
    if tools.function_field:
        fields = {tools.function_field: _object(function, order)}
    given: list[Element] = ['"', Slot("id", f"ID{index}"), '"']
    fields |= {field: given for field in (tools.id_field,) if field}
    number: list[Element] = [Slot("index", str(index))]
    fields |= {field: number for field in (tools.generated_id_field,) if field}
    return _object(fields, order)


def _object(fields: dict[str, list[Element]], order: tuple[str, ...]) -> list[Element]:
    names = sorted(fields, key=lambda name: (*order, name).index(name))
    made: list[Element] = ["{"]
    for at, name in enumerate(names):
        made += [", "] * bool(at) + [f"{json.dumps(name)}: ", *fields[name]]
    return [*made, "}"]


def _tagged_call(fmt: dp.WireFormat, index: int) -> list[Element]:
    function, call_id, at = fmt.function, fmt.call_id, dp.CallIdPosition
    name: list[Element] = [function.namespace, NAME]
    given: list[Element] = [call_id.prefix, Slot("id", f"ID{index}"), call_id.suffix]
    if call_id.holds_name:
        name, given = [Slot("id", f"{function.namespace}NAME:{index}")], []
    if fmt.tools.format is dp.ToolFormat.TAG_WITH_TAGGED:
        filled = "".join(_filled(_argument(fmt)))
        body: list[Element] = [Slot("arguments", fmt.arguments.start + filled + fmt.arguments.end)]
    else:
        values = Slot("arguments", json.dumps({"KEY": "VALUE"}))
        body = [fmt.arguments.start, values, fmt.arguments.end]
    return [
        *(given if call_id.position is at.PRE_FUNC_NAME else ()),
        *(function.name_prefix, *name, function.name_suffix),
        *(given if call_id.position is at.BETWEEN_FUNC_AND_ARGS else ()),
        *body,
        *(given if call_id.position is at.POST_ARGS else ()),
        *(function.close, *([*name, function.close_suffix] * fmt.derived.closes_by_name)),
    ]


def _argument(fmt: dp.WireFormat) -> list[Element]:
    marks = fmt.arguments
    key, value = Slot("key", "KEY"), Slot("value", '"VALUE"' if marks.quoted_strings else "VALUE")
    between = marks.name_suffix + marks.value_prefix
    first = marks.name_prefix
    if marks.type_suffix and marks.type_first:
        first = f"{marks.name_prefix}string{marks.type_suffix}"
    elif marks.type_suffix:
        between = f"{marks.name_suffix}string{marks.type_suffix}{marks.value_prefix}"
    closer: list[Element] = [marks.value_suffix]
    if marks.key_suffix:
        closer += [key, marks.key_suffix]
    return [first, key, between, value, *closer]


def _messages(fmt: dp.WireFormat) -> Iterator[Element]:
    """Yield the elements of a turn in channels: reasoning, content and a call."""
    marks = fmt.channels
    again = marks.start + _role(fmt)
    closers = [end for end in marks.ends[1:] if end not in fmt.turn.ends] or list(marks.ends[:1])
    named, reader = marks.channel, "final"
    if not named:
        named, reader = marks.recipient, "".join(marks.readers[:1])
    for name in marks.reasoning[:1]:
        yield from (f"{named}{name}{marks.message}", THOUGHT, marks.ends[0], again)
    yield from (f"{named}{reader}{marks.message}", CONTENT)
    if fmt.tools.format is not dp.ToolFormat.NONE:
        yield from (marks.ends[0], again, marks.recipient + fmt.function.namespace, NAME)
        yield f"{marks.channel}commentary{marks.message}" if marks.channel else marks.message
        if fmt.derived.calls_in_messages:
            tools = fmt.tools
            yield from (tools.section_start, *_call(fmt), tools.section_end, closers[0])
        else:
            yield from (Slot("arguments", json.dumps({"KEY": "VALUE"})), closers[0])


def _role(fmt: dp.WireFormat) -> str:
    header = "".join(fmt.turn.headers[:1])
    return header.removeprefix(fmt.channels.start)


def _apart(text: str, separator: str, rest: str) -> str:
    """Join two texts with a separator, without doubling the leading whitespace of `rest`."""
    space = rest[: len(rest) - len(rest.lstrip())]
    return text + (separator.removesuffix(space) + rest)


def _filled(elements: Any) -> Iterator[str]:
    return (element if isinstance(element, str) else element.filled for element in elements)


def _joined(elements: Any) -> str:
    """Return elements as EBNF, with adjacent markers joined into one string."""
    made: list[str] = []
    held = ""
    for element in elements:
        if isinstance(element, str):
            held += element
            continue
        made += [_quoted(held)] * bool(held) + [element.name]
        held = ""
    return " ".join([*made, *[_quoted(held)] * bool(held)])


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
