"""The marker sets for the inside of a call in tags."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from deltaparse.partial import Markers, marker_set

from .element_heads import element_head
from .escapes import escapes_of
from .format import ArgumentsFormat, CallIdPosition, ToolFormat, WireFormat
from .spellings import after_tag, has_word, leading, preceded, stripped, without_attribute

__all__ = ["TaggedMarkers", "ValueMarkers", "tagged_markers"]

# A marker of these characters only could be part of a name.
IN_NAME = re.compile(r"[-.:/\w]+")
# Names contain no whitespace, so whitespace before a marker ends the name.
SPACES = (" ", "\t", "\n")


class ValueMarkers(NamedTuple):
    """The end markers of a value.

    Attributes:
        suffix: the usual end marker, a line end for a suffix of whitespace. If "", the text after
            the argument ends the value.
        ends: all markers that may end the value, including the suffix.
        ends_crlf: the same for values whose preceding line ended with CRLF.
        types: the types of the value in the words of the format, separated by spaces.
    """

    suffix: str
    ends: Markers
    ends_crlf: Markers
    types: str = ""


class TaggedMarkers:
    """The markers and settings that readers use at each place of a call in tags.

    Whitespace around a marker is optional, so its core is searched. The text before it is a name,
    or whitespace to skip. A value may end with whitespace of its own. So the end markers of values
    are searched with each part of their own leading whitespace.

    Args:
        fmt: the wire format.

    Attributes:
        name_prefix: the markers before the name.
        after_name: the markers after the name.
        name_ends: markers after a name.
        next_in_block: the start markers of the next call after an unclosed one: the marker of each
            call without its tag.
        id_start: the markers before the id.
        id_end: the markers after the id.
        id_ends: markers after the id.
        arguments_start: the markers before all arguments.
        arguments_end: the markers after all arguments.
        before_json: markers before arguments in JSON.
        in_arguments: the markers at the place of an argument or of the end of all arguments.
        as_arguments: start markers of calls and also of arguments, with the argument's name.
        key: the markers before an argument's name, empty for a JSON object.
        key_end: end markers of the argument's name.
        value_prefix: the markers before the value.
        key_stops: `key_end` and the signs of a missing marker: a line end if the value follows, or
            an attribute after the name.
        argument_head: the head of an argument's element, if its name is an attribute.
        function_head: the head of a function's element, if its name is an attribute.
        names_unmarked: True if an argument's name has no marker before it.
        usual: the end markers of a value.
        ways: the end markers of values in other notations, by the cores of the markers around the
            argument's name.
        quoted_openers: start markers of calls quoted in a value, with the number of their pair.
        quoted_closers: end markers of calls quoted in a value, with the number of their pair.
        next_argument: markers between a quoted argument and the next.
        turn_ends: the end-of-turn markers.
        end_all: end markers of calls or the turn.
        key_suffix: the text after the argument's name in the end marker of a value, if the marker
            repeats the name. Otherwise None.
        separator: the markers between arguments.
        after_value: markers after the end marker of a value. They prove it. Empty if calls have no
            end marker. Then the end marker proves itself.
        closers: proofs of the end of a call: end markers of the function, the call, or all calls.
            If neither function nor call has one, the next call too.
        ends: the end markers of calls in `closers`.
        own_closers: the end markers of one function or call.
        has_ends: True if the format has `ends` or `close`.
        may_be_ended: True if end markers are checked first at the place of an argument.
        close: the markers before the function's name in a closing marker with the name. Otherwise
            empty.
        close_suffix: the text after the function's name in this closing marker. Otherwise "".
        element_ends: the markers that may replace a value after an argument's name, if elements
            nest: the next element, or the end of the value.
        type_end: end markers of the written type of a value.
        after_type: `type_end` and the signs of a missing type.
        type_first: True if the type precedes the argument's name.
        escape_start: the markers before an escaped string.
        escape_end: the markers after an escaped string.
        object_start: the markers before arguments as one JSON object, in formats with arguments in
            markers.
        object_end: the markers after this object.
        name_escapes: the escapes of a function's name.
        key_escapes: the escapes of an argument's name.
        value_escapes: the escapes of a string.
    """

    __slots__ = (
        "after_name",
        "after_type",
        "after_value",
        "argument_head",
        "arguments_end",
        "arguments_start",
        "as_arguments",
        "before_json",
        "close",
        "close_suffix",
        "closers",
        "element_ends",
        "end_all",
        "ends",
        "escape_end",
        "escape_start",
        "function_head",
        "has_ends",
        "id_end",
        "id_ends",
        "id_start",
        "in_arguments",
        "key",
        "key_end",
        "key_escapes",
        "key_stops",
        "key_suffix",
        "may_be_ended",
        "name_ends",
        "name_escapes",
        "name_prefix",
        "names_unmarked",
        "next_argument",
        "next_in_block",
        "object_end",
        "object_start",
        "own_closers",
        "quoted_closers",
        "quoted_openers",
        "separator",
        "turn_ends",
        "type_end",
        "type_first",
        "usual",
        "value_escapes",
        "value_prefix",
        "ways",
    )

    def __init__(self, fmt: WireFormat) -> None:
        function, arguments, call_id = fmt.function, fmt.arguments, fmt.call_id
        closing = _closing(arguments.value_suffix, repeats_key=bool(arguments.key_suffix))
        # An element within a value is followed by the end of that value.
        inner = {closing} if arguments.item else set()
        ends = stripped(fmt.derived.closers)
        own, behind = stripped([function.close, fmt.tools.per_call_end]), stripped([arguments.end])
        # Without end markers, only the next call shows that a call has ended.
        starts = _starts(fmt, closed=bool(own | behind))
        turn_ends = stripped(fmt.turn.ends)
        tagged = fmt.tools.format is ToolFormat.TAG_WITH_TAGGED
        self.name_escapes = escapes_of(function.name_escapes)
        self._mark_argument(arguments)
        key = stripped([way.name_prefix for way in arguments.ways]) if tagged else set()
        # A closing marker with the function's name is a prefix, the name and a suffix, not one
        # literal.
        by_name = stripped([function.close]) if fmt.derived.closes_by_name else set()
        outer = ends | starts | turn_ends | by_name
        # An object may replace arguments in markers.
        whole = set(self.object_start.literals)
        # Arguments in JSON without a marker begin with their brace.
        around = key | whole | stripped([arguments.start]) or set("{" * (not tagged))
        # A suffix of whitespace, for example a line end, is kept as it is.
        suffix = stripped([function.name_suffix]) or {function.name_suffix}
        id_start, id_end = stripped([call_id.prefix]), stripped([call_id.suffix])
        between = fmt.derived.id_before_arguments
        if call_id.position is CallIdPosition.POST_ARGS:
            # An id after the arguments follows the last value.
            behind |= id_start
        # Models forget suffixes. Then the markers after the call show the end of the value.
        forgotten = (ends | by_name or starts) | turn_ends
        between_arguments = stripped([arguments.separator])
        following = key | outer | behind | between_arguments | inner

        self.quoted_openers, self.quoted_closers = _quoted(fmt)
        # In a value these are text, but they show a quoted call or a missing end.
        self._end_values(arguments, forgotten, following, key | {*self.quoted_openers})
        # Then any word may begin an argument, so end markers are checked first.
        self.names_unmarked = tagged and not arguments.name_prefix.strip()
        self._mark_name(fmt, suffix)
        # These markers follow the name directly, so they need no whitespace before them.
        beside = suffix | (id_start | id_end if between else set())
        around_name = map(_after_name, (outer | around) - beside)
        self.name_ends = marker_set(
            beside.union({'" '} if self.function_head else (), *around_name)
        )
        self.id_start, self.id_end = marker_set(id_start), marker_set(id_end)
        # Models may leave out the marker after the id, so later markers end it too.
        self.id_ends = marker_set(outer | around | id_end | stripped([function.name_prefix]))
        self.arguments_start = marker_set(stripped([arguments.start]))
        before = id_start if between else set()
        self.before_json = marker_set(before | stripped([arguments.start]))
        self.arguments_end = marker_set(stripped([arguments.end]))
        self.in_arguments = marker_set(
            # Models write null for a call without arguments.
            key | whole | outer | behind | (set() if tagged else {"null"})
        )
        # In formats like `<name>value</name>`, an opener of calls looks like an argument.
        self.as_arguments = {text: name for text in starts if (name := arguments.named_by(text))}
        self.separator = marker_set(between_arguments)
        self.key = marker_set(key)
        self.next_argument = marker_set(key | between_arguments)
        # If calls have no end, any text may follow them, so it does not prove the end marker.
        self.after_value = marker_set(following if ends | by_name else set())
        # Only nested elements have elements in place of a value.
        self.element_ends = marker_set(key | {closing} if arguments.item else set())
        self.turn_ends, self.end_all = turn_ends, marker_set(ends | turn_ends)
        # A closing marker with a name is not a literal to search.
        self.own_closers = marker_set(own - by_name)
        # An end of all calls alone does not close a single call, so the next call closes it too.
        self.closers = marker_set(ends if own else ends | starts | (set() if ends else turn_ends))
        self.ends = marker_set(ends)
        self.close, self.close_suffix = marker_set(by_name), function.close_suffix.strip()
        self.has_ends = bool(ends | by_name)
        self.may_be_ended = self.has_ends or self.names_unmarked

    def _mark_name(self, fmt: WireFormat, suffix: set[str]) -> None:
        """Set the markers around a function's name."""
        function = fmt.function
        self.next_in_block = marker_set(stripped([after_tag(fmt.tools.per_call_start)]))
        self.name_prefix = marker_set(stripped([function.name_prefix]))
        self.after_name = marker_set(suffix)
        self.function_head = element_head(function.name_prefix, function.name_suffix)

    def _mark_argument(self, arguments: ArgumentsFormat) -> None:
        """Set the markers between an argument's name and its value."""
        suffixes = [way.name_suffix for way in arguments.ways] + [arguments.literal_name_suffix]
        if arguments.literal_name_suffix.strip():
            # Models leave out the attribute for the type.
            suffixes += [without_attribute(suffix) for suffix in suffixes]
        self.key_end = marker_set(stripped([*suffixes, arguments.value_prefix]))
        self.value_prefix = marker_set(stripped([arguments.value_prefix]))
        in_line = bool(arguments.name_prefix.strip()) and not arguments.value_prefix.strip()
        behind = arguments.type_suffix, arguments.name_suffix
        head = element_head(arguments.name_prefix, *behind) if in_line else None
        self.argument_head = head
        # Other attributes, or the end of the head, may follow the quote after the name.
        stops = {'" ', f'"{head.close}'} if head else set()
        # If the value follows the suffix directly, a line end shows that the suffix is missing.
        stops |= {"\n"} if in_line and not arguments.type_suffix.strip() else set()
        self.key_stops = marker_set(stops.union(self.key_end.literals))
        # If only whitespace follows the repeated name, this is the empty string, not None.
        self.key_suffix = arguments.key_suffix.rstrip() if arguments.key_suffix else None
        self.type_end = marker_set(stripped([arguments.type_suffix]))
        self.type_first = arguments.type_first
        self.key_escapes = escapes_of(arguments.name_escapes)
        self.value_escapes = escapes_of(arguments.value_escapes)
        whole = arguments.object_start, arguments.object_end
        self.object_start, self.object_end = (marker_set(stripped([text])) for text in whole)
        escape = arguments.escape_start, arguments.escape_end
        self.escape_start, self.escape_end = (marker_set(stripped([text])) for text in escape)

    def _end_values(
        self,
        arguments: ArgumentsFormat,
        forgotten: set[str],
        following: set[str],
        inside: set[str],
    ) -> None:
        """Set the end markers of values and of their types.

        Args:
            arguments: the markers of arguments.
            forgotten: the markers that show a missing suffix.
            following: the markers that may follow an argument. They end a value without a suffix.
            inside: the start markers of calls and arguments, which a value may quote.
        """

        def ended(text: str, types: str = "") -> ValueMarkers:
            suffix = _closing(text, repeats_key=bool(arguments.key_suffix))
            # Whitespace before the suffix is not part of the value. A suffix of whitespace is the
            # marker itself.
            gap = leading(text) if text.strip() else ""
            # Models may write CRLF although the template has a line feed.
            line_end = {"\r\n"} if suffix == "\n" else set()
            cores = {suffix} | forgotten if suffix else following
            # Quoted markers inside a value need no whitespace before them.
            plain, crlf = (_behind(space, cores) | line_end | inside for space in (gap, _crlf(gap)))
            return ValueMarkers(suffix, marker_set(plain), marker_set(crlf), types)

        self.usual = ended(arguments.value_suffix)
        types = set(self.type_end.literals)
        # Without a written type, the set must be empty.
        self.after_type = marker_set(types and types | following | {self.usual.suffix})
        self.ways = {
            (way.name_prefix.strip(), way.name_suffix.strip()): ended(way.value_suffix, way.types)
            for way in arguments.ways[1:]
        }


