"""Phases T5, T6, A1 and A2: call arguments between markers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from deltaparse.stream import ArgumentsFormat

from ..diff import common_prefix, common_suffix, segments, split
from ..probes import (
    ARGUMENT,
    ARGUMENTS,
    FUNCTIONS,
    MARKED,
    NO_JSON,
    NUMBER,
    QUOTED,
    REPEATED,
    VALUES,
    call,
)
from .call_texts import CallTexts, Parts

__all__ = [
    "KEY_SUFFIX",
    "tagged_arguments",
    "texts_of_markers",
    "with_elements",
    "without_arguments",
    "without_repeated_keys",
]

KEY_SUFFIX = re.compile(r"[^\w\s<\[]*[>\])}|](?:\ue00f>)?\s*")
WORD = re.compile(r"[\w.-]+")
OTHERS: Mapping[str, Any] = {
    "integer": NUMBER,
    "number": 73.5,
    "boolean": True,
    "null": None,
    "array": [NUMBER],
    "object": {ARGUMENTS[1]: NUMBER},
}
"""A value of each type except string."""


@dataclass(frozen=True, slots=True)
class Around:
    """The texts before an argument's name, between name and value, and after the value."""

    prefix: str
    within: str
    suffix: str


def tagged_arguments(
    one: Parts, end: str, calls: CallTexts
) -> tuple[ArgumentsFormat, str, str] | None:
    """Return the format of arguments, the end of the name, and the call's closers.

    Returns:
        None if neither a line end nor a marker ends a value.
    """
    prefix, separator, suffix = _around_argument(one, end, calls)
    head, closers = one.between.removesuffix(prefix), end.removeprefix(suffix)
    name_suffix, closed = head, ""
    none = without_arguments(calls)
    if none:
        shared = common_prefix(head + prefix, none)
        name_suffix = shared if head.startswith(shared) else head
    opened = head.removeprefix(name_suffix)
    if opened.strip() and none:
        rest = common_suffix(closers, none.removeprefix(name_suffix))
        closed, closers = closers.removesuffix(rest), rest
    if not (prefix.strip() or closers.strip() or closed.strip()):
        return None  # the last argument would have no end
    if opened == separator:
        # The same text precedes all arguments, so it belongs to each prefix.
        prefix, opened, separator = separator + prefix, "", ""
    blank = not suffix.strip() and "\n" not in suffix
    if blank and (suffix or not prefix.strip()):
        return None
    arguments = ArgumentsFormat(
        start=opened, end=closed, name_prefix=prefix, separator=separator, value_suffix=suffix
    )
    behind = one.after.removeprefix(suffix)
    around = Around(prefix, one.within or "", suffix)
    arguments = _with_object(arguments, opened + prefix, behind, calls)
    return _with_values(arguments, around, _Others(head, behind, calls)), name_suffix, closers


def _with_object(
    arguments: ArgumentsFormat, prefix: str, behind: str, calls: CallTexts
) -> ArgumentsFormat:
    """Return the format with the markers around arguments given as text, if there are any.

    `prefix` precedes the first argument in a call, and `behind` follows the last.
    """
    before = calls(call()).partition(FUNCTIONS[0])[2].partition(ARGUMENT)[0]
    made = call()
    given = {**made, "function": {**made["function"], "arguments": NO_JSON}}
    shown = calls(given).partition(FUNCTIONS[0])[2]
    start, found, rest = shown.removeprefix(before.removesuffix(prefix)).partition(NO_JSON)
    end = rest.removesuffix(behind)
    if not found or not before.endswith(prefix) or not rest.endswith(behind):
        return arguments
    if not (start.strip() and end.strip()) or shown.startswith(start):
        return arguments
    return replace(arguments, object_start=start, object_end=end)


def without_arguments(calls: CallTexts) -> str:
    """Return the text after the name in a call without arguments."""
    return calls(call(0, {})).partition(FUNCTIONS[0])[2]


def without_repeated_keys(calls: CallTexts) -> CallTexts:
    """Replace each argument name in the marker after its value by one placeholder."""
    before, _, rest = calls(call()).partition(VALUES[0])[2].partition(ARGUMENT)
    suffix = KEY_SUFFIX.match(rest)
    if not before.strip() or suffix is None:
        return calls
    return replace(calls, repeated=(before, suffix[0]))


def with_elements(arguments: ArgumentsFormat, calls: CallTexts) -> ArgumentsFormat:
    """Add the text after a repeated name, and the element name of list items."""
    suffix, found, behind = arguments.value_suffix.partition(REPEATED)
    if not found or not arguments.name_prefix.strip():
        return arguments
    arguments = replace(arguments, value_suffix=suffix, key_suffix=behind)
    listed = calls(call(0, {ARGUMENT: [VALUES[0]]})).partition(ARGUMENT)[2]
    _, opened, rest = listed.partition(VALUES[0])[0].rpartition(arguments.name_prefix.strip())
    item = rest.partition(arguments.name_suffix.strip() or " ")[0].strip()
    return replace(arguments, item=item if opened and WORD.fullmatch(item) else "")


def texts_of_markers(text: str) -> list[str]:
    """Return the markers of a text and the texts between them; join whitespace to its successor."""
    texts: list[str] = []
    for part in segments(text):
        if texts and not texts[-1].strip():
            texts[-1] += part.text
        else:
            texts.append(part.text)
    return texts


