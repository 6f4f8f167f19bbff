"""Tests of the written response templates with the parser of transformers.

The property: for every output in every format with a response template, transformers parses the
same message as this library, or `response_template_limits` names the difference.
"""

from __future__ import annotations

import json
from itertools import zip_longest

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import deltaparse as dp
from deltaparse.analyzer.transformers_parser import judge
from deltaparse.testing import outputs

from ..strategies.wire_families import FAMILIES
from ..strategies.wire_named import WIRES

pytestmark = pytest.mark.transformers

PARTS = {
    "several messages of reasoning or of content in one turn: the last one counts",
    "text outside of the markers of content",
}
NO_IDS = "ids after the arguments"
NO_CODE = "code that calls a function"
NOT_BEHIND_CODE = "code after its marker"
NOTHING_BETWEEN = "calls in a row without a separator"
BARE_NAMES = "names without quotes that are not words or follow whitespace"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": {key: {"type": kind}}},
        },
    }
    for name, key, kind in (("f", "city", "string"), ("g", "n", "integer"))
]
WRITTEN = [family for family in FAMILIES if family.name not in ("Python", "code")]


def written(fmt):
    """Return the response template of a format, or None."""
    try:
        return dp.to_response_template(fmt)
    except dp.FormatError:
        return None


EXACT = 2**53
"""Beyond it transformers rounds integers as floats do."""


def same(mine, theirs):
    """Return True if two values are equal. 1 and True are different."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return mine.keys() == theirs.keys() and all(same(mine[key], theirs[key]) for key in mine)
    if isinstance(mine, list) and isinstance(theirs, list):
        return all(same(*pair) for pair in zip_longest(mine, theirs, fillvalue=same))
    if isinstance(mine, int) and isinstance(theirs, int) and abs(mine) > EXACT:
        return float(mine) == float(theirs)
    return mine == theirs and isinstance(mine, bool) is isinstance(theirs, bool)


def assert_same(fmt, template, text, tools, prompt):
    """Check that transformers and this library parse an output to the same message."""
    ours = dp.parse(text, fmt, tools=tools, prompt=prompt)
    limits = dp.response_template_limits(fmt)
    calls = ours.tool_calls
    if NO_CODE in limits:
        assume(fmt.code.function not in {call.name for call in calls})
    assume(NOT_BEHIND_CODE not in limits or fmt.code.start.strip() not in text)
    read = judge().reader(template)
    assert not isinstance(read, str), read
    theirs = read([text], prompt, tools)
    if isinstance(theirs, str) and (NOTHING_BETWEEN in limits or BARE_NAMES in limits):
        assert calls
        return
    assert not isinstance(theirs, str), theirs
    assert read([*text], prompt, tools) == theirs
    assert read([text[at : at + 3] for at in range(0, len(text), 3)], prompt, tools) == theirs
    for mine, field in ((ours.content, "content"), (ours.reasoning_content, "thinking")):
        found = theirs.get(field) or ""
        whole = mine.strip()
        assert whole == found or (PARTS & {*limits} and found in whole)
    found = theirs.get("tool_calls") or []
    assert [call["function"]["name"] for call in found] == [call.name for call in calls]
    for mine, call in zip(calls, found, strict=True):
        assert same(json.loads(mine.arguments), call["function"]["arguments"])
        if fmt.derived.writes_ids and NO_IDS not in limits:
            assert str(call["id"]) == mine.id


@pytest.mark.parametrize("family", WRITTEN)
@given(data=st.data())
def test_generated_turns_are_read_by_transformers(family, data):
    fmt, _, text = data.draw(family.written.filter(lambda case: written(case[0]) is not None))
    tools = (TOOLS if family.name == "named" else family.tools[0]) or None
    assert_same(fmt, written(fmt), text, tools, f"Hi\n{fmt.turn.generation_prompt}")


EXPRESSIBLE = [name for name in sorted(WIRES) if written(dp.get_format(name)) is not None]


@pytest.mark.costly
@pytest.mark.parametrize("name", EXPRESSIBLE)
@given(data=st.data())
def test_turns_of_built_in_formats_are_read_by_transformers(name, data):
    fmt = dp.get_format(name)
    prompt = f"Hi\n{fmt.turn.generation_prompt}"
    text = data.draw(outputs(fmt, TOOLS, prompt=prompt))
    assert_same(fmt, written(fmt), text, TOOLS, prompt)


def test_separator_of_unclosed_calls_belongs_to_neither_call():
    fmt = dp.WireFormat().replace(
        turn={"headers": ("<|header|>\n",), "ends": ("<final>",)},
        tools={"format": "TAG_WITH_JSON", "section_start": "<calls>", "section_end": "</calls>"},
        function={"name_prefix": "<x>"},
    )
    for separator in (", ", ""):
        spaced = fmt.replace(tools={"separator": separator})
        text = f'<calls><x>f{{}}{separator}<x>f{{"a": 1}}</calls><final>'
        found = judge().reader(written(spaced))([text], "Hi\n<|header|>\n", None)
        calls = [call["function"] for call in found["tool_calls"]]
        assert [call["arguments"] for call in calls] == [{}, {"a": 1}]
