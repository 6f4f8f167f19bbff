"""The next call after a call, in its usual notation."""

from __future__ import annotations

import pytest

from deltaparse import get_format

from ....strategies.wire_by_hand import calls, fed, kinds

FMT = get_format("qwen3")
HEAD = "<|im_start|>assistant\n"
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
F, EMPTY = ("f", '{"a": 1}'), ("f", "{}")


def test_each_call_after_the_turn_end_is_reported():
    text = f"a<|im_end|>{CALL}\n{CALL}\n{CALL}"
    parser = fed(FMT, text)
    assert calls(parser) == [F] * 3
    assert kinds(parser) == ["text_after_end"] * 3
    for issue in parser.issues:
        assert text[slice(*issue.span)] == "<tool_call>"


@pytest.mark.parametrize(
    ("prompt", "text", "made", "content"),
    [
        (CALL + '\n<tool_call>\n{"name":', ' "f", "arguments": {}}\n</tool_call>', [EMPTY], None),
        (CALL + "\n<tool_", 'call>\n{"name": "f", "arguments": {}}', [EMPTY], None),
        (CALL + "\n<tool_call>", '\n{"name": "f", "arguments": {}}', [EMPTY], None),
        (CALL + "\n<tool_", "call> x", [], "call> x"),
        (CALL + "\n", "x", [], "x"),
        (
            '<tool_call>\n{"n',
            f'ame": "f", "arguments": {{}}}}\n</tool_call>\n{CALL} x',
            [EMPTY, F],
            " x",
        ),
    ],
)
def test_call_started_in_the_prompt_is_emitted_without_the_rest(prompt, text, made, content):
    parser = fed(FMT, text, prompt=HEAD + prompt)
    assert calls(parser) == made
    assert (parser.message.content or None) == content
