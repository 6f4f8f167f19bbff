"""The markers of a wire format, ready to be looked for.

White space at a marker's edges is optional on the wire. So a marker is looked for as its core,
with as much of its leading white space as stands there; the trailing white space is skipped
after it, as far as it is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache

from deltaparse.partial import Markers

from .channel_markers import ChannelMarkers
from .format import ContentMode, ToolFormat, ToolsFormat, WireFormat
from .spellings import leading, marker_set, preceded, trailing

__all__ = ["Field", "MarkerTables", "Role", "marker_tables"]

# A tag-like piece of a header: the generation prompt may be written again from one of these on.
TAG = re.compile(r"<[^<>\s]+>|\[[^\[\]\s]+\]")

# What calls begin with that stand in no markers.
JSON_CALL, PYTHON_CALL = re.compile(r"\{"), re.compile(r"[\[\w]")
JSON_CALLS = re.compile(r"[\[{]")


class Role(Enum):
    """What a marker means."""

    HEADER = auto()
    REASONING_START = auto()
    REASONING_END = auto()
    CONTENT_START = auto()
    CONTENT_END = auto()
    TOOL_START = auto()
    TOOL_END = auto()
    TURN_END = auto()


class Field(Enum):
    """What a key of a JSON call holds."""

    NAME = auto()
    ARGUMENTS = auto()
    ID = auto()
    FUNCTION = auto()
    TYPE = auto()


@dataclass(frozen=True, slots=True)
class MarkerSpelling:
    """One spelling of a marker; `trailing` is the white space that the template writes after it."""

    literal: str
    role: Role
    trailing: str


class MarkerTables:
    """What to look for in each place of a turn.

    `calls` says whether tool syntax means anything; without, it is plain text. `bare`: calls
    stand in no markers, so what `bare_call` matches where a turn, or a part of it, begins may be
    one. `bracketed` are the markers that begin as a list does; `longest` is the length of the
    longest marker.
    """

    __slots__ = (
        "_signs",
        "after_bad_call",
        "after_call",
        "after_end",
        "at_edge",
        "at_start",
        "bare",
        "bare_call",
        "bracketed",
        "call_starts",
        "calls",
        "channels",
        "fields",
        "fmt",
        "in_content",
        "in_content_end",
        "in_content_start",
        "in_reasoning",
        "in_reasoning_only",
        "longest",
        "opens_reasoning",
        "reasoning_start",
    )

    def __init__(self, fmt: WireFormat, *, calls: bool) -> None:
        reasoning, content, tools, turn = fmt.reasoning, fmt.content, fmt.tools, fmt.turn
        facts = fmt.facts
        self.calls = calls
        self.channels = ChannelMarkers(fmt)
        calls = calls and facts.has_calls and not facts.has_channels
        gap = tools.content_separator
        openers = (*facts.openers, fmt.code.start) if calls else ()
        closers = facts.closers if calls else ()
        start = _signs(Role.REASONING_START, [reasoning.start] if facts.has_reasoning else [])
        end = _signs(Role.REASONING_END, [reasoning.end] if facts.has_reasoning else [])
        wrapped = content.mode is not ContentMode.PLAIN
        content_start = _signs(Role.CONTENT_START, [content.start] if wrapped else [])
        content_end = _signs(Role.CONTENT_END, [content.end] if wrapped else [])
        tool_start = _signs(Role.TOOL_START, openers, gap)
        tool_end = _signs(Role.TOOL_END, closers)
        turn_end = _signs(Role.TURN_END, turn.ends)
        # Where a turn has several messages, the end of one is that of the call in it.
        message_end = _signs(Role.TOOL_END, self.channels.ends)
        header = _signs(Role.HEADER, [again for text in turn.headers for again in _tails(text)])

        self.fmt = fmt
        self.bare = calls and facts.unmarked_calls
        json_call = JSON_CALLS if tools.array_wrapped else JSON_CALL
        self.bare_call = PYTHON_CALL if tools.format is ToolFormat.PYTHONIC else json_call
        self.opens_reasoning = facts.has_reasoning and not reasoning.start.strip()
        self.fields = _fields(tools)
        # Where two markers are spelled alike, the one named first here is meant.
        inner = (end, start, content_start, tool_start, tool_end, content_end, message_end)
        order = (*inner, turn_end, header)
        self._signs = {sign.literal: sign for group in reversed(order) for sign in group}
        self.bracketed = marker_set(text for text in self._signs if text[:1] == "[")
        base = start + tool_start + turn_end
        self.in_content = _markers(base)
        self.in_content_start = _markers(base + content_start)
        self.in_content_end = _markers(base + (content_end or content_start))
        self.at_edge = _markers(base + content_start + content_end + end)
        self.at_start = _markers(header)
        self.after_end = _markers(base + content_start + header)
        self.in_reasoning = _markers(end + turn_end + tool_start)
        self.in_reasoning_only = _markers(end + turn_end)
        self.reasoning_start = _markers(start)
        self.after_call = _markers(base + content_start + content_end + end + tool_end)
        self.after_bad_call = _markers(tool_start + tool_end + message_end + turn_end)
        self.longest = max(map(len, self._signs), default=0)
        self.call_starts = _markers(tool_start)

    def role(self, marker: str) -> Role:
        """What a marker means; one that is none of the format's begins a bare call."""
        sign = self._signs.get(marker)
        return sign.role if sign else Role.TOOL_START

    def trailing(self, marker: str) -> str:
        """The white space that the template writes after a marker."""
        return self._signs[marker].trailing


@lru_cache(maxsize=256)
def marker_tables(fmt: WireFormat, *, calls: bool) -> MarkerTables:
    """The `MarkerTables` of a format, made once."""
    return MarkerTables(fmt, calls=calls)


def _signs(role: Role, texts: Iterable[str], gap: str = "") -> list[MarkerSpelling]:
    """All spellings of the markers `texts`, after which `gap` may stand before them."""
    signs = []
    for text in texts:
        core, behind = text.strip(), trailing(text)
        if role is Role.CONTENT_START and core[-1:].isalnum():
            # A word ends where white space stands: `>>>all` is not the beginning of `>>>allow`.
            core, behind = core + behind[:1], behind[1:]
        literals = preceded(core, gap or leading(text))
        signs += [MarkerSpelling(literal, role, behind) for literal in literals]
    return signs


def _markers(signs: Iterable[MarkerSpelling]) -> Markers:
    return marker_set(sign.literal for sign in signs)


def _tails(header: str) -> list[str]:
    """The ends of a header that begin with a tag, which a model may write once more."""
    return [header[tag.start() :] for tag in TAG.finditer(header)]


def _fields(tools: ToolsFormat) -> Mapping[str, Field]:
    """What the keys of a JSON call mean: those of the format first, then those all models know."""
    known = {
        "name": Field.NAME,
        "arguments": Field.ARGUMENTS,
        "parameters": Field.ARGUMENTS,
        "id": Field.ID,
        "function": Field.FUNCTION,
        "type": Field.TYPE,
    }
    own = {
        tools.function_field: Field.FUNCTION,
        tools.id_field: Field.ID,
        tools.generated_id_field: Field.ID,
        tools.arguments_field: Field.ARGUMENTS,
        tools.name_field: Field.NAME,
    }
    return known | {key: field for key, field in own.items() if key}
