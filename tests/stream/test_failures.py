"""What goes wrong in other parsers, case by case, and what is right."""

from __future__ import annotations

import json

import pytest

from deltaparse import Content, Policies, Reasoning, ReasoningFormat, StreamParser, ToolCall, parse

from .samples import BARE, CALL, DELIMITED, KEYED, LIST, OTHER, TAGS, WRAPPED, calls, fed, kinds
from .wire import joined

F = [("f", '{"a": 1}')]


# Chunks


def test_a_marker_split_over_chunks_is_found_and_does_not_leak():
    parser = StreamParser(TAGS)
    texts = ["hi <ca", 'll>{"name":"f","arguments":{}}</ca', "ll>"]
    given = [joined(parser.feed(text))[0] for text in texts]
    assert given == ["hi ", "", ""]
    parser.finish("stop")
    assert calls(parser) == [("f", "{}")]


def test_what_cannot_become_a_marker_is_released_at_once():
    parser = StreamParser(TAGS)
    assert [joined(parser.feed(text))[0] for text in ("a <ca", "b", "<")] == ["a ", "<cab", ""]


def test_several_events_in_one_chunk_all_come():
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


def test_name_and_arguments_come_as_soon_as_they_are_certain():
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


def test_finish_is_idempotent_and_nothing_comes_after_the_arguments():
    parser = StreamParser(TAGS)
    parser.feed(CALL)
    assert parser.feed(" \n") == []
    assert parser.finish("stop") == []
    assert parser.finish("stop") == []


def test_arguments_are_passed_on_as_spelled():
    arguments = '{"b":1,  "a":false, "e": "\\u00e9\\/", "n": 1.10, "big": 9007199254740993}'
    assert calls(fed(TAGS, f'<call>{{"name":"f","arguments":{arguments}}}</call>')) == [
        ("f", arguments)
    ]


# Reasoning


def test_a_call_in_reasoning_that_goes_on_is_reasoning():
    parser = fed(TAGS, f"<think>maybe {CALL} no</think>ok")
    assert parser.message.parts == [Reasoning(f"maybe {CALL} no"), Content("ok")]
    assert kinds(parser) == ["tool_in_reasoning"]
    assert parser.finish_reason == "stop"


def test_a_call_after_which_reasoning_never_ends_is_a_call():
    parser = fed(TAGS, f"<think>let me look{CALL}")
    assert parser.message.reasoning_content == "let me look"
    assert calls(parser) == F
    assert parser.finish_reason == "tool_calls"


def test_a_call_in_reasoning_that_is_cut_off_stays_reasoning():
    parser = fed(TAGS, f"<think>let me look{CALL}", "length")
    assert parser.message.parts == [Reasoning(f"let me look{CALL}")]
    assert parser.finish_reason == "length"


def test_a_closing_marker_in_a_string_of_a_deferred_call_does_not_end_reasoning():
    call = '<call>{"name":"f","arguments":{"x":"</think>"}}</call>'
    assert calls(fed(TAGS, f"<think>now {call}")) == [("f", '{"x":"</think>"}')]


def test_the_word_for_a_call_in_reasoning_is_not_a_call():
    parser = fed(TAGS, "<think>I could use <call> here</think>x")
    assert parser.message.reasoning_content == "I could use <call> here"
    assert parser.issues == []


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_reasoning_that_is_not_closed_is_reasoning(reason):
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
def test_the_prompt_sets_the_state_and_gives_nothing(prompt, content, reasoning):
    message = fed(TAGS, "sum</think>4", prompt=prompt).message
    assert (message.content, message.reasoning_content) == (content, reasoning)


def test_a_marker_that_begins_in_the_prompt_is_read():
    parser = fed(TAGS, "ink>so</think>x", prompt="<|start|>model\n<th")
    assert parser.message.parts == [Reasoning("so"), Content("x")]


def test_a_call_that_begins_in_the_prompt_is_announced():
    parser = fed(
        TAGS, " 1}}</call>", prompt='<|start|>model\n<call>{"name": "f", "arguments": {"a":'
    )
    assert calls(parser) == [("f", " 1}")]


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


def test_a_start_marker_that_the_prompt_had_already_is_left_out():
    parser = fed(TAGS, "<think>\nhm</think>x", prompt="<|start|>model\n<think>\n")
    assert parser.message.parts == [Reasoning("hm"), Content("x")]
    assert kinds(parser) == ["repeated_marker"]


# Text round calls


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
def test_what_is_no_call_is_text(text):
    parser = fed(TAGS, text)
    assert parser.message.content == text
    assert parser.finish_reason == "stop"


def test_with_no_tools_or_choice_none_tool_syntax_is_text():
    assert fed(TAGS, CALL, tools=[]).message.content == CALL
    assert fed(TAGS, CALL, tool_choice="none").message.content == CALL


def test_an_end_of_turn_string_is_trimmed_also_when_split():
    assert fed(TAGS, "ok<|end|>").message.content == "ok"
    assert fed(TAGS, f"{CALL}<|end|>").message.content == ""


def test_the_closer_that_is_the_stop_string_never_comes():
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


