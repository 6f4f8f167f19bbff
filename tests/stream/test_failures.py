"""Failures that users report of other parsers, one test for each, with the correct result."""

from __future__ import annotations

import json
import re

import pytest

from deltaparse import (
    Content,
    MalformedOutput,
    Policies,
    Reasoning,
    ReasoningDelta,
    ReasoningFormat,
    StreamParser,
    ToolCall,
    ToolCallDelta,
    get_format,
    iter_deltas,
    mistral_call_id,
    parse,
)

from ..strategies.wire_by_hand import (
    CALL,
    DELIMITED,
    KEYED,
    LIST,
    OTHER,
    TAGS,
    UNMARKED,
    WRAPPED,
    calls,
    fed,
    kinds,
)
from ..strategies.wire_channels import HARMONY
from ..support import as_joined, joined

F = [("f", '{"a": 1}')]
G = ("g", '{"b": [true, "x"]}')
TAGGED, KIMI, PYTHON = map(get_format, ("qwen3_coder", "kimi_k2", "llama4_pythonic"))
PROPERTIES = {
    "s": {"type": "string"},
    "i": {"type": "integer"},
    "b": {"type": "boolean"},
    "o": {"type": "object"},
    "e": {"anyOf": [{"type": "number"}, {"type": "string"}]},
}
TOOLS = [{"name": "f", "parameters": {"type": "object", "properties": PROPERTIES}}]


# Chunks


def test_a_marker_split_over_chunks_is_found_and_does_not_leak():
    parser = StreamParser(TAGS)
    texts = ["hi <ca", 'll>{"name":"f","arguments":{}}</ca', "ll>"]
    given = [joined(parser.feed(text))[0] for text in texts]
    assert given == ["hi ", "", ""]
    parser.finish("stop")
    assert calls(parser) == [("f", "{}")]


def test_text_that_cannot_become_a_marker_is_released_at_once():
    parser = StreamParser(TAGS)
    assert [joined(parser.feed(text))[0] for text in ("a <ca", "b", "<")] == ["a ", "<cab", ""]


def test_one_chunk_may_hold_several_parts():
    parser = StreamParser(TAGS)
    text = f"<think>\nhm\n</think>\n\nWell.\n{CALL}\n{OTHER}<|end|>"
    content, reasoning, made = joined(parser.feed(text))
    assert (content, reasoning) == ("Well.", "hm")
    assert [name for _, name, _ in made] == ["f", "g"]


def test_a_call_with_empty_arguments_token_by_token():
    parser = StreamParser(TAGS)
    for text in ["<call>", '{"name":"f",', '"arguments":', "{}", "}", "</call>"]:
        parser.feed(text)
    parser.finish("stop")
    assert calls(parser) == [("f", "{}")]


def test_name_and_arguments_are_emitted_as_soon_as_certain():
    parser = StreamParser(TAGS)
    assert parser.feed('<call>{"name": "f') == []
    assert joined(parser.feed('", "arguments": {"code": "'))[2][0][1:] == ("f", '{"code": "')
    assert [delta.arguments for delta in parser.feed("print(1)")] == ["print(1)"]


def test_a_number_split_over_chunks_keeps_its_text():
    texts = ['<call>{"name":"f","arguments":{"x": 1', "2", ".", "5", "e", "-2", "}}</call>"]
    parser = StreamParser(TAGS)
    for text in texts:
        parser.feed(text)
    assert calls(parser) == [("f", '{"x": 12.5e-2}')]


def test_finish_is_idempotent_and_empty_after_the_arguments():
    parser = StreamParser(TAGS)
    parser.feed(CALL)
    assert parser.feed(" \n") == []
    assert parser.finish("stop") == []
    assert parser.finish("stop") == []


def test_arguments_are_emitted_as_spelled():
    arguments = '{"b":1,  "a":false, "e": "\\u00e9\\/", "n": 1.10, "big": 9007199254740993}'
    assert calls(fed(TAGS, f'<call>{{"name":"f","arguments":{arguments}}}</call>')) == [
        ("f", arguments)
    ]


# Reasoning


def test_call_in_reasoning_that_continues_is_reasoning():
    parser = fed(TAGS, f"<think>maybe {CALL} no</think>ok")
    assert parser.message.parts == [Reasoning(f"maybe {CALL} no"), Content("ok")]
    assert kinds(parser) == ["tool_in_reasoning"]
    assert parser.finish_reason == "stop"


def test_call_at_the_end_of_unclosed_reasoning_is_a_call():
    parser = fed(TAGS, f"<think>let me look{CALL}")
    assert parser.message.reasoning_content == "let me look"
    assert calls(parser) == F
    assert parser.finish_reason == "tool_calls"


def test_call_in_truncated_reasoning_is_reasoning():
    parser = fed(TAGS, f"<think>let me look{CALL}", "length")
    assert parser.message.parts == [Reasoning(f"let me look{CALL}")]
    assert parser.finish_reason == "length"


