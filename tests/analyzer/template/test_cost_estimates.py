"""Tests of estimates, which are never less than the size of the result."""

from __future__ import annotations

import pytest
from jinja2 import Environment
from jinja2.filters import FILTERS

from deltaparse.analyzer.template.budget import Budget, LimitExceeded, Limits
from deltaparse.analyzer.template.cost_estimates import (
    ESTIMATES,
    METHOD_ESTIMATES,
    attribute_steps,
    operator_estimate,
    widths,
)


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

    assert len(made) <= METHOD_ESTIMATES[name](Budget(Limits(), []), value, args, kwargs)


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
    ("join", [1, "ab", None], (), {}),
    ("join", ["a", "bc", "d"], ("--",), {}),
    ("join", "abc", ("--",), {}),
    ("join", "abc", (), {}),
    ("join", "abc", (5,), {}),
    ("join", "abc", (["defghi"],), {}),
    ("join", "abc", (), {"d": ("defghi",)}),
    ("format", "%s-%05d", ("ab", 7), {}),
    ("format", "%(a)s%(a)s", (), {"a": "bcd"}),
    ("format", "%*d", (9, 1), {}),
]


@pytest.mark.parametrize(("name", "value", "args", "kwargs"), FILTERED)
def test_no_filter_makes_more_than_its_estimate(name, value, args, kwargs):
    context = [Environment().from_string("").new_context().eval_ctx] * (name == "join")
    made = FILTERS[name](*context, value, *args, **kwargs)
    size = len(made) if isinstance(made, str) else sum(len(part) for part in made)

    assert size <= ESTIMATES[name](Budget(Limits(), []), value, args, kwargs)


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
    assert weight(made) <= operator_estimate(Budget(Limits(), []), operator, left, right)


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
        ("**", 2.5, 3),
        ("**", 2, 0.5),
    ],
)
def test_numbers_are_free(operator, left, right):
    assert operator_estimate(Budget(Limits(), []), operator, left, right) == 0


def test_lists_are_added_by_the_number_of_their_items():
    assert operator_estimate(Budget(Limits(), []), "+", [1, 2], ["abc"]) == 3 * 32


@pytest.mark.parametrize("base", [2, -2])
def test_powers_have_few_bits(base):
    operator_estimate(Budget(Limits(), []), "**", base, 31)
    with pytest.raises(LimitExceeded, match="more than 64 bits"):
        operator_estimate(Budget(Limits(), []), "**", base, 99)


def test_every_name_is_one_of_jinjas_or_of_a_text():
    assert all(name in FILTERS or hasattr(str, name) for name in ESTIMATES)


# Name, value, arguments: quickly asked for, and slow to do or large.
SLOW = [
    *((name, "a" * 4_000_000, ("ab" + "a" * 99_999,)) for name in ("rfind", "rindex", "rsplit")),
    *((name, "a" * 4_000_000, ("b" * 99_999,)) for name in ("rpartition", "strip", "lstrip")),
    *((name, "a" * 4_000_000, ("b" * 99_999,)) for name in ("rstrip", "trim")),
    *((name, "a" * 99_999, ()) for name in ("pprint", "striptags", "title", "urlencode")),
    *((name, "a" * 99_999, ()) for name in ("urlize", "wordwrap", "xmlattr")),
    *((name, [{}] * 9_999, ("a," * 999,)) for name in ("sort", "groupby", "min", "max")),
    *((name, "a", (10**9,)) for name in ("center", "ljust", "rjust", "zfill", "expandtabs")),
    *((name, "a", (10**9,)) for name in ("batch", "slice", "indent")),
    ("translate", "a" * 9_999, ({97: "b" * 9_999},)),
    ("round", 1.5, (10**9,)),
    ("replace", "a" * 9_999, ("a", "b" * 9_999)),
    ("join", range(9_999), ("a" * 9_999,)),
    ("format", "%1000000000d", (1,)),
]


