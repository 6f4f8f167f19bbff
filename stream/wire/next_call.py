"""What proves that a call was not closed: the next one begins in the middle of it.

    proof = closer+ opener+ head

In JSON, and in quotes of a format's own, the head of a call goes up to a quote that no string can
hold; in tags, where a value may hold any quote, it is all that stands before the arguments, and
its name is that of a tool; the end of the turn does as well. Anything less is part of the value.
A format that has no closers shows its next call with an opener alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from deltaparse.partial import Overrun, marker_set

from .format import ToolFormat, WireFormat
from .spellings import stripped

__all__ = ["next_call"]

GAP = r"\s{0,64}+"
MOST_CLOSERS, MOST_OPENERS = 4, 3

NAME = r"[^\s\"'`<>{}()]{1,256}?"
AROUND_NAME = r"[^\"'{}]{0,512}?"
"""Name, id, and what stands between them, up to arguments in JSON."""

BEFORE_QUOTE = r"[\w\s:,.+\[\]{}-]{0,128}?"
"""What stands in an object before its first quote, whether its keys have quotes or none."""

NOT_BEHIND_STRING = r"[^\s,:}\]]"


@lru_cache(maxsize=256)
def next_call(fmt: WireFormat) -> Overrun | None:
    """What shows that a string in a call of this format was not closed; None if nothing does."""
    facts = fmt.facts
    channels = fmt.channels
    closers, openers = stripped(facts.closers), stripped(facts.openers)
    if facts.has_channels:
        closers = stripped([*channels.ends, *fmt.turn.ends])
        openers = stripped([channels.start])
    markers = [marker for marker in closers or openers if not re.match(r'["\\\x00-\x1f]', marker)]
    if not openers or not markers or fmt.tools.format is ToolFormat.PYTHONIC:
        return None
    closing = f"{_some(closers, MOST_CLOSERS)}" if closers else ""
    begins = closing + _some(openers, MOST_OPENERS)
    if fmt.tools.format is ToolFormat.TAG_WITH_TAGGED:
        ends = stripped(fmt.turn.ends)
        head = begins + _tagged_head(fmt)
        head = f"{closing}(?:{_one(ends)})|{head}" if ends and closers else head
        return Overrun(marker_set(markers), lambda _: head)

    def beyond(quote: str) -> str:
        """Up to the quote that would end the string, and what can follow none."""
        return begins + before + BEFORE_QUOTE + re.escape(quote) + NOT_BEHIND_STRING

    if facts.has_channels:
        before = AROUND_NAME + re.escape(channels.message.strip()) + GAP + r"\{"
    elif facts.is_tagged:
        suffix = fmt.function.name_suffix.strip()
        before = AROUND_NAME + re.escape(suffix) + AROUND_NAME + r"\{"
    else:
        before = rf"\[?{GAP}\{{"
    return Overrun(marker_set(markers), beyond)


def _tagged_head(fmt: WireFormat) -> str:
    """The head of a call in tags, behind its openers, as a pattern with the group "name"."""
    call_id = fmt.call_id
    ids = stripped([call_id.prefix]), stripped([call_id.suffix])
    an_id = rf"(?:{_one(ids[0])}[^\"<>{{}}]{{0,256}}?{_one(ids[1])}{GAP})?" if all(ids) else ""
    suffix = fmt.function.name_suffix.strip()
    behind = re.escape(suffix) + an_id
    if not suffix:
        arguments = fmt.arguments
        around = stripped([arguments.start, arguments.name_prefix, *fmt.facts.closers])
        behind = GAP + an_id + _one(around)
    return rf"{an_id}(?P<name>{NAME}){GAP}{behind}"


def _some(markers: Iterable[str], most: int) -> str:
    """One to `most` of the markers, white space behind each."""
    return rf"(?:{_one(markers)}{GAP}){{1,{most}}}"


def _one(markers: Iterable[str]) -> str:
    return (
        "(?:" + "|".join(re.escape(text) for text in sorted(markers, key=len, reverse=True)) + ")"
    )
