"""Families of wire formats, with strategies for turns of a model and for any text.

A property of all families takes one of `FAMILIES` and draws its data from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st

from deltaparse import ReasoningMode

from . import wire_channels, wire_json_and_tags, wire_named, wire_pythonic
from .wire_parts import markers_of, without
from .wire_tag_forms import tag_form_formats


def nothing(fmt, text):
    return ""


@dataclass(frozen=True, repr=False)
class Family:
    """Strategies of one family of formats.

    Args:
        name: The name for reports.
        written: A format, a turn (`Written`), and its text as a model would write it.
        soups: A format, and text of its markers, their parts and other syntax of the format.
        plain: A format, the start of content in it, and content without markers.
        streamed: A format, a turn up to the arguments of a call, and the arguments as JSON. The
            format does not buffer arguments.
        tools: The tools for which written turns round-trip.
        issues: The allowed kinds of issues for written turns.
        passed_over: The part of a text that is neither in the message nor in an issue.
    """

    name: str
    written: st.SearchStrategy
    soups: st.SearchStrategy
    plain: st.SearchStrategy
    streamed: st.SearchStrategy | None = None
    tools: tuple = (None,)
    issues: frozenset = frozenset()
    passed_over: Callable = field(default=nothing)

    def __repr__(self):
        return self.name

    @property
    def texts(self):
        """Return a strategy for a format and any text: a written turn or a soup."""
        return self.written.map(lambda case: (case[0], case[2])) | self.soups


@st.composite
def plain(draw, soups):
    """Draw content without a marker, made of a soup, and the start of content."""
    fmt, text = draw(soups)
    opening = fmt.reasoning.end if fmt.reasoning.mode is ReasoningMode.DELIMITER else ""
    if fmt.channels.message:
        marks = fmt.channels
        header = marks.channel + "final" if marks.channel else marks.recipient + marks.readers[0]
        header += marks.message
        opening = draw(st.sampled_from(["", header]))
    # The dot prevents an unmarked call at the start.
    return fmt, opening, "." + without(markers_of(fmt), text)


def header_words(fmt, text):
    """Return the first words after each marker in a header: names and types, not text."""
    channels = fmt.channels
    markers = filter(None, (channels.channel, channels.recipient, channels.constrain))
    behind = [part for marker in markers for part in text.split(marker.strip())[1:]]
    return " ".join(" ".join(part.split()[:2]) for part in behind)


def comments(fmt, text):
    """Return the comments, which Python ignores."""
    return " ".join(re.findall("#.*", text))


def members(fmt, text):
    """Return the members of a JSON object other than name and arguments."""
    return " ".join(re.findall(r"\{[^}]*(?=\})", text))


def family(name, module, formats, streamed=None, **more):
    """Return a family with the formats, turns and soups of a module."""
    soups = module.soups(formats)
    streamed = None if streamed is None else module.streamed(streamed)
    return Family(name, module.written(formats), soups, plain(soups), streamed, **more)


in_json, in_tags = wire_json_and_tags.json_formats, wire_json_and_tags.tagged_formats
streamed_tags = in_tags(kinds=["TAG_WITH_JSON"], streamed=True)
json_tools = (wire_json_and_tags.TOOLS,)
python_tools = (None, wire_pythonic.TOOLS)
code_soups = wire_pythonic.soups(wire_pythonic.code_formats())
channel_turns = wire_channels.written().map(
    lambda case: (case[0], wire_channels.turn_of(case[1]), case[2])
)

FAMILIES = [
    family(
        "JSON",
        wire_json_and_tags,
        in_json(),
        in_json(streamed=True),
        tools=(*json_tools, None),
    ),
    family(
        "tags",
        wire_json_and_tags,
        in_tags() | tag_form_formats(),
        streamed_tags,
        tools=json_tools,
    ),
    family(
        "Python",
        wire_pythonic,
        wire_pythonic.pythonic_formats(),
        tools=python_tools,
        passed_over=comments,
    ),
    Family("code", wire_pythonic.coded(), code_soups, plain(code_soups), passed_over=members),
    Family(
        "channels",
        channel_turns,
        wire_channels.soups(),
        plain(wire_channels.soups()),
        wire_channels.streamed(),
        passed_over=header_words,
    ),
    Family(
        "named",
        wire_named.written(),
        wire_named.soups(),
        wire_named.plain(),
        tools=(None, wire_named.TOOLS),
        issues=frozenset({"repeated_marker"}),
        passed_over=lambda fmt, text: members(fmt, text) + header_words(fmt, text),
    ),
]
any_written = st.one_of([family.written for family in FAMILIES])
any_soup = st.one_of([family.soups for family in FAMILIES])
any_text = st.one_of([family.texts for family in FAMILIES])
