"""Suggestions of formats for a response."""

from __future__ import annotations

import pytest

from deltaparse import UsageError, get_format, parse, register_format, suggest_formats
from deltaparse.partial import Markers
from deltaparse.stream import suggest

from ..strategies.wire_by_hand import MINE, MINE_CALL, TAGS
from ..strategies.wire_named import WIRES

# Some of these formats differ in whitespace only, so a response cannot distinguish them.
CALLED = sorted(name for name, wire in WIRES.items() if wire.two)


@pytest.mark.parametrize("name", CALLED)
def test_each_format_is_recognised(name):
    found = suggest_formats(WIRES[name].two)
    (mine,) = [one for one in found if name in {one.name, *one.also}]

    assert mine.calls == 2
    assert mine.calls == max(one.calls for one in found)
    likely = [(one.calls, len(one.evidence)) for one in found]
    assert likely == sorted(likely, reverse=True)
    assert all(marker in WIRES[name].two for marker in mine.evidence)


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        (WIRES["hermes"].one, "hermes", "1 call; it contains '<tool_call>'"),
        ("Hi" + WIRES["simple_xml"].one, "simple_xml", "1 call; it contains '<tool_call>'"),
        (WIRES["llama3_json"].one, "llama3_json", "1 call; it contains a call without markers"),
        (
            WIRES["gpt_oss"].says,
            "gpt_oss",
            "no calls; it contains '<|channel|>', '<|message|>'",
        ),
    ],
)
def test_likeliest_format_is_first_with_its_evidence(text, name, why):
    first = suggest_formats(text)[0]
    assert (first.name, first.why) == (name, why)
    assert first.calls == len(parse(text, get_format(name)).tool_calls)


@pytest.mark.parametrize(
    "text",
    [
        *("", "Hello.", "I would write <tool_call> here.", "{not json", "a < b [c]", "functools"),
        'Hi\n\n{"name": "f", "arguments": {"a": 1}}',
    ],
)
def test_text_of_no_format_has_no_suggestions(text):
    assert suggest_formats(text) == []


def test_registered_format_is_suggested():
    assert suggest_formats(MINE_CALL) == []
    register_format("mine", MINE)
    assert [(one.name, one.calls, one.evidence) for one in suggest_formats(MINE_CALL)] == [
        ("mine", 1, ("<use>",))
    ]


def test_truncated_call_counts():
    assert suggest_formats(WIRES["hermes"].one[:-20])[0].calls == 1


def test_input_of_another_type_is_rejected():
    with pytest.raises(UsageError, match="the response must be a str, not bytes"):
        suggest_formats(b"x")


def test_the_output_is_searched_once(monkeypatch):
    """Search the text for each marker only once."""
    searched = []
    find = Markers.find

    def counted(self, text, pos=0, *, final=False):
        start, end = find(self, text, pos, final=final)
        searched.append(end - pos)
        return start, end

    text = "<tool_call>\n" * 200 + "<|tool" * 200
    suggest_formats(text)
    monkeypatch.setattr(suggest.Markers, "find", counted)
    _, literals = suggest._known(suggest.all_formats())
    suggest._standing(text, literals)
    assert sum(searched) == len(text)


@pytest.mark.parametrize("space", ["", " ", "\n\n"])
def test_unmarked_call_may_follow_whitespace(space):
    first = suggest_formats(space + WIRES["llama3_json"].one)[0]
    assert (first.calls, first.evidence) == (1, ())
    assert "llama3_json" in (first.name, *first.also)


@pytest.mark.parametrize("header", get_format("llama3_json").turn.headers)
@pytest.mark.parametrize("space", ["", "\n"])
def test_unmarked_call_may_follow_the_header_of_its_turn(header, space):
    call = WIRES["llama3_json"].one
    for before in (header, header.strip() + space):
        assert suggest_formats(before + call)[0].name == "llama3_json"
        assert suggest_formats(before + "Well: " + call) == []


def test_one_or_two_characters_are_not_a_marker():
    for markers in suggest.call_markers().values():
        assert all(len(marker) > 2 for marker in markers)


def test_function_tags_count_only_in_tagged_formats():
    tags = {"name_prefix": "<fn>", "name_suffix": "</fn>"}
    fmt = TAGS.replace(function=tags)
    assert suggest._openings(fmt) == ["<call>\n"]
    fmt = TAGS.replace(tools={"format": "TAG_WITH_JSON"}, function=tags)
    assert suggest._openings(fmt) == ["<call>\n", "<fn>", "</fn>"]


def test_marker_inside_another_is_found():
    literals = Markers(frozenset({"<a>", "<a>x", "<b>", "x"}))
    assert suggest._standing("..<a>x..", literals) == {"<a>", "<a>x", "x"}
    assert suggest._standing("<b><a>", literals) == {"<a>", "<b>"}
    assert suggest._standing("a", literals) == set()


def test_format_is_not_its_own_alternative():
    for name in CALLED:
        for one in suggest_formats(WIRES[name].two):
            assert one.name not in one.also


def test_call_markers_have_no_whitespace():
    markers = suggest.call_markers()
    assert all(text == text.strip() for some in markers.values() for text in some)
    assert "<arg_value>" in markers["glm45"]
    assert "<tool_call>" in markers["hermes"]


@pytest.mark.parametrize(("marker", "counts"), [("<>", False), ("<c>", True), (" <> ", False)])
def test_three_characters_are_a_marker(marker, counts):
    known = suggest._openings(TAGS.replace(tools={"per_call_start": marker}))
    assert (marker in known) is counts


def test_overlap_of_two_markers_is_not_a_marker():
    literals = Markers(frozenset({"<ab>", "b>c", "<a"}))
    assert suggest._standing("<ab>c <ab>", literals) == {"<ab>", "<a"}
