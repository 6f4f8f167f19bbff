"""Tests of formats whose calls a server constrained to plain JSON."""

from __future__ import annotations

import pytest

from deltaparse import ToolsFormat, get_format
from deltaparse.stream.wire.json_calls import in_json

GROUPS = ("turn", "reasoning", "content", "channels")
OF_CALLS = ("function", "arguments", "call_id", "code")


@pytest.mark.parametrize("name", ["hermes", "glm45", "kimi_k2", "gpt_oss", "llama3_json"])
def test_in_json_changes_only_the_calls(name):
    fmt = get_format(name)
    made = in_json(fmt)
    assert made.tools == ToolsFormat(
        format="JSON_NATIVE",
        array_wrapped=True,
        name_field="name",
        arguments_field="arguments",
        content_separator=fmt.tools.content_separator,
    )
    assert all(getattr(made, group) == getattr(fmt, group) for group in GROUPS)
    for group in OF_CALLS:
        of_call = getattr(made, group)
        # In channel formats the header carries the function name.
        left = getattr(fmt, group) if fmt.derived.has_channels else type(of_call)()
        assert of_call == left
