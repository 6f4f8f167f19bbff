"""The markers of a wire format, ready to be looked for in each place of a turn.

What must be known: at each place, which markers end the text that is read there, and what the one
that was found means. A marker counts where it can mean something: a closer of calls in the middle
of reasoning is text. So each place has a set of its own. One set for all places, and a look
at what was found, would be simpler, and wrong twice: a marker that means nothing here would hold
text back and wake the reader, and would hide a shorter one that begins at the same character.

What it must not cost: anything that grows with the parsers or the chunks. Tables are made once for
a format (30 us, and as much as 500 us where the patterns of its sets are new); readers find the
sets as attributes. Equal sets are one `Markers` object, whatever the format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from deltaparse.partial import Markers, compact_json, marker_set

from .call_fields import IN_CONSTRAINED, KNOWN_FIELDS, SAYS_NOTHING, own_fields, own_keys
from .channel_markers import ChannelMarkers
from .derived import DerivedFormat
from .fast_json_patterns import usual_head
from .fast_tag_patterns import UsualTags, usual_tags
from .format import CallIdPosition, ContentMode, ToolFormat, ToolsFormat, WireFormat
from .json_calls import in_json
from .next_call import next_call
from .other_form import other_form
from .other_roles import OtherRoles
from .section_markers import (
    FENCES,
    MarkerSpelling,
    Role,
    another_call,
    as_markers,
    content_spelled,
    cores,
    header_ends,
    heads_of_calls,
    known_alone,
    other_start,
    reasoning_spelled,
    spelled,
)
from .spellings import is_prose, length, stripped

__all__ = ["MarkerTables", "marker_tables"]

# What calls begin with that stand in no markers.
JSON_CALL, PYTHON_CALL = re.compile(r"\{"), re.compile(r"[\[\w]")
JSON_CALLS = re.compile(r"[\[{]")


class CallOpeners(NamedTuple):
    """Markers without white space that calls may begin with, each "" if the format has none.

    prefix:     what stands before a name in tags.
    code:       what stands before code that is one argument.
    section:    what opens a section of calls.
    separator:  what stands before the marker of a call that is behind another.
    """

    prefix: str
    code: str
    section: str
    separator: str


class MarkerTables:
    """What readers look for in each place of a turn.

    fmt:       the format; where calls are constrained, as `in_json` makes it.
    calls:     tool syntax means something; otherwise it is text, and no set has markers of calls.
    exact:     a call counts only in the format's own spelling, to the letter.
    channels:  the markers of a turn in channels.
    in_message:  what is looked for in a message to a function, where calls have a syntax of their
               own there; else None.

    in_content:          content that stands in no markers.
    in_content_start:    text where content in markers may begin.
    in_content_end:      content in markers.
    in_reasoning:        reasoning; `in_reasoning_only` where calls in it are reasoning too.
    behind_draft:        the same behind a call in it, where more calls of its section may stand.
    at_start:            where the turn begins: the header once more.
    at_edge:             behind a marker and white space.
    after_call:          behind a call, where also what closes its section may stand.
    after_bad_call:      the rest of a call that broke off.
    after_end:           behind an end-of-turn marker.
    after_stray:         behind a closer of calls that closes none.
    reasoning_start:     the starts of reasoning alone.
    reasoning_ends:      the cores of what ends reasoning, by that of what opens it.
    content_opened:      the start of content that every turn has, which may stand where reasoning
                         was opened and left empty.
    call_starts:         the markers that calls begin with.
    call_openers:        those of them that change what is read behind them.
    separators:          what may stand between two calls in no markers.
    says_nothing:        the values in JSON of members that say nothing, by their keys.
    bracketed:           the markers that begin like a list.
    longest:             characters of the longest marker.
    closes_behind:       a marker that closes a call stands behind arguments that end by themselves.
    content_space:       the white space that the template writes before a turn's content.

    at_line_start:       the markers of calls and of content that are words, and stand behind a
                         line break in the format: in the middle of a line they are text.
    turn_ends:           what ends the turn, if nothing but markers follow it.
    stray_ends:          ends of reasoning, in content: they are text, and reported.
    stray_closers:       closers of calls that are known for such without their opener.
    role_in_text:        what each marker means in text, and behind a section that is no call.
    role_behind_call:    the same behind a call, where code blocks end and nothing is stray.
    other_roles:         the headers of other roles, which may follow the end of the turn.

    opens_reasoning:     the turn begins with reasoning that no marker opens.
    unmarked:            calls stand in no markers; `unmarked_call` matches what one begins with,
                         where a turn or a part of it begins.
    reads_separators:    what begins or separates calls may be a mere bracket or comma.
    unproven:            no marker says that a call is one (`DerivedFormat.unproven_calls`).
    like_text:           text beside a call may be about it (`DerivedFormat.like_text`).
    structural_only:        the same, and the name stands in the call: only what stands there tells.
    constrained:         calls are unmarked JSON whatever the format: the request said so, and
                         nothing must be told by its look. The markers of the format's own calls
                         are looked for, to be left out.
    id_before_call:      a call is not emitted before its id is read, in it or behind it.
    derived:             those of `fmt`, which is not the format's where calls are `constrained`.
    fields:              what the keys of a JSON call hold.
    own_keys:            by some of the fields, the keys that are the format's own.
    overrun:             what proves that a string in a call was not closed; None if nothing does.
    usual_head:          patterns for how a JSON call begins, None where there are none.
    also:                whether calls have a second form: `other_form`.
    """

    __slots__ = (
        "_by_literal",
        "_usual_tags",
        "after_bad_call",
        "after_call",
        "after_end",
        "after_stray",
        "also",
        "at_edge",
        "at_line_start",
        "at_start",
        "behind_draft",
        "bracketed",
        "call_openers",
        "call_starts",
        "calls",
        "channels",
        "closes_behind",
        "constrained",
        "content_opened",
        "content_space",
        "derived",
        "exact",
        "fields",
        "fmt",
        "id_before_call",
        "in_content",
        "in_content_end",
        "in_content_start",
        "in_message",
        "in_reasoning",
        "in_reasoning_only",
        "like_text",
        "longest",
        "opens_reasoning",
        "other_roles",
        "overrun",
        "own_keys",
        "reads_separators",
        "reasoning_ends",
        "reasoning_start",
        "role_behind_call",
        "role_in_text",
        "says_nothing",
        "separators",
        "stray_closers",
        "stray_ends",
        "structural_only",
        "turn_ends",
        "unmarked",
        "unmarked_call",
        "unproven",
        "usual_head",
    )

    def __init__(
        self, fmt: WireFormat, *, calls: bool, exact: bool = False, constrained: bool = False
    ) -> None:
        reasoning, tools, derived = fmt.reasoning, fmt.tools, fmt.derived
        self.fmt = in_json(fmt) if constrained else fmt
        self.derived = self.fmt.derived
        self.calls, self.exact, self.constrained = calls, exact, constrained
        self.channels, self.in_message = ChannelMarkers(fmt), _in_message(self.fmt, calls=calls)
        calls = calls and derived.has_calls and not derived.has_channels
        self.unmarked = calls and derived.unmarked_calls and not constrained
        self.unproven = calls and derived.unproven_calls and not constrained
        self.like_text = calls and derived.like_text and not constrained
        self.opens_reasoning = derived.has_reasoning and not reasoning.start.strip()
        self._know_calls(tools)
        self.reasoning_ends = _ends_by_start(fmt)
        start, end = reasoning_spelled(fmt)
        content_start, content_end = content_spelled(fmt)
        self.content_space, self.content_opened = _before_content(fmt, content_start)
        openers = (*derived.openers, fmt.code.start) if calls else ()
        tool_start = spelled(Role.TOOL_START, openers, tools.content_separator)
        begins, follows = _that_begin(tool_start, derived)
        another = another_call(self.fmt) if calls else []
        tool_end = spelled(Role.TOOL_END, derived.closers if calls else ())
        # Where a turn has several messages, the end of one is that of the call in it.
        message_end = spelled(Role.TOOL_END, self.channels.ends)
        turn_end = spelled(Role.TURN_END, fmt.turn.ends)
        fences = list(FENCES) if constrained else []
        header = spelled(
            Role.HEADER, [end for text in fmt.turn.headers for end in header_ends(text)]
        )

        # Two markers may be spelled alike, and what is found has one meaning. They rank by what
        # is lost when the one is taken for the other. An end of reasoning that is missed makes
        # the answer reasoning; a start that is missed makes a section or a call content; a closer
        # that is missed is a few characters of text. What closes a call often ends the turn too,
        # and then the call is whole, not cut off: so the end of the turn ranks below. Any marker
        # may stand in a header, so its ends come last.
        openings = (start, content_start, fences, tool_start)
        inner = (end, *openings, tool_end, content_end, message_end)
        ranked = (*inner, turn_end, header, another, other_start(fmt))
        self._by_literal = {one.literal: one for group in reversed(ranked) for one in group}
        self.longest = max(map(length, self._by_literal), default=0)
        self.bracketed = marker_set(text for text in self._by_literal if text[:1] == "[")

        # A stray marker needs no white space before it: that is content by then. What ends
        # reasoning and begins as the end of a turn is that, and what follows.
        lone_end = [] if derived.shares_end else cores(end)
        lone_closer = known_alone(
            cores(tool_end), openers, others=(end, *openings, content_end, message_end)
        )
        anywhere = start + begins + turn_end + other_start(fmt)
        at_edge = anywhere + content_start + content_end + end + lone_closer + fences
        text = heads_of_calls(fmt) * self.unmarked + anywhere + lone_end + lone_closer
        self.in_content = as_markers(text + message_end)
        self.in_content_start = as_markers(text + content_start)
        self.in_content_end = as_markers(text + (content_end or content_start))
        only = turn_end + (content_start + begins if derived.next_ends_reasoning else end)
        self.in_reasoning, self.in_reasoning_only, self.behind_draft = map(
            as_markers, (only + begins, only, only + follows)
        )
        self.at_edge = as_markers(at_edge)
        self.after_call = as_markers(at_edge + follows + tool_end + another)
        self.after_bad_call = as_markers(follows + tool_end + message_end + turn_end)
        self.after_end = as_markers(anywhere + content_start + header + lone_closer)
        self.after_stray = as_markers(at_edge + tool_end + header)
        self._sort_out_strays(
            lone_end, lone_closer, turn_end, others=(*openings, tool_end, content_end)
        )
        known = {one.literal for group in (*inner, turn_end) for one in group}
        self._know_roles()
        self.other_roles = OtherRoles(fmt.turn.headers, known)
        self.reasoning_start, self.at_start, self.call_starts = map(
            as_markers,
            (start, header, tool_start + another + fences + _beside(fmt, constrained=constrained)),
        )

    def _know_calls(self, tools: ToolsFormat) -> None:
        """Say what unmarked calls begin with, and what means something in a call."""
        exact, constrained = self.exact, self.constrained
        self.reads_separators = self.unmarked or constrained
        json_call = JSON_CALLS if tools.array_wrapped or constrained else JSON_CALL
        pythonic = tools.format is ToolFormat.PYTHONIC and not constrained
        ends = stripped(self.derived.closers) - stripped(self.fmt.turn.ends)
        closes = bool(ends) or self.derived.closes_by_name
        self.closes_behind = closes and tools.format is not ToolFormat.TAG_WITH_TAGGED
        self.structural_only = self.unproven and not self.derived.is_tagged
        self.unmarked_call = PYTHON_CALL if pythonic else json_call
        behind = self.fmt.call_id.position is CallIdPosition.POST_ARGS
        in_json = self.fmt.tools.format is ToolFormat.JSON_NATIVE
        self.id_before_call = (in_json and self.derived.writes_ids) or behind
        function, code = self.fmt.function, self.fmt.code
        self.call_openers = CallOpeners(
            function.name_prefix.strip() if self.fmt.derived.is_tagged else "",
            code.start.strip() if code.function else "",
            tools.section_start.strip(),
            tools.separator.strip() if self.derived.separated_openers else "",
        )
        self.separators = marker_set([",", ";", tools.separator.strip()])
        own = own_fields(self.fmt.tools)
        self.fields = own if exact else KNOWN_FIELDS | own
        self.own_keys = IN_CONSTRAINED if constrained else own_keys(tools)
        constants = zip(tools.constants[::2], tools.constants[1::2], strict=False)
        self.says_nothing = SAYS_NOTHING | {
            key: {compact_json(value), "null"} for key, value in constants
        }
        self.overrun = next_call(self.fmt)
        self.usual_head = None
        in_order = not (self.unproven or tools.name_is_key or self.id_before_call)
        if in_order and self.fmt.tools.format is ToolFormat.JSON_NATIVE:
            firsts = self.overrun.markers.firsts if self.overrun else ""
            keys = self.fmt.tools.name_field, self.fmt.tools.arguments_field
            self.usual_head = usual_head(*keys, firsts)
        self._usual_tags: list[UsualTags | None] = []
        self.also = self.fmt.tools.also is not ToolFormat.NONE

    # Patterns are compiled when they are asked for: most turns have no call, many have one.

    @property
    def usual_tags(self) -> UsualTags | None:
        """Patterns for a call in tags, None where there are none."""
        if not self._usual_tags:
            told = self.fmt.derived.is_tagged and not (self.unproven or self.id_before_call)
            self._usual_tags.append(usual_tags(self.fmt) if told else None)
        return self._usual_tags[0]

    def other_form(self) -> MarkerTables:
        """The tables of calls in their second form, where they may have one."""
        other = other_form(self.fmt)
        return self if other is None else marker_tables(other, calls=self.calls, exact=self.exact)

    def _sort_out_strays(
        self,
        ends: list[MarkerSpelling],
        closers: list[MarkerSpelling],
        turn_ends: list[MarkerSpelling],
        others: tuple[list[MarkerSpelling], ...],
    ) -> None:
        """Say which markers may be none: no end of a turn, and none of `others`, is spelled so."""
        ending = (Role.TURN_END, Role.TOOL_END)
        literals = [one.literal for one in turn_ends]
        self.turn_ends = frozenset(text for text in literals if self.role(text) in ending)
        known = frozenset(one.literal for group in (*others, turn_ends) for one in group)
        self.stray_ends = frozenset(one.literal for one in ends) - known
        self.stray_closers = frozenset(one.literal for one in closers) - self.turn_ends

    def _know_roles(self) -> None:
        """Say what a marker means that stands in text, or behind a call."""
        roles = {literal: spelling.role for literal, spelling in self._by_literal.items()}
        begin = (Role.TOOL_START, Role.CONTENT_START)
        self.at_line_start = _at_line_start(text for text, role in roles.items() if role in begin)
        fences = [literal for literal, role in roles.items() if role is Role.FENCE]
        self.role_behind_call = roles | dict.fromkeys(fences, Role.TOOL_END)
        self.role_in_text = (
            roles
            | dict.fromkeys(fences, Role.TOOL_START)
            | dict.fromkeys(self.stray_closers, Role.STRAY_CLOSER)
            | dict.fromkeys(self.turn_ends, Role.TURN_END)
        )

    def role(self, marker: str) -> Role:
        """What a marker means; one that is none of the format's begins an unmarked call."""
        spelling = self._by_literal.get(marker)
        return spelling.role if spelling else Role.TOOL_START

    def ends_calls(self, marker: str) -> bool:
        """Whether a marker behind a call ends calls."""
        return self.role_behind_call.get(marker) is Role.TOOL_END

    def begins_calls(self, marker: str) -> bool:
        """Whether it begins one."""
        return self.role_behind_call.get(marker) is Role.TOOL_START

    def trailing(self, marker: str) -> str:
        """The white space that the template writes after a marker."""
        return self._by_literal[marker].trailing


