"""The sections of a turn: what stands between them, and where what is read of them stands."""

from __future__ import annotations

import pytest

from deltaparse import CodeFormat, StreamParser, get_format

from ...strategies.wire_by_hand import CALL, TAGS, fed, kinds
from ...strategies.wire_channels import HARMONY

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
