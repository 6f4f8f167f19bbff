"""The markers of each section of a turn, with all their spellings and their roles.

Whitespace around a marker is optional in responses. So readers search for its spellings: the core
after each part of its leading whitespace. They skip its trailing whitespace afterwards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from deltaparse.partial import Markers, marker_set

from .format import ContentMode, ToolFormat, WireFormat
from .spellings import after_tag, has_word, leading, preceded, tag_starts, trailing, word_core

__all__ = [
    "FENCES",
    "MarkerSpelling",
    "Role",
    "another_call",
    "as_markers",
    "content_spelled",
    "cores",
    "header_ends",
    "heads_of_calls",
    "known_alone",
    "other_start",
    "reasoning_spelled",
    "spelled",
]


WORD = re.compile(r"\w+")


class Role:
    """The role of a marker. Not an `Enum`, because access to its members is slow on CPython 3.11.

    Attributes:
        HEADER: the end of the turn's header, which models may repeat.
        REASONING_START: the start of reasoning.
        REASONING_END: the end of reasoning.
        CONTENT_START: the start of content.
        CONTENT_END: the end of content.
        TOOL_START: the start of calls.
        TOOL_END: the end of one call or of all calls.
        STRAY_CLOSER: the end of calls, found in content without an open call.
        TURN_END: the end of the turn.
        FENCE: the start of a code block, or its end after a call.
        OTHER_START: the start of a section unknown to the format, if a name follows.
    """

    __slots__ = ()

    HEADER: ClassVar[Role]
    REASONING_START: ClassVar[Role]
    REASONING_END: ClassVar[Role]
    CONTENT_START: ClassVar[Role]
    CONTENT_END: ClassVar[Role]
    TOOL_START: ClassVar[Role]
    TOOL_END: ClassVar[Role]
    STRAY_CLOSER: ClassVar[Role]
    TURN_END: ClassVar[Role]
    FENCE: ClassVar[Role]
    OTHER_START: ClassVar[Role]


# Unique objects, compared by identity.
Role.HEADER, Role.REASONING_START, Role.REASONING_END = Role(), Role(), Role()
Role.CONTENT_START, Role.CONTENT_END, Role.TURN_END = Role(), Role(), Role()
Role.TOOL_START, Role.TOOL_END, Role.STRAY_CLOSER, Role.FENCE = Role(), Role(), Role(), Role()
Role.OTHER_START = Role()


@dataclass(frozen=True, slots=True)
class MarkerSpelling:
    """A spelling of a marker. `trailing` is the template's whitespace after the marker."""

    literal: str
    role: Role
    trailing: str


# Only a fence without a language can close a code block.
FENCES = (
    MarkerSpelling("```json", Role.TOOL_START, "\n"),
    MarkerSpelling("```", Role.FENCE, "\n"),
)
"""The markers of a code block, recognized only at the edges of a text."""


def spelled(role: Role, markers: Iterable[str], gap: str = "") -> list[MarkerSpelling]:
    """Return all spellings of markers.

    Args:
        role: the role of the markers.
        markers: the markers with their whitespace.
        gap: whitespace that replaces their leading whitespace, unless "".
    """
    found = []
    for marker in markers:
        core, behind = marker.strip(), trailing(marker)
        if role is Role.CONTENT_START:
            # After a word, whitespace is required: `>>>all` does not begin `>>>allow`.
            core = word_core(marker)
            behind = trailing(marker)[len(core) - len(core.rstrip()) :]
        # Trailing whitespace is not part of a literal: it is skipped after the match.
        literals = preceded(core, gap or leading(marker))
        found += [MarkerSpelling(literal, role, behind) for literal in literals]
    return found


def cores(spellings: Iterable[MarkerSpelling]) -> list[MarkerSpelling]:
    """Return the spellings without leading whitespace."""
    # A stray marker may follow any text, so whitespace before it is content.
    return [one for one in spellings if one.literal == one.literal.strip()]


