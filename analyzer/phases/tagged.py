"""Phases T4 to T7, A1 and A2: calls whose name stands outside JSON, and what marks its parts."""

from __future__ import annotations

import re
from dataclasses import replace

from deltaparse.stream import (
    ArgumentsFormat,
    CallIdFormat,
    CallIdPosition,
    FunctionFormat,
    ToolFormat,
    ToolsFormat,
)

from ..diff import OPENED, common_prefix, segments
from ..probes import (
    ARGUMENT,
    CALL_IDS,
    FUNCTIONS,
    NUMBER,
    REPEATED_NAME,
    VALUE,
    Message,
    call,
)
from .call_texts import (
    CallMarkers,
    CallTexts,
    Parts,
    ToolsFinding,
    between_calls,
    markers_of,
    parts_of,
)
from .json_calls import holds_json
from .tagged_arguments import (
    KEY_SUFFIX,
    tagged_arguments,
    texts_of_markers,
    with_elements,
    without_arguments,
    without_repeated_keys,
)

__all__ = ["NAMESPACE", "find_tagged", "without_numbers"]

Position = CallIdPosition
NAMESPACE = re.compile(r"[\w-]+[.:/]\Z")
NUMBERED = re.compile(r"(?<!\w)[01](?!\w)")
COUNTED = re.compile(r"\A([^\w\s<\[]+)0")

# A rendered call is texts and slots in turn: text, name, text, key, text, value, text. The texts
# have to be divided among fifteen fields of a format, and nothing in `<do f><arg k>v</arg></do>`
# says where one of them ends and the next begins.
#
# The obvious way is to know what a tag looks like, and to take opening and closing ones for pairs.
# That finds what one has seen before; models write `Action:`, `functools[` and line breaks too. So
# a border is found by having something twice, or not at all:
#
#     one call, and two            the section's markers, each call's, the separator  (T2, T3, T4)
#     one argument, and two        where an argument ends and the next begins         (T5)
#     one argument, and none       what stands round all arguments                    (T6)
#     the id of a call             where it stands, and what stands round it          (T7)
#     a string, and a number       what stands before a value of either kind          (A1, A2)
#
# Where that leaves two markers side by side, between which nothing ever stands, each border would
# do, for the parser reads both in one. Only there `segments` decides, which does know what tags
# look like, so that the format reads as a person would have written it.
#
# A template may refuse one of these calls: two at once, or one without arguments. A comparison that
# it does not allow leaves a border where the others have put it, and is no reason to give up: what
# comes of it is proved in the end, or said not to be.


def find_tagged(calls: CallTexts) -> ToolsFinding | None:
    """Read off how a call is written; None if it is not written like this."""
    calls = without_repeated_keys(_without_repeated_names(calls))
    one = parts_of(calls(call()))
    if one is not None and one.quote and f"{one.quote}{NUMBER}" in calls(_with_number()):
        one = parts_of(calls(call()), quotes_all=True)
    if one is None:
        return None
    pair = calls(call(), call(1))
    markers = markers_of(one.before, between_calls(pair, one.tail), one.after)
    ends: tuple[str, ...] = ()
    last = pair.rpartition(VALUE)[2].removeprefix(one.tail)
    if FUNCTIONS[1] in pair and not markers.section_end.strip() and last.startswith(one.after):
        # Some templates close the section behind the second call only.
        closer = last.removeprefix(one.after)
        markers = markers._replace(section_end=markers.section_end + closer)
    if markers.section_end.strip() and not markers.section_start.strip():
        # Nothing has begun that this could end but the turn.
        ends, markers = (markers.section_end.strip(),), markers._replace(section_end="")
    call_id, one, start, end, behind = _call_id(one, markers, pair, without_arguments(calls))
    namespace = NAMESPACE.search(start) if call_id.holds_name else None
    call_id, per_call_start, name_prefix = _before_name(call_id, start)
    if one.within is None:
        arguments, name_suffix, closers = _json_arguments(one, end)
    else:
        tagged = tagged_arguments(one, end, calls)
        if tagged is None:
            return None
        arguments, name_suffix, closers = tagged
        arguments = with_elements(arguments, calls)
    if call_id.position is Position.POST_ARGS:
        *own, prefix = texts_of_markers(closers) or [""]
        arguments = replace(arguments, end=arguments.end + "".join(own))
        call_id, closers = replace(call_id, prefix=prefix), behind
    close, per_call_end = _closers(closers, wrapped=bool(per_call_start.strip()))
    close, _, close_suffix = close.partition(REPEATED_NAME)
    if namespace:
        name_prefix = name_prefix.removesuffix(namespace[0])
    markers = markers._replace(per_call_start=per_call_start, per_call_end=per_call_end)
    first = markers.first or name_prefix
    spoilt = name_prefix.lstrip().startswith('{"') and not holds_json(calls.turn(call()))
    if not first.strip() or spoilt:
        # No marker, or JSON that the template spoils: its model writes what that should be.
        return None
    return ToolsFinding(
        format=ToolsFormat(
            format=ToolFormat.TAG_WITH_JSON if one.within is None else ToolFormat.TAG_WITH_TAGGED,
            content_separator=calls.separator(first.strip()),
            supports_tools=True,
            supports_parallel_calls=FUNCTIONS[1] in pair,
            **markers.trimmed()._asdict(),
        ),
        function=FunctionFormat(
            name_prefix=name_prefix,
            name_suffix=name_suffix,
            namespace=namespace[0] if namespace else "",
            close=close,
            close_suffix=close_suffix,
        ),
        arguments=arguments,
        call_id=call_id,
        ends=ends,
    )


