"""Tests of assistant turns, extracted from renderings by their parts."""

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate, TurnFormat
from deltaparse.analyzer.assistant_turns import Frame, Turns
from deltaparse.analyzer.phases.find_frame import find_frame
from deltaparse.analyzer.probes import (
    CONTENT,
    FUNCTIONS,
    NEXT_USER,
    REASONING,
    RESULT,
    USER,
    call,
    user,
)
from deltaparse.analyzer.renderer import Renderer

from ..strategies.templates import OWN


def turns_of(source):
    render = Renderer(ChatTemplate(source))
    return Turns(render, find_frame(render))


def test_turn_is_the_text_between_header_and_end():
    assert turns_of(OWN.reasoning_beside_calls_only).body() == f"<say>{CONTENT}</say>"


def test_a_turn_is_the_same_last_or_in_the_middle():
    turns = turns_of(OWN.json_list_behind_words)
    assert turns.body() == CONTENT
    assert turns.body(then=[user(NEXT_USER)]) == CONTENT


def test_turn_has_only_the_requested_parts():
    turns = turns_of(OWN.reasoning_beside_calls_only)
    assert FUNCTIONS[0] not in turns.body()
    called = turns.body(content="", calls=[call()], reasoning=REASONING)
    assert CONTENT not in called
    assert called.index(REASONING) < called.index(FUNCTIONS[0])


def test_the_end_is_as_the_template_wrote_it():
    turns = turns_of(OWN.reasoning_beside_calls_only)
    ((body, end),) = turns.frame.bodies_and_ends(turns.render.turn(), USER)
    assert (body, end.strip()) == (turns.body(), "</a>")


def test_another_frame_cuts_another_turn():
    turns = turns_of(OWN.json_list_behind_words)
    other = turns.within(turns.frame.without(turns.frame.header))
    assert other.body().endswith(CONTENT)
    assert other.body() != turns.body()


def test_there_is_no_turn_in_a_refusal_or_a_foreign_text():
    assert turns_of(OWN.json_unmarked).body(calls=[call(), call(1)]) is None
    frame = turns_of(OWN.json_list_behind_words).frame
    assert frame.body(None) is None
    assert frame.body("nothing of the sort") is None
    assert frame.body(f"{USER} and no header") is None


@pytest.mark.parametrize(
    ("ends", "last"),
    [
        (("</say></a>", "</s>"), ("</a>", "</s>")),
        (("</say></a>words",), ("</a>",)),
        (("<x><y></a>",), ("</a>",)),
        (("</a>",), ("</a>",)),
        (("no marker",), ("no marker",)),
        ((), ()),
    ],
)
def test_the_last_end_marker(ends, last):
    frame = Frame(TurnFormat(headers=("<a>",), ends=ends), "<a>", "")
    assert frame.with_last_end_marker().turn.ends == last


@pytest.mark.parametrize(
    ("ends", "before", "longer"),
    [
        (("</a>", "</s>"), "</say>", ("</say></a>", "</a>", "</s>")),
        (("</a>",), "words", ("</a>",)),
        (("</a>",), "", ("</a>",)),
        ((), "</say>", ()),
    ],
)
def test_an_end_may_begin_with_the_markers_before_it(ends, before, longer):
    frame = Frame(TurnFormat(headers=("<a>",), ends=ends), "<a>", "")
    assert frame.with_longer_end(before).turn.ends == longer