def known_alone(
    closers: Iterable[MarkerSpelling],
    openers: Iterable[str],
    others: Iterable[Iterable[MarkerSpelling]],
) -> list[MarkerSpelling]:
    """Return the closers that are recognized without an open call.

    A closer that also opens calls (a fence), or is a bracket, may be anything. A special token is
    neither.

    Args:
        closers: the closers of calls.
        openers: the openers of calls.
        others: all other markers. A closer with the spelling of another one is not recognized.
    """
    # A marker with another role is not evidence of a stray closer.
    known = {one.literal for group in others for one in group}
    return [
        closer
        for closer in closers
        if closer.literal not in known
        and has_word(closer.literal)
        and not any(closer.literal in opener for opener in openers)
    ]


def as_markers(spellings: Iterable[MarkerSpelling]) -> Markers:
    """Return the set of the literals of some spellings."""
    return marker_set(spelling.literal for spelling in spellings)


def heads_of_calls(fmt: WireFormat) -> list[MarkerSpelling]:
    """Return the beginnings of unmarked calls up to the name, if content may precede them."""
    tools = fmt.tools
    # Otherwise unmarked calls are searched only at the start of a text.
    if not tools.behind_content:
        return []
    heads = ["["] if tools.array_wrapped else []
    if tools.format is ToolFormat.JSON_NATIVE:
        # The bracket belongs to the head, because brackets alone are frequent in text.
        bracket = "[" * tools.array_wrapped
        # Models do not escape keys, so non-ASCII characters stay.
        key = json.dumps(tools.name_field, ensure_ascii=False)
        # With and without a space: these are the outputs of the usual JSON writers.
        heads = [f'{bracket}{{{key}:{gap}"' for gap in (" ", "")]
    return spelled(Role.TOOL_START, heads, tools.content_separator)


def another_call(fmt: WireFormat) -> list[MarkerSpelling]:
    """Return the beginnings of a call after a separator."""
    return spelled(Role.TOOL_START, fmt.derived.separated_openers, leading(fmt.tools.separator))


def reasoning_spelled(fmt: WireFormat) -> tuple[list[MarkerSpelling], list[MarkerSpelling]]:
    """Return the spellings of the starts and of the ends of reasoning."""
    # In mode NONE the markers are ignored, even if they are set.
    pairs = fmt.reasoning.pairs if fmt.derived.has_reasoning else ()
    starts = [start for start, _ in pairs]
    # The start of content or calls has its own role.
    ends = [] if fmt.derived.next_ends_reasoning else [end for _, end in pairs]
    return spelled(Role.REASONING_START, starts), spelled(Role.REASONING_END, ends)


def content_spelled(fmt: WireFormat) -> tuple[list[MarkerSpelling], list[MarkerSpelling]]:
    """Return the spellings of the starts and of the ends of content. A start may end reasoning."""
    content = fmt.content
    # In mode PLAIN, `content.start` is only whitespace.
    if content.mode is ContentMode.PLAIN:
        return [], []
    # The whitespace before this marker belongs to it as an end of reasoning.
    gap = leading(fmt.reasoning.end) if fmt.derived.next_ends_reasoning else ""
    start = spelled(Role.CONTENT_START, [content.start], gap)
    return start, spelled(Role.CONTENT_END, [content.end])


def other_start(fmt: WireFormat) -> list[MarkerSpelling]:
    """Return the tag that begins reasoning with one word, and other sections with other words."""
    start = fmt.reasoning.start.strip()
    word = after_tag(start)
    # The word must be separable from its tag. In channels, the header has this role.
    if not WORD.fullmatch(word) or fmt.derived.has_channels:
        return []
    tag = start.removesuffix(word)
    others = (fmt.reasoning.end, fmt.content.start, *fmt.derived.openers, *fmt.turn.ends)
    # If other markers begin with the tag, it does not identify an unknown section.
    shared = any(text.strip().startswith(tag) for text in others)
    return [] if shared else spelled(Role.OTHER_START, [tag])


def header_ends(header: str) -> list[str]:
    """Return a header with tags, and its ends from a tag on. Models may repeat each of them."""
    # A header without tags is a word of prose, so it is not recognized again.
    starts = tag_starts(header)
    words = len(leading(header))  # it may begin with a word: `assistant<|role_sep|>`
    return [header[at:] for at in sorted({words, *starts})] if starts else []
