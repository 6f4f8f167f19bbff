"""The markers inside a call in tags, ready to be looked for."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from deltaparse.partial import Markers, marker_set

from .element_heads import element_head
from .escapes import escapes_of
from .format import ArgumentsFormat, CallIdPosition, ToolFormat, WireFormat
from .spellings import behind_tag, has_word, leading, preceded, stripped, without_attribute

__all__ = ["TaggedMarkers", "ValueMarkers", "tagged_markers"]

IN_NAME = re.compile(r"[-.:/\w]+")
SPACES = (" ", "\t", "\n")


class ValueMarkers(NamedTuple):
    """What ends a value.

    suffix:       the marker for it, a line end alone for one of white space; "" where what may
                  follow the argument ends the value.
    ends:         what may end it, the suffix among them; `ends_crlf` where the line before it
                  ended with CRLF.
    types:        the types that it has, as the format names them, blanks between.
    """

    suffix: str
    ends: Markers
    ends_crlf: Markers
    types: str = ""


class TaggedMarkers:
    """What readers look for in each place of a call in tags.

    White space at a marker's edges is optional. So a marker is looked for as its core: what stands
    before it is white space that was skipped, or a name, which loses it. Before the end of a value
    white space may be the value's; so what ends values is looked for with as much of its own
    leading white space as stands there.

    name_prefix, after_name:         the markers round the name.
    name_ends:                       what may follow a name.
    next_in_block:                   what another call begins with behind one that was not closed:
                                     the marker of each call without its tag.
    id_start, id_end:                the markers round the id; `id_ends`: what may follow it.
    arguments_start, arguments_end:  the markers round all arguments.
    before_json:                     what may stand before arguments that are JSON.
    in_arguments:                    what may stand where an argument or the end of all does.
    as_arguments:                    those of them that begin calls, but may begin arguments just
                                     as well, with the names that these have.
    key:                             the marker before an argument's name; none in a JSON object.
    key_end, value_prefix:           what ends the name, and the marker before the value.
    key_stops:                       the same, and what shows that it is missing: a line end, if
                                     the value follows; an attribute behind the name.
    argument_head, function_head:    the heads of elements, if names are attributes in them.
    names_unmarked:                  nothing stands before an argument's name.
    usual, ways:                     what ends a value, usually, and by the cores of what stands
                                     before and behind the argument's name.
    quoted_openers, quoted_closers:  what opens and closes a call that a value quotes, each with
                                     the number of its pair.
    next_argument:                   what may stand behind a quoted argument, before the next.
    turn_ends:                       the markers that end the turn; `end_all` end calls or the turn.
    key_suffix:                      what stands behind a value's suffix and the argument's name,
                                     where that is repeated there; None elsewhere.
    separator:                       the marker between arguments.
    behind_value:                    what may follow a value's own marker, and so proves that it
                                     was no text; empty where nothing ends calls: it proves itself.
    closers:                         what proves that a call has ended: the markers that end the
                                     function, the call, or all calls; where neither function nor
                                     call has one, the next call too. Of these, `ends` end calls.
                                     `own_closers` are those of one function or call.
    has_ends:                        there are such markers, or `close`.
    may_be_ended:                    what may stand where an argument does is looked for first.
    close, close_suffix:             what stands round the function's name in what closes a call,
                                     where that repeats it; none and "" elsewhere.
    element_ends:                    where elements nest, what may follow an argument's name in the
                                     place of its value: the next element, or the value's end.
    type_end:                        what ends the type of a value, where that is written.
    behind_type:                     that, and what shows that it was forgotten.
    type_first:                      the type stands before the argument's name.
    escape_start, escape_end:        the markers round a string that is escaped.
    object_start, object_end:        the markers round arguments that are one JSON object, where
                                     others stand in markers of their own.
    name_escapes, key_escapes:       how characters of a function's name, and of an argument's, are
                                     spelled; `value_escapes`: those of a string.
    """

    __slots__ = (
        "after_name",
        "argument_head",
        "arguments_end",
        "arguments_start",
        "as_arguments",
        "before_json",
        "behind_type",
        "behind_value",
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
        # Behind an element within a value stands the end of that value.
        inner = {closing} if arguments.item else set()
        ends = stripped(fmt.derived.closers)
        own, behind = stripped([function.close, fmt.tools.per_call_end]), stripped([arguments.end])
        starts = _starts(fmt, closed=bool(own | behind))
        turn_ends = stripped(fmt.turn.ends)
        tagged = fmt.tools.format is ToolFormat.TAG_WITH_TAGGED
        self.name_escapes = escapes_of(function.name_escapes)
        self._mark_argument(arguments)
        key = stripped([way.name_prefix for way in arguments.ways]) if tagged else set()
        by_name = stripped([function.close]) if fmt.derived.closes_by_name else set()
        outer = ends | starts | turn_ends | by_name
        whole = set(self.object_start.literals)
        around = key | whole | stripped([arguments.start]) or set("{" * (not tagged))
        suffix = stripped([function.name_suffix]) or {function.name_suffix}
        id_start, id_end = stripped([call_id.prefix]), stripped([call_id.suffix])
        between = fmt.derived.id_before_arguments
        if call_id.position is CallIdPosition.POST_ARGS:
            behind |= id_start
        # Models forget suffixes: then what stands behind the call may show it.
        forgotten = (ends | by_name or starts) | turn_ends
        between_arguments = stripped([arguments.separator])
        following = key | outer | behind | between_arguments | inner

        self.quoted_openers, self.quoted_closers = _quoted(fmt)
        # In a value these are text, but show that it quotes calls, or that its end is missing.
        self._end_values(arguments, forgotten, following, key | {*self.quoted_openers})
        self.names_unmarked = tagged and not arguments.name_prefix.strip()
        self._mark_name(fmt, suffix)
        beside = suffix | (id_start | id_end if between else set())
        around_name = map(_behind_name, (outer | around) - beside)
        self.name_ends = marker_set(
            beside.union({'" '} if self.function_head else (), *around_name)
        )
        self.id_start, self.id_end = marker_set(id_start), marker_set(id_end)
        self.id_ends = marker_set(outer | around | id_end | stripped([function.name_prefix]))
        self.arguments_start = marker_set(stripped([arguments.start]))
        before = id_start if between else set()
        self.before_json = marker_set(before | stripped([arguments.start]))
        self.arguments_end = marker_set(stripped([arguments.end]))
        self.in_arguments = marker_set(
            key | whole | outer | behind | (set() if tagged else {"null"})
        )
        self.as_arguments = {text: name for text in starts if (name := arguments.named_by(text))}
        self.separator = marker_set(between_arguments)
        self.key = marker_set(key)
        self.next_argument = marker_set(key | between_arguments)
        self.behind_value = marker_set(following if ends | by_name else set())
        self.element_ends = marker_set(key | {closing} if arguments.item else set())
        self.turn_ends, self.end_all = turn_ends, marker_set(ends | turn_ends)
        self.own_closers = marker_set(own - by_name)
        self.closers = marker_set(ends if own else ends | starts | (set() if ends else turn_ends))
        self.ends = marker_set(ends)
        self.close, self.close_suffix = marker_set(by_name), function.close_suffix.strip()
        self.has_ends = bool(ends | by_name)
        self.may_be_ended = self.has_ends or self.names_unmarked

    def _mark_name(self, fmt: WireFormat, suffix: set[str]) -> None:
        """Say what stands around a function's name."""
        function = fmt.function
        self.next_in_block = marker_set(stripped([behind_tag(fmt.tools.per_call_start)]))
        self.name_prefix = marker_set(stripped([function.name_prefix]))
        self.after_name = marker_set(suffix)
        self.function_head = element_head(function.name_prefix, function.name_suffix)

    def _mark_argument(self, arguments: ArgumentsFormat) -> None:
        """Say what stands between an argument's name and its value."""
        suffixes = [way.name_suffix for way in arguments.ways] + [arguments.literal_name_suffix]
        if arguments.literal_name_suffix.strip():
            suffixes += [without_attribute(suffix) for suffix in suffixes]
        self.key_end = marker_set(stripped([*suffixes, arguments.value_prefix]))
        self.value_prefix = marker_set(stripped([arguments.value_prefix]))
        in_line = bool(arguments.name_prefix.strip()) and not arguments.value_prefix.strip()
        behind = arguments.type_suffix, arguments.name_suffix
        head = element_head(arguments.name_prefix, *behind) if in_line else None
        self.argument_head = head
        stops = {'" ', f'"{head.close}'} if head else set()
        stops |= {"\n"} if in_line and not arguments.type_suffix.strip() else set()
        self.key_stops = marker_set(stops.union(self.key_end.literals))
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
        """Say what ends a value, or its type: a suffix, and what shows that it was `forgotten`.

        `following` may stand behind an argument, and ends a value that has no suffix; `inside` is
        what calls and arguments begin with, which a value may quote.
        """

        def ended(text: str, types: str = "") -> ValueMarkers:
            suffix = _closing(text, repeats_key=bool(arguments.key_suffix))
            gap = leading(text) if text.strip() else ""
            line_end = {"\r\n"} if suffix == "\n" else set()
            cores = {suffix} | forgotten if suffix else following
            plain, crlf = (_behind(space, cores) | line_end | inside for space in (gap, _crlf(gap)))
            return ValueMarkers(suffix, marker_set(plain), marker_set(crlf), types)

        self.usual = ended(arguments.value_suffix)
        types = set(self.type_end.literals)
        self.behind_type = marker_set(types and types | following | {self.usual.suffix})
        self.ways = {
            (way.name_prefix.strip(), way.name_suffix.strip()): ended(way.value_suffix, way.types)
            for way in arguments.ways[1:]
        }


