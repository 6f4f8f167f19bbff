"""Shared by all families of calls: turns of calls only, and the markers in these turns."""

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

from ..assistant_turns import Turns
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
from .find_content import without_reasoning

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
"""Numbers of the first two calls, counted from 0 or from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsFinding:
    """The syntax of calls in a template: groups of the wire format, and unresolved issues.

    Attributes:
        format: the tools group of the wire format.
        function: the function group.
        arguments: the arguments group.
        call_id: the call-id group.
        ends: additional end-of-turn markers of turns with calls.
        issues: descriptions of problems.
        lost: parts of the arguments lost in rendering ("strings", "escapes", "numbers").
        losses: descriptions of the entries in `lost`.
        addressed: True if calls are messages whose header names the function too.
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
    """Renders assistant turns with the requested calls.

    Attributes:
        turns: renders the turns.
        reasoning: the reasoning markers, removed from each turn.
        content: the content markers, removed from each turn.
        repeated: the texts before and after an argument name if the marker after the value repeats
            this name. Each repeated name is replaced by `REPEATED`, which makes all markers equal.
        closer: the same for the function name, replaced by `REPEATED_NAME`.
        number: the texts before and after the number of a call. The number is replaced by the id.
        header: matches the start of a call's message if it repeats the function name of the call.
    """

    turns: Turns
    reasoning: ReasoningFormat
    content: ContentFormat
    repeated: tuple[str, str] = ("", "")
    closer: tuple[str, str] = ("", "")
    number: tuple[str, str] = ("", "")
    header: re.Pattern[str] | None = None

    def turn(self, *calls: Message) -> str:
        """Return the complete turn without the `header` of each call, or ""."""
        body = self.turns.body(content="", calls=calls) or ""
        return self.header.sub("", body) if self.header else body

    def __call__(self, *calls: Message) -> str:
        """Return the turn without reasoning, content and end of turn, or "" if it has no calls.

        All calls get the id of the first call, so their texts can be compared.
        """
        body = self.turn(*calls)
        at = body.find(FUNCTIONS[0])
        if at < 0:
            return ""
        before, after = without_reasoning(body[:at], self.reasoning), body[at:]
        before = before.rpartition(CONTENT)[2]  # some templates require content before calls
        if self.content.end:  # a lone start marker counts as the section's
            before, after = self.outside(before, after)
        body = before + after
        for end in () if self.turns.frame.turn.several_messages else self.turns.frame.turn.ends:
            body = body.partition(end.strip())[0]
        body = _with_one_word(body, ARGUMENTS, self.repeated, REPEATED)
        body = _with_one_word(body, FUNCTIONS, self.closer, REPEATED_NAME)
        body = body.replace(CALL_IDS[1], CALL_IDS[0])
        return _with_one_word(body, NUMBERS, self.number, CALL_IDS[0])

    def outside(self, before: str, after: str) -> tuple[str, str]:
        """Return the texts before and after the calls without the surrounding content markers."""
        content = self.content
        empty = content.start.rstrip() + content.end.strip()
        if content.end and before.startswith(empty):
            # Empty content is written between its markers too.
            return before.removeprefix(empty), after
        if before.startswith(content.start) and after.endswith(content.end):
            # The calls are inside the content's markers.
            return before.removeprefix(content.start), after.removesuffix(content.end)
        return before, after

    def behind_content(self, first: str) -> str | None:
        """Return the whitespace between content and unmarked calls, or None if they never meet."""
        body = self.turns.body(calls=[call()]) or ""
        space, found, rest = body.partition(CONTENT)[2].partition(first)
        return space if found and not space.strip() and FUNCTIONS[0] in first + rest else None

    def separator(self, first: str, default: str = "") -> str:
        """Return the whitespace between content and `first`, the first marker of calls."""
        for then in ([], [result(), user(NEXT_USER)]) if first else ():
            body = self.turns.body(calls=[call()], then=then) or ""
            space, found, _ = body.partition(CONTENT)[2].partition(first)
            if found and not space.strip():
                return space
        return default


