r"""Markers with optional whitespace around them.

A template writes `"\n<tool_call>\n"`, and models write any part of this whitespace. So a marker is
a core, `<tool_call>`, with optional whitespace before and after it. Readers search for its
spellings: the core after each end of its leading whitespace. After a match, they skip its trailing
whitespace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from deltaparse.partial import SURROGATES

__all__ = [
    "GAP",
    "MOST_GAP",
    "MOST_SPACE",
    "after_tag",
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

# Limits, because whitespace is buffered until the text after it is known.
MOST_GAP = 64
"""The maximum length of whitespace between two markers of a call, or between two calls."""

GAP = rf"\s{{0,{MOST_GAP}}}+"
"""The pattern of this whitespace."""

MOST_SPACE = 256
"""The maximum length of whitespace buffered until the following text decides its meaning."""

# Models leave out an attribute together with the whitespace before it.
ATTRIBUTE = re.compile(r"""\s+[\w:-]+=("[^"]*"|'[^']*')""")
TAG = re.compile(rf"<[^<>\s][^<>\n]*>|\[[^\[\]\s]+\]|[{SURROGATES}]")
"""A tag-like part of a header, or a token. A header is recognized from a tag on."""


# These characters are frequent in plain text.
PROSE = re.compile(r"[\w ,.:;!?*#'\"-]+")
# Markdown allows both characters, and more than three of them.
FENCE = re.compile(r"\s*(?:`{3,}|~{3,})[\w+.-]*\s*")
# In formats for tokens, a lone surrogate represents each special token.
TOKEN = re.compile(f"[{SURROGATES}]")
ABOUT_A_TOKEN = 16
"""The assumed length of a special token that is represented by one character."""


def length(marker: str) -> int:
    """Return the approximate length of a marker, including the text of its special tokens."""
    # ASCII text has no surrogates, so the search is skipped.
    return len(marker) + (0 if marker.isascii() else len(TOKEN.findall(marker)) * ABOUT_A_TOKEN)


def has_word(marker: str) -> bool:
    """Return whether a marker has a letter, a digit or a special token, besides punctuation."""
    # A special token never occurs by chance, so it counts like a word.
    return any(map(str.isalnum, marker)) or TOKEN.search(marker) is not None


def is_fence(marker: str) -> bool:
    """Return whether a marker is only the beginning of a Markdown code block.

    >>> is_fence("```json"), is_fence("Action: ```json")
    (True, False)
    """
    return FENCE.fullmatch(marker) is not None


def is_prose(marker: str) -> bool:
    """Return whether a marker has only words and punctuation, like a line of text.

    >>> is_prose("Action: "), is_prose("</call>")
    (True, False)
    """
    core = marker.strip()
    # Without a letter, a marker is punctuation like a list's bracket.
    return any(map(str.isalpha, core)) and PROSE.fullmatch(core) is not None


def leading(marker: str) -> str:
    """Return the whitespace at the start of a marker."""
    return marker[: len(marker) - len(marker.lstrip())]


def trailing(marker: str) -> str:
    """Return the whitespace at the end of a marker."""
    return marker[len(marker.rstrip()) :]


def word_core(marker: str) -> str:
    """Return the core of a marker. After a word, it includes one character of whitespace.

    `>>>all` is not the beginning of `>>>allow`.
    """
    core = marker.strip()
    # One character is enough to end the word.
    return core + trailing(marker)[:1] * core[-1:].isalnum()


def stripped(texts: Iterable[str]) -> set[str]:
    """Return the nonempty cores of markers."""
    return {text.strip() for text in texts} - {""}


def spellings(marker: str) -> list[str]:
    r"""Return all spellings of a marker, the longest first. Whitespace has no spellings.

    >>> spellings("\n <call>\n")
    ['\n <call>', ' <call>', '<call>']
    """
    return preceded(marker.strip(), leading(marker))


def preceded(core: str, space: str) -> list[str]:
    """Return the core after each end of `space`, the longest first; an empty list without a core.

    Args:
        core: the marker without whitespace.
        space: its leading whitespace.
    """
    # Models write the end of the whitespace or all of it, because the marker follows it directly.
    return [space[cut:] + core for cut in range(len(space) + 1)] if core else []


def tag_starts(header: str) -> list[int]:
    """Return the indices of the tags in a header."""
    return [tag.start() for tag in TAG.finditer(header)]


def after_tag(marker: str) -> str:
    """Return the text after the tag at the start of a marker, "" if it is only punctuation.

    >>> after_tag("<|tool_call>call:"), after_tag("<tool_call>")
    ('call:', '')
    """
    core = marker.strip()
    tag = TAG.match(core)
    # Punctuation after a tag is often only part of its notation.
    rest = core[tag.end() :].strip() if tag else ""
    return rest if has_word(rest) else ""


def without_attribute(marker: str) -> str:
    """Return a marker without its attribute, "" if it has no attribute.

    >>> without_attribute('" string="true">')
    '">'
    """
    found = ATTRIBUTE.search(marker)
    return marker[: found.start()] + marker[found.end() :] if found else ""


def swallowed(stop: str, rest: str, markers: Iterable[str]) -> bool:
    """Return whether an engine removed a marker, or its end, together with a stop string.

    Args:
        stop: the stop string.
        rest: the beginning of a marker at the end of the response.
        markers: the markers.
    """
    # Without a beginning in the response, the stop string must contain the whole marker.
    if not rest.strip():
        return any(marker in stop for marker in markers)
    # The response may have the beginning, and the removed stop string the end.
    return any((rest + stop).lstrip().startswith(marker) for marker in markers)
