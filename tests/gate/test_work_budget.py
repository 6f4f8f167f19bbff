"""The work for one response is limited, and linear in the arguments for usual schemas."""

from __future__ import annotations

import json
from contextlib import contextmanager
from threading import Thread

import pytest
import regex

from deltaparse import UsageError
from deltaparse.gate import ToolGate, validation, work_budget

from ..strategies.gate_samples import tag, tool

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"


@pytest.fixture
def taken(monkeypatch):
    """Record the steps of each decision."""
    counted = []

    @contextmanager
    def counting():
        with work_budget.counting() as found:
            yield found
        counted.append(found.taken)

    monkeypatch.setattr(validation, "counting", counting)
    return counted


def operation(name, first):
    members = {"op": {"const": name}, "x": {"$ref": "#/$defs/e"}}
    members = {key: members[key] for key in (("op", "x") if first else ("x", "op"))}
    closed = {"required": ["op", "x"], "additionalProperties": False}
    return {"type": "object", "properties": members, **closed}


def union(keyword, first):
    parts = [operation("not", first), operation("neg", first), {"type": "string"}]
    return {"properties": {"e": {"$ref": "#/$defs/e"}}, "$defs": {"e": {keyword: parts}}}


UNEVALUATED = {"allOf": [{"properties": {"e": {"$ref": "#/$defs/e"}}}]}
BRANCHING = {"if": {"properties": {"e": {"$ref": "#/$defs/e"}}}, "then": {"required": ["e"]}}
SELF = {
    **{f"{key} {first}": union(key, first) for key in ("anyOf", "oneOf") for first in (0, 1)},
    "unevaluatedProperties": {
        "$ref": "#/$defs/e",
        "$defs": {"e": {**UNEVALUATED, "unevaluatedProperties": False}},
    },
    "if": {"$ref": "#/$defs/e", "$defs": {"e": {"type": ["object", "string"], **BRANCHING}}},
    "not": {"properties": {"e": {"$ref": "#/$defs/e"}}, "$defs": {"e": {"not": UNEVALUATED}}},
    "unevaluatedItems": {
        "properties": {"e": {"$ref": "#/$defs/e"}},
        "$defs": {
            "e": {"allOf": [{"prefixItems": [{"$ref": "#/$defs/e"}]}], "unevaluatedItems": False}
        },
    },
}


def nested(kind, leaf, depth):
    """Return arguments nested to a depth."""
    value = leaf
    for _ in range(depth):
        if kind == "unevaluatedItems":
            value = [value]
        else:
            value = {"op": "neg", "x": value} if kind[:5] in ("anyOf", "oneOf") else {"e": value}
    return json.dumps(value if kind in ("unevaluatedProperties", "if") else {"e": value})


@pytest.mark.parametrize("dialect", [None, DRAFT_2019, DRAFT_7])
@pytest.mark.parametrize("leaf", ["v", 1])
@pytest.mark.parametrize("kind", SELF)
def test_recursive_schema_takes_steps_linear_in_the_depth(kind, leaf, dialect, taken):
    gate = ToolGate([tool("f", {**SELF[kind], **({"$schema": dialect} if dialect else {})})])
    decisions = [gate.decide(tag(nested(kind, leaf, depth), "f")) for depth in (10, 20, 30)]
    assert {decision.reason for decision in decisions} <= {None, "schema"}
    assert len({decision.reason for decision in decisions}) == 1
    first, second, third = taken
    assert third - second == second - first < 500


def test_deep_arguments_match_one_of_many_alternatives():
    gate = ToolGate([tool("f", union("anyOf", 0))])
    assert gate.decide(tag(nested("anyOf 0", "v", 31), "f")).executable
    assert gate.decide(tag(nested("anyOf 0", 1, 31), "f")).reason == "schema"


def test_cached_errors_keep_their_places():
    part = {"properties": {"a": {"type": "integer"}}}
    schema = {"anyOf": [{"$ref": "#/$defs/p"}, True], "allOf": [{"$ref": "#/$defs/p"}]}
    gate = ToolGate([tool("f", {**schema, "$defs": {"p": part}})])
    decision = gate.decide(tag('{"a": "x"}', "f"))
    assert decision.detail == 'at $.a: violates "type": "integer"'
    # Equal values have different places.
    gate = ToolGate([tool("f", {"properties": {key: {"type": "integer"} for key in "abc"}})])
    for place in "abc":
        arguments = {key: "x" if key == place else 1 for key in "abc"}
        assert gate.decide(tag(json.dumps(arguments), "f")).detail.startswith(f"at $.{place}:")


DYNAMIC = {
    "$ref": "#/$defs/list",
    "$defs": {
        "list": {
            "properties": {"one": {"$dynamicRef": "#T"}, "next": {"$ref": "#/$defs/list"}},
            "$defs": {"any": {"$dynamicAnchor": "T", "type": "integer"}},
        }
    },
}


def test_dynamic_references_are_not_cached():
    whole = {"$id": "https://x.example/l", **DYNAMIC}
    text = {"$id": "t", "$defs": {"any": {"$dynamicAnchor": "T", "type": "string"}}, "$ref": "l"}
    schema = {
        "$id": "https://x.example/r",
        "properties": {"a": {"$ref": "l"}, "b": {"$ref": "t"}},
        "$defs": {"l": whole, "t": text},
    }
    gate = ToolGate([tool("f", schema)])
    # One value, so that a cached result of one schema would be used for the other.
    assert gate.decide(tag('{"a": {"one": 1}, "b": {"one": "1"}}', "f")).executable
    for arguments in ('{"a": {"one": 1}, "b": {"one": 1}}', '{"a": {"one": ""}, "b": {"one": ""}}'):
        assert gate.decide(tag(arguments, "f")).reason == "schema"


