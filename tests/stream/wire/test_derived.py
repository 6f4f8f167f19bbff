"""Tests of the facts derived from a format."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given

from deltaparse import WireFormat, get_format, list_formats, parse
from deltaparse.stream.request import after_reasoning
from deltaparse.stream.wire.marker_tables import marker_tables
from deltaparse.stream.wire.section_markers import Role

from ...strategies.wire_by_hand import LIST, TAGS, UNMARKED
from ...strategies.wire_json_and_tags import formats

JSON = {"format": "JSON_NATIVE", "name_field": "name", "arguments_field": "arguments"}
THINK = {"mode": "TAG_BASED", "start": "<think>", "end": "</think>"}


def test_empty_format_has_no_features():
    derived = WireFormat().derived
    no = ("has_calls", "has_channels", "has_reasoning", "in_one_list", "is_tagged")
    assert not any(getattr(derived, name) for name in (*no, "unmarked_calls", "writes_ids"))
    assert derived.openers == derived.closers == ()
    assert derived.turn_so_far() == derived.turn_so_far("any prompt") == ""


def test_derived_facts_are_cached_but_not_copied():
    fmt = get_format("hermes")
    assert fmt.derived is fmt.derived
    for other in (copy.copy(fmt), copy.deepcopy(fmt), pickle.loads(pickle.dumps(fmt))):
        assert other == fmt
        assert other.derived is not fmt.derived
        assert other.derived.openers == fmt.derived.openers


def test_markers_of_calls_are_ordered_from_outside_in():
    tags = WireFormat().replace(
        tools={
            "format": "TAG_WITH_JSON",
            "section_start": "<calls>",
            "section_end": "</calls>",
            "per_call_start": "\n<call>",
            "per_call_end": "</call>\n",
        },
        function={"name_prefix": "<f=", "close": "</f>"},
    )
    assert tags.derived.is_tagged
    assert tags.derived.openers == ("<calls>", "\n<call>", "<f=")
    assert tags.derived.closers == ("</calls>", "</call>\n", "</f>")
    # In JSON, names have no delimiters of their own.
    as_json = tags.replace(tools=JSON)
    assert as_json.derived.openers == ("<calls>", "\n<call>")
    assert as_json.derived.closers == ("</calls>", "</call>\n")


@pytest.mark.parametrize(
    ("changes", "unmarked"),
    [
        ({}, False),
        ({"tools": JSON}, True),
        ({"tools": {"format": "PYTHONIC"}}, True),
        ({"tools": JSON | {"section_start": " \n"}}, True),
        ({"tools": JSON | {"section_start": "<calls>"}}, False),
        ({"tools": JSON | {"per_call_start": "<call>"}}, False),
        ({"tools": JSON, "code": {"start": "<code>", "function": "f"}}, True),
        ({"tools": JSON, "channels": {"message": "<m>"}}, False),
    ],
)
def test_unmarked_calls(changes, unmarked):
    fmt = WireFormat().replace(**changes)
    assert fmt.derived.unmarked_calls is unmarked
    assert marker_tables(fmt, calls=True).unmarked is unmarked
    assert not marker_tables(fmt, calls=False).unmarked


@pytest.mark.parametrize(
    ("changes", "writes"),
    [
        ({"tools": JSON}, False),
        ({"tools": JSON | {"id_field": "id"}}, True),
        ({"tools": JSON | {"generated_id_field": "n"}}, True),
        ({"call_id": {"position": "POST_ARGS"}}, True),
    ],
)
def test_formats_that_write_ids(changes, writes):
    assert WireFormat().replace(**changes).derived.writes_ids is writes


def test_channels_have_calls_without_call_syntax():
    derived = WireFormat().replace(channels={"message": "<m>"}).derived
    assert (derived.has_channels, derived.has_calls) == (True, True)
    assert not WireFormat().replace(channels={"message": " "}).derived.has_channels


@pytest.mark.parametrize(
    ("headers", "generated", "mode", "prompt", "turn"),
    [
        (("<a>",), "<a><think>", "FORCED_OPEN", "", "<think>"),
        (("<a>",), "<a><think>", "FORCED_OPEN", "hi<a>so<a>", ""),
        (("<a>", "<a>!"), "", "TAG_BASED", "hi<a>! go", " go"),
        (("<a>",), "<a>\n", "TAG_BASED", "hi<a>\n", "\n"),
        (("<a>",), "", "TAG_BASED", "a tail", ""),
        (("<a>",), "", "FORCED_OPEN", "", ""),
        ((), "", "FORCED_OPEN", "", "<think>"),
        ((), "", "TAG_BASED", "", ""),
        ((), "", "FORCED_OPEN", "hi", "<think>"),
        ((), "hi<think>", "FORCED_OPEN", "", "<think>"),
        ((), "hi<think>", "FORCED_OPEN", "so", "<think>"),
        ((), "hi<think>so", "FORCED_OPEN", "", ""),
        ((), "hi\n", "TAG_BASED", "", ""),
        ((), "<think>hi<think>", "FORCED_OPEN", "", "<think>"),
        (("<a>",), "", "TAG_BASED", "<a>\n<think>", "<think>"),
        ((), "", "TAG_BASED", "a<think>b<think>", ""),
        # Only a start of reasoning may follow the generation prompt.
        ((), "go\n", "TAG_BASED", "go so go<think>", "<think>"),
        ((), "go\n", "TAG_BASED", "go <think>\n</think>", "<think>\n</think>"),
        ((), "go\n", "FORCED_CLOSED", "go so", ""),
        ((), "go\n", "FORCED_CLOSED", "go<think>so", ""),
        ((), "<think>\n", "FORCED_OPEN", "<think>", "<think>"),
        ((), "<think>\n", "FORCED_OPEN", "so<think>", "<think>\n"),
        (("a<sep>",), "", "TAG_BASED", "<sep> <think>", "<think>"),
        (("a<sep>",), "", "TAG_BASED", "<sep>so", ""),
        (("a<sep>",), "", "TAG_BASED", "<think>", ""),
    ],
)
def test_turn_in_a_prompt(headers, generated, mode, prompt, turn):
    fmt = WireFormat().replace(
        turn={"headers": headers, "generation_prompt": generated},
        reasoning={"mode": mode, "start": "\n<think>\n", "end": "\n</think>\n\n"},
    )
    assert fmt.derived.turn_so_far(prompt) == turn


def test_prompt_may_end_reasoning_without_a_start_marker():
    fmt = WireFormat().replace(
        turn={"generation_prompt": "go:"}, reasoning={"mode": "DELIMITER", "end": "\n[END]\n"}
    )
    assert parse("Hi", fmt, prompt="So, go:").reasoning_content == "Hi"
    assert parse("Hi", fmt, prompt="So, go:\n[END]\n").content == "Hi"


def test_prompt_without_the_turn_is_detected():
    fmt = WireFormat().replace(turn={"headers": ("<a>",), "ends": (" ", "<end>\n")})
    assert fmt.derived.turn_shown("") == ("", True)
    assert fmt.derived.turn_shown("hi<a>so") == ("so", True)
    assert fmt.derived.turn_shown("hi") == ("", False)
    generated = WireFormat().replace(turn={"generation_prompt": "go:\n"}, reasoning=THINK)
    assert generated.derived.turn_shown("so go:") == ("", True)
    assert generated.derived.turn_shown("so go: ") == ("", True)
    assert generated.derived.turn_shown("so") == ("", False)
    # The turn has ended, and the prompt has no header of the next one.
    assert fmt.derived.turn_shown("hi<a>so<end>") == ("", False)


def test_prompt_may_reopen_reasoning_with_another_marker():
    fmt = WireFormat().replace(
        turn={"generation_prompt": "so<think>a</think>b<b>\n"},
        reasoning=THINK | {"alternatives": ("<b>", "</b>")},
    )
    assert fmt.derived.turn_so_far() == "<b>\n"


@pytest.mark.parametrize(
    ("content", "ends", "by_next", "shares"),
    [
        ("", (), False, False),
        ("\n</think>\n", ("<end>",), True, False),
        ("<answer>", ("<end>", " ", "\n</think>"), False, True),
        ("</think", ("</th",), False, True),
        ("</thinking>", ("</think>s",), False, False),
    ],
)
def test_end_of_reasoning_shared_with_content_or_turn_end(content, ends, by_next, shares):
    mode = "ALWAYS_WRAPPED" if content else "PLAIN"
    content = {"mode": mode, "start": content}
    fmt = WireFormat().replace(turn={"ends": ends}, reasoning=THINK, content=content)
    assert (fmt.derived.next_ends_reasoning, fmt.derived.shares_end) == (by_next, shares)
    without = WireFormat().replace(turn={"ends": ends}).derived
    assert not without.next_ends_reasoning
    assert not without.shares_end


ELEMENTS = {"name_prefix": "<", "name_suffix": ">", "value_suffix": "</x>"}


@pytest.mark.parametrize(
    ("tools", "prefix", "openers"),
    [
        ({"format": "TAG_WITH_TAGGED", "per_call_start": "<call>"}, "<name>", ("<call>",)),
        ({"format": "TAG_WITH_TAGGED", "section_start": "<calls>"}, "<name>", ("<calls>",)),
        ({"format": "TAG_WITH_TAGGED", "per_call_start": "\n"}, "<name>", ("\n", "<name>")),
        ({"format": "TAG_WITH_TAGGED", "per_call_start": "<call>"}, "<f=", ("<call>", "<f=")),
        # The arguments are not elements.
        ({"format": "TAG_WITH_JSON", "per_call_start": "<call>"}, "<name>", ("<call>", "<name>")),
        # A word may begin any line of text.
        ({"format": "TAG_WITH_TAGGED", "per_call_start": "<call>"}, "Name: ", ("<call>",)),
        ({"format": "TAG_WITH_JSON", "per_call_start": "<call>"}, "Name: ", ("<call>",)),
        ({"format": "TAG_WITH_JSON", "per_call_start": "Call: "}, "Name: ", ("Call: ", "Name: ")),
        ({"format": "TAG_WITH_JSON", "per_call_start": "["}, "Name: ", ("[", "Name: ")),
        ({"format": "TAG_WITH_JSON", "per_call_start": "Call:"}, "name", ("Call:", "name")),
    ],
)
def test_start_of_arguments_or_lines_is_not_an_opener(tools, prefix, openers):
    fmt = WireFormat().replace(
        tools=tools,
        function={"name_prefix": prefix, "close": "</f>"},
        arguments=ELEMENTS if tools["format"] == "TAG_WITH_TAGGED" else {},
    )
    assert fmt.derived.openers == openers


@pytest.mark.parametrize(
    ("tools", "function", "separated"),
    [
        ({"separator": ";"}, {"name_prefix": "<f="}, {";<f=", "; <f=", ";\n<f="}),
        ({"separator": ";", "per_call_start": "\n"}, {"name_prefix": "*"}, {";*", "; *", ";\n*"}),
        ({"separator": ";"} | JSON, {"name_prefix": "<f="}, set()),
        ({"separator": "\n"}, {"name_prefix": "<f="}, set()),
    ],
)
def test_openers_after_a_separator(tools, function, separated):
    fmt = WireFormat().replace(tools={"format": "TAG_WITH_JSON"} | tools, function=function)
    assert set(fmt.derived.separated_openers) == separated


@pytest.mark.parametrize(("start", "one"), [("", True), (" \n", True), ("<call>", False)])
def test_calls_without_own_markers_share_one_list(start, one):
    assert LIST.replace(tools={"per_call_start": start}).derived.in_one_list is one
    assert not UNMARKED.derived.in_one_list


@pytest.mark.parametrize("starts", [("<calls>", ""), ("", "<call>"), (" ", "")])
def test_calls_in_messages_need_a_marker(starts):
    tools = JSON | dict(zip(("section_start", "per_call_start"), starts, strict=True))
    fmt = WireFormat().replace(tools=tools, channels={"message": "<m>"})
    assert fmt.derived.calls_in_messages is any(map(str.strip, starts))


def test_closer_with_a_name_is_not_a_closer_alone():
    tools = {"format": "TAG_WITH_JSON", "per_call_start": "<call>", "per_call_end": "</call>"}
    fmt = WireFormat().replace(
        tools=tools, function={"name_prefix": "<", "close": "</", "close_suffix": ">"}
    )
    assert fmt.derived.closes_by_name
    assert fmt.derived.closers == ("</call>",)
    assert not fmt.replace(tools=JSON).derived.closes_by_name
    blank = fmt.replace(function={"close_suffix": "\n"})
    assert not blank.derived.closes_by_name
    assert blank.derived.closers == ("</call>", "</")


@pytest.mark.parametrize(
    ("tools", "function", "content", "openers", "unproven"),
    [
        ({}, {"name_prefix": "\n>>>"}, ">>>all\n", ("\n>>>",), True),
        ({}, {"name_prefix": ">>>"}, "\n>>>all\n", (">>>",), True),
        ({"section_start": "<calls>"}, {"name_prefix": ">>>f"}, ">>>f", ("<calls>", ">>>f"), False),
        ({}, {"name_prefix": ">>>"}, "<answer>", (">>>",), False),
        ({}, {"name_prefix": "<", "close": "</", "close_suffix": ">"}, "", ("<",), True),
        ({}, {"name_prefix": "<f=", "close": "</f=", "close_suffix": ">"}, "", ("<f=",), False),
        (
            {"section_start": "["},
            {"name_prefix": "<f=", "close": "</f=", "close_suffix": ">"},
            "",
            ("[", "<f="),
            False,
        ),
        ({"section_start": "```\n"}, {}, "", ("```\n",), True),
        ({"section_start": "```\n"}, {"name_prefix": "<f="}, "", ("```\n", "<f="), False),
        ({}, {"name_prefix": "<"}, "", ("<",), False),
        ({"section_start": "["}, {"name_prefix": "<"}, "", ("[", "<"), False),
        ({"section_start": "<calls>"}, {"name_prefix": "<"}, "", ("<calls>",), False),
        ({"section_start": "<calls>"}, {"name_prefix": " "}, "", ("<calls>",), False),
        ({"section_start": "["}, {"name_prefix": " "}, "", ("[",), False),
    ],
)
def test_openers_and_unproven_calls(tools, function, content, openers, unproven):
    fmt = WireFormat().replace(
        tools={"format": "TAG_WITH_JSON"} | tools,
        function=function,
        content={"mode": "ALWAYS_WRAPPED", "start": content} if content else {},
    )
    assert fmt.derived.openers == openers
    assert fmt.derived.unproven_calls is unproven


def test_forced_open_reasoning_starts_with_the_core_of_its_marker():
    reasoning = {"mode": "FORCED_OPEN", "start": "\n<think>\n", "end": "\n</think>"}
    assert WireFormat().replace(reasoning=reasoning).derived.turn_so_far() == "<think>"


@pytest.mark.parametrize(
    ("turn", "markers"),
    [
        ("", ("<a>", "</a>")),
        ("<a>so", ("<a>", "</a>")),
        ("<b>so", ("<b>", "</b>")),
        ("<a>so</a><b>", ("<b>", "</b>")),
        ("<b>so</b><a>", ("<a>", "</a>")),
        ("<c>", ("<c>", "</c>")),
        ("<c></c><c></c><b>", ("<b>", "</b>")),
    ],
)
def test_reasoning_markers_of_the_last_start(turn, markers):
    reasoning = {"mode": "TAG_BASED", "start": "<a>", "end": "</a>"}
    others = ("<b>", "</b>", "<c>", "</c>")
    fmt = WireFormat().replace(reasoning=reasoning | {"alternatives": others})
    assert fmt.derived.reasoning_in(turn) == markers


def test_format_and_prompt_after_reasoning():
    assert after_reasoning(UNMARKED) == (UNMARKED, "")
    channels = get_format("gpt_oss")
    assert after_reasoning(channels) == (channels, "")
    think = WireFormat().replace(turn={"headers": ("<a>",)}, reasoning=THINK)
    assert after_reasoning(think) == (think, "<a><think></think>")
    delimited = WireFormat().replace(reasoning={"mode": "DELIMITER", "end": "[END]"})
    assert after_reasoning(delimited) == (WireFormat(), "")


@given(formats())
def test_tables_have_the_openers_of_the_derived_facts(fmt):
    tables = marker_tables(fmt, calls=True)
    separator = tables.call_openers.separator
    cores = (literal.strip().removeprefix(separator) for literal in tables.call_starts.literals)
    found = {core.strip() for core in cores}
    assert found == {text.strip() for text in (*fmt.derived.openers, fmt.code.start)} - {""}


@pytest.mark.parametrize("name", list_formats())
def test_every_marker_spelling_has_a_role(name):
    tables = marker_tables(get_format(name), calls=True)
    for place in ("in_content", "in_content_end", "at_edge", "in_reasoning", "after_call"):
        for literal in getattr(tables, place).literals:
            assert isinstance(tables.role(literal), Role)
            assert tables.trailing(literal).strip() == ""


def test_precedence_of_equal_markers():
    fmt = TAGS.replace(
        turn={"headers": ("<think>",), "ends": ("</call>", "</think>")},
        reasoning=THINK,
        tools={"per_call_end": "</call>"},
    )
    tables = marker_tables(fmt, calls=True)
    assert tables.role("</think>") is Role.REASONING_END
    assert tables.role("<think>") is Role.REASONING_START
    assert tables.role("</call>") is Role.TOOL_END
