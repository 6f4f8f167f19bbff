"""Tests of the probes: unique texts, and messages and tools in the form of the APIs."""

from __future__ import annotations

import pytest

from deltaparse.analyzer import probes
from deltaparse.analyzer.probes import ABSENT, assistant, call, result, thinking, told, user


def test_probe_texts_are_distinct_and_not_empty():
    texts = [*probes.FUNCTIONS, *probes.ARGUMENTS, *probes.VALUES, *probes.CALL_IDS]
    assert all(texts)
    assert len({*texts}) == len(texts)
    assert all(probes.REASONING_KEYS)


def test_tools_are_functions_with_arguments_that_are_strings():
    for made in probes.TOOLS + probes._tools({}, {}):
        assert made.keys() == {"type", "function"}
        assert made["type"] == "function"
        function = made["function"]
        assert function.keys() == {"name", "description", "parameters"}
        assert function["description"]
        schema = function["parameters"]
        assert schema.keys() == {"type", "properties", "required"}
        assert (schema["type"], schema["required"]) == ("object", [probes.ARGUMENT])
        assert [*schema["properties"]] == [*probes.ARGUMENTS]
        for part in schema["properties"].values():
            assert part.keys() == {"type", "description"}
            assert part["type"] == "string"
            assert part["description"]
    for tools in (probes.TOOLS, probes._tools({}, {})):
        assert [made["function"]["name"] for made in tools] == [*probes.FUNCTIONS]


def test_messages_are_those_of_the_system_and_the_user():
    assert told() == {"role": "system", "content": probes.SYSTEM}
    assert user() == {"role": "user", "content": probes.USER}
    assert user("a") == {"role": "user", "content": "a"}


def test_thinking_sets_reasoning_under_every_key():
    keys = ["reasoning_content", "reasoning", "thinking", "thought"]
    thought = dict.fromkeys([*keys, "musing"], probes.REASONING)
    said = assistant(None, calls=[call(1)])
    assert thinking(None, [call(1)], ["musing", "content.musing"]) == thought | said
    assert thinking() == dict.fromkeys(keys, probes.REASONING) | assistant()


def test_all_of_tools_is_more_of_the_same():
    for made, all_of_it in zip(probes.TOOLS, probes.ALL_OF_TOOLS, strict=True):
        function, full = made["function"], all_of_it["function"]
        assert function.keys() < full.keys()
        assert function["name"] == full["name"]
        parts, more = (one["parameters"]["properties"] for one in (function, full))
        assert parts.keys() == more.keys()
        assert all(parts[name].items() < more[name].items() for name in parts)


def test_additional_members_of_all_of_tools_are_schemas():
    (typed, *_) = probes.TOOLS[0]["function"]["parameters"]["properties"].values()
    for made in probes.ALL_OF_TOOLS:
        function = made["function"]
        assert function.keys() == {
            *("name", "description", "parameters", "strict", "return", "returns", "response")
        }
        assert function["strict"] is False
        assert function["return"] == function["returns"] == function["response"] == typed
        for part in function["parameters"]["properties"].values():
            more = {key: value for key, value in part.items() if key not in typed}
            one, two = more.pop("enum")
            assert one
            assert two
            assert one != two
            assert more.pop("title")
            assert more.pop("format")
            assert more == {
                "default": one,
                "examples": [one],
                "items": typed,
                "properties": {},
                "required": [],
            }


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (assistant, {"content": probes.CONTENT}),
        (lambda: assistant(None), {"content": None}),
        (lambda: assistant(ABSENT, calls=[call()]), {"tool_calls": [call()]}),
        (lambda: assistant("a", reasoning="b", key="thought"), {"content": "a", "thought": "b"}),
        (
            lambda: assistant("a", reasoning="b", key="content.thinking"),
            {
                "content": [
                    {"type": "thinking", "thinking": "b", "text": "b"},
                    {"type": "text", "text": "a"},
                ]
            },
        ),
        (
            lambda: assistant("", reasoning="b", key="content.thinking"),
            {"content": [{"type": "thinking", "thinking": "b", "text": "b"}]},
        ),
        (lambda: assistant("a", key="content.thinking"), {"content": "a"}),
    ],
)
def test_assistant_turn_has_no_keys_for_absent_parts(made, message):
    assert made() == {"role": "assistant", **message}


def test_a_result_refers_to_its_call():
    for which in range(2):
        assert result(which) == {
            "role": "tool",
            "tool_call_id": call(which)["id"],
            "name": call(which)["function"]["name"],
            "content": probes.RESULT,
        }
