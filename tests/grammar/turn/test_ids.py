"""Tests of ids in any shape: the grammar accepts the ids the parser reads."""

from __future__ import annotations

import random
import sys
from uuid import UUID

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from deltaparse import gbnf, get_format, list_formats
from deltaparse.grammar.turn.free_names import LONGEST_ID, WHITE

from ...strategies.typed_calls import cases
from ...strategies.wire_json_and_tags import write, writes_ids
from ...strategies.wire_parts import markers_of
from ..machines import Gbnf, Lark, Sampler, accepts, xgrammar
from ..reading_back import TOOLS, read

IDS = st.one_of(
    st.uuids().map(str),
    st.from_regex(r"(call_|toolu_01|chatcmpl-tool-)[0-9a-zA-Z]{9,32}", fullmatch=True),
    st.sampled_from(["0", "12", "a|b", "x,y;z", "functions.f:0", "é-中", "[1]", "$%&*!", "\\"]),
    st.text(min_size=1, max_size=12),
    st.integers(1, LONGEST_ID).map(lambda size: "i" * size),
)
SHAPES = ["call_" + "x" * 24, str(UUID(int=7)), "toolu_01A09q90qw90lq917835lq9", "i" * 200, "é|中"]
FORMATS = {name: get_format(name) for name in list_formats()}
WRITERS = [name for name, fmt in FORMATS.items() if writes_ids(fmt) and not fmt.call_id.holds_name]


def test_white_space_is_all_there_is():
    spaces = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
    assert spaces == [chr(code) for low, high in WHITE for code in range(low, high + 1)]


@settings(max_examples=200)
@given(case=cases(), data=st.data())
def test_grammar_accepts_ids_the_parser_reads(case, data):
    """Ids with characters of markers are excluded, although the parser reads some of them."""
    fmt, tools, turn = case
    assume(writes_ids(fmt))
    written = "".join([*markers_of(fmt), fmt.tools.separator])
    marks = {char for char in written if not char.isalnum()} | {*fmt.tools.separator}
    shapes = IDS.filter(lambda shape: fmt.tools.id_field or marks.isdisjoint(shape))
    ids = data.draw(st.lists(shapes, min_size=len(turn.calls), max_size=len(turn.calls)))
    text = write(fmt, turn, ids)
    message, issues = read(fmt, tools, text)
    is_read = issues == [] and [call.id for call in message.tool_calls] == ids
    event(f"the ids are read: {is_read}")
    assume(is_read)
    assert accepts(gbnf(fmt, tools, tool_choice="required").rules, text)


def with_one_id(fmt, grammar):
    """Return a turn of one call that contains its id once, and the id."""
    for seed in range(1_000):
        text = Sampler(grammar.rules).text(random.Random(seed))
        (call,) = read(fmt, TOOLS, text)[0].tool_calls
        if text.count(call.id) == 1:
            return text, call.id
    raise AssertionError(fmt)


@pytest.mark.parametrize("name", WRITERS)
def test_ids_of_servers_in_the_engines(name):
    fmt = get_format(name)
    grammar = gbnf(fmt, TOOLS, tool_choice="required", parallel_tool_calls=False)
    text, written = with_one_id(fmt, grammar)
    engines = [Lark(grammar.rules), *([Gbnf(grammar.rules)] if xgrammar() else [])]
    for shape in SHAPES:
        other = text.replace(written, shape)
        message, issues = read(fmt, TOOLS, other)
        assert ([call.id for call in message.tool_calls], issues) == ([shape], [])
        assert all(engine.accepts(other) for engine in engines), other