def marker_tables(
    fmt: WireFormat, *, calls: bool, exact: bool = False, constrained: bool = False
) -> MarkerTables:
    """The `MarkerTables` of a format, made once.

    `calls`: whether tool syntax means something; `exact`: to the letter only; `constrained`:
    calls are unmarked JSON.
    """
    made: dict[tuple[bool, bool, bool], MarkerTables] = fmt.derived.tables
    tables = made.get((calls, exact, constrained))
    if tables is None:
        tables = made[calls, exact, constrained] = _tables(
            fmt, calls=calls, exact=exact, constrained=constrained
        )
    return tables


@lru_cache(maxsize=256)
def _tables(fmt: WireFormat, *, calls: bool, exact: bool, constrained: bool) -> MarkerTables:
    """The same for equal formats."""
    return MarkerTables(fmt, calls=calls, exact=exact, constrained=constrained)


def _at_line_start(literals: Iterable[str]) -> frozenset[str]:
    """Those that are words and stand behind a line break too, in the format's own spelling."""
    known = frozenset(literals)
    return frozenset(text for text in known if is_prose(text) and f"\n{text}" in known)


def _that_begin(
    openers: list[MarkerSpelling], derived: DerivedFormat
) -> tuple[list[MarkerSpelling], list[MarkerSpelling]]:
    """The openers that begin a call alone, and those that begin one behind another."""
    inner = stripped(derived.inner_openers)
    begins = [one for one in openers if one.literal.strip() not in inner]
    return begins, openers if derived.token_sections else begins


