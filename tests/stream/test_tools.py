"""The tools of a request, read once: by the parser, the grammar, the gate and the servers."""

from __future__ import annotations

import copy
import json
import pickle
from types import MappingProxyType, SimpleNamespace
from unittest.mock import ANY

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deltaparse
from deltaparse import (
    ChatTemplate,
    StreamParser,
    ToolGate,
    Tools,
    UsageError,
    create_tool_parser,
    gbnf,
    get_format,
    iter_deltas,
    parse,
    structural_tag,
)
from deltaparse.stream.tools import AUTO, Choice, read_choice, read_tools

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
FUNCTION = {"name": "f", "parameters": SCHEMA}
TOOL = {"type": "function", "function": FUNCTION}
OTHER = {"type": "function", "function": {"name": "g", "parameters": SCHEMA}}
HERMES = get_format("hermes")
QWEN = get_format("qwen3_coder")
CALL = (
    "<tool_call>\n<function=f>\n<parameter=a>\n5\n</parameter>\n<parameter=b>\n5\n</parameter>\n"
    "</function>\n</tool_call>"
)


def schemas(tools):
    return dict(read_tools(tools).schemas)


# The shapes of tools: each project has its own fields for the name, description and schema.


def gemini(schema):
    """Convert a schema to Gemini's REST protocol."""
    written = {**schema, "type": schema["type"].upper()}
    if "properties" in schema:
        inner = schema["properties"]
        written["properties"] = {name: gemini(part) for name, part in inner.items()}
    if "items" in schema:
        written["items"] = gemini(schema["items"])
    return written


def gemini_dump(schema):
    """Convert a schema to a dump of the objects in Gemini's Python package."""
    inner = schema.get("properties") or {}
    return {
        "additional_properties": None,
        "any_of": None,
        "default": None,
        "enum": schema.get("enum"),
        "items": gemini_dump(schema["items"]) if "items" in schema else None,
        "min_items": str(schema["minItems"]) if "minItems" in schema else None,
        "nullable": None,
        "properties": {name: gemini_dump(part) for name, part in inner.items()} or None,
        "required": schema.get("required"),
        "type": schema["type"].upper(),
    }


def namespace(value):
    """Convert nested mappings to objects with attributes."""
    made = {key: namespace(part) if key == "function" else part for key, part in value.items()}
    return SimpleNamespace(**made)


def dumping(value):
    """Return an object with pydantic's `model_dump`."""
    return SimpleNamespace(model_dump=lambda: {"type": None, **value})


SHAPES = {
    "OpenAI": lambda name, schema: {
        "type": "function",
        "function": {"name": name, "description": "d", "parameters": schema, "strict": True},
    },
    "Responses": lambda name, schema: {"type": "function", "name": name, "parameters": schema},
    "a description": lambda name, schema: {"name": name, "parameters": schema},
    "Anthropic": lambda name, schema: {"name": name, "input_schema": schema},
    "Anthropic with a type": lambda name, schema: {
        "type": "custom",
        "name": name,
        "input_schema": schema,
    },
    "MCP": lambda name, schema: {
        "name": name,
        "inputSchema": schema,
        "outputSchema": {"type": "object", "properties": {"x": {"type": "string"}}},
        "annotations": {"readOnlyHint": True},
    },
    "Gemini": lambda name, schema: {
        "functionDeclarations": [{"name": name, "parameters": gemini(schema)}]
    },
    "Gemini with JSON Schema": lambda name, schema: {
        "functionDeclarations": [{"name": name, "parametersJsonSchema": schema}]
    },
    "Gemini's objects": lambda name, schema: dumping(
        {
            "function_declarations": [
                {"name": name, "parameters": gemini_dump(schema), "parameters_json_schema": None}
            ],
            "google_search": None,
        }
    ),
    "JSON text": lambda name, schema: {"name": name, "parameters": json.dumps(schema)},
    "must be 'object'": lambda name, schema: namespace(
        {"type": "function", "function": {"name": name, "parameters": schema}}
    ),
    "an object of MCP": lambda name, schema: SimpleNamespace(name=name, inputSchema=schema),
    "pydantic": lambda name, schema: dumping({"function": {"name": name, "parameters": schema}}),
    "pydantic inside": lambda name, schema: {"name": name, "parameters": dumping(schema)},
    "a class of pydantic": lambda name, schema: {
        "name": name,
        "parameters": type("F", (), {"model_json_schema": classmethod(lambda _: schema)}),
    },
    "read before": lambda name, schema: {
        "type": "function",
        "function": MappingProxyType({"name": name, "parameters": MappingProxyType(schema)}),
    },
}

