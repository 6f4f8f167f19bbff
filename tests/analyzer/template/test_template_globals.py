"""Tests of the functions and filters for templates: as in transformers, and safe."""

# ruff: noqa: E501 - a template is read more easily in one line

from __future__ import annotations

import json

import pytest
from jinja2.exceptions import UndefinedError

from deltaparse.analyzer.template.budget import LimitExceeded, Limits
from deltaparse.analyzer.template.template_globals import Refusal

from .rooms import run


def test_the_generation_tag_prints_its_body():
    source = "{% for a in [1, 2] %}{% generation %}{% set x = a %}<{{ x }}{{ loop.index }}>{% endgeneration %}{{ x }}{% endfor %}"

    assert run(source) == "<11><22>"


@pytest.mark.parametrize(
    "options", [{}, {"indent": 2}, {"ensure_ascii": True}, {"sort_keys": True}]
)
def test_tojson_is_that_of_json(options):
    value = {"b": ["<é>", 1, 2.5, None, True], "a": {}}
    arguments = ", ".join(f"{name}={value!r}" for name, value in options.items())
    ours = {"ensure_ascii": False, **options}

    assert run(f"{{{{ v | tojson({arguments}) }}}}", v=value) == json.dumps(value, **ours)


def test_tojson_with_positions_and_separators():
    assert run("{{ {'a': 'é'} | tojson(true, none, (',', ':')) }}") == '{"a":"\\u00e9"}'


def test_tojson_writes_iterables_as_lists():
    source = "{{ {'a': [1, 2] | map('string'), 'b': {'k': 0}.keys(), 'c': range(2)} | tojson }}"

    assert run(source) == '{"a": ["1", "2"], "b": ["k"], "c": [0, 1]}'


@pytest.mark.parametrize("source", ["{{ [x] | tojson }}", "{{ x + 1 }}", "{{ x.y }}", "{{ x() }}"])
def test_an_undefined_name_is_named(source):
    with pytest.raises(UndefinedError) as caught:
        run(source)
    # Not by `match`, which reads the notes that json adds from Python 3.14 on.
    assert str(caught.value) == "'x' is undefined: pass it to render(x=...)"


def test_jinja_error_for_a_missing_item_is_unchanged():
    with pytest.raises(UndefinedError, match=r"^No first item, sequence was empty\.$"):
        run("{{ ([] | first).x }}")


def test_an_undefined_attribute_is_not_the_callers_business():
    with pytest.raises(UndefinedError, match=r"^'dict object' has no attribute 'y'$"):
        run("{{ x.y.z }}", x={})


@pytest.mark.parametrize(
    "source",
    [
        "{{ namespace | tojson }}",
        "{{ range('a') }}",
        "{{ 1() }}",
    ],
)
def test_invalid_arguments_raise_a_type_error(source):
    with pytest.raises(TypeError):
        run(source)


def test_dict_creates_but_cannot_update():
    assert run("{{ dict(a=1) }}{{ dict.fromkeys([2]) }}") == "{'a': 1}{2: None}"
    given = {}
    with pytest.raises(UndefinedError):
        run("{{ dict.update(x, a=1) }}", x=given)
    assert given == {}


def test_raise_exception_carries_the_templates_words():
    with pytest.raises(Refusal, match=r"^no tools here$"):
        run("{{ raise_exception('no tools here') }}")


def test_the_time_of_day():
    assert len(run("{{ strftime_now('%Y-%m-%d') }}")) == 10


def test_namespace_does_not_print_its_values():
    assert run("{% set n = namespace(a=1) %}{% set n.b = n %}{{ n }}") == "<namespace>"


def test_tojson_error_names_the_type():
    with pytest.raises(TypeError, match=r"^type cannot be written as JSON"):
        run("{{ namespace | tojson }}")


@pytest.mark.parametrize("options", ["indent=9", "separators=(',' * 99, ':')", "indent='-' * 99"])
def test_json_with_much_between_its_items_is_refused_before_it_is_made(options):
    written = []

    def items():
        written.append(1)
        yield from range(10)

    source = f"{{{{ xs | tojson({options}) }}}}"
    with pytest.raises(LimitExceeded, match="a value of more than 300 characters"):
        run(source, Limits(text=300), xs=[items() for _ in range(100)])
    assert len(written) < 10


def test_json_may_be_as_long_as_any_text():
    assert run("{{ [1] | tojson(indent=1) }}", Limits(text=6)) == "[\n 1\n]"
    with pytest.raises(LimitExceeded, match="more than 5 characters"):
        run("{{ [1] | tojson(indent=1) }}", Limits(text=5))


def test_each_partial_sum_of_lists_is_counted():
    limits = Limits(memory=20_000)
    assert run("{{ xs | sum(start=[]) }}", limits, xs=[[1]] * 9) == str([1] * 9)
    with pytest.raises(LimitExceeded, match="more than 20000 characters of values"):
        run("{{ xs | sum(start=[]) }}", limits, xs=[[1]] * 100)


def test_json_indent_is_limited():
    assert run("{{ [1] | tojson(indent='-' * 100) }}") == "[\n" + "-" * 100 + "1\n]"
    with pytest.raises(LimitExceeded, match="more than 100 characters between two items"):
        run("{{ [1] | tojson(indent='-' * 101) }}")


def test_names_in_a_namespace_may_be_of_any_type():
    assert run("{{ namespace({1: 2}) }}") == "<namespace>"
