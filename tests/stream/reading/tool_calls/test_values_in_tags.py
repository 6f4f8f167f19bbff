"""Values in tags with other line ends, missing attributes or odd numbers."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import StreamParser, ToolFormat, get_format, list_formats

from ....strategies import wire_json_and_tags as wire
from ....strategies.wire_parts import Written
from ....support import cuts

TAGGED = [
    fmt
    for fmt in map(get_format, list_formats())
    if fmt.tools.format is ToolFormat.TAG_WITH_TAGGED
    # Calls in messages and values in elements have other notations.
    and not (fmt.derived.has_channels or fmt.arguments.item)
]
UNTYPED = [fmt for fmt in TAGGED if not fmt.arguments.type_suffix]
LINES = [
    fmt
    for fmt in TAGGED
    if fmt.arguments.value_suffix.startswith("\n")
    and (fmt.arguments.value_prefix or fmt.arguments.name_suffix).endswith("\n")
]
TELLING = [fmt for fmt in TAGGED if fmt.arguments.literal_name_suffix]
SCHEMA = {"s": {"type": "string"}, "t": {"type": "string"}, "n": {"type": "number"}}
TOOLS = [{"name": "f", "parameters": {"type": "object", "properties": SCHEMA}}]
TEXTS = st.lists(st.sampled_from(["\n", "\r", " ", "x", "é", "<", "</", "\t"]), max_size=6)
VALUES = TEXTS.map("".join)


def read(fmt, chunks, tools=TOOLS):
    """Return the arguments of the call in the chunks, and the issues."""
    parser = StreamParser(fmt, tools=tools)
    for chunk in chunks:
        parser.feed(chunk)
    parser.finish("stop")
    (call,) = parser.message.tool_calls
    assert call.complete
    # Some templates open reasoning in the prompt.
    issues = [issue for issue in parser.issues if issue.kind != "tool_in_reasoning"]
    return json.loads(call.arguments), issues


def write(fmt, arguments):
    """Write a call like a template."""
    return wire.write(fmt, Written("", "", (("f", arguments),), ()))


def test_there_are_formats_of_each_kind():
    assert len(LINES) >= 3
    assert len(TELLING) >= 2


@pytest.mark.parametrize("fmt", LINES, ids=lambda fmt: fmt.arguments.name_prefix)
@given(data=st.data(), value=VALUES, more=VALUES)
def test_value_between_crlf_excludes_them(fmt, data, value, more):
    arguments = {"s": value.replace("\r", ""), "t": more.replace("\r", ""), "n": 5}
    text = write(fmt, arguments).replace("\n", "\r\n")

    found = read(fmt, data.draw(cuts(text)))

    # Line ends inside a value belong to the value.
    crlf = {
        key: value.replace("\n", "\r\n") if isinstance(value, str) else value
        for key, value in arguments.items()
    }
    assert found == (crlf, [])


@pytest.mark.parametrize("fmt", TAGGED, ids=lambda fmt: fmt.arguments.name_prefix)
@given(data=st.data(), value=VALUES)
def test_written_value_round_trips_with_any_line_ends(fmt, data, value):
    text = write(fmt, {"s": value})

    assert read(fmt, data.draw(cuts(text))) == ({"s": value}, [])


@pytest.mark.parametrize("chunks", [list, lambda text: [text]])
@pytest.mark.parametrize(
    ("before", "after", "value"),
    [
        ("\r\n", "\r\n", "x"),
        ("\r\n\r\n", "\r\n\r\n", "\r\nx\r\n"),
        ("\r\n", "\n", "x"),
        ("\r\n", "", "x"),
        ("\n", "\r\n", "x\r"),
        ("", "\r\n", "x\r"),
        ("\r", "\n", "\rx"),
    ],
)
def test_one_crlf_is_removed_after_a_crlf_line(chunks, before, after, value):
    fmt = get_format("qwen3_coder")
    argument = f"<parameter=s>{before}x{after}</parameter>"
    text = f"<tool_call>\n<function=f>\n{argument}\n</function>\n</tool_call>"

    assert read(fmt, chunks(text)) == ({"s": value}, [])


@pytest.mark.parametrize("fmt", TELLING, ids=lambda fmt: fmt.arguments.name_prefix)
@given(data=st.data(), words=st.lists(st.sampled_from(["Oslo", "5", "true"]), min_size=3))
def test_schema_determines_the_type_without_the_type_attribute(fmt, data, words):
    arguments = {"s": words[0], "t": words[1]}
    text = write(fmt, arguments).replace(' string="true"', "")
    number = write(fmt, {"n": "5"}).replace(' string="true"', "")

    assert 'string="' not in text
    assert read(fmt, data.draw(cuts(text))) == (arguments, [])
    assert read(fmt, data.draw(cuts(number))) == ({"n": 5}, [])
    assert read(fmt, data.draw(cuts(number)), None) == ({"n": 5}, [])


@pytest.mark.parametrize("fmt", UNTYPED, ids=lambda fmt: fmt.arguments.name_prefix)
@pytest.mark.parametrize("written", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("tools", [TOOLS, None])
def test_non_finite_number_is_reported(fmt, written, tools):
    unsaid = fmt.arguments.literal_name_suffix or fmt.arguments.name_suffix
    text = write(fmt, {"n": written}).replace(fmt.arguments.name_suffix, unsaid)
    arguments, (issue,) = read(fmt, list(text), tools)

    assert arguments == {"n": None}
    assert issue.kind == "repaired_arguments"
    assert issue.detail == "the arguments of 'f' were repaired: non_finite (1)"


@pytest.mark.parametrize("fmt", TAGGED, ids=lambda fmt: fmt.arguments.name_prefix)
@given(data=st.data(), before=VALUES, behind=st.sampled_from(["x", " or so", ".", "\n\nx"]))
def test_other_closer_inside_a_value_is_part_of_it(fmt, data, before, behind):
    closers = sorted({text.strip() for text in fmt.derived.closers})
    several = data.draw(st.lists(st.sampled_from(closers), min_size=1, max_size=3))
    gap = data.draw(st.sampled_from(["", "\n", " "]))
    value = before + gap.join(several) + behind

    arguments, (issue,) = read(fmt, data.draw(cuts(write(fmt, {"s": value, "t": "y"}))))

    assert arguments == {"s": value, "t": "y"}
    assert issue.kind == "ambiguous_marker"
