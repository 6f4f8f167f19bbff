"""Fast patterns: the usual text at some place of a turn, read in one step.

The complete readers split a call into markers, whitespace and names. Each part is read by its own
generator. That handles all text of models, but for short calls it is most of the cost. Nearly all
calls have the spelling of the template. So at the places in each call, one pattern reads all text
up to the next delta:

    JSON      the brace and the name; the key of the arguments; a small complete call
    tags      the name; an argument's name and the text before its value; a short non-string value
              with its end; the end of a value with its proof
    channels  the header of a message; the end of a message with the start of the next one
    Python    the text between two calls of a list, with the name of the second one
    between   the end of a call with the start of the next one, in JSON and in tags

The patterns between calls are in `fast_next_patterns.py`. The pattern of Python is in its reader of
heads.

The results equal those of the complete readers:

1.  A pattern matches only text without deltas before its last character. At its end, the reader has
    the same position and the same state of the call.
2.  Text is left unread while it may still match. The complete readers would not emit anything for
    it either.
3.  If the text cannot match, the complete readers read all of it. Their results do not depend on
    chunks.

Each pattern has a maximum length, because waiting text is checked again with each chunk. Usually it
is found in a set of known texts: the usual spellings, and texts that waited at the same place
before. Matching the pattern takes ten times as long.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from deltaparse.partial import SMALL_OBJECT, Markers, Waiter, Window, nowhere

from .escapes import Escapes
from .format import CallIdPosition, ChannelsFormat, ToolFormat, WireFormat
from .layout import Many, Slot, layout_of
from .spellings import leading, trailing
from .tag_markers import TaggedMarkers, tagged_markers

__all__ = [
    "LETTER",
    "LONGEST_NAME",
    "SPACE",
    "WORD",
    "FastArguments",
    "FastChannels",
    "FastHead",
    "FastPattern",
    "FastTags",
    "Text",
    "fast_head",
    "fast_tags",
    "so_far",
    "some_of",
    "unambiguous",
    "whole",
]

# These limits bound the waiting text. Longer text is left to the complete readers.
SPACE = r"[ \t\n\r]{0,16}+"
# Letters of names in nearly all tools. Other names take the complete path.
LETTER = "[-A-Za-z0-9_.:/]"
LONGEST_NAME = 128
WORD = rf"{LETTER}{{1,{LONGEST_NAME}}}+"
"""A name of plain letters."""

LONGEST_WAIT = 512
"""The maximum length of waiting text. A longer one, as in an unchunked response, takes the complete
path.
"""

NAME = re.compile(LETTER)
# Strings may contain markers, so only values of these characters are read in one step.
SCALAR = r"[-+.\w]{1,64}+"
# Each character that a scalar may have: a marker must not begin with one.
IN_SCALAR = re.compile(r"[-+.\w]")
LINE_END = r"(?:\n|(?=[^\n\r]))"
"""An optional line end. The next character must be known to decide."""
ONE_SPACE = " ?+"
"""The space in headers. More is rare, and left to the complete reader."""

MOST_KNOWN = 512
"""The maximum number of known texts at a place, for all parsers. Then all are dropped."""
LONGEST_KNOWN = 128
"""The maximum length of a known text, in characters."""


class FastPattern:
    """A pattern of the usual text at some place, with the means to wait for the rest of it.

    Args:
        pattern: the pattern of the text. `match` matches it.
        begun: a pattern of its possible beginnings, as made by `so_far`.
        spelled: usual spellings of the text. Their beginnings are known to be possible.

    Attributes:
        match: the match method of the compiled pattern.
    """

    __slots__ = ("_waiter", "match")

    def __init__(self, pattern: str, begun: str, spelled: Iterable[str] = ()) -> None:
        self.match = re.compile(pattern).match
        may_become = re.compile(begun).fullmatch
        # Only real beginnings: a complete text must be matched, and does not wait.
        known = {text[:size] for text in spelled for size in range(len(text))}

        def step(window: Window) -> str | None:
            text, pos = window.text, window.pos
            # Matching a long text again with each chunk would take quadratic time.
            if len(text) - pos > LONGEST_WAIT:
                return None
            rest = text[pos:]
            # A set is faster than a pattern, and most waiting texts are known.
            if rest in known:
                return ""
            # The complete readers take over at the first character that cannot match.
            if not may_become(rest):
                return None
            # Names and tokens are few, so the same text waits here in nearly each call.
            if len(rest) <= LONGEST_KNOWN:
                # Shared by all parsers, so it must not grow with their input.
                if len(known) >= MOST_KNOWN:
                    known.clear()
                known.add(rest)
            return ""

        self._waiter = Waiter(nowhere, step, nowhere, known=known)

    def may_follow(self, src: Window) -> bool:
        """Return whether the unread text may become a match, and install the waiter if so.

        Args:
            src: the window with the unread text.
        """
        # The waiter is shared by all parsers, since it has no state besides the known texts.
        waiter = self._waiter
        # After the end of the input, an incomplete text cannot become a match.
        if src.closed or waiter.step is None or waiter.step(src) is None:
            return False
        src.waiter = waiter
        return True


class Text(str):
    """A part of a pattern with a literal text."""

    __slots__ = ()


def whole(parts: Iterable[str]) -> str:
    """Return a pattern of all parts. Parts other than `Text` are patterns."""
    # `Text` is a str too, so the exact type decides.
    return "".join(re.escape(part) if type(part) is Text else part for part in parts)


def so_far(parts: Sequence[str]) -> str:
    """Return a pattern of the first parts, the last text possibly incomplete."""
    pattern = ""
    # Built from the end, so that each part is optional only together with all later parts.
    for part in reversed(parts):
        if type(part) is Text:
            # An incomplete literal is possible only at the end of the text.
            pattern = rf"(?:{re.escape(part)}{pattern}|{some_of(part[:-1])}\Z)"
        else:
            pattern = f"(?:{part}{pattern})?+"
    return pattern


def some_of(text: str) -> str:
    """Return a pattern of all beginnings of a text, from the empty one to the whole text."""
    pattern = ""
    for letter in reversed(text):
        pattern = f"(?:{re.escape(letter)}{pattern})?+"
    return pattern


def unambiguous(text: str, markers: Markers) -> bool:
    """Return whether a text is one of the markers, and not the beginning of another one."""
    # Otherwise the next character would decide which marker it is.
    return [marker for marker in markers.literals if marker.startswith(text)] == [text]


class FastHead:
    """The fast patterns of a JSON call.

        {"name": "f", "arguments": {

    The name is the first member, has plain letters, and is followed by the arguments. Strings have
    no escapes, and no text that could prove an unclosed string (`MarkerTables.overrun`).

    Args:
        name_field: the key of the name.
        arguments_field: the key of the arguments.

    Attributes:
        name: from the brace to the end of the name, which is the group.
        arguments: from the name to the brace of the arguments.
        whole: a complete call with a small object. The groups are name and arguments.
        begins: the pattern of `name` without its last character.
        parts: the parts of `begins`.
        spelled: the usual spellings of the text before the name.
    """

    __slots__ = ("arguments", "begins", "name", "parts", "spelled", "whole")

    def __init__(self, name_field: str, arguments_field: str) -> None:
        # JSON text of the keys, as models write it.
        name, arguments = (json.dumps(key) for key in (name_field, arguments_field))
        begin = [Text("{"), SPACE, Text(name), SPACE, Text(":"), SPACE, Text('"')]
        behind = [SPACE, Text(","), SPACE, Text(arguments), SPACE, Text(":"), SPACE]
        # The closing quote is missing: with it, the text is a match.
        self.parts = [*begin, WORD]
        self.begins, between = whole(self.parts), whole(behind)
        # With and without a space: these are the outputs of the usual JSON writers.
        self.spelled = [f'{{{name}:{gap}"' for gap in (" ", "")]
        named = rf'{whole(begin)}({WORD})"'
        self.name = FastPattern(named, so_far(self.parts), [text + "?" for text in self.spelled])
        keys = [f",{gap}{arguments}:{gap}{{" for gap in (" ", "")]
        # The brace is not consumed, because the reader of objects begins there.
        self.arguments = FastPattern(rf"{between}(?=\{{)", so_far(behind), keys)
        # Without `FastPattern`: an incomplete call does not wait here, since the name is emitted
        # early.
        self.whole = re.compile(rf"{named}{between}({SMALL_OBJECT}){SPACE}\}}")


@lru_cache(maxsize=64)
def fast_head(name_field: str, arguments_field: str, firsts: str) -> FastHead | None:
    """Return the fast patterns for calls with these keys, None if a fast path is not possible.

    They are made once.

    Args:
        name_field: the key of the name.
        arguments_field: the key of the arguments.
        firsts: the first characters of texts that could prove an unclosed string.
    """
    # Escaped keys, or a name with one of these characters, are left to the complete reader.
    keys = name_field + arguments_field
    # Equal keys could not distinguish name and arguments.
    plain = bool(name_field and arguments_field) and name_field != arguments_field
    plain = plain and all(map(NAME.match, keys))
    return (
        FastHead(name_field, arguments_field)
        if plain and not any(map(NAME.match, firsts))
        else None
    )


class FastArguments:
    """The fast patterns of arguments in tags.

    Args:
        key: the marker before an argument's name.
        after_key: the markers between the argument's name and its value.
        line: True if a line end follows the last marker.
        ends: the end marker of a value, with its leading whitespace.
        suffix: the whitespace after the end marker.
        closer: the marker at the end of the call, "" if it is not usable here.

    Attributes:
        key: the text up to the value. The group is the argument's name.
        scalar: a short value of letters or digits, the first group, with its end.
        end: the end of a value. Like `scalar`, it needs the following argument or end of the call.
            The end of the call is the last group.
    """

    __slots__ = ("end", "key", "scalar")

    def __init__(
        self, key: str, after_key: Sequence[str], line: bool, ends: str, suffix: str, closer: str
    ) -> None:
        # The first marker directly follows the name, so the first space is removed.
        *inner, last = [part for text in after_key for part in (SPACE, Text(text))][1:]
        first, behind = [SPACE, Text(key)], whole([*inner, last]) + LINE_END * line
        # With an optional line end, the complete text waits for the next character.
        begun = [*first, WORD, *inner, last if line else Text(last[:-1])]
        self.key = FastPattern(f"{whole(first)}({WORD}){behind}", so_far(begun))
        # Only the format's line end is optional here. Other whitespace belongs to the value.
        gap = r"\n?+" * (ends[:1] == "\n")
        core = ends.lstrip()
        closes = f"(?=({re.escape(closer)}))" if closer else "(?!)()"  # the group must exist
        # The text after the end marker proves that the marker is not part of the value.
        ahead = f"(?={re.escape(key)})|{closes}"
        end = f"{gap}{re.escape(core)}{SPACE}(?:{ahead})"
        # The last characters are removed, because a complete marker is a match.
        cut = "|".join(some_of(text[:-1]) + r"\Z" for text in (key, closer))
        parts = [gap, Text(core), SPACE, f"(?:{cut})"]
        # Models write the template's whitespace or leave it out.
        spelled = [
            before + core + space + text
            for text in (key, closer)
            for space in {suffix, ""}
            for before in {leading(ends), ""}
        ]
        self.end = FastPattern(end, so_far(parts), spelled)
        # Possessive, so a scalar takes all its characters and the rest must be its end.
        self.scalar = FastPattern(f"({SCALAR}){end}", so_far([SCALAR, *parts]))


class FastTags:
    """The fast patterns of a call in tags.

    Each step ends where the complete reader emits a delta. A name is emitted at the proof of the
    call, an argument's name at its value, and a value at the proof of its end.

    Args:
        markers: the markers inside a call of the format.
        behind: the markers between the name and the arguments.
        key: the marker before an argument's name, "" for arguments in JSON.
        arguments: the patterns of the arguments.

    Attributes:
        head: the name, its group, with the text up to the arguments.
        pattern: the pattern of `head`.
        parts: the parts of `pattern` without its last character.
        arguments: the patterns of the arguments. None if they are not in tags, or have no fast
            path.
        markers: the argument.
    """

    __slots__ = ("arguments", "head", "markers", "parts", "pattern")

    def __init__(
        self,
        markers: TaggedMarkers,
        behind: Sequence[str],
        key: str,
        arguments: FastArguments | None,
    ) -> None:
        self.markers = markers
        # Whitespace is optional after each marker.
        between = [part for text in behind for part in (Text(text), SPACE)]
        # The first character of the arguments proves the call, and is left to their reader.
        ahead = re.escape(key) if key else r'[{"]'
        self.pattern = f"{SPACE}({WORD}){whole(between)}(?={ahead})"
        self.parts = [SPACE, WORD, *between, Text(key[:-1])]
        self.head = FastPattern(self.pattern, so_far(self.parts))
        self.arguments = arguments


@lru_cache(maxsize=256)
def fast_tags(fmt: WireFormat) -> FastTags | None:
    """Return the fast patterns of calls in tags, None if the format has no fast path.

    They are made once.

    Args:
        fmt: the wire format.
    """
    m = tagged_markers(fmt)
    call_id = fmt.call_id
    before_name = call_id.position is CallIdPosition.PRE_FUNC_NAME and call_id.holds_name
    tagged = fmt.tools.format is ToolFormat.TAG_WITH_TAGGED
    suffix, key = _only(m.after_name), _only(m.key)
    # The name must end visibly: a marker must not begin inside it.
    plain = bool(suffix) and not any(map(NAME.match, m.name_ends.firsts))
    plain = plain and not _in_words(m.name_escapes)
    # An id at any other position needs the complete reader.
    plain = plain and (before_name or call_id.position is CallIdPosition.NONE)
    # Arguments in tags need one marker before the name. Arguments in JSON do not have it.
    if not plain or tagged is not bool(key) or (key and not unambiguous(key, m.in_arguments)):
        return None
    behind = [suffix, *m.arguments_start.literals]
    return FastTags(m, behind, key, _fast_arguments(fmt, m, key) if tagged else None)


def _fast_arguments(fmt: WireFormat, m: TaggedMarkers, key: str) -> FastArguments | None:
    """Return the fast patterns of arguments in tags, None if the format has no fast path."""
    layout = layout_of(fmt)
    # Types, a second name, other notations and separators need the complete reader.
    match layout.arguments:
        case Many(
            each=(str(), Slot.KEY, *inner, Slot.VALUE | Slot.JSON_VALUE, str(ends)),
            between=between,
            others=(),
        ) if not between.strip():
            after_key = [part for part in inner if isinstance(part, str)]
        case _:
            return None
    # Escapes and nested elements change how a value is read. A closing marker with a name is no
    # fixed text.
    odd = (m.value_escapes, m.escape_start.literals, m.element_ends.literals, m.close.literals)
    if len(after_key) != len(inner) or any(odd) or _in_words(m.key_escapes):
        return None
    core, space = ends.strip(), trailing("".join(after_key))
    behind = [text.strip() for text in after_key if text.strip()]
    # Other whitespace could be part of the value.
    if not behind or space not in ("", "\n") or leading(ends) not in ("", "\n") or not core:
        return None
    # A marker must not begin inside a name or a value.
    in_name = any(map(NAME.match, m.key_end.firsts))
    in_value = any(map(IN_SCALAR.match, m.usual.ends.firsts))
    told = unambiguous(behind[0], m.key_end) and unambiguous(key, m.after_value)
    if in_name or in_value or not told:
        return None
    own = [part.strip() for part in layout.tail if isinstance(part, str) and part.strip()]
    # With an end marker of all arguments, the closer does not follow the last value.
    closer = own[0] if own and not m.arguments_end.literals else ""
    # An ambiguous closer would need more text to decide.
    if not all(
        unambiguous(closer, markers) for markers in (m.closers, m.in_arguments, m.after_value)
    ):
        closer = ""
    spelled = leading(ends) + core
    return FastArguments(key, behind, bool(space), spelled, trailing(ends), closer)


def _in_words(escapes: Escapes) -> bool:
    """Return whether a name of plain letters may contain a spelling."""
    return any(re.fullmatch(f"{LETTER}+", text) for text in escapes.spellings)


def _only(markers: Markers) -> str:
    """Return the marker of a set with one marker, otherwise ""."""
    return markers.literals[0] if len(markers.literals) == 1 else ""


class FastChannels:
    """The fast patterns of a turn in channels.

        <|call|><|start|>assistant
        <|channel|>commentary to=functions.f <|constrain|>json<|message|>

    Args:
        channels: the markers of channels.
        ends: the cores of the markers at the end of a message inside the turn.
        start: all text between such a marker and the next header.

    Attributes:
        header: a header. Its groups are the channel and the recipient, if there is one.
        following: the end of a message and the start of the model's next one, up to a usual header.
    """

    __slots__ = ("following", "header")

    def __init__(self, channels: ChannelsFormat, ends: Collection[str], start: str) -> None:
        channel, message = Text(channels.channel.strip()), Text(channels.message.strip())
        begin = [channel, WORD]
        recipient = [Text(" " + channels.recipient.strip()), WORD]
        form = [ONE_SPACE, Text(channels.constrain.strip()), WORD]
        # Recipient and form are optional. Each combination is listed, so that beginnings can be
        # matched.
        ways = [
            [*begin, *recipient, *form, ONE_SPACE, message],
            [*begin, *recipient, ONE_SPACE, message],
            [*begin, *form, ONE_SPACE, message],
            [*begin, ONE_SPACE, message],
        ]
        to, constrain = (rf"(?:{whole(parts)})?+" for parts in (recipient, form))
        # Only the pattern for reading needs the group.
        to = to.replace(WORD, f"({WORD})")
        header = f"{re.escape(channel)}({WORD}){to}{constrain}{ONE_SPACE}{re.escape(message)}"
        # The last character is removed, because a complete header is read and does not wait.
        cut = "|".join(so_far([*parts[:-1], Text(message[:-1])]) for parts in ways)
        self.header = FastPattern(header, cut, [channel + "?"])
        any_end = "|".join(map(re.escape, sorted(ends)))
        before = [f"(?:{any_end})", Text(start)]
        cuts = [so_far([Text(end), Text(start)]) for end in sorted(ends)]
        spelled = [end + start + channel + "?" for end in ends]
        begun = "|".join([*cuts, f"{whole(before)}(?:{cut})"])
        # The header is only looked ahead at, because another step reads it.
        self.following = FastPattern(f"{whole(before)}(?={header})", begun, spelled)
