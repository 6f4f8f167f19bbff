"""Policies to turn calls into content, including their end markers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import Policies, StreamParser, get_format

from ..strategies import wire_json_and_tags as wire
from ..strategies import wire_pythonic
from ..strategies.wire_named import WIRES
from ..support import cuts

OTHERS = [{"name": "other", "parameters": {"type": "object", "properties": {}}}]
ENDS = [
    "</think>",
    "[BEGIN FINAL RESPONSE]",
    "<|END_THINKING|>",
    "</ifm|think>",
    "<|close|>think<|sep|>",
    "<|plamo:end_think:plamo|>",
]
REASONS = re.compile(rf"^hm\n?(?:{'|'.join(map(re.escape, ENDS))})\n?\n?")
CHANNELS = ("gpt_oss", "muse_glimmer")
NAMED = [
    (name, REASONS.sub("", text), REASONS.match(text))
    for name in WIRES
    # Unmarked calls are known by their names. Messages in channels have their own headers.
    for text in dict.fromkeys([WIRES[name].one, WIRES[name].two][: 1 + (name not in CHANNELS)])
    if text and name != "llama4_pythonic"
]


def read(fmt, chunks, reason="stop", **options):
    """Return a parser after it was fed and finished."""
    parser = StreamParser(fmt, **options)
    for chunk in chunks:
        parser.feed(chunk)
    parser.finish(reason)
    return parser


def kinds(parser):
    """Return the kinds of all issues."""
    return {issue.kind for issue in parser.issues}


@pytest.mark.parametrize(("name", "calls", "reasons"), NAMED)
@given(data=st.data())
def test_calls_of_unknown_tools_are_content_verbatim(name, calls, reasons, data):
    before = reasons[0] if reasons else ""
    policies = Policies(unknown_tool="text")
    parser = read(
        get_format(name), data.draw(cuts(before + calls)), tools=OTHERS, policies=policies
    )

    assert parser.message.tool_calls == []
    assert parser.message.content.strip() == calls.strip()
    assert parser.message.content.endswith(calls)
    assert kinds(parser) <= {"unknown_tool"}


@given(data=st.data())
def test_calls_of_unknown_tools_are_content_in_any_format(data):
    fmt = data.draw(wire.any_format)
    turn = data.draw(wire.turns(fmt, calls=(1, 3)))
    text = wire.write(fmt, turn)
    thought = fmt.reasoning.start + turn.reasoning + fmt.reasoning.end
    policies = Policies(unknown_tool="text")
    parser = read(fmt, data.draw(cuts(text)), tools=OTHERS, policies=policies)

    assert parser.message.tool_calls == []
    assert text.removeprefix(thought).strip() in parser.message.content
    assert "text_after_tool_call" not in kinds(parser)


@given(data=st.data())
def test_python_calls_of_unknown_tools_are_content(data):
    fmt, turn, text = data.draw(wire_pythonic.written(wire_pythonic.pythonic_formats()))
    policies = Policies(unknown_tool="text")
    parser = read(fmt, data.draw(cuts(text)), tools=OTHERS, policies=policies)
    calls = text.removeprefix(wire_pythonic.before_calls(fmt, turn))
    for end in fmt.turn.ends:
        calls = calls.removesuffix(end)

    assert parser.message.tool_calls == []
    assert calls.strip() in parser.message.content
    assert "text_after_tool_call" not in kinds(parser)


EXTRA = [
    name
    for name in WIRES
    # Without closing markers, the text after the calls decides if they are calls.
    if get_format(name).derived.closers and WIRES[name].two.startswith(WIRES[name].one)
]


@pytest.mark.parametrize("name", EXTRA)
@given(data=st.data(), after=st.sampled_from(["", " And so on."]))
def test_extra_calls_are_content_up_to_their_end(name, data, after):
    wires, policies = WIRES[name], Policies(extra_calls="text")
    text = wires.two + after
    parser = read(
        get_format(name), data.draw(cuts(text)), parallel_tool_calls=False, policies=policies
    )
    (call,) = parser.message.tool_calls
    kept = "text_after_tool_call" in kinds(parser)

    assert (call.name, call.complete) == ("f", True)
    # Markers before a channel header end the previous message.
    extra = text[len(wires.one) :].strip().removeprefix("<|start|>assistant")
    assert parser.message.content.strip() == extra
    assert kept == bool(after)


SECTIONS = [
    (name, fmt)
    for name, fmt in ((name, get_format(name)) for name in WIRES)
    if fmt.tools.section_start and fmt.tools.per_call_end
]


@pytest.mark.parametrize(("name", "fmt"), SECTIONS)
@pytest.mark.parametrize("known", ["f", "g"])
@given(data=st.data())
def test_section_markers_are_markup_if_the_section_has_a_call(name, fmt, known, data):
    text, tools = WIRES[name].two, [{"name": known}]
    parser = read(fmt, data.draw(cuts(text)), tools=tools, policies=Policies(unknown_tool="text"))
    (call,) = parser.message.tool_calls
    section = fmt.tools.section_end.strip()

    assert (call.name, call.complete) == (known, True)
    assert text.endswith(section)
    assert section not in parser.message.content
    assert fmt.tools.per_call_end.strip() in parser.message.content


BROKEN = [
    (name, REASONS.sub("", WIRES[name].one).replace(old, new))
    for name in WIRES
    for old, new in (('"NYC"}', '"NYC" x}'), ('"NYC")', '"NYC" x)'), ('<|"|>}', '<|"|> x}'))
    if old in WIRES[name].one and not REASONS.match(WIRES[name].one) and name != "llama4_pythonic"
]


@pytest.mark.parametrize(("name", "text"), BROKEN)
@given(data=st.data())
def test_calls_with_malformed_arguments_are_content_verbatim(name, text, data):
    policies = Policies(malformed_arguments="text")
    parser = read(get_format(name), data.draw(cuts(text)), policies=policies)

    assert parser.message.tool_calls == []
    assert parser.message.content == text
    assert "text_after_tool_call" not in kinds(parser)


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("hermes", '<tool_call>\n{"name": "write", "arguments": {"text": "'),
        ("qwen3_coder", "<tool_call>\n<function=write>\n<parameter=text>\n"),
        ("devstral", '[TOOL_CALLS]write[ARGS]{"text": "'),
        ("glm45", "<tool_call>write\n<arg_key>text</arg_key>\n<arg_value>"),
    ],
)
@pytest.mark.parametrize("extra", [False, True])
def test_7_call_turned_into_content_is_buffered_up_to_its_name(name, head, extra):
    """Buffer no more than the name, since the policy needs only that."""
    options = {"tools": OTHERS, "policies": Policies(unknown_tool="text")}
    before = ""
    if extra:
        options = {"parallel_tool_calls": False, "policies": Policies(extra_calls="text")}
        before = WIRES[name].one
    parser = StreamParser(name, **options)
    parser.feed(before)
    parser.feed(head)
    for _ in range(100):
        parser.feed("word ")
    assert parser.held <= len("word ")
    assert parser.message.content.startswith(head.strip()[:5])
    assert parser.message.content.rstrip().endswith("word word")