NAMES = st.sampled_from(["a", "type", "nullable", "any_of", "items", "properties", "b_c"])
LEAVES = st.one_of(
    st.sampled_from(["integer", "number", "boolean", "string"]).map(lambda word: {"type": word}),
    st.just({"type": "string", "enum": ["STRING", "OBJECT", "type"]}),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(lambda one: {"type": "array", "items": one, "minItems": 1}),
        st.dictionaries(NAMES, inner, min_size=1, max_size=2).map(
            lambda parts: {"type": "object", "properties": parts}
        ),
    ),
    max_leaves=4,
)
OBJECTS = st.dictionaries(NAMES, VALUES, min_size=1, max_size=3).map(
    lambda parts: {"type": "object", "properties": parts, "required": sorted(parts)}
)


@given(schema=OBJECTS, shape=st.sampled_from(sorted(SHAPES)))
def test_every_shape_is_read_alike_by_all(schema, shape):
    """Compare parser, grammar and gate for the shape itself, `Tools`, and OpenAI tools."""
    tools = [SHAPES[shape]("f", schema), OTHER]
    plain = [{"type": "function", "function": {"name": "f", "parameters": schema}}, OTHER]
    assert schemas(tools) == schemas(Tools(tools)) == {"f": schema, "g": SCHEMA}
    assert gbnf(QWEN, tools, tool_choice="required") == gbnf(QWEN, plain, tool_choice="required")
    text = CALL.replace("=a>", f"={min(schema['properties'])}>")
    expected = parse(text, QWEN, tools=plain)
    decided = ToolGate(plain).validate(ToolGate(plain).extract(expected))
    for given_tools in (tools, Tools(tools)):
        message = parse(text, QWEN, tools=given_tools)
        assert message == expected
        gate = ToolGate(given_tools)
        decision = gate.validate(gate.extract(message))
        assert (decision.executable, decision.calls) == (decided.executable, decided.calls)


@given(schema=OBJECTS, shape=st.sampled_from(sorted(SHAPES)))
def test_tools_are_openai_tools(schema, shape):
    """Convert all shapes to OpenAI tools, which a template renders."""
    tools = Tools([SHAPES[shape]("f", schema)])
    function = {"name": "f", "parameters": schema}
    (openai,) = tools
    assert openai["type"] == "function"
    assert {key: openai["function"][key] for key in function} == function
    shown = "{% for tool in tools %}{{ tool | tojson }}{% endfor %}"
    assert json.loads(ChatTemplate(shown).render([], tools=tools)) == openai


def test_nullable_gemini_schema_allows_null_in_json_schema():
    schema = {
        "type": "OBJECT",
        "properties": {
            "a": {"type": "STRING", "nullable": True, "enum": ["x"]},
            "b": {"anyOf": [{"type": "NUMBER"}, {"type": "TYPE_UNSPECIFIED"}], "default": None},
            "c": {"anyOf": [{"type": "NUMBER"}], "nullable": True},
            "d": {"anyOf": [{"type": "NUMBER"}, {"type": "NULL"}], "nullable": True},
        },
    }
    assert schemas([{"function_declarations": [{"name": "f", "parameters": schema}]}])["f"] == {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"], "enum": ["x", None]},
            "b": {"anyOf": [{"type": "number"}, {}]},
            "c": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            "d": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        },
    }


def test_json_schema_is_unchanged():
    schema = {
        "type": "object",
        "properties": {"nullable": {"type": ["string", "null"], "default": None}},
        "x_y": {"const": {"type": "STRING"}},
        "nullable": True,
    }
    assert schemas([{"name": "f", "parameters": schema}]) == {"f": schema}


