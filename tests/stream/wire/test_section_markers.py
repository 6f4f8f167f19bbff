"""Tests of the markers of sections."""

from __future__ import annotations

import pytest

from deltaparse import WireFormat
from deltaparse.stream.wire.section_markers import heads_of_calls

JSON = {"format": "JSON_NATIVE", "name_field": "name", "arguments_field": "arguments"}


@pytest.mark.parametrize(
    ("tools", "heads"),
    [
        ({"format": "PYTHONIC", "array_wrapped": True}, ["["]),
        ({"format": "PYTHONIC"}, []),
        (JSON, ['{"name": "', '{"name":"']),
        (JSON | {"array_wrapped": True}, ['[{"name": "', '[{"name":"']),
    ],
)
def test_heads_of_unmarked_calls_after_content(tools, heads):
    fmt = WireFormat().replace(tools=tools | {"behind_content": True})
    assert [one.literal for one in heads_of_calls(fmt)] == heads
    assert heads_of_calls(fmt.replace(tools={"behind_content": False})) == []
