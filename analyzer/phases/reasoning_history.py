"""Where a template cuts reasoning out of an earlier turn: what it looks for there ends it.

The text of a model's whole output comes back as content, with one word behind the reasoning that
the template may look for.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..probes import CONTENT, NEXT_USER, REASONING, user
from ..renderer import Renderer
from ..trace import phase
from .closings import CLOSERS

__all__ = ["MOST_TRIED", "cut_markers", "cut_off", "other_ends", "words_of"]

LONGEST_SWITCH = 32
"""Characters of a constant that is tried as a switch word or as an end marker."""

MOST_TRIED = 100
"""Switches, words and markers of one template that are tried: real ones have about twenty."""

OTHER_END = (
    "earlier turns are cut at {other!r} as they are at {end!r}: if reasoning ends in either, each "
    "needs a format, fmt.replace(reasoning={{'end': {other!r}}})"
)


@phase("R2")
def cut_off(render: Renderer) -> tuple[str, str] | None:
    """The markers of what the template leaves out of an earlier turn, which no prompt opens.

    It may look for the end alone, so what opens it is what that closes by its name.
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
    """The texts up to which the template cuts an earlier turn's output, the longest first."""
    words = sorted(words_of(render), key=len, reverse=True)

    def past(*markers: str) -> str:
        whole = f"{REASONING}{' '.join(markers)}{CONTENT}"
        return render.turn(content=whole, then=[user(NEXT_USER)]) or ""

    if not words or REASONING in past(*words):
        return []  # most templates cut nowhere
    shown = {word: past(word) for word in words}
    cut = (word for word in words if CONTENT in shown[word] and REASONING not in shown[word])
    return [*dict.fromkeys(word.strip() for word in cut)]


def other_ends(render: Renderer, end: str) -> Iterator[str]:
    """The issues of a template that cuts earlier turns at other markers than the one that ends."""
    ends = cut_markers(render)
    for other in ends if end in ends else ():
        if other != end:
            yield OTHER_END.format(other=other, end=end)


def words_of(render: Renderer) -> list[str]:
    """The short texts that the template may look for in a message."""
    short = (text for text in render.template.sought if len(text) <= LONGEST_SWITCH)
    return [text for text in short if text.strip() and "\n" not in text.strip()][:MOST_TRIED]
