"""The markers of a wire format, ready to be looked for in each place of a turn.

What must be known: at each place, which markers end the text that is read there, and what the one
that was found means. A marker counts where it can mean something: a closer of calls in the middle
of reasoning is text. So each place has a set of its own. One set for all places, and a look
at what was found, would be simpler, and wrong twice: a marker that means nothing here would hold
text back and wake the reader, and would hide a shorter one that begins at the same character.

What it must not cost: anything that grows with the parsers or the chunks. Tables are made once for
a format (30 us, and as much as 500 us where the patterns of its sets are new); readers find the
sets as attributes. Equal sets are one `Markers` object, whatever the format.

White space at a marker's edges is optional on the wire. So readers look for a marker's spellings,
the core behind as much of its leading white space as stands there, and skip its trailing white
space afterwards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import ClassVar, NamedTuple

from deltaparse.partial import Markers, compact_json, marker_set

from .channel_markers import ChannelMarkers
from .format import CallIdPosition, ContentMode, ToolFormat, ToolsFormat, WireFormat
from .json_calls import in_json
from .next_call import next_call
from .other_roles import OtherRoles
from .spellings import is_prose, leading, length, preceded, tag_starts, trailing, word_core
from .usual_head import usual_head
from .usual_tags import UsualTags, usual_tags

__all__ = ["Field", "MarkerTables", "Role", "marker_tables"]

# What calls begin with that stand in no markers.
JSON_CALL, PYTHON_CALL = re.compile(r"\{"), re.compile(r"[\[\w]")
JSON_CALLS = re.compile(r"[\[{]")


class Role:
    """What a marker means; no `Enum`, as `Before` is none.

    HEADER:           the end of the turn's header, which models write once more.
    REASONING_START, REASONING_END, CONTENT_START, CONTENT_END:  the edges of these sections.
    TOOL_START:       calls begin.
    TOOL_END:         a call ends, or all of them.
    STRAY_CLOSER:     the same in content, where none is open.
    TURN_END:         the turn ends.
    FENCE:            a code block begins, and ends behind a call.
    """

    __slots__ = ()

    HEADER: ClassVar[Role]
    REASONING_START: ClassVar[Role]
    REASONING_END: ClassVar[Role]
    CONTENT_START: ClassVar[Role]
    CONTENT_END: ClassVar[Role]
    TOOL_START: ClassVar[Role]
    TOOL_END: ClassVar[Role]
    STRAY_CLOSER: ClassVar[Role]
    TURN_END: ClassVar[Role]
    FENCE: ClassVar[Role]


Role.HEADER, Role.REASONING_START, Role.REASONING_END = Role(), Role(), Role()
Role.CONTENT_START, Role.CONTENT_END, Role.TURN_END = Role(), Role(), Role()
Role.TOOL_START, Role.TOOL_END, Role.STRAY_CLOSER, Role.FENCE = Role(), Role(), Role(), Role()


class Field(Enum):
    """What a key of a JSON call holds; `FUNCTION`: an object with name and arguments."""

    NAME = auto()
    ARGUMENTS = auto()
    ID = auto()
    FUNCTION = auto()
    TYPE = auto()


KNOWN_FIELDS: dict[str, Field] = {
    "name": Field.NAME,
    "arguments": Field.ARGUMENTS,
    "parameters": Field.ARGUMENTS,
    "args": Field.ARGUMENTS,
    "input": Field.ARGUMENTS,
    "id": Field.ID,
    "function": Field.FUNCTION,
    "type": Field.TYPE,
}
"""What keys mean that all models know, also where the format has others."""


SAYS_NOTHING = {"type": {'"function"', "null"}}
"""What members have beside name and arguments in templates that write all of a call."""

IN_CONSTRAINED: dict[Field, set[str]] = {
    Field.NAME: {"name"},
    Field.ARGUMENTS: {"arguments", "parameters"},
    Field.FUNCTION: set(),
}
"""The keys of a call that a server constrained the model to write."""


@dataclass(frozen=True, slots=True)
class MarkerSpelling:
    """One spelling of a marker; `trailing` is the white space that the template writes after it."""

    literal: str
    role: Role
    trailing: str


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


FENCES = (
    MarkerSpelling("```json", Role.TOOL_START, "\n"),
    MarkerSpelling("```", Role.FENCE, "\n"),
)
"""What stands round a code block; at the edges of a text only."""


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
    unproven:            no marker says that a call is one (`Facts.unproven_calls`).
    told_by_look:        the same, and the name stands in the call: only what stands there tells.
    constrained:         calls are unmarked JSON whatever the format: the request said so, and
                         nothing must be told by its look. The markers of the format's own calls
                         are looked for, to be left out.
    id_before_call:      a call is not emitted before its id is read, in it or behind it.
    facts:               those of `fmt`, which is not the format's where calls are `constrained`.
    fields:              what the keys of a JSON call hold.
    own_keys:            by some of the fields, the keys that are the format's own.
    overrun:             what proves that a string in a call was not closed; None if nothing does.
    usual_head:          patterns for how a JSON call begins, None where there are none.
    """

    __slots__ = (
        "_by_literal",
        "_usual_tags",
        "after_bad_call",
        "after_call",
        "after_end",
        "after_stray",
        "at_edge",
        "at_line_start",
        "at_start",
        "bracketed",
        "call_openers",
        "call_starts",
        "calls",
        "channels",
        "constrained",
        "content_opened",
        "content_space",
        "exact",
        "facts",
        "fields",
        "fmt",
        "id_before_call",
        "in_content",
        "in_content_end",
        "in_content_start",
        "in_message",
        "in_reasoning",
        "in_reasoning_only",
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
        "told_by_look",
        "turn_ends",
        "unmarked",
        "unmarked_call",
        "unproven",
        "usual_head",
    )

    def __init__(
        self, fmt: WireFormat, *, calls: bool, exact: bool = False, constrained: bool = False
    ) -> None:
        reasoning, tools, facts = fmt.reasoning, fmt.tools, fmt.facts
        self.fmt = in_json(fmt) if constrained else fmt
        self.facts = self.fmt.facts
        self.calls, self.exact, self.constrained = calls, exact, constrained
        self.channels, self.in_message = ChannelMarkers(fmt), _in_message(self.fmt, calls=calls)
        calls = calls and facts.has_calls and not facts.has_channels
        self.unmarked = calls and facts.unmarked_calls and not constrained
        self.reads_separators = self.unmarked or constrained
        self.unproven = calls and facts.unproven_calls and not constrained
        self.opens_reasoning = facts.has_reasoning and not reasoning.start.strip()
        self._know_calls(tools)
        self.reasoning_ends = _ends_by_start(fmt)
        start, end = _reasoning_spelled(fmt)
        content_start, content_end = _content_spelled(fmt)
        self.content_space, self.content_opened = _before_content(fmt, content_start)
        openers = (*facts.openers, fmt.code.start) if calls else ()
        tool_start = _spelled(Role.TOOL_START, openers, tools.content_separator)
        another = _another_call(self.fmt) if calls else []
        tool_end = _spelled(Role.TOOL_END, facts.closers if calls else ())
        # Where a turn has several messages, the end of one is that of the call in it.
        message_end = _spelled(Role.TOOL_END, self.channels.ends)
        turn_end = _spelled(Role.TURN_END, fmt.turn.ends)
        fences = list(FENCES) if constrained else []
        header = _spelled(Role.HEADER, [end for text in fmt.turn.headers for end in _ends(text)])

        # Two markers may be spelled alike, and what is found has one meaning. They rank by what
        # is lost when the one is taken for the other. An end of reasoning that is missed makes
        # the answer reasoning; a start that is missed makes a section or a call content; a closer
        # that is missed is a few characters of text. What closes a call often ends the turn too,
        # and then the call is whole, not cut off: so the end of the turn ranks below. Any marker
        # may stand in a header, so its ends come last.
        openings = (start, content_start, fences, tool_start)
        inner = (end, *openings, tool_end, content_end, message_end)
        ranked = (*inner, turn_end, header, another)
        self._by_literal = {one.literal: one for group in reversed(ranked) for one in group}
        self.longest = max(map(length, self._by_literal), default=0)
        self.bracketed = marker_set(text for text in self._by_literal if text[:1] == "[")

        # A stray marker needs no white space before it: that is content by then. What ends
        # reasoning and begins as the end of a turn is that, and what follows.
        lone_end = [] if facts.shares_end else _cores(end)
        lone_closer = _known_alone(
            _cores(tool_end), openers, others=(end, *openings, content_end, message_end)
        )
        anywhere = start + tool_start + turn_end
        at_edge = anywhere + content_start + content_end + end + lone_closer + fences
        text = _heads_of_calls(fmt) * self.unmarked + anywhere + lone_end + lone_closer
        self.in_content = _literals(text + message_end)
        self.in_content_start = _literals(text + content_start)
        self.in_content_end = _literals(text + (content_end or content_start))
        only = turn_end + (content_start + tool_start if facts.next_ends_reasoning else end)
        self.in_reasoning, self.in_reasoning_only = map(_literals, (only + tool_start, only))
        self.at_edge = _literals(at_edge)
        self.after_call = _literals(at_edge + tool_end + another)
        self.after_bad_call = _literals(tool_start + tool_end + message_end + turn_end)
        self.after_end = _literals(anywhere + content_start + header + lone_closer)
        self.after_stray = _literals(at_edge + tool_end + header)
        self._sort_out_strays(
            lone_end, lone_closer, turn_end, others=(*openings, tool_end, content_end)
        )
        known = {one.literal for group in (*inner, turn_end) for one in group}
        self._know_roles()
        self.other_roles = OtherRoles(fmt.turn.headers, known)
        self.reasoning_start, self.at_start = map(_literals, (start, header))
        self.call_starts = _literals(
            tool_start + another + fences + _beside(fmt, constrained=constrained)
        )

    def _know_calls(self, tools: ToolsFormat) -> None:
        """Say what unmarked calls begin with, and what means something in a call."""
        exact, constrained = self.exact, self.constrained
        json_call = JSON_CALLS if tools.array_wrapped or constrained else JSON_CALL
        pythonic = tools.format is ToolFormat.PYTHONIC and not constrained
        self.told_by_look = self.unproven and not self.facts.is_tagged
        self.unmarked_call = PYTHON_CALL if pythonic else json_call
        behind = self.fmt.call_id.position is CallIdPosition.POST_ARGS
        by_key = self.fmt.tools.id_field or self.fmt.tools.generated_id_field
        self.id_before_call = bool(by_key) or behind
        function, code = self.fmt.function, self.fmt.code
        self.call_openers = CallOpeners(
            function.name_prefix.strip() if self.fmt.facts.is_tagged else "",
            code.start.strip() if code.function else "",
            tools.section_start.strip(),
            tools.separator.strip() if self.facts.separated_openers else "",
        )
        self.separators = marker_set([",", ";", tools.separator.strip()])
        own_fields = _own_fields(self.fmt.tools)
        self.fields = own_fields if exact else KNOWN_FIELDS | own_fields
        self.own_keys = IN_CONSTRAINED if constrained else _own_keys(tools)
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

    # Patterns are compiled when they are asked for: most turns have no call, many have one.

    @property
    def usual_tags(self) -> UsualTags | None:
        """Patterns for a call in tags, None where there are none."""
        if not self._usual_tags:
            told = self.fmt.facts.is_tagged and not (self.unproven or self.id_before_call)
            self._usual_tags.append(usual_tags(self.fmt) if told else None)
        return self._usual_tags[0]

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
    made: dict[tuple[bool, bool, bool], MarkerTables] = fmt.facts.tables
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


