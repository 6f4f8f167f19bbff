"""The marker sets of a wire format, one for each place in a turn.

A set holds the end markers of the text at its place. A closer of calls inside reasoning is text,
for example. So the set for reasoning does not have it. A single set for all places would be
simpler, with a check of each found marker. But then a marker without a meaning would delay text and
wake the reader. It would also hide a shorter marker at the same character.

Tables are made once for a format. This takes 30 us, or up to 500 us if the patterns of its sets are
new. Parsers and chunks cost nothing extra: readers get the sets as attributes. Equal sets are one
`Markers` object, whatever the format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from deltaparse.partial import Markers, compact_json, marker_set

from .call_fields import IN_CONSTRAINED, KNOWN_FIELDS, MEANINGLESS_VALUES, own_fields, own_keys
from .channel_markers import ChannelMarkers
from .derived import DerivedFormat
from .fast_patterns import FastTags, fast_head, fast_tags
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

# The first characters of calls without markers.
JSON_CALL, PYTHON_CALL = re.compile(r"\{"), re.compile(r"[\[\w]")
JSON_CALLS = re.compile(r"[\[{]")


class CallOpeners(NamedTuple):
    """Markers without whitespace that may begin calls, each "" if the format does not have it.

    Attributes:
        prefix: the marker before a name in tags.
        code: the marker before code that is the only argument.
        section: the marker before a section of calls.
        separator: the text before the marker of the next call.
    """

    prefix: str
    code: str
    section: str
    separator: str


class MarkerTables:
    """The marker sets and settings that readers use at each place of a turn.

    Args:
        fmt: the wire format.
        calls: True if tool syntax has a meaning. Otherwise it is text, and the sets have no markers
            of calls.
        exact: True if a call counts only in the exact spelling of the format.
        constrained: True if the request constrains calls to unmarked JSON, whatever the format. The
            markers of the format's own calls are then searched and dropped.

    Attributes:
        fmt: the format, changed by `in_json` if calls are constrained.
        calls: the argument.
        exact: the argument.
        constrained: the argument.
        derived: the `DerivedFormat` of `fmt`.
        channels: the markers of a turn in channels.
        in_message: the tables for messages to a function, if calls have their own syntax there.
            Otherwise None.
        in_content: end markers of content without markers.
        in_content_start: end markers of text, if content in markers may begin there.
        in_content_end: end markers of content in markers.
        in_reasoning: end markers of reasoning.
        in_reasoning_only: the same if calls inside reasoning are part of it.
        after_draft: the same after a call inside reasoning, before other calls of its section.
        at_start: the headers. Models may repeat them at the start of the turn.
        at_edge: markers after another marker and whitespace.
        after_call: markers after a call, including the end of its section.
        after_bad_call: end markers of the rest of a broken call.
        after_end: markers after an end-of-turn marker.
        after_stray: markers after a closer without an open call.
        reasoning_start: the start markers of reasoning.
        reasoning_ends: the cores of the end markers of reasoning, by the core of the start marker.
        content_opened: the start marker of content if every turn has one. It may follow empty
            reasoning.
        call_starts: start markers of calls.
        call_openers: the markers in `call_starts` with an effect on the following text.
        separators: separators between two calls without markers.
        meaningless_values: the JSON values of meaningless members, by their keys.
        bracketed: markers with a bracket as first character.
        longest: the length of the longest marker, in characters.
        needs_closer: True if a closing marker follows arguments whose end is visible without it.
        content_space: the template's whitespace before a turn's content.
        at_line_start: markers of calls and content made of words, with a line break before them in
            the format. In the middle of a line they are text.
        turn_ends: markers at the end of the turn, if only markers follow them.
        stray_ends: ends of reasoning, found inside content. They are text, with an issue.
        stray_closers: closers of calls recognized without an opener.
        role_in_text: the role of each marker in text, and after a section without a call.
        role_after_call: the same after a call. There a fence ends a code block, and no closer is
            stray.
        other_roles: the headers of other roles after the end of the turn.
        opens_reasoning: True if the turn begins with reasoning without a start marker.
        unmarked: True if calls have no markers.
        unmarked_call: the pattern of an unmarked call's first character, at the start of a turn or
            a part.
        reads_separators: True if a bracket or a comma may begin or separate calls.
        unproven: True if no marker proves a call (`DerivedFormat.unproven_calls`).
        like_text: True if text next to a call may be about the call (`DerivedFormat.like_text`).
        structural_only: True if calls are unproven and not in tags. Then only the structure of the
            text identifies a call.
        id_before_call: True if a call is emitted only after its id.
        fields: the meanings of the keys of a JSON call.
        own_keys: the format's own keys for some of the fields.
        overrun: the proof of an unclosed string in a call, None if the format has no proof.
        fast_head: the patterns for the beginning of a JSON call, None if the format has no fast
            path.
        also: True if calls have a second form (`other_form`).
    """

    __slots__ = (
        "_by_literal",
        "_fast_tags",
        "after_bad_call",
        "after_call",
        "after_draft",
        "after_end",
        "after_stray",
        "also",
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
        "derived",
        "exact",
        "fast_head",
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
        "meaningless_values",
        "needs_closer",
        "opens_reasoning",
        "other_roles",
        "overrun",
        "own_keys",
        "reads_separators",
        "reasoning_ends",
        "reasoning_start",
        "role_after_call",
        "role_in_text",
        "separators",
        "stray_closers",
        "stray_ends",
        "structural_only",
        "turn_ends",
        "unmarked",
        "unmarked_call",
        "unproven",
    )

    def __init__(
        self, fmt: WireFormat, *, calls: bool, exact: bool = False, constrained: bool = False
    ) -> None:
        reasoning, tools, derived = fmt.reasoning, fmt.tools, fmt.derived
        self.fmt = in_json(fmt) if constrained else fmt
        self.derived = self.fmt.derived
        self.calls, self.exact, self.constrained = calls, exact, constrained
        # Constrained calls replace the format's calls, so `self.fmt` decides about those in
        # messages.
        self.channels, self.in_message = ChannelMarkers(fmt), _in_message(self.fmt, calls=calls)
        # Channels have their own reader, so turns in channels need no marker of calls.
        calls = calls and derived.has_calls and not derived.has_channels
        # The request already decided that constrained JSON is a call, so it needs no proof.
        self.unmarked = calls and derived.unmarked_calls and not constrained
        self.unproven = calls and derived.unproven_calls and not constrained
        self.like_text = calls and derived.like_text and not constrained
        self.opens_reasoning = derived.has_reasoning and not reasoning.start.strip()
        self._know_calls(tools)
        self.reasoning_ends = _ends_by_start(fmt)
        start, end = reasoning_spelled(fmt)
        content_start, content_end = content_spelled(fmt)
        self.content_space, self.content_opened = _before_content(fmt, content_start)
        # Code has an opener of its own, which `DerivedFormat.openers` does not include.
        openers = (*derived.openers, fmt.code.start) if calls else ()
        tool_start = spelled(Role.TOOL_START, openers, tools.content_separator)
        begins, follows = _that_begin(tool_start, derived)
        another = another_call(self.fmt) if calls else []
        tool_end = spelled(Role.TOOL_END, derived.closers if calls else ())
        # In a turn of several messages, the end of a message also ends the call in it.
        message_end = spelled(Role.TOOL_END, self.channels.ends)
        turn_end = spelled(Role.TURN_END, fmt.turn.ends)
        # Models often put constrained JSON into a code block.
        fences = list(FENCES) if constrained else []
        header = spelled(
            Role.HEADER, [end for text in fmt.turn.headers for end in header_ends(text)]
        )

        # Two markers may have the same spelling, but a found marker has one meaning. So they are
        # ranked by the damage of a confusion. A missed end of reasoning turns the answer into
        # reasoning. A missed start turns a section or a call into content. A missed closer leaves a
        # few characters of text. The closer of a call often ends the turn too, and must then
        # complete the call, so the end of the turn ranks lower. Headers may contain any marker, so
        # their ends rank last.
        openings = (start, content_start, fences, tool_start)
        inner = (end, *openings, tool_end, content_end, message_end)
        ranked = (*inner, turn_end, header, another, other_start(fmt))
        # Later groups overwrite earlier ones, so the order is reversed.
        self._by_literal = {one.literal: one for group in reversed(ranked) for one in group}
        self.longest = max(map(length, self._by_literal), default=0)
        self.bracketed = marker_set(text for text in self._by_literal if text[:1] == "[")

        # Whitespace before a stray marker is content, so a stray marker is searched without it. If
        # the end of reasoning begins like the end of a turn, it is read as that and the text after
        # it.
        lone_end = [] if derived.shares_end else cores(end)
        lone_closer = known_alone(
            cores(tool_end), openers, others=(end, *openings, content_end, message_end)
        )
        # These markers have a meaning wherever text is outside a call.
        anywhere = start + begins + turn_end + other_start(fmt)
        at_edge = anywhere + content_start + content_end + end + lone_closer + fences
        # Heads of unmarked calls are searched only if calls have no markers: `{` is frequent in
        # text.
        text = heads_of_calls(fmt) * self.unmarked + anywhere + lone_end + lone_closer
        self.in_content = as_markers(text + message_end)
        self.in_content_start = as_markers(text + content_start)
        self.in_content_end = as_markers(text + (content_end or content_start))
        # If the next section ends reasoning, reasoning has no end marker of its own.
        only = turn_end + (content_start + begins if derived.next_ends_reasoning else end)
        self.in_reasoning, self.in_reasoning_only, self.after_draft = map(
            as_markers, (only + begins, only, only + follows)
        )
        self.at_edge = as_markers(at_edge)
        self.after_call = as_markers(at_edge + follows + tool_end + another)
        # The rest of a broken call may contain anything, so only unmistakable markers end it.
        self.after_bad_call = as_markers(follows + tool_end + message_end + turn_end)
        self.after_end = as_markers(anywhere + content_start + header + lone_closer)
        self.after_stray = as_markers(at_edge + tool_end + header)
        self._sort_out_strays(
            lone_end, lone_closer, turn_end, others=(*openings, tool_end, content_end)
        )
        # A marker of the format is never read as the header of another role.
        known = {one.literal for group in (*inner, turn_end) for one in group}
        self._know_roles()
        self.other_roles = OtherRoles(fmt.turn.headers, known)
        self.reasoning_start, self.at_start, self.call_starts = map(
            as_markers,
            (start, header, tool_start + another + fences + _beside(fmt, constrained=constrained)),
        )

    def _know_calls(self, tools: ToolsFormat) -> None:
        """Set the attributes of unmarked calls and of the text inside calls."""
        exact, constrained = self.exact, self.constrained
        self.reads_separators = self.unmarked or constrained
        # A server may constrain the model to a list of calls, whatever the format has.
        json_call = JSON_CALLS if tools.array_wrapped or constrained else JSON_CALL
        pythonic = tools.format is ToolFormat.PYTHONIC and not constrained
        # A turn's end marker after the arguments is not a closer of its own.
        ends = stripped(self.derived.closers) - stripped(self.fmt.turn.ends)
        closes = bool(ends) or self.derived.closes_by_name
        self.needs_closer = closes and tools.format is not ToolFormat.TAG_WITH_TAGGED
        # In tags, the markers around the name identify it. Elsewhere only the structure does.
        self.structural_only = self.unproven and not self.derived.is_tagged
        self.unmarked_call = PYTHON_CALL if pythonic else json_call
        behind = self.fmt.call_id.position is CallIdPosition.POST_ARGS
        in_json = self.fmt.tools.format is ToolFormat.JSON_NATIVE
        # The first delta of a call contains its id, so the call waits for it.
        self.id_before_call = (in_json and self.derived.writes_ids) or behind
        function, code = self.fmt.function, self.fmt.code
        self.call_openers = CallOpeners(
            function.name_prefix.strip() if self.fmt.derived.is_tagged else "",
            code.start.strip() if code.function else "",
            tools.section_start.strip(),
            tools.separator.strip() if self.derived.separated_openers else "",
        )
        self.separators = marker_set([",", ";", tools.separator.strip()])
        # Other models' keys are accepted only if the spelling need not be exact.
        own = own_fields(self.fmt.tools)
        self.fields = own if exact else KNOWN_FIELDS | own
        self.own_keys = IN_CONSTRAINED if constrained else own_keys(tools)
        constants = zip(tools.constants[::2], tools.constants[1::2], strict=False)
        self.meaningless_values = MEANINGLESS_VALUES | {
            # Models may write null for a constant.
            key: {compact_json(value), "null"}
            for key, value in constants
        }
        self.overrun = next_call(self.fmt)
        self.fast_head = None
        # The fast path emits a call at its name, so the name must be first and sufficient.
        in_order = not (self.unproven or tools.name_is_key or self.id_before_call)
        if in_order and self.fmt.tools.format is ToolFormat.JSON_NATIVE:
            # The fast path does not detect unclosed strings, so its strings must exclude these
            # characters.
            firsts = self.overrun.markers.firsts if self.overrun else ""
            keys = self.fmt.tools.name_field, self.fmt.tools.arguments_field
            self.fast_head = fast_head(*keys, firsts)
        # A list distinguishes "not compiled yet" from None.
        self._fast_tags: list[FastTags | None] = []
        self.also = self.fmt.tools.also is not ToolFormat.NONE

    # Patterns are compiled on first use, because most turns have no calls.

    @property
    def fast_tags(self) -> FastTags | None:
        """Return the fast patterns for a call in tags, None if the format has no fast path."""
        if not self._fast_tags:
            # The fast path emits the name at once, so a name without proof or before its id is
            # excluded.
            told = self.fmt.derived.is_tagged and not (self.unproven or self.id_before_call)
            self._fast_tags.append(fast_tags(self.fmt) if told else None)
        return self._fast_tags[0]

    def other_form(self) -> MarkerTables:
        """Return the tables of calls in their second form, or these tables if it does not exist."""
        other = other_form(self.fmt)
        return self if other is None else marker_tables(other, calls=self.calls, exact=self.exact)

    def _sort_out_strays(
        self,
        ends: list[MarkerSpelling],
        closers: list[MarkerSpelling],
        turn_ends: list[MarkerSpelling],
        others: tuple[list[MarkerSpelling], ...],
    ) -> None:
        """Find the markers that may be stray.

        Args:
            ends: the ends of reasoning.
            closers: the closers of calls.
            turn_ends: the end-of-turn markers.
            others: all other markers. A marker with the spelling of another one is not stray.
        """
        # A closer of calls may have the spelling of the turn's end, and then ends both.
        ending = (Role.TURN_END, Role.TOOL_END)
        literals = [one.literal for one in turn_ends]
        self.turn_ends = frozenset(text for text in literals if self.role(text) in ending)
        known = frozenset(one.literal for group in (*others, turn_ends) for one in group)
        self.stray_ends = frozenset(one.literal for one in ends) - known
        self.stray_closers = frozenset(one.literal for one in closers) - self.turn_ends

    def _know_roles(self) -> None:
        """Set the roles of the markers in text and after a call."""
        roles = {literal: spelling.role for literal, spelling in self._by_literal.items()}
        begin = (Role.TOOL_START, Role.CONTENT_START)
        self.at_line_start = _at_line_start(text for text, role in roles.items() if role in begin)
        # A fence opens and closes code blocks, so its role depends on the place.
        fences = [literal for literal, role in roles.items() if role is Role.FENCE]
        self.role_after_call = roles | dict.fromkeys(fences, Role.TOOL_END)
        self.role_in_text = (
            roles
            | dict.fromkeys(fences, Role.TOOL_START)
            | dict.fromkeys(self.stray_closers, Role.STRAY_CLOSER)
            | dict.fromkeys(self.turn_ends, Role.TURN_END)
        )

    def role(self, marker: str) -> Role:
        """Return the role of a marker. An unknown marker begins an unmarked call."""
        spelling = self._by_literal.get(marker)
        # Heads of unmarked calls are searched too, but are not markers of the format.
        return spelling.role if spelling else Role.TOOL_START

    def ends_calls(self, marker: str) -> bool:
        """Return whether this marker, after a call, ends calls."""
        return self.role_after_call.get(marker) is Role.TOOL_END

    def begins_calls(self, marker: str) -> bool:
        """Return whether this marker, after a call, begins another call."""
        return self.role_after_call.get(marker) is Role.TOOL_START

    def trailing(self, marker: str) -> str:
        """Return the template's whitespace after a marker."""
        return self._by_literal[marker].trailing


