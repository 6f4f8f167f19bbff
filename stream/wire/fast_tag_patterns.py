r"""Fast patterns for a usual call in tags: its name, and its arguments in tags.

    forecast>\n<parameter=  city>\n  Łódź  \n</parameter>\n<parameter=  days>\n3\n</parameter>\n

`fast_patterns.py` explains why the results are the same. Each step ends where the complete reader
emits a delta. A name is emitted at the proof of the call, an argument's name at its value, and a
value at the proof of its end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from deltaparse.partial import Markers

from .escapes import Escapes
from .fast_patterns import (
    LETTER,
    SPACE,
    WORD,
    FastPattern,
    Text,
    so_far,
    some_of,
    unambiguous,
    whole,
)
from .format import CallIdPosition, ToolFormat, WireFormat
from .spellings import leading, trailing
from .tag_markers import TaggedMarkers, tagged_markers

__all__ = ["FastArguments", "FastTags", "fast_tags"]

NAME = re.compile(LETTER)
# Strings may contain markers, so only values of these characters are read in one step.
SCALAR = r"[-+.\w]{1,64}+"
# Each character that a scalar may have: a marker must not begin with one.
IN_SCALAR = re.compile(r"[-+.\w]")
LINE_END = r"(?:\n|(?=[^\n\r]))"
"""An optional line end. The next character must be known to decide."""


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
    arguments, ends = fmt.arguments, fmt.arguments.value_suffix
    name_suffix, value_prefix = arguments.name_suffix.strip(), arguments.value_prefix.strip()
    after_key = [text for text in (name_suffix, value_prefix) if text]
    behind = arguments.value_prefix if value_prefix else arguments.name_suffix
    space = trailing(behind) + ("" if value_prefix else arguments.value_prefix)
    # Types, escapes and nested elements change how a value is read.
    odd = (m.ways, m.type_end.literals, m.escape_start.literals, m.element_ends.literals)
    escaped = m.value_escapes or _in_words(m.key_escapes)
    special = any(odd) or m.key_suffix is not None or arguments.literal_name_suffix.strip()
    # Separators and closing markers with a name need the complete reader.
    if special or escaped or m.separator.literals or m.close.literals:
        return None
    core = ends.strip()
    # Other whitespace could be part of the value.
    if not after_key or space not in ("", "\n") or leading(ends) not in ("", "\n") or not core:
        return None
    # A marker must not begin inside a name or a value.
    in_name = any(map(NAME.match, m.key_end.firsts))
    in_value = any(map(IN_SCALAR.match, m.usual.ends.firsts))
    told = unambiguous(after_key[0], m.key_end) and unambiguous(key, m.after_value)
    if in_name or in_value or not told:
        return None
    own = [text for text in (fmt.function.close, fmt.tools.per_call_end) if text.strip()]
    # With an end marker of all arguments, the closer does not follow the last value.
    closer = own[0].strip() if own and not m.arguments_end.literals else ""
    # An ambiguous closer would need more text to decide.
    if not all(
        unambiguous(closer, markers) for markers in (m.closers, m.in_arguments, m.after_value)
    ):
        closer = ""
    spelled = leading(ends) + core
    return FastArguments(key, after_key, bool(space), spelled, trailing(ends), closer)


def _in_words(escapes: Escapes) -> bool:
    """Return whether a name of plain letters may contain a spelling."""
    return any(re.fullmatch(f"{LETTER}+", text) for text in escapes.spellings)


def _only(markers: Markers) -> str:
    """Return the marker of a set with one marker, otherwise ""."""
    return markers.literals[0] if len(markers.literals) == 1 else ""
