"""Detection of a message header inside the text of another message.

Models write about markers. So a marker begins a header only if a complete header follows. A header
has the role, then parts with a marker and a name, each at most once, then the marker of the
message. Otherwise the marker is part of the text.
"""

from __future__ import annotations

import re

from deltaparse.partial import SURROGATES, match_end

from .channel_markers import ChannelMarkers, HeaderPart

__all__ = ["header_ahead"]

# Limits, because an incomplete header is buffered.
SPACE = re.compile(r"\s{0,16}+")
NAME = re.compile(rf"(?:(?=\w)[^\s\"'`<>(){{}}\[\],;!?{SURROGATES}]{{1,128}}+)?+")
"""The name of a channel, or another word. Other characters, or a full stop first, are prose."""
RECIPIENT = re.compile(rf"[^\s{SURROGATES}]{{0,256}}+")
"""The name of a function. Requests may define names with any characters."""


def header_ahead(marks: ChannelMarkers, marker: str, text: str, pos: int) -> int:
    """Return the end of the header with `marker` at an index of the text.

    Args:
        marks: the markers of the turn.
        marker: the marker at `pos`.
        text: the text so far.
        pos: the index.

    Returns:
        The end of the header. Or, as for `Markers.match`, `pos` if later text could complete a
        header, otherwise -1.
    """
    at, words = pos, 0
    if marker == marks.start:
        # The role follows `start`, so one word without a marker is allowed.
        at, words = pos + len(marker), 1
    seen = set[HeaderPart]()
    while True:
        at = match_end(SPACE, text, at)
        end = marks.in_header.match(text, at)
        # The text may end inside a marker.
        if end == at:
            return pos
        part = marks.parts.get(text[at:end]) if end > at else None
        if part is HeaderPart.MESSAGE:
            return end
        if part is not None and part not in seen:
            seen.add(part)
            at = match_end(SPACE, text, end)
            words = 1
        # A repeated part, a marker of another kind, or a second word without a marker.
        elif end > at or not words:
            return -1
        else:
            words = 0
        name = match_end(RECIPIENT if part is HeaderPart.RECIPIENT else NAME, text, at)
        if name > at:  # a marker may begin inside the name
            # A marker may begin in the name and end after it.
            near = text[at : name + marks.in_header.longest]
            name = min(name, at + marks.in_header.find(near, final=True)[0])
        # The name may continue in the next chunk.
        if name == len(text) or (name == at and marks.in_header.match(text, at) == at):
            return pos
        if name == at:
            return -1
        at = name
