"""Unquoted keys of objects, in formats with their own quotes for strings.

    {two words:<|"|>x<|"|>,a/b:{straße:1},12:30:true}

A key may contain any text except commas, brackets, line ends and markers around calls. It ends at
the last colon before a value. This is certain at the first character of a string, object or list,
and after a number or a word. Text with a number or a word in the place of a value, followed by
whitespace, is not a key, because a comma may be missing. Known keys may contain all of these.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from ..markers import Markers
from ..window import Steps, Window
from .lexer import MAX_TOKEN

__all__ = ["own_key"]

NUMBER = re.compile(r"-?[0-9][-+.0-9eE]*+")
WORDS = ("true", "false", "null", "True", "False", "None", "NaN", "Infinity", "-Infinity")
# A value followed by whitespace inside the key indicates a forgotten comma.
NO_KEY = re.compile(rf"\n|:\s*+(?:{NUMBER.pattern}|{'|'.join(WORDS)})\s")
# "#" is missing, because it may begin a key.
COMMENTS = ("//", "/*")
QUOTATION_MARKS = ('"', "'")


def own_key(
    src: Window, quote: str, outside: Markers, given: Sequence[str] = ()
) -> Steps[str | None]:
    """Read the key at this position, up to its colon, and return it.

    Args:
        src: the window to read from.
        quote: the format's quote for strings.
        outside: the markers outside of objects. Like a bracket, they end the value after a key.
        given: the known keys, longest first. A known key before a colon may contain any text.

    Returns:
        The key, "" if there is no key, or None if the input ends in one. Without a key, no text is
        read.
    """
    if given and (key := (yield from _given_key(src, given))):
        src.pos += len(key)
        return key
    # A single slash may become a comment or belong to the key.
    while src.text[src.pos :] == "/" and not src.closed:
        yield
    if src.text.startswith(COMMENTS, src.pos):
        return ""
    stops, looked = _stops(quote), 0
    while True:
        text, at = src.text[src.pos : src.pos + MAX_TOKEN], looked
        # Keys are buffered, so their length is limited.
        full = len(text) == MAX_TOKEN
        outer, behind = outside.find(text, looked, final=full or src.closed)
        while stop := stops.search(text, at, outer):
            end = _end(text[: stop.start()], stop[0], quote)
            # A negative end means a quotation mark inside the key.
            if end >= 0:
                return _taken(src, end)
            at = stop.end()
        # A marker outside of objects ends the value, and thereby the key.
        if behind > outer:
            return _taken(src, _end(text[:outer], "", quote))
        # Without a colon the text may be a key or a truncated word.
        if src.closed:
            return _taken(src, _end_of_cut(text, quote)) if ":" in text else None
        if full:
            return ""
        # The last characters are searched again, because a quote or a marker may be incomplete.
        # The index may be negative, and patterns treat it as 0.
        looked = min(outer, len(text) - len(quote) + 1)
        yield


def _given_key(src: Window, given: Sequence[str]) -> Steps[str]:
    """Return the longest known key at this position before a colon, or ""."""
    while True:
        waits = False
        for key in given:
            whole = f"{key}:"
            here = src.text[src.pos : src.pos + len(whole)]
            # A longer known key may still match, so the shorter one has to wait.
            if here == whole and (src.closed or not waits):
                return key
            waits |= whole.startswith(here)
        if src.closed or not waits:
            return ""
        yield


@lru_cache(maxsize=16)
def _stops(quote: str) -> re.Pattern[str]:
    return re.compile(rf"""{re.escape(quote)}|["'{{}}\[\],]""")


def _taken(src: Window, end: int) -> str:
    """Read up to `end`, and return the text as a key."""
    # An empty key is not a key, so no text is read for it.
    key = src.text[src.pos : src.pos + end].strip()
    src.pos += end if key else 0
    return key


def _end(text: str, stop: str, quote: str) -> int:
    """Return the end of the key in a text before `stop`; 0 if it is invalid, -1 if it continues."""
    colon = text.rfind(":")
    value = text[colon + 1 :].strip()
    here = colon if colon > 0 and not NO_KEY.search(text[:colon]) else 0
    # A quotation mark is part of the key, unless a value begins with it.
    if stop in QUOTATION_MARKS:
        return here if here and not value else -1
    if stop in (quote, "{", "["):
        return 0 if value else here
    return here if NUMBER.fullmatch(value) or value in WORDS else 0


def _end_of_cut(text: str, quote: str) -> int:
    """Return the end of the key if the input ends after a colon, else 0."""
    colon = text.rfind(":")
    value = text[colon + 1 :].strip()
    # A prefix of a value is enough, because the input was truncated.
    begun = any(whole.startswith(value) for whole in (quote, *WORDS))
    return colon if begun or NUMBER.fullmatch(value) else 0