def marker_tables(
    fmt: WireFormat, *, calls: bool, exact: bool = False, constrained: bool = False
) -> MarkerTables:
    """Return the `MarkerTables` of a format. They are made once.

    Args:
        fmt: the wire format.
        calls: True if tool syntax has a meaning.
        exact: True if a call counts only in the exact spelling of the format.
        constrained: True if calls are constrained to unmarked JSON.
    """
    # This cache avoids hashing the format for each parser.
    made: dict[tuple[bool, bool, bool], MarkerTables] = fmt.derived.tables
    tables = made.get((calls, exact, constrained))
    if tables is None:
        tables = made[calls, exact, constrained] = _tables(
            fmt, calls=calls, exact=exact, constrained=constrained
        )
    return tables


# Equal formats, as loaded twice from a file, share their tables.
@lru_cache(maxsize=256)
def _tables(fmt: WireFormat, *, calls: bool, exact: bool, constrained: bool) -> MarkerTables:
    """Return the `MarkerTables` shared by equal formats."""
    return MarkerTables(fmt, calls=calls, exact=exact, constrained=constrained)


def _at_line_start(literals: Iterable[str]) -> frozenset[str]:
    """Return the markers made of words, if the format also has them after a line break."""
    # The argument may be an iterator, and is searched for each marker.
    known = frozenset(literals)
    return frozenset(text for text in known if is_prose(text) and f"\n{text}" in known)


