"""Differences: each fault that a server can make has its class and place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse.replay import CLASSES, Call, Made, difference, read_expected

from .records import ASKED, REPLAYER, openai, record

RIGHT = REPLAYER(record())["message"]


def judged(**changes):
    """Return the class and the place for a server's message with changed fields."""
    message = {name: value for name, value in (RIGHT | changes).items() if value is not ...}
    result = REPLAYER(record(expected=message))
    return result["class"], result.get("difference", {}).get("path")


WEATHER, CLOCK = openai("weather", '{"city": "Paris"}'), openai("clock", '{"city": "Oslo"}')
BOTH = [WEATHER, CLOCK]


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, ("same", None)),
        ({"tool_calls": [dict(one, id="other") for one in BOTH]}, ("same", None)),
        ({"content": "Let me  see."}, ("whitespace", "content")),
        (
            {"tool_calls": [openai("weather", '{"city":"Paris"}'), CLOCK]},
            ("whitespace", "tool_calls[0].function.arguments"),
        ),
        (
            {"content": "She asks twice. Let me see.", "reasoning_content": ...},
            ("merge", "reasoning_content"),
        ),
        ({"content": "see. Let me"}, ("order", "content")),
        ({"tool_calls": [CLOCK, WEATHER]}, ("order", "tool_calls[0]")),
        ({"content": "Let me see.<tool_call>"}, ("leak", "content")),
        ({"content": "<|x|>Let me see.</think>"}, ("leak", "content")),
        (
            {"content": "<think>She asks twice.</think>Let me see.", "reasoning_content": ...},
            ("leak", "reasoning_content"),
        ),
        ({"content": "Let me"}, ("loss", "content")),
        ({"content": None}, ("loss", "content")),
        ({"reasoning_content": ...}, ("loss", "reasoning_content")),
        (
            {"tool_calls": [WEATHER, openai("clock", '{"city": "Rome"}')]},
            ("arguments", "tool_calls[1].function.arguments"),
        ),
        (
            {"tool_calls": [WEATHER, openai("clock", "")]},
            ("arguments", "tool_calls[1].function.arguments"),
        ),
        ({"tool_calls": [WEATHER]}, ("call_lost", "tool_calls[1]")),
        ({"tool_calls": ...}, ("call_lost", "tool_calls[1]")),
        ({"tool_calls": [*BOTH, openai("weather", "{}")]}, ("call_invented", "tool_calls[2]")),
        ({"tool_calls": [WEATHER, openai("clocks", "{}")]}, ("call_invented", "tool_calls[1]")),
    ],
)
def test_each_fault_has_its_class_and_place(changes, found):
    assert judged(**changes) == found


def named(made, name):
    return next(call for call in made.calls if call.name == name)


def merged(made):
    made.content, made.reasoning = f"{made.reasoning} {made.content}", ""


def reordered(made):
    made.content = " ".join(made.content.split()[::-1])
    made.calls.reverse()


FAULTS = {
    "call_invented": lambda made: made.calls.append(Call("never", "{}")),
    "call_lost": lambda made: made.calls.remove(Call("f0", '{"a": 0}')),
    "arguments": lambda made: setattr(named(made, "f2"), "arguments", '{"city": "nowhere"}'),
    "loss": lambda made: setattr(made, "content", made.content.replace("unlike", "")),
    "leak": lambda made: setattr(made, "content", f"<|{made.content}|>"),
    "order": reordered,
    "merge": merged,
    "whitespace": lambda made: setattr(made, "reasoning", f" {made.reasoning}\n"),
}
"""Faults of a server, the most severe first."""

MIRRORED = {
    "call_invented": "call_lost",
    "call_lost": "call_invented",
    "loss": "leak",
    "leak": "loss",
}
"""Classes that differ after swapping the messages."""


def message():
    calls = [Call(f"f{at}", f'{{"a": {at}}}') for at in range(3)]
    return Made("some unlike words", "thought of it", calls)


def test_the_faults_are_the_classes_in_their_order():
    assert (*reversed(FAULTS), "same") == (*CLASSES[1:], "same")


@pytest.mark.parametrize("fault", FAULTS)
def test_each_class_of_difference(fault):
    """`expected` is the server's message: missing calls are lost, extra calls are invented."""
    made = message()
    FAULTS[fault](made)
    assert difference(message(), made).kind == fault
    assert difference(made, message()).kind == MIRRORED.get(fault, fault)


@given(st.sets(st.sampled_from(list(FAULTS)), min_size=1), st.permutations(list(FAULTS)))
def test_the_gravest_of_several_faults_counts(faults, order):
    made = message()
    for fault in order:
        if fault in faults:
            FAULTS[fault](made)
    assert difference(message(), made).kind == min(faults, key=list(FAULTS).index)


TEXTS = st.text("ab<> \n", max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xy"), inner),
    max_leaves=4,
)
CALLS = st.builds(Call, st.sampled_from("fg"), VALUES.map(json.dumps) | st.sampled_from(["", "{"]))
MADE = st.builds(Made, TEXTS, TEXTS, st.lists(CALLS, max_size=3))


