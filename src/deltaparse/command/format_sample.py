"""A turn in a format as a sample, and as an EBNF grammar.

Both are made of the format's layout. The sample fills its slots with words in capitals, and the
grammar shows their names. The notation is ISO 14977: `[x]` is optional, `{x}` repeats, and `? x ?`
is a description in words. The parser treats whitespace at the edges of markers as optional.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import deltaparse as dp
from deltaparse.stream.wire.layout import JsonCall, Many, Part, Parts, Slot, layout_of

__all__ = ["ebnf", "sample", "sample_call"]

NAMES = {
    Slot.REASONING: "text",
    Slot.CONTENT: "text",
    Slot.NAME: "name",
    Slot.ID: "id",
    Slot.NAMED_ID: "id",
    Slot.INDEX: "index",
    Slot.OBJECT: "arguments",
    Slot.OBJECT_TEXT: "arguments",
    Slot.PYTHON: "arguments",
    Slot.KEY: "key",
    Slot.VALUE: "value",
    Slot.JSON_VALUE: "value",
}
"""The names of slots in grammars."""

TYPE = "string"
"""The type of the argument in a sample."""

PYTHON = "Python literal"
STRING = "raw string"


def sample(fmt: dp.WireFormat) -> str:
    """Return a sample turn with all parts of the format, with placeholders in capitals.

    Unmarked calls are recognized only at the start of a turn, so their sample has no content.
    """
    layout, derived, calls = layout_of(fmt), fmt.derived, ""
    if layout.calls is not None:
        several = fmt.tools.supports_parallel_calls and not derived.has_channels
        calls = _sampled(fmt, (layout.calls,), 2 if several else 1)
    content = "" if derived.unmarked_calls else _sampled(fmt, layout.content)
    separator = layout.content_separator if content and calls else ""
    return _sampled(fmt, layout.reasoning) + content + separator + calls + layout.end


def sample_call(fmt: dp.WireFormat) -> str:
    """Return one sample call with its markers."""
    return _sampled(fmt, layout_of(fmt).call)


def _sampled(fmt: dp.WireFormat, parts: Parts, count: int = 1, index: int = 0) -> str:
    """Return parts as text.

    Args:
        fmt: the format.
        parts: the parts.
        count: the number of items in a list among the parts.
        index: the number of the call, counted from 0.
    """
    filled = {
        Slot.REASONING: "REASONING",
        Slot.CONTENT: "CONTENT",
        Slot.NAMESPACE: fmt.function.namespace,
        Slot.NAME: "NAME",
        Slot.ID: f"ID{index}",
        Slot.NAMED_ID: f"{fmt.function.namespace}NAME:{index}",
        Slot.INDEX: str(index),
        Slot.OBJECT: '{"KEY": "VALUE"}',
        Slot.OBJECT_TEXT: json.dumps('{"KEY": "VALUE"}'),
        Slot.PYTHON: 'KEY="VALUE"',
        Slot.KEY: "KEY",
        Slot.TYPE: TYPE,
        Slot.VALUE: "VALUE",
        Slot.JSON_VALUE: '"VALUE"',
    }
    text = ""
    for part in parts:
        match part:
            case Many():
                items = [_sampled(fmt, part.each, index=at) for at in range(count)]
                text += "".join((*part.start, part.between.join(items), *part.end))
            case JsonCall():
                text += _sampled(fmt, tuple(part.spelled()), index=index)
            case Slot():
                text += filled[part]
            case _:
                text += part
    return text


def ebnf(fmt: dp.WireFormat) -> str:
    """Return the grammar of a turn in this format, with one rule per line."""
    rules = dict(_channel_rules(fmt) if fmt.derived.has_channels else _rules(fmt))
    width = max(map(len, rules))
    return "\n".join(f"{name:<{width}} = {body}" for name, body in rules.items())


def _rules(fmt: dp.WireFormat) -> Iterator[tuple[str, str]]:
    layout, tools = layout_of(fmt), fmt.tools
    parts = [*["[ reasoning ]"] * bool(layout.reasoning), "[ content ]"]
    parts += ["[ calls ]"] * (layout.calls is not None)
    yield "turn", " ".join([*parts, *["[ end ]"] * bool(layout.end)])
    if layout.reasoning:
        others = [
            _joined(fmt, (start, Slot.REASONING, end)) for start, end in fmt.reasoning.pairs[1:]
        ]
        yield "reasoning", " | ".join([_joined(fmt, layout.reasoning), *others])
    yield "content", _joined(fmt, layout.content)
    if layout.calls is not None:
        more = (
            f"call {_repeated(layout.calls, 'call')}" if tools.supports_parallel_calls else "call"
        )
        yield "calls", _listed(layout.calls, more, before=layout.content_separator)
        yield "call", _joined(fmt, layout.call)
        yield from _argument_rules(fmt)
    if fmt.code.function:
        said = f"? code: argument {fmt.code.argument} of {fmt.code.function} ?"
        yield "code", f"{_joined(fmt, [fmt.code.start])} {said}".strip()
    if fmt.turn.ends:
        yield "end", " | ".join(map(_quoted, fmt.turn.ends))
    yield "text", "? any text without the next marker ?"


def _argument_rules(fmt: dp.WireFormat) -> Iterator[tuple[str, str]]:
    marks, arguments = fmt.arguments, layout_of(fmt).arguments
    if fmt.call_id.holds_name:
        yield "id", _joined(fmt, (Slot.NAMESPACE, Slot.NAME)) + ' ":" ? digits ?'
    if fmt.tools.format is dp.ToolFormat.TAG_WITH_TAGGED and arguments is not None:
        more = _repeated(arguments, "argument")
        yield "arguments", _listed(arguments, f"[ argument {more} ]" if arguments.between else more)
        ways = [_joined(fmt, parts) for parts in (arguments.each, *arguments.others)]
        yield "argument", " | ".join(ways)
        literal = PYTHON if marks.python_literals else "JSON"
        plain = "JSON string" if marks.quoted_strings else STRING
        yield "value", f"? {plain} or {literal}, depending on the schema ?"
    elif fmt.tools.format is dp.ToolFormat.PYTHONIC:
        yield "arguments", '[ argument { "," argument } ]'
        yield "argument", f'key "=" ? {PYTHON} ?'
    else:
        text = " encoded as a JSON string" if fmt.tools.arguments_as_text else ""
        yield "arguments", f"? JSON object{text} ?"


def _repeated(many: Many, name: str) -> str:
    """Return the rest of a list in EBNF."""
    return " ".join(("{", *map(_quoted, filter(None, [many.between])), name, "}"))


def _listed(many: Many, items: str, before: str = "") -> str:
    """Return a list in EBNF, with the text before it."""
    start = [before + "".join(many.start[:1]), *many.start[1:]]
    return " ".join((*map(_quoted, filter(None, start)), items, *map(_quoted, many.end)))


def _channel_rules(fmt: dp.WireFormat) -> Iterator[tuple[str, str]]:
    marks = fmt.channels
    role = "".join(fmt.turn.headers[:1]).removeprefix(marks.start)
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
    named = f"{_joined(fmt, (Slot.NAMESPACE, Slot.NAME))} ? {body} ?"
    if marks.readers:
        named += f" | ? {' or '.join(marks.readers)}: the body is content ?"
    if not marks.channel:
        named += f" | ? {reasoning}: the body is reasoning ?"
    yield "recipient", named
    if own:
        yield "call", _joined(fmt, layout_of(fmt).call)
    yield "body", "? any text without an end marker ?"
    yield "end", " | ".join(map(_quoted, marks.ends))


def _joined(fmt: dp.WireFormat, parts: Iterable[Part]) -> str:
    """Return parts as EBNF, with adjacent markers joined into one string."""
    made: list[str] = []
    held = ""
    for part in _flat(fmt, parts):
        if isinstance(part, str):
            held += part
            continue
        made += [_quoted(held)] * bool(held)
        made.append("arguments" if isinstance(part, Many) else NAMES[part])
        held = ""
    return " ".join([*made, *[_quoted(held)] * bool(held)])


def _flat(fmt: dp.WireFormat, parts: Iterable[Part]) -> Iterator[str | Slot | Many]:
    """Yield parts, with JSON, types and namespaces as markers."""
    for part in parts:
        match part:
            case JsonCall():
                yield from part.spelled()
            case Many(each=(Slot.OBJECT,)):
                yield from part.start
                yield Slot.OBJECT
                yield from part.end
            case Slot.TYPE:
                yield TYPE
            case Slot.NAMESPACE:
                yield fmt.function.namespace
            case _:
                yield part


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
