"""Tests of the issues of messages and calls."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import StreamParser, get_format, parse

CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
QWEN = get_format("qwen25")


def kinds(text, fmt=QWEN):
    return [sorted(call.issues) for call in parse(text, fmt, finish_reason="stop").tool_calls]


def test_call_has_only_issues_about_its_own_text():
    odd = CALL.replace('"a": 1}', '"a": 1}, "why": 2')
    assert kinds(f"{CALL}{odd}{CALL}") == [[], ["unused_member"], []]
    assert kinds(f"<think>{CALL}</think>{CALL}") == [[]]
    assert kinds(f"<think>{CALL} and {CALL}") == [["tool_in_reasoning"], ["tool_in_reasoning"]]


@pytest.mark.parametrize("between", ["", "\n", "<|im_start|>assistant\n", "x", "<think></think>"])
def test_call_after_the_turn_end_is_reported(between):
    assert kinds(f"{CALL}<|im_end|>{between}{CALL}<|im_end|>\n") == [[], ["text_after_end"]]


@pytest.mark.parametrize(
    "members",
    [
        '"name": "f", "name": "g", "arguments": {}',
        '"name": "f", "name": "f", "arguments": {}',
        '"name": "f", "name": null, "arguments": {}',
        '"name": null, "name": "f", "arguments": {}',
        '"name": "f", "arguments": {}, "arguments": {}',
        '"name": "f", "arguments": {}, "arguments": null',
        '"name": "f", "arguments": null, "arguments": {}',
        r'"name": "f", "arguments": {}, "argum\u0065nts": {}',
    ],
)
def test_duplicate_member_is_reported(members):
    assert kinds(f"<tool_call>\n{{{members}}}\n</tool_call>") == [["unused_member"]]


@given(st.lists(st.sampled_from([CALL, "<think>", "</think>", "<|im_end|>", "x", '{"name"'])))
def test_message_has_the_issues_of_its_parser(chunks):
    def made(fed):
        parser = StreamParser(QWEN)
        for chunk in fed:
            parser.feed(chunk)
        parser.finish("stop")
        assert parser.message.issues == tuple(parser.issues)
        return [(call.span, call.issues) for call in parser.message.tool_calls]

    calls = made(chunks)
    assert calls == made("".join(chunks))
    found = {issue.kind for issue in parse("".join(chunks), QWEN, finish_reason="stop").issues}
    assert all(issues <= found for _, issues in calls)
