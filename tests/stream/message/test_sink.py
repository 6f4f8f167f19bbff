"""What is reported where the prompt began what the output goes on with."""

from __future__ import annotations

import pytest

from deltaparse import StreamParser

from ...strategies.wire_by_hand import TAGS, kinds

BAD = '<call>\n{"name": "f", "arguments": {"a": oops}}\n</call>'


@pytest.mark.parametrize("begun", range(0, BAD.index("oops"), 4))
def test_an_issue_counts_from_the_output(begun):
    prompt, text = f"<|start|>model\n{BAD[:begun]}", BAD[begun:]
    parser = StreamParser(TAGS, prompt=prompt)
    parser.feed(text)
    parser.finish("stop")
    (issue,) = parser.issues
    assert issue.kind == "malformed_arguments"
    assert issue.span == (0, text.index("\n</call>"))


def test_what_was_wrong_in_the_prompt_is_not_reported():
    parser = StreamParser(TAGS, prompt=f"<|start|>model\n{BAD}{BAD}")
    parser.feed("text")
    parser.finish("stop")
    assert kinds(parser) == ["text_after_tool_call"]
    assert (parser.attempts, parser.message.tool_calls) == ([], [])