def test_closing_marker_in_a_deferred_call_does_not_end_reasoning():
    call = '<call>{"name":"f","arguments":{"x":"</think>"}}</call>'
    assert calls(fed(TAGS, f"<think>now {call}")) == [("f", '{"x":"</think>"}')]


def test_marker_word_in_reasoning_is_not_a_call():
    parser = fed(TAGS, "<think>I could use <call> here</think>x")
    assert parser.message.reasoning_content == "I could use <call> here"
    assert parser.issues == []


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_unclosed_reasoning_is_reasoning_and_reported(reason):
    parser = fed(TAGS, "<think>step 1, st", reason)
    assert parser.message.parts == [Reasoning("step 1, st")]
    assert kinds(parser) == ["unclosed_reasoning"]


@pytest.mark.parametrize(
    ("prompt", "content", "reasoning"),
    [
        ("<|start|>model\n<think>\n", "4", "sum"),
        (
            "<|start|>user\n<think>\n<|end|><|start|>model\n<think>\n\n</think>\n\n",
            "sum</think>4",
            "",
        ),
        ("<|start|>model\n<think>old</think>x<|end|><|start|>model\n", "sum</think>4", ""),
        ("<|start|>model\n<think>I know ", "4", "sum"),
        ("<|start|>model\nThe ans", "sum</think>4", ""),
    ],
)
def test_prompt_sets_the_state_and_emits_no_text(prompt, content, reasoning):
    message = fed(TAGS, "sum</think>4", prompt=prompt).message
    assert (message.content, message.reasoning_content) == (content, reasoning)


def test_marker_that_starts_in_the_prompt_is_recognized():
    parser = fed(TAGS, "ink>so</think>x", prompt="<|start|>model\n<th")
    assert parser.message.parts == [Reasoning("so"), Content("x")]


def test_call_that_starts_in_the_prompt_is_emitted():
    parser = fed(
        TAGS, " 1}}</call>", prompt='<|start|>model\n<call>{"name": "f", "arguments": {"a":'
    )
    assert calls(parser) == [("f", '{"a": 1}')]


def test_only_the_white_space_of_the_template_is_removed():
    parser = fed(TAGS, "<think>\n\n- a\n- b\n\n</think>\n\n\n  code")
    assert parser.message.parts == [Reasoning("\n- a\n- b\n"), Content("\n  code")]


def test_interleaved_reasoning_keeps_its_order():
    parser = fed(TAGS, f"<think>a</think>x<think>b</think>{CALL}<think>c</think>y")
    assert [type(part) for part in parser.message.parts] == [
        Reasoning,
        Content,
        Reasoning,
        ToolCall,
        Reasoning,
        Content,
    ]


def test_reasoning_to_a_delimiter():
    parser = fed(DELIMITED, f"First.\n[FINAL]\nAnswer.\n{CALL}")
    assert (parser.message.reasoning_content, parser.message.content) == ("First.", "Answer.")
    assert calls(parser) == F


def test_start_marker_repeated_after_the_prompt_is_dropped():
    parser = fed(TAGS, "<think>\nhm</think>x", prompt="<|start|>model\n<think>\n")
    assert parser.message.parts == [Reasoning("hm"), Content("x")]
    assert kinds(parser) == ["repeated_marker"]


# Text around calls


def test_text_before_between_and_after_calls_is_kept():
    parser = fed(TAGS, f"a{CALL}b{OTHER}c")
    texts = [part.text for part in parser.message.parts if isinstance(part, Content)]
    assert texts == ["a", "b", "c"]
    assert kinds(parser) == ["text_after_tool_call", "text_after_tool_call"]


@pytest.mark.parametrize(
    "text",
    [
        "Hello <ca",
        "1 <",
        "I would call <call> here",
        "<call>not json</call> more",
        "Use the `<call>` tag.",
        '<call>{"nam": 1}</call>',
        "<call>",
        '<call>{"na',
    ],
)
def test_marker_without_a_valid_call_is_content(text):
    parser = fed(TAGS, text)
    assert parser.message.content == text
    assert parser.finish_reason == "stop"


def test_call_syntax_without_callable_tools_is_content():
    assert fed(TAGS, CALL, tools=[]).message.content == CALL
    assert fed(TAGS, CALL, tool_choice="none").message.content == CALL


def test_an_end_of_turn_string_is_trimmed_also_when_split():
    assert fed(TAGS, "ok<|end|>").message.content == "ok"
    assert fed(TAGS, f"{CALL}<|end|>").message.content == ""


def test_closer_may_be_missing_as_the_stop_string():
    parser = fed(TAGS, CALL.removesuffix("\n</call>"))
    assert parser.message.tool_calls[0].complete
    assert (
        fed(LIST, '[CALLS][{"name": "f", "arguments": {}, "id": "abc"}').finish_reason
        == "tool_calls"
    )