def test_recursive_references_are_not_cached():
    member = {"$recursiveRef": "#"}
    one = {"$id": "https://x.example/l", "$recursiveAnchor": True, "properties": {"one": member}}
    strict = {"$recursiveAnchor": True, "$ref": "l", "additionalProperties": False, **one}
    strict["$id"] = "https://x.example/t"
    schema = {
        "$schema": DRAFT_2019,
        "properties": {"a": {"anyOf": [{"$ref": "#/$defs/t"}, {"$ref": "#/$defs/l"}]}},
        "$defs": {"l": one, "t": strict},
    }
    gate = ToolGate([tool("f", schema)])
    # The two schemas have different results for the inner member.
    assert gate.decide(tag('{"a": {"one": {"z": 1}}}', "f")).executable
    assert gate.decide(tag('{"a": {"one": 1}}', "f")).executable
    del schema["properties"]["a"]["anyOf"][1]
    gate = ToolGate([tool("f", schema)])
    assert gate.decide(tag('{"a": {"one": {"z": 1}}}', "f")).reason == "schema"


def test_search_for_known_arguments_is_limited(monkeypatch):
    # Each part occurs twice in the previous one.
    twice = {f"p{n}": {"allOf": [{"$ref": f"#/$defs/p{n + 1}"}] * 2} for n in range(10)}
    gate = ToolGate([tool("f", {"$ref": "#/$defs/p0", "$defs": {**twice, "p10": {}}})])
    assert gate.decide(tag("{}", "f")).executable
    monkeypatch.setattr(work_budget, "MAX_STEPS", 1000)
    assert "more than 1000 steps" in gate.decide(tag("{}", "f")).detail


def test_steps_are_discarded_after_a_response():
    with work_budget.counting():
        assert work_budget.found(regex.compile("a"), "a")
    with pytest.raises(LookupError):
        work_budget.found(regex.compile("a"), "a")


def test_limit_applies_to_all_calls_of_a_response(monkeypatch):
    gate = ToolGate([tool("f", {"properties": {"a": {"items": {"type": "integer"}}}})])
    text = tag(json.dumps({"a": [*range(100)]}), "f")
    monkeypatch.setattr(work_budget, "MAX_STEPS", 150)
    assert gate.decide(text).executable
    for _ in range(2):
        decision = gate.decide(text.replace("[0", "[-1") + text * 2 + tag("{}", "f"))
        assert decision.reason == "validator_error" or decision.executable
    monkeypatch.setattr(work_budget, "MAX_STEPS", 90)
    decision = gate.decide(text)
    assert (decision.reason, decision.calls) == ("validator_error", ())
    assert "more than 90 steps" in decision.detail
    # The next decision starts from zero.
    assert gate.decide(tag("{}", "f")).executable
    monkeypatch.setattr(work_budget, "MAX_STEPS", 1)
    with pytest.raises(UsageError, match="more than 1 steps"):
        ToolGate([tool("f", {"type": "object", "properties": {}, "minProperties": 0})])


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"type": "string", "pattern": "^(a|aa|b)+$"}}},
        {"patternProperties": {"^(a|aa|b)+$": {}}},
        {"additionalProperties": False, "patternProperties": {"^(a|aa|b)+$": {}}},
        {"allOf": [{"patternProperties": {"^(a|aa|b)+$": {}}}], "additionalProperties": True},
    ],
)
def test_catastrophic_pattern_is_stopped(schema, monkeypatch):
    monkeypatch.setattr(work_budget, "SECONDS", 0.02)
    gate = ToolGate([tool("f", schema)])
    key = "a" * 60 + "!"
    arguments = {"a": key} if "properties" in schema else {key: 1, f"{key}b": 2}
    decision = gate.decide(tag(json.dumps(arguments), "f"))
    assert (decision.reason, decision.calls) == ("validator_error", ())
    assert decision.detail == "the patterns of the schema take too long"
    assert gate.decide(tag('{"a": "aab"}', "f")).executable


def test_searches_share_the_time_limit(monkeypatch):
    found, times = work_budget.Steps(), []

    class Slow:
        def search(self, _text, timeout):
            times.append(timeout)

    clock = iter(range(100))
    monkeypatch.setattr(work_budget.time, "process_time", lambda: next(clock) / 4)
    for _ in range(5):
        assert found.found(Slow(), "") is False
    assert times == [1.0, 0.75, 0.5, 0.25, work_budget.LEAST]
    assert found.taken == 5


def test_threads_count_steps_separately():
    gate = ToolGate([tool("f", union("anyOf", 0))])
    text = tag(nested("anyOf 0", "v", 20), "f")
    decisions = []

    def decide():
        decisions.extend(gate.decide(text).executable for _ in range(20))

    threads = [Thread(target=decide) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert decisions == [True] * 80


def test_conditional_cycle_is_detected_without_overflow():
    # Deep in a stack, an overflow would happen in compiled code.
    circle = {"if": {"required": ["a"]}, "then": {"$ref": "#"}}
    gate = ToolGate([tool("f", {"properties": {"a": {}}, **circle})])
    assert gate.decide(tag("{}", "f")).executable
    decision = gate.decide(tag('{"a": 1}', "f"))
    assert decision.reason == "validator_error"
    assert "RecursionError" in decision.detail
