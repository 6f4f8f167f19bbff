"""The sections of a turn: what stands between them, and where what is read of them stands."""

from __future__ import annotations

import pytest

from deltaparse import CodeFormat, StreamParser, get_format

from ...strategies.wire_by_hand import CALL, DELIMITED, OTHER, TAGS, calls, fed, kinds
from ...strategies.wire_channels import HARMONY

F = ("f", '{"a": 1}')
CODE = TAGS.replace(code=CodeFormat(start="<|code|>", function="python"))


def test_what_may_begin_a_marker_is_content_where_no_call_stands_before_it():
    parser = fed(TAGS, "<")
    assert (parser.message.content, parser.issues) == ("<", [])


def test_a_marker_of_code_behind_the_end_of_the_turn_is_text_with_that():
    text = "a<|end|><|code|>\n"
    parser = fed(CODE, text)
    assert parser.message.content == text
    assert kinds(parser) == ["text_after_end", "text_after_end"]


@pytest.mark.parametrize("prompt", ["", "<|start|>model\n<think>\n"])
def test_a_call_in_reasoning_that_does_not_end_is_where_it_stands(prompt):
    text = "<think>\nso "[8 if prompt else 0 :] + CALL
    (tried,) = fed(TAGS, text, prompt=prompt).attempts
    assert text[slice(*tried.span)] == CALL.removesuffix("\n</call>")


def test_another_role_behind_the_header_is_waited_for():
    fmt = get_format("llama3_json")
    header = "<|start_header_id|>{}<|end_header_id|>\n\n"
    text = "a<|eot_id|>" + header.format("assistant") + header.format("user")
    call = '{"name": "f", "parameters": {}}'
    assert fed(fmt, text + call, tools=[{"name": "f"}]).message.tool_calls == []
    start = '<|start|>user\n<call>\n{"name": "f", "arguments": {}}\n</call>'
    parser = fed(TAGS, "a<|end|><|start|>model\n" + start)
    assert parser.message.content == "a" + start


@pytest.mark.parametrize(
    ("fmt", "head"), [(TAGS, ""), (HARMONY, "<|channel|>final<|message|>")], ids=["turn", "message"]
)
def test_white_space_before_calls_in_json_is_not_kept(fmt, head):
    parser = StreamParser(fmt, calls="json", collect=False)
    parser.feed(head)
    for _ in range(1000):
        parser.feed(" " * 8)
        assert parser.held < 1000


@pytest.mark.parametrize("cut", range(len(CALL)))
def test_a_call_in_reasoning_that_the_prompt_began_is_what_it_is_elsewhere(cut):
    begun, rest = CALL[:cut], CALL[cut:]
    reasoned = fed(TAGS, rest, prompt="<|start|>model\n<think>\n" + begun)
    assert calls(reasoned) == calls(fed(TAGS, rest, prompt="<|start|>model\n" + begun))
    assert calls(reasoned) == [F] * (cut < len(CALL.removesuffix("\n</call>")))


def test_a_call_in_reasoning_that_the_prompt_holds_is_none_of_the_output():
    prompt = f"<|start|>model\n<think>\n{CALL} so {OTHER[:9]}"
    parser = fed(TAGS, OTHER[9:], prompt=prompt)
    assert [call.name for call in parser.message.tool_calls] == ["g"]
    parser = fed(TAGS, OTHER[9:] + "\n</think>\n\nx", prompt=prompt)
    assert parser.message.reasoning_content == OTHER[9:]


def test_a_call_in_reasoning_that_the_prompt_holds_is_not_kept():
    prompt = f"<|start|>model\n<think>\n{CALL}"
    parser = StreamParser(TAGS, prompt=prompt, collect=False)
    parser.feed("so\n</think>\n\n")
    for _ in range(100):
        parser.feed("text " * 10)
        assert parser.held < 100


def test_a_call_in_reasoning_that_every_turn_begins_with_is_one():
    parser = fed(DELIMITED, "hm " + CALL)
    assert (parser.message.reasoning_content, calls(parser)) == ("hm ", [F])


def test_a_marker_that_is_cut_behind_a_call_in_reasoning_is_no_text():
    parser = fed(TAGS, "<think>\n a " + CALL.removesuffix("/call>"))
    assert (parser.message.content, calls(parser)) == ("", [F])
    assert kinds(parser) == ["tool_in_reasoning", "cut_marker"]


def test_white_space_before_text_behind_a_call_in_reasoning_is_that_texts():
    assert fed(TAGS, f"<think>\n a {CALL}\n b").message.content == "\n b"


def test_white_space_alone_is_content():
    assert fed(TAGS, " \n").message.content == " \n"


def test_an_end_of_the_turn_is_no_call_behind_one():
    parser = fed(TAGS, "<|end|><|start|>model\n<|end|> more")
    assert parser.message.content == "<|end|> more"
    assert kinds(parser) == ["repeated_marker", "text_after_end", "text_after_end"]


def test_a_closer_at_the_beginning_is_content_with_the_text_behind_it():
    parser = fed(TAGS, "</call>?")
    assert (parser.message.content, parser.issues) == ("</call>?", [])


def test_an_end_of_the_turn_is_content_with_the_closer_and_the_text_behind_it():
    parser = fed(TAGS, "a<|end|></call>b" + CALL)
    assert (parser.message.content, calls(parser)) == ("a<|end|></call>b", [F])
    assert kinds(parser) == ["text_after_end", "text_after_end"]


@pytest.mark.parametrize("several", [False, True])
def test_a_header_behind_the_end_is_no_repetition_where_a_turn_has_several_messages(several):
    fmt = TAGS.replace(turn={"several_messages": several})
    parser = fed(fmt, "a<|end|><|start|>model\n" + CALL)
    assert (parser.message.content, calls(parser)) == ("a", [F])
    assert kinds(parser) == ([] if several else ["repeated_marker", "text_after_end"])


def test_an_end_of_reasoning_before_a_call_in_json_is_no_stray_token():
    parser = fed(TAGS, '</think>\n\n{"name": "f", "arguments": {"a": 1}}', calls="json")
    assert (calls(parser), parser.issues) == ([F], [])


def test_a_part_may_be_calls_where_an_earlier_one_was_text():
    fmt = get_format("functionary_v32")
    parser = fed(fmt, 'all\nSo:\n>>> x\n{"a": 2}\n>>>all\nYes>>>f\n{"a": 1}')
    assert parser.message.content == 'So:\n>>> x\n{"a": 2}\nYes'
    assert calls(parser) == [F]