def test_half_a_character_waits_for_the_other_half():
    parser = StreamParser(TAGS)
    encoded = "né😀".encode()
    given = [joined(parser.feed(encoded[at : at + 1]))[0] for at in range(len(encoded))]
    assert given == ["n", "", "é", "", "", "", "😀"]


def test_invalid_utf_8_becomes_the_replacement_character():
    parser = StreamParser(TAGS)
    parser.feed(b"a\xff\xf0\x9f")
    parser.finish("stop")
    assert parser.message.content == "a\ufffd\ufffd"


def test_repeated_header_is_dropped():
    parser = fed(TAGS, "<|start|>model\nHello")
    assert parser.message.content == "Hello"
    assert kinds(parser) == ["repeated_marker"]


def test_header_after_the_end_is_dropped_and_later_text_reported():
    parser = fed(TAGS, "ok<|end|>\n<|start|>model\n")
    assert parser.message.content == "ok"
    assert kinds(parser) == ["repeated_marker"]
    parser = fed(TAGS, "ok<|end|><|start|>model\nmore")
    assert parser.message.content == "okmore"
    assert kinds(parser) == ["repeated_marker", "text_after_end"]


# Payload


@pytest.mark.parametrize(
    "value",
    ['if(x){ "}" }', "</call>", "<call>", "\\", "a\nb", "</think>", "<|end|>", "[CALLS][{", "😀"],
)
def test_markers_and_brackets_in_strings_are_inert(value):
    arguments = json.dumps({"c": value})
    assert calls(fed(TAGS, f'<call>{{"name": "f", "arguments": {arguments}}}</call>')) == [
        ("f", arguments)
    ]


@pytest.mark.parametrize(
    "call",
    [
        '{"name":"f"}',
        '{"name":"f","arguments":null}',
        '{"name":"f","arguments":{}}',
        '{"name":"f","arguments":""}',
        '{"name":"f","parameters":{}}',
        '{"arguments":{},"name":"f"}',
        '{"type":"function","function":{"name":"f","arguments":{}}}',
        '{"type":"function","function":"f","arguments":{}}',
        '{"name":"f","thought":["x",{"y":1}],"arguments":{}}',
        '[{"name":"f","arguments":{}}]',
    ],
)
def test_every_layout_of_a_call_without_arguments(call):
    assert calls(fed(TAGS, f"<call>{call}</call>")) == [("f", "{}")]


def test_arguments_in_a_string_are_decoded_to_json():
    inner = {"q": 'a "b" \\ é', "n": [1, {"x": "😀"}]}
    text = json.dumps(json.dumps(inner))
    parser = fed(TAGS, f'<call>{{"name":"f","arguments":{text}}}</call>')
    assert json.loads(parser.message.tool_calls[0].arguments) == inner
    assert parser.message.tool_calls[0].complete


def test_id_after_the_arguments_is_the_id_of_the_call():
    text = '[CALLS][{"name": "f", "arguments": {"a": 1}, "id": "k3Qz81abC"}]'
    assert fed(LIST, text).message.tool_calls == [ToolCall("k3Qz81abC", "f", '{"a": 1}', True)]


def test_a_number_as_id_and_fields_of_other_names():
    text = '<plan>so</plan><act>[\n  {"number": 0, "tool": "f", "input": {"a": 1}}\n]</act>'
    parser = fed(WRAPPED, text)
    assert parser.message.parts == [Reasoning("so"), ToolCall("0", "f", '{"a": 1}', True)]


def test_content_in_markers():
    assert fed(WRAPPED, "<answer>Hi\n</answer><|end|>").message.content == "Hi\n"
    assert fed(WRAPPED, "Hi").message.content == "Hi"


def test_object_with_names_as_keys_may_hold_several_calls():
    text = '<|calls|>[{"f": {"a": 1}}, {"g": {}, "h": {"b": {}}}]<|/calls|>'
    assert calls(fed(KEYED, text)) == [("f", '{"a": 1}'), ("g", "{}"), ("h", '{"b": {}}')]


@pytest.mark.parametrize(
    ("bad", "arguments"),
    [
        ('{"a":[1,{"b":2', '{"a":[1,{"b":2}]}'),
        ('{"a": {}', '{"a": {}}'),
        ("{", "{}"),
        ('{"a":1}', '{"a":1}'),
        ('{"a":1}}}', '{"a":1}'),
    ],
)
def test_missing_or_extra_brackets_are_repaired(bad, arguments):
    parser = fed(TAGS, f'<call>{{"name":"f","arguments":{bad}</call>!')
    assert calls(parser) == [("f", arguments)]
    assert parser.message.tool_calls[0].complete
    assert kinds(parser)[0] == "repaired_arguments"
    assert parser.message.content == "!"


