"""The layout of a turn, compared with texts that are written without it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

from deltaparse import WireFormat, get_format
from deltaparse.stream.wire.layout import JsonCall, Many, Slot, layout_of

from ...strategies import wire_channels, wire_json_and_tags, wire_pythonic
from ...strategies.wire_tag_forms import tag_form_formats

ONE_NOTATION = wire_json_and_tags.written(
    wire_json_and_tags.any_format | tag_form_formats()
) | wire_pythonic.written(wire_pythonic.pythonic_formats())


def pattern(parts):
    """Return a pattern of the text of some parts."""
    return "".join(map(pattern_of, parts))


def pattern_of(part):
    match part:
        case Slot():
            return "(?s:.*?)"
        case JsonCall():
            # Members without a meaning are not in the layout.
            return pattern(part.spelled()).replace(r"\{", r'\{(?:"type": "function", )?')
        case Many():
            item = f"(?:{'|'.join(map(pattern, (part.each, *part.others)))})"
            items = f"(?:{item}(?:{re.escape(part.between)}{item})*)?"
            return pattern(part.start) + items + pattern(part.end)
    return re.escape(part)


@given(ONE_NOTATION)
def test_layout_matches_text_written_without_it(case):
    fmt, turn, text = case
    layout = layout_of(fmt)
    # A turn has reasoning, content and calls only if the model writes them.
    expected = pattern(layout.reasoning) if layout.reasoning and turn.reasoning else ""
    if fmt.reasoning.mode == "DELIMITER":
        expected = pattern(layout.reasoning)
    expected += pattern(layout.content)
    if turn.calls:
        expected += re.escape(layout.content_separator) + pattern([layout.calls])
    assert re.fullmatch(f"{expected}(?:{re.escape(layout.end)})?", text)


@given(wire_channels.channel_formats())
def test_messages_are_separated_by_an_end_and_a_start(fmt):
    layout = layout_of(fmt.replace(tools={"format": "TAG_WITH_JSON"}))
    header = fmt.turn.headers[0]
    assert layout.content_separator == fmt.channels.ends[0] + header
    assert bool(layout.reasoning) is bool(fmt.channels.reasoning)
    assert layout.reasoning[-1:] in ((), (layout.content_separator,))
    assert layout.calls.each == layout.call
    assert layout.call[0] == fmt.channels.recipient
    namespace = fmt.function.namespace
    assert layout.call[1] is (Slot.NAMESPACE if namespace else Slot.NAME)
    assert layout.call[-1] in fmt.channels.ends
    assert layout.call[-1] not in fmt.turn.ends or {*fmt.channels.ends[1:]} <= {*fmt.turn.ends}


CALLS = {
    "hermes": (
        "<tool_call>\n",
        JsonCall((("name", Slot.NAME), ("arguments", Slot.OBJECT))),
        "\n</tool_call>",
    ),
    "qwen3_coder": (
        *("<tool_call>\n", "<function=", Slot.NAME, ">\n"),
        Many((), ("<parameter=", Slot.KEY, ">\n", Slot.VALUE, "\n</parameter>\n"), "", ()),
        *("</function>\n", "</tool_call>"),
    ),
    "gpt_oss": (
        *(" to=", Slot.NAMESPACE, Slot.NAME, "<|channel|>commentary<|message|>"),
        *(Slot.OBJECT, "<|call|>"),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_call_has_its_parts_in_order(name):
    assert layout_of(get_format(name)).call == CALLS[name]


def test_call_in_a_message_has_its_own_markers():
    layout = layout_of(get_format("muse_glimmer"))
    assert layout.call in [part.each for part in layout.calls.each if isinstance(part, Many)]


def test_format_without_parts_has_only_content():
    layout = layout_of(WireFormat())
    assert (layout.reasoning, layout.calls, layout.call, layout.arguments) == ((), None, (), None)
    assert (layout.content, layout.end) == ((Slot.CONTENT,), "")


def test_shared_whitespace_before_calls_is_in_the_layout_once():
    tools = {"format": "PYTHONIC", "per_call_start": "\n<c>", "content_separator": "\n\n"}
    assert layout_of(WireFormat().replace(tools=tools)).content_separator == "\n"
