"""Text after a call, and the issues about it."""

from __future__ import annotations

import pytest

from deltaparse import Issue, Policies

from ...strategies.wire_by_hand import CALL, TAGS, fed

AFTER = "text_after_tool_call"
END = len(CALL)
THINK = "<think>\nx\n</think>\n\n"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (" \nmore", [" \nmore"]),
        (" a <call> b <call> c", [" a ", "<call> b ", "<call> c"]),
        (" a <call>", [" a ", "<call>"]),
        ("\n<call>", ["\n<call>"]),
        (THINK + "more", []),
        ("", []),
    ],
)
@pytest.mark.parametrize("policy", ["keep", "drop"])
def test_each_text_after_a_call_is_reported(text, parts, policy):
    parser = fed(TAGS, CALL + text, policies=Policies(text_after_tool_call=policy))
    at, expected = END, []
    for part in parts:
        detail = "kept as content" if policy == "keep" else f"dropped: {part!r}"
        expected.append(Issue(AFTER, (at, at + len(part)), detail))
        at += len(part)
    assert parser.issues == expected
    kept = text.removeprefix(THINK) if policy == "keep" or not parts else ""
    assert (parser.message.content or "") == kept


def test_text_instead_of_json_is_reported():
    (issue,) = fed(TAGS, "  hm", calls="json").issues
    assert (issue.kind, issue.span) == ("stray_text", (2, 4))


def test_reasoning_ends_the_text_after_a_call():
    text = CALL + THINK + '<call>\n{"name": "f"} x'
    assert AFTER in [issue.kind for issue in fed(TAGS, text).issues]
    parser = fed(TAGS, CALL + THINK + "<call> x", policies=Policies(text_after_tool_call="drop"))
    assert (parser.message.content, parser.issues) == ("<call> x", [])