def _with_one_word(body: str, names: Sequence[str], around: tuple[str, str], word: str) -> str:
    """Replace each name between the two texts of `around` by `word`."""
    before, behind = around[0], around[1].rstrip()
    for name in names if before else ():
        body = body.replace(f"{before}{name}{behind}", f"{before}{word}{behind}")
    return body


class CallMarkers(NamedTuple):
    """Markers around calls: of the section, of each call, and the separator between two calls."""

    section_start: str = ""
    per_call_start: str = ""
    separator: str = ""
    per_call_end: str = ""
    section_end: str = ""

    @property
    def first(self) -> str:
        """The first marker of calls, "" if there is none."""
        return self.section_start if self.section_start.strip() else self.per_call_start

    def trimmed(self) -> CallMarkers:
        """Return the markers without the whitespace before the first one.

        This whitespace separates calls from content. If it precedes each call, it also separates
        calls.
        """
        if self.section_start.strip():
            return self._replace(section_start=self.section_start.lstrip())
        marker = self.per_call_start.lstrip()
        gap = self.per_call_start.removesuffix(marker)
        return self._replace(per_call_start=marker, separator=self.separator + gap)


def markers_of(before: str, between: str | None, after: str) -> CallMarkers:
    """Split the texts around calls into section markers, call markers and separator.

    One call shows the texts `before` and `after` it, but not the border between section markers and
    call markers. The text `between` two calls shows this border:

        before  = section_start per_call_start
        between = per_call_end separator per_call_start
        after   = per_call_end section_end

    The end marker of a call is the common prefix of `between` and `after`. Its start marker is the
    common suffix of `before` and the rest of `between`. The remaining texts are the section markers
    and the separator. If two calls cannot be rendered (None), all text belongs to each call.
    """
    if between is None:
        return CallMarkers(per_call_start=before, per_call_end=after)
    end = after if between.startswith(after) else common_prefix(between, after)
    if not end.strip() and before == between:
        end = ""  # the text precedes each call and follows the last one
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
    """One rendered call with one argument, split into its parts.

    Attributes:
        before: the text before the function name.
        between: the text between the function name and the argument name, or the arguments object.
        within: the text between argument name and value; None if the arguments are an object.
        after: the text after the value, or after the object.
        tail: the part of the object after the value.
        quote: the quotation mark of strings in the object, if it differs from JSON's.
    """

    before: str
    between: str
    within: str | None
    after: str
    tail: str = ""
    quote: str = ""


def parts_of(body: str, *, quotes_all: bool = False) -> Parts | None:
    """Split the rendering of a call with one argument; return None if a part is missing.

    Args:
        body: the rendered call.
        quotes_all: True if values of all types are quoted, so the arguments are not an object.
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
        # An object with unquoted keys and special quotation marks.
        tail = quote + "}"
        return Parts(before, between[:-1], None, after.removeprefix(tail), tail, quote)
    marked = bool(between.strip()) and bool(within.strip())
    in_lines = bool(within.strip()) and "\n" in between and "\n" in after
    if not (marked or in_lines or (within and between.strip() and after.strip())):
        return None
    return Parts(before, between, within, after)


def between_calls(pair: str, tail: str) -> str | None:
    """Return the text between the arguments of one call and the next name, or None for one call.

    Args:
        pair: the rendering of two calls.
        tail: the part of the arguments after the value.
    """
    first, found, _ = pair.partition(FUNCTIONS[1])
    if not found or VALUE not in first:
        return None
    return first.rpartition(VALUE)[2].removeprefix(tail)


def json_at(text: str, start: int) -> tuple[Any, int]:
    """Return the JSON value at `start` and its end position, or (None, 0) if it is not JSON."""
    try:
        return DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, 0
