"""Unusual names that are declared by the request, or escaped, in all chunks."""

from __future__ import annotations

import json

import pytest

from deltaparse import ReasoningFormat, StreamParser, get_format

CODER, M3 = get_format("qwen3_coder"), get_format("minimax_m3")
K3 = get_format("kimi_k3").replace(reasoning=ReasoningFormat())
HTML = ("&", "&amp;", '"', "&quot;")
BACKSLASH = ("\\", "\\\\", ">", "\\>")
ESCAPED = CODER.replace(
    function={"name_escapes": BACKSLASH},
    arguments={"name_escapes": BACKSLASH, "value_escapes": ("&", "&amp;", "<", "&lt;")},
)
NAMES = ("a>b", "a>", ">>", "a b", " a", "a ", 'q"q', "a<b", "a\nb", "{a}", "ключ", "&amp;")


def tool(name, *keys):
    properties = {key: {"type": "string"} for key in keys}
    return [{"name": name, "parameters": {"type": "object", "properties": properties}}]


def coder(name, key, value="v"):
    body = f"<parameter={key}>\n{value}\n</parameter>\n<parameter=z>\n1\n</parameter>"
    return f"<tool_call>\n<function={name}>\n{body}\n</function>\n</tool_call>"


def k3(name, key):
    name, key = (text.replace("&", "&amp;").replace('"', "&quot;") for text in (name, key))
    value = f'<|open|>argument key="{key}" type="string"<|sep|>v &amp;<|close|>argument<|sep|>'
    call = f'<|open|>call tool="{name}" index="1"<|sep|>{value}<|close|>call<|sep|>'
    return f"<|open|>tools<|sep|>{call}<|close|>tools<|sep|>"


def minimax(name, key):
    mark = "]<]minimax[>["
    value = f"{mark}<{key}>v{mark}</{key}>"
    invoke = f'{mark}<invoke name="{name}">{value}{mark}</invoke>\n'
    return f"{mark}<tool_call>\n{invoke}{mark}</tool_call>"


def fed(fmt, text, reason="stop", **options):
    """Return a finished parser after a comparison of several chunk sizes."""
    made = []
    for size in (len(text), 1, 2, 5):
        parser = StreamParser(fmt, **options)
        for at in range(0, len(text), size):
            parser.feed(text[at : at + size])
        parser.finish(reason)
        made.append(parser)
    assert all(parser.message == made[0].message for parser in made)
    return made[0]


def found(fmt, text, tools):
    """Return the only call of a text, after a check for completeness and issues."""
    parser = fed(fmt, text, tools=tools)
    (call,) = parser.message.tool_calls
    assert (call.complete, [*parser.issues]) == (True, [])
    return call.name, json.loads(call.arguments)


@pytest.mark.parametrize("name", NAMES)
def test_declared_argument_may_have_any_name(name):
    assert found(CODER, coder("f", name), tool("f", name, "a")) == ("f", {name: "v", "z": 1})
    assert found(M3, minimax("f", name), tool("f", name, "a")) == ("f", {name: "v"})
    assert found(K3, k3("f", name), tool("f", name, "a")) == ("f", {name: "v &amp;"})


@pytest.mark.parametrize("name", NAMES)
def test_declared_function_may_have_any_name(name):
    tools = [*tool(name, "k"), *tool("other")]
    assert found(CODER, coder(name, "k"), tools) == (name, {"k": "v", "z": 1})
    assert found(M3, minimax(name, "k"), tools) == (name, {"k": "v"})
    assert found(K3, k3(name, "k"), tools) == (name, {"k": "v &amp;"})


def test_longest_declared_name_before_its_end_counts():
    tools = tool("f", "a", "a>b", "a>b>c")
    for key in ("a", "a>b", "a>b>c"):
        assert found(CODER, coder("f", key), tools) == ("f", {key: "v", "z": 1})
    assert found(CODER, coder("f", "a", ">b"), tools)[1] == {"a": ">b", "z": 1}


def test_prefix_of_a_declared_name_is_a_name():
    assert found(CODER, coder("f", "a"), tool("f", "a>b"))[1] == {"a": "v", "z": 1}
    assert found(CODER, coder("f", "x"), tool("f", "a>b"))[1] == {"x": "v", "z": 1}
    assert found(CODER, coder("f", "a"), tool("f>g", "a") + tool("f"))[0] == "f"


