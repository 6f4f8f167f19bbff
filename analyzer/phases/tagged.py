"""Phases T4 to T7, A1 and A2: calls whose name stands outside JSON.

The rendering of a call is taken for what it is: literal text with slots, in which the probes
stand. What differs between no argument, one and two tells the markers of an argument from those
of the call; one call and two, those of the call from those of the section.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from deltaparse.stream import (
    ArgumentsFormat,
    CallIdFormat,
    CallIdPosition,
    ContentFormat,
    FunctionFormat,
    ReasoningFormat,
    ToolFormat,
    ToolsFormat,
)

from ..diff import common_prefix, common_suffix, segments
from ..probes import (
    ARGUMENTS,
    CALL_IDS,
    CONTENT,
    FUNCTIONS,
    NEXT_USER,
    NUMBER,
    QUOTED,
    TOOLS,
    VALUES,
    assistant,
    call,
    result,
    user,
)
from ..turns import Renderer
from .content import without_reasoning
from .frame import Frame

__all__ = ["Bodies", "Parts", "ToolsFinding", "find_tagged", "parts_of"]

Position = CallIdPosition
NAMESPACE = re.compile(r"[\w-]+[.:/]\Z")
COUNTED = re.compile(r"\A([^\w\s<\[]+)0")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsFinding:
    """The groups of a format that say how calls are written, and in words what could not be told.

    `ends`: what ends a turn that has calls, beside what ends every turn.
    """

    format: ToolsFormat
    function: FunctionFormat = field(default_factory=FunctionFormat)
    arguments: ArgumentsFormat = field(default_factory=ArgumentsFormat)
    call_id: CallIdFormat = field(default_factory=CallIdFormat)
    ends: tuple[str, ...] = ()
    issues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parts:
    """One call: what stands before its name, between name and arguments, and behind these.

    `within` stands between an argument's name and its value, None where they are one object;
    `tail` is what of that object stands behind the value, and `quote` round its strings.
    """

    before: str
    between: str
    within: str | None
    after: str
    tail: str = ""
    quote: str = ""


class Bodies:
    """The assistant's turns of a template, each with the calls that are asked for."""

    def __init__(
        self, render: Renderer, frame: Frame, reasoning: ReasoningFormat, content: ContentFormat
    ) -> None:
        self._render = render
        self._frame = frame
        self._reasoning = reasoning
        self._content = content

    def __call__(self, *calls: Mapping[str, Any]) -> str:
        """The turn without what belongs to reasoning or content, "" if there is none.

        All calls have the id of the first, so that their texts can be compared.
        """
        said = [user(), assistant("", calls=calls)]
        body = self._frame.body(self._render(said, tools=TOOLS)) or ""
        at = body.find(FUNCTIONS[0])
        if at < 0:
            return ""
        before = without_reasoning(body[:at], self._reasoning)
        body = before + body[at:]
        start, end = self._content.start, self._content.end
        if start and end and body.startswith(start) and body.endswith(end):
            # The calls stand in the content's markers, which are not theirs.
            body = body.removeprefix(start).removesuffix(end)
        for end in self._frame.turn.ends:
            body = body.partition(end.strip())[0]
        return body.replace(CALL_IDS[1], CALL_IDS[0])

    def separator(self, core: str) -> str:
        """The white space between content and `core`, the first marker of a call, if it has one."""
        said = [user(), assistant(calls=[call()])]
        for messages in (said, [*said, result(), user(NEXT_USER)]):
            body = self._frame.body(self._render(messages, tools=TOOLS)) or ""
            after = body.partition(CONTENT)[2]
            if core and core in after and not after[: after.index(core)].strip():
                return after[: after.index(core)]
        return ""