@pytest.mark.parametrize(
    ("bad", "arguments", "repairs"),
    [
        ('{"re":"\\d+",}', '{"re":"\\\\d+"}', ["invalid_escapes", "trailing_commas"]),
        (
            "{'q': 'it\\'s', 'ok': True}",
            '{"q": "it\'s", "ok": true}',
            ["single_quotes", "python_literals"],
        ),
        ('{"a":"x\ny"}', '{"a":"x\\ny"}', ["control_characters"]),
        ("{a: NaN}", '{"a": null}', ["unquoted_keys", "non_finite"]),
        ('{"a": 1 /* one */}', '{"a": 1 }', ["comments"]),
    ],
)
def test_nearly_json_is_emitted_as_json(bad, arguments, repairs):
    parser = fed(TAGS, f'<call>{{"name":"f","arguments":{bad}}}</call>')
    assert calls(parser) == [("f", arguments)]
    assert parser.message.tool_calls[0].complete
    assert kinds(parser) == ["repaired_arguments"]
    assert all(repair in parser.issues[0].detail for repair in repairs)
    strict = fed(
        TAGS,
        f'<call>{{"name":"f","arguments":{bad}}}</call>',
        policies=Policies(malformed_arguments="strict"),
    )
    assert not strict.message.tool_calls[0].complete


@pytest.mark.parametrize("bad", ["{oops}", '{"a":}', '{"a": 01}', '{"a" "b"}', "[1]", "7", '"x"'])
def test_arguments_that_cannot_be_repaired_leave_an_incomplete_call(bad):
    parser = fed(TAGS, f'<call>{{"name":"f","arguments":{bad}}}</call> more')
    assert [call.complete for call in parser.message.tool_calls] == [False]
    assert parser.message.content == " more"
    assert "malformed_arguments" in kinds(parser)


@pytest.mark.parametrize(
    ("text", "arguments", "healed"),
    [
        ('<call>{"name":"f", ', "", {}),
        ('<call>{"name":"f","arguments":', "", {}),
        (
            '<call>{"name":"f","arguments":{"cmd":"rm -rf /tm',
            '{"cmd":"rm -rf /tm',
            {"cmd": "rm -rf /tm"},
        ),
        ('<call>{"name":"f","arguments":{"n": 12', '{"n": ', {}),
        ('<call>{"name":"f","arguments":{"s": "\\ud83d', '{"s": "\\ud83d', {"s": ""}),
    ],
)
def test_truncated_call_is_incomplete_and_reported(text, arguments, healed):
    parser = fed(TAGS, text, "length")
    (call,) = parser.message.tool_calls
    assert (call.name, call.arguments, call.complete) == ("f", arguments, False)
    assert call.healed() == healed
    assert parser.finish_reason == "length"
    assert kinds(parser) == ["truncated_call"]


def test_call_with_closed_arguments_is_complete_for_any_reason():
    parser = fed(TAGS, '<call>{"name":"f","arguments":{"a":1}', "length")
    assert [(call.arguments, call.complete) for call in parser.message.tool_calls] == [
        ('{"a":1}', True)
    ]
    assert (parser.finish_reason, parser.issues) == ("length", [])


def test_call_truncated_before_its_name_is_reported_only():
    parser = fed(TAGS, 'So: <call>\n{"name": "get_wea', "length")
    assert parser.message.parts == [Content("So: ")]
    assert "get_wea" in parser.issues[0].detail


def test_separator_without_a_following_call_is_content():
    assert fed(TAGS, f"{CALL.removesuffix('</call>')}, then").message.content == "\n, then"
    parser = fed(LIST, '[CALLS][{"name": "f", "arguments": {}, "id": "1"},]')
    assert (calls(parser), parser.message.content) == ([("f", "{}")], "")


def test_an_unknown_tool_is_flagged_and_emitted():
    parser = fed(TAGS, CALL, tools=[{"type": "function", "function": {"name": "g"}}])
    assert calls(parser) == F
    assert kinds(parser) == ["unknown_tool"]


def test_orphan_closer_without_following_text_is_dropped():
    assert fed(TAGS, f"{CALL}</call>").message.content == ""
    for behind in ("", "\n \n", "<|end|>", f"\n{CALL}", "<think>hm</think>", "</call>", " " * 256):
        parser = fed(TAGS, f"a </call>{behind}")
        assert parser.message.content == "a "
        orphan = next(issue for issue in parser.issues if issue.kind == "orphan_marker")
        assert orphan.detail == "'</call>' does not close a call, and is not emitted"
    for text in ("a</call>b", "a</call>\n.", "a</call><b", "</call>?", "a</call>" + " " * 257):
        parser = fed(TAGS, text)
        assert parser.message.content == text
        assert parser.issues == []


