"""Tests of the exact details and spans of issues, because people read them in logs."""

from __future__ import annotations

import pytest

from deltaparse import Policies, StreamParser, get_format

QWEN = get_format("qwen25")
CALL = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
IN_REASONING = "a call: reasoning did not end"
BEHIND = "a call follows the end of the turn"
END = "<|im_end|>"


@pytest.mark.parametrize(
    ("text", "issues"),
    [
        (
            f"Hi{END} more",
            [("text_after_end", (2, 12), f"{END!r} is content, because text follows it")],
        ),
        (
            f"<think>hm{END} more</think>Hi",
            [("text_after_end", (9, 19), f"{END!r} is reasoning, because text follows it")],
        ),
        (f"Hi{END}{CALL}", [("text_after_end", (12, 23), BEHIND)]),
        (
            f"<think>hm{CALL}{END}so{CALL}",
            [
                ("tool_in_reasoning", (9, 131), IN_REASONING),
                ("text_after_end", (64, 74), f"{END!r} is content, because text follows it"),
                ("text_after_tool_call", (64, 76), "kept as content"),
                ("text_after_end", (76, 87), BEHIND),
            ],
        ),
        (
            f"<think>hm{CALL} and <think> {CALL}",
            [
                ("tool_in_reasoning", (9, 132), IN_REASONING),
                ("text_after_tool_call", (64, 69), "kept as content"),
                ("tool_in_reasoning", (77, 119), IN_REASONING),
            ],
        ),
        (
            f"<think>hm{CALL}{END}so</think>Hi",
            [
                ("tool_in_reasoning", (9, 76), "kept as reasoning"),
                ("text_after_end", (64, 74), f"{END!r} is reasoning, because text follows it"),
            ],
        ),
        (
            CALL.replace("{}}", '{"a": [1'),
            [
                (
                    "repaired_arguments",
                    (48, 48),
                    "the brackets of the call of 'f' were closed: '<' after value",
                )
            ],
        ),
        (
            CALL.replace("{}}", '{"a": [1}'),
            [
                (
                    "malformed_arguments",
                    (0, 48),
                    "'}' after value in the call of 'f'; not emitted: '}'",
                )
            ],
        ),
    ],
)
def test_issue_detail_and_span(text, issues):
    assert told(text) == issues


def test_interrupting_call_after_the_turn_end_is_reported():
    text = f"<think>hm{END}{CALL}"
    assert told(text, tool_in_reasoning="call")[-1] == ("text_after_end", (19, 30), BEHIND)
    # The same after an apparent turn end in reasoning.
    text = f"<think>hm{END} so{CALL}"
    assert told(text, tool_in_reasoning="call") == [
        ("text_after_end", (9, 19), f"{END!r} is reasoning, because text follows it"),
        ("tool_in_reasoning", (22, 33), "a tool call interrupts the reasoning"),
        ("text_after_end", (22, 33), BEHIND),
        ("unclosed_reasoning", (77, 77), "the turn ended before the end of reasoning"),
    ]


def told(text, **policies):
    parser = StreamParser(QWEN, policies=Policies(**policies))
    parser.feed(text)
    parser.finish("stop")
    return [(issue.kind, issue.span, issue.detail) for issue in parser.issues]