def test_bytes_that_are_no_text_become_the_replacement_character():
    parser = StreamParser(TAGS)
    parser.feed(b"a\xff\xf0\x9f")
    parser.finish("stop")
    assert parser.message.content == "a\ufffd\ufffd"


def test_the_header_written_again_is_left_out():
    parser = fed(TAGS, "<|start|>model\nHello")
    assert parser.message.content == "Hello"
    assert kinds(parser) == ["repeated_marker"]


def test_a_header_after_the_end_is_left_out_and_text_after_it_told():
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


def test_arguments_in_a_string_come_as_the_json_they_hold():
    inner = {"q": 'a "b" \\ é', "n": [1, {"x": "😀"}]}
    text = json.dumps(json.dumps(inner))
    parser = fed(TAGS, f'<call>{{"name":"f","arguments":{text}}}</call>')
    assert json.loads(parser.message.tool_calls[0].arguments) == inner
    assert parser.message.tool_calls[0].complete


def test_an_id_after_the_arguments_is_the_calls_id():
    text = '[CALLS][{"name": "f", "arguments": {"a": 1}, "id": "k3Qz81abC"}]'
    assert fed(LIST, text).message.tool_calls == [ToolCall("k3Qz81abC", "f", '{"a": 1}', True)]


def test_a_number_as_id_and_fields_of_other_names():
    text = '<plan>so</plan><act>[\n  {"number": 0, "tool": "f", "input": {"a": 1}}\n]</act>'
    parser = fed(WRAPPED, text)
    assert parser.message.parts == [Reasoning("so"), ToolCall("0", "f", '{"a": 1}', True)]


def test_content_in_markers():
    assert fed(WRAPPED, "<answer>Hi\n</answer><|end|>").message.content == "Hi\n"
    assert fed(WRAPPED, "Hi").message.content == "Hi"


def test_the_name_as_key_also_for_several_calls_in_one_object():
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
def test_brackets_that_are_missing_or_too_many_are_mended(bad, arguments):
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
def test_nearly_json_is_handed_on_as_json(bad, arguments, repairs):
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
def test_arguments_that_cannot_be_mended_leave_an_incomplete_call(bad):
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
        ('<call>{"name":"f","arguments":{"a":1}', '{"a":1}', {"a": 1}),
    ],
)
def test_a_call_that_is_cut_off_says_so(text, arguments, healed):
    parser = fed(TAGS, text, "length")
    (call,) = parser.message.tool_calls
    assert (call.name, call.arguments, call.complete) == ("f", arguments, False)
    assert call.healed() == healed
    assert parser.finish_reason == "length"
    assert kinds(parser) == ["truncated_call"]


def test_a_call_cut_before_its_name_is_told_and_not_shown():
    parser = fed(TAGS, 'So: <call>\n{"name": "get_wea', "length")
    assert parser.message.parts == [Content("So: ")]
    assert "get_wea" in parser.issues[0].detail


def test_a_separator_that_no_call_follows_is_text():
    assert fed(TAGS, f"{CALL.removesuffix('</call>')}, then").message.content == "\n, then"
    parser = fed(LIST, '[CALLS][{"name": "f", "arguments": {}, "id": "1"},]')
    assert (calls(parser), parser.message.content) == ([("f", "{}")], "")


def test_an_unknown_tool_is_flagged_and_passed_on():
    parser = fed(TAGS, CALL, tools=[{"type": "function", "function": {"name": "g"}}])
    assert calls(parser) == F
    assert kinds(parser) == ["unknown_tool"]


def test_an_orphan_closer_is_left_out_only_after_a_call():
    assert fed(TAGS, f"{CALL}</call>").message.content == ""
    assert fed(TAGS, "a</call>").message.content == "a</call>"


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
    assert fed(BARE, text).message.content == text


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "f", "parameters": {"a": 1}}',
        '\n{"parameters": {"a": 1}, "name": "f"}\n',
        '{"type": "function", "name": "f", "arguments": {"a": 1}}<|end|>',
    ],
)
def test_an_object_with_name_and_arguments_at_the_start_is_a_call(text):
    parser = fed(BARE, text)
    assert calls(parser) == F
    assert parser.message.content == ""


def test_bare_calls_one_after_the_other():
    call = '{"name": "f", "parameters": {"a": 1}}'
    assert calls(fed(BARE, f"{call}; {call}\n{call}")) == F * 3


def test_with_a_response_schema_json_is_content():
    text = '{"name": "f", "parameters": {"a": 1}}'
    assert fed(BARE, text, response_schema={"type": "object"}).message.content == text


# Forced open by the format alone


def test_a_format_that_opens_reasoning_needs_no_prompt():
    forced = TAGS.replace(
        reasoning=ReasoningFormat(mode="FORCED_OPEN", start="<think>\n", end="</think>"),
        turn={"generation_prompt": "<|start|>model\n<think>\n"},
    )
    assert parse("hm</think>x", forced).parts == [Reasoning("hm"), Content("x")]
    bare = TAGS.replace(reasoning=ReasoningFormat(mode="FORCED_OPEN", end="</think>"))
    assert parse("hm</think>x", bare).parts == [Reasoning("hm"), Content("x")]