def find_tagged(bodies: Bodies) -> ToolsFinding | None:
    """Read off how a call is written; None if it is not written like this."""
    one = parts_of(bodies(call()))
    if one is None:
        return None
    pair = bodies(call(), call(1))
    start, separator, end = _round_each(one, pair)
    section_start, section_end = one.before.removesuffix(start), one.after.removeprefix(end)
    ends: tuple[str, ...] = ()
    if section_end.strip() and not section_start.strip():
        # Nothing has begun that this could end but the turn.
        ends, section_end = (section_end.strip(),), ""
    call_id, one, start, end, behind = _call_id(one, start, end, pair)
    per_call_start, name_prefix = _divided(start)
    if call_id.position is Position.PRE_FUNC_NAME and not call_id.holds_name:
        if per_call_start.strip():
            call_id, name_prefix = replace(call_id, prefix=name_prefix), ""
        else:
            per_call_start, name_prefix = name_prefix, ""
    if one.within is None:
        arguments, name_suffix, closers = _json_arguments(one, end)
        family = ToolFormat.TAG_WITH_JSON
    else:
        arguments, name_suffix, closers = _tagged_arguments(one, end, bodies)
        family = ToolFormat.TAG_WITH_TAGGED
    if call_id.position is Position.POST_ARGS:
        pieces = _pieces(closers) or [""]
        arguments = replace(arguments, end=arguments.end + "".join(pieces[:-1]))
        call_id, closers = replace(call_id, prefix=pieces[-1]), behind
    close, per_call_end = _closers(closers, wrapped=bool(per_call_start.strip()))
    namespace = NAMESPACE.search(start) if call_id.holds_name else None
    if namespace:
        per_call_start = per_call_start.removesuffix(namespace[0])
        name_prefix = name_prefix.removesuffix(namespace[0])
    first = next(filter(str.strip, (section_start, per_call_start, name_prefix)), "")
    if not first:
        return None
    # The white space before the first marker separates calls from content, and from each other.
    gap = first[: len(first) - len(first.lstrip())]
    if section_start.strip():
        section_start = section_start.lstrip()
    elif per_call_start.strip():
        per_call_start, separator = per_call_start.lstrip(), separator + gap
    return ToolsFinding(
        format=ToolsFormat(
            format=family,
            section_start=section_start,
            section_end=section_end,
            per_call_start=per_call_start,
            per_call_end=per_call_end,
            separator=separator,
            content_separator=bodies.separator(first.strip()),
            supports_tools=True,
            supports_parallel_calls=FUNCTIONS[1] in pair,
        ),
        function=FunctionFormat(
            name_prefix=name_prefix,
            name_suffix=name_suffix,
            namespace=namespace[0] if namespace else "",
            close=close,
        ),
        arguments=arguments,
        call_id=call_id,
        ends=ends,
    )


def parts_of(body: str) -> Parts | None:
    """Take the rendering of a call with one argument apart."""
    before, name, rest = body.partition(FUNCTIONS[0])
    key, value = ARGUMENTS[0], VALUES[0]
    if not name or key not in rest or value not in rest[rest.index(key) :]:
        return None
    for found in re.finditer(r"\{", rest[: rest.index(key)]):
        try:
            made, end = json.JSONDecoder().raw_decode(rest, found.start())
        except (ValueError, RecursionError):
            continue
        if made == {key: value}:
            tail = rest[rest.index(value) + len(value) : end]
            return Parts(before, rest[: found.start()], None, rest[end:], tail)
    between, _, rest = rest.partition(key)
    within, _, after = rest.partition(value)
    quote = within.lstrip().removeprefix(":").strip()
    if between.endswith("{") and len(quote) > 1 and after.startswith(quote + "}"):
        # An object with bare keys, and quotes of its own.
        tail = quote + "}"
        return Parts(before, between[:-1], None, after.removeprefix(tail), tail, quote)
    if not between.strip() or not after.strip():
        return None
    return Parts(before, between, within, after)


def _round_each(one: Parts, pair: str) -> tuple[str, str, str]:
    """What begins each call, what stands between two, and what ends each."""
    second = pair.find(FUNCTIONS[1])
    if second < 0 or VALUES[0] not in pair[:second]:
        return one.before, "", one.after
    between = pair[:second].rpartition(VALUES[0])[2].removeprefix(one.tail)
    end = one.after if between.startswith(one.after) else common_prefix(between, one.after)
    rest = between.removeprefix(end)
    start = one.before if rest.endswith(one.before) else common_suffix(rest, one.before)
    return start, rest.removesuffix(start), end


def _call_id(
    one: Parts, start: str, end: str, pair: str
) -> tuple[CallIdFormat, Parts, str, str, str]:
    """T7: where the id stands.

    Returns also the parts, what begins and what ends each call without it, and, where it stands
    behind the arguments, what stands behind it.
    """
    probe = CALL_IDS[0]
    if probe in start:
        start, _, suffix = start.partition(probe)
        found = CallIdFormat(position=Position.PRE_FUNC_NAME, suffix=suffix)
        return found, one, start, end, ""
    if probe in one.between:
        prefix, _, suffix = one.between.partition(probe)
        key = "" if one.within is None else _pieces(suffix)[-1]
        suffix = suffix.removesuffix(key)
        found = CallIdFormat(position=Position.BETWEEN_FUNC_AND_ARGS, prefix=prefix, suffix=suffix)
        return found, replace(one, between=key), start, end, ""
    if probe in end:
        inner, _, behind = end.partition(probe)
        found = CallIdFormat(position=Position.POST_ARGS)
        return found, replace(one, after=inner), start, inner, behind
    counted = COUNTED.match(one.between)
    if counted and f"{FUNCTIONS[1]}{counted[1]}1" in pair:
        # The name with its number is what the result of the call refers to.
        found = CallIdFormat(position=Position.PRE_FUNC_NAME, holds_name=True)
        return found, replace(one, between=one.between[counted.end() :]), start, end, ""
    return CallIdFormat(), one, start, end, ""