def test_header_is_cut_before_a_marker():
    frame = Frame(TurnFormat(headers=("<a><mind>", "<a>")), "<a><mind>", "")
    assert frame.without("<mind>") == Frame(TurnFormat(headers=("<a>", "<a>")), "<a>", "")
    assert frame.without("<other>") is frame.without("") is frame


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        ("words</a>", [("words", "</a>")]),
        ("</a>", [("", "</a>")]),
        ("words", [("words", "")]),
        (f"words</a>\n<u>{NEXT_USER}", [("words", "</a>")]),
        (f"</a>\n<u>{NEXT_USER}", [("", "</a>")]),
        (f"one</a>two</a><u>{NEXT_USER}", [("one", "</a>"), ("one</a>two", "</a>")]),
        (f"words<u>{NEXT_USER}", []),
        (f"words</a><u>{NEXT_USER}</u></a>", [("words", "</a>")]),
        (f"words</a><r>{RESULT}</r></a><u>{NEXT_USER}", [("words", "</a>")]),
        (f"1</a>2</a><r>{RESULT}<u>{NEXT_USER}", [("1", "</a>"), ("1</a>2", "</a>")]),
        (f"1</a>2</b>3</a><r>{RESULT}", [("1</a>2</b>3", "</a>")]),
        (f"1</a>2</b><u>{NEXT_USER}", [("1", "</a>"), ("1</a>2", "</b>")]),
        (f"1</b>2</a><u>{NEXT_USER}", [("1", "</b>"), ("1</b>2", "</a>")]),
        (f"1</b>2</a><r>{RESULT}", [("1</b>2", "</a>")]),
        (f"1</a>2</b><r>{RESULT}", [("1</a>2", "</b>")]),
    ],
)
def test_a_turn_is_cut_at_its_end(answer, parts):
    frame = Frame(TurnFormat(headers=("<a>",), ends=("</a>", "</b>")), "<a>", "")
    assert [*frame.bodies_and_ends(f"<u>{USER}</u><a>{answer}", USER)] == parts


@pytest.mark.parametrize(
    ("end", "answer", "parts"),
    [
        ("\n</a>", "words\n</a>", ("words", "\n</a>")),
        ("\n</a>", "words</a>", ("words", "</a>")),
        ("</a>\n", "words</a>\n", ("words", "</a>\n")),
        ("</a>\n", "words</a>", ("words", "</a>")),
        ("</a>", "words</a>\n", ("words", "</a>\n")),
        ("</a>", "words\n", ("words\n", "")),
    ],
)
def test_whitespace_at_the_end_of_a_turn_may_differ(end, answer, parts):
    frame = Frame(TurnFormat(headers=("<a>",), ends=(end,)), "<a>\n", "")
    for space in ("", "\n"):  # at the end of the header too
        assert [*frame.bodies_and_ends(f"{USER}<a>{space}{answer}", USER)] == [parts]


@pytest.mark.parametrize(
    ("returned", "answer", "parts"),
    [
        ("<r>", f"words<r>{RESULT}", [("words", "")]),
        ("<r>\n", f"words<r>{RESULT}", [("words", "")]),
        ("<r>", f"words</a><r>{RESULT}", [("words", "</a>")]),
        ("", f"words<r>{RESULT}", []),
        ("<s>", f"words<r>{RESULT}", []),
    ],
)
def test_start_of_a_result_ends_a_turn_without_end_marker(returned, answer, parts):
    turn = TurnFormat(headers=("<a>",), ends=("</a>",))
    frame = Frame(turn, "<a>", "", returned=returned)
    assert [*frame.bodies_and_ends(f"{USER}<a>{answer}", USER)] == parts


def test_turn_after_a_result_may_have_any_header():
    frame = Frame(TurnFormat(headers=("<a>", "<b>"), ends=("</a>",)), "<a>", "")
    assert [*frame.bodies_and_ends(f"{RESULT}<b>words</a>", RESULT)] == [("words", "</a>")]
    assert [*frame.bodies_and_ends(f"{RESULT}<c>words</a>", RESULT)] == []
    assert [*frame.bodies_and_ends(f"{USER}<b>words</a>", USER)] == []


