"""Shared parts of all call formats: splitting markers and calls."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import ChatTemplate
from deltaparse.analyzer.assistant_turns import Turns
from deltaparse.analyzer.phases.call_texts import (
    CallMarkers,
    CallTexts,
    Parts,
    _with_one_word,
    between_calls,
    json_at,
    markers_of,
    parts_of,
)
from deltaparse.analyzer.phases.find_frame import find_frame
from deltaparse.analyzer.probes import ARGUMENT, CALL_IDS, FUNCTIONS, VALUE, call
from deltaparse.analyzer.renderer import Renderer
from deltaparse.stream import ContentFormat, ReasoningFormat

from ...strategies.templates import OWN

texts = st.text("<[>]ab/ \n", max_size=12)
NAME, OTHER = FUNCTIONS


@given(before=texts, between=st.none() | texts, after=texts)
def test_markers_of_concatenate_to_the_texts_around_calls(before, between, after):
    made = markers_of(before, between, after)
    assert made.section_start + made.per_call_start == before
    assert made.per_call_end + made.section_end == after
    if between is None:
        assert made.separator == ""
    else:
        assert made.per_call_end + made.separator + made.per_call_start == between


@pytest.mark.parametrize(
    ("before", "between", "after", "markers"),
    [
        (
            "<all><one>",
            "</one>, <one>",
            "</one></all>",
            ("<all>", "<one>", ", ", "</one>", "</all>"),
        ),
        ("<one>", "</one>\n<one>", "</one>", ("", "<one>", "\n", "</one>", "")),
        ("<all>", ", ", "</all>", ("<all>", "", ", ", "", "</all>")),
        ("<all><one>", None, "</one></all>", ("", "<all><one>", "", "</one></all>", "")),
        ("say: do ", "; do ", ".", ("say:", " do ", ";", "", ".")),
        ("to] ", "\n[go to] ", "", ("", "to] ", "\n[go ", "", "")),
        ("", " [go] ", " [", ("", "", "go] ", " [", "")),
        ("\n", "\n", "\n", ("", "\n", "", "", "\n")),
        ("<one>", "\n<one>", "\n", ("", "<one>", "", "\n", "")),
        (";", ";", ";", (";", "", "", ";", "")),
    ],
)
def test_markers_of_splits_section_from_call_markers(before, between, after, markers):
    assert markers_of(before, between, after) == CallMarkers(*markers)


@pytest.mark.parametrize(
    ("markers", "trimmed"),
    [
        (("\n<all>", " <one>", ",", "", ""), ("<all>", " <one>", ",", "", "")),
        (("", "\n<one>", ",", "", ""), ("", "<one>", ",\n", "", "")),
        (("", "", ",", "", ""), ("", "", ",", "", "")),
        (("\n", " <one>", ",", "", ""), ("\n", "<one>", ", ", "", "")),
    ],
)
def test_trimmed_moves_leading_whitespace_to_the_separator(markers, trimmed):
    assert CallMarkers(*markers).trimmed() == CallMarkers(*trimmed)


def test_first_marker_is_not_whitespace():
    assert CallMarkers("<all>", "<one>").first == "<all>"
    assert CallMarkers("\n", "<one>").first == "<one>"


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        (f"<{NAME}>{{'a': 1}}", None),
        (f"{NAME}{ARGUMENT}{VALUE}", None),
        ("nothing", None),
        (f"<{NAME}><v {VALUE}><k {ARGUMENT}>", None),
        (f"<do {NAME}><k {ARGUMENT}>{VALUE}</k>", Parts("<do ", "><k ", ">", "</k>")),
        (
            f'<do>{NAME} {{"x": {{"{ARGUMENT}": "{VALUE}"}}}}',
            Parts("<do>", ' {"x": ', None, "}", '"}'),
        ),
        (f'{NAME}{{"{ARGUMENT}": "{VALUE}"}}.', Parts("", "", None, ".", '"}')),
        (
            f"do:{NAME}{{{ARGUMENT}:<q>{VALUE}<q>}}</do>",
            Parts("do:", "", None, "</do>", "<q>}", "<q>"),
        ),
    ],
)
def test_parts_of_splits_a_call(body, parts):
    assert parts_of(body) == parts


def test_between_calls_returns_the_text_between_two_calls():
    pair = f"<{NAME}>{VALUE}</v><{OTHER}>{VALUE}</v>"
    assert between_calls(pair, "") == "</v><"
    assert between_calls(pair, "</v>") == "<"
    assert between_calls(f"<{NAME}>{VALUE}</v>", "") is None
    assert between_calls(f"<{NAME}><{OTHER}>{VALUE}", "") is None


@pytest.mark.parametrize(
    ("text", "value", "end"),
    [(' {"a": 1} ', {"a": 1}, 9), (" {a} ", None, 0), (" " + "[" * 99999, None, 0)],
)
def test_json_at_returns_value_and_end(text, value, end):
    assert json_at(text, 1) == (value, end)


def texts_of(source):
    render = Renderer(ChatTemplate(source))
    return CallTexts(Turns(render, find_frame(render)), ReasoningFormat(), ContentFormat())


def test_calls_all_get_the_id_of_the_first():
    calls = texts_of(OWN.name_and_json_in_tags.replace("'<do='", "'<do ' ~ call.id ~ '='"))
    first, second = calls(call(), call(1)).split("<do ")[1:]
    assert first.strip() == second.strip().replace(OTHER, NAME)
    assert CALL_IDS[0] in first


def test_calls_exclude_the_end_of_the_turn():
    calls = texts_of(OWN.name_and_json_in_tags)
    assert calls(call()).strip().startswith(f"<do={NAME}>")
    assert "</a>" not in calls(call(), call(1))
    assert calls() == ""


def test_separator_is_the_whitespace_between_content_and_calls():
    calls = texts_of(OWN.json_list_behind_words)
    assert calls.separator("CALL>>>") == " "
    assert calls.separator("<never>") == calls.separator("") == ""
    assert calls.separator("<never>", default="\n") == "\n"


@pytest.mark.parametrize(
    ("between", "within", "after", "apart"),
    [
        ("<arg>", "=", "", True),
        ("", " is ", "", False),
        ("\n", ": ", "\n", True),
        ("\n", " ", "\n", False),
        (" ", ": ", "\n", False),
        ("\n", ": ", " ", False),
        ("(", " ", ")", True),
        ("(", "", ")", False),
        ("(", " ", " ", False),
        (" ", " ", ")", False),
        ("{", ":", "}", True),
    ],
)
def test_argument_needs_markers_or_its_own_line(between, within, after, apart):
    found = parts_of(f"do {NAME}{between}{ARGUMENT}{within}{VALUE}{after}")
    assert found == (Parts("do ", between, within, after) if apart else None)


def test_object_with_special_quotes_is_recognized():
    body = f"{NAME}{{{ARGUMENT}:<q>{VALUE}<q>}}."
    assert parts_of(body) == Parts("", "", None, ".", "<q>}", "<q>")
    assert parts_of(body, quotes_all=True) == Parts("", "{", ":<q>", "<q>}.")
    for colon in (": ", " : "):
        spaced = f"{NAME}{{{ARGUMENT}{colon}<q>{VALUE}<q>}}."
        assert parts_of(spaced) == Parts("", "", None, ".", "<q>}", "<q>")
    two = f"{NAME}>{{{ARGUMENT}:''{VALUE}''}}."
    assert parts_of(two) == Parts("", ">", None, ".", "''}", "''")


@pytest.mark.parametrize(
    ("opened", "quote", "closed"),
    [("{", "'", "}."), ("(", "<q>", "}"), ("{", "<q>", ";}")],
)
def test_text_unlike_an_object_has_no_special_quotes(opened, quote, closed):
    body = f"{NAME}{opened}{ARGUMENT}:{quote}{VALUE}{quote}{closed}"
    assert parts_of(body) == Parts("", opened, ":" + quote, quote + closed)


def test_call_may_begin_with_the_name():
    source = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}"
        "{{ c.function.name }}({{ c.function.arguments | tojson }}){% endfor %}<end>{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    render = Renderer(ChatTemplate(source))
    calls = CallTexts(Turns(render, find_frame(render)), ReasoningFormat(), ContentFormat())
    assert calls(call()).startswith(f"{NAME}(")


@pytest.mark.parametrize(
    ("before", "after", "left"),
    [
        ("<c></c><call>", "</call>", ("<call>", "</call>")),
        ("<c>\n<call>", "</call></c>", ("<call>", "</call>")),
        ("<c>\n<call>", "</call>", ("<c>\n<call>", "</call>")),
        ("<call>", "</call></c>", ("<call>", "</call></c>")),
    ],
)
def test_calls_exclude_content_markers(before, after, left):
    content = ContentFormat(start="<c>\n", end="</c>")
    assert CallTexts(None, ReasoningFormat(), content).outside(before, after) == left


@pytest.mark.parametrize("start", ["<c>", "<c>\n"])
def test_calls_exclude_a_lone_content_start(start):
    calls = CallTexts(None, ReasoningFormat(), ContentFormat(start=start))
    assert calls.outside(start + "<call>", "</call>") == ("<call>", "</call>")


def test_content_end_is_found_within_whitespace():
    calls = CallTexts(None, ReasoningFormat(), ContentFormat(start="<c>", end="\n</c>\n"))
    assert calls.outside("<c></c>\n<call>", "</call>") == ("\n<call>", "</call>")


ALWAYS = "{% for m in messages %}<{{ m.role }}>BODY<end>{% endfor %}"
ALWAYS += "{% if add_generation_prompt %}<assistant>{% endif %}"
NAMES = "{% for c in m.tool_calls or [] %}<c>{{ c.function.name }}{% endfor %}"


@pytest.mark.parametrize(("end", "before"), [("</say>", "<c>"), ("", "<say><c>")])
def test_calls_keep_a_content_start_without_an_end(end, before):
    said = "<say>{{ m.content or '' }}" + NAMES + end
    said = "{% if m.role == 'assistant' %}" + said + "{% else %}{{ m.content }}{% endif %}"
    source = ALWAYS.replace("BODY", said)
    content = ContentFormat(start="<say>", end=end)
    turns = texts_of(source).turns
    assert CallTexts(turns, ReasoningFormat(), content)(call()) == before + NAME


def test_calls_before_content_have_no_content_gap():
    content, marker = "{{ m.content or '' }}", "{{ '<c>' if m.role == 'assistant' }}"
    behind, before = content + NAMES, NAMES + content + marker
    assert texts_of(ALWAYS.replace("BODY", behind)).behind_content("<c>") == ""
    assert texts_of(ALWAYS.replace("BODY", before)).behind_content("<c>") is None


def test_template_that_rejects_calls_has_empty_call_texts():
    refuses = "{{ raise_exception('no') if m.tool_calls }}{{ m.content }}"
    calls = texts_of(ALWAYS.replace("BODY", refuses))
    assert calls.turn(call()) == calls(call()) == calls.separator("<c>") == ""
    assert calls.behind_content("<c>") is None


@pytest.mark.parametrize(
    ("body", "first", "space"),
    [
        ("SAID{{ '\\n' }}CALLS", "<c>", "\n"),
        ("SAID!CALLS", "<c>", None),
        ("CALLSSAID", NAME, None),
        ("CALLSSAID{{ '\\n' }}", NAME, None),
    ],
)
def test_separator_contains_only_whitespace(body, first, space):
    source = body.replace("SAID", "{{ m.content or '' }}").replace("CALLS", NAMES)
    calls = texts_of(ALWAYS.replace("BODY", source))
    assert calls.behind_content(first) == space
    assert calls.separator(first, default=" ") == (" " if space is None else space)


@pytest.mark.parametrize("several", [True, False])
def test_message_end_keeps_later_messages_of_the_turn(several):
    each = "{{ c.function.name }}{{ '<end><assistant>' if not loop.last }}"
    said = "{{ m.content or '' }}{% for c in m.tool_calls or [] %}" + each + "{% endfor %}"
    turns = texts_of(ALWAYS.replace("BODY", said)).turns
    turn = replace(turns.frame.turn, several_messages=several)
    calls = CallTexts(
        turns.within(replace(turns.frame, turn=turn)), ReasoningFormat(), ContentFormat()
    )
    assert (OTHER in calls(call(), call(1))) is several


def test_turn_end_ends_calls_despite_trailing_whitespace():
    more = "<end>{{ '<wait>' if m.tool_calls }}{{ '\\n' }}"
    source = ALWAYS.replace("BODY<end>", "{{ m.content or '' }}" + NAMES + more)
    calls = texts_of(source)
    assert calls.turns.frame.turn.ends == ("<end>\n",)
    assert calls(call()) == f"<c>{NAME}"


def test_turn_without_a_function_name_has_no_calls():
    calls = texts_of(ALWAYS.replace("BODY", "{{ m.content or 'none' }}"))
    assert (calls.turn(call()), calls(call())) == ("none", "")


@pytest.mark.parametrize(
    ("around", "found"),
    [
        (("</", ">\n"), "<a=k>v</W><b=k>"),
        (("<a=", ">"), "<a=W>v</k><b=k>"),
        (("", ">"), "<a=k>v</k><b=k>"),
    ],
)
def test_name_between_two_texts_becomes_a_placeholder(around, found):
    assert _with_one_word("<a=k>v</k><b=k>", ["j", "k"], around, "W") == found
