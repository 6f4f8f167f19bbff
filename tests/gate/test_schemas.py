"""Schemas: errors at construction, agreement with jsonschema, no fetching."""

from __future__ import annotations

import json
import socket
import sys
from types import SimpleNamespace

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import UsageError
from deltaparse.gate import ToolGate

from ..strategies.gate_samples import called, decided, reason, tag, tool

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, 0.5, "", "a"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=12,
)
DRAFT_3 = "http://json-schema.org/draft-03/schema#"
DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize(
    ("parameters", "place"),
    [
        ({"properties": {"a": {"type": "strin"}}}, "$.properties.a.type"),
        ({"properties": {"a": {"pattern": "("}}}, "$.properties.a.pattern"),
        ({"properties": {"a": {"pattern": 7}}}, "$.properties.a.pattern"),
        ({"required": "a"}, "$.required"),
        ({"type": "string"}, "$.type"),
        ({"type": ["array", "null"]}, "$.type"),
        ({"$schema": "https://example.org/dialect"}, r"$.$schema"),
        ({"$schema": 7}, "$.$schema: unknown dialect 7, use a draft"),
        ({"$schema": DRAFT_3, "type": "objects"}, "$: it cannot be applied"),
        ({"$ref": "https://example.org/schema.json"}, "https://example.org/schema.json"),
        (
            {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
            "unresolvable $ref 'file:///etc/passwd': references are never fetched, put",
        ),
        ({"properties": {"a": {"$ref": "#/$defs/none"}}}, "#/$defs/none"),
        ({"$defs": {"x": {"items": {"$dynamicRef": "#none"}}}}, "#none"),
        ({"$schema": DRAFT_2019, "items": {"$recursiveRef": "#none"}}, "#none"),
        ({"$ref": "#"}, "endlessly"),
        ({"unevaluatedProperties": False, "$ref": "#"}, "endlessly"),
        ({"allOf": [{"anyOf": [{"$ref": "#"}]}]}, "endlessly"),
        ({"not": {"$ref": "#"}, "$schema": DRAFT_7}, "endlessly"),
        ({"anyOf": [{}, {"$ref": "#"}], "$schema": DRAFT_7}, "endlessly"),
        ({"enum": [float("nan")]}, "not JSON"),
        ({"enum": [object()]}, "not JSON"),
        ([], "not list"),
        (True, "not bool"),
    ],
)
def test_invalid_schema_error_names_tool_and_place(parameters, place):
    with pytest.raises(UsageError) as raised:
        ToolGate([tool("fine"), tool("broken", parameters)])
    assert "tool 'broken'" in str(raised.value)
    assert place in str(raised.value)


def test_too_deep_schema_is_rejected():
    deep = {}
    for _ in range(900):
        deep = {"items": deep}
    with pytest.raises(UsageError, match="tool 'deep'"):
        ToolGate([tool("deep", deep)])


@pytest.mark.parametrize(
    ("tools", "says"),
    [
        ({}, "must be a list of tools"),
        ("search", "must be a list of tools"),
        ([1], "a tool must have"),
        ([{}], "a tool must have"),
        ([{"function": {"name": 1}}], "a tool must have"),
        ([{"name": "a b"}], "does not fit into a tag: use 1 to 128 characters"),
        ([{"name": 'a"b'}], "does not fit into a tag"),
        ([{"name": ""}], "a tool must have"),
        ([{"name": "a"}, {"name": "a", "parameters": {}}], "twice"),
    ],
)
def test_invalid_tools_are_rejected(tools, says):
    with pytest.raises(UsageError, match=says):
        ToolGate(tools)


def test_references_are_never_fetched(monkeypatch):
    def refuse(*_):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    # The check of references does not visit this place, but the reference leads to it.
    hidden = {
        "properties": {"a": {"$ref": "#/x-own/s"}},
        "x-own": {"s": {"$ref": "http://127.0.0.1:1/schema.json"}},
    }
    assert reason(tag('{"a": 1}', "f"), tools=[tool("f", hidden)]) == "validator_error"
    assert called(tag("{}", "f"), tools=[tool("f", hidden)]) == [{"name": "f", "arguments": {}}]


def test_references_within_the_schema_are_resolved():
    tree = {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "type": "object",
                "properties": {"next": {"$ref": "#/$defs/node"}, "n": {"type": "integer"}},
                "additionalProperties": False,
            }
        },
    }
    tools = [tool("f", tree)]
    assert decided(tag('{"n": 1, "next": {"n": 2}}', "f"), tools=tools).executable
    decision = decided(tag('{"next": {"n": "2"}}', "f"), tools=tools)
    assert decision.detail == 'at $.next.n: violates "type": "integer"'


