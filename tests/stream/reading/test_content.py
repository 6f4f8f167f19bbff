"""Content, and markers in it."""

from __future__ import annotations

import pytest

from ...strategies.wire_by_hand import TAGS, calls, fed, kinds

CALL = '<call>\n{"name": "f", "arguments": {}}\n</call>'


@pytest.mark.parametrize("begun", [0, 3, 6, 10])
def test_a_call_behind_the_end_is_reported_where_it_stands_in_the_output(begun):
    prompt, text = "<|start|>model\na<|end|>" + CALL[:begun], CALL[begun:]
    parser = fed(TAGS, text, prompt=prompt)
    assert calls(parser) == [("f", "{}")]
    for issue in parser.issues:
        assert 0 <= issue.span[0] <= issue.span[1] <= len(text)
    if begun < len("<call>"):
        assert kinds(parser) == ["text_after_end"]
