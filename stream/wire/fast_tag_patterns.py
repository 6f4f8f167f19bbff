r"""The steps of a call in tags as models write it: its name, and arguments of which each has tags.

    forecast>\n<parameter=  city>\n  Łódź  \n</parameter>\n<parameter=  days>\n3\n</parameter>\n

`usual.py` says why that is right. A step goes up to where the long way emits something: the name,
at what proves a call; an argument's name, at its value; a value, at what proves its end.
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

__all__ = ["UsualArguments", "UsualTags", "usual_tags"]

NAME = re.compile(LETTER)
SCALAR = r"[-+.\w]{1,64}+"
IN_SCALAR = re.compile(r"[-+.\w]")
LINE_END = r"(?:\n|(?=[^\n\r]))"
"""A line end that may be left out: whatever stands there decides."""


class UsualArguments:
    """Arguments of which each stands in markers of its own.

    `key` reads up to the value, with the argument's name as its group. `scalar` reads a value of a
    few letters or digits, its first group, and what ends it; `end` what ends a value. Both see what
    follows: another argument, or what ends the call, which is their last group then.
    """

    __slots__ = ("end", "key", "scalar")

    def __init__(
        self, key: str, behind_key: Sequence[str], line: bool, ends: str, suffix: str, closer: str
    ) -> None:
        *inner, last = [part for text in behind_key for part in (SPACE, Text(text))][1:]
        first, behind = [SPACE, Text(key)], whole([*inner, last]) + LINE_END * line
        # What stands there decides whether a line end does.
        begun = [*first, WORD, *inner, last if line else Text(last[:-1])]
        self.key = FastPattern(f"{whole(first)}({WORD}){behind}", so_far(begun))
        gap = r"\n?+" * (ends[:1] == "\n")
        core = ends.lstrip()
        closes = f"(?=({re.escape(closer)}))" if closer else "(?!)()"  # the group is always there
        ahead = f"(?={re.escape(key)})|{closes}"
        end = f"{gap}{re.escape(core)}{SPACE}(?:{ahead})"
        cut = "|".join(some_of(text[:-1]) + r"\Z" for text in (key, closer))
        parts = [gap, Text(core), SPACE, f"(?:{cut})"]
        spelled = [
            before + core + space + text
            for text in (key, closer)
            for space in {suffix, ""}
            for before in {leading(ends), ""}
        ]
        self.end = FastPattern(end, so_far(parts), spelled)
        self.scalar = FastPattern(f"({SCALAR}){end}", so_far([SCALAR, *parts]))


class UsualTags:
    """The steps of a call in tags.

    `head` reads the name, its group, and what stands between that and the arguments; `pattern` is
    what it reads, and `parts` are that in parts, but for its last character. `arguments` are the
    steps behind that; None where they are not in tags, or nothing tells them at sight. `markers`
    are those of the format.
    """

    __slots__ = ("arguments", "head", "markers", "parts", "pattern")

    def __init__(
        self,
        markers: TaggedMarkers,
        behind: Sequence[str],
        key: str,
        arguments: UsualArguments | None,
    ) -> None:
        self.markers = markers
        between = [part for text in behind for part in (Text(text), SPACE)]
        ahead = re.escape(key) if key else r'[{"]'
        self.pattern = f"{SPACE}({WORD}){whole(between)}(?={ahead})"
        self.parts = [SPACE, WORD, *between, Text(key[:-1])]
        self.head = FastPattern(self.pattern, so_far(self.parts))
        self.arguments = arguments


@lru_cache(maxsize=256)
def usual_tags(fmt: WireFormat) -> UsualTags | None:
    """The steps of a format's calls in tags, made once; None where they are not told at sight."""
    m = tagged_markers(fmt)
    call_id = fmt.call_id
    before_name = call_id.position is CallIdPosition.PRE_FUNC_NAME and call_id.holds_name
    tagged = fmt.tools.format is ToolFormat.TAG_WITH_TAGGED
    suffix, key = _only(m.after_name), _only(m.key)
    plain = bool(suffix) and not any(map(NAME.match, m.name_ends.firsts))
    plain = plain and not _in_words(m.name_escapes)
    plain = plain and (before_name or call_id.position is CallIdPosition.NONE)
    if not plain or tagged is not bool(key) or (key and not unambiguous(key, m.in_arguments)):
        return None
    behind = [suffix, *m.arguments_start.literals]
    return UsualTags(m, behind, key, _usual_arguments(fmt, m, key) if tagged else None)


def _usual_arguments(fmt: WireFormat, m: TaggedMarkers, key: str) -> UsualArguments | None:
    """The steps of arguments in tags; None where they are not told at sight."""
    arguments, ends = fmt.arguments, fmt.arguments.value_suffix
    name_suffix, value_prefix = arguments.name_suffix.strip(), arguments.value_prefix.strip()
    behind_key = [text for text in (name_suffix, value_prefix) if text]
    behind = arguments.value_prefix if value_prefix else arguments.name_suffix
    space = trailing(behind) + ("" if value_prefix else arguments.value_prefix)
    odd = (m.ways, m.type_end.literals, m.escape_start.literals, m.element_ends.literals)
    escaped = m.value_escapes or _in_words(m.key_escapes)
    special = any(odd) or m.key_suffix is not None or arguments.literal_name_suffix.strip()
    if special or escaped or m.separator.literals or m.close.literals:
        return None
    core = ends.strip()
    if not behind_key or space not in ("", "\n") or leading(ends) not in ("", "\n") or not core:
        return None
    in_name = any(map(NAME.match, m.key_end.firsts))
    in_value = any(map(IN_SCALAR.match, m.usual.ends.firsts))
    told = unambiguous(behind_key[0], m.key_end) and unambiguous(key, m.behind_value)
    if in_name or in_value or not told:
        return None
    own = [text for text in (fmt.function.close, fmt.tools.per_call_end) if text.strip()]
    closer = own[0].strip() if own and not m.arguments_end.literals else ""
    if not all(
        unambiguous(closer, markers) for markers in (m.closers, m.in_arguments, m.behind_value)
    ):
        closer = ""
    spelled = leading(ends) + core
    return UsualArguments(key, behind_key, bool(space), spelled, trailing(ends), closer)


def _in_words(escapes: Escapes) -> bool:
    """Whether a spelling may stand in a name of plain letters."""
    return any(re.fullmatch(f"{LETTER}+", text) for text in escapes.spellings)


def _only(markers: Markers) -> str:
    """The marker of a set of one, else ""."""
    return markers.literals[0] if len(markers.literals) == 1 else ""