def _quoted(fmt: WireFormat) -> tuple[dict[str, int], dict[str, int]]:
    """The openers and the closers of calls that values may quote, each with its pair's number."""
    tools, function = fmt.tools, fmt.function
    pairs = [
        (opener.strip(), closer.strip())
        for opener, closer in (
            (tools.section_start, tools.section_end),
            (tools.per_call_start, tools.per_call_end),
            (function.name_prefix, "" if function.close_suffix else function.close),
        )
        if has_word(opener) and closer.strip()
    ]
    openers = {opener: at for at, (opener, _) in enumerate(pairs)}
    return openers, {closer: at for at, (_, closer) in enumerate(pairs)}


def _starts(fmt: WireFormat, *, closed: bool) -> set[str]:
    """What the next call may begin with; `closed`: something in it ends each call."""
    starts, prefix, derived = stripped(fmt.derived.openers), fmt.function.name_prefix, fmt.derived
    tagged = fmt.tools.format is ToolFormat.TAG_WITH_TAGGED
    if derived.in_section and not (tagged and closed and fmt.arguments.named_by(prefix)):
        starts |= stripped([prefix])  # it begins with no more
    if not closed:
        # What separates calls ends the last. Alone it may stand in a value, but where calls
        # begin with nothing else.
        unmarked = derived.in_section and not prefix.strip()
        starts |= stripped([*derived.separated_openers, fmt.tools.separator * unmarked])
    return starts


def _closing(suffix: str, *, repeats_key: bool) -> str:
    """What ends a value, without the white space that may be left out."""
    core = suffix.lstrip() if repeats_key else suffix.strip()
    return core or "\n" * ("\n" in suffix)


def _behind_name(core: str) -> set[str]:
    """The spellings of a marker that ends a name before it: `-` alone may be a part of one."""
    return {core} if IN_NAME.fullmatch(core) is None else {space + core for space in SPACES}


def _crlf(gap: str) -> str:
    return gap.replace("\n", "\r\n")


def _behind(gap: str, cores: set[str]) -> set[str]:
    """The spellings of markers behind white space."""
    return {spelling for core in cores for spelling in preceded(core, gap)}


@lru_cache(maxsize=256)
def tagged_markers(fmt: WireFormat) -> TaggedMarkers:
    """The `TaggedMarkers` of a format, made once."""
    return TaggedMarkers(fmt)
