"""The turns that prove a format."""

from __future__ import annotations

import json

import jsonschema

from deltaparse.analyzer.probes import FUNCTIONS, PROBE_TEXTS
from deltaparse.analyzer.proof import conversations
from deltaparse.analyzer.proof.conversations import (
    PLAIN,
    PROOF_TOOLS,
    SOME,
    TURNS,
    VALUES,
    turns_without,
)


def test_labels_tell_turns_apart():
    assert len({turn.label for turn in TURNS}) == len(TURNS)
    assert {len(turn.calls) for turn in TURNS} == {0, 1, 2, 3}


def test_the_values_are_of_every_type_and_fit_their_schemas():
    (schema, other) = (tool["function"]["parameters"] for tool in PROOF_TOOLS)
    assert schema == other
    jsonschema.validate(VALUES, schema)
    assert {part["type"] for part in schema["properties"].values()} == {
        *("string", "integer", "number", "boolean", "null", "array", "object")
    }
    for turn in TURNS:
        for made in turn.calls:
            jsonschema.validate(made["function"]["arguments"], schema)
            assert made["function"]["arguments"].keys() <= schema["properties"].keys()


def test_strings_look_like_other_values_and_have_white_space_at_their_edges():
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


def test_nothing_is_left_out_without_need():
    assert turns_without(["<tool_call>", "\n", ""]) == list(TURNS)


def test_what_has_a_marker_in_it_is_left_out():
    content, _, call, *_ = turns_without(["`code`", " </i> "])
    assert content.content == PLAIN
    given = call.calls[0]["function"]["arguments"]
    assert VALUES.keys() - given.keys() == {"object"}
    assert call.calls[0]["function"]["name"] in FUNCTIONS


def test_labels_name_turns():
    assert all(turn.label for turn in TURNS)
    labels = {turn.label for turn in TURNS}
    assert {*conversations.FEW, *conversations.TWO, *conversations.AT_THE_END} <= labels
    assert {*conversations.TWO, *conversations.AT_THE_END} <= {*conversations.FEW}
    assert all(VALUES)


def test_what_a_template_loses_is_left_out():
    for lost, kind in (("strings", str), ("numbers", (int, float))):
        for turn in turns_without([], [lost]):
            for made in turn.calls:
                given = made["function"]["arguments"]
                assert not [part for part in given.values() if isinstance(part, kind)]
