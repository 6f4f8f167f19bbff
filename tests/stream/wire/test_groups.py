"""The groups of a format: what their fields take, and what they answer."""

from __future__ import annotations

import pytest

from deltaparse import ArgumentsFormat, FormatError, ReasoningFormat, ToolsFormat
from deltaparse.stream.wire.groups import Switches


def test_pairs_of_reasoning():
    fmt = ReasoningFormat(start="<a>", end="</a>", alternatives=("<b>", "</b>", "<c>", "</c>"))
    assert fmt.pairs == (("<a>", "</a>"), ("<b>", "</b>"), ("<c>", "</c>"))
    assert ReasoningFormat(start="<a>", alternatives=("<b>",)).pairs == (("<a>", ""),)


def test_ways_of_an_argument():
    usual = {"name_prefix": "<p=", "name_suffix": ">", "value_suffix": "</p>"}
    others = ("number", "<n=", ">", "</n>", "boolean", "<b=", "!", "</b>")
    first = ("", "<p=", ">", "</p>")
    fmt = ArgumentsFormat(**usual, alternatives=others)
    assert fmt.ways == (first, others[:4], others[4:])
    assert ArgumentsFormat(**usual, alternatives=("number", "<n=")).ways == (first,)


@pytest.mark.parametrize(
    ("marker", "name"),
    [
        ("<p=city>", "city"),
        ("\n<p=city>\n", "city"),
        ("<p= city >", "city"),
        ("<b=city!", "city"),
        ("<p=the city>", ""),
        ("<p=city", ""),
        # Without a name in one way, it may have one in another.
        ("<p=>", "p"),
    ],
)
def test_what_a_marker_that_opens_an_argument_names(marker, name):
    ways = ("boolean", "\n<b=", "!\n", "</b>", "number", "<", "=>", "</n>")
    fmt = ArgumentsFormat(name_prefix="\n<p=", name_suffix=">\n", alternatives=ways)
    assert fmt.named_by(marker) == name


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("section_start", 1, "section_start must be a string, not 1"),
        ("array_wrapped", 1, "array_wrapped must be True or False, not 1"),
        ("field_order", "a", r"field_order must be a tuple of strings, not 'a'; write \('a',\)"),
        ("field_order", ("a", 1), r"field_order must be a tuple of strings, not \('a', 1\)$"),
        ("format", "XML", "format must be one of NONE, JSON_NATIVE, .*, not 'XML'"),
    ],
)
def test_what_a_field_takes_is_said(name, value, says):
    with pytest.raises(FormatError, match=says):
        ToolsFormat(**{name: value})


def test_switches_are_a_mapping():
    switches = Switches({"think": ["prompt"], "b": ()})
    assert dict(switches) == {"think": ("prompt",), "b": ()}
    assert len(switches) == 2
    assert switches == {"think": ("prompt",), "b": ()}
    assert hash(switches) == hash(Switches(dict(switches)))
    assert not Switches()


@pytest.mark.parametrize("given", [3, "think", ["think"], {1: ()}, {"a": (), 1: ()}])
def test_other_things_are_no_switches(given):
    with pytest.raises(FormatError, match=r"^switches must map strings to tuples"):
        Switches(given)


@pytest.mark.parametrize("changes", ["prompt", (1,), None, 3])
def test_what_a_switch_changes_are_texts(changes):
    with pytest.raises(FormatError, match=r"^switches must be a tuple of strings"):
        Switches({"think": changes})