def test_violation_of_a_false_schema_has_a_clear_detail():
    inner = {"properties": {"b": False}}
    tools = [tool("f", {"type": "object", "properties": {"a": False, "in": inner}})]
    for arguments, place in (('{"a": 1}', "$"), ('{"in": {"b": 1}}', "$.in")):
        decision = decided(tag(arguments, "f"), tools=tools)
        assert decision.reason == "schema"
        assert decision.detail == f"at {place} or below: violates false, which allows no value"


def test_missing_jsonschema_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(UsageError, match=r"pip install 'deltaparse\[gate\]'"):
        ToolGate([])


def test_tool_without_parameters_takes_no_arguments():
    object_or_null = tool("f", {"type": ["null", "object"]})
    none = ({"name": "f"}, {"name": "f", "parameters": None}, tool("f", {}), object_or_null)
    for description in none:
        assert decided(tag("{}", "f"), tools=[description]).executable
        assert reason(tag('{"a": 1}', "f"), tools=[description]) == "schema"


@pytest.mark.parametrize("dialect", [None, DRAFT_7, DRAFT_4])
def test_unknown_arguments_are_refused(dialect):
    named = {"type": "object", "properties": {"a": {}}, "patternProperties": {"^x-": {}}}
    if dialect:
        named["$schema"] = dialect

    def why(arguments, **more):
        return reason(tag(arguments, "f"), tools=[tool("f", {**named, **more})])

    assert why('{"a": 1, "x-b": 2}') is None
    assert why('{"a": 1, "b": 2}') == "schema"
    assert why('{"a": 1, "b": 2}', additionalProperties=True) is None
    assert why('{"a": 1, "b": 2}', additionalProperties={"type": "string"}) == "schema"
    assert why('{"b": 2}', allOf=[{"properties": {"b": {}}}]) is None
    assert why('{"c": 2}', allOf=[{"properties": {"b": {}}}]) == "schema"
    # Keywords unknown to draft 7 do not make arguments known.
    assert why('{"b": 2}', unevaluatedProperties=False) == "schema"


ORACLE = st.recursive(
    st.sampled_from(
        [
            {},
            {"properties": {"a": {"type": "integer"}}},
            {"properties": {"b": {}}, "required": ["b"]},
            {"patternProperties": {"^c": {"type": "string"}}},
            {"additionalProperties": True},
            {"properties": {"a": {}}, "additionalProperties": False},
            {"additionalProperties": {"type": "integer"}},
            {"required": ["a"]},
            {"$ref": "#/$defs/a"},
            {"$ref": "#/$defs/b"},
        ]
    ),
    lambda inner: (
        st.builds(
            lambda keyword, parts, more: {keyword: parts, "properties": more},
            st.sampled_from(["allOf", "anyOf", "oneOf"]),
            st.lists(inner, min_size=1, max_size=3),
            st.sampled_from([{}, {"d": {}}]),
        )
        | st.builds(
            lambda *parts: dict(zip(("if", "then", "else"), parts, strict=True)),
            inner,
            inner,
            inner,
        )
    ),
    max_leaves=5,
)
DEFS = {"a": {"properties": {"a": {}, "d": {}}}, "b": {"allOf": [{"properties": {"b": {}}}]}}


@given(
    ORACLE,
    st.dictionaries(st.sampled_from(["a", "b", "c", "d", "z"]), st.integers(0, 1) | st.just("")),
)
def test_drafts_7_and_2020_12_know_the_same_arguments(schema, arguments):
    whole = {**schema, "$defs": DEFS}
    reasons = [
        reason(tag(json.dumps(arguments), "f"), tools=[tool("f", {**whole, "$schema": dialect})])
        for dialect in (DRAFT_7, DRAFT_2020)
    ]
    assert reasons[0] == reasons[1]


