"""Calls in Markdown fences; answers have fences too, so only the text in a fence decides."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import StreamParser, parse

from ..strategies.unproven_texts import answers, looks_like_calls
from ..strategies.wire_by_hand import UNMARKED, calls, fed, kinds
from ..support import cuts, joined
from .invariants import check_1_and_2, check_3, run

NAMED = {"name_field": "name", "arguments_field": "arguments"}
EACH = UNMARKED.replace(
    tools={**NAMED, "per_call_start": "```json\n", "per_call_end": "\n```", "separator": "\n"}
)
LISTED = UNMARKED.replace(
    tools={
        **NAMED,
        "section_start": "```json\n",
        "section_end": "\n```",
        "array_wrapped": True,
        "content_separator": "\n",
    }
)
TILDES = EACH.replace(tools={"per_call_start": "~~~~json\n", "per_call_end": "\n~~~~"})
CODE = UNMARKED.replace(
    tools={
        "format": "PYTHONIC",
        "section_start": "```python\n",
        "section_end": "\n```",
        "name_field": "",
        "arguments_field": "",
    }
)
BEHIND_A_WORD = EACH.replace(tools={"per_call_start": "Action:\n```json\n"})
ALL = [EACH, LISTED, TILDES, CODE]
F, OTHERS = [{"name": "f"}], [{"name": "look_up"}, {"name": "zz"}]


def fenced(fmt, text):
    """Return a text in the fence of the format's calls."""
    tools = fmt.tools
    return (
        tools.section_start + tools.per_call_start + text + tools.per_call_end + tools.section_end
    )


@st.composite
def fences(draw, fmt):
    """Draw an answer with fences but without calls of the format."""
    blocks = draw(st.lists(looks_like_calls | answers(), min_size=1, max_size=2))
    return "".join(f"Save this:\n{fenced(fmt, text)}\nand more.\n" for text in blocks)


def written(fmt, name="f", arguments=None):
    """Write a call in the format, without its fence."""
    arguments = {"a": 1} if arguments is None else arguments
    if fmt.tools.format == "PYTHONIC":
        return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
    return json.dumps({"name": name, "arguments": arguments})


def turn(fmt, *made):
    """Write calls in the format."""
    texts = [written(fmt, *call) for call in made]
    if fmt.tools.array_wrapped:
        return fenced(fmt, f"[{', '.join(texts)}]")
    if fmt.tools.format == "PYTHONIC":
        return fenced(fmt, "\n".join(texts))
    return fmt.tools.separator.join(fenced(fmt, text) for text in texts)


@given(fmt=st.sampled_from(ALL), data=st.data())
def test_a_fence_without_a_call_of_a_tool_is_text(fmt, data):
    text = data.draw(fences(fmt))
    for tools in (None, OTHERS):
        for reason in ("stop", "length", None):
            parser, deltas = run(fmt, data.draw(cuts(text + "<|end|>")), reason, tools=tools)
            assert joined(deltas) == (text, "", [])
            assert {issue.kind for issue in parser.issues} <= {"unknown_tool"}
            assert {one.status for one in parser.attempts} <= {"not_a_call", "unknown_tool"}


@given(fmt=st.sampled_from(ALL), data=st.data())
def test_the_invariants_hold_for_fences(fmt, data):
    text = data.draw(fences(fmt)) + data.draw(st.sampled_from(["", turn(fmt, ("f",))]))
    tools = data.draw(st.sampled_from([None, F, OTHERS, [{"name": "my-app"}, {"name": "x"}]]))
    reason = data.draw(st.sampled_from(["stop", "length", None]))
    check_1_and_2(fmt, text, (list(text), data.draw(cuts(text))), reason, tools=tools)
    check_3(fmt, text, tools=tools)


@given(fmt=st.sampled_from(ALL), data=st.data())
def test_calls_in_fences_are_calls_with_tools_or_without(fmt, data):
    names = st.sampled_from(["f", "look_up", "my-app"])
    values = st.dictionaries(st.sampled_from(["a", "b"]), st.integers(0, 9), max_size=2)
    made = data.draw(st.lists(st.tuples(names, values), min_size=1, max_size=3))
    before = data.draw(st.sampled_from(["", "I will look.\n"]))
    wire = before + turn(fmt, *made) + data.draw(st.sampled_from(["", "\n", "<|end|>"]))
    tools = data.draw(st.sampled_from([None, [{"name": name} for name, _ in made]]))
    parser, _ = run(fmt, data.draw(cuts(wire)), tools=tools)
    assert [(name, json.loads(text)) for name, text in calls(parser)] == made
    assert parser.message.content.strip() == before.strip()
    assert parser.issues == []
    assert all(call.complete for call in parser.message.tool_calls)