def test_closer_after_a_rejected_call_is_content():
    for text in (
        "<call>no</call>",
        '<call>{"nam": 1}</call>\n',
        "`<call>` and `</call>",
        "</call>",
    ):
        parser = fed(TAGS, text, tools=[])
        assert parser.message.content == text
    for text in ("<call>no</call>", '<call>{"nam": 1}</call>\n', "`<call>` and `</call>`"):
        assert fed(TAGS, text).message.content == text
        assert kinds(fed(TAGS, text)) == []
    assert fed(TAGS, f"<call>no {CALL}</call>").message.content == "<call>no "


@pytest.mark.parametrize("text", ["```py\nx = 1\n```", "x]", "a }", "```"])
def test_generic_closer_alone_is_content(text):
    fenced = get_format("command_r_plus")
    brackets = LIST.replace(tools={"section_end": "]", "array_wrapped": False})
    for fmt in (fenced, brackets, get_format("deepseek_v3")):
        assert fed(fmt, text).message.content == text


# Calls without markers


@pytest.mark.parametrize(
    "text",
    [
        "int main() { }",
        '{"name": "John", "age": 3}',
        '{"name": "f"}',
        '{"x',
        "{",
        '  {"a": 1} {"name": "f", "parameters": {}}',
        'Say {"name": "f", "parameters": {}}',
        '{"parameters": {"a": 1}}',
        '{"name": "f", "parameters": 7}',
    ],
)
def test_other_json_and_code_is_text(text):
    assert fed(UNMARKED, text).message.content == text


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "f", "parameters": {"a": 1}}',
        '\n{"parameters": {"a": 1}, "name": "f"}\n',
        '{"type": "function", "name": "f", "parameters": {"a": 1}}<|end|>',
    ],
)
def test_unmarked_object_with_name_and_arguments_is_a_call(text):
    for tools in (None, TOOLS):
        parser = fed(UNMARKED, text, tools=tools)
        assert calls(parser) == F
        assert parser.message.content == ""


def test_arguments_under_another_key_need_a_known_tool():
    text = '{"type": "function", "name": "f", "arguments": {"a": 1}}'
    assert fed(UNMARKED, text).message.content == text
    assert calls(fed(UNMARKED, text, tools=TOOLS)) == F


def test_bare_calls_one_after_the_other():
    call = '{"name": "f", "parameters": {"a": 1}}'
    assert calls(fed(UNMARKED, f"{call}; {call}\n{call}")) == F * 3


def test_with_a_response_schema_json_is_content():
    text = '{"name": "f", "parameters": {"a": 1}}'
    assert fed(UNMARKED, text, response_schema={"type": "object"}).message.content == text


# Forced open by the format alone


def test_a_format_that_opens_reasoning_needs_no_prompt():
    forced = TAGS.replace(
        reasoning=ReasoningFormat(mode="FORCED_OPEN", start="<think>\n", end="</think>"),
        turn={"generation_prompt": "<|start|>model\n<think>\n"},
    )
    assert parse("hm</think>x", forced).parts == [Reasoning("hm"), Content("x")]
    unmarked = TAGS.replace(reasoning=ReasoningFormat(mode="FORCED_OPEN", end="</think>"))
    assert parse("hm</think>x", unmarked).parts == [Reasoning("hm"), Content("x")]


# Chunk boundaries and engines


def test_chunks_of_any_size_give_the_same_message():
    chunks = ["<ca", "ll", ">\n{", '"name": "f", "arg', 'uments": {"a": 1', "}}\n</", "call>ok"]
    parser = StreamParser(TAGS)
    for chunk in chunks:
        parser.feed(chunk)
    parser.finish("stop")
    assert (calls(parser), parser.message.content) == (F, "ok")
    for size in range(1, 60):
        whole = f"<think>\nhm\n</think>\n\nWell.{CALL}{OTHER}"
        parser = StreamParser(TAGS)
        for at in range(0, len(whole), size):
            parser.feed(whole[at : at + size])
        parser.finish("stop")
        assert parser.message == parse(whole, TAGS)


def test_the_end_of_reasoning_and_the_start_of_a_call_in_one_chunk():
    parser = StreamParser(TAGS)
    parser.feed("<think>")
    _, reasoning, made = joined(parser.feed(f"Write it.</think>{CALL}"))
    assert (reasoning, [call[1:] for call in made]) == ("Write it.", F)


def test_stream_equals_the_message_of_parse():
    whole = f"<think>\nhm\n</think>\n\nWell.\n{CALL}\n{OTHER}<|end|>"
    assert joined(iter_deltas(whole, TAGS)) == as_joined(parse(whole, TAGS, finish_reason="stop"))


def test_name_and_arguments_in_one_chunk_are_separate_deltas():
    deltas = list(iter_deltas([CALL], TAGS)) + list(iter_deltas(CALL, TAGS))
    first, *later = (delta for delta in deltas if isinstance(delta, ToolCallDelta))
    assert (first.name, first.arguments) == ("f", "")
    assert [delta.name for delta in later].count("f") == 1
    assert "".join(delta.arguments for delta in later) == '{"a": 1}' * 2