@given(
    ORACLE,
    st.sampled_from([{}, {"unevaluatedProperties": {"type": "integer"}}]),
    st.dictionaries(st.sampled_from(["a", "b", "c", "d", "z"]), st.integers(0, 1) | st.just("")),
)
def test_known_arguments_equal_those_evaluated_by_jsonschema(schema, rest, arguments):
    whole = {**schema, **rest, "$defs": DEFS}
    closed = {} if "additionalProperties" in whole else {"unevaluatedProperties": False}
    stock = jsonschema.Draft202012Validator({**closed, **whole})
    decision = decided(tag(json.dumps(arguments), "f"), tools=[tool("f", whole)])
    assert decision.executable is stock.is_valid(arguments)


A, B = {"properties": {"a": {}}}, {"properties": {"b": {}}}
OBJECT = {"type": "object"}
OTHER = {"$id": "https://x.example/o", **A, "$defs": {"part": {"$recursiveRef": "#"}}}


@pytest.mark.parametrize(
    ("dialects", "schema", "named", "unnamed"),
    [
        ("37", {"$ref": "#/definitions/f"}, '{"a": 1}', '{"a": 1, "b": 1}'),
        ("790", {"allOf": [{"$ref": "#/definitions/f"}]}, '{"a": 1}', '{"z": 1}'),
        # Siblings of a reference are ignored in older drafts only.
        ("7", {"$ref": "#/definitions/f", "additionalProperties": True}, '{"a": 1}', '{"b": 1}'),
        ("37", {"$ref": "#/definitions/f", **B}, "{}", '{"b": 1}'),
        ("90", {"$ref": "#/definitions/f", **B}, '{"a": 1, "b": 1}', '{"z": 1}'),
        ("790", {"if": {"required": ["a"]}, "then": A}, '{"a": 1}', '{"b": 1}'),
        ("790", {"if": {"required": ["a"]}, "else": B, **A}, '{"b": 1}', '{"a": 1, "b": 1}'),
        ("790", {"if": {"properties": {"a": {"const": 1}}}}, '{"a": 1}', '{"a": 2}'),
        ("37", {"dependencies": {"a": A}}, '{"a": 1}', '{"b": 1}'),
        ("37", {"dependencies": {"a": B}, **A}, '{"a": 1, "b": 1}', '{"b": 1}'),
        ("37", {"dependencies": {"a": ["b"]}, "allOf": [A, B]}, "{}", '{"a": 1}'),
        ("90", {"dependentSchemas": {"a": B}, **A}, '{"a": 1, "b": 1}', '{"b": 1}'),
        ("790", {"anyOf": [A, {"required": ["z"]}]}, '{"a": 1}', '{"z": 1}'),
        ("790", {"anyOf": [A, {**B, "required": ["c"]}]}, '{"a": 1}', '{"b": 1}'),
        ("790", {"oneOf": [A, {**B, "required": ["c"]}]}, '{"a": 1}', '{"b": 1}'),
        ("3", {"extends": A}, '{"a": 1}', '{"b": 1}'),
        ("3", {"extends": [A, B]}, '{"a": 1, "b": 1}', '{"z": 1}'),
        (
            "0",
            {"$dynamicRef": "#d", "$defs": {"d": {"$dynamicAnchor": "d", **A}}},
            '{"a": 1}',
            '{"b": 1}',
        ),
        (
            "9",
            {"$ref": "https://x.example/o#/$defs/part", "$defs": {"o": OTHER}},
            '{"a": 1}',
            '{"b": 1}',
        ),
        # Keywords unknown to the draft are ignored.
        ("790", {"extends": A}, "{}", '{"a": 1}'),
        ("34", {"if": {}, "then": A}, "{}", '{"a": 1}'),
        ("47", {"dependentSchemas": {"a": A}}, "{}", '{"a": 1}'),
        # Members of nested objects are not restricted by default.
        ("790", {"properties": {"a": {"$ref": "#"}}}, '{"a": {"z": 1}}', '{"z": 1}'),
        (
            "790",
            {"properties": {"a": {"not": {"$ref": "#"}}}, **OBJECT},
            '{"a": 1}',
            '{"a": {"z": 1}}',
        ),
        # Keywords for all remaining members.
        ("90", {"unevaluatedProperties": {"type": "string"}}, '{"z": ""}', '{"z": 1}'),
        ("90", {"allOf": [{"unevaluatedProperties": {"type": "string"}}]}, '{"z": ""}', '{"z": 1}'),
        (
            "90",
            {"additionalProperties": {"type": "string"}, "unevaluatedProperties": False},
            '{"z": ""}',
            '{"z": 1}',
        ),
    ],
)
def test_known_and_unknown_arguments_of_each_keyword(dialects, schema, named, unnamed):
    drafts = {"3": DRAFT_3, "4": DRAFT_4, "7": DRAFT_7, "9": DRAFT_2019, "0": DRAFT_2020}
    for draft in dialects:
        whole = {**schema, "$schema": drafts[draft], "definitions": {"f": A}}
        assert reason(tag(named, "f"), tools=[tool("f", whole)]) is None
        assert reason(tag(unnamed, "f"), tools=[tool("f", whole)]) == "schema"


