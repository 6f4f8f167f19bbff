"""Ways to cut an output into chunks, among them those at which parsers break."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, overload

from hypothesis import strategies as st

__all__ = ["chunkings", "cut_at"]

BORDERS = re.compile(r"\b|(?=\W)|(?<=\W)")
"""Places where a word, a marker or a sign of JSON begins or ends."""

MOST_CUTS = 12


@overload
def chunkings(text: str) -> st.SearchStrategy[list[str]]: ...


@overload
def chunkings(text: bytes) -> st.SearchStrategy[list[bytes]]: ...


def chunkings(text: str | bytes) -> st.SearchStrategy[list[Any]]:
    """Draw ways to cut a text, or bytes, into chunks, some of which may be empty.

    Joined they are what was cut. Drawn are the whole, single characters, chunks of one length as
    some engines send them, and cuts in any places and in those where something begins or ends.
    """
    shown = text.decode("latin-1") if isinstance(text, bytes) else text
    borders = sorted({found.start() for found in BORDERS.finditer(shown)} | {0, len(text)})
    anywhere = st.lists(st.integers(0, len(text)), max_size=MOST_CUTS)
    at_borders = st.lists(st.sampled_from(borders), max_size=MOST_CUTS)
    regular = st.integers(1, 9).map(lambda size: list(range(0, len(text), size)))
    whole: st.SearchStrategy[list[int]] = st.just([])
    places = whole | st.just(list(range(len(text)))) | regular | at_borders | anywhere
    return places.map(lambda at: cut_at(text, at))


def cut_at(text: Any, places: list[int]) -> list[Any]:
    """Cut a text at places, in any order."""
    return [text[start:end] for start, end in pairwise([0, *sorted(places), len(text)])]