def test_missing_schema_of_a_tool_is_read_as_null():
    tools = [{"name": "f", "description": "d"}, {"name": "g", "parameters": None}]
    assert schemas(tools) == schemas(Tools(tools)) == {"f": None, "g": None}


OTHERS = [
    {"type": "web_search"},
    {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
    {"type": "mcp", "server_label": "deepwiki", "allowed_tools": None},
    {"type": "custom", "custom": {"name": "shell"}},
    {"type": "custom", "name": "shell", "format": {"type": "text"}},
    SimpleNamespace(type="code_interpreter"),
    dumping({"function_declarations": None, "google_search": {}}),
    {"type": "computer", "name": "computer", "input_schema": SCHEMA},
]


@pytest.mark.parametrize("other", OTHERS)
def test_tool_other_than_a_function_is_ignored(other):
    assert schemas([other, TOOL]) == {"f": SCHEMA}
    assert list(Tools([other])) == []
    assert gbnf(HERMES, [other, TOOL]) == gbnf(HERMES, [TOOL])
    gate = ToolGate([other, TOOL])
    text = '<tool_call>\n{"name": "web_search", "arguments": {}}\n</tool_call>'
    assert not gate.validate(gate.extract(parse(text, HERMES))).executable
    # Without a callable tool, call syntax is plain text.
    assert parse(text, HERMES, tools=[other]).content == text


@pytest.mark.parametrize(
    "tools", ["f", b"f", TOOL, 5, None, True, iter([TOOL]), (tool for tool in [TOOL]), TOOL.get]
)
def test_tools_other_than_a_list_are_rejected(tools):
    for use in (read_tools, Tools, ToolGate):
        with pytest.raises(UsageError, match=rf"not {type(tools).__name__}(: convert .* list)?$"):
            use(tools)


@pytest.mark.parametrize("tools", [iter([TOOL]), (tool for tool in [TOOL])])
def test_iterator_of_tools_is_rejected_with_a_hint(tools):
    for use in (StreamParser, gbnf):
        with pytest.raises(UsageError, match="convert it to a list"):
            use(HERMES, tools=tools)


@pytest.mark.parametrize(
    "tool",
    [
        *("f", 5, None, [TOOL], {}, {"name": 5}, {"name": ""}, {"function": "f"}, print),
        pytest.param(object(), id="no tool"),
        *({"type": "function"}, {"type": 5, "name": "f"}, SCHEMA, {"google_search": {}}),
        {"function_declarations": [{}]},
        pytest.param(type("Named", (), {"name": "f"}), id="a class"),
        pytest.param(SimpleNamespace(model_dump=lambda: [FUNCTION]), id="what dumps no mapping"),
    ],
)
def test_invalid_tool_is_rejected_with_its_index(tool):
    with pytest.raises(UsageError, match=r"a tool must have .* tools\[1\] is "):
        read_tools([TOOL, tool])


@pytest.mark.parametrize("declared", [FUNCTION, "f", 5])
def test_declarations_must_be_a_list(declared):
    with pytest.raises(UsageError, match=r"functionDeclarations must be a list, .* tools\[0\] "):
        read_tools([{"functionDeclarations": declared}])


@pytest.mark.parametrize("more", [{}, {"description": "d"}, {"description": "d", "strict": True}])
@pytest.mark.parametrize("key", ["parameters", "input_schema", "inputSchema"])
def test_description_and_strict_are_kept(key, more):
    read = {"type": "function", "function": {"name": "f", "parameters": SCHEMA} | more}
    for tool in ({"name": "f", key: SCHEMA} | more, {"name": "f", key: json.dumps(SCHEMA)} | more):
        assert list(Tools([tool])) == [read]


@pytest.mark.parametrize(
    "key", ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"]
)
def test_names_of_nested_schemas_are_not_converted(key):
    named = {name: {"type": "STRING"} for name in ("default", "x_y", "enum")}
    read = {"type": "object", key: {name: {"type": "string"} for name in named}}
    assert schemas([{"name": "f", "parameters": {"type": "OBJECT", key: named}}]) == {"f": read}


class Arguments:
    """A fake pydantic class and its objects."""

    @classmethod
    def model_json_schema(cls):
        return SCHEMA

    def model_dump(self):
        return {"type": "null"}


@pytest.mark.parametrize(
    ("tool", "schema"),
    [
        ({"name": "f", "parameters": None, "input_schema": SCHEMA}, SCHEMA),
        ({"name": "f", "parameters": Arguments}, SCHEMA),
        ({"name": "f", "parameters": Arguments()}, {"type": "null"}),
        ({"name": "f", "parameters": {"type": "TYPE_UNSPECIFIED", "x_y": None}}, {}),
        *(
            (
                {
                    "name": "f",
                    "parameters": {"type": "TYPE_UNSPECIFIED", "nullable": True, key: []},
                },
                {key: [{"type": "null"}]},
            )
            for key in ("anyOf", "oneOf")
        ),
        (
            {"name": "f", "parameters": {"type": "OBJECT", "x": None, "required": ["a"]}},
            {"type": "object", "required": ["a"]},
        ),
    ],
)
def test_schema_is_read_from_each_place(tool, schema):
    assert schemas([tool]) == {"f": schema}


def test_other_members_of_an_openai_function_are_kept():
    assert list(Tools([FUNCTION | {"x": 1}])) == [
        {"type": "function", "function": FUNCTION | {"x": 1}}
    ]


def test_a_custom_tool_with_a_schema_is_a_function():
    assert schemas([{"type": "custom", "name": "f", "input_schema": SCHEMA}]) == {"f": SCHEMA}


@pytest.mark.parametrize("key", ["args_schema", "parameter_definitions", "inputs", "properties"])
def test_schema_in_an_unknown_field_is_rejected(key):
    for tool in ({"name": "f", key: SCHEMA}, SimpleNamespace(name="f", **{key: SCHEMA})):
        for use in (read_tools, Tools, ToolGate):
            with pytest.raises(UsageError, match=f"under \"parameters\", not '{key}'"):
                use([tool])


@pytest.mark.parametrize("schema", ["none", "[1]", [], 5, True, "{" * 10_000])
def test_invalid_schema_is_rejected(schema):
    for use in (read_tools, Tools, ToolGate):
        with pytest.raises(UsageError, match="tool 'f': parameters must be a JSON Schema"):
            use([{"name": "f", "parameters": schema}])


def test_message_truncates_a_large_tool():
    with pytest.raises(UsageError) as caught:
        read_tools([{"nam": "x" * 10_000}])
    assert len(str(caught.value)) < 400


def test_repeated_tool_counts_once():
    twice = [TOOL, OTHER, {"name": "f", "input_schema": SCHEMA}, TOOL]
    assert schemas(twice) == {"f": SCHEMA, "g": SCHEMA}
    assert gbnf(HERMES, twice) == gbnf(HERMES, [TOOL, OTHER])
    ToolGate(twice)


def test_different_tools_of_one_name_are_rejected():
    twice = [TOOL, {"name": "f", "input_schema": {"type": "object"}}]
    for use in (
        Tools,
        ToolGate,
        lambda tools: StreamParser(HERMES, tools=tools),
        lambda tools: gbnf(HERMES, tools),
    ):
        with pytest.raises(UsageError, match="'f' is given twice"):
            use(twice)


# Instances of `Tools`.


def test_all_entry_points_accept_tools_instances():
    tools = Tools([TOOL])
    assert gbnf(HERMES, tools) == gbnf(HERMES, [TOOL])
    assert structural_tag(HERMES, tools) == structural_tag(HERMES, [TOOL])
    text = {"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}}
    for one in ([text], Tools([text])):
        assert parse(CALL, QWEN, tools=one).tool_calls[0].arguments == '{"a": "5", "b": 5}'
    assert list(iter_deltas([CALL], QWEN, tools=tools)) == list(
        iter_deltas([CALL], QWEN, tools=[TOOL])
    )
    assert create_tool_parser("qwen3_coder", tools=tools).parse(CALL).is_valid
    parser = StreamParser(QWEN, tools=tools, record=True)
    parser.feed(CALL)
    assert StreamParser.restore(parser.snapshot()).message == parser.fork().message


def test_a_snapshot_has_tools_of_any_shape():
    parser = StreamParser(QWEN, tools=[namespace(TOOL), OTHERS[0]], record=True)
    parser.feed(CALL)
    assert StreamParser.restore(parser.snapshot()).message == parser.message


def test_tools_of_tools_are_the_same():
    tools = Tools([TOOL])
    assert Tools(tools) is tools
    assert read_tools(tools) is tools


def test_tools_are_equal_if_their_items_are():
    tools, same, other = Tools([TOOL]), Tools([namespace(TOOL)]), Tools([OTHER])
    assert tools == same == pickle.loads(pickle.dumps(tools)) == copy.deepcopy(tools)
    assert hash(tools) == hash(same)
    assert tools not in (other, [TOOL])
    assert repr(Tools([TOOL, OTHER])) == "<Tools: f, g>"
    assert repr(Tools([])) == "<Tools: none>"
    assert tools[0] == tools[-1] == TOOL
    assert tools[:1] == [TOOL]
    with pytest.raises(IndexError):
        _ = tools[1]


def test_tools_never_change():
    given = copy.deepcopy(TOOL)
    tools = Tools([given])
    given["function"]["parameters"]["properties"].clear()
    tools[0]["function"]["parameters"].clear()
    assert tools == Tools([TOOL])
    assert dict(tools.schemas) == {"f": SCHEMA}


def test_parser_keeps_its_original_tools():
    tools = [TOOL]
    parser = StreamParser(HERMES, tools=tools, record=True)
    tools.clear()
    text = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    for one in (parser, parser.fork()):
        one.feed(text)
        assert [call.name for call in one.message.tool_calls] == ["f"]


def test_too_deep_schema_is_rejected_by_tools_but_not_parse():
    deep = {}
    for _ in range(100_000):
        deep = {"items": deep}
    tools = [{"name": "f", "parameters": deep}]
    with pytest.raises(UsageError, match="'f' is nested too deeply"):
        Tools(tools)
    assert read_tools(tools).schemas["f"] is deep
    # The parser must still read the response, so it ignores the types of a too deep schema.
    assert parse(CALL, QWEN, tools=tools).tool_calls[0].arguments == '{"a": 5, "b": 5}'


# Tool choices.

BOTH = {"f": SCHEMA, "g": SCHEMA}
NAMED = Choice("required", "f", frozenset("f"))
NAMES_OF = {"type": "function", "name": "f"}


@pytest.mark.parametrize(
    ("choice", "read"),
    [
        ("auto", Choice("auto")),
        (None, Choice("auto")),
        ("none", Choice("none")),
        ("required", Choice("required")),
        ("any", Choice("required")),
        ({"type": "auto"}, Choice("auto")),
        ({"type": "any"}, Choice("required")),
        ({"type": "none"}, Choice("none")),
        (TOOL, NAMED),
        (FUNCTION, NAMED),
        (NAMES_OF, NAMED),
        ({"type": "tool", "name": "f"}, NAMED),
        (namespace({"type": "function", "function": {"name": "f"}}), NAMED),
        (dumping({"type": "tool", "name": "f"}), NAMED),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [TOOL]}},
            Choice("auto", None, frozenset("f")),
        ),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [OTHERS[0], NAMES_OF]},
            Choice("required", None, frozenset("f")),
        ),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [NAMES_OF, *OTHERS[:3]]},
            Choice("required", None, frozenset("f")),
        ),
        (
            {"type": "allowed_tools", "mode": "required", "tools": OTHERS[:1]},
            Choice("none", None, frozenset()),
        ),
    ],
)
def test_tool_choice_is_read_alike_in_all_shapes(choice, read):
    assert read_choice(choice, BOTH) == read
    assert read_choice(choice, None) == read
    # All readers accept the choice. A choice without calls has no grammar of calls.
    StreamParser(HERMES, tools=[TOOL, OTHER], tool_choice=choice)
    grammar = gbnf(HERMES, [TOOL, OTHER], tool_choice=choice)
    assert (grammar.text == "") == (read.mode == "none")
    assert not grammar.text or grammar.lazy == (read.mode == "auto")
    names = read.allowed if read.allowed is not None else {"f", "g"}
    assert not grammar.text or {name for name in "fg" if f'"{name}"' in as_text(grammar)} == names