def _spelled(role: Role, markers: Iterable[str], gap: str = "") -> list[MarkerSpelling]:
    """All spellings of markers, with `gap`, if there is one, for their leading white space."""
    found = []
    for marker in markers:
        core, behind = marker.strip(), trailing(marker)
        if role is Role.CONTENT_START:
            core = word_core(marker)
            behind = trailing(marker)[len(core) - len(core.rstrip()) :]
        literals = preceded(core, gap or leading(marker))
        found += [MarkerSpelling(literal, role, behind) for literal in literals]
    return found


def _cores(spellings: Iterable[MarkerSpelling]) -> list[MarkerSpelling]:
    """Those without white space before them."""
    return [one for one in spellings if one.literal == one.literal.strip()]


def _at_line_start(literals: Iterable[str]) -> frozenset[str]:
    """Those that are words and stand behind a line break too, in the format's own spelling."""
    known = frozenset(literals)
    return frozenset(text for text in known if is_prose(text) and f"\n{text}" in known)


def _known_alone(
    closers: Iterable[MarkerSpelling],
    openers: Iterable[str],
    others: Iterable[Iterable[MarkerSpelling]],
) -> list[MarkerSpelling]:
    """The closers that are known for such where nothing is open.

    What opens calls too (a fence), or is a bracket, may be anything.
    """
    known = {one.literal for group in others for one in group}
    return [
        closer
        for closer in closers
        if closer.literal not in known
        and any(map(str.isalnum, closer.literal))
        and not any(closer.literal in opener for opener in openers)
    ]


