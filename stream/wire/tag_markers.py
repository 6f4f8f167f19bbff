"""The markers inside a call in tags, ready to be looked for."""

from __future__ import annotations

from functools import lru_cache

from deltaparse.partial import marker_set

from .format import CallIdPosition, ToolFormat, WireFormat
from .spellings import leading, spellings, stripped, without_attribute

__all__ = ["TaggedMarkers", "tagged_markers"]


class TaggedMarkers:
    """What readers look for in each place of a call in tags.

    White space at a marker's edges is optional. So a marker is looked for as its core: what stands
    before it is white space that was skipped, or a name, which loses it. Before the end of a value
    white space may be the value's; so what ends values is looked for with as much of its own
    leading white space as stands there.

    name_prefix, after_name:         the markers round the name.
    name_ends:                       what may follow a name.
    id_start, id_end:                the markers round the id; `id_ends`: what may follow it.
    arguments_start, arguments_end:  the markers round all arguments.
    in_arguments:                    what may stand where an argument or the end of all does.
    key:                             the marker before an argument's name; none in a JSON object.
    key_end, value_prefix:           what ends the name, and the marker before the value.
    value_ends:                      what may end a value; of these, `value_suffix` is the marker
                                     for it, and `turn_ends` end the turn. `value_ends_crlf`: the
                                     same for a value before which a line ended with CRLF.
    key_suffix:                      what stands behind `value_suffix` and the argument's name,
                                     where that is repeated there; None elsewhere.
    separator:                       the marker between arguments.
    behind_value:                    what may follow a value's own marker, and so proves that it
                                     was no text; empty where nothing ends calls: it proves itself.
    closers:                         what proves that a call has ended: the markers that end the
                                     function, the call, or all calls; where neither function nor
                                     call has one, the next call too. Of these, `ends` end calls.
    has_ends:                        there are such markers, or `close`.
    close, close_suffix:             what stands round the function's name in what closes a call,
                                     where that repeats it; none and "" elsewhere.
    element_ends:                    where elements nest, what may follow an argument's name in the
                                     place of its value: the next element, or the value's end.
    type_end:                        what ends the type of a value, where that is written.
    escape_start, escape_end:        the markers round a string that is escaped.
    """

    __slots__ = (
        "after_name",
        "arguments_end",
        "arguments_start",
        "behind_value",
        "close",
        "close_suffix",
        "closers",
        "element_ends",
        "ends",
        "escape_end",
        "escape_start",
        "has_ends",
        "id_end",
        "id_ends",
        "id_start",
        "in_arguments",
        "key",
        "key_end",
        "key_suffix",
        "name_ends",
        "name_prefix",
        "separator",
        "turn_ends",
        "type_end",
        "value_ends",
        "value_ends_crlf",
        "value_prefix",
        "value_suffix",
    )

    def __init__(self, fmt: WireFormat) -> None:
        function, arguments, call_id = fmt.function, fmt.arguments, fmt.call_id
        repeats_key = bool(arguments.key_suffix)
        closing = arguments.value_suffix.lstrip() if repeats_key else arguments.value_suffix.strip()
        # Behind an element within a value stands the end of that value.
        inner = {closing} if arguments.item else set()
        ends, starts = stripped(fmt.facts.closers), stripped(fmt.facts.openers)
        turn_ends = stripped(fmt.turn.ends)
        tagged = fmt.tools.format is ToolFormat.TAG_WITH_TAGGED
        key = stripped([arguments.name_prefix]) if tagged else set()
        by_name = stripped([function.close]) if fmt.facts.closes_by_name else set()
        outer = ends | starts | turn_ends | by_name
        around = key | stripped([arguments.start]) or {"{"}
        suffix = stripped([function.name_suffix]) or {function.name_suffix}
        id_start, id_end = stripped([call_id.prefix]), stripped([call_id.suffix])
        between = call_id.position is CallIdPosition.BETWEEN_FUNC_AND_ARGS
        behind = stripped([arguments.end])
        if call_id.position is CallIdPosition.POST_ARGS:
            behind |= id_start
        # Models forget suffixes: then what stands behind the call may show it.
        forgotten = (ends | by_name or starts) | turn_ends if key else set()
        value_ends = {closing} - {""} | forgotten
        gap = leading(arguments.value_suffix)

        self.name_prefix = marker_set(stripped([function.name_prefix]))
        self.name_ends = marker_set(
            outer | around | suffix | (id_start | id_end if between else set())
        )
        self.after_name = marker_set(suffix)
        self.id_start = marker_set(id_start)
        self.id_end = marker_set(id_end)
        self.id_ends = marker_set(outer | around | id_end | stripped([function.name_prefix]))
        self.arguments_start = marker_set(stripped([arguments.start]))
        self.arguments_end = marker_set(stripped([arguments.end]))
        self.in_arguments = marker_set(key | outer | behind | (set() if key else {"null"}))
        self.separator = marker_set(stripped([arguments.separator]))
        self.key = marker_set(key)
        suffixes = [arguments.name_suffix, arguments.literal_name_suffix]
        if arguments.literal_name_suffix.strip():
            suffixes += [without_attribute(suffix) for suffix in suffixes]
        self.key_end = marker_set(stripped([*suffixes, arguments.value_prefix]))
        self.value_prefix = marker_set(stripped([arguments.value_prefix]))
        self.value_suffix = marker_set({closing})
        self.key_suffix = arguments.key_suffix.rstrip() if repeats_key else None
        self.value_ends = marker_set(_behind(gap, value_ends))
        self.value_ends_crlf = marker_set(_behind(gap.replace("\n", "\r\n"), value_ends))
        self.behind_value = marker_set(
            key | outer | behind | stripped([arguments.separator]) | inner
            if ends | by_name
            else set()
        )
        self.element_ends = marker_set(key | {closing} if arguments.item else set())
        self.type_end = marker_set(stripped([arguments.type_suffix]))
        self.escape_start = marker_set(stripped([arguments.escape_start]))
        self.escape_end = marker_set(stripped([arguments.escape_end]))
        self.turn_ends = turn_ends
        own = stripped([function.close, fmt.tools.per_call_end])
        self.closers = marker_set(ends if own else ends | starts | (set() if ends else turn_ends))
        self.ends = marker_set(ends)
        self.close = marker_set(by_name)
        self.close_suffix = function.close_suffix.strip() if by_name else ""
        self.has_ends = bool(ends | by_name)


def _behind(gap: str, cores: set[str]) -> set[str]:
    """The spellings of markers behind white space."""
    return {spelling for core in cores for spelling in spellings(gap + core)}


@lru_cache(maxsize=256)
def tagged_markers(fmt: WireFormat) -> TaggedMarkers:
    """The `TaggedMarkers` of a format, made once."""
    return TaggedMarkers(fmt)
