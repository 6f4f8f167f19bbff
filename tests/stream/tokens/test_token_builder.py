"""Token ranges of the parts of a message."""

from __future__ import annotations

import pytest

from deltaparse import get_format

from ...strategies.token_texts import CALL, HERMES, QWEN, TOOLS, Text

FMT = get_format("qwen3")


def test_bypassing_text_in_arguments_is_not_content():
    text = Text(FMT, HERMES, ["Hi", *CALL[:13], " so", " it", " goes"])
    parser = text.parser(tools=TOOLS)
    for id in text.ids:
        parser.feed(id)
        assert set(parser.roles[1:]) <= {"marker", "name", "arguments"}


@pytest.mark.parametrize("markers", ["text", "either"])
def test_call_starts_with_the_first_token_of_its_marker(markers):
    text = Text(FMT, [], [*"<tool_call>", *CALL[1:-1], "</tool_call>"])
    parser = text.parser(tools=TOOLS, markers=markers)
    first = next(delta for id in text.ids for delta in parser.feed(id))
    assert first.tokens[0] == 0
    parser.finish("stop")
    (call,) = parser.message.tool_calls
    assert call.tokens[0] == 0


def test_call_begun_in_the_prompt_starts_with_the_response():
    text = Text(FMT, HERMES, [*CALL[1:-1], "</tool_call>"])
    prompt = "<|im_start|>assistant\n<tool_call>"
    parser = text.read(tools=TOOLS, markers="either", prompt=prompt)
    (call,) = parser.message.tool_calls
    assert (call.complete, call.tokens[0], call.span[0]) == (True, 0, 0)
    (issue,) = parser.issues
    assert (issue.kind, issue.span[0]) == ("spelled_marker", 0)


HEAD = '<|im_start|>assistant\n<tool_call>\n{"name": "f", "arguments": {"a": '


@pytest.mark.parametrize(
    ("prompt", "tokens", "spans"),
    [
        ("<|im_start|>assistant\n<think>\nhm", [" so", "</think>", "Hi", "!"], [(0, 1), (2, 4)]),
        (HEAD, ['"x', '"', "}}\n", "</tool_call>"], [(0, 3)]),
        (f'{HEAD}"x"}}}}\n</tool_call>', ["\n", "Hi"], [(0, 2)]),
    ],
)
def test_parts_of_the_prompt_take_no_tokens(prompt, tokens, spans):
    parser = Text(FMT, HERMES, tokens).read(tools=TOOLS, prompt=prompt)
    assert [part.tokens for part in parser.message.parts] == spans


def test_parts_are_not_kept_without_a_message():
    text = Text(FMT, HERMES, QWEN.tokens[:-1] * 50)
    parser = text.parser(tools=TOOLS, collect=False)
    for id in text.ids:
        parser.feed(id)
        assert len(parser._recorder.parts) <= 1
    kept = text.read(tools=TOOLS)
    assert len(kept.message.parts) == len(kept._recorder.parts) == 100
    parser.finish("stop")
    assert parser.roles == kept.roles
