"""Calls that are JSON objects."""

from __future__ import annotations

import pytest

from deltaparse import Policies, StreamParser, WireFormat, get_format

from ....hangs import no_hang
from ....strategies.wire_by_hand import fed


def test_a_number_that_waits_for_more_does_not_hang_behind_what_may_be_a_marker():
    fmt = WireFormat().replace(
        tools={
            "format": "JSON_NATIVE",
            "name_is_key": True,
            "array_wrapped": True,
            "per_call_start": "[do]",
            "per_call_end": "[/do]",
        }
    )
    arguments = '{"open": "[", "small": 2.5e-07, "yes": true}'
    with no_hang():
        message = fed(fmt, f'[do][{{"f": {arguments}}}][/do]').message
    assert [call.arguments for call in message.tool_calls] == [arguments]


@pytest.mark.parametrize("policy", ["repair", "strict"])
@pytest.mark.parametrize("key", ['"arguments"', '"other"'])
def test_a_key_that_no_colon_follows_is_reported(policy, key):
    text = f'<tool_calls>[{{"name": "f", {key}w: 1}}]</tool_calls>'
    parser = StreamParser(get_format("apriel"), policies=Policies(malformed_arguments=policy))
    for char in text:
        parser.feed(char)
    parser.finish("stop")
    (issue,) = [issue for issue in parser.issues if issue.kind != "missing_arguments"]
    assert f"{key}w" in issue.detail
