"""Calls in the same object and the text of each call."""

from __future__ import annotations

import pytest

from deltaparse import Content, Policies, StreamParser, ToolCall

from ...strategies.wire_by_hand import KEYED, fed

FIRST, SECOND, THIRD = '<|calls|>[{"f": {"a": 1}', ', "g": {"b": 2}', ', "h": {}}'
ALL = FIRST + SECOND + THIRD


@pytest.mark.parametrize("named", ["f", "g", "h"])
def test_each_call_in_one_object_may_be_content(named):
    tools, policies = [{"name": named}], Policies(unknown_tool="text")
    parser = fed(KEYED, ALL + "]<|/calls|>", tools=tools, policies=policies)
    content = [part.text for part in parser.message.parts if isinstance(part, Content)]
    (call,) = (part for part in parser.message.parts if isinstance(part, ToolCall))
    around = {"f": [SECOND + THIRD], "g": [FIRST, THIRD], "h": [FIRST + SECOND]}
    assert (call.name, content) == (named, around[named])


def test_calls_in_one_object_have_their_own_spans():
    parser = fed(KEYED, ALL + "]<|/calls|>")
    spans = [ALL[slice(*attempt.span)] for attempt in parser.attempts]
    assert spans == [FIRST, SECOND, THIRD]


def test_each_call_in_one_object_may_be_dropped():
    policies = Policies(extra_calls="drop")
    parser = fed(KEYED, ALL + "]<|/calls|>", policies=policies, parallel_tool_calls=False)
    dropped = [issue.detail for issue in parser.issues if "dropped" in issue.detail]
    assert dropped == [f"dropped: {SECOND!r}", f"dropped: {THIRD!r}"]


@pytest.mark.parametrize("begun", range(1, len(', "g": ')))
def test_dropped_call_is_reported_without_the_prompt(begun):
    prompt = "<|start|>model\n" + FIRST + SECOND[:begun]
    policies = Policies(extra_calls="drop")
    parser = StreamParser(KEYED, prompt=prompt, policies=policies, parallel_tool_calls=False)
    parser.feed(SECOND[begun:] + THIRD)
    dropped = [issue.detail for issue in parser.issues if "dropped" in issue.detail]
    assert dropped[0] == f"dropped: {SECOND[begun:]!r}"


@pytest.mark.parametrize("named", ["g", "h"])
def test_text_calls_exclude_the_prompt(named):
    begun = FIRST + SECOND.replace(": ", ":" + " " * 20) if named == "h" else FIRST
    tools, policies = [{"name": named}], Policies(unknown_tool="text")
    text = begun + (THIRD if named == "h" else SECOND) + "}]"
    for cut in range(0, len(begun), 3):
        prompt = "<|start|>model\n" + text[:cut]
        parser = StreamParser(KEYED, prompt=prompt, tools=tools, policies=policies)
        parser.feed(text[cut:])
        parser.finish("stop")
        content, call = parser.message.parts
        assert (content, call.name) == (Content(begun[cut:]), named)