def _quoted(fmt: WireFormat) -> tuple[dict[str, int], dict[str, int]]:
    """Return openers and closers of calls that values may quote, with the number of their pair."""
    tools, function = fmt.tools, fmt.function
    pairs = [
        (opener.strip(), closer.strip())
        for opener, closer in (
            (tools.section_start, tools.section_end),
            (tools.per_call_start, tools.per_call_end),
            # A closing marker with the function's name is not a fixed text, so it cannot be
            # counted.
            (function.name_prefix, "" if function.close_suffix else function.close),
        )
        if has_word(opener) and closer.strip()
    ]
    # A number for each pair, so that openers and closers can be matched.
    openers = {opener: at for at, (opener, _) in enumerate(pairs)}
    return openers, {closer: at for at, (_, closer) in enumerate(pairs)}


def _starts(fmt: WireFormat, *, closed: bool) -> set[str]:
    """Return the markers that may begin the next call.

    Args:
        fmt: the wire format.
        closed: True if each call has an end marker.
    """
    starts, prefix, derived = stripped(fmt.derived.openers), fmt.function.name_prefix, fmt.derived
    tagged = fmt.tools.format is ToolFormat.TAG_WITH_TAGGED
    # If calls have end markers, a function's marker that looks like an argument is an argument.
    if derived.in_section and not (tagged and closed and fmt.arguments.named_by(prefix)):
        starts |= stripped([prefix])  # the call has no other marker
    if not closed:
        # A separator ends the preceding call. Values may contain a separator alone, so it counts
        # alone only if the next call has no other marker.
        unmarked = derived.in_section and not prefix.strip()
        starts |= stripped([*derived.separated_openers, fmt.tools.separator * unmarked])
    return starts


def _closing(suffix: str, *, repeats_key: bool) -> str:
    """Return the end marker of a value, without optional whitespace."""
    # The argument's name follows, so trailing whitespace separates the marker from it.
    core = suffix.lstrip() if repeats_key else suffix.strip()
    # A suffix of whitespace without a line end cannot be distinguished from the value.
    return core or "\n" * ("\n" in suffix)


def _after_name(core: str) -> set[str]:
    """Return the spellings of a marker after a name.

    A marker like `-` could be part of a name, so it counts only after whitespace.
    """
    return {core} if IN_NAME.fullmatch(core) is None else {space + core for space in SPACES}


def _crlf(gap: str) -> str:
    """Return whitespace with CRLF as its line ends."""
    return gap.replace("\n", "\r\n")


def _behind(gap: str, cores: set[str]) -> set[str]:
    """Return the spellings of markers after whitespace."""
    return {spelling for core in cores for spelling in preceded(core, gap)}


@lru_cache(maxsize=256)
def tagged_markers(fmt: WireFormat) -> TaggedMarkers:
    """Return the `TaggedMarkers` of a format. They are made once."""
    return TaggedMarkers(fmt)
