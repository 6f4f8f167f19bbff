"""Whether a marker in the text of a message begins the header of the next.

Models write about markers. So one that may begin a header does so only if the rest of a header
follows: the role, then parts, each once and with a name behind its marker, up to the marker of the
message. Anything else leaves the marker to the text that it stands in.
"""

from __future__ import annotations

import re

from deltaparse.partial import SURROGATES, match_end

from .channel_markers import ChannelMarkers, HeaderPart

__all__ = ["header_ahead"]

SPACE = re.compile(r"\s{0,16}+")
NAME = re.compile(rf"[^\s\"'`<>(){{}}\[\],;!?{SURROGATES}]{{0,128}}+")
"""The name of a channel, or another word. Other characters occur in prose."""
RECIPIENT = re.compile(rf"[^\s{SURROGATES}]{{0,256}}+")
"""The name of a function, which the request may spell with any characters."""


def header_ahead(marks: ChannelMarkers, marker: str, text: str, pos: int) -> int:
    """Where the header ends that begins with `marker` at index `pos`; as `Markers.match`.

    `pos` itself if text that may come could make one; -1 if none begins here.
    """
    at, words = pos, 0
    if marker == marks.start:
        # The role stands behind it.
        at, words = pos + len(marker), 1
    seen = set[HeaderPart]()
    while True:
        at = match_end(SPACE, text, at)
        end = marks.in_header.match(text, at)
        if end == at:
            return pos
        part = marks.parts.get(text[at:end]) if end > at else None
        if part is HeaderPart.MESSAGE:
            return end
        if part is not None and part not in seen:
            seen.add(part)
            at = match_end(SPACE, text, end)
            words = 1
        elif end > at or not words:
            return -1
        else:
            words = 0
        name = match_end(RECIPIENT if part is HeaderPart.RECIPIENT else NAME, text, at)
        if name > at:  # a marker may begin in it
            near = text[at : name + marks.in_header.longest]
            name = min(name, at + marks.in_header.find(near, final=True)[0])
        if name == len(text) or (name == at and marks.in_header.match(text, at) == at):
            return pos
        if name == at:
            return -1
        at = name
