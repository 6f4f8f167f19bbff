"""The markers of each section of a turn, in all of their spellings, and what each means.

White space at a marker's edges is optional on the wire. So readers look for a marker's spellings,
the core behind as much of its leading white space as stands there, and skip its trailing white
space afterwards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from deltaparse.partial import Markers, marker_set

from .format import ContentMode, ToolFormat, WireFormat
from .spellings import behind_tag, has_word, leading, preceded, tag_starts, trailing, word_core

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
    """What a marker means; no `Enum`, as `Before` is none.

    HEADER:           the end of the turn's header, which models write once more.
    REASONING_START, REASONING_END, CONTENT_START, CONTENT_END:  the edges of these sections.
    TOOL_START:       calls begin.
    TOOL_END:         a call ends, or all of them.
    STRAY_CLOSER:     the same in content, where none is open.
    TURN_END:         the turn ends.
    FENCE:            a code block begins, and ends behind a call.
    OTHER_START:      a section begins that the format does not have, if a name follows.
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


Role.HEADER, Role.REASONING_START, Role.REASONING_END = Role(), Role(), Role()
Role.CONTENT_START, Role.CONTENT_END, Role.TURN_END = Role(), Role(), Role()
Role.TOOL_START, Role.TOOL_END, Role.STRAY_CLOSER, Role.FENCE = Role(), Role(), Role(), Role()
Role.OTHER_START = Role()


@dataclass(frozen=True, slots=True)
class MarkerSpelling:
    """One spelling of a marker; `trailing` is the white space that the template writes after it."""

    literal: str
    role: Role
    trailing: str


FENCES = (
    MarkerSpelling("```json", Role.TOOL_START, "\n"),
    MarkerSpelling("```", Role.FENCE, "\n"),
)
"""What stands round a code block; at the edges of a text only."""


def spelled(role: Role, markers: Iterable[str], gap: str = "") -> list[MarkerSpelling]:
    """All spellings of markers, with `gap`, if there is one, for their leading white space."""
    found = []
    for marker in markers:
        core, behind = marker.strip(), trailing(marker)
        if role is Role.CONTENT_START:
            core = word_core(marker)
            behind = trailing(marker)[len(core) - len(core.rstrip()) :]
        literals = preceded(core, gap or leading(marker))
        found += [MarkerSpelling(literal, role, behind) for literal in literals]
    return found


def cores(spellings: Iterable[MarkerSpelling]) -> list[MarkerSpelling]:
    """Those without white space before them."""
    return [one for one in spellings if one.literal == one.literal.strip()]


def known_alone(
    closers: Iterable[MarkerSpelling],
    openers: Iterable[str],
    others: Iterable[Iterable[MarkerSpelling]],
) -> list[MarkerSpelling]:
    """The closers that are known for such where nothing is open.

    What opens calls too (a fence), or is a bracket, may be anything. A special token is neither.
    """
    known = {one.literal for group in others for one in group}
    return [
        closer
        for closer in closers
        if closer.literal not in known
        and has_word(closer.literal)
        and not any(closer.literal in opener for opener in openers)
    ]


def as_markers(spellings: Iterable[MarkerSpelling]) -> Markers:
    """What is looked for in a place."""
    return marker_set(spelling.literal for spelling in spellings)


def heads_of_calls(fmt: WireFormat) -> list[MarkerSpelling]:
    """What calls in no markers begin with, up to the name, where they may stand behind content."""
    tools = fmt.tools
    if not tools.behind_content:
        return []
    heads = ["["] if tools.array_wrapped else []
    if tools.format is ToolFormat.JSON_NATIVE:
        bracket = "[" * tools.array_wrapped
        key = json.dumps(tools.name_field, ensure_ascii=False)
        heads = [f'{bracket}{{{key}:{gap}"' for gap in (" ", "")]
    return spelled(Role.TOOL_START, heads, tools.content_separator)


def another_call(fmt: WireFormat) -> list[MarkerSpelling]:
    """What a call begins with behind another, where text separates them."""
    return spelled(Role.TOOL_START, fmt.derived.separated_openers, leading(fmt.tools.separator))


def reasoning_spelled(fmt: WireFormat) -> tuple[list[MarkerSpelling], list[MarkerSpelling]]:
    """The starts and the ends of reasoning."""
    pairs = fmt.reasoning.pairs if fmt.derived.has_reasoning else ()
    starts = [start for start, _ in pairs]
    ends = [] if fmt.derived.next_ends_reasoning else [end for _, end in pairs]
    return spelled(Role.REASONING_START, starts), spelled(Role.REASONING_END, ends)


def content_spelled(fmt: WireFormat) -> tuple[list[MarkerSpelling], list[MarkerSpelling]]:
    """The starts and the ends of content, of which the former may end reasoning."""
    content = fmt.content
    if content.mode is ContentMode.PLAIN:
        return [], []
    gap = leading(fmt.reasoning.end) if fmt.derived.next_ends_reasoning else ""
    start = spelled(Role.CONTENT_START, [content.start], gap)
    return start, spelled(Role.CONTENT_END, [content.end])


def other_start(fmt: WireFormat) -> list[MarkerSpelling]:
    """The tag that begins reasoning with a word behind it, and other sections with other words."""
    start = fmt.reasoning.start.strip()
    word = behind_tag(start)
    if not WORD.fullmatch(word) or fmt.derived.has_channels:
        return []
    tag = start.removesuffix(word)
    others = (fmt.reasoning.end, fmt.content.start, *fmt.derived.openers, *fmt.turn.ends)
    shared = any(text.strip().startswith(tag) for text in others)
    return [] if shared else spelled(Role.OTHER_START, [tag])


def header_ends(header: str) -> list[str]:
    """A header with a tag in it, and its ends that begin with one: a model may write each again."""
    starts = tag_starts(header)
    words = len(leading(header))  # it may begin with a word: `assistant<|role_sep|>`
    return [header[at:] for at in sorted({words, *starts})] if starts else []
