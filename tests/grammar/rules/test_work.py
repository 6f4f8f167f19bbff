"""Tests of work limits: work is proportional to the size of the schema."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaparse import UsageError, gbnf
from deltaparse.grammar.rules import work
from deltaparse.grammar.rules.work import counted_work, spend

from ...hangs import no_hang

STEPS_PER_CHARACTER = 20


def part(reference):
    """Return a schema with a reference, in one of the ways JSON Schema combines schemas."""
    others = [{"type": "integer"}, {"minLength": 1}, {"title": "x"}, True, {"type": ["string"]}]
    both = st.sampled_from(["allOf", "anyOf", "oneOf"]).flatmap(
        lambda key: st.lists(st.sampled_from([reference, *others]), min_size=1, max_size=3).map(
            lambda parts: {key: [reference, *parts]}
        )
    )
    inside = st.sampled_from(
        [
            {**reference, "title": "y"},
            {"not": reference},
            {"type": "object", "properties": {"a": reference, "b": reference}},
            {"properties": {"a": reference}, **reference},
            {"type": "array", "items": {"allOf": [reference, {"minItems": 1}]}},
            {"allOf": [reference, reference], "unevaluatedProperties": False},
        ]
    )
    return both | inside


@st.composite
def chains(draw):
    """Return definitions, each with several references to the previous one."""
    defs = {"d0": draw(st.sampled_from([{"type": "string"}, {"anyOf": [{}, {"type": "null"}]}]))}
    makers = draw(st.integers(1, 3))
    for i in range(1, draw(st.integers(20, 50))):
        reference = {"$ref": f"#/$defs/d{i - 1}"}
        defs[f"d{i}"] = draw(part(reference)) if i <= makers else _like(defs, i, makers)
    return {"$defs": defs, "$ref": f"#/$defs/d{len(defs) - 1}"}


def _like(defs, i, makers):
    """Return an earlier definition, with its references shifted."""
    text = json.dumps(defs[f"d{i - makers}"])
    return json.loads(text.replace(f"d{i - makers - 1}", f"d{i - 1}"))


@given(schema=chains(), fmt=st.sampled_from(["hermes", "qwen3_coder", "lfm2", "minimax_m3"]))
@settings(max_examples=60)
def test_chained_references_take_work_in_proportion_to_their_size(schema, fmt):
    tool = {"name": "f", "parameters": {"type": "object", "properties": {"a": {**schema}}}}
    tool["parameters"]["$defs"] = tool["parameters"]["properties"]["a"].pop("$defs")
    with no_hang(), counted_work() as done, suppress(UsageError):
        gbnf(fmt, [tool], response_schema=schema)
    assert done.steps <= STEPS_PER_CHARACTER * len(json.dumps(schema)) + 1_000


def chain(n, combine):
    defs = {"d0": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}
    for i in range(1, n + 1):
        defs[f"d{i}"] = combine({"$ref": f"#/$defs/d{i - 1}"})
    return {"$defs": defs, "$ref": f"#/$defs/d{n}"}


@pytest.mark.parametrize(
    "combine",
    [
        lambda ref: {"allOf": [ref, ref]},
        lambda ref: {"allOf": [ref, {**ref, "title": "x"}], "unevaluatedProperties": False},
        lambda ref: {"anyOf": [ref, {"allOf": [ref]}]},
        lambda ref: {"type": "object", "properties": {"a": {"allOf": [ref, {**ref, "title": ""}]}}},
    ],
)
def test_a_chain_of_twice_the_length_takes_twice_the_work(combine):
    steps = []
    for n in (10, 20):
        with no_hang(), counted_work() as done:
            gbnf("hermes", None, response_schema=chain(n, combine))
        steps.append(done.steps)
    assert steps[1] <= 3 * steps[0]


N = 3_000
NAMES = [f"v{i}" for i in range(N)]
BASE = {"b": {"type": "object", "properties": {name: {"type": "string"} for name in NAMES[:800]}}}
LARGE = {
    "references that are joined": {
        "$defs": BASE,
        "allOf": [{"$ref": "#/$defs/b", "minProperties": i} for i in range(800)],
    },
    "enums that are joined": {
        "$defs": {"e": {"enum": NAMES}},
        "allOf": [{"$ref": "#/$defs/e", "title": name} for name in NAMES],
    },
    "enums that are compared": {
        "oneOf": [{"enum": [f"{i}{name}" for name in NAMES[:800]]} for i in range(60)]
    },
    "patterns of names": {
        "type": "object",
        "properties": {"ab" * i + "c": {} for i in range(300)},
        "patternProperties": {f"^(a|b|ab|{i})*x{{0,900}}c$": {} for i in range(300)},
    },
    "patterns with a length": {
        "type": "object",
        "properties": {
            name: {"pattern": f"({name}|[a-c]|d[e-h]+){{2,60}}x", "maxLength": 90}
            for name in NAMES[:300]
        },
    },
    "patterns of optional parts": {"type": "string", "pattern": f"^({'a?b?' * 240})*$"},
    "counted repeats in counted repeats": {
        "type": "object",
        "propertyNames": {"pattern": "^((a|aa){0,900}b?){0,900}$"},
        "properties": {"ab" * 20 + name: {} for name in NAMES[:800]},
    },
}


@pytest.mark.parametrize("name", LARGE)
def test_a_schema_of_too_much_work_is_refused(monkeypatch, name):
    monkeypatch.setattr(work, "MAX_WORK", 20_000)
    with no_hang(), pytest.raises(UsageError, match=r"too much work|too large"):
        gbnf("hermes", None, response_schema=LARGE[name])


def test_long_keys_do_not_take_memory_for_each_value_below_them():
    schema = {"properties": {"k" * 500_000: {"enum": list(range(20_000))}}}
    with pytest.raises(UsageError, match="too large") as error:
        gbnf("hermes", None, response_schema=schema)
    assert len(str(error.value)) < 2_000


def test_enums_of_many_values_are_joined_in_linear_work():
    schema = {"allOf": [{"enum": NAMES}, {"enum": [*reversed(NAMES)]}]}
    with counted_work() as done:
        gbnf("hermes", None, response_schema=schema)
    assert done.steps < 12 * N


def test_nested_work_is_counted_in_the_outer_block():
    with counted_work() as outer:
        with counted_work() as inner:
            spend(3)
        spend(2)
    assert inner is outer
    assert outer.steps == 5


def test_too_much_work_is_an_error_with_a_pointer(monkeypatch):
    monkeypatch.setattr(work, "MAX_WORK", 10)
    with counted_work(), pytest.raises(UsageError, match="#/a: the schema takes too much work"):
        spend(11, "#/a")
    spend(11)
