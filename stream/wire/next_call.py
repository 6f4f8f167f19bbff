"""Proofs of an unclosed call: the next call begins in the middle of it.

    proof = closer+ opener+ head

The head of a call ends with a quote that no string can contain, in JSON or in the format's own
quotes. Any shorter text is part of the value. In a format without closers, an opener alone begins
the proof. Calls in tags have no proof, because their values may contain any text, including quoted
calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from deltaparse.partial import UnclosedString, marker_set

from .format import ToolFormat, WireFormat
from .spellings import GAP, stripped

__all__ = ["MOST_CLOSERS", "next_call"]

# Limits, because the text is buffered until the proof is decided.
MOST_CLOSERS, MOST_OPENERS = 4, 3

# No two adjacent parts may match the same text of any length. The pattern is tried at each closer
# in a string, and again with each chunk until it is decided.
NAME = r"[^\s\"'`<>{}()\[\]]{1,256}?"
HEADER = r"[^\"'{}]{0,512}?"
"""A header in channels, from its first word on."""

BEFORE_QUOTE = r"[\w\s:,.+\[\]{}-]{0,128}?"
"""The text before the first quote of an object, with or without quotes around its keys."""

NOT_AFTER_STRING = r"[^\s,:}\]]"


@lru_cache(maxsize=256)
def next_call(fmt: WireFormat) -> UnclosedString | None:
    """Return the proof of an unclosed string in a call, None if the format has no proof.

    Args:
        fmt: the wire format.
    """
    derived = fmt.derived
    channels = fmt.channels
    closers, openers = stripped(derived.closers), stripped(derived.openers)
    if derived.has_channels:
        # In channels, messages are the calls.
        closers = stripped([*channels.ends, *fmt.turn.ends])
        openers = stripped([channels.start])
    if derived.in_section:
        # Calls in a section have no other opener.
        openers = stripped([fmt.function.name_prefix])
    # The reader compares the name in a closing marker. Here any name is accepted.
    named = stripped([fmt.function.close]) if derived.closes_by_name else set()
    # The search begins at one of these markers.
    first = closers | named or openers
    # A quote, a backslash or a control character at the start excludes the marker from strings.
    markers = [marker for marker in first if not re.match(r'["\\\x00-\x1f]', marker)]
    tagged = fmt.tools.format is ToolFormat.TAG_WITH_TAGGED
    # Values in tags may contain any text, so a proof is impossible.
    if tagged or not openers or not markers:
        return None
    begins = _closers(closers, fmt) + _some(_one(openers), MOST_OPENERS)

    def beyond(quote: str) -> str:
        """Return a pattern up to the end quote of the string and an impossible next character."""
        return begins + before + BEFORE_QUOTE + re.escape(quote) + NOT_AFTER_STRING

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
    """Return a pattern of the name after the openers of a call, with its id."""
    call_id = fmt.call_id
    ids = stripped([call_id.prefix]), stripped([call_id.suffix])
    # Models leave out the text before the suffix: `name[CALL_ID]id[ARGS]`, and `name[ARGS]`.
    before = rf"(?:{_one(ids[0])}[^\"<>{{}}]{{0,256}}?)?" if ids[0] else r"[^\"<>{}]{0,256}?"
    an_id = rf"(?:{before}{_one(ids[1])}{GAP})?+" if ids[1] else ""
    # Only the arguments end an id without a suffix, so the id must not be empty.
    behind = rf"(?:{_one(ids[0])}[^\"<>{{}}]{{1,256}}?)?" if ids[0] and not ids[1] else an_id
    # The suffix may be empty: then the brace ends the name.
    suffix = re.escape(fmt.function.name_suffix.strip())
    return rf"{an_id}{NAME}{GAP}{suffix}{GAP}{behind}"


def _closers(closers: set[str], fmt: WireFormat) -> str:
    """Return a pattern of the end of a call, which may contain the function's name."""
    ways = [_one(closers)] if closers else []
    if fmt.derived.closes_by_name:
        function = fmt.function
        close, suffix = re.escape(function.close.strip()), re.escape(function.close_suffix.strip())
        ways.append(close + NAME + suffix)
    return _some(f"(?:{'|'.join(ways)})", MOST_CLOSERS)


def _some(pattern: str, most: int) -> str:
    """Return a pattern of one to `most` matches, each with whitespace after it."""
    return rf"(?:{pattern}{GAP}){{1,{most}}}"


def _one(markers: Iterable[str]) -> str:
    """Return a pattern of one of the markers, the longest first."""
    return (
        "(?:" + "|".join(re.escape(text) for text in sorted(markers, key=len, reverse=True)) + ")"
    )
