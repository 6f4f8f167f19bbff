"""The markers of a format in each place of a turn, and what each of them means there."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from deltaparse import WireFormat, get_format, parse
from deltaparse.stream.wire import marker_tables as module
from deltaparse.stream.wire.marker_tables import (
    KNOWN_FIELDS,
    Field,
    MarkerTables,
    Role,
    marker_tables,
)

from ...strategies.wire_by_hand import LIST, TAGS, UNMARKED

CALLS = {
    "format": "JSON_NATIVE",
    "section_start": "<calls>\n",
    "section_end": "\n</calls>",
    "per_call_start": "<call>\n",
    "per_call_end": "\n</call>\n",
    "content_separator": "\n\n",
    "name_field": "name",
    "arguments_field": "arguments",
}
FMT = WireFormat().replace(
    turn={"headers": ("\n<turn>model\n",), "ends": ("\n<end>", "<stop>")},
    reasoning={"mode": "TAG_BASED", "start": "<think>\n", "end": "\n</think>\n\n"},
    content={"mode": "ALWAYS_WRAPPED", "start": "\n<answer>", "end": "</answer>\n"},
    tools=CALLS,
)
IN_TAGS = WireFormat().replace(
    turn={"ends": ("<end>",)},
    tools={"format": "TAG_WITH_JSON", "per_call_start": "<call>", "per_call_end": "</call>"},
    function={"name_prefix": "<f=", "name_suffix": ">"},
)

STARTS = {f"{gap}{core}" for gap in ("\n\n", "\n", "") for core in ("<calls>", "<call>")}
CLOSERS = {"</calls>", "</call>"}
ALL_CLOSERS = CLOSERS | {f"\n{core}" for core in CLOSERS}
TURN_ENDS = {"\n<end>", "<end>", "<stop>"}
THOUGHT = {"\n</think>", "</think>"}
ANSWER = {"\n<answer>", "<answer>"}
ANYWHERE = STARTS | TURN_ENDS | {"<think>"}
TEXT = ANYWHERE | CLOSERS | {"</think>"}
EDGE = ANYWHERE | ANSWER | THOUGHT | CLOSERS | {"</answer>"}
PLACES = {
    "in_content": TEXT,
    "in_content_start": TEXT | ANSWER,
    "in_content_end": TEXT | {"</answer>"},
    "in_reasoning": THOUGHT | TURN_ENDS | STARTS,
    "in_reasoning_only": THOUGHT | TURN_ENDS,
    "at_start": {"<turn>model"},
    "at_edge": EDGE,
    "after_call": EDGE | ALL_CLOSERS,
    "after_bad_call": STARTS | ALL_CLOSERS | TURN_ENDS,
    "after_end": ANYWHERE | ANSWER | CLOSERS | {"<turn>model"},
    "after_stray": EDGE | ALL_CLOSERS | {"<turn>model"},
    "reasoning_start": {"<think>"},
    "content_opened": ANSWER,
    "call_starts": STARTS,
    "bracketed": set(),
}


def made(fmt=FMT, *, calls=True, **options):
    return MarkerTables(fmt, calls=calls, **options)


@pytest.mark.parametrize("place", PLACES)
def test_what_is_looked_for_in_a_place(place):
    assert set(getattr(made(), place).literals) == PLACES[place]
    without = PLACES[place] - STARTS - ALL_CLOSERS
    assert set(getattr(made(calls=False), place).literals) == without


@pytest.mark.parametrize(
    ("header", "known"),
    [
        ("assistant<|role_sep|>\n", {"assistant<|role_sep|>", "<|role_sep|>"}),
        ("\n<a>model\n", {"<a>model"}),
        ("<a><b>", {"<a><b>", "<b>"}),
        ("\nASSISTANT: ", set()),
    ],
)
def test_a_header_with_a_tag_in_it_is_known_behind_an_end(header, known):
    fmt = WireFormat().replace(turn={"headers": (header,), "ends": ("<e>",)})
    tables = marker_tables(fmt, calls=True)
    assert set(tables.at_start.literals) == known
    message = parse(f"Hi<e>{header}", fmt)
    assert message.content == ("Hi" if known else f"Hi<e>{header}")


def test_what_a_marker_means():
    tables = made()
    roles = {
        Role.HEADER: {"<turn>model"},
        Role.REASONING_START: {"<think>"},
        Role.REASONING_END: THOUGHT,
        Role.CONTENT_START: ANSWER,
        Role.CONTENT_END: {"</answer>"},
        Role.TOOL_START: STARTS,
        Role.TOOL_END: ALL_CLOSERS,
        Role.TURN_END: TURN_ENDS,
    }
    for role, markers in roles.items():
        for marker in markers:
            assert tables.role(marker) is tables.role_behind_call[marker] is role
            stray = marker in CLOSERS
            assert tables.role_in_text[marker] is (Role.STRAY_CLOSER if stray else role)
            assert tables.ends_calls(marker) is (role is Role.TOOL_END)
            assert tables.begins_calls(marker) is (role is Role.TOOL_START)
    assert tables.role_in_text.keys() == set().union(*roles.values())
    assert tables.role('{"name": "') is Role.TOOL_START
    assert not tables.ends_calls("no marker")
    assert not tables.begins_calls("no marker")
    assert tables.trailing("\n</think>") == tables.trailing("</think>") == "\n\n"
    assert tables.longest == len("<turn>model")
    assert tables.turn_ends == TURN_ENDS
    assert tables.stray_ends == {"</think>"}
    assert tables.stray_closers == CLOSERS


def test_a_closer_that_may_be_something_else_is_no_stray():
    tools = {"per_call_end": "|]", "section_end": "<answer>"}
    assert made(FMT.replace(tools=tools)).stray_closers == set()
    # An opener has it in it: a fence, for one.
    fence = {"section_start": "", "per_call_start": "```json", "per_call_end": "json"}
    assert made(FMT.replace(tools=fence)).stray_closers == {"</calls>"}


def test_a_closer_that_ends_the_turn_ends_that():
    tables = made(FMT.replace(turn={"ends": ("</call>",)}))
    assert tables.turn_ends == {"</call>"}
    assert tables.stray_closers == {"</calls>"}
    assert tables.role("</call>") is Role.TOOL_END
    assert tables.role_in_text["</call>"] is Role.TURN_END


def test_code_blocks_are_looked_for_where_calls_are_constrained():
    tables = made(constrained=True)
    assert tables.role_in_text["```"] is tables.role_in_text["```json"] is Role.TOOL_START
    assert tables.ends_calls("```")
    assert tables.begins_calls("```json")
    assert set(tables.call_starts.literals) == STARTS | {"```", "```json"}
    assert tables.unmarked_call.match("[")
    assert "```" not in made().role_in_text


def test_what_unmarked_calls_begin_with():
    assert made(UNMARKED).unmarked_call.match("{")
    assert not made(UNMARKED).unmarked_call.match("[")
    assert made(UNMARKED.replace(tools={"array_wrapped": True})).unmarked_call.match("[")
    pythonic = made(get_format("pythonic")).unmarked_call
    assert pythonic.match("[")
    assert pythonic.match("f(")
    assert not pythonic.match("{")


@pytest.mark.parametrize(
    ("tools", "heads"),
    [
        ({}, set()),
        ({"behind_content": True}, {'{"name": "', '{"name":"'}),
        ({"behind_content": True, "array_wrapped": True}, {'[{"name": "', '[{"name":"'}),
        ({"behind_content": True, "format": "PYTHONIC"}, set()),
        ({"behind_content": True, "format": "PYTHONIC", "array_wrapped": True}, {"["}),
        (
            {"behind_content": True, "content_separator": "\n"},
            {'\n{"name": "', '\n{"name":"', '{"name": "', '{"name":"'},
        ),
        ({"behind_content": True, "name_field": "é"}, {'{"é": "', '{"é":"'}),
        ({"behind_content": True, "per_call_start": "<call>"}, {"<call>"}),
    ],
)
def test_heads_of_calls_behind_content(tools, heads):
    fmt = UNMARKED.replace(turn={"ends": ()}, tools=tools)
    assert set(made(fmt).in_content.literals) - {"<think>"} == heads
    assert not made(fmt, calls=False).in_content.literals


def test_a_word_that_starts_content_ends_where_white_space_stands():
    content = {"mode": "ALWAYS_WRAPPED", "start": ">>>all\n\n"}
    tables = made(WireFormat().replace(content=content))
    assert tables.content_opened.literals == (">>>all\n",)
    assert tables.trailing(">>>all\n") == "\n"


@pytest.mark.parametrize(
    ("content", "space"),
    [
        ({"mode": "PLAIN", "start": "\n"}, "\n"),
        ({"mode": "PLAIN", "start": "<a>"}, ""),
        ({"mode": "ALWAYS_WRAPPED", "start": "\n<a>"}, ""),
        ({}, ""),
    ],
)
def test_white_space_before_plain_content(content, space):
    assert made(WireFormat().replace(content=content)).content_space == space


def test_markers_that_change_what_is_read_behind_them():
    assert made().call_openers == ("", "", "<calls>", "")
    assert made(IN_TAGS).call_openers == ("<f=", "", "", "")
    code = {"start": "<code>\n", "function": "run"}
    assert made(FMT.replace(code=code)).call_openers == ("", "<code>", "<calls>", "")
    assert made(FMT.replace(code={"start": "<code>"})).call_openers.code == ""
    # Only tags have a name behind it.
    assert made(FMT.replace(function={"name_prefix": "<f="})).call_openers.prefix == ""


def test_what_stands_before_another_call():
    separated = {"separator": " ;\n", "section_start": "", "per_call_start": "\n<call>"}
    for fmt in (IN_TAGS.replace(tools=separated), FMT.replace(tools=separated)):
        tables = made(fmt)
        assert tables.call_openers.separator == ";"
        for literal in (" ;\n\n<call>", ";\n\n<call>", ";<call>", "; <call>", ";\n<call>"):
            assert literal in tables.after_call.literals
            assert literal in tables.call_starts.literals
            assert literal not in tables.at_edge.literals
            assert tables.begins_calls(literal)
    # A name has no other marker before it; the separator of a list stands in no such place.
    tables = made(IN_TAGS.replace(tools={"separator": ", ", "per_call_start": ""}))
    assert ",<f=" in tables.after_call.literals
    for tools in ({**separated, "separator": "\n"}, {**separated, "separator": "<"}):
        assert made(FMT.replace(tools=tools)).call_openers.separator == ""
    alone = FMT.replace(tools={"separator": ", ", "per_call_start": ""})
    assert made(alone).call_openers.separator == ""


def test_keys_of_calls():
    tools = {"name_field": "tool", "arguments_field": "args", "id_field": "nr"}
    own = {"tool": Field.NAME, "args": Field.ARGUMENTS, "nr": Field.ID, "type": Field.TYPE}
    fmt = FMT.replace(tools=tools)
    assert made(fmt, exact=True).fields == own
    assert made(fmt).fields == KNOWN_FIELDS | own
    keys = made(fmt).own_keys
    assert (keys[Field.NAME], keys[Field.ARGUMENTS]) == ({"tool"}, {"args"})
    assert made(fmt, constrained=True).own_keys[Field.ARGUMENTS] == {"arguments", "parameters"}


@pytest.mark.parametrize(
    ("groups", "before"),
    [
        ({}, False),
        ({"tools": {"id_field": "id"}}, True),
        ({"tools": {"generated_id_field": "nr"}}, True),
        ({"call_id": {"position": "POST_ARGS"}}, True),
        ({"call_id": {"position": "PRE_FUNC_NAME"}}, False),
    ],
)
def test_usual_steps_are_not_for_calls_that_wait_for_an_id(groups, before):
    for fmt, kind in ((TAGS, "usual_head"), (IN_TAGS, "usual_tags")):
        tables = made(fmt.replace(**groups))
        assert tables.id_before_call is before
        if before or not groups:
            assert (getattr(tables, kind) is None) is before


def test_usual_steps_are_of_the_own_kind_of_calls_only():
    assert made(TAGS).usual_tags is None
    assert made(TAGS.replace(function={"name_suffix": ">"})).usual_tags is None
    assert made(IN_TAGS).usual_head is None
    assert made(UNMARKED).usual_head is None
    assert made(LIST).usual_head is None
    assert made(TAGS.replace(tools={"name_is_key": True})).usual_head is None
    assert made(get_format("functionary_v32")).usual_tags is None


def test_usual_steps_are_made_once_when_they_are_asked_for():
    tables = made(IN_TAGS)
    with patch.object(module, "usual_tags", wraps=module.usual_tags) as asked:
        assert tables.usual_tags is tables.usual_tags is not None
    assert asked.call_count == 1


def test_tables_are_made_once_for_equal_formats():
    tables = marker_tables(FMT, calls=True)
    assert tables is marker_tables(FMT, calls=True)
    assert tables is marker_tables(FMT.replace(), calls=True)
    assert len({id(marker_tables(FMT, calls=True, exact=exact)) for exact in (True, False)}) == 2
