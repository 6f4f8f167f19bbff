"""Phases T4 to T7, A1 and A2: calls with the name outside JSON, and the markers of their parts."""

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
from .find_json_calls import holds_json
from .find_tagged_arguments import (
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

# A rendered call alternates between texts and slots: text, name, text, key, text, value, text. The
# texts are divided among fifteen fields of a format, but `<do f><arg k>v</arg></do>` alone does not
# show the borders between them.
#
# The obvious method recognizes tags and pairs opening with closing ones. It fails for unknown
# notations: models also write `Action:`, `functools[` and line breaks. So a border is found by
# rendering a part twice, or not at all:
#
#     one call, and two            section markers, call markers, separator            (T2, T3, T4)
#     one argument, and two        end of an argument, start of the next               (T5)
#     one argument, and zero       markers around all arguments                        (T6)
#     the id of a call             position of the id, and its delimiters              (T7)
#     a string, and a number       markers before a value of either kind               (A1, A2)
#
# Two markers may always be adjacent. Then any border works, because the parser reads both as one.
# Only in this case `segments` decides, which recognizes tags, to make the format readable.
#
# A template may reject one of these calls: two at once, or one without arguments. A rejected
# comparison leaves the border of the earlier ones unchanged, and the analysis continues. Its result
# is verified at the end, or reported as unverified.


def find_tagged(calls: CallTexts) -> ToolsFinding | None:
    """Find the format of calls between markers; return None if calls are written otherwise."""
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
        # Some templates close the section only after several calls.
        closer = last.removeprefix(one.after)
        markers = markers._replace(section_end=markers.section_end + closer)
    if markers.section_end.strip() and not markers.section_start.strip():
        # No section was opened, so this marker ends the turn.
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
        # Either no marker, or invalid JSON from the template; its model writes valid JSON.
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
    """Return a call with a number as its argument."""
    return call(0, {ARGUMENT: NUMBER})


def _last_of(text: str) -> str:
    """Return the last marker of a text, or the text after it."""
    return (texts_of_markers(text) or [""])[-1]


def _without_repeated_names(calls: CallTexts) -> CallTexts:
    """Replace the function name in each closing marker by one placeholder."""
    _, _, behind = calls(call()).partition(VALUE)
    before, _, rest = behind.partition(FUNCTIONS[0])
    opened = OPENED.search(before)
    suffix = KEY_SUFFIX.match(rest)
    if opened is None or suffix is None:
        return calls
    return replace(calls, closer=(opened[0], suffix[0]))


def without_numbers(calls: CallTexts) -> CallTexts:
    """Replace the number of each call by an id if the tag before its name contains a number."""
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
    """T7: find the position of the id.

    Returns:
        The format of the id, the parts without the id, the start and the end of each call, and the
        text after the id if it follows the arguments.
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
        # The number of a call serves as its id.
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
        # Results refer to a call by its name and number, so both are the id.
        found = CallIdFormat(position=Position.PRE_FUNC_NAME, holds_name=True)
        return found, replace(one, between=one.between[counted.end() :]), start, end, ""
    return CallIdFormat(), one, start, end, ""


def _before_name(call_id: CallIdFormat, start: str) -> tuple[CallIdFormat, str, str]:
    """T4: split the text before the name into the call marker and the name prefix.

    The id format is returned too. If the id precedes the name, the text before it is its prefix.
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
    """T6 for JSON: return the arguments' format, the end of the name, and the call's closers.

    The text between the object and the first marker is the end of the arguments.
    """
    first = segments(end)[:1]
    own = first[0].text if first and not first[0].marker and first[0].text.strip() else ""
    return ArgumentsFormat(end=own, quote=one.quote), one.between, end.removeprefix(own)


def _closers(text: str, *, wrapped: bool) -> tuple[str, str]:
    """Return the marker that closes the function, and the one that closes the surrounding call."""
    texts = texts_of_markers(text)
    if len(texts) > 1:
        return "".join(texts[:-1]), texts[-1]
    return ("", text) if wrapped else (text, "")
