"""What all families of calls are read off: turns of nothing but calls, and the markers in them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from deltaparse.stream import (
    ArgumentsFormat,
    CallIdFormat,
    ContentFormat,
    FunctionFormat,
    ReasoningFormat,
    ToolsFormat,
)

from ..diff import common_prefix, common_suffix
from ..probes import (
    ARGUMENT,
    ARGUMENTS,
    CALL_IDS,
    CONTENT,
    FUNCTIONS,
    NEXT_USER,
    REPEATED,
    REPEATED_NAME,
    VALUE,
    Message,
    call,
    result,
    user,
)
from ..turns import Turns
from .content import without_reasoning

__all__ = [
    "CallMarkers",
    "CallTexts",
    "Parts",
    "ToolsFinding",
    "between_calls",
    "json_at",
    "markers_of",
    "parts_of",
]

DECODER = json.JSONDecoder()
NUMBERS = ("0", "1", "2")
"""What numbers the first two calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsFinding:
    """How a template writes calls: groups of the wire format, and what could not be found out.

    `ends` are the end-of-turn markers of turns that have calls, beside those of every turn; `lost`
    is what of the arguments the template does not show ("strings", "escapes", "numbers"), `losses`
    the same in words; `addressed`: calls stand in messages whose header names the function too.
    """

    format: ToolsFormat = field(default_factory=ToolsFormat)
    function: FunctionFormat = field(default_factory=FunctionFormat)
    arguments: ArgumentsFormat = field(default_factory=ArgumentsFormat)
    call_id: CallIdFormat = field(default_factory=CallIdFormat)
    ends: tuple[str, ...] = ()
    issues: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    addressed: bool = False


@dataclass(frozen=True, slots=True)
class CallTexts:
    """The assistant's turns of a template, each with the calls that are asked for.

    `repeated` is what stands before and behind an argument's name where the marker behind its value
    repeats it; there it is written as one word, `REPEATED`, so that all such markers are alike.
    `closer` is the same of the function's name, which is written as `REPEATED_NAME`; `number` is
    what stands before and behind the number of a call, which is written as its id.
    `header` matches what begins the message of a call, where that names the function as the call in
    it does again.
    """

    turns: Turns
    reasoning: ReasoningFormat
    content: ContentFormat
    repeated: tuple[str, str] = ("", "")
    closer: tuple[str, str] = ("", "")
    number: tuple[str, str] = ("", "")
    header: re.Pattern[str] | None = None

    def turn(self, *calls: Message) -> str:
        """Return the complete turn without the `header` of each call, "" if it is not rendered."""
        body = self.turns.body(content="", calls=calls) or ""
        return self.header.sub("", body) if self.header else body

    def __call__(self, *calls: Message) -> str:
        """The turn without what belongs to reasoning, content or its end, "" if there is none.

        All calls have the id of the first, so that their texts can be compared.
        """
        body = self.turn(*calls)
        at = body.find(FUNCTIONS[0])
        if at < 0:
            return ""
        before, after = without_reasoning(body[:at], self.reasoning), body[at:]
        before = before.rpartition(CONTENT)[2]  # some templates show calls beside content only
        if self.content.end:  # a start marker alone is taken for the section's
            before, after = self.outside(before, after)
        body = before + after
        for end in () if self.turns.frame.turn.several_messages else self.turns.frame.turn.ends:
            body = body.partition(end.strip())[0]
        body = _with_one_word(body, ARGUMENTS, self.repeated, REPEATED)
        body = _with_one_word(body, FUNCTIONS, self.closer, REPEATED_NAME)
        body = body.replace(CALL_IDS[1], CALL_IDS[0])
        return _with_one_word(body, NUMBERS, self.number, CALL_IDS[0])

    def outside(self, before: str, after: str) -> tuple[str, str]:
        """What stands before and after calls, without the content's markers round them."""
        content = self.content
        empty = content.start.rstrip() + content.end.strip()
        if content.end and before.startswith(empty):
            # Content is written, if there is none too.
            return before.removeprefix(empty), after
        if before.startswith(content.start) and after.endswith(content.end):
            # The calls stand in the content's markers, which are not theirs.
            return before.removeprefix(content.start), after.removesuffix(content.end)
        return before, after

    def behind_content(self, first: str) -> str | None:
        """Return the whitespace between content and unmarked calls, None if they are not adjacent."""
        body = self.turns.body(calls=[call()]) or ""
        space, found, rest = body.partition(CONTENT)[2].partition(first)
        return space if found and not space.strip() and FUNCTIONS[0] in first + rest else None

    def separator(self, first: str, default: str = "") -> str:
        """The white space between content and `first`, the first marker of calls."""
        for then in ([], [result(), user(NEXT_USER)]) if first else ():
            body = self.turns.body(calls=[call()], then=then) or ""
            space, found, _ = body.partition(CONTENT)[2].partition(first)
            if found and not space.strip():
                return space
        return default


