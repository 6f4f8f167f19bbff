"""Tests of the turns that prove a bridge."""

from __future__ import annotations

import json

import pytest

from deltaparse import Content, Message, Reasoning, ToolCall
from deltaparse.analyzer.next_prompt_turns import (
    KEY,
    NoBridge,
    answered,
    end_of_texts,
    saying,
    squeezed,
    thoughts_in,
)


def call(made, name="f", arguments="{}"):
    return ToolCall(made, name, arguments, complete=True)


def result(made, **more):
    return {"role": "tool", "tool_call_id": made, "content": "Sun.", **more}


@pytest.mark.parametrize(
    ("calls", "new", "ids"),
    [
        ("a:f b:f", [result("a"), result("b")], "a b"),
        ("a:f b:g", [result("x"), result("y")], "x y"),  # in turn
        ("a:f b:g", [result("x", name="g"), result("y", name="f")], "y x"),  # or by name
        ("a:f b:f", [result("x", name="f"), result("y", name="f")], "x y"),
        ("a:f b:f", [result("b"), result("x")], "x b"),  # one is answered already
        ("a:f b:f", [result("b"), result("a"), result("x")], "a b"),
        ("a:f b:f", [result("x")], "x b"),
        ("a:f", [result(7)], "7"),
        ("a:f", [{"role": "tool", "content": "Sun."}], "a"),
        ("a:f", [result("x", role="user"), "no message"], "a"),
        ("a:f", [], "a"),
    ],
)
def test_calls_have_the_ids_under_which_they_are_answered(calls, new, ids):
    said = [Reasoning("hm"), Content("See."), *(call(*one.split(":")) for one in calls.split())]
    made = answered(Message(said), new)
    assert [one.id for one in made.tool_calls] == ids.split()
    assert [one.name for one in made.tool_calls] == [one.name for one in said[2:]]
    assert list(made.parts[:2]) == said[:2]


SAID = Message([Reasoning("hm"), Content("See."), call("a", "f", '{"b": 1}')])


def test_substitute_turn_has_the_same_parts_with_a_word():
    made, word = saying(SAID, "zqword")
    assert word == "zqword"
    assert (made.reasoning_content, made.content) == ("zqword0zq", "zqword1zq")
    (one,) = made.tool_calls
    assert (one.id, one.name, json.loads(one.arguments)) == ("a", "f", {KEY: "zqword2zq"})


@pytest.mark.parametrize(
    ("turn", "rest"),
    [
        ("<t>zqw0zq</t>zqw1zq<c>f zqw2zq</c>", "</c>"),
        ("<c>f zqw2zq</c>zqw1zq<t>zqw0zq</t>", "</t>"),
        ("zqw0zq zqw1zq zqw2zq of f", " of f"),  # without text after it
        ("zqw1zq f zqw2zq", "reasoning is dropped from history"),
        ("zqw0zq f zqw2zq", "content is dropped from history"),
        ("zqw0zq zqw1zq zqw2zq", "tool calls are dropped from history"),
        ("zqw0zq zqw1zq f", "the arguments of calls are dropped from history"),
    ],
)
def test_end_of_the_last_text_is_found(turn, rest):
    said = saying(SAID, "zqw")
    if "dropped" in rest:
        with pytest.raises(NoBridge, match=f"^{rest}$"):
            end_of_texts(turn, *said)
    else:
        assert turn[end_of_texts(turn, *said) :] == rest


def test_turn_without_texts_has_no_last_text():
    assert end_of_texts("</a>", *saying(Message([]), "zqw")) == 0


def test_squeezed_removes_whitespace():
    assert squeezed(" a\n\tb ") == squeezed("ab") == "ab"


def test_the_reasoning_in_a_conversation():
    chat = [
        SAID,
        {"role": "user", "content": "x"},
        {"role": "assistant", "reasoning_content": "one", "content": "x"},
        {"role": "assistant", "thinking": "two", "reasoning": ["x"]},
        "no message",
    ]
    assert [*thoughts_in(chat)] == ["hm", "one", "two"]
