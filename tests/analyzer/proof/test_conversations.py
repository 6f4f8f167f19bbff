"""Tests of the turns for the proof of a format."""

from __future__ import annotations

import json

import jsonschema
import pytest

from deltaparse import ToolFormat, WireFormat, get_format
from deltaparse.analyzer.probes import ABSENT, FUNCTIONS, PROBE_TEXTS, call
from deltaparse.analyzer.proof import conversations
from deltaparse.analyzer.proof.conversations import (
    BEFORE,
    PLAIN,
    PLAIN_THOUGHT,
    PROOF_TOOLS,
    SAID,
    SHORT,
    SOME,
    THOUGHT,
    TURNS,
    VALUES,
    Turn,
    tools_for,
    turns_in_doubt,
    turns_named_so,
    turns_without,
)


def test_labels_tell_turns_apart():
    assert len({turn.label for turn in TURNS}) == len(TURNS)
    assert {len(turn.calls) for turn in TURNS} == {0, 1, 2, 3}


def test_the_values_are_of_every_type_and_fit_their_schemas():
    (schema, other) = (tool["function"]["parameters"] for tool in PROOF_TOOLS)
    assert schema == other
    assert schema["type"] == "object"
    assert {tool["type"] for tool in PROOF_TOOLS} == {"function"}
    assert all(schema["properties"])
    jsonschema.validate(VALUES, schema)
    assert {part["type"] for part in schema["properties"].values()} == {
        *("string", "integer", "number", "boolean", "null", "array", "object")
    }
    for turn in TURNS:
        for made in turn.calls:
            jsonschema.validate(made["function"]["arguments"], schema)
            assert made["function"]["arguments"].keys() <= schema["properties"].keys()


def test_strings_resemble_other_types_and_have_edge_whitespace():
    texts = [value for value in VALUES.values() if isinstance(value, str)]
    assert {text[: len(text) - len(text.lstrip())] for text in texts} >= {"", "  ", "\n"}
    assert {text[len(text.rstrip()) :] for text in texts} >= {"", "\n", "\n\n"}
    assert SOME.items() <= VALUES.items()
    assert {"02134", "true", "null", ""} <= set(texts)
    assert sum(text[:1] in '["' and bool(json.loads(text)) for text in texts if text) == 2


def test_no_probe_but_the_functions_is_in_them():
    given = [made["function"]["arguments"] for turn in TURNS for made in turn.calls]
    document = json.dumps(given) + "".join(turn.content + turn.reasoning for turn in TURNS)
    assert not any(probe in document for probe in PROBE_TEXTS)


def test_turns_are_unchanged_without_conflicts():
    assert turns_without(["<tool_call>", "\n", ""]) == list(TURNS)


def test_texts_with_a_marker_are_replaced():
    content, _, call, *_ = turns_without(["`code`", " </i> "])
    assert content.content == PLAIN
    given = call.calls[0]["function"]["arguments"]
    assert VALUES.keys() - given.keys() == {"object"}
    assert call.calls[0]["function"]["name"] in FUNCTIONS


def test_labels_name_turns():
    assert all(turn.label for turn in TURNS)
    labels = {turn.label for turn in TURNS}
    named = {*conversations.FEW, *conversations.TWO, *conversations.AT_THE_END}
    assert named | {conversations.ALONE} <= labels
    assert {*conversations.TWO, *conversations.AT_THE_END} <= {*conversations.FEW}
    assert all(VALUES)


def test_lost_kinds_of_values_are_removed():
    for lost, kind in (("strings", str), ("numbers", (int, float))):
        for turn in turns_without([], [lost]):
            for made in turn.calls:
                given = made["function"]["arguments"]
                assert not [part for part in given.values() if isinstance(part, kind)]


