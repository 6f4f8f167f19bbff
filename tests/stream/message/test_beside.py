"""Which calls are reported, that only their look tells from the text beside them."""

from __future__ import annotations

import pytest

from deltaparse import Policies, StreamParser, ToolCallDelta, get_format, list_formats
from deltaparse.stream.message.beside import Beside

TOOLS = [{"name": name, "parameters": {"type": "object"}} for name in ("rm", "ls")]


def reported(name, text, tools=TOOLS, size=1, **options):
    """The names of the calls of which a parser reports that text stands beside them."""
    parser = StreamParser(name, tools=tools, **options)
    for start in range(0, len(text), size):
        parser.feed(text[start : start + size])
    parser.finish("stop")
    spans = [issue.span for issue in parser.issues if issue.kind == "unproven_call"]
    return [text[slice(*span)] for span in spans]


@pytest.mark.parametrize("size", [1, 3, 99])
@pytest.mark.parametrize(
    ("name", "text", "calls"),
    [
        ("pythonic", "rm()", []),
        ("pythonic", "\n [rm(), ls()]\n", []),
        ("pythonic", "rm(); ls()", []),
        ("pythonic", "rm()? No.", ["rm"]),
        ("pythonic", "[rm(), ls()] - no.\nNo.", ["ls"]),
        ("pythonic", "[rm()]\n\nSo:\n[ls()]", ["rm"]),
        ("llama3_json", '{"name": "rm", "parameters": {}} would do.', ["rm"]),
        ("llama3_json", 'So: <|python_tag|>{"name": "rm", "parameters": {}}', []),
        ("functionary_v32", "all\nSo.>>>rm\n{}>>>ls\n{}", []),
        ("functionary_v32", "rm\n{}>>>all\nDone.\n", []),
        ("functionary_v32", "all\nSo. >>>rm\n{}", ["rm"]),
        ("functionary_v32", "all\nSo.>>> rm\n{}", ["rm"]),
        ("functionary_v32", "rm\n{} so.", ["rm"]),
        ("phi4_mini_json", 'functools[{"name": "rm", "arguments": {}}] so', ["rm"]),
        ("hermes", 'So: <tool_call>{"name": "rm", "arguments": {}}</tool_call> so.', []),
    ],
)
def test_a_call_that_looks_like_text_is_reported_where_text_stands_beside_it(
    name, text, calls, size
):
    assert reported(name, text, size=size) == calls


def test_text_that_a_policy_drops_stands_beside_a_call_too():
    assert reported("pythonic", "rm() so", policies=Policies(text_after_tool_call="drop")) == ["rm"]


def test_raw_reasoning_is_no_text_beside_a_call():
    fmt = get_format("pythonic").replace(
        reasoning={"mode": "TAG_BASED", "start": "<think>", "end": "</think>"}
    )
    for reasoning in ("separate", "inline", "raw"):
        assert reported(fmt, "<think>x</think>rm()", reasoning=reasoning) == []


def test_text_before_a_call_is_reported_when_the_call_is_whole():
    fmt = get_format("llama3_json").replace(tools={"behind_content": True})
    parser = StreamParser(fmt, tools=TOOLS)
    for char in 'So: {"name": "rm", "parameters": {}}':
        for delta in parser.feed(char):
            if isinstance(delta, ToolCallDelta) and delta.last:
                assert [issue.kind for issue in parser.issues] == ["unproven_call"]
    assert parser.message.tool_calls[0].issues == {"unproven_call"}


def test_formats_whose_calls_look_like_text_are_these():
    assert [name for name in list_formats() if get_format(name).facts.like_text] == [
        *("firefunction_v2", "functionary_v32", "llama3_json", "llama4_json"),
        *("llama4_pythonic", "phi4_mini_json", "pythonic"),
    ]


def test_a_section_of_content_ends_with_the_call_behind_it():
    beside = Beside()
    beside.in_section = True
    assert beside.text("So.") is None
    assert not beside.call((5, 7), exact=True)
    assert beside.text(" \n") is None
    assert beside.text("so") == (5, 7)
    assert beside.text("more") is None
    assert beside.call((9, 11), exact=True)