def _json_arguments(one: Parts, end: str) -> tuple[ArgumentsFormat, str, str]:
    """T6 for JSON: the text behind the object, up to the first marker, is the arguments' end."""
    pieces = segments(end)
    own = pieces[0].text if pieces and not pieces[0].marker else ""
    own = own if own.strip() else ""
    return ArgumentsFormat(end=own, quote=one.quote), one.between, end.removeprefix(own)


def _tagged_arguments(one: Parts, end: str, bodies: Bodies) -> tuple[ArgumentsFormat, str, str]:
    """T5, T6, A1 and A2: the markers of arguments, what ends the name, and the call's closers."""
    within = one.within or ""
    two = bodies(call(0, dict(zip(ARGUMENTS, VALUES, strict=True))))
    between = two.partition(VALUES[0])[2].partition(ARGUMENTS[1])[0]
    prefix = common_suffix(one.between, between).lstrip() or segments(one.between)[-1].text
    suffix = between.removesuffix(prefix)
    if not between or not one.after.startswith(suffix):
        suffix = common_prefix(between, one.after) if between else segments(one.after)[0].text
    separator = between.removeprefix(suffix).removesuffix(prefix)
    head = one.between.removesuffix(prefix)
    none = bodies(call(0, {})).partition(FUNCTIONS[0])[2]
    name_suffix = common_prefix(head + prefix, none) if none else head
    name_suffix = name_suffix if head.startswith(name_suffix) else head
    opened = head.removeprefix(name_suffix)
    closers = end.removeprefix(suffix)
    closed = ""
    if opened.strip() and none:
        rest = common_suffix(closers, none.removeprefix(name_suffix))
        closed, closers = closers.removesuffix(rest), rest
    pieces = _pieces(within)
    markers = [piece for piece in segments(within) if piece.marker]
    key_suffix = pieces[0] if len(markers) > 1 else within
    quoted = QUOTED.replace('"', '\\"') in bodies(call(0, {ARGUMENTS[0]: QUOTED}))
    if quoted:
        within, suffix = within.removesuffix('"'), suffix.removeprefix('"')
        key_suffix = key_suffix.removesuffix('"')
    literal = bodies(call(0, {ARGUMENTS[0]: NUMBER})).partition(ARGUMENTS[0])[2]
    literal = literal.partition(str(NUMBER))[0]
    typed = literal.endswith(within.removeprefix(key_suffix)) and literal != within
    arguments = ArgumentsFormat(
        start=opened,
        end=closed,
        name_prefix=prefix,
        name_suffix=key_suffix,
        literal_name_suffix=literal.removesuffix(within.removeprefix(key_suffix)) if typed else "",
        value_prefix=within.removeprefix(key_suffix),
        value_suffix=suffix,
        separator=separator,
        quoted_strings=quoted,
        python_literals=f"{literal}True" in bodies(call(0, {ARGUMENTS[0]: True})),
    )
    return arguments, name_suffix, closers


def _divided(start: str) -> tuple[str, str]:
    """The marker of the call, and what stands between it and the name."""
    pieces = _pieces(start)
    if len(pieces) < 2:
        first = segments(start.strip())
        return (start, "") if first and first[0].marker else ("", start)
    return pieces[0], "".join(pieces[1:])


def _closers(text: str, *, wrapped: bool) -> tuple[str, str]:
    """The marker that closes the function, and the one that closes the call round it."""
    pieces = _pieces(text)
    if len(pieces) > 1:
        return "".join(pieces[:-1]), pieces[-1]
    return ("", text) if wrapped else (text, "")


def _pieces(text: str) -> list[str]:
    """The markers of a text and what stands between them, none of them white space alone."""
    pieces: list[str] = []
    for piece in segments(text):
        if pieces and not pieces[-1].strip():
            pieces[-1] += piece.text
        else:
            pieces.append(piece.text)
    if len(pieces) > 1 and not pieces[-1].strip():
        pieces[-2:] = ["".join(pieces[-2:])]
    return pieces