def as_text(grammar):
    """Return the rules of a grammar with unescaped literals."""
    return grammar.text.replace('\\"', '"')


@pytest.mark.parametrize(
    "choice",
    [
        TOOL,
        {"type": "tool", "name": "f"},
        {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [TOOL]}},
    ],
)
def test_choice_of_an_unknown_tool_is_rejected(choice):
    for use in (
        lambda: read_choice(choice, {"g": SCHEMA}),
        lambda: StreamParser(HERMES, tools=[OTHER], tool_choice=choice),
        lambda: gbnf(HERMES, [OTHER], tool_choice=choice),
    ):
        with pytest.raises(UsageError, match="names 'f', which is not one of the tools"):
            use()


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        *((word, "a tool choice object") for word in ("f", "", 3, True, [], ["f"], b"auto")),
        ({}, "a tool choice object must have"),
        ({"type": "function"}, "a tool choice object must have"),
        ({"type": []}, "a tool choice object must have"),
        ({"function": "f"}, "a tool choice object must have"),
        ({"type": "tool", "name": 5}, "a tool choice object must have"),
        ({"type": "web_search"}, "a tool choice object must have"),
        ({"type": "custom", "name": "f"}, "a tool choice object must have"),
        ({"type": "allowed_tools"}, "allowed_tools must have"),
        ({"type": "allowed_tools", "mode": "auto", "tools": []}, "allowed_tools must have"),
        ({"type": "allowed_tools", "mode": "any", "tools": [TOOL]}, "allowed_tools must have"),
        *(
            ({"type": "allowed_tools", "mode": "auto", "tools": tools}, "allowed_tools must have")
            for tools in (5, "f", {"name": "f"})
        ),
        ({"type": "allowed_tools", "mode": "auto", "tools": ["f"]}, "an allowed tool must have"),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{}]}, "an allowed tool must have"),
    ],
)
def test_invalid_tool_choice_is_rejected(choice, says):
    for use in (StreamParser, gbnf):
        with pytest.raises(UsageError, match=says):
            use(HERMES, tools=[TOOL], tool_choice=choice)


