"""Tests that parser and grammar agree: permitted turns parse as the request asks.

They cover all format families and all options of a request: permitted and required functions, their
number, strictness, a content schema, and a budget of reasoning. Turns are sampled from the rules,
and from installed engines. Calls are valid if `not_expressed` is empty, and turns are never broken.
"""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from deltaparse import ReasoningMode, UsageError, gbnf

from ..strategies.typed_calls import SCHEMA, key_sets, tools_of
from ..strategies.wire_families import FAMILIES
from ..strategies.wire_parts import markers_of
from ..stream.invariants import in_families
from .llama_machine import Llama, llama
from .machines import Lark, Sampler, Tag, llguidance, xgrammar
from .reading_back import read

NAMES = ("get_weather", "f")
NAMED = {"type": "function", "function": {"name": NAMES[0]}}
ALLOWED = {"type": "allowed_tools", "mode": "auto", "tools": [NAMED]}
CHOICES = {
    "none": set(),
    "auto": {*NAMES},
    "required": {*NAMES},
    "named": {NAMES[0]},
    "allowed": {NAMES[0]},
    "one of the allowed": {NAMES[0]},
}
ASKED = {"named": NAMED, "allowed": ALLOWED, "one of the allowed": {**ALLOWED, "mode": "required"}}
MUST = ("required", "named", "one of the allowed")
ANSWER = {"type": "object", "properties": {"zq": {"type": "integer"}}, "required": ["zq"]}
HINTS = {"lost_marker", "unknown_tool"}
"""Issues of content that resembles a call."""
STRICT = st.sampled_from([{}, {"strict": True}, {"strict": False}])


@st.composite
def requests(draw):
    """Return the tools of a request, a description of the permitted ones, and other options."""
    keys = draw(key_sets([key for key in SCHEMA["properties"] if " " not in key]))
    tools = tools_of(*NAMES, keys=keys)
    for tool in tools:
        tool["function"] |= draw(STRICT)
    more = {
        "parallel_tool_calls": draw(st.booleans()),
        "response_schema": draw(st.none() | st.just(ANSWER)),
        "spacing": draw(st.sampled_from(["flexible", "compact", "dumps"])),
        "reasoning_budget": draw(st.none() | st.just(5)),
    }
    return tools, draw(st.sampled_from(sorted(CHOICES))), more


def grammar_of(fmt, tools, choice, more, **options):
    try:
        return gbnf(fmt, tools, tool_choice=ASKED.get(choice, choice), **more, **options)
    except UsageError as error:
        assume("cannot be written" not in str(error))
        assume("no tool-call syntax" not in str(error))
        assume("no closing marker" not in str(error))
        raise


def check(fmt, request, grammar, text):
    """Check that a turn parses as the request asks."""
    tools, choice, more = request
    asked = {key: more[key] for key in ("parallel_tool_calls", "response_schema")}
    options = {"tool_choice": ASKED.get(choice, choice), **asked}
    message, issues = read(fmt, tools, text, **options)
    assert read(fmt, tools, text, whole=False, **options) == (message, issues)
    loose = {tool["function"]["name"] for tool in tools if tool["function"].get("strict") is False}
    # A string may quote a part of a call. The parser reports it, and the call may be incomplete.
    quotes = "ambiguous_marker" in {issue.kind for issue in issues}
    for issue in issues:
        if issue.kind in HINTS:
            assert not message.tool_calls
            continue
        if issue.kind == "ambiguous_marker":
            continue  # ambiguous, but the result is checked below
        # Arguments without an enforced schema may have other types, and may be broken JSON.
        assert issue.kind in ("repaired_arguments", "malformed_arguments")
        assert quotes or any(repr(name) in issue.detail for name in loose)
    calls = message.tool_calls
    assert {call.name for call in calls} <= CHOICES[choice]
    if not quotes:
        assert all(call.complete for call in calls if call.name not in loose)
    assert calls or choice not in MUST
    assert len(calls) <= 1 or more["parallel_tool_calls"]
    if more["response_schema"] is not None and not calls:
        assert type(json.loads(message.content)["zq"]) is int
    schemas = {tool["function"]["name"]: tool["function"].get("parameters") for tool in tools}
    said = {one.path.partition("#")[0] for one in grammar.not_expressed}
    for call in calls:
        if call.name not in said and (call.complete or not quotes):
            schema = schemas[call.name] or {"properties": {}, "additionalProperties": False}
            Draft202012Validator(schema).validate(json.loads(call.arguments))