def _with_one_word(body: str, names: Sequence[str], around: tuple[str, str], word: str) -> str:
    """The text with one word in the place of each name that stands between two texts."""
    before, behind = around[0], around[1].rstrip()
    for name in names if before else ():
        body = body.replace(f"{before}{name}{behind}", f"{before}{word}{behind}")
    return body


class CallMarkers(NamedTuple):
    """What stands round calls: before and after all, before and after each, and between two."""

    section_start: str = ""
    per_call_start: str = ""
    separator: str = ""
    per_call_end: str = ""
    section_end: str = ""

    @property
    def first(self) -> str:
        """The marker that calls begin with, "" if there is none."""
        return self.section_start if self.section_start.strip() else self.per_call_start

    def trimmed(self) -> CallMarkers:
        """The same without the white space before the first marker.

        It separates the calls from content, and, where it begins each call, these as well.
        """
        if self.section_start.strip():
            return self._replace(section_start=self.section_start.lstrip())
        marker = self.per_call_start.lstrip()
        gap = self.per_call_start.removesuffix(marker)
        return self._replace(per_call_start=marker, separator=self.separator + gap)


def markers_of(before: str, between: str | None, after: str) -> CallMarkers:
    """Tell the markers of each call from those of the section, and both from the separator.

    One call shows what stands `before` and `after` it, but not where in that the section's
    markers end and its own begin. What two calls have `between` them shows it:

        before  = section_start per_call_start
        between = per_call_end separator per_call_start
        after   = per_call_end section_end

    So a call's end is what `between` begins with of `after`, and its start what the rest of
    `between` ends with of `before`; what is left of the three are separator and section. Where
    there are no two calls (None), all of it is taken for the markers of each.
    """
    if between is None:
        return CallMarkers(per_call_start=before, per_call_end=after)
    end = after if between.startswith(after) else common_prefix(between, after)
    if not end.strip() and before == between:
        end = ""  # it stands before each call, and behind the last
    rest = between.removeprefix(end)
    start = before if rest.endswith(before) else common_suffix(rest, before)
    return CallMarkers(
        section_start=before.removesuffix(start),
        per_call_start=start,
        separator=rest.removesuffix(start),
        per_call_end=end,
        section_end=after.removeprefix(end),
    )


@dataclass(frozen=True, slots=True)
class Parts:
    """One call with one argument, taken apart.

    Attributes:
        before: the text before the function's name.
        between: the text between that and the argument's name, or the object of all arguments.
        within: the text between the argument's name and its value; None where they are an object.
        after: the text behind the value, or the object.
        tail: what of the object stands behind the value.
        quote: what stands round the object's strings, where that is not JSON's.
    """

    before: str
    between: str
    within: str | None
    after: str
    tail: str = ""
    quote: str = ""


def parts_of(body: str, *, quotes_all: bool = False) -> Parts | None:
    """Take the rendering of a call with one argument apart; None if it is not all there.

    `quotes_all`: what stands round strings stands round all values, so that they are in no object.
    """
    before, _, rest = body.partition(FUNCTIONS[0])
    if ARGUMENT not in rest or VALUE not in rest[rest.index(ARGUMENT) :]:
        return None
    begin = rest.rfind("{", 0, rest.index(ARGUMENT))
    made, end = json_at(rest, max(begin, 0))
    if made == {ARGUMENT: VALUE}:
        tail = rest[rest.index(VALUE) + len(VALUE) : end]
        return Parts(before, rest[:begin], None, rest[end:], tail)
    between, _, rest = rest.partition(ARGUMENT)
    within, _, after = rest.partition(VALUE)
    quote = within.lstrip().removeprefix(":").strip()
    own = between.endswith("{") and len(quote) > 1 and not quotes_all
    if own and after.startswith(quote + "}"):
        # An object with unquoted keys, and quotes of its own.
        tail = quote + "}"
        return Parts(before, between[:-1], None, after.removeprefix(tail), tail, quote)
    marked = bool(between.strip()) and bool(within.strip())
    in_lines = bool(within.strip()) and "\n" in between and "\n" in after
    if not (marked or in_lines or (within and between.strip() and after.strip())):
        return None
    return Parts(before, between, within, after)


def between_calls(pair: str, tail: str) -> str | None:
    """What stands between the arguments of two calls and the second's name; None without two.

    `tail` is what of the arguments stands behind the value.
    """
    first, found, _ = pair.partition(FUNCTIONS[1])
    if not found or VALUE not in first:
        return None
    return first.rpartition(VALUE)[2].removeprefix(tail)


def json_at(text: str, start: int) -> tuple[Any, int]:
    """The JSON value that begins at `start` and where it ends, 0 if there is none."""
    try:
        return DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, 0
