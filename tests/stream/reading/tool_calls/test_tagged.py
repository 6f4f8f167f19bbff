"""Arguments in tags: a string comes out while it is written."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from deltaparse import StreamParser, ToolCallDelta

from ....strategies.wire_json_and_tags import TOOLS, tagged_formats, write
from ....strategies.wire_parts import Written, markers_of


@given(
    fmt=tagged_formats(kinds=["TAG_WITH_TAGGED"], streamed=True),
    text=st.text("ab<[/\n> é", max_size=60),
)
def test_7_a_string_in_tags_is_held_back_no_longer_than_what_ends_it(fmt, text):
    text = "é" + text  # which no marker has
    wire = write(fmt, Written("", "", (("f", {"s": text}),)))
    start = wire.rindex(text)
    longest = 2 * max(map(len, markers_of(fmt))) + 8
    parser = StreamParser(fmt, tools=TOOLS)
    seen = "".join(
        delta.arguments for delta in parser.feed(wire[:start]) if isinstance(delta, ToolCallDelta)
    )
    for at, char in enumerate(text, 1):
        seen += "".join(delta.arguments for delta in parser.feed(char))
        value = json.loads(seen + '"}')["s"] if seen.count('"') > 2 else ""
        assert text[:at].startswith(value)
        assert at - len(value) <= longest