@in_families()
@given(data=st.data(), request=requests(), seed=st.integers(0, 2**16))
def test_eager_grammar_samples_parse_as_requested(family, data, request, seed):
    fmt, _ = data.draw(family.texts)
    grammar = grammar_of(fmt, *request, lazy=False)
    assume(grammar.rules is not None)
    check(fmt, request, grammar, Sampler(grammar.rules).text(random.Random(seed)))


@in_families()
@given(data=st.data(), request=requests(), seed=st.integers(0, 2**16))
def test_lazy_grammar_samples_parse_as_requested(family, data, request, seed):
    fmt, _ = data.draw(family.texts)
    tools, choice, more = request
    more = {**more, "response_schema": None}
    assume(choice in ("auto", "allowed"))
    grammar = grammar_of(fmt, tools, choice, more)
    assume(grammar.rules is not None)
    text = Sampler(grammar.rules).text(random.Random(seed))
    start, end = fmt.reasoning.start.strip(), fmt.reasoning.end.strip()
    so_far = fmt.derived.turn_so_far()
    reasons = fmt.reasoning.mode is not ReasoningMode.NONE and not fmt.channels.message
    if reasons and end not in so_far:
        text = (start if start not in so_far else "") + fmt.reasoning.end + text
    check(fmt, (tools, "required" if choice == "auto" else "named", more), grammar, text)


ENGINES = {
    "llguidance": (llguidance, lambda grammar: Lark(grammar.rules)),
    "xgrammar": (xgrammar, lambda grammar: Tag(grammar.as_tag())),
    "llama.cpp": (llama, lambda grammar: Llama(grammar.text)),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@settings(max_examples=8)
@given(data=st.data(), request=requests(), seed=st.integers(0, 2**16))
def test_engine_samples_parse_as_requested(family, engine, data, request, seed):
    installed, engine_of = ENGINES[engine]
    if installed() is None:
        pytest.skip(f"{engine} is not installed")
    fmt, _ = data.draw(family.texts)
    grammar = grammar_of(fmt, *request, lazy=False)
    assume(grammar.rules is not None)
    text = engine_of(grammar).sampled(random.Random(seed))
    assume(text is not None)
    check(fmt, request, grammar, text)


@pytest.mark.skipif(llguidance() is None, reason="llguidance is not installed")
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@settings(max_examples=8)
@given(data=st.data(), request=requests(), seed=st.integers(0, 2**16))
def test_engines_accept_samples_of_the_rules(family, data, request, seed):
    fmt, _ = data.draw(family.texts)
    grammar = grammar_of(fmt, *request, lazy=False)
    assume(grammar.rules is not None)
    whole = Sampler(grammar.rules).text(random.Random(seed))
    takes = [of(grammar).accepts for installed, of in ENGINES.values() if installed()]
    assert all(take(whole) for take in takes)


def changed(random, text, parts):
    """Return a turn with a part removed, inserted or repeated, and therefore usually broken."""
    low, high = sorted(random.randrange(len(text) + 1) for _ in range(2))
    high = min(high, low + random.choice([0, 0, 1, 3, 30]))
    piece = random.choice([*parts, text[low:high] * 2, ""])
    return text[:low] + piece + text[high:]


@pytest.mark.costly
@pytest.mark.skipif(llguidance() is None, reason="llguidance is not installed")
@in_families()
@given(data=st.data(), request=requests(), seed=st.integers(0, 2**16))
def test_grammar_rejects_broken_turns(family, data, request, seed):
    fmt, _ = data.draw(family.texts)
    grammar = grammar_of(fmt, *request, lazy=False)
    assume(grammar.rules is not None)
    drawn, sampler, takes = random.Random(seed), Sampler(grammar.rules), Lark(grammar.rules).accepts
    parts = [*markers_of(fmt), *"{}[]()\"',:\n 1x", "null", "true"]
    for _ in range(5):
        whole = sampler.text(drawn)
        for _ in range(8):
            text = changed(drawn, whole, parts)
            if takes(text):
                check(fmt, request, grammar, text)
