"""Content: what of it are markers, and what is text that looks like one."""

from __future__ import annotations

import pytest

from ...strategies.wire_by_hand import TAGS, fed

LINES = TAGS.replace(reasoning={"start": "\n<think>\n"})


@pytest.mark.parametrize(
    ("text", "content", "reasoning"),
    [
        ('"\n<think>\na\n</think>\n\nb', '"b', "a"),
        ("'<think>' b", "'<think>' b", ""),
    ],
)
def test_a_start_of_reasoning_is_text_right_behind_a_quotation_mark(text, content, reasoning):
    parser = fed(LINES, text)
    assert parser.message.content == content
    assert parser.message.reasoning_content == reasoning