def _around_argument(one: Parts, end: str, calls: CallTexts) -> tuple[str, str, str]:
    """T5: return the start of each argument, the separator of two, and the end of each."""
    two = calls(call(0, dict(zip(ARGUMENTS, VALUES, strict=True))))
    between = two.partition(VALUES[0])[2].partition(ARGUMENTS[1])[0]
    shared = common_suffix(one.between, between)
    prefix = shared.lstrip() or (segments(one.between)[-1].text if one.between else "")
    own = one.between.removeprefix(common_prefix(one.between, without_arguments(calls)))
    if between and not shared.strip():
        prefix = shared  # names follow whitespace only
    if between and len(own) < len(prefix) and between.endswith(own):
        prefix = own  # the end of the function's name ends a value too
    suffix = between.removesuffix(prefix)
    if not between or not one.after.startswith(suffix):
        suffix = common_prefix(between, one.after) if between else _first_of(one.after)
    # Whitespace may both separate arguments and begin the section's end.
    suffix = common_prefix(suffix, end)
    return prefix, between.removeprefix(suffix).removesuffix(prefix), suffix


def _first_of(text: str) -> str:
    """Return the first marker of a text, or the text before it."""
    parts = segments(text)
    return parts[0].text if parts else ""


def _with_values(arguments: ArgumentsFormat, around: Around, others: _Others) -> ArgumentsFormat:
    """A1 and A2: add the markers between names and values, and the notation of values."""
    calls, within, suffix = others.calls, around.within, arguments.value_suffix
    markers = [part for part in segments(within) if part.marker]
    name_suffix = texts_of_markers(within)[0] if len(markers) > 1 else within
    quoted = QUOTED.replace('"', '\\"') in calls(call(0, {ARGUMENT: QUOTED}))
    if quoted:
        within, suffix = within.removesuffix('"'), suffix.removeprefix('"')
        name_suffix = name_suffix.removesuffix('"')
    # If a string is rendered otherwise, the call contains additional text, e.g. an id.
    plain = not quoted and others.around(VALUES[0]) == around
    number = others.around(NUMBER) if plain else None
    if number is not None and (number.prefix, number.suffix) != (around.prefix, around.suffix):
        return _with_ways(arguments, around, number, others)
    value_prefix = within.removeprefix(name_suffix)
    # Markers before numbers may differ from markers before strings.
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


@dataclass(frozen=True, slots=True)
class _Others:
    """Renderings of non-string values, in a call with one argument between `head` and `behind`."""

    head: str
    behind: str
    calls: CallTexts

    def around(self, value: Any) -> Around | None:
        """Return the texts around an argument with this value, None if it is rendered otherwise."""
        rest = self.calls(call(0, {ARGUMENT: value})).partition(FUNCTIONS[0])[2]
        if not (rest.startswith(self.head) and rest.endswith(self.behind)):
            return None
        inner = rest[len(self.head) : len(rest) - len(self.behind)]
        prefix, _, more = inner.partition(ARGUMENT)
        spelled = (json.dumps(value), json.dumps(value, separators=(",", ":")), repr(value))
        for text in (value,) if isinstance(value, str) else spelled:
            within, shown, suffix = more.partition(text)
            if shown:
                return Around(prefix, within, suffix)
        return None

    def all(self) -> Iterator[tuple[str, Around]]:
        """Yield each type whose value is rendered, with the texts around the argument."""
        for kind, value in OTHERS.items():
            if (around := self.around(value)) is not None:
                yield kind, around

    @property
    def python(self) -> bool:
        """True if non-string values are written as Python literals."""
        return "True" in self.calls(call(0, {ARGUMENT: True}))


def _with_ways(
    arguments: ArgumentsFormat, text: Around, number: Around, others: _Others
) -> ArgumentsFormat:
    """Add the markers of arguments that depend on the type of the value.

    There are three notations. The marker before the name contains the type as a word. Or strings
    have additional delimiters, stored as escapes. Or each type has its own markers.
    """
    found = dict(others.all())
    python = others.python
    words = split(text.prefix, number.prefix)
    same = (text.within, text.suffix) == (number.within, number.suffix)
    kinds = {one.prefix for one in found.values()} | {text.prefix}
    if same and len(kinds) > 2 and any(map(str.isalnum, words.prefix)) and words.suffix.strip():
        return replace(
            arguments,
            name_prefix=words.prefix,
            type_suffix=words.suffix,
            type_first=True,
            name_suffix=text.within,
            python_literals=python,
        )
    if set(found.values()) == {number} and text.prefix == number.prefix:
        if text.within.startswith(number.within) and text.suffix.endswith(number.suffix):
            return replace(
                arguments,
                name_suffix=number.within,
                value_suffix=number.suffix,
                escape_start=text.within.removeprefix(number.within),
                escape_end=text.suffix.removesuffix(number.suffix),
                python_literals=python,
            )
    ways: dict[Around, list[str]] = {}
    for kind, one in found.items():
        if one != text:
            ways.setdefault(one, []).append(kind)
    if "null" not in found:
        ways[number].append("null")
    flat = [
        part
        for one, types in ways.items()
        for part in (" ".join(types), one.prefix, one.within, one.suffix)
    ]
    return replace(
        arguments, name_suffix=text.within, alternatives=tuple(flat), python_literals=python
    )


def _escape(within: str, suffix: str, calls: CallTexts) -> tuple[str, str]:
    """Return the delimiters used only around strings with markup."""
    shown = calls(call(0, {ARGUMENT: MARKED})).partition(ARGUMENT)[2]
    before, _, behind = shown.partition(MARKED)
    if not suffix.strip():
        return "", ""
    start, end = before.removeprefix(within), behind.partition(suffix.strip())[0]
    if not before.startswith(within) or not (start.strip() and end.strip()):
        return "", ""
    return start, end