@given(MADE)
def test_a_message_is_the_same_as_itself(made):
    assert difference(made, made).kind == "same"


@given(MADE, MADE)
def test_any_two_messages_have_a_class(one, two):
    found = difference(one, two)
    assert found.kind in CLASSES
    assert (found.kind == "same") == (one == two)


@given(MADE, MADE)
def test_swapped_messages_swap_lost_and_invented_calls(one, two):
    pair = {difference(one, two).kind, difference(two, one).kind}
    assert len(pair) == 1 or pair <= {"call_invented", "call_lost"} or pair == {"loss", "leak"}


@pytest.mark.parametrize(
    ("one", "two", "kind"),
    [
        ('{"a": 1, "b": [true]}', '{"b":[true],"a":1}', "whitespace"),
        ('{"a": "é"}', '{"a": "\\u00e9"}', "whitespace"),
        ('{"a": 1.0}', '{"a": 1}', "whitespace"),
        ('{"a": 9007199254740993.1}', '{"a": 9007199254740994}', "arguments"),
        ('{"a": 1}', '{"a": true}', "arguments"),
        ('{"a": "1"}', '{"a": 1}', "arguments"),
        ('{"a": NaN}', '{"a":NaN}', "whitespace"),
        ('{"a": "x', '{"a": "x"}', "arguments"),
    ],
)
def test_arguments_are_compared_as_values(one, two, kind):
    assert difference(Made(calls=[Call("f", one)]), Made(calls=[Call("f", two)])).kind == kind


def test_arguments_that_a_log_has_as_a_value_have_no_spelling():
    assert difference(Made(calls=[Call("f", '{"a":  1}')]), Made(calls=[Call("f", {"a": 1})])) == (
        difference(Made(), Made())
    )


def test_the_call_whose_arguments_are_wrong_is_blamed():
    ours = [Call("f", f'{{"a": {at}}}') for at in (1, 2, 3)]
    theirs = [Call("f", f'{{"a": {at}}}') for at in (1, 9, 3)]
    found = difference(Made(calls=ours), Made(calls=theirs))
    assert (found.path, found.replayed, found.expected) == (
        "tool_calls[1].function.arguments",
        "2}",
        "9}",
    )


def chunk(**delta):
    return {"choices": [{"index": 0, "delta": delta}]}


def part(index, **function):
    return {"tool_calls": [{"index": index, "function": function}]}


def test_chunks_are_added_up():
    chunks = [
        chunk(role="assistant", content=""),
        chunk(reasoning_content="She asks"),
        chunk(reasoning_content=" twice."),
        chunk(content="Let me see."),
        chunk(**part(0, name="weather", arguments="")),
        chunk(**part(0, arguments='{"city": "Paris"}')),
        chunk(**part(1, name="clock", arguments='{"city": "Oslo"}')),
        chunk(),
        {"choices": []},
    ]
    assert REPLAYER(record(expected=chunks))["class"] == "same"
    swapped = [*chunks[4:7], *chunks[:4]]
    assert REPLAYER(record(expected=swapped))["class"] == "order"
    assert REPLAYER(record(expected={"choices": [{"message": RIGHT}]}))["class"] == "same"


def test_parts_that_became_one_are_a_merge():
    texts = f"One.\n{ASKED}\nTwo."
    calls = [chunk(**part(0, name="weather", arguments='{"city": "Paris"}'))]
    calls += [chunk(**part(1, name="clock", arguments='{"city": "Oslo"}'))]
    apart = [chunk(content="One."), *calls, chunk(content="Two.")]
    assert REPLAYER(record(text=texts, expected=apart))["class"] in ("same", "whitespace")
    joined = [chunk(content="One.\nTwo."), *calls]
    assert REPLAYER(record(text=texts, expected=joined))["class"] == "merge"


@pytest.mark.parametrize(
    "expected",
    [
        5,
        {"tool_calls": 5},
        {"tool_calls": [5]},
        {"content": 5},
        [5],
        [{"choices": 5}],
        [chunk(tool_calls=[5])],
        [chunk(tool_calls=[{"index": "x"}])],
        [chunk(tool_calls=5)],
    ],
)
def test_invalid_expected_message_is_an_error(expected):
    assert "error" in REPLAYER(record(expected=expected))


def test_other_shapes_of_messages():
    parts = [{"type": "text", "text": "Hi"}, {"type": "image"}, "!"]
    assert read_expected({"content": parts, "reasoning": "why"}) == Made("Hi!", "why")
    old = {"content": None, "function_call": {"name": "f", "arguments": "{}"}}
    assert read_expected(old).calls == [Call("f", "{}")]
    flat = {"tool_calls": [{"id": "1", "function": "f", "arguments": {"a": 1}}]}
    assert read_expected(flat).calls == [Call("f", {"a": 1})]
