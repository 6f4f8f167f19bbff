"""End markers of reasoning, found by how a template truncates earlier turns.

A complete model output is rendered as content of an earlier turn, with a candidate end marker
after the reasoning. If the template removes the reasoning, the candidate is an end marker.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..probes import CONTENT, NEXT_USER, REASONING, user
from ..renderer import Renderer
from ..trace import phase
from .closing_tags import CLOSERS

__all__ = ["MOST_TRIED", "cut_markers", "cut_off", "other_ends", "words_of"]

LONGEST_SWITCH = 32
"""Maximum length, in characters, of a constant tried as a switch word or as an end marker."""

MOST_TRIED = 100
"""Maximum number of switches, words or markers tried per template. Real templates have about 20."""

OTHER_END = (
    "earlier turns are truncated at {other!r} as well as at {end!r}: if reasoning may end with "
    "either, make a second format, fmt.replace(reasoning={{'end': {other!r}}})"
)


@phase("R2")
def cut_off(render: Renderer) -> tuple[str, str] | None:
    """Return the markers of reasoning removed from earlier turns, or None.

    The template may search for the end marker only, so the start marker is derived from its name.
    """
    for word in words_of(render):
        end = word.strip()
        if not end.startswith(CLOSERS):
            continue
        start = end.replace("/", "", 1)
        whole = f"{start}{REASONING}{word}{CONTENT}"
        shown = render.turn(content=whole, then=[user(NEXT_USER)], prompt=True) or ""
        if CONTENT in shown and REASONING not in shown:
            return start, end
    return None


def cut_markers(render: Renderer) -> list[str]:
    """Return the texts up to which the template truncates an earlier turn, longest first."""
    words = sorted(words_of(render), key=len, reverse=True)

    def past(*markers: str) -> str:
        whole = f"{REASONING}{' '.join(markers)}{CONTENT}"
        return render.turn(content=whole, then=[user(NEXT_USER)]) or ""

    if not words or REASONING in past(*words):
        return []  # most templates do not truncate earlier turns
    shown = {word: past(word) for word in words}
    cut = (word for word in words if CONTENT in shown[word] and REASONING not in shown[word])
    return [*dict.fromkeys(word.strip() for word in cut)]


def other_ends(render: Renderer, end: str) -> Iterator[str]:
    """Yield an issue for each additional text at which the template truncates earlier turns."""
    ends = cut_markers(render)
    for other in ends if end in ends else ():
        if other != end:
            yield OTHER_END.format(other=other, end=end)


def words_of(render: Renderer) -> list[str]:
    """Return the short texts for which the template may search in a message."""
    short = (text for text in render.template.searched_constants if len(text) <= LONGEST_SWITCH)
    return [text for text in short if text.strip() and "\n" not in text.strip()][:MOST_TRIED]