def test_call_of_a_disallowed_tool_is_reported():
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [NAMES_OF]}
    text = '<tool_call>\n{"name": "%s", "arguments": {}}\n</tool_call>'
    for name, kinds in (("f", []), ("g", ["wrong_tool"])):
        parser = StreamParser(HERMES, tools=[TOOL, OTHER], tool_choice=choice)
        parser.feed(text % name)
        parser.finish("stop")
        assert [issue.kind for issue in parser.issues] == kinds
        assert [call.name for call in parser.message.tool_calls] == [name]
    parser = StreamParser(HERMES, tools=[TOOL], tool_choice={**choice, "mode": "required"})
    parser.finish("stop")
    assert [issue.kind for issue in parser.issues] == ["missing_call"]


# The intended strictness of each reader.


def test_the_parser_reads_outputs_of_any_request():
    tools = [{"name": "two words"}, {"name": "f", "parameters": {"type": "no"}}]
    for name in ("two words", "f"):
        text = f'<tool_call>\n{{"name": "{name}", "arguments": {{"a": 1}}}}\n</tool_call>'
        message = parse(text, HERMES, tools=tools, finish_reason="stop")
        [call] = message.tool_calls
        assert (call.name, call.arguments, call.complete) == (name, '{"a": 1}', True)
        assert not message.issues