def _literals(spellings: Iterable[MarkerSpelling]) -> Markers:
    return marker_set(spelling.literal for spelling in spellings)


def _before_content(fmt: WireFormat, start: list[MarkerSpelling]) -> tuple[str, Markers]:
    """The white space before plain content, and the marker of content that every turn has."""
    content = fmt.content
    plain = content.mode is ContentMode.PLAIN and not content.start.strip()
    always = content.mode is ContentMode.ALWAYS_WRAPPED and not fmt.facts.next_ends_reasoning
    return content.start if plain else "", _literals(start if always else [])


def _beside(fmt: WireFormat, *, constrained: bool) -> list[MarkerSpelling]:
    """What stands round the calls in a message of a channel, and so may stand round JSON there."""
    facts = fmt.facts
    markers = (*facts.openers, *facts.closers) if constrained and facts.has_channels else ()
    return _spelled(Role.TOOL_START, markers)


def _in_message(fmt: WireFormat, *, calls: bool) -> MarkerTables | None:
    """The tables of calls in a message, which ends where messages do."""
    if not (calls and fmt.facts.calls_in_messages):
        return None
    none = WireFormat()
    inner = fmt.replace(
        turn={"headers": (), "ends": (*fmt.channels.ends, *fmt.turn.ends)},
        reasoning=none.reasoning,
        content=none.content,
        channels=none.channels,
    )
    return marker_tables(inner, calls=True)


