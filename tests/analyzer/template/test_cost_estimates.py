"""Estimates: never less than what is made, and told before it is made."""

# ruff: noqa: E501 - a template is read more easily in one line

from __future__ import annotations

from time import thread_time

import pytest
from jinja2 import Environment
from jinja2.filters import FILTERS

from deltaparse.analyzer.template.budget import Budget, LimitExceeded, Limits
from deltaparse.analyzer.template.cost_estimates import GROWTH, TESTS, operated
from deltaparse.analyzer.template.sandbox import sandbox


def run(source, **variables):
    limits = Limits(seconds=5)
    room = sandbox(limits)
    return room.run(room.from_string(room.guarded(source)), variables, limits)


def weight(value):
    return Budget(Limits(), []).size(value)


# Name, value, arguments by position, by name.
METHODS = [
    ("center", "ab", (9,), {}),
    ("ljust", "ab", (9, "-"), {}),
    ("rjust", "ab", (9,), {}),
    ("zfill", "7", (9,), {}),
    ("expandtabs", "\t\t", (9,), {}),
    ("expandtabs", "\t", (), {"tabsize": 9}),
    ("translate", "aab", ({97: "xyz"},), {}),
    ("replace", "aab", ("a", "xyz"), {}),
    ("replace", "aab", ("", "xyz"), {}),
    ("replace", "aab", ("a", "xyz", 1), {}),
    ("replace", "aab", ("a", "xyz", -1), {}),
    ("join", ", ", (["a", "bc", "d"],), {}),
    ("join", ", ", ([],), {}),
]


@pytest.mark.parametrize(("name", "value", "args", "kwargs"), METHODS)
def test_no_method_makes_more_than_its_estimate(name, value, args, kwargs):
    made = getattr(value, name)(*args, **kwargs)

    assert len(made) <= GROWTH[name](Budget(Limits(), []), value, args, kwargs)


FILTERED = [
    ("center", "ab", (9,), {}),
    ("indent", "a\nb\nc", (9,), {"first": True}),
    ("indent", "a\nb", ("> ",), {}),
    ("pprint", [1, "a", {"b": "c"}], (), {}),
    ("striptags", "<a>b</a> &amp;", (), {}),
    ("title", "a b", (), {}),
    ("urlencode", "a b/\u00e9", (), {}),
    ("batch", [1, 2, 3], (2, "x"), {}),
    ("batch", [1], (9,), {"fill_with": "x"}),
    ("format", "%s-%05d", ("ab", 7), {}),
    ("format", "%(a)s%(a)s", (), {"a": "bcd"}),
    ("format", "%*d", (9, 1), {}),
]


@pytest.mark.parametrize(("name", "value", "args", "kwargs"), FILTERED)
def test_no_filter_makes_more_than_its_estimate(name, value, args, kwargs):
    made = FILTERS[name](value, *args, **kwargs)
    size = len(made) if isinstance(made, str) else sum(len(part) for part in made)

    assert size <= GROWTH[name](Budget(Limits(), []), value, args, kwargs)


@pytest.mark.parametrize(
    ("operator", "left", "right", "made"),
    [
        ("*", "ab", 3, "ababab"),
        ("*", 3, "ab", "ababab"),
        ("*", [1, "a"], 2, [1, "a"] * 2),
        ("*", "ab", -3, ""),
        ("+", "ab", "cd", "abcd"),
        ("%", "%5d|%s", (1, "a"), "    1|a"),
        ("%", "%(a)s%(a)s", {"a": "bcd"}, "bcdbcd"),
        ("%", "%*d", (9, 1), "        1"),
    ],
)
def test_no_operator_makes_more_than_its_estimate(operator, left, right, made):
    assert weight(made) <= operated(Budget(Limits(), []), operator, left, right)


@pytest.mark.parametrize(
    ("operator", "left", "right"),
    [
        ("+", 1, 2),
        ("-", 3, 2),
        ("*", 4, 5),
        ("*", 1.5, 2),
        ("%", 7, 2),
        ("**", 2, 9),
        ("**", 2.0, 0.5),
    ],
)
def test_numbers_cost_nothing(operator, left, right):
    assert operated(Budget(Limits(), []), operator, left, right) == 0


