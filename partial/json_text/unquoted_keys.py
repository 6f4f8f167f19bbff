"""The keys of objects whose strings stand in quotes of the format's own, and whose keys in none.

    {two words:<|"|>x<|"|>,a/b:{straße:1},12:30:true}

Any text may be such a key, but for commas, brackets, line ends and markers round calls. It ends at
the last colon behind which a value stands. That is certain at the first character of a string,
object or list, and at what follows a number or a word. Where a number or a word stands in it as a
value would, with white space behind, it is none: a comma may have been forgotten. A given key may
hold all of these.
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
NO_KEY = re.compile(rf"\n|:\s*+(?:{NUMBER.pattern}|{'|'.join(WORDS)})\s")
COMMENTS = ("//", "/*")
QUOTATION_MARKS = ('"', "'")


def own_key(
    src: Window, quote: str, outside: Markers, given: Sequence[str] = ()
) -> Steps[str | None]:
    """Read the key that begins here, up to its colon; return it.

    Returns "" where none stands, and None where the input ends in one: then nothing was read.
    What stands `outside` of objects ends the value behind a key as a bracket does. `given` are keys
    that are known, the longest first: one that stands here before a colon is the key, whatever it
    holds.
    """
    if given and (key := (yield from _given_key(src, given))):
        src.pos += len(key)
        return key
    while src.text[src.pos :] == "/" and not src.closed:
        yield
    if src.text.startswith(COMMENTS, src.pos):
        return ""
    stops, looked = _stops(quote), 0
    while True:
        text, at = src.text[src.pos : src.pos + MAX_TOKEN], looked
        full = len(text) == MAX_TOKEN
        outer, behind = outside.find(text, looked, final=full or src.closed)
        while stop := stops.search(text, at, outer):
            end = _end(text[: stop.start()], stop[0], quote)
            if end >= 0:
                return _taken(src, end)
            at = stop.end()
        if behind > outer:
            return _taken(src, _end(text[:outer], "", quote))
        if src.closed:
            return _taken(src, _end_of_cut(text, quote)) if ":" in text else None
        if full:
            return ""
        # The quote may be cut, and so may a marker. Patterns take a place before the text for its
        # start.
        looked = min(outer, len(text) - len(quote) + 1)
        yield


def _given_key(src: Window, given: Sequence[str]) -> Steps[str]:
    """The longest of the given keys that stands here before a colon, "" if none does."""
    while True:
        waits = False
        for key in given:
            whole = f"{key}:"
            here = src.text[src.pos : src.pos + len(whole)]
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
    """Read up to `end`, and return it as a key."""
    key = src.text[src.pos : src.pos + end].strip()
    src.pos += end if key else 0
    return key


def _end(text: str, stop: str, quote: str) -> int:
    """Where the key ends in a text that `stop` follows; 0 if it is none, -1 if it goes on."""
    colon = text.rfind(":")
    value = text[colon + 1 :].strip()
    here = colon if colon > 0 and not NO_KEY.search(text[:colon]) else 0
    if stop in QUOTATION_MARKS:
        return here if here and not value else -1
    if stop in (quote, "{", "["):
        return 0 if value else here
    return here if NUMBER.fullmatch(value) or value in WORDS else 0


def _end_of_cut(text: str, quote: str) -> int:
    """The same where the input ends behind a colon."""
    colon = text.rfind(":")
    value = text[colon + 1 :].strip()
    begun = any(whole.startswith(value) for whole in (quote, *WORDS))
    return colon if begun or NUMBER.fullmatch(value) else 0