def test_texts_contain_common_syntax_of_formats():
    for text in (SAID, SOME["text"], VALUES["object"]["key"]["text"]):
        assert {"<", ">", '"', "\\"} <= set(text)
    assert {"'", "`", "{", "}", "[", "]", "&", "\n"} <= set(SAID)
    assert {"<", "{", "[", "\n"} <= set(THOUGHT)
    assert {"<", "{", '"'} <= set(SHORT)
    assert "{%" in VALUES["code"]
    for text in (SAID, VALUES["uniCode"]):
        assert max(text) > "\uffff"
    assert {turn.content for turn in TURNS} == {"", SAID, SHORT}
    assert {turn.reasoning for turn in TURNS} == {"", THOUGHT}
    assert all(said["content"] for said in BEFORE)
    assert [said["role"] for said in BEFORE] == ["user", "assistant"]


def test_numbers_are_of_all_kinds_and_each_value_may_be_inside_of_another():
    assert int(float(VALUES["large"])) != VALUES["large"]
    assert VALUES["negative"] < 0
    assert "e" in json.dumps(VALUES["small"])
    assert (VALUES["yes"], VALUES["no"], VALUES["empty"]) == (True, False, "")
    assert SOME["list"][1:] == ["two", [3]]
    assert [*VALUES["object"]] == ["key", "on"]
    assert VALUES["object"]["on"] is True
    deep = VALUES["object"]["key"]
    assert deep == {"deep": [], "text": deep["text"], "none": None}


def test_replacement_texts_are_plain_words():
    for text in (PLAIN, PLAIN_THOUGHT):
        assert text.replace(",", "").replace(" ", "").isalpha()
    [content, thought, *_] = turns_without(["Second", "see"])
    assert (content.content, thought.reasoning) == (PLAIN, PLAIN_THOUGHT)
    [content, thought, *_] = turns_without(["see"])
    assert (content.content, thought.reasoning) == (SAID, PLAIN_THOUGHT)


def test_missing_content_has_the_requested_form():
    said = {turn.label: turn.said for turn in TURNS if turn.without}
    assert said == {"a call with null content": None, "a call without content": ABSENT}
    assert Turn("content", "words").said == "words"
    assert Turn("a call").said == ""


def test_labels_match_positions_and_streaming():
    assert [turn.label for turn in TURNS if turn.after_result] == [
        turn.label for turn in TURNS if turn.label.endswith(" after a result")
    ]
    assert [turn.label for turn in TURNS if turn.later] == [
        turn.label for turn in TURNS if turn.label.endswith(" in a later turn")
    ]
    for turn in TURNS:
        assert turn.streamed is not (turn.after_result or turn.later)


def test_calls_are_of_one_function_and_of_both():
    called = {turn.label: turn.calls for turn in TURNS}

    def names(label):
        return [made["function"]["name"] for made in called[label]]

    assert sorted(names("two calls")) == sorted(FUNCTIONS)
    assert len(set(names("the same function twice"))) == 1
    assert set(names("three calls")) == set(FUNCTIONS)
    first, second = called["the same function twice"]
    assert first["function"]["arguments"] != second["function"]["arguments"]


@pytest.mark.parametrize(
    ("lost", "left"),
    [
        ("strings", {"integer", "large", "negative", "float", "small", "yes", "no", "nothing"}),
        ("numbers", {"text", "empty", "padded", "code", "postcode", "uniCode"}),
        ("escapes", {"integer", "empty", "postcode", "said_true", "said_null", "uniCode", "yes"}),
    ],
)
def test_lost_kinds_are_removed_from_arguments(lost, left):
    [_, _, called, *_] = turns_without([], [lost])
    given = called.calls[0]["function"]["arguments"]
    assert left <= given.keys()
    assert given.keys() < VALUES.keys()
    for value in given.values():
        assert not (lost == "strings" and '"' in json.dumps(value))
        assert not (lost == "numbers" and not isinstance(value, str))
        assert not (lost == "escapes" and "\\" in json.dumps(value, ensure_ascii=False))


