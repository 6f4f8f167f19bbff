"""Strategies that split an output into chunks, also at places that are difficult for parsers."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, overload

from hypothesis import strategies as st

__all__ = ["chunkings", "cut_at"]

BORDERS = re.compile(r"\b|(?=\W)|(?<=\W)")
"""Boundaries of words, markers and JSON punctuation."""

MOST_CUTS = 12


@overload
def chunkings(text: str) -> st.SearchStrategy[list[str]]: ...


@overload
def chunkings(text: bytes) -> st.SearchStrategy[list[bytes]]: ...


def chunkings(text: str | bytes) -> st.SearchStrategy[list[Any]]:
    """Draw lists of chunks of a text or bytes. Chunks may be empty.

    The chunks of a list join to the input. Lists have a single chunk, single characters, chunks of
    equal length, or cuts at random places and at boundaries of words and markers.
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
    """Split a text at places, given in any order."""
    return [text[start:end] for start, end in pairwise([0, *sorted(places), len(text)])]