PACKAGE = '{"name": "left-pad", "version": "1.0"}'


@pytest.mark.parametrize("tools", [None, F])
@pytest.mark.parametrize(
    ("fmt", "body"),
    [
        (EACH, PACKAGE),
        (EACH, '{"name": "f", "version": "1.0"}'),
        (EACH, '{"name": "f"}'),
        (EACH, "{}"),
        (EACH, "[]"),
        (EACH, "{'name': 'left-pad', 'version': '1.0'}"),
        (EACH, "{"),
        (EACH, '{"name": "f", '),
        (LISTED, '[{"name": "Bob", "age": 3}, {"name": "Al", "age": 4}]'),
        (LISTED, "[]"),
        (LISTED, "[1, 2]"),
        (LISTED, PACKAGE),
        (TILDES, PACKAGE),
        (CODE, 'print("hi")'),
        (CODE, "print(1)\nf(x)"),
        (CODE, "x = f"),
        (CODE, "[]"),
        (CODE, "f("),
    ],
)
def test_fenced_text_other_than_a_call_keeps_its_fence(fmt, body, tools):
    for text in (f"Here:\n{fenced(fmt, body)}\nok", fenced(fmt, body)):
        for reason in ("stop", "length", None):
            parser = fed(fmt, text + "<|end|>", reason, tools=tools)
            assert (calls(parser), parser.message.content) == ([], text)
            assert parser.issues == []


@pytest.mark.parametrize("fmt", ALL)
def test_fenced_call_of_an_unknown_tool_keeps_its_fence(fmt):
    text = f"Here:\n{turn(fmt, ('left-pad',))}\nok"
    parser = fed(fmt, text, tools=F)
    assert (calls(parser), parser.message.content) == ([], text)
    assert kinds(parser) == ["unknown_tool"]
    assert parser.attempts[0].status == "unknown_tool"


@pytest.mark.parametrize("fmt", ALL)
def test_fenced_calls_without_tools_must_fill_their_part(fmt):
    for text in (f"{turn(fmt, ('f',))}\nok", f"{turn(fmt, ('f',))}\nok {turn(fmt, ('f',))}"):
        assert parse(text, fmt).content == text
    parser = fed(fmt, f"So:\n{turn(fmt, ('f',), ('f', {}))}")
    assert calls(parser) == [("f", '{"a": 1}'), ("f", "{}")]


@pytest.mark.parametrize("fmt", ALL)
def test_fenced_call_of_a_tool_streams(fmt):
    parser = StreamParser(fmt, tools=F)
    parser.feed("So:\n" + turn(fmt, ("f",)).partition("a")[0])
    text = turn(fmt, ("f",))
    begun = [len(parser.message.tool_calls) for char in text if parser.feed(char) is not None]
    assert begun.index(1) < len(text) - len("\n```")


def test_other_fence_between_fenced_calls_is_content():
    for tools in (None, F):
        text = "So:\n```\n{}\n```\nand ```python\nf(x)\n``` it is."
        assert parse(text, EACH, tools=tools).content == text


def test_fence_after_a_call_marker_holds_a_call():
    parser = fed(BEHIND_A_WORD, f"Action:\n```json\n{written(EACH, 'g')}\n```<|end|>", tools=F)
    assert (calls(parser), kinds(parser)) == ([("g", '{"a": 1}')], ["unknown_tool"])


@pytest.mark.parametrize("opener", ["```json\n", "```json ", "```json", "\n```json\n"])
@pytest.mark.parametrize("start", ["```json\n", "\n```json\n"])
def test_fenced_list_allows_any_whitespace_around_its_opener(start, opener):
    text = f'{opener}[{{"name": "f", "arguments": {{}}}}]\n```'
    parser = fed(LISTED.replace(tools={"section_start": start}), text)
    assert (calls(parser), parser.message.content) == ([("f", "{}")], "")
