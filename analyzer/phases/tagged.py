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

from ..diff import OPENED, common_prefix, common_suffix, segments, split
from ..probes import (
    ARGUMENT,
    ARGUMENTS,
    CALL_IDS,
    FUNCTIONS,
    MARKED,
    NUMBER,
    QUOTED,
    REPEATED,
    REPEATED_NAME,
    VALUE,
    VALUES,
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

__all__ = ["NAMESPACE", "find_tagged"]

Position = CallIdPosition
NAMESPACE = re.compile(r"[\w-]+[.:/]\Z")
KEY_SUFFIX = re.compile(r"[^\w\s<\[]*[>\])}|](?:\ue00f>)?\s*")
NUMBERED = re.compile(r"(?<!\w)[01](?!\w)")
WORD = re.compile(r"[\w.-]+")
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
    calls, key_suffix = _without_repeated_keys(_without_repeated_names(calls))
    one = parts_of(calls(call()))
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
    call_id, one, start, end, behind = _call_id(one, markers, pair, _without_arguments(calls))
    namespace = NAMESPACE.search(start) if call_id.holds_name else None
    call_id, per_call_start, name_prefix = _before_name(call_id, start)
    if one.within is None:
        arguments, name_suffix, closers = _json_arguments(one, end)
    else:
        arguments, name_suffix, closers = _tagged_arguments(one, end, calls)
        arguments = _with_elements(arguments, key_suffix, calls)
    if call_id.position is Position.POST_ARGS:
        *own, prefix = _texts(closers) or [""]
        arguments = replace(arguments, end=arguments.end + "".join(own))
        call_id, closers = replace(call_id, prefix=prefix), behind
    close, per_call_end = _closers(closers, wrapped=bool(per_call_start.strip()))
    close, _, close_suffix = close.partition(REPEATED_NAME)
    if namespace:
        name_prefix = name_prefix.removesuffix(namespace[0])
    markers = markers._replace(per_call_start=per_call_start, per_call_end=per_call_end)
    first = markers.first if markers.first.strip() else name_prefix
    if not first.strip():
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


def _without_repeated_names(calls: CallTexts) -> CallTexts:
    """The texts with one word for each function's name in the marker that closes its call."""
    _, _, behind = calls(call()).partition(VALUE)
    before, found, rest = behind.partition(FUNCTIONS[0])
    opened = OPENED.search(before)
    suffix = KEY_SUFFIX.match(rest)
    if not found or opened is None or suffix is None or not suffix[0].strip():
        return calls
    return replace(calls, closer=(opened[0], suffix[0]))


def _without_repeated_keys(calls: CallTexts) -> tuple[CallTexts, str]:
    """The texts with one word for each argument's name in the marker behind its value.

    Returns also what stands behind the name there, "" where no marker repeats it.
    """
    behind = calls(call()).partition(VALUE)[2]
    if ARGUMENT not in behind:
        return calls, ""
    before, _, rest = behind.partition(ARGUMENT)
    suffix = KEY_SUFFIX.match(rest)
    if not before.strip() or suffix is None:
        return calls, ""
    return replace(calls, repeated=(before, suffix[0])), suffix[0]


def _with_elements(
    arguments: ArgumentsFormat, key_suffix: str, calls: CallTexts
) -> ArgumentsFormat:
    """The same with what stands behind a repeated name, and the name of the items of lists."""
    if not key_suffix:
        return arguments
    suffix, found, behind = arguments.value_suffix.partition(REPEATED)
    if not found or not arguments.name_prefix.strip():
        return arguments
    arguments = replace(arguments, value_suffix=suffix, key_suffix=behind)
    listed = calls(call(0, {ARGUMENT: [VALUES[1], VALUES[0]]})).partition(ARGUMENT)[2]
    _, opened, rest = listed.partition(VALUES[1])[0].rpartition(arguments.name_prefix.strip())
    item = rest.partition(arguments.name_suffix.strip() or " ")[0].strip()
    return replace(arguments, item=item if opened and WORD.fullmatch(item) else "")


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
        key = "" if one.within is None else _texts(suffix)[-1]
        suffix = suffix.removesuffix(key)
        found = CallIdFormat(position=Position.BETWEEN_FUNC_AND_ARGS, prefix=prefix, suffix=suffix)
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
            key = one.between[len(head) :] if len(head) > number.end() else _texts(suffix)[-1]
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


def _without_arguments(calls: CallTexts) -> str:
    """What stands behind the name in a call that has no arguments."""
    return calls(call(0, {})).partition(FUNCTIONS[0])[2]


def _before_name(call_id: CallIdFormat, start: str) -> tuple[CallIdFormat, str, str]:
    """T4: the marker of the call, and what stands between it and the name.

    Returns also the id, whose prefix stands there too where it comes first.
    """
    texts = _texts(start)
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


def _tagged_arguments(one: Parts, end: str, calls: CallTexts) -> tuple[ArgumentsFormat, str, str]:
    """T5, T6, A1, A2: the markers of arguments, what ends the name, and the call's closers."""
    prefix, separator, suffix = _round_argument(one, end, calls)
    head, closers = one.between.removesuffix(prefix), end.removeprefix(suffix)
    name_suffix, closed = head, ""
    none = _without_arguments(calls)
    if none:
        shared = common_prefix(head + prefix, none)
        name_suffix = shared if head.startswith(shared) else head
    opened = head.removeprefix(name_suffix)
    if opened.strip() and none:
        rest = common_suffix(closers, none.removeprefix(name_suffix))
        closed, closers = closers.removesuffix(rest), rest
    arguments = ArgumentsFormat(
        start=opened, end=closed, name_prefix=prefix, separator=separator, value_suffix=suffix
    )
    return _with_values(arguments, one.within or "", calls), name_suffix, closers


def _round_argument(one: Parts, end: str, calls: CallTexts) -> tuple[str, str, str]:
    """T5: what begins each argument, what stands between two, and what ends each."""
    two = calls(call(0, dict(zip(ARGUMENTS, VALUES, strict=True))))
    between = two.partition(VALUES[0])[2].partition(ARGUMENTS[1])[0]
    prefix = common_suffix(one.between, between).lstrip() or segments(one.between)[-1].text
    suffix = between.removesuffix(prefix)
    if not between or not one.after.startswith(suffix):
        suffix = common_prefix(between, one.after) if between else segments(one.after)[0].text
    if end.strip() and not end.startswith(suffix):
        # White space that the section's end begins with, and arguments are separated by.
        suffix = common_prefix(suffix, end)
    return prefix, between.removeprefix(suffix).removesuffix(prefix), suffix


def _with_values(arguments: ArgumentsFormat, within: str, calls: CallTexts) -> ArgumentsFormat:
    """A1 and A2: the same with what stands between names and values, and how these are written."""
    suffix = arguments.value_suffix
    markers = [part for part in segments(within) if part.marker]
    name_suffix = _texts(within)[0] if len(markers) > 1 else within
    quoted = QUOTED.replace('"', '\\"') in calls(call(0, {ARGUMENT: QUOTED}))
    if quoted:
        within, suffix = within.removesuffix('"'), suffix.removeprefix('"')
        name_suffix = name_suffix.removesuffix('"')
    value_prefix = within.removeprefix(name_suffix)
    # What stands there before a number: the marker may say that it is no string.
    literal = calls(call(0, {ARGUMENT: NUMBER})).partition(ARGUMENT)[2].partition(str(NUMBER))[0]
    typed = literal.endswith(value_prefix) and literal != within
    types = ""
    if typed:
        truth = calls(call(0, {ARGUMENT: True})).partition(ARGUMENT)[2]
        kinds = split(name_suffix, literal.removesuffix(value_prefix))
        other = truth.removeprefix(kinds.prefix).partition(kinds.suffix or "\n")[0]
        words = [kinds.left, kinds.right, other]
        named = kinds.prefix.strip() and kinds.suffix.strip() and truth.startswith(kinds.prefix)
        if named and all(map(WORD.fullmatch, words)) and other != words[1]:
            name_suffix, types, typed = kinds.prefix, kinds.suffix, False
    escape = _escape(within, suffix, calls) if not quoted else ("", "")
    return replace(
        arguments,
        escape_start=escape[0],
        escape_end=escape[1],
        name_suffix=name_suffix,
        type_suffix=types,
        literal_name_suffix=literal.removesuffix(value_prefix) if typed else "",
        value_prefix=value_prefix,
        value_suffix=suffix,
        quoted_strings=quoted,
        python_literals=f"{literal}True" in calls(call(0, {ARGUMENT: True})),
    )


def _escape(within: str, suffix: str, calls: CallTexts) -> tuple[str, str]:
    """What stands round a string that has markup in it, and round no other."""
    shown = calls(call(0, {ARGUMENT: MARKED})).partition(ARGUMENT)[2]
    before, found, behind = shown.partition(MARKED)
    if not suffix.strip():
        return "", ""
    start, end = before.removeprefix(within), behind.partition(suffix.strip())[0]
    if not found or not before.startswith(within) or not (start.strip() and end.strip()):
        return "", ""
    return start, end


def _closers(text: str, *, wrapped: bool) -> tuple[str, str]:
    """The marker that closes the function, and the one that closes the call round it."""
    texts = _texts(text)
    if len(texts) > 1:
        return "".join(texts[:-1]), texts[-1]
    return ("", text) if wrapped else (text, "")


def _texts(text: str) -> list[str]:
    """The markers of a text and what stands between them, none of them white space alone."""
    texts: list[str] = []
    for part in segments(text):
        if texts and not texts[-1].strip():
            texts[-1] += part.text
        else:
            texts.append(part.text)
    if len(texts) > 1 and not texts[-1].strip():
        texts[-2:] = ["".join(texts[-2:])]
    return texts
