"""Tests of issues and calls that begin in the prompt."""

from __future__ import annotations

import pytest

from deltaparse import Content, Policies, StreamParser, ToolCall, get_format
from deltaparse.stream.message.policy_sink import Sink
from deltaparse.stream.message.request_rules import Rules

from ...strategies.token_texts import Text
from ...strategies.wire_by_hand import CALL, OTHER, TAGS, calls, fed, kinds
from ...strategies.wire_channels import HARMONY

BAD = '<call>\n{"name": "f", "arguments": {"a": oops}}\n</call>'


@pytest.mark.parametrize("begun", range(0, BAD.index("oops"), 4))
def test_span_of_an_issue_starts_at_the_output(begun):
    prompt, text = f"<|start|>model\n{BAD[:begun]}", BAD[begun:]
    parser = StreamParser(TAGS, prompt=prompt)
    parser.feed(text)
    parser.finish("stop")
    (issue,) = parser.issues
    assert issue.kind == "malformed_arguments"
    assert issue.span == (0, text.index("\n</call>"))


def test_prompt_errors_are_not_reported():
    parser = StreamParser(TAGS, prompt=f"<|start|>model\n{BAD}{BAD}")
    parser.feed("text")
    parser.finish("stop")
    assert kinds(parser) == ["text_after_tool_call"]
    assert (parser.attempts, parser.message.tool_calls) == ([], [])


def test_apparent_call_in_the_prompt_is_not_an_attempt():
    parser = StreamParser(TAGS, prompt="<|start|>model\n<call>no")
    parser.feed("thing")
    parser.finish("stop")
    assert parser.attempts == []
    parser = StreamParser(TAGS)
    parser.feed("<call>no")
    parser.finish("stop")
    assert [attempt.status for attempt in parser.attempts] == ["not_a_call"]


def test_policies_do_not_apply_to_the_prompt():
    policies = Policies(unknown_tool="error")
    prompt = f"<|start|>model\n{CALL}"
    parser = StreamParser(TAGS, tools=[{"name": "g"}], policies=policies, prompt=prompt)
    parser.feed(CALL.replace('"f"', '"g"'))
    parser.finish("stop")
    assert calls(parser) == [("g", '{"a": 1}')]


@pytest.mark.parametrize("begun", ['"g"', '"g",', '"g", "arguments"'])
def test_policy_does_not_apply_to_a_name_at_the_prompt_end(begun):
    text = CALL.replace('"f"', '"g"')
    at = text.index(begun) + len(begun)
    policies, prompt = Policies(unknown_tool="error"), f"<|start|>model\n{text[:at]}"
    parser = fed(TAGS, text[at:], tools=[{"name": "f"}], policies=policies, prompt=prompt)
    assert calls(parser) == [("g", '{"a": 1}')]
    assert parser.issues == []


@pytest.mark.parametrize(
    "begun", ["<call>", '<call>\n{"name": ', '<call>\n{"name": "f", "arg', CALL[:-11]]
)
def test_call_from_the_prompt_has_offset_zero(begun):
    places = []

    def made(place):
        places.append((place.name, place.index, place.offset))
        return "an id"

    text = CALL[len(begun) :]
    parser = StreamParser(TAGS, prompt=f"<|start|>model\n{begun}", id_factory=made)
    deltas = parser.feed(text) + parser.finish("stop")
    (call,) = parser.message.tool_calls
    assert call.span == (0, text.index("\n</call>"))
    assert [delta.last for delta in deltas] == [False] * (len(deltas) - 1) + [True]
    assert places == [("f", 0, 0)]


def test_call_from_the_prompt_ends_with_its_arguments():
    parser = StreamParser(TAGS, prompt=f"<|start|>model\n{CALL[:-10]}")
    assert [delta.last for delta in parser.feed("2")] == [False]
    assert [delta.last for delta in parser.feed("}}\n</call>")] == [True]
    assert calls(parser) == [("f", '{"a": 12}')]


def test_call_with_arguments_from_the_prompt_is_one_delta():
    begun = CALL[: CALL.index("}") + 1]
    (delta,) = StreamParser(TAGS, prompt=f"<|start|>model\n{begun}").feed("}\n")
    assert (delta.name, delta.arguments, delta.last) == ("f", '{"a": 1}', True)


def test_message_has_the_attempts():
    parser = fed(TAGS, f"{CALL}<call>no")
    attempts = parser.message.attempts
    assert [attempt.status for attempt in attempts] == ["complete", "not_a_call"]
    assert list(attempts) == parser.attempts


def test_reach_of_issues_is_the_furthest_end():
    sink = Sink(Rules(Policies()))
    sink.issue("odd_member", (0, 9), "")
    sink.issue("odd_member", (2, 4), "")
    assert sink._reach == {"odd_member": 9}


def test_buffered_content_precedes_a_call():
    parser = fed(TAGS, f"``{CALL}", response_schema={"type": "object"})
    first, second = parser.message.parts
    assert (first, type(second)) == (Content("``"), ToolCall)


def test_only_the_repaired_call_is_marked():
    odd = CALL.replace("1", "1,")
    for text, repaired in (
        (odd + OTHER, [True, False]),
        (CALL + odd + OTHER, [False, True, False]),
    ):
        parser = fed(TAGS, text)
        assert [call.repaired for call in parser.message.tool_calls] == repaired


def test_wrong_tool_issue_lists_all_tools_of_the_choice():
    choice = {
        "type": "allowed_tools",
        "mode": "auto",
        "tools": [{"type": "function", "name": "f"}, {"type": "function", "name": "g"}],
    }
    tools = [{"name": "f"}, {"name": "g"}, {"name": "h"}]
    parser = fed(TAGS, CALL.replace('"f"', '"h"'), tools=tools, tool_choice=choice)
    (issue,) = parser.issues
    assert (issue.kind, issue.detail) == (
        "wrong_tool",
        "'h' was called, but tool_choice is 'f' or 'g'",
    )


def test_copied_reasoning_has_no_tokens():
    text = Text(get_format("qwen3"), ["<think>"], ["<think>", "hm"])
    parser = text.parser(policies=Policies(unclosed_reasoning="copy"))
    deltas = [delta for id in text.ids for delta in parser.feed(id)] + parser.finish("stop")
    assert [(delta.text, delta.tokens) for delta in deltas] == [
        ("hm", (1, 2)),
        ("hm", (2, 2)),
    ]
    assert parser.roles == ["marker", "reasoning"]


def test_call_from_the_prompt_omits_earlier_raw_markers():
    body = '<|channel|>commentary to=functions.f<|message|>{"a": 1}'
    prompt = f"<|start|>assistant<|channel|>analysis<|message|>hm<|end|>{body[:-2]}"
    parser = StreamParser(HARMONY, prompt=prompt, reasoning="raw")
    parser.feed("1}")
    parser.finish("stop")
    (call,) = parser.message.parts
    assert (call.name, call.arguments) == ("f", '{"a": 1}')
    assert parser.issues == []