def test_lists_are_added_by_the_number_of_their_items():
    assert operated(Budget(Limits(), []), "+", [1, 2], ["abc"]) == 3 * 32


@pytest.mark.parametrize("base", [2, -2])
def test_powers_have_few_bits(base):
    operated(Budget(Limits(), []), "**", base, 31)
    with pytest.raises(LimitExceeded, match="more than 64 bits"):
        operated(Budget(Limits(), []), "**", base, 99)


def test_every_name_is_one_of_jinjas_or_of_a_text():
    assert all(name in FILTERS or hasattr(str, name) for name in GROWTH)
    assert set(Environment().tests) >= TESTS


HUGE = {
    "text * number": "{{ 'a' * 10 ** 9 }}",
    "number * text": "{{ 10 ** 9 * 'a' }}",
    "list * number": "{{ ([1] * 10 ** 9) | length }}",
    "power": "{{ 9 ** (9 ** 9) }}",
    "percent": "{{ '%1000000000d' % 1 }}",
    "percent precision": "{{ '%.1000000000f' % 1 }}",
    "percent star": "{{ '%*d' % (1000000000, 1) }}",
    "percent keys": "{{ ('%(a)s' * 9999) % {'a': 'a' * 9999} }}",
    "format filter": "{{ '%1000000000d' | format(1) }}",
    "center": "{{ 'a'.center(10 ** 9) }}",
    "center filter": "{{ 'a' | center(1000000000) }}",
    "ljust": "{{ 'a'.ljust(10 ** 9) }}",
    "zfill": "{{ 'a'.zfill(10 ** 9) }}",
    "expandtabs": "{{ ('\t' * 99999).expandtabs(99999) }}",
    "translate": "{{ ('a' * 9999).translate({97: 'b' * 9999}) }}",
    "indent": "{{ ('a\n' * 9999) | indent(99999) }}",
    "replace": "{{ ('a' * 9999) | replace('a', 'b' * 9999) }}",
    "replace nothing": "{{ ('a' * 9999).replace('', 'b' * 9999) }}",
    "join": "{{ range(9999) | join('a' * 9999) }}",
    "join generated": "{{ range(999) | map('string') | join('a' * 9999) }}",
    "join method": "{{ ('a' * 9999).join(range(999) | map('string')) }}",
    "wordwrap": "{{ ('a ' * 9999) | wordwrap(1, wrapstring='b' * 9999) }}",
    "striptags": "{{ ('<!--' * 99999) | striptags }}",
    "striptags method": "{{ (('<!--' * 99999) | safe).striptags() }}",
    "rfind": "{{ ('a' * 4000000).rfind('ab' ~ 'a' * 99999) }}",
    "trim": "{{ ('a' * 99999) | trim('b' * 99999 ~ 'a') }}",
    "batch": "{{ [1] | batch(10 ** 9, 'x') | list | length }}",
    "slice": "{{ [1] | slice(10 ** 9) | list | length }}",
    "round": "{{ 1 | round(10 ** 9, 'floor') }}",
    "sort by many": "{{ ([{'a': 1}] * 9999) | sort(attribute='a,' * 999 ~ 'a') }}",
    "attribute": "{{ [1] | map(attribute='a.' * 99999, default=1) | list }}",
    "addition": "{% set ns = namespace(s='a') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
    "added lists": "{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
}


@pytest.mark.parametrize("source", HUGE.values(), ids=HUGE.keys())
def test_too_much_is_refused_before_it_is_made(source):
    began = thread_time()

    with pytest.raises(LimitExceeded, match=r"characters|bits|parts"):
        run(source)
    assert thread_time() - began < 2


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'abc' | round(9, 'floor') }}",
        "{{ '%1000000000d' is odd }}",
        "{{ '%1000000000d' is divisibleby 1 }}",
        "{{ {} * 2 }}",
        "{{ 'a' * 'b' }}",
        "{{ [1] - [1] }}",
    ],
)
def test_what_makes_no_sense_is_a_type_error(source):
    with pytest.raises(TypeError):
        run(source)


def test_a_filter_takes_generators():
    source = "{{ xs | map('string') | join('-') }}{{ xs | map('string') | batch(2) | list }}"

    assert run(source, xs=[1, 2, 3]) == "1-2-3[['1', '2'], ['3']]"
