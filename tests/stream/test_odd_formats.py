"""Formats of hostile templates, whose markers are equal, missing or prefixes of one another.

Ranks decide the meaning of such markers. The invariants always hold.
"""

from __future__ import annotations

import json

from hypothesis import assume, given
from hypothesis import strategies as st

from deltaparse import (
    FormatError,
    ReasoningFormat,
    ReasoningMode,
    ToolsFormat,
    TurnFormat,
    WireFormat,
    parse,
)

from ..hangs import no_hang
from ..strategies.requests import options, reasons
from ..strategies.wire_families import any_text
from ..support import cuts
from .invariants import check_1_and_2, check_5

CALLS = ['{"name": "f", "arguments": {}}', '[{"name": "f", "arguments": {"a": 1}}]', 'f(a="b")']
WORDS = ["x", " ", "\n", "f", "{}", "{", '"', *CALLS]
GROUPS = ("turn", "reasoning", "content", "tools", "function", "arguments", "call_id", "channels")


def markers_in(document):
    """Return the markers of a format's JSON document, with their group and name."""
    return [
        (group, name, found)
        for group in GROUPS
        for name, value in document[group].items()
        for found in (value if isinstance(value, list) else [value])
        if isinstance(found, str) and found.strip() and not name.endswith(("mode", "format"))
    ]


@st.composite
def odd_cases(draw):
    """Draw a format with some markers replaced by its other markers, and a text of them."""
    fmt, text = draw(any_text)
    document = json.loads(fmt.to_json())
    mixed = []
    for _ in range(draw(st.integers(1, 3))):
        (group, name, old), (*_, new) = (draw(st.sampled_from(markers_in(document))) for _ in "ab")
        new = draw(st.sampled_from([new, new, new.strip(), new[:-1], new + old, ""]))
        is_list = isinstance(document[group][name], list)
        document[group][name] = [new] if is_list else new
        mixed += [new, old]
    document["reasoning"]["mode"] = draw(st.sampled_from([fmt.reasoning.mode, *ReasoningMode]))
    try:
        fmt = WireFormat.from_json(json.dumps(document))
    except FormatError:
        assume(False)
    others = [*WORDS, text, *(marker for *_, marker in markers_in(document))]
    parts = draw(st.lists(st.sampled_from(others), max_size=3))
    parts += draw(st.lists(st.sampled_from(mixed), min_size=1, max_size=2))
    return fmt, "".join(draw(st.lists(st.sampled_from(parts), max_size=8)))


@given(case=odd_cases(), kw=options, reason=reasons, data=st.data())
def test_invariants_hold_for_odd_formats(case, kw, reason, data):
    fmt, text = case
    with no_hang():
        check_1_and_2(fmt, text, (list(text), data.draw(cuts(text))), reason, **kw)
        check_5(parse(text, fmt, finish_reason=reason, **kw))


def test_turn_end_equal_to_a_reasoning_start_terminates():
    fmt = WireFormat(
        turn=TurnFormat(headers=("<h>",), ends=("<e>",)),
        reasoning=ReasoningFormat(mode="TAG_BASED", start="<e>", end="<r>"),
        tools=ToolsFormat(
            format="JSON_NATIVE",
            section_start="<c>",
            section_end="</c>",
            name_field="name",
            arguments_field="arguments",
        ),
    )
    with no_hang():
        message = parse("<e><e><e>a", fmt)
    assert message.reasoning_content == "<e>a"


def test_marker_that_starts_with_a_bracket_is_not_a_list():
    fmt = WireFormat(
        reasoning=ReasoningFormat(mode="TAG_BASED", start="[T]", end="[/T]"),
        tools=ToolsFormat(
            format="JSON_NATIVE",
            per_call_start="[TOOL]",
            per_call_end="[/TOOL]",
            name_field="name",
            arguments_field="arguments",
        ),
    )
    message = parse("[T]a[TOOL][/T]hello", fmt)
    assert (message.reasoning_content, message.content) == ("a[TOOL]", "hello")
    assert parse('[TOOL][{"name": "f"}]', fmt).tool_calls