@pytest.mark.parametrize("key", ["a&b", 'q"q', "&quot;", "&amp;amp;", '" type="', "a>b", "&"])
@pytest.mark.parametrize("given", [True, False])
def test_escapes_in_attributes_are_decoded(key, given):
    name = key.replace(" ", "").replace(">", "")
    tools = tool(name, key) if given else None
    assert found(K3, k3(name, key), tools) == (name, {key: "v &amp;"})


@pytest.mark.parametrize("key", ["a>b", ">", "a\\", "\\>", "a\\\\>b"])
@pytest.mark.parametrize("given", [True, False])
def test_name_may_contain_an_escaped_end(key, given):
    written = key.replace("\\", "\\\\").replace(">", "\\>")
    tools = tool(key, key) if given else None
    assert found(ESCAPED, coder(written, written), tools) == (key, {key: "v", "z": 1})


@pytest.mark.parametrize("value", ["a & b", "&lt;", "</parameter>\n<", "&", "a&amp"])
@pytest.mark.parametrize("tools", [None, tool("f", "k")])
def test_escapes_in_strings_are_decoded(value, tools):
    written = value.replace("&", "&amp;").replace("<", "&lt;")
    assert found(ESCAPED, coder("f", "k", written), tools) == ("f", {"k": value, "z": 1})


def test_json_without_a_schema_is_not_unescaped():
    assert found(ESCAPED, coder("f", "k", '{"a": "&amp;"}'), None)[1]["k"] == {"a": "&amp;"}


def test_string_truncated_in_an_escape_keeps_the_text_before_it():
    text = coder("f", "k", "a &am").partition("\n</parameter>")[0]
    (call,) = fed(ESCAPED, text, "length", tools=tool("f", "k")).message.tool_calls
    assert (call.arguments, call.complete) == ('{"k": "a ', False)


@pytest.mark.parametrize("name", ["hermes", "mistral", "llama3_json"])
@pytest.mark.parametrize("called", ['q"q', "a\\b", '"', 'a", "b'])
def test_declared_name_may_break_the_json(name, called):
    fmt = get_format(name)
    before, behind = fmt.tools.per_call_start or fmt.tools.section_start, fmt.tools.per_call_end
    brackets = "[]" if fmt.tools.array_wrapped else ["", ""]
    field = fmt.tools.arguments_field
    for spelled in (called, json.dumps(called)[1:-1]):
        call = f'{{"name": "{spelled}", "{field}": {{"k": "v"}}}}'
        text = f"{before}{brackets[0]}{call}{brackets[1]}{behind}"
        assert found(fmt, text, tool(called, "k")) == (called, {"k": "v"})


def test_declared_name_as_key_may_break_the_json():
    fmt = get_format("hermes").replace(
        tools={"name_is_key": True, "name_field": "", "arguments_field": ""}
    )
    text = '<tool_call>\n{"q"q": {"k": "v"}}\n</tool_call>'
    assert found(fmt, text, tool('q"q', "k")) == ('q"q', {"k": "v"})


@pytest.mark.parametrize("key", ["a,b", "a[0]", "{a}", "a:b", "a:1 b", 'q"q', "it's", "a\nb"])
def test_declared_unquoted_key_may_contain_brackets(key):
    text = f'<|tool_call>call:f{{{key}:<|"|>v<|"|>,z:1}}<tool_call|>'
    assert found(get_format("gemma4"), text, tool("f", key, "z")) == ("f", {key: "v", "z": 1})


@pytest.mark.parametrize("name", ["a b", "a<|b", "a.b", "a to=b"])
def test_declared_recipient_may_be_several_words(name):
    text = f' to=functions.{name}<|channel|>commentary json<|message|>{{"k": "v"}}<|call|>'
    fmt = get_format("gpt_oss")
    parser = fed(fmt, text, tools=tool(name, "k"), prompt=fmt.turn.headers[0])
    (call,) = parser.message.tool_calls
    assert (call.name, call.arguments, call.complete) == (name, '{"k": "v"}', True)


def test_call_number_may_follow_a_declared_name():
    fmt = get_format("kimi_k2")
    text = (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.a>b:0"
        '<|tool_call_argument_begin|>{"k": "v"}<|tool_call_end|><|tool_calls_section_end|>'
    )
    parser = fed(fmt, text, tools=tool("a>b", "k"))
    (call,) = parser.message.tool_calls
    assert (call.name, call.id, call.arguments) == ("a>b", "functions.a>b:0", '{"k": "v"}')