def _with_number() -> Message:
    """A call whose argument is no text."""
    return call(0, {ARGUMENT: NUMBER})


def _last_of(text: str) -> str:
    """The last marker of a text, or what stands behind it."""
    return (texts_of_markers(text) or [""])[-1]


def _without_repeated_names(calls: CallTexts) -> CallTexts:
    """The texts with one word for each function's name in the marker that closes its call."""
    _, _, behind = calls(call()).partition(VALUE)
    before, _, rest = behind.partition(FUNCTIONS[0])
    opened = OPENED.search(before)
    suffix = KEY_SUFFIX.match(rest)
    if opened is None or suffix is None:
        return calls
    return replace(calls, closer=(opened[0], suffix[0]))


def without_numbers(calls: CallTexts) -> CallTexts:
    """The texts with an id for the number of each call, where the tag before its name has one."""
    before = calls(call()).partition(FUNCTIONS[0])[0]
    number = next(reversed([*NUMBERED.finditer(before)]), None)
    opened = OPENED.search(before[: number.start()]) if number else None
    if number is None or opened is None:
        return calls
    prefix, suffix = opened[0], before[number.end() :]
    second = f"{prefix}{int(number[0]) + 1}{suffix}{FUNCTIONS[1]}"
    return replace(calls, number=(prefix, suffix)) if second in calls(call(), call(1)) else calls


def _call_id(
    one: Parts, markers: CallMarkers, pair: str, none: str
) -> tuple[CallIdFormat, Parts, str, str, str]:
    """T7: where the id stands.

    Returns also the parts, what begins and what ends each call without it, and, where it stands
    behind the arguments, what stands behind it.
    """
    probe, start, end = CALL_IDS[0], markers.per_call_start, markers.per_call_end
    if probe in start:
        start, _, suffix = start.partition(probe)
        found = CallIdFormat(position=Position.PRE_FUNC_NAME, suffix=suffix)
        return found, one, start, end, ""
    if probe in one.between:
        prefix, _, suffix = one.between.partition(probe)
        head = common_prefix(one.between, none)
        key = one.between[len(head) :] if probe in head else _last_of(suffix)
        key = key if one.within is not None else ""
        found = CallIdFormat(
            position=Position.BETWEEN_FUNC_AND_ARGS,
            prefix=prefix,
            suffix=suffix.removesuffix(key),
        )
        return found, replace(one, between=key), start, end, ""
    if probe in end:
        inner, _, behind = end.partition(probe)
        found = CallIdFormat(position=Position.POST_ARGS)
        return found, replace(one, after=inner), start, inner, behind
    number = NUMBERED.search(one.between)
    if number is not None and one.within is not None:
        # Calls are numbered: that is their id.
        prefix, suffix = one.between[: number.start()], one.between[number.end() :]
        if f"{FUNCTIONS[1]}{prefix}{int(number[0]) + 1}{suffix}" in pair:
            head = common_prefix(one.between, none)
            key = one.between[len(head) :] if len(head) >= number.end() else _last_of(suffix)
            found = CallIdFormat(
                position=Position.BETWEEN_FUNC_AND_ARGS,
                prefix=prefix,
                suffix=suffix.removesuffix(key),
            )
            return found, replace(one, between=key), start, end, ""
    counted = COUNTED.match(one.between)
    if counted and f"{FUNCTIONS[1]}{counted[1]}1" in pair:
        # The name with its number is what the result of the call refers to.
        found = CallIdFormat(position=Position.PRE_FUNC_NAME, holds_name=True)
        return found, replace(one, between=one.between[counted.end() :]), start, end, ""
    return CallIdFormat(), one, start, end, ""


def _before_name(call_id: CallIdFormat, start: str) -> tuple[CallIdFormat, str, str]:
    """T4: the marker of the call, and what stands between it and the name.

    Returns also the id, whose prefix stands there too where it comes first.
    """
    texts = texts_of_markers(start)
    opened = segments(start.strip())[:1]
    if len(texts) > 1:
        call_start, prefix = texts[0], "".join(texts[1:])
    elif opened and opened[0].marker:
        call_start, prefix = start, ""
    else:
        call_start, prefix = "", start
    if call_id.position is not Position.PRE_FUNC_NAME or call_id.holds_name:
        return call_id, call_start, prefix
    if call_start.strip():
        return replace(call_id, prefix=prefix), call_start, ""
    return call_id, prefix, ""


def _json_arguments(one: Parts, end: str) -> tuple[ArgumentsFormat, str, str]:
    """T6 for JSON: the text behind the object, up to the first marker, is the arguments' end.

    Returns also what ends the name, and the call's closers.
    """
    first = segments(end)[:1]
    own = first[0].text if first and not first[0].marker and first[0].text.strip() else ""
    return ArgumentsFormat(end=own, quote=one.quote), one.between, end.removeprefix(own)


def _closers(text: str, *, wrapped: bool) -> tuple[str, str]:
    """The marker that closes the function, and the one that closes the call round it."""
    texts = texts_of_markers(text)
    if len(texts) > 1:
        return "".join(texts[:-1]), texts[-1]
    return ("", text) if wrapped else (text, "")