def test_no_beginning_of_the_arguments_is_json():
    so_far = ""
    for delta in iter_deltas(OTHER, TAGS):
        so_far += delta.arguments
        if so_far != G[1]:
            with pytest.raises(ValueError):
                json.loads(so_far)
    assert so_far == G[1]


def test_parsers_of_one_format_are_independent():
    one, two = StreamParser(TAGS), StreamParser(TAGS)
    for a, b in zip(f"x{CALL}", f"<think>{OTHER}", strict=False):
        one.feed(a)
        two.feed(b)
    assert calls(one) == F
    assert calls(two) == []


@pytest.mark.parametrize("fmt", [TAGS, UNMARKED, TAGGED, KIMI, PYTHON, HARMONY])
@pytest.mark.parametrize("unit", ["[f(a=", "{", '{"name": "f", "arguments": ', "<function=f>"])
def test_deep_and_hostile_output_is_text_or_an_issue(fmt, unit):
    parser = StreamParser(fmt)
    deltas = parser.feed("<call>" + unit * 5_000) + parser.feed(unit * 5_000)
    deltas += parser.finish("stop")
    assert joined(deltas) == as_joined(parser.message)
    assert "internal_error" not in kinds(parser)


def test_reasoning_uses_the_common_field_name():
    assert ReasoningDelta("hm").to_openai() == {"reasoning_content": "hm"}
    message = parse("<think>hm</think>x", TAGS).to_openai()
    assert message == {"role": "assistant", "content": "x", "reasoning_content": "hm"}


def test_text_after_a_call_does_not_lose_the_call():
    parser = fed(TAGS, f"Well.{CALL}<think>")
    assert (parser.message.content, calls(parser)) == ("Well.", F)


def test_without_its_special_tokens_a_call_is_text_and_not_lost():
    """Keep calls as text if the decoder skipped their markers."""
    unmarked = '{"name": "f", "arguments": {"a": 1}}'
    assert fed(TAGS, unmarked).message.content == unmarked
    assert calls(fed(UNMARKED, unmarked, tools=TOOLS)) == F


# Payload, in tags


def in_tags(*arguments, closer="</parameter>"):
    written = "".join(f"<parameter={key}>\n{value}\n{closer}\n" for key, value in arguments)
    return f"<tool_call>\n<function=f>\n{written}</function>\n</tool_call>"


def values(parser):
    (call,) = parser.message.tool_calls
    assert call.complete
    return json.loads(call.arguments)


@pytest.mark.parametrize(
    "value",
    ["x</parameter>y", "a < b", "</function>", "<![CDATA[x]]>", '"q"', "<parameter>", "</param"],
)
def test_value_in_tags_may_contain_its_closer(value):
    parser = fed(TAGGED, in_tags(("s", value), ("i", 1)), tools=TOOLS)
    assert values(parser) == {"s": value, "i": 1}
    assert set(kinds(parser)) <= {"ambiguous_marker"}


def test_whitespace_at_markers_is_optional():
    text = "<tool_call><function=f><parameter=s>1</parameter><parameter=i>2</parameter></function>"
    parser = fed(TAGGED, f"{text}</tool_call>", tools=TOOLS)
    assert (values(parser), parser.issues) == ({"s": "1", "i": 2}, [])


@pytest.mark.parametrize("value", ["    x = 1\n", "\n\nx", "\tx\n\n", " ", "\n", ""])
def test_string_in_tags_loses_one_line_break_on_each_side(value):
    assert values(fed(TAGGED, in_tags(("s", value)), tools=TOOLS)) == {"s": value}


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("s", "02134", "02134"),
        ("s", "true", "true"),
        ("s", '{"a": 1}', '{"a": 1}'),
        ("s", "null", "null"),
        ("i", "12", 12),
        ("b", "false", False),
        ("b", "False", False),
        ("o", '{"a": [1, "</parameter>"]}', {"a": [1, "</parameter>"]}),
        ("e", "1.50", 1.5),
        ("e", "02134", "02134"),
        ("e", "about 3", "about 3"),
        ("i", "twelve", "twelve"),
    ],
)
def test_schema_determines_the_type_of_a_value(key, text, value):
    parser = fed(TAGGED, in_tags((key, text)), tools=TOOLS)
    assert values(parser) == {key: value}
    assert type(values(parser)[key]) is type(value)
    # A value of another type is kept as text and reported.
    assert ("repaired_arguments" in kinds(parser)) == (text == "twelve")


def test_numbers_keep_their_text_in_tags():
    parser = fed(TAGGED, in_tags(("i", "9007199254740993"), ("e", "1.10")), tools=TOOLS)
    assert parser.message.tool_calls[0].arguments == '{"i": 9007199254740993, "e": 1.10}'


