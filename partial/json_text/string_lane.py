"""The text allowed to bypass the reader of a JSON string: plain characters and whole escapes."""

from __future__ import annotations

import re
from functools import lru_cache

from ..bypass import Lane
from ..markers import NEVER, Markers
from ..surrogates import SURROGATES
from .lexer import CUT_ESCAPE, match_end
from .token_runs import ESCAPE

__all__ = ["string_lane"]


@lru_cache(maxsize=256)
def string_lane(markers: Markers) -> Lane:
    """Return a lane for the inside of a string without the markers and their prefixes.

    Escapes take twice the time.
    """
    firsts = re.escape(markers.firsts)
    # Surrogates are excluded, because bypassing text is not examined again.
    plain = rf'[^"\\\x00-\x1f{SURROGATES}{firsts}]*+'
    odd = NEVER
    # A character of a marker is harmless if neither a marker nor a prefix begins there.
    if firsts:
        whole = "|".join(map(re.escape, markers.literals))
        odd = rf"(?!{'|'.join([whole, *markers.tails()])})[{firsts}]"
    in_string = rf"{plain}(?:(?:{ESCAPE}|{odd}){plain})*+"
    certain = re.compile(in_string, re.DOTALL)

    def split(text: str) -> int:
        """Return the start of an incomplete escape or marker at the end; -1 for other odd text."""
        end = match_end(certain, text, 0)
        while end < len(text):
            # An incomplete escape at the end may be completed by the next chunk.
            if text[end] == "\\":
                return end if CUT_ESCAPE.match(text, end) else -1
            # A quote or a control character ends the string, so its reader must see it.
            if text[end] not in markers.firsts:
                return -1
            start, stop = markers.find(text, end)
            if start == end:
                return end if stop == end else -1
            # It starts like a marker, but is not a prefix of one.
            end = match_end(certain, text, end + 1)
        return end

    return Lane(
        quick=re.compile(rf'["\\\x00-\x1f{SURROGATES}{firsts}]').search,
        exact=re.compile(rf"(?!{in_string}\Z)", re.DOTALL).match,
        split=split,
    )
