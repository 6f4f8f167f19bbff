"""What proves that a call was not closed: the next one begins in the middle of it.

    proof = closer+ opener+ head

The head of a call goes up to a quote that no string can hold, in JSON and in quotes of a format's
own. Anything less is part of the value. A format that has no closers shows its next call with an
opener alone. Nothing proves it in tags: their values may hold any text, also calls that they quote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from deltaparse.partial import UnclosedString, marker_set

from .format import ToolFormat, WireFormat
from .spellings import GAP, stripped

__all__ = ["MOST_CLOSERS", "next_call"]

MOST_CLOSERS, MOST_OPENERS = 4, 3

# Of what follows, no two parts may match the same text of any length: the pattern is tried at each
# closer in a string, and again with each chunk until it is decided.
NAME = r"[^\s\"'`<>{}()\[\]]{1,256}?"
HEADER = r"[^\"'{}]{0,512}?"
"""A header in channels, from its first word on."""

BEFORE_QUOTE = r"[\w\s:,.+\[\]{}-]{0,128}?"
"""What stands in an object before its first quote, whether its keys have quotes or none."""

NOT_BEHIND_STRING = r"[^\s,:}\]]"


@lru_cache(maxsize=256)
def next_call(fmt: WireFormat) -> UnclosedString | None:
    """What shows that a string in a call of this format was not closed; None if nothing does."""
    derived = fmt.derived
    channels = fmt.channels
    closers, openers = stripped(derived.closers), stripped(derived.openers)
    if derived.has_channels:
        closers = stripped([*channels.ends, *fmt.turn.ends])
        openers = stripped([channels.start])
    if derived.in_section:
        openers = stripped([fmt.function.name_prefix])
    named = stripped([fmt.function.close]) if derived.closes_by_name else set()
    first = closers | named or openers
    markers = [marker for marker in first if not re.match(r'["\\\x00-\x1f]', marker)]
    tagged = fmt.tools.format is ToolFormat.TAG_WITH_TAGGED
    if tagged or not openers or not markers:
        return None
    begins = _closers(closers, fmt) + _some(_one(openers), MOST_OPENERS)

    def beyond(quote: str) -> str:
        """Up to the quote that would end the string, and what can follow none."""
        return begins + before + BEFORE_QUOTE + re.escape(quote) + NOT_BEHIND_STRING

    if derived.has_channels:
        before = HEADER + re.escape(channels.message.strip()) + GAP + r"\{"
    elif derived.is_tagged:
        start = re.escape(fmt.arguments.start.strip())
        before = _name(fmt) + GAP + start + GAP + r"\{"
    else:
        before = rf"\[?{GAP}\{{"
    outside = closers | stripped([*derived.openers, *fmt.turn.ends])
    return UnclosedString(marker_set(markers), beyond, outside=marker_set(outside))


def _name(fmt: WireFormat) -> str:
    """The name of a call behind its openers, with its id, as a pattern."""
    call_id = fmt.call_id
    ids = stripped([call_id.prefix]), stripped([call_id.suffix])
    # Models leave out what stands before the suffix: `name[CALL_ID]id[ARGS]`, and `name[ARGS]`.
    before = rf"(?:{_one(ids[0])}[^\"<>{{}}]{{0,256}}?)?" if ids[0] else r"[^\"<>{}]{0,256}?"
    an_id = rf"(?:{before}{_one(ids[1])}{GAP})?+" if ids[1] else ""
    # Nothing ends an id without a suffix but the arguments, so that it is not empty.
    behind = rf"(?:{_one(ids[0])}[^\"<>{{}}]{{1,256}}?)?" if ids[0] and not ids[1] else an_id
    suffix = re.escape(fmt.function.name_suffix.strip())
    return rf"{an_id}{NAME}{GAP}{suffix}{GAP}{behind}"


def _closers(closers: set[str], fmt: WireFormat) -> str:
    """What ends a call, as a pattern; the function's name may stand in it."""
    ways = [_one(closers)] if closers else []
    if fmt.derived.closes_by_name:
        function = fmt.function
        close, suffix = re.escape(function.close.strip()), re.escape(function.close_suffix.strip())
        ways.append(close + NAME + suffix)
    return _some(f"(?:{'|'.join(ways)})", MOST_CLOSERS)


def _some(pattern: str, most: int) -> str:
    """What a pattern matches one to `most` times, white space behind each."""
    return rf"(?:{pattern}{GAP}){{1,{most}}}"


def _one(markers: Iterable[str]) -> str:
    return (
        "(?:" + "|".join(re.escape(text) for text in sorted(markers, key=len, reverse=True)) + ")"
    )
