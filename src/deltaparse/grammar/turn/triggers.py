"""Triggers of lazy grammars: full markers, at positions where a call may begin.

A marker by itself is a word, found anywhere in the output. If reasoning may contain it, a pattern
skips reasoning first. If the marker is a word of prose or also starts content, the next text of a
call must follow. Unmarked calls are only searched at the start of the text. The first group of a
pattern is the start of the grammar. Patterns use syntax common to ECMAScript and Python.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from deltaparse.stream import ContentMode, ToolFormat, WireFormat
from deltaparse.stream.wire.escapes import escapes_of

from ..rules.rulebook import Tokens
from .channel_calls import MAX_SPACES
from .offered_tools import Tool
from .turn_start import Thought, TurnStart

__all__ = ["Trigger", "triggers", "words"]

SPACE = r"(?: |\n{1,2}[ \t]{0,20})?"
"""Whitespace in JSON, as in `FLEXIBLE`."""

PROSE = re.compile(r"[\w\s]*")
SPECIAL = re.compile(r"[.^$|()\[\]{}*+?\\]")


class Trigger(NamedTuple):
    """The start of the text of a lazy grammar.

    Attributes:
        kind: "word"; "pattern", with the start of the grammar's text as its first group; or
            "token", a special token.
        value: the word, the pattern, or the token's id in digits.
    """

    kind: Literal["word", "pattern", "token"]
    value: str


def _opening(fmt: WireFormat) -> str:
    """Return the marker at the start of calls, "" if calls are unmarked."""
    return next(filter(None, map(str.strip, fmt.derived.openers)), "")


def triggers(
    fmt: WireFormat,
    tools: Iterable[Tool],
    start: TurnStart,
    tokens: Tokens,
) -> tuple[Trigger, ...]:
    """List the triggers of calls of `tools`, for a turn with this start.

    Patterns contain special tokens as text, because engines match them against text.
    """
    found = _triggers(fmt, list(tools), start)
    return tuple(dict.fromkeys(_spelled(trigger, tokens) for trigger in found))


def _spelled(trigger: Trigger, tokens: Tokens) -> Trigger:
    kind, value = trigger
    if kind == "word" and value in tokens:
        return Trigger("token", str(tokens[value].id))
    of = str if kind == "word" else _escaped
    texts = {ord(char): of(token.text) for char, token in tokens.items()}
    return Trigger(kind, value.translate(texts))


def _triggers(fmt: WireFormat, tools: list[Tool], start: TurnStart) -> Iterable[Trigger]:
    if fmt.derived.has_channels:
        return _in_headers(fmt, tools)
    marker = _opening(fmt)
    found = [_anywhere(fmt, start, word) for word in words(fmt, tools)]
    if fmt.derived.unmarked_calls or (start.written and marker.startswith(start.written.strip())):
        heads = map(_escaped, _confirmed(fmt, marker, tools)) if marker else ()
        head = "|".join(heads) or _bare_head(fmt, tools)
        past = _past_reasoning(fmt, start) + _past_content(fmt)
        found.append(Trigger("pattern", rf"^{past}\s*({head})"))
    return found


def words(fmt: WireFormat, tools: Iterable[Tool]) -> list[str]:
    """List the markers at the start of calls of `tools`, [] if calls are unmarked."""
    marker = _opening(fmt)
    found = [marker] if marker else []
    if marker and (PROSE.fullmatch(marker) or _shared(fmt, marker)):
        found = [marker + text for text in _confirmed(fmt, marker, tools)]
    code = fmt.code.start.strip()
    return [*found, *([code] if code else [])]


def _shared(fmt: WireFormat, marker: str) -> bool:
    """Return True if other parts of a turn begin like calls."""
    others = (fmt.content.start, fmt.reasoning.start)
    return any(text.strip().startswith(marker) for text in others)


def _confirmed(fmt: WireFormat, marker: str, tools: Iterable[Tool]) -> list[str]:
    """List the texts directly after the marker in calls."""
    if fmt.tools.format is ToolFormat.JSON_NATIVE:
        return ["["] if fmt.tools.array_wrapped else ["{"]
    function = fmt.function
    gap = function.name_prefix.rpartition(marker)[2] if marker in function.name_prefix else ""
    before, escapes = gap + function.namespace, escapes_of(function.name_escapes)
    return [before + escapes.write(tool.name) + function.name_suffix for tool in tools]


def _anywhere(fmt: WireFormat, start: TurnStart, word: str) -> Trigger:
    if start.thought is Thought.NONE:
        return Trigger("word", word)
    opens, section = _section(fmt)
    other = rf"(?:{section}|(?!{opens})[\s\S])*?" if opens else r"[\s\S]*?"
    first = _rest_of_section(fmt) if start.thought is Thought.OPEN else ""
    return Trigger("pattern", rf"^{first}{other}({_escaped(word)})")


def _past_reasoning(fmt: WireFormat, start: TurnStart) -> str:
    if start.thought is Thought.NONE:
        return ""
    return (
        _rest_of_section(fmt) if start.thought is Thought.OPEN else rf"\s*(?:{_section(fmt)[1]})?"
    )


def _past_content(fmt: WireFormat) -> str:
    """Return a pattern for content in markers, if only turns with calls have these markers."""
    content = fmt.content
    if content.mode is not ContentMode.WRAPPED_WITH_CALLS or not content.end.strip():
        return ""
    opens, end = _escaped(content.start.strip()), _escaped(content.end.strip())
    return rf"(?:\s*{opens}(?:(?!{end})[\s\S])*{end})?"


def _section(fmt: WireFormat) -> tuple[str, str]:
    """Return patterns for the start of reasoning, and for all of it."""
    opens = _escaped(fmt.reasoning.start.strip())
    return opens, opens + _rest_of_section(fmt) if opens else ""


def _rest_of_section(fmt: WireFormat) -> str:
    end = _escaped(fmt.reasoning.end.strip())
    return rf"(?:(?!{end})[\s\S])*{end}"


def _bare_head(fmt: WireFormat, tools: list[Tool]) -> str:
    """Return a pattern for the start of unmarked calls, including the name if it is first."""
    wire = fmt.tools
    if wire.format is ToolFormat.PYTHONIC:
        names = "|".join(_escaped(fmt.function.namespace + tool.name) for tool in tools)
        bracket = r"\[" if wire.array_wrapped else ""
        return rf"{bracket}(?:{names})\("
    names = "|".join(_escaped(json.dumps(tool.name, ensure_ascii=False)) for tool in tools)
    first = wire.field_order[0] if wire.field_order else wire.name_field
    keys = names
    if wire.function_field:
        keys = "|".join(
            f'"{_escaped(key)}"' for key in ("type", wire.id_field, wire.function_field) if key
        )
    elif not wire.name_is_key:
        keys = f'"{_escaped(first)}"'
    brackets = rf"\[{SPACE}\{{" if wire.array_wrapped else r"\{"
    head = rf"{brackets}{SPACE}(?:{keys}):"
    is_name = first == wire.name_field and not (wire.name_is_key or wire.function_field)
    return rf"{head}{SPACE}(?:{names})" if is_name else head


def _in_headers(fmt: WireFormat, tools: Sequence[Tool]) -> tuple[Trigger, ...]:
    """Return triggers for calls in messages, which begin at their header.

    If recipients may also be readers, only the name of a function identifies a call.
    """
    channels = fmt.channels
    to = _escaped(channels.recipient + fmt.function.namespace)
    if channels.channel.strip():
        to = rf" {{{int(to.startswith(' '))},{MAX_SPACES}}}{to.lstrip()}"
    if channels.readers:
        names = "|".join(_escaped(tool.name) for tool in tools)
        to += rf"(?:{names}){_escaped(channels.message)}"
    role = "|".join(map(_escaped, fmt.turn.headers))
    found = [rf"(?:^{f'|{role}' * bool(role)})({to})"]
    if channels.channel.strip():
        found.append(rf"({_escaped(channels.channel)} {{0,{MAX_SPACES}}}[a-z_]{{1,20}}{to})")
    return tuple(Trigger("pattern", pattern) for pattern in found)


def _escaped(text: str) -> str:
    return SPECIAL.sub(r"\\\g<0>", text)
