"""What is shown of a value has no address in it, and is the value itself wherever that has none."""

from __future__ import annotations

import pytest
from jinja2 import Environment

from deltaparse.analyzer.template.shown import shown, without_addresses

from .rooms import run


def odd():
    yield


ODD = odd()


@pytest.mark.parametrize(
    "value",
    [
        *("a", 1, 2.5, True, None, range(3), int),
        *([], ["a", None], ("a", [1]), {"a": {"b": None}}, {1, "a"}),
        *({"a": 1}.items(), {"a": 1}.keys(), {"a": 1}.values()),
    ],
)
def test_what_has_a_text_is_shown_as_it_is(value):
    assert shown(value) is value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (ODD, "'<generator>'"),
        (len, "'<builtin_function_or_method>'"),
        ([1, ODD], "[1, '<generator>']"),
        ([ODD, 1], "['<generator>', 1]"),
        (("a", [ODD]), "('a', ['<generator>'])"),
        ({ODD}, "{'<generator>'}"),
        ({"a": ODD, "b": 1}, "{'a': '<generator>', 'b': 1}"),
        ({"a": 1, ODD: [None]}, "{'a': 1, '<generator>': [None]}"),
        ({"a": ODD}.values(), "'<dict_values>'"),
        ({ODD: 1}.keys(), "'<dict_keys>'"),
        ({"a": ODD}.items(), "'<dict_items>'"),
    ],
)
def test_what_has_none_is_shown_as_its_type(value, text):
    assert repr(shown(value)) == text


def test_an_error_says_no_address():
    said = f"{ODD!r} and {odd!r} cannot be added"
    assert without_addresses(said) == "<generator object odd> and <function odd> cannot be added"


WITH_ARGUMENTS = {
    "attr": "'a'",
    "batch": "2",
    "format": "f",
    "groupby": "'a'",
    "indent": "f",
    "items": "",
    "join": "f",
    "map": "'string'",
    "replace": "'a', f",
    "slice": "2",
    "trim": "'a'",
    "truncate": "9",
    "xmlattr": "",
}


@pytest.mark.parametrize("name", sorted(Environment().filters))
@pytest.mark.parametrize("value", ["f", "[f]", "[f, f]", "{'a': f}", "'%s'", "'a'"])
def test_no_filter_makes_a_text_with_an_address(name, value):
    source = f"{{{{ {value} | {name}({WITH_ARGUMENTS.get(name, '')}) }}}}"
    try:
        text = run(source, f="a".upper)
    except Exception as error:  # noqa: BLE001 - some filters take no such value
        text = without_addresses(str(error))
    assert " at 0x" not in text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ f }}", "<generator>"),
        ("{{ [f] | first }}{{ [f] | last }}", "<generator><generator>"),
        ("{{ f ~ 1 }}", "<generator>1"),
        ("{{ '%s' % f }}{{ '%s' | format(f) }}", "<generator><generator>"),
        ("{{ '{} {!r}'.format(f, f) }}", "<generator> '<generator>'"),
        ("{{ f | string | length }}", "11"),
        ("{{ f | center(15) }}{{ f | e }}", "  <generator>  &lt;generator&gt;"),
        ("{{ [f] | pprint }}", "['<generator>']"),
    ],
)
def test_a_template_prints_no_address(source, text):
    assert run(source, f=ODD) == text