@pytest.mark.parametrize(
    ("tools", "says"),
    [
        ([{"name": "f", "parameters": {"type": "array"}}], "must be 'object'"),
        (5, "must be a list of tools"),
    ],
)
def test_grammar_rejects_tools_that_it_cannot_enforce(tools, says):
    with pytest.raises(UsageError, match=says):
        gbnf(HERMES, tools)


@pytest.mark.parametrize(
    ("tools", "says"),
    [
        ([{"name": "two words"}], "does not fit into a tag"),
        ([{"name": "f", "parameters": {"type": "no"}}], "invalid schema"),
    ],
)
def test_gate_rejects_tools_that_it_cannot_check(tools, says):
    with pytest.raises(UsageError, match=says):
        ToolGate(tools)


def test_tools_is_exported_at_the_top_level():
    assert deltaparse.Tools is deltaparse.stream.Tools is Tools


def test_tools_are_counted():
    assert [len(Tools(tools)) for tools in ([], [TOOL], [TOOL, TOOL], [TOOL, OTHER])] == [
        0,
        1,
        1,
        2,
    ]
    assert not Tools([])
    assert len(read_tools([TOOL, OTHERS[0]]).schemas) == 1


def test_equality_with_other_types_is_left_to_them():
    tools = Tools([TOOL])
    assert tools == ANY
    assert tools == ANY
    assert (tools == [TOOL], tools == 5, tools != [TOOL]) == (False, False, True)