def test_python_calls_and_literals():
    parser = fed(PYTHON, "[f(s='it\\'s', b=True, e=None, o={'a': (1, 2)})]")
    assert values(parser) == {"s": "it's", "b": True, "e": None, "o": {"a": [1, 2]}}


def test_escaped_surrogate_pair_may_be_truncated_anywhere():
    call = '<call>{"name":"f","arguments":{"s":"\\uD83D\\uDE00"}}</call>'
    assert calls(fed(TAGS, call)) == [("f", '{"s":"\\uD83D\\uDE00"}')]
    for cut in range(len(call)):
        (*_, call_cut) = [*parse(call[:cut], TAGS, finish_reason="length").tool_calls, None]
        if call_cut is not None:
            json.dumps(call_cut.healed(), ensure_ascii=False).encode()


def test_lone_surrogate_in_a_name_or_id_becomes_u_fffd():
    name = r'{"name":"f\ud83d","arguments":{}}'
    assert calls(fed(TAGS, f"<call>{name}</call>")) == [("f\ufffd", "{}")]
    assert calls(fed(KEYED, r'<|calls|>[{"f\ud83d":{}}]<|/calls|>')) == [("f\ufffd", "{}")]
    listed = r'[CALLS][{"name":"f","arguments":{},"id":"\ud83dx"}]'
    assert fed(LIST, listed).message.tool_calls[0].id == "\ufffdx"


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        ("[1,2]", "[1,2]"),
        ("7", "'7'"),
        ("true", "true"),
        ('"[1,2]"', "[1,2]"),
        ('"some text"', "some text"),
        ('"{\\"a\\": 1} x"', "} x'"),
        ('"{\\"a\\": 12', "12"),
        ('"{\\"a\\": 12"', "12"),
    ],
)
@pytest.mark.parametrize("reason", ["stop", "length"])
def test_arguments_other_than_an_object_are_reported(arguments, reported, reason):
    ended = arguments[0] != '"' or (arguments[-1] == '"' and arguments[-2] != "\\")
    text = f'<call>{{"name":"f","arguments":{arguments}' + "}</call>" * ended
    parser = fed(TAGS, text, reason)
    assert [call.complete for call in parser.message.tool_calls] == [False]
    assert any(reported in issue.detail for issue in parser.issues)


def test_unused_members_of_a_call_are_reported():
    call = '{"name":"f","why":["so"],"type":"function","arguments":{},"arguments":{"b":2}}'
    parser = fed(TAGS, f"<call>{call}</call>")
    assert calls(parser) == [("f", "{}")]
    assert kinds(parser) == ["unused_member"]
    assert 'why: ["so"], ' in parser.issues[0].detail
    assert 'arguments: {"b":2}' in parser.issues[0].detail


def test_unescaped_quote_leaves_an_incomplete_call():
    parser = fed(TAGS, '<call>{"name":"f","arguments":{"cmd":"a "b" c"}}</call>')
    (call,) = parser.message.tool_calls
    assert (call.arguments, call.complete) == ('{"cmd":"a "', False)
    assert 'b" c"' in parser.issues[0].detail


@pytest.mark.parametrize(
    ("fmt", "text", "rest"),
    [
        (UNMARKED, '{"name": "f", "parameters": {"a": oops}} Hello', "oops}} Hello"),
        (PYTHON, "[f(a=oops()), g()] Hello", "oops()), g()] Hello"),
        (UNMARKED, '{"name": "f", "parameters": {"a": [1}} Hello<|end|>', "}} Hello"),
    ],
)
def test_text_after_a_broken_unmarked_call_is_content(fmt, text, rest):
    parser = fed(fmt, text, tools=TOOLS)
    assert [(call.name, call.complete) for call in parser.message.tool_calls] == [("f", False)]
    assert parser.message.content == rest
    assert kinds(parser) == ["malformed_arguments", "text_after_tool_call"]
    shown = fed(fmt, text, tools=TOOLS, policies=Policies(malformed_arguments="text"))
    assert shown.message.content == text.removesuffix("<|end|>")


def test_text_between_calls_of_a_list_is_text_after_a_call():
    call = '{"name": "f", "arguments": {}, "id": "1"}'
    other = call.replace('"1"', '"2"')
    parser = fed(LIST, f'[CALLS][{call}, {{"x": 1}}, {other}]\n\n  Done.')
    assert [type(part) for part in parser.message.parts] == [ToolCall, Content, ToolCall, Content]
    assert parser.message.content == ', {"x": 1}\n\n  Done.'
    assert kinds(parser) == ["text_after_tool_call"] * 2
    dropped = fed(LIST, f"[CALLS][{call}] x", policies=Policies(text_after_tool_call="drop"))
    assert dropped.message.content == ""


