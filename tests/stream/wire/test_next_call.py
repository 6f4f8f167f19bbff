"""Tests of patterns that prove an unclosed string in a call."""

from __future__ import annotations

import pytest

from deltaparse import WireFormat, get_format
from deltaparse.stream.wire.next_call import next_call

TURN = {"ends": ("<end>",)}
JSON = {"format": "JSON_NATIVE", "name_field": "name", "arguments_field": "arguments"}
MARKED = {"per_call_start": "<call>\n", "per_call_end": "\n</call>"}
IN_JSON = WireFormat().replace(turn=TURN, tools=JSON | MARKED)
NAMED = {"name_prefix": "<f=", "name_suffix": ">\n", "close": "</f>"}
WITH_JSON = WireFormat().replace(
    turn=TURN, tools=MARKED | {"format": "TAG_WITH_JSON"}, function=NAMED
)
ARGUMENTS = {"name_prefix": "<p=", "name_suffix": ">", "value_suffix": "</p>"}
TAGGED = WITH_JSON.replace(tools={"format": "TAG_WITH_TAGGED"}, arguments=ARGUMENTS)
BY_NAME = WITH_JSON.replace(function={"close": " </", "close_suffix": ">"})
CHANNELS = WireFormat().replace(
    turn=TURN,
    channels={"start": "<start>", "channel": "<ch>", "message": "<msg>\n", "ends": ("<call>",)},
)
WITH_ID = WITH_JSON.replace(
    call_id={"position": "BETWEEN_FUNC_AND_ARGS", "prefix": "<id>", "suffix": "</id>"}
)
ID_IN_TAG = WITH_JSON.replace(
    tools={"per_call_start": '<call id="'},
    function={"name_prefix": "", "name_suffix": '">', "close": ""},
    call_id={"position": "PRE_FUNC_NAME", "suffix": '" fn="'},
)
UNCLOSED = WITH_JSON.replace(tools={"per_call_end": ""}, function={"close": ""})
LISTS = IN_JSON.replace(tools={"array_wrapped": True})
SECTION = WITH_JSON.replace(tools={"per_call_start": "", "section_start": "<calls>"})
SECTION = SECTION.replace(function={"name_prefix": "* "})


def stands(fmt, text, quote, *, final=True):
    return next_call(fmt).stands_at(text, 0, quote, final=final)