class Indexed:
    """An object with the members of a function, but not a mapping."""

    def __getitem__(self, key):
        return FUNCTION[key]


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "web_search", "function": FUNCTION},
        {"type": "function", "function": {"name": "", "parameters": SCHEMA}},
        {"type": "function", "function": {"name": 5, "parameters": SCHEMA}},
        {"type": "function", "function": {"name": "f", "parameters": json.dumps(SCHEMA)}},
        {"type": "function", "function": MappingProxyType(FUNCTION)},
        {"type": "function", "function": Indexed()},
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}},
    ],
)
def test_unusual_openai_tool_bypasses_the_fast_path(odd):
    """Read unusual tools with the slow path, with the same result as their object form."""

    def read(*tools):
        try:
            return schemas(tools)
        except UsageError as error:
            return str(error)[:80]

    same = SimpleNamespace(**odd)
    assert read(odd) == read(same)
    assert read(TOOL, odd) == read(TOOL, same)


def test_tool_in_two_dialects_counts_once():
    given = {"type": "OBJECT", "properties": {"a": {"type": "INTEGER"}}}
    assert schemas([TOOL, {"name": "f", "parameters": given}]) == {"f": SCHEMA}
    given["properties"]["a"]["type"] = "STRING"
    with pytest.raises(UsageError, match="'f' is given twice"):
        read_tools([TOOL, {"name": "f", "parameters": given}])


COUNTED = ("Items", "Length", "Properties")


@pytest.mark.parametrize("key", [f"{edge}{what}" for edge in ("min", "max") for what in COUNTED])
def test_counts_of_gemini_are_numbers(key):
    def read(**given):
        return schemas([{"name": "f", "parameters": {"type": "OBJECT", **given}}])["f"]

    snake = f"{key[:3]}_{key[3:].lower()}"
    assert read(**{key: "12"}) == read(**{snake: "12"}) == {"type": "object", key: 12}
    for odd in ("", "x", "-1", "²"):
        assert read(**{key: odd})[key] == odd


@pytest.mark.parametrize("key", ["const", "default", "enum", "example", "examples"])
def test_values_in_a_schema_are_not_converted(key):
    value = [{"type": "STRING", "nullable": True}]
    schema = {"type": "OBJECT", "properties": {"a": {"type": "STRING", key: value}}}
    read = schemas([{"name": "f", "parameters": schema}])["f"]
    assert read["properties"]["a"] == {"type": "string", key: value}


def test_default_choice_is_auto():
    assert AUTO == Choice("auto") == read_choice("auto", None) == read_choice(None, None)


@pytest.mark.parametrize(
    "kind", ["string", "number", "integer", "boolean", "array", "object", "null"]
)
def test_gemini_types_are_converted_to_json_schema(kind):
    given = {"type": "OBJECT", "properties": {"a": {"type": kind.upper()}}}
    read = schemas([{"name": "f", "parameters": given}])["f"]
    assert read == {"type": "object", "properties": {"a": {"type": kind}}}
    read = schemas([{"name": "f", "parameters": {"type": kind.upper(), "max_items": "3"}}])["f"]
    assert read == {"type": kind, "maxItems": 3}


def test_null_schema_in_an_unknown_field_is_ignored():
    assert schemas([{"name": "f", "input_parameters": None}]) == {"f": None}
    with pytest.raises(UsageError, match="not 'input_parameters'"):
        read_tools([{"name": "f", "input_parameters": {}}])