@pytest.mark.parametrize(("name", "value", "args"), SLOW, ids=[name for name, *_ in SLOW])
def test_slow_or_large_results_exceed_the_limits_in_the_estimate(name, value, args):
    limits = Limits()
    assert ESTIMATES[name](Budget(limits, []), value, args, {}) > limits.text


def test_all_that_has_an_estimate_may_be_slow_or_large():
    assert {name for name, *_ in SLOW} == ESTIMATES.keys()


# Name, value, arguments: harmless, though the same name may do much.
HARMLESS = [
    ("replace", "a" * 9_999, ("a", "b" * 9_999, 1)),
    ("format", "a" * 9_999 + "%s", ("b" * 9_999,)),
    ("center", "a" * 9_999, (99,)),
    ("strip", "a" * 99_999, (" \n",)),
]


@pytest.mark.parametrize(("name", "value", "args"), HARMLESS)
def test_harmless_results_are_within_the_limits_in_the_estimate(name, value, args):
    limits = Limits()
    assert ESTIMATES[name](Budget(limits, []), value, args, {}) < limits.text


def test_the_steps_of_an_attribute_are_its_parts():
    assert attribute_steps(["a"]) == 1
    assert attribute_steps(["a.b,c", 3, "d"]) == 4
    assert attribute_steps([]) == 0


def test_widths_are_all_numbers_of_a_form():
    assert widths("%5d of %10s.") == 15
    assert widths("no number") == 0
    assert widths("\u0661\u0662") == 12
    assert widths("0" * 17 + "5") == 5
    assert widths("0" * 18 + "5") > 1 << 60


@pytest.mark.parametrize(
    ("args", "kwargs", "size"),
    [
        (("a", "xyz"), {}, 9),
        (("a", "xyz", 1), {}, 6),
        (("a", "xyz", 9), {}, 9),
        ((), {"old": "a", "new": "xyz"}, 9),
        ((), {"old": "a", "new": "xyz", "count": 0}, 3),
        (("q", "xyz"), {}, 3),
    ],
)
def test_replace_is_estimated_by_the_number_of_matches(args, kwargs, size):
    assert ESTIMATES["replace"](Budget(Limits(), []), "aab", args, kwargs) == size


def test_join_with_empty_separator_keeps_length():
    assert ESTIMATES["join"](Budget(Limits(), []), "abc", (), {}) == 3
    assert METHOD_ESTIMATES["join"](Budget(Limits(), []), ", ", (), {}) == 0


def test_a_text_is_not_rounded():
    with pytest.raises(TypeError, match=r"^`round` needs a number, not str$"):
        ESTIMATES["round"](Budget(Limits(), []), "a", (9,), {})


@pytest.mark.parametrize(
    ("form", "args", "kwargs", "widths", "times"),
    [
        ("%d", (9,), {}, 0, 1),
        ("%5d", (9,), {}, 5, 1),
        ("%*d", (9, 1), {}, 10, 1),
        ("%*d", ((9, 1),), {}, 10, 1),
        ("%(a)s", (), {"a": "x"}, 0, 1),
        ("%(a)s%(a)s%(a)s", (), {"a": "x"}, 0, 3),
    ],
)
def test_formatting_is_estimated_by_widths_and_arguments(form, args, kwargs, widths, times):
    size = len(form) + widths + weight((*args, kwargs)) * times
    assert ESTIMATES["format"](Budget(Limits(), []), form, args, kwargs) == size


@pytest.mark.parametrize(
    ("operator", "left", "right", "size"),
    [
        ("%", "%5d", 1, 3 + 5 + 33 + 32),
        ("%", 7, 2, 0),
        ("*", "ab", 3, 6),
        ("*", 3, "ab", 6),
        ("*", "ab", 1.5, 0),
        ("*", "ab", "cd", 0),
        ("+", "ab", "cde", 5),
        ("**", 2, "a", 0),
    ],
)
def test_operator_results_are_estimated(operator, left, right, size):
    assert operator_estimate(Budget(Limits(), []), operator, left, right) == size
