"""Tests of the groups of a format: fields and methods."""

from __future__ import annotations

import pytest

from deltaparse import ArgumentsFormat, FormatError, ReasoningFormat, ToolsFormat
from deltaparse.stream.wire.groups import Switches


def test_pairs_of_reasoning_markers():
    fmt = ReasoningFormat(start="<a>", end="</a>", alternatives=("<b>", "</b>", "<c>", "</c>"))
    assert fmt.pairs == (("<a>", "</a>"), ("<b>", "</b>"), ("<c>", "</c>"))
    assert ReasoningFormat(start="<a>", alternatives=("<b>",)).pairs == (("<a>", ""),)


def test_notations_of_an_argument():
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
        # The name may be found in another notation.
        ("<p=>", "p"),
    ],
)
def test_name_in_the_opening_marker_of_an_argument(marker, name):
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
def test_invalid_field_value_raises_with_the_expected_type(name, value, says):
    with pytest.raises(FormatError, match=says):
        ToolsFormat(**{name: value})


def test_switches_behave_like_a_mapping():
    switches = Switches({"think": ["prompt"], "b": ()})
    assert dict(switches) == {"think": ("prompt",), "b": ()}
    assert len(switches) == 2
    assert switches == {"think": ("prompt",), "b": ()}
    assert hash(switches) == hash(Switches(dict(switches)))
    assert not Switches()


@pytest.mark.parametrize("given", [3, "think", ["think"], {1: ()}, {"a": (), 1: ()}])
def test_invalid_switches_raise(given):
    with pytest.raises(FormatError, match=r"^switches must map strings to tuples"):
        Switches(given)


@pytest.mark.parametrize("changes", ["prompt", (1,), None, 3])
def test_changes_of_a_switch_must_be_strings(changes):
    with pytest.raises(FormatError, match=r"^switches must be a tuple of strings"):
        Switches({"think": changes})