@pytest.mark.parametrize(
    ("answer", "several", "one"),
    [
        ("1</a><a>2</a>", [("1</a><a>2", "</a>")], [("1", "</a>"), ("1</a><a>2", "</a>")]),
        ("1</a>\n<a>2</a>", [("1</a>\n<a>2", "</a>")], [("1", "</a>"), ("1</a>\n<a>2", "</a>")]),
        ("</a><a>2</a>", [("</a><a>2", "</a>")], [("", "</a>"), ("</a><a>2", "</a>")]),
        ("1</a>2</a>", [("1", "</a>"), ("1</a>2", "</a>")], [("1", "</a>"), ("1</a>2", "</a>")]),
        ("1</a>", [("1", "</a>")], [("1", "</a>")]),
        ("one<a>2", [], []),
    ],
)
def test_turn_continues_if_a_header_follows_its_end(answer, several, one):
    for many, parts in ((True, several), (False, one)):
        turn = TurnFormat(headers=("<a>",), ends=("</a>",), several_messages=many)
        frame = Frame(turn, "<a>\n", "")
        found = frame.bodies_and_ends(f"{USER}<a>\n{answer}<u>{NEXT_USER}", USER)
        assert [*found] == parts


@pytest.mark.parametrize(
    ("answer", "ends", "parts"),
    [
        (f"words<u>{NEXT_USER}", (), [("words", "")]),
        (f"words<e><u>{NEXT_USER}", ("<o>", "<e>"), [("words", "<e>")]),
        (f"words{NEXT_USER}", (), []),
        ("words<u>", (), []),
    ],
)
def test_a_turn_without_an_end_goes_up_to_the_next_message(answer, ends, parts):
    frame = Frame(TurnFormat(headers=("<a>",), ends=("</a>",)), "<a>", "", opening="<u>")
    assert [*frame.before_the_next(f"<u>{USER}</u><a>{answer}", USER, ends)] == parts
    unknown = Frame(TurnFormat(headers=("<a>",)), "<a>", "", opening="<u>")
    assert [*unknown.before_the_next(f"<u>{USER}</u><a>{answer}", USER, ends)] == []


@pytest.mark.parametrize(
    ("body", "several"),
    [
        (f"{CONTENT}</a>\n<a>{FUNCTIONS[0]}</a>", True),
        (f"{CONTENT}</a><a>{FUNCTIONS[0]}</a>", True),
        (f"{CONTENT}</a><b>{FUNCTIONS[0]}</a>", False),
        (f"{CONTENT}<a>{FUNCTIONS[0]}</a>", False),
        (f"{CONTENT}</a>", False),
        (None, False),
    ],
)
def test_turn_of_several_messages_has_a_header_after_its_end(body, several):
    frame = Frame(TurnFormat(headers=("<a>",), ends=("</e>", "</a>\n")), "<a>\n", "")
    assert frame.with_several_messages(body).turn.several_messages is several
    bare = Frame(TurnFormat(ends=("</a>",)), "\n", "")
    assert bare.with_several_messages(body) is bare


@pytest.mark.parametrize(
    ("header", "prompt", "wanted"),
    [
        ("<m>", "<m>", ("</u>", ("</u>",), "</u><m>")),
        ("<m>", "\n<m>", ("</u>", ("</u>",), "</u>\n<m>")),
        ("<m>", "<b>", ("</u>", ("</u>",), "<b>")),
        ("\n<m>", "\n<m>", ("</u>", ("</u>",), "</u>\n<m>")),
        ("<a><m>", "<a><m>", ("<a>", ("<a>",), "<a><m>")),
    ],
)
def test_turn_without_header_begins_after_the_user_message(header, prompt, wanted):
    turn = TurnFormat(headers=(header,), generation_prompt=prompt)
    made = Frame(turn, header, "", asked="</u>").without("<m>")
    assert (made.header, made.turn.headers, made.turn.generation_prompt) == wanted
    bare = Frame(turn, header, "", asked="\n").without("<m>")
    assert bare.turn.headers == tuple(filter(None, [header.removesuffix("<m>").strip()]))
    assert bare.turn.generation_prompt == prompt