def _that_begin(
    openers: list[MarkerSpelling], derived: DerivedFormat
) -> tuple[list[MarkerSpelling], list[MarkerSpelling]]:
    """Return the openers that begin a call alone, and the openers that begin the next call."""
    inner = stripped(derived.inner_openers)
    begins = [one for one in openers if one.literal.strip() not in inner]
    # Inside an open section, the next call needs no special token.
    return begins, openers if derived.token_sections else begins


def _before_content(fmt: WireFormat, start: list[MarkerSpelling]) -> tuple[str, Markers]:
    """Return the whitespace before plain content, and the content marker of all turns."""
    content = fmt.content
    plain = content.mode is ContentMode.PLAIN and not content.start.strip()
    # If the start of content also ends reasoning, it has that role after a start of reasoning.
    always = content.mode is ContentMode.ALWAYS_WRAPPED and not fmt.derived.next_ends_reasoning
    return content.start if plain else "", as_markers(start if always else [])


def _beside(fmt: WireFormat, *, constrained: bool) -> list[MarkerSpelling]:
    """Return the markers that may surround constrained JSON in a message of a channel."""
    derived = fmt.derived
    # The model is trained to write its markers around calls, so it may write them around JSON too.
    markers = (*derived.openers, *derived.closers) if constrained and derived.has_channels else ()
    return spelled(Role.TOOL_START, markers)


def _in_message(fmt: WireFormat, *, calls: bool) -> MarkerTables | None:
    """Return the tables for calls in a message. The end of the message ends them."""
    if not (calls and fmt.derived.calls_in_messages):
        return None
    # The header already decided the section, so the body has no reasoning, content or channels.
    none = WireFormat()
    inner = fmt.replace(
        turn={"headers": (), "ends": (*fmt.channels.ends, *fmt.turn.ends)},
        reasoning=none.reasoning,
        content=none.content,
        channels=none.channels,
    )
    return marker_tables(inner, calls=True)


def _ends_by_start(fmt: WireFormat) -> Mapping[str, frozenset[str]]:
    """Return the cores of the end markers of reasoning, by the core of the start marker."""
    # Several pairs may share a start marker.
    found: dict[str, set[str]] = {}
    for start, end in fmt.reasoning.pairs:
        found.setdefault(start.strip(), set()).add(end.strip())
    return {start: frozenset(ends) for start, ends in found.items()}