def _heads_of_calls(fmt: WireFormat) -> list[MarkerSpelling]:
    """What calls in no markers begin with, up to the name, where they may stand behind content."""
    tools = fmt.tools
    if not tools.behind_content:
        return []
    heads = ["["] if tools.array_wrapped else []
    if tools.format is ToolFormat.JSON_NATIVE:
        bracket = "[" * tools.array_wrapped
        key = json.dumps(tools.name_field, ensure_ascii=False)
        heads = [f'{bracket}{{{key}:{gap}"' for gap in (" ", "")]
    return _spelled(Role.TOOL_START, heads, tools.content_separator)


def _another_call(fmt: WireFormat) -> list[MarkerSpelling]:
    """What a call begins with behind another, where text separates them."""
    return _spelled(Role.TOOL_START, fmt.facts.separated_openers, leading(fmt.tools.separator))


def _reasoning_spelled(fmt: WireFormat) -> tuple[list[MarkerSpelling], list[MarkerSpelling]]:
    """The starts and the ends of reasoning."""
    pairs = fmt.reasoning.pairs if fmt.facts.has_reasoning else ()
    starts = [start for start, _ in pairs]
    ends = [] if fmt.facts.next_ends_reasoning else [end for _, end in pairs]
    return _spelled(Role.REASONING_START, starts), _spelled(Role.REASONING_END, ends)


def _content_spelled(fmt: WireFormat) -> tuple[list[MarkerSpelling], list[MarkerSpelling]]:
    """The starts and the ends of content, of which the former may end reasoning."""
    content = fmt.content
    if content.mode is ContentMode.PLAIN:
        return [], []
    gap = leading(fmt.reasoning.end) if fmt.facts.next_ends_reasoning else ""
    start = _spelled(Role.CONTENT_START, [content.start], gap)
    return start, _spelled(Role.CONTENT_END, [content.end])


def _ends_by_start(fmt: WireFormat) -> Mapping[str, frozenset[str]]:
    """The cores of the ends of reasoning by that of its start."""
    found: dict[str, set[str]] = {}
    for start, end in fmt.reasoning.pairs:
        found.setdefault(start.strip(), set()).add(end.strip())
    return {start: frozenset(ends) for start, ends in found.items()}


def _ends(header: str) -> list[str]:
    """A header with a tag in it, and its ends that begin with one: a model may write each again."""
    starts = tag_starts(header)
    words = len(leading(header))  # it may begin with a word: `assistant<|role_sep|>`
    return [header[at:] for at in sorted({words, *starts})] if starts else []


def _own_fields(tools: ToolsFormat) -> dict[str, Field]:
    """What the keys of a JSON call mean in a format."""
    own = {
        "type": Field.TYPE,
        tools.function_field: Field.FUNCTION,
        tools.id_field: Field.ID,
        tools.generated_id_field: Field.ID,
        tools.arguments_field: Field.ARGUMENTS,
        tools.name_field: Field.NAME,
    }
    return {key: field for key, field in own.items() if key}


def _own_keys(tools: ToolsFormat) -> dict[Field, set[str]]:
    """The keys under which a format has what a call holds; none where it says nothing of them."""
    return {
        Field.NAME: {tools.name_field} - {""},
        Field.ARGUMENTS: {tools.arguments_field} - {""},
        Field.FUNCTION: {tools.function_field} if tools.name_field else set(),
    }
