"""Handwritten wire formats, and helpers to parse responses in all chunks."""

from __future__ import annotations

import os

from deltaparse import (
    ArgumentsFormat,
    ContentFormat,
    FunctionFormat,
    ReasoningFormat,
    StreamParser,
    ToolsFormat,
    TurnFormat,
    WireFormat,
)

from ..support import as_joined, joined

TURN = TurnFormat(headers=("<|start|>model\n",), ends=("<|end|>",))
THINK = ReasoningFormat(mode="TAG_BASED", start="<think>\n", end="\n</think>\n\n")
CALL = '<call>\n{"name": "f", "arguments": {"a": 1}}\n</call>'
OTHER = '<call>\n{"name": "g", "arguments": {"b": [true, "x"]}}\n</call>'

TAGS = WireFormat(
    turn=TURN,
    reasoning=THINK,
    tools=ToolsFormat(
        format="JSON_NATIVE",
        per_call_start="<call>\n",
        per_call_end="\n</call>",
        separator="\n",
        content_separator="\n",
        name_field="name",
        arguments_field="arguments",
    ),
)
"""Reasoning in tags, and each call in its own tags."""

UNMARKED = WireFormat(
    turn=TURN,
    tools=ToolsFormat(format="JSON_NATIVE", name_field="name", arguments_field="parameters"),
)
"""Unmarked calls."""

LIST = WireFormat(
    turn=TURN,
    tools=ToolsFormat(
        format="JSON_NATIVE",
        section_start="[CALLS]",
        array_wrapped=True,
        name_field="name",
        arguments_field="arguments",
        id_field="id",
        field_order=("name", "arguments", "id"),
    ),
)
"""A list of calls after a marker without a closer, with ids after the arguments."""

KEYED = WireFormat(
    turn=TURN,
    tools=ToolsFormat(
        format="JSON_NATIVE",
        section_start="<|calls|>",
        section_end="<|/calls|>",
        array_wrapped=True,
        name_is_key=True,
    ),
)
"""A list of objects with the function name as the key."""

WRAPPED = WireFormat(
    turn=TURN,
    reasoning=ReasoningFormat(mode="TOOLS_ONLY", start="<plan>", end="</plan>"),
    content=ContentFormat(mode="ALWAYS_WRAPPED", start="<answer>", end="</answer>"),
    tools=ToolsFormat(
        format="JSON_NATIVE",
        section_start="<act>",
        section_end="</act>",
        array_wrapped=True,
        name_field="tool",
        arguments_field="input",
        generated_id_field="number",
        field_order=("number", "tool", "input"),
    ),
)
"""Content in markers, and numbered calls."""

DELIMITED = WireFormat(
    turn=TURN, reasoning=ReasoningFormat(mode="DELIMITER", end="\n[FINAL]\n"), tools=TAGS.tools
)
"""Reasoning from the start of the turn to a delimiter."""

ELEMENTS = WireFormat(
    turn=TURN,
    tools=ToolsFormat(format="TAG_WITH_TAGGED", section_start="<jobs>", section_end="</jobs>"),
    function=FunctionFormat(name_prefix='<job of="', name_suffix='">', close="</job>"),
    arguments=ArgumentsFormat(
        name_prefix="<", name_suffix=">", value_suffix="</", key_suffix=">", item="entry"
    ),
)
"""Arguments with their names as tags, and values of elements closed by name."""

MINE = TAGS.replace(
    tools={"per_call_start": "<use>", "per_call_end": "</use>", "separator": ""},
    reasoning={"mode": "NONE", "start": "", "end": ""},
)
MINE_CALL = '<use>{"name": "f", "arguments": {}}</use>'
"""A call in the format `MINE`, which tests register under a name."""


def in_tags(**arguments):
    """Return a format with each call in tags, and arguments in the given tags."""
    return WireFormat(
        turn=TURN,
        tools=ToolsFormat(format="TAG_WITH_TAGGED", per_call_start="<c>", per_call_end="</c>"),
        function=FunctionFormat(name_prefix="<f=", name_suffix=">", close="</f>"),
        arguments=ArgumentsFormat(**arguments),
    )


def cuts_of(text, first=1):
    """Return the offsets for splitting a text in two, from `first` on.

    A run with sampled cases takes a quarter of the offsets.
    """
    number = os.environ.get("DELTAPARSE_CASES")
    return range(first + int(number) % 4, len(text), 4) if number else range(first, len(text))


def chunkings(text):
    """Yield chunkings: one chunk, single characters, some fixed sizes, and every split in two."""
    yield [text]
    for size in (1, 2, 3, 5, 8):
        yield [text[at : at + size] for at in range(0, len(text), size)]
    for cut in cuts_of(text):
        yield [text[:cut], text[cut:]]


def fed(fmt, text, reason="stop", **options):
    """Return a finished parser, after a comparison of all chunkings of the text."""
    first = None
    for texts in chunkings(text):
        parser = StreamParser(fmt, **options)
        deltas = [delta for chunk in texts for delta in parser.feed(chunk)]
        deltas += parser.finish(reason)
        made = joined(deltas)
        if first is None:
            first, message, issues = parser, parser.message, parser.issues
            expected = as_joined(message)
        assert made == expected, texts
        assert parser.message == message, texts
        assert parser.finish_reason == first.finish_reason
        assert parser.issues == issues
    return first


def calls(parser):
    """Return the name and arguments of each call."""
    return [(call.name, call.arguments) for call in parser.message.tool_calls]


def kinds(parser):
    """Return the kinds of the issues."""
    return [issue.kind for issue in parser.issues]