@pytest.mark.parametrize(
    ("fmt", "text", "proves"),
    [
        (IN_JSON, '</call><call>{"n', True),
        (IN_JSON, '</call>\n<call>\n{ "n', True),
        (IN_JSON, '</call></call><call><call>[{"n', True),
        (IN_JSON, '</call>\n<call>\n{ "', False),
        (IN_JSON, '</call>{"n', False),
        (IN_JSON, '<call>{"n', False),
        (IN_JSON, '</call> so <call>{"n', False),
        # The quotation mark ends the string in a valid way.
        (IN_JSON, '</call><call>{",', False),
        (IN_JSON, '</call><call>{"}', False),
        (IN_JSON, "</call>" * 4 + '<call>{"n', True),
        (IN_JSON, "</call>" * 5 + '<call>{"n', False),
        (IN_JSON, "</call>" + "<call>" * 4 + '{"n', False),
        (LISTS, '</call><call>[\n{"n', True),
        (WITH_JSON, '</call><call>{"n', False),
        (WITH_JSON, '</f></call><call><f=g>{"n', True),
        (WITH_JSON, '</f></call><call><f= g > {"n', True),
        (WITH_JSON, '</f><f=g>{a: "n', True),
        (WITH_JSON, '</f><f=g>"n', False),
        (WITH_JSON, '</f><f=g{"n', False),
        (WITH_JSON.replace(arguments={"start": "<args>\n"}), '</f><f=g><args>{"n', True),
        (WITH_JSON.replace(arguments={"start": "<args>\n"}), '</f><f=g>{"n', False),
        (WITH_ID, '</f><f=g><id>1</id>{"n', True),
        (WITH_ID, '</f><f=g>{"n', True),
        (WITH_JSON, '</f><f=g><id>1</id>{"n', False),
        (WITH_JSON, '</f><f=g> so {"n', False),
        # Models leave out an id, but sometimes keep its end marker.
        (WITH_ID, '</f><f=g></id>{"n', True),
        (get_format("mistral_small"), '[TOOL_CALLS]g[CALL_ID]1[ARGS]{"n', True),
        (get_format("mistral_small"), '[TOOL_CALLS]g[ARGS]{"n', True),
        (WITH_ID.replace(call_id={"suffix": ""}), '</f><f=g><id>{"n', False),
        (WITH_ID.replace(call_id={"suffix": ""}), '</f><f=g><id>1 2{"n', True),
        (WITH_ID.replace(call_id={"suffix": ""}), '</f><f=g>{"n', True),
        (WITH_ID.replace(call_id={"suffix": ""}), '</f><f=<id>g>{"n', False),
        (WITH_ID.replace(call_id={"suffix": ""}), f'</f><f=g><id>{"1" * 257}{{"n', False),
        (ID_IN_TAG, '</call><call id="7" fn="g">{"n', True),
        (ID_IN_TAG, '</call><call id="" fn="g">{"n', True),
        (ID_IN_TAG, f'</call><call id="{"7" * 257}" fn="g">{{"n', False),
        (BY_NAME, '</f></call><call><f=g>{"n', True),
        (BY_NAME, '</f><f=g>{"n', True),
        (BY_NAME, '</call><f=g>{"n', True),
        (BY_NAME, '</><f=g>{"n', False),
        (BY_NAME.replace(function={"close_suffix": ">\n"}), '</f> <f=g>{"n', True),
        (BY_NAME.replace(tools={"per_call_end": "|"}), '|<f=g>{"n', True),
        (BY_NAME.replace(tools={"per_call_end": ""}), '</f><call><f=g>{"n', True),
        # The opener only begins like a closer.
        (BY_NAME.replace(tools={"per_call_end": ""}, function={"close": "<"}), '<f=g>{"n', False),
        (CHANNELS, '<call><start>model<ch>final<msg>{"n', True),
        (CHANNELS, '<end><start>model<msg> {"n', True),
        (CHANNELS, '<call>model<msg>{"n', False),
        (CHANNELS, '<call><start>model{"n', False),
        (CHANNELS, '<call><start>model<msg>so: "n', False),
        # Without closers, an opener shows the next call.
        (UNCLOSED, '<call><f=g>{"n', True),
        (SECTION, '</f>* g>{"n', True),
        (SECTION, '</f><calls>g>{"n', False),
    ],
)
def test_next_call_proves_an_unclosed_string(fmt, text, proves):
    assert stands(fmt, text, '"') is proves
    if proves:
        # Before the last character, more text may complete the proof.
        assert all(stands(fmt, text[:cut], '"', final=False) is None for cut in range(len(text)))


@pytest.mark.parametrize(
    ("fmt", "first"),
    [
        (IN_JSON, {"</call>"}),
        (IN_JSON.replace(function=NAMED), {"</call>"}),
        (WITH_JSON, {"</call>", "</f>"}),
        (BY_NAME, {"</call>", "</"}),
        (CHANNELS, {"<call>", "<end>"}),
        (UNCLOSED, {"<call>", "<f="}),
        (SECTION, {"</call>", "</f>"}),
        # A string cannot contain this marker, so a proof is not needed.
        (IN_JSON.replace(tools={"section_end": '"end"'}), {"</call>"}),
        (IN_JSON.replace(tools={"section_end": "\\end"}), {"</call>"}),
    ],
)
def test_next_call_begins_with_a_marker(fmt, first):
    assert set(next_call(fmt).markers.literals) == first


def test_markers_outside_of_strings():
    assert set(next_call(IN_JSON).outside.literals) == {"</call>", "<call>", "<end>"}


@pytest.mark.parametrize(
    "fmt",
    [
        WireFormat(),
        get_format("pythonic"),
        get_format("llama4_pythonic"),
        WireFormat().replace(tools=JSON),
        WireFormat().replace(tools=JSON | {"per_call_end": "</call>"}),
        WireFormat().replace(tools=JSON | {"per_call_start": '"call"'}),
        CHANNELS.replace(channels={"start": ""}),
        TAGGED,
    ],
)
def test_formats_without_openers_have_no_next_call(fmt):
    assert next_call(fmt) is None


def test_longer_marker_is_tried_first():
    fmt = IN_JSON.replace(tools={"section_end": "</call>s"})
    assert stands(fmt, '</call>s<call>{"n', '"')