@pytest.mark.parametrize("member", ["schema", "args", "json_schema", "parameter"])
def test_schema_under_a_wrong_key_is_rejected(member):
    for inside in (True, False):
        described = {"name": "f", "description": "d", member: {"type": "object"}}
        described = {"type": "function", "function": described} if inside else described
        with pytest.raises(UsageError, match=f"'f' has an unknown shape: .*not '{member}'"):
            ToolGate([described])
    fine = {"name": "f", "description": "d", "strict": True, "parameters": None, member: None}
    assert decided(tag("{}", "f"), tools=[fine]).executable


FIELDS = {"fields": {"required": ["a"]}}


@pytest.mark.parametrize(
    "described",
    [
        {"name": "f", **FIELDS},
        {"type": "function", "function": {"name": "f", **FIELDS}},
        {"type": "function", "function": {"name": "f"}, **FIELDS},
        {"type": "function", "function": {"name": "f"}, "parameters": {"required": ["a"]}},
    ],
)
def test_unknown_keys_of_a_tool_without_schema_are_rejected(described):
    member = "parameters" if "parameters" in described else "fields"
    with pytest.raises(
        UsageError, match=rf"'f' has unknown keys \['{member}'\]. Put the schema under"
    ):
        ToolGate([{"name": "g"}, described])


def test_descriptive_keys_are_not_a_schema():
    told = {"name": "f", "description": "d", "title": "F", "strict": True, "fields": None}
    beside = {"name": "g", "parameters": {}, **FIELDS}
    for described in (told, {"type": "function", "function": told}, SimpleNamespace(name="f")):
        assert decided(tag("{}", "f"), tools=[beside, described]).executable


def test_schema_is_applied_in_its_own_dialect():
    exclusive = {"properties": {"a": {"minimum": 1, "exclusiveMinimum": True}}}
    draft_4 = {"$schema": DRAFT_4, **exclusive}
    assert reason(tag('{"a": 1}', "f"), tools=[tool("f", draft_4)]) == "schema"
    with pytest.raises(UsageError, match="exclusiveMinimum"):
        ToolGate([tool("f", exclusive)])


def test_formats_are_asserted():
    tools = [tool("f", {"properties": {"on": {"format": "date"}, "ip": {"format": "ipv4"}}})]
    assert decided(tag('{"on": "2024-02-29", "ip": "1.2.3.4"}', "f"), tools=tools).executable
    assert reason(tag('{"on": "2023-02-29"}', "f"), tools=tools) == "schema"
    assert reason(tag('{"ip": "1.2.3.256"}', "f"), tools=tools) == "schema"


def test_failing_validator_refuses_the_call(monkeypatch):
    gate = ToolGate([tool("f")])

    def fail(*_):
        raise ZeroDivisionError

    tools = gate._validation.tools
    monkeypatch.setattr(tools["f"], "_validator", type("Broken", (), {"iter_errors": fail})())
    decision = gate.decide(tag("{}", "f"))
    assert (decision.reason, decision.calls) == ("validator_error", ())


def test_later_changes_of_a_schema_have_no_effect():
    parameters = {"type": "object", "properties": {"a": {"type": "string"}}}
    gate = ToolGate([tool("f", parameters)])
    parameters["properties"]["a"]["type"] = "integer"
    assert gate.decide(tag('{"a": "x"}', "f")).executable


def test_detail_contains_no_values_of_the_model():
    secret = "hunter2" * 100
    parameters = {
        "properties": {"a": {"enum": ["é" * 500]}},
        "additionalProperties": {"type": "null"},
    }
    for arguments in (f'{{"a": "{secret}"}}', f'{{"b": "{secret}"}}'):
        decision = decided(tag(arguments, "f"), tools=[tool("f", parameters)])
        assert decision.reason == "schema"
        assert "hunter2" not in decision.telemetry.schema_validation_reason
        assert len(decision.telemetry.schema_validation_reason) < 500
        assert ("ééé" in decision.detail) is ("a" in json.loads(arguments))
    # The name of an invented argument is a value of the model, too.
    for keyword in ("additionalProperties", "unevaluatedProperties"):
        decision = decided(tag('{"hunter2": 1}', "f"), tools=[tool("f", {keyword: False})])
        assert decision.detail == f'at $: violates "{keyword}": false'


