r"""A marker and the white space at its edges, which a model may write or leave out.

A template writes `"\n<tool_call>\n"`, and models keep as much of that white space as they like. So
a marker is a core, `<tool_call>`, with optional white space on both sides. Readers look for its
spellings, the core behind each end of its leading white space, and skip what is there of its
trailing white space once the core was found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from deltaparse.partial import SURROGATES

__all__ = [
    "GAP",
    "MOST_GAP",
    "MOST_SPACE",
    "has_word",
    "is_fence",
    "is_prose",
    "leading",
    "length",
    "preceded",
    "spellings",
    "stripped",
    "swallowed",
    "tag_starts",
    "trailing",
    "without_attribute",
    "word_core",
]

MOST_GAP = 64
"""Characters of white space that may stand between two markers of a call, or between two calls."""

GAP = rf"\s{{0,{MOST_GAP}}}+"
"""That white space, as a pattern."""

MOST_SPACE = 256
"""Characters of white space that are held back where what follows them decides what they are."""

ATTRIBUTE = re.compile(r"""\s+[\w:-]+=("[^"]*"|'[^']*')""")
TAG = re.compile(rf"<[^<>\s][^<>\n]*>|\[[^\[\]\s]+\]|[{SURROGATES}]")
"""A part of a header like a tag, or a token: from one on, it is known for a header's end."""


PROSE = re.compile(r"[\w ,.:;!?*#'\"-]+")
FENCE = re.compile(r"\s*(?:`{3,}|~{3,})[\w+.-]*\s*")
TOKEN = re.compile(f"[{SURROGATES}]")
ABOUT_A_TOKEN = 16
"""Characters that a special token is taken to have where one stands for all of it."""


def length(marker: str) -> int:
    """How long a marker is about, with the text of special tokens for which a character stands."""
    return len(marker) + (0 if marker.isascii() else len(TOKEN.findall(marker)) * ABOUT_A_TOKEN)


def has_word(marker: str) -> bool:
    """Whether a marker is more than punctuation: has a letter, a digit or a special token."""
    return any(map(str.isalnum, marker)) or TOKEN.search(marker) is not None


def is_fence(marker: str) -> bool:
    """Whether a marker is what a Markdown code block begins with, and no more.

    >>> is_fence("```json"), is_fence("Action: ```json")
    (True, False)
    """
    return FENCE.fullmatch(marker) is not None


def is_prose(marker: str) -> bool:
    """Whether a marker is words and punctuation, as any line of text has them.

    >>> is_prose("Action: "), is_prose("</call>")
    (True, False)
    """
    core = marker.strip()
    return any(map(str.isalpha, core)) and PROSE.fullmatch(core) is not None


def leading(marker: str) -> str:
    """The white space at a marker's start."""
    return marker[: len(marker) - len(marker.lstrip())]


def trailing(marker: str) -> str:
    """The white space at a marker's end."""
    return marker[len(marker.rstrip()) :]


def word_core(marker: str) -> str:
    """The core of a marker, and behind a word the white space that ends it.

    `>>>all` is not the beginning of `>>>allow`.
    """
    core = marker.strip()
    return core + trailing(marker)[:1] * core[-1:].isalnum()


def stripped(texts: Iterable[str]) -> set[str]:
    """The cores of markers, without those that are empty."""
    return {text.strip() for text in texts} - {""}


def spellings(marker: str) -> list[str]:
    r"""All spellings of a marker, the longest first; none of one that is white space.

    >>> spellings("\n <call>\n")
    ['\n <call>', ' <call>', '<call>']
    """
    return preceded(marker.strip(), leading(marker))


def preceded(core: str, space: str) -> list[str]:
    """The core behind each end of `space`, the whole of it first; none of an empty core."""
    return [space[cut:] + core for cut in range(len(space) + 1)] if core else []


def tag_starts(header: str) -> list[int]:
    """Where in a header its tags begin."""
    return [tag.start() for tag in TAG.finditer(header)]


def without_attribute(marker: str) -> str:
    """A marker without the attribute in it, "" if there is none.

    >>> without_attribute('" string="true">')
    '">'
    """
    found = ATTRIBUTE.search(marker)
    return marker[: found.start()] + marker[found.end() :] if found else ""


def swallowed(stop: str, rest: str, markers: Iterable[str]) -> bool:
    """Whether an engine that stopped at `stop` left out one of the markers, or the end of it.

    `rest` is what the output has of the marker.
    """
    if not rest.strip():
        return any(marker in stop for marker in markers)
    return any((rest + stop).lstrip().startswith(marker) for marker in markers)
