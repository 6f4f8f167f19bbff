"""Each family of wire formats: what a model writes in it, and text of any sort for it.

A property of all families takes one of `FAMILIES` and draws from it what it needs.
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
    """What properties draw of one family of formats.

    Args:
        name: what it is called in reports.
        written: a format, a turn (`Written`), and the text of it that a model would write.
        soups: a format, and text of its markers, parts of them and whatever else it knows.
        plain: a format, what opens content in it, and content in which no marker stands.
        streamed: a format, a turn up to the arguments of a call, and these as JSON, in a format
            in which nothing makes them wait.
        tools: those under which what is written comes back.
        issues: the kinds of issues that what is written may have.
        passed_over: the part of a text that is neither in the message nor in an issue.
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
        """A format, and any text: what a model would write, or a soup."""
        return self.written.map(lambda case: (case[0], case[2])) | self.soups


@st.composite
def plain(draw, soups):
    """Content without a marker, made of a soup, and what opens it."""
    fmt, text = draw(soups)
    opening = fmt.reasoning.end if fmt.reasoning.mode is ReasoningMode.DELIMITER else ""
    if fmt.channels.message:
        marks = fmt.channels
        header = marks.channel + "final" if marks.channel else marks.recipient + marks.readers[0]
        header += marks.message
        opening = draw(st.sampled_from(["", header]))
    # Where nothing marks a call, one may stand at the beginning.
    return fmt, opening, "." + without(markers_of(fmt), text)


def header_words(fmt, text):
    """The first words behind each marker in a header: names and types, which are not text."""
    channels = fmt.channels
    markers = filter(None, (channels.channel, channels.recipient, channels.constrain))
    behind = [part for marker in markers for part in text.split(marker.strip())[1:]]
    return " ".join(" ".join(part.split()[:2]) for part in behind)


def comments(fmt, text):
    """What Python does not read."""
    return " ".join(re.findall("#.*", text))


def members(fmt, text):
    """What may stand in an object of JSON beside name and arguments."""
    return " ".join(re.findall(r"\{[^}]*(?=\})", text))


def family(name, module, formats, streamed=None, **more):
    """A family of which a module draws formats, turns and soups."""
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