def test_arguments_in_any_order_missing_unknown_and_twice():
    parser = fed(TAGGED, in_tags(("i", 2), ("new", "x"), ("s", 1), ("i", 3)), tools=TOOLS)
    arguments = parser.message.tool_calls[0].arguments
    assert arguments == '{"i": 2, "new": "x", "s": "1", "i": 3}'
    assert parser.message.tool_calls[0].healed() == {"i": 3, "new": "x", "s": "1"}
    policies = Policies(duplicate_keys="error")
    with pytest.raises(MalformedOutput):
        parse(in_tags(("i", 2), ("i", 3)), TAGGED, tools=TOOLS, policies=policies)


def test_name_in_tags_may_be_an_unusual_name_of_any_tool():
    """Match the names of all tools if one contains unusual characters."""
    tools = [{"name": "f"}, {"name": "multi edit"}]
    text = in_tags(("s", "x")).replace("=f>", "=multi edit>")
    assert calls(fed(TAGGED, text, tools=tools)) == [("multi edit", '{"s": "x"}')]


@pytest.mark.parametrize(
    ("fmt", "text", "made"),
    [
        (TAGGED, "<function=f><parameter=s>1</parameter></function></tool_call>", '{"s": "1"}'),
        (TAGGED, "<function=f>\n<parameter=s>\n1\n</parameter>\n</function>", '{"s": "1"}'),
        (TAGS, CALL.removesuffix("</call>"), '{"a": 1}'),
    ],
)
def test_an_opening_or_a_closer_may_be_missing(fmt, text, made):
    parser = fed(fmt, text, tools=TOOLS)
    assert calls(parser) == [("f", made)]
    assert parser.message.content.strip() == ""


# Protocol


def test_indices_count_from_0_in_order():
    deltas = [d for d in iter_deltas([CALL + OTHER + CALL], TAGS) if isinstance(d, ToolCallDelta)]
    assert [delta.index for delta in deltas if delta.name] == [0, 1, 2]


def test_first_delta_of_a_call_has_its_only_id():
    made = [d for d in iter_deltas(CALL, TAGS) if isinstance(d, ToolCallDelta)]
    assert [bool(delta.id) for delta in made] == [True] + [False] * (len(made) - 1)
    assert re.fullmatch("call_[0-9a-z]{24}", made[0].id)
    nine = parse(CALL, TAGS, id_factory=mistral_call_id).tool_calls[0].id
    assert re.fullmatch("[0-9a-zA-Z]{9}", nine)


@pytest.mark.parametrize(
    ("text", "reason", "finish_reason"),
    [
        ("x", "stop", "stop"),
        (CALL, "stop", "tool_calls"),
        (CALL, "length", "length"),
        (CALL[:-20], None, "length"),
        ("x", "length", "length"),
        ("x", None, "stop"),
    ],
)
def test_the_reason_for_the_end(text, reason, finish_reason):
    assert fed(TAGS, text, reason).finish_reason == finish_reason


def test_openai_deltas_omit_absent_fields():
    for delta in iter_deltas(f"<think>\nhm\n</think>\n\nx{CALL}", TAGS):
        (given,) = delta.to_openai().values()
        assert given
        if isinstance(given, list) and delta.name is None:
            assert given == [{"index": 0, "function": {"arguments": delta.arguments}}]


# Dialects


@pytest.mark.parametrize(
    "header",
    [
        "<|start|>assistant to=functions.f<|channel|>commentary json<|message|>",
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>",
        "<|channel|>analysis to=functions.f<|message|>",
    ],
)
def test_a_header_in_channels_has_its_parts_in_any_order(header):
    """Check the order of the parts (more cases in test_channels.py)."""
    assert calls(fed(HARMONY, f"{header}{{}}<|call|>")) == [("f", "{}")]


@pytest.mark.parametrize("opened", ["", "<|tool_calls_section_begin|>"])
@pytest.mark.parametrize("closed", ["", "<|tool_calls_section_end|>"])
def test_a_section_may_be_left_open_or_out_and_ids_hold_names(opened, closed):
    made = [
        f"<|tool_call_begin|>functions.f:{at}<|tool_call_argument_begin|>{{}}<|tool_call_end|>"
        for at in range(2)
    ]
    parser = fed(KIMI, opened + "".join(made) + closed)
    found = [(call.id, call.name, call.arguments) for call in parser.message.tool_calls]
    assert found == [("functions.f:0", "f", "{}"), ("functions.f:1", "f", "{}")]
    assert (parser.message.content, parser.issues) == ("", [])


@pytest.mark.parametrize("number", ["1e+9", "1.5e-2", "2.0E5"])
@pytest.mark.parametrize("end", ["end:>", "e9>", "+end", ".5>", "e"])
def test_number_that_may_contain_a_closer_is_read_completely(number, end):
    fmt = TAGS.replace(tools={"per_call_end": end})
    arguments = f'{{"a": [{number}, "x"]}}'
    parser = fed(fmt, f'<call>\n{{"name": "f", "arguments": {arguments}}}{end}')
    assert calls(parser) == [("f", arguments)]
