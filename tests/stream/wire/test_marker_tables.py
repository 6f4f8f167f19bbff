"""Tests of the markers of a format in each place of a turn, and of their roles."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from deltaparse import WireFormat, get_format, parse
from deltaparse.stream.wire import marker_tables as module
from deltaparse.stream.wire.call_fields import KNOWN_FIELDS, Field
from deltaparse.stream.wire.marker_tables import MarkerTables, marker_tables
from deltaparse.stream.wire.section_markers import Role

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
def test_markers_in_each_place_of_a_turn(place):
    assert set(getattr(made(), place).literals) == PLACES[place]
    without = PLACES[place] - STARTS - ALL_CLOSERS
    assert set(getattr(made(calls=False), place).literals) == without


def test_reasoning_ended_by_content_is_ended_by_calls_too():
    content = {"mode": "ALWAYS_WRAPPED", "start": "</think>", "end": ""}
    tables = made(FMT.replace(content=content))
    assert set(tables.in_reasoning.literals) == THOUGHT | STARTS | TURN_ENDS
    assert tables.in_reasoning_only == tables.in_reasoning
    assert all(tables.role(marker) is Role.CONTENT_START for marker in THOUGHT)
    assert not tables.content_opened.literals
    # This content has no end marker, but may begin again.
    assert set(tables.in_content_end.literals) == ANYWHERE | CLOSERS | THOUGHT


@pytest.mark.parametrize(
    ("header", "known"),
    [
        ("assistant<|role_sep|>\n", {"assistant<|role_sep|>", "<|role_sep|>"}),
        ("\n<a>model\n", {"<a>model"}),
        ("<a><b>", {"<a><b>", "<b>"}),
        ("\nASSISTANT: ", set()),
    ],
)
def test_header_with_a_tag_is_recognized_after_a_turn_end(header, known):
    fmt = WireFormat().replace(turn={"headers": (header,), "ends": ("<e>",)})
    tables = marker_tables(fmt, calls=True)
    assert set(tables.at_start.literals) == known
    message = parse(f"Hi<e>{header}", fmt)
    assert message.content == ("Hi" if known else f"Hi<e>{header}")


def test_roles_of_markers():
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
            assert tables.role(marker) is tables.role_after_call[marker] is role
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


def test_ambiguous_closer_is_not_a_stray_closer():
    tools = {"per_call_end": "|]", "section_end": "<answer>"}
    assert made(FMT.replace(tools=tools)).stray_closers == set()
    # An opener contains the closer, for example a code fence.
    fence = {"section_start": "", "per_call_start": "```json", "per_call_end": "json"}
    assert made(FMT.replace(tools=fence)).stray_closers == {"</calls>"}


def test_closer_that_ends_the_turn_is_a_turn_end():
    tables = made(FMT.replace(turn={"ends": ("</call>",)}))
    assert tables.turn_ends == {"</call>"}
    assert tables.stray_closers == {"</calls>"}
    assert tables.role("</call>") is Role.TOOL_END
    assert tables.role_in_text["</call>"] is Role.TURN_END


def test_constrained_calls_may_be_in_code_blocks():
    tables = made(constrained=True)
    assert tables.role_in_text["```"] is tables.role_in_text["```json"] is Role.TOOL_START
    assert tables.trailing("```") == tables.trailing("```json") == "\n"
    assert tables.ends_calls("```")
    assert tables.begins_calls("```json")
    assert set(tables.call_starts.literals) == STARTS | {"```", "```json"}
    assert tables.unmarked_call.match("[")
    assert tables.reads_separators
    assert made(UNMARKED).reads_separators
    assert "```" not in made().role_in_text
    assert not made().reads_separators


def test_format_without_calls_has_no_call_starts():
    tables = made(FMT.replace(tools={"format": "NONE"}))
    assert not tables.call_starts.literals
    assert tables.in_content == made(calls=False).in_content


def test_first_characters_of_unmarked_calls():
    assert made(UNMARKED).unmarked_call.match("{")
    assert not made(UNMARKED).unmarked_call.match("[")
    assert made(UNMARKED.replace(tools={"array_wrapped": True})).unmarked_call.match("[")
    pythonic = made(get_format("pythonic")).unmarked_call
    assert pythonic.match("[")
    assert pythonic.match("f(")
    assert not pythonic.match("{")
    assert made(get_format("pythonic"), constrained=True).unmarked_call.match("{")


def test_unproven_and_structural_only_formats():
    for fmt, unproven, by_look in (
        (UNMARKED, True, True),
        (get_format("functionary_v32"), True, False),
        (IN_TAGS, False, False),
        (FMT, False, False),
    ):
        assert (made(fmt).unproven, made(fmt).structural_only) == (unproven, by_look)
        assert not made(fmt, constrained=True).unproven
        assert not made(fmt, calls=False).unproven


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
def test_heads_of_calls_after_content(tools, heads):
    fmt = UNMARKED.replace(turn={"ends": ()}, tools=tools)
    assert set(made(fmt).in_content.literals) - {"<think>"} == heads
    assert not made(fmt, calls=False).in_content.literals


def test_content_start_like_a_word_keeps_its_whitespace():
    content = {"mode": "ALWAYS_WRAPPED", "start": ">>>all\n\n"}
    tables = made(WireFormat().replace(content=content))
    assert tables.content_opened.literals == (">>>all\n",)
    assert tables.trailing(">>>all\n") == "\n"


def test_content_markers_of_some_turns():
    tables = made(FMT.replace(content={"mode": "WRAPPED_WITH_CALLS"}))
    assert not tables.content_opened.literals
    assert "<answer>" in tables.in_content_start.literals
    tight = made(FMT.replace(content={"start": "<answer>"}))
    assert set(tight.in_content_start.literals) == TEXT | {"<answer>"}
    plain = made(FMT.replace(content={"mode": "PLAIN"}))
    assert set(plain.in_content_start.literals) == set(plain.in_content_end.literals) == TEXT


def test_calls_in_messages_have_their_own_tables():
    fmt = FMT.replace(channels={"start": "<start>", "message": "<msg>", "ends": ("<eom>",)})
    inner = made(fmt).in_message
    assert inner.turn_ends == TURN_ENDS | {"<eom>"}
    assert set(inner.in_content.literals) == STARTS | CLOSERS | TURN_ENDS | {"<eom>"}
    assert set(inner.at_start.literals) == set(inner.reasoning_start.literals) == set()
    assert made(fmt, calls=False).in_message is None
    # These markers may still surround JSON.
    constrained = made(fmt, constrained=True)
    assert constrained.in_message is None
    beside = {"<calls>", "<call>", "```", "```json"} | ALL_CLOSERS
    assert set(constrained.call_starts.literals) == beside
    assert made(get_format("gpt_oss")).in_message is made(FMT).in_message is None


@pytest.mark.parametrize(
    ("content", "space"),
    [
        ({"mode": "PLAIN", "start": "\n"}, "\n"),
        ({"mode": "PLAIN", "start": "<a>"}, ""),
        ({"mode": "ALWAYS_WRAPPED", "start": "\n<a>"}, ""),
        ({}, ""),
    ],
)
def test_whitespace_before_plain_content(content, space):
    assert made(WireFormat().replace(content=content)).content_space == space


def test_reasoning_without_a_start_marker_is_open():
    reasoning = {"mode": "DELIMITER", "start": "\n", "end": "[END]"}
    message = parse("Hi[END]so", WireFormat().replace(reasoning=reasoning))
    assert (message.reasoning_content, message.content) == ("Hi", "so")


def test_reasoning_markers_are_ignored_without_reasoning():
    tables = made(FMT.replace(reasoning={"mode": "NONE"}))
    assert set(tables.at_edge.literals) == EDGE - THOUGHT - {"<think>"}


def test_end_of_reasoning_depends_on_its_start():
    others = ("\n<b>\n", "\n</b>", "<b>", "</c>")
    tables = made(FMT.replace(reasoning={"alternatives": others}))
    assert tables.reasoning_ends == {"<think>": {"</think>"}, "<b>": {"</b>", "</c>"}}
    assert made().reasoning_ends == {"<think>": {"</think>"}}


def test_markers_that_begin_with_a_bracket():
    tools = {"section_start": "[calls]", "per_call_start": "\n[call]"}
    assert set(made(FMT.replace(tools=tools)).bracketed.literals) == {"[calls]", "[call]"}


def test_openers_that_change_the_following_text():
    assert made().call_openers == ("", "", "<calls>", "")
    spaced = IN_TAGS.replace(function={"name_prefix": "\n<f="})
    assert made(spaced).call_openers == made(IN_TAGS).call_openers == ("<f=", "", "", "")
    code = {"start": "<code>\n", "function": "run"}
    assert made(FMT.replace(code=code)).call_openers == ("", "<code>", "<calls>", "")
    assert made(FMT.replace(code={"start": "<code>"})).call_openers.code == ""
    # Only calls in tags have a name after the prefix.
    assert made(FMT.replace(function={"name_prefix": "<f="})).call_openers.prefix == ""


def test_separators_before_another_call():
    separated = {"separator": " ;\n", "section_start": "", "per_call_start": "\n<call>"}
    for fmt in (IN_TAGS.replace(tools=separated), FMT.replace(tools=separated)):
        tables = made(fmt)
        assert tables.call_openers.separator == ";"
        for literal in (" ;\n\n<call>", ";\n\n<call>", ";<call>", "; <call>", ";\n<call>"):
            assert literal in tables.after_call.literals
            assert literal in tables.call_starts.literals
            assert literal not in tables.at_edge.literals
            assert tables.begins_calls(literal)
        assert not made(fmt, calls=False).call_starts.literals
    # The prefix is the only marker before the name. The separator of a list is elsewhere.
    tables = made(IN_TAGS.replace(tools={"separator": ", ", "per_call_start": ""}))
    assert ",<f=" in tables.after_call.literals
    for tools in ({**separated, "separator": "\n"}, {**separated, "separator": "<"}):
        assert made(FMT.replace(tools=tools)).call_openers.separator == ""
    alone = FMT.replace(tools={"separator": ", ", "per_call_start": ""})
    assert made(alone).call_openers.separator == ""


def test_separators_of_unmarked_calls():
    assert set(made(UNMARKED).separators.literals) == {",", ";"}
    bars = UNMARKED.replace(tools={"separator": " |\n"})
    assert set(made(bars).separators.literals) == {",", ";", "|"}


def test_markers_that_are_words_count_at_line_starts():
    fmt = WireFormat().replace(
        turn={"ends": ("\nUser:",)},
        reasoning={"mode": "TAG_BASED", "start": "\nThought:", "end": "\nSo:"},
        content={"mode": "ALWAYS_WRAPPED", "start": "\nAnswer:"},
        tools=CALLS | {"per_call_start": "\nAction:", "content_separator": ""},
    )
    assert made(fmt).at_line_start == {"Answer:", "Action:"}


def test_keys_of_calls_in_json():
    tools = {"name_field": "tool", "arguments_field": "args", "id_field": "nr"}
    own = {"tool": Field.NAME, "args": Field.ARGUMENTS, "nr": Field.ID, "type": Field.TYPE}
    fmt = FMT.replace(tools=tools)
    assert made(fmt, exact=True).fields == own
    assert made(fmt).fields == KNOWN_FIELDS | own
    keys = made(fmt).own_keys
    assert (keys[Field.NAME], keys[Field.ARGUMENTS]) == ({"tool"}, {"args"})
    assert made(FMT.replace(tools={"function_field": "fn"})).own_keys[Field.FUNCTION] == {"fn"}
    by_name = {"name_is_key": True, "name_field": "", "arguments_field": "", "function_field": "fn"}
    assert not any(made(FMT.replace(tools=by_name)).own_keys.values())
    assert made(fmt, constrained=True).own_keys == {
        Field.NAME: {"name"},
        Field.ARGUMENTS: {"arguments", "parameters"},
        Field.FUNCTION: set(),
    }


@pytest.mark.parametrize(
    ("members", "issues"),
    [
        ('"name": "f", "arguments": {"a": 1}', []),
        ('"name": "f", "parameters": {"a": 1}', ["odd_member"]),
        ('"name": "f", "args": {"a": 1}', ["odd_member"]),
        ('"name": "f", "input": {"a": 1}', ["odd_member"]),
        ('"type": "function", "function": {"name": "f", "arguments": {"a": 1}}', ["odd_member"]),
        ('"type": null, "id": null, "name": "f", "arguments": {"a": 1}', []),
        ('"type": "tool", "name": "f", "arguments": {"a": 1}', ["unused_member"]),
        ('"type": "", "name": "f", "arguments": {"a": 1}', ["unused_member"]),
        ('"": "function", "name": "f", "arguments": {"a": 1}', ["unused_member"]),
    ],
)
def test_common_keys_are_reported_as_odd_members(members, issues):
    message = parse(f"<calls><call>{{{members}}}</call></calls>", FMT)
    assert [(call.name, call.arguments) for call in message.tool_calls] == [("f", '{"a": 1}')]
    assert [issue.kind for issue in message.issues] == issues


@pytest.mark.parametrize(
    ("member", "issues"),
    [
        ('"v": 1', []),
        ('"at": "x"', []),
        ('"by": {"a":[null]}', []),
        ('"by": null', []),
        ('"v": null, "by": {"a": [null]}', []),
        ('"v": 2', ["unused_member"]),
        ('"by": ""', ["unused_member"]),
        ('"type": "tool"', ["unused_member"]),
        ('"1": "v"', ["unused_member"]),
    ],
)
def test_constant_members_are_not_reported(member, issues):
    fmt = FMT.replace(tools={"constants": ("v", "1", "at", '"x"', "by", '{"a": [null]}')})
    text = f'<calls><call>{{"name": "f", {member}, "arguments": {{}}}}</call></calls>'
    message = parse(text, fmt)
    assert [call.name for call in message.tool_calls] == ["f"]
    assert [issue.kind for issue in message.issues] == issues


@pytest.mark.parametrize(
    ("groups", "in_json", "in_tags"),
    [
        ({}, False, False),
        # Only calls in JSON have a key for ids.
        ({"tools": {"id_field": "id"}}, True, False),
        ({"tools": {"generated_id_field": "nr"}}, True, False),
        ({"call_id": {"position": "POST_ARGS"}}, True, True),
        # As in the list form of Mistral, whose objects have an id after the arguments.
        ({"call_id": {"position": "PRE_FUNC_NAME"}}, True, False),
    ],
)
def test_no_fast_patterns_for_calls_that_wait_for_an_id(groups, in_json, in_tags):
    json_tables, tag_tables = made(TAGS.replace(**groups)), made(IN_TAGS.replace(**groups))
    assert (json_tables.id_before_call, tag_tables.id_before_call) == (in_json, in_tags)
    assert not (in_json and json_tables.fast_head)
    assert not (in_tags and tag_tables.fast_tags)
    assert groups or (json_tables.fast_head and tag_tables.fast_tags)


def test_fast_patterns_exist_only_for_the_call_family():
    assert made(TAGS).fast_tags is None
    assert made(TAGS.replace(function={"name_suffix": ">"})).fast_tags is None
    assert made(IN_TAGS).fast_head is None
    assert made(UNMARKED).fast_head is None
    assert made(LIST).fast_head is None
    assert made(TAGS.replace(tools={"name_is_key": True})).fast_head is None
    # The marker that ends a string begins like a name.
    assert made(TAGS.replace(tools={"per_call_end": "end"})).fast_head is None
    assert made(get_format("functionary_v32")).fast_tags is None


def test_fast_patterns_are_created_lazily_and_once():
    tables = made(IN_TAGS)
    with patch.object(module, "fast_tags", wraps=module.fast_tags) as asked:
        assert tables.fast_tags is tables.fast_tags is not None
    assert asked.call_count == 1


def test_tables_are_cached_for_equal_formats():
    fmt = FMT.replace()
    tables = marker_tables(fmt, calls=True)
    assert tables is marker_tables(fmt, calls=True)
    assert tables is marker_tables(fmt.replace(), calls=True)
    assert len({id(marker_tables(fmt, calls=True, exact=exact)) for exact in (True, False)}) == 2