@pytest.mark.parametrize(
    "part",
    [
        {"pattern": "b"},
        {"patternProperties": {"b": {"type": "integer"}}},
        {"properties": {"a": {}}, "additionalProperties": {"type": "integer"}},
        {"properties": {"a": {}}, "unevaluatedProperties": False},
        {"uniqueItems": True},
        {"uniqueItems": False},
        {"multipleOf": 2},
    ],
)
def test_keywords_agree_with_jsonschema(part):
    gate = ToolGate([tool("f", {"properties": {"a": part}})])
    stock = jsonschema.Draft202012Validator(part)
    lists = ([], ["b"], [1, 1], [1, True], [[1], [True]], [{"b": 1}, {"b": 1.0}], [{}, []])
    objects = ({}, {"b": 1}, {"b": ""}, {"a": ""}, {"z": ""}, {"z": 1})
    for value in (None, True, 1, 2, 1.5, "", "ab", *lists, *objects):
        decision = gate.decide(tag(json.dumps({"a": value}), "f"))
        assert decision.reason == (None if stock.is_valid(value) else "schema"), value


@given(st.lists(JSON, max_size=5))
def test_unique_items_agrees_with_jsonschema(items):
    schema = {"properties": {"a": {"uniqueItems": True}}}
    gate = ToolGate([tool("f", schema)])
    stock = jsonschema.Draft202012Validator(schema)
    ours = gate.decide(tag(json.dumps({"a": items}), "f")).executable
    assert ours is stock.is_valid({"a": items})


def test_unique_items_takes_linear_time():
    items = ",".join(f'{{"n":{n}}}' for n in range(5000))
    tools = [tool("f", {"properties": {"a": {"uniqueItems": True}, "b": {"uniqueItems": True}}})]
    assert decided(tag(f'{{"a":[{items}]}}', "f"), tools=tools).executable
    assert reason(tag('{"a": [{"b": 1}, {"b": 1.0}]}', "f"), tools=tools) == "schema"
    assert reason(tag('{"a": [1, true, "1", [1]], "b": 3}', "f"), tools=tools) is None


@given(st.integers(-(10**15), 10**15), st.integers(-4, 4), st.integers(1, 999), st.integers(-4, 4))
def test_multiple_of_is_exact_in_decimal(number, exponent, unit, unit_exp):
    schema = {"properties": {"a": {"multipleOf": json.loads(f"{unit}e{unit_exp}")}}}
    decision = decided(tag(f'{{"a": {number}e{exponent}}}', "f"), tools=[tool("f", schema)])
    # Both numbers are converted to the same small unit.
    assert decision.executable is (
        number * 10 ** (exponent + 4) % (unit * 10 ** (unit_exp + 4)) == 0
    )


@pytest.mark.parametrize("dialect", [None, DRAFT_7, DRAFT_3])
@pytest.mark.parametrize(
    ("unit", "multiples", "others"),
    [
        (0.01, ["0.07", "19.99", "1e308", "0", "-0.0", "9" * 400, '"x"'], ["0.075", "1e-3"]),
        (0.1, ["0.3", "1.1", "7"], ["0.25", "1e-300"]),
        (3, ["9" * 400, "9.0", "-3", "true", "[]"], ["1e300", "1.5", "1" * 401]),
        (0.5, ["9" * 400, "1e308", "2.5"], ["5e-324", "0.75"]),
        (5e-324, ["1e308", "5e-324", "1"], []),
        (1e308, ["1e308", "0"], ["5e-324", "1e307"]),
    ],
)
def test_multiple_of_extreme_numbers(unit, multiples, others, dialect):
    keyword = "divisibleBy" if dialect and "draft-03" in dialect else "multipleOf"
    schema = {"properties": {"a": {keyword: unit}}, **({"$schema": dialect} if dialect else {})}
    gate = ToolGate([tool("f", schema)])
    for number in multiples:
        assert gate.decide(tag(f'{{"a": {number}}}', "f")).executable, number
    for number in others:
        assert gate.decide(tag(f'{{"a": {number}}}', "f")).reason == "schema", number