def test_markers_that_any_text_may_hold_are_put_into_texts():
    found = [*turns_in_doubt([" | ", "<b>", "<call>", "", "\n"], reasoning=False)]
    assert {turn.label.rpartition(" ")[2] for turn in found} == {"'|'", "'<b>'"}
    few, more, value, *others = found
    assert few.label.replace("<b>", "|") == others[0].label.replace("<b>", "|")
    for turn in (few, more):
        assert turn.label.startswith("content")
        assert "<b>" in turn.content
        assert "MARKER" not in turn.content
    assert more.content.count("<b>") == 2
    assert value.calls == (call(0, {"text": "a <b> b"}),)
    assert not any(turn.streamed for turn in found)
    assert not any(turn.reasoning for turn in found)
    thoughts = [turn for turn in turns_in_doubt(["|"], reasoning=True) if turn.reasoning]
    assert [turn.content for turn in thoughts] == [PLAIN] * 2
    assert [turn.reasoning for turn in thoughts] == [
        turn.content.replace("<b>", "|") for turn in (few, more)
    ]


def test_words_and_fences_that_are_markers_are_put_into_texts():
    found = [*turns_in_doubt(["\nAction: ", "```json\n", "</call>"], reasoning=True)]
    labels = [turn.label for turn in found]
    assert labels.count("content containing 'Action:'") == 2
    assert labels.count("reasoning containing 'Action:'") == 2
    assert labels.count("content containing '```json'") == 3
    assert not [label for label in labels if "</call>" in label]
    assert any("```json\n{" in turn.content for turn in found)
    assert labels.count("reasoning containing '```json'") == 3


def test_a_tool_has_the_type_of_each_argument():
    function = {
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "null"}},
        }
    }
    assert conversations._tools({"a": 1, "b": None}) == [
        {"type": "function", "function": {"name": name, **function}} for name in FUNCTIONS
    ]


def test_tools_of_a_turn_have_all_its_names():
    for given in ({}, {"text": "a"}, conversations.KNOWN):
        assert tools_for(Turn("", calls=(call(0, given),))) is PROOF_TOOLS
    (schema, _) = (
        tool["function"]["parameters"]["properties"]
        for tool in tools_for(Turn("", calls=(call(0, {"invoke": "a"}),)))
    )
    assert schema.keys() == {*conversations.KNOWN, "invoke"}


def test_tagged_arguments_are_named_after_markers():
    tools = {"format": ToolFormat.TAG_WITH_TAGGED, "section_start": "<calls 2>"}
    fmt = WireFormat().replace(
        tools=tools,
        function={"name_prefix": "<invoke name=", "name_suffix": ">", "close": "</invoke>"},
        arguments={"name_prefix": "<p ", "name_suffix": ">", "value_suffix": "</p>"},
    )
    (turn,) = turns_named_so(fmt)
    (made,) = turn.calls
    assert made["function"]["arguments"].keys() == {"calls", "invoke", "name"}
    assert (turn.label, turn.streamed) == (conversations.NAMED_AS_MARKERS, False)
    assert list(turns_named_so(get_format("hermes"))) == []


def test_texts_in_doubt_contain_the_placeholder():
    for text in (*conversations.IN_DOUBT, *conversations.IN_A_LINE, conversations.IN_FENCE):
        assert "MARKER" in text
    assert all(text.replace(" ", "").isalpha() for text in conversations.IN_A_LINE)


@pytest.mark.parametrize(
    ("marker", "texts"),
    [
        ("<call>", ()),
        ("--", conversations.IN_DOUBT),
        ("So, I act:", conversations.IN_A_LINE),
        ("```", (*conversations.IN_DOUBT, conversations.IN_FENCE)),
        ("</i>", conversations.IN_DOUBT),
    ],
)
@pytest.mark.parametrize("reasoning", [False, True])
def test_turns_in_doubt_contain_the_marker(marker, texts, reasoning):
    turns = list(turns_in_doubt([f" {marker}\n", ""], reasoning=reasoning))
    words = [text.replace("MARKER", marker) for text in texts]
    assert [turn.content for turn in turns if not turn.reasoning and not turn.calls] == words
    assert [turn.reasoning for turn in turns if turn.reasoning] == (words if reasoning else [])
    assert len([turn for turn in turns if turn.calls]) == bool(texts)
    assert all(turn.in_doubt and not turn.streamed for turn in turns)