def _before_content(fmt: WireFormat, start: list[MarkerSpelling]) -> tuple[str, Markers]:
    """The white space before plain content, and the marker of content that every turn has."""
    content = fmt.content
    plain = content.mode is ContentMode.PLAIN and not content.start.strip()
    always = content.mode is ContentMode.ALWAYS_WRAPPED and not fmt.derived.next_ends_reasoning
    return content.start if plain else "", as_markers(start if always else [])


def _beside(fmt: WireFormat, *, constrained: bool) -> list[MarkerSpelling]:
    """What stands round the calls in a message of a channel, and so may stand round JSON there."""
    derived = fmt.derived
    markers = (*derived.openers, *derived.closers) if constrained and derived.has_channels else ()
    return spelled(Role.TOOL_START, markers)


def _in_message(fmt: WireFormat, *, calls: bool) -> MarkerTables | None:
    """The tables of calls in a message, which ends where messages do."""
    if not (calls and fmt.derived.calls_in_messages):
        return None
    none = WireFormat()
    inner = fmt.replace(
        turn={"headers": (), "ends": (*fmt.channels.ends, *fmt.turn.ends)},
        reasoning=none.reasoning,
        content=none.content,
        channels=none.channels,
    )
    return marker_tables(inner, calls=True)


def _ends_by_start(fmt: WireFormat) -> Mapping[str, frozenset[str]]:
    """The cores of the ends of reasoning by that of its start."""
    found: dict[str, set[str]] = {}
    for start, end in fmt.reasoning.pairs:
        found.setdefault(start.strip(), set()).add(end.strip())
    return {start: frozenset(ends) for start, ends in found.items()}
