"""Tests of the budget without a template: charges, weights and refusals."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from time import thread_time

import pytest
from jinja2 import Environment
from jinja2.exceptions import SecurityError
from jinja2.runtime import Macro

from deltaparse.analyzer.template.budget import (
    BUDGET,
    STEP,
    Budget,
    LimitExceeded,
    Limits,
    budget_of,
    check_bits,
)


def budget(*given, **limits):
    return Budget(Limits(**limits), given)


def pay_until_refused(spent):
    while True:
        spent.pay()


def nested(depth):
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_limits_do_not_change():
    with pytest.raises(FrozenInstanceError):
        Limits().text = 11


def test_limits_are_inclusive():
    limits = Limits(text=10, value=20)

    limits.check_text(10)
    limits.check_value(20)
    with pytest.raises(LimitExceeded, match=r"^a value of more than 10 characters$"):
        limits.check_text(11)
    with pytest.raises(LimitExceeded, match=r"^a list or dict with more than 20 characters in it$"):
        limits.check_value(21)


def test_integers_have_few_bits():
    check_bits(64)
    with pytest.raises(LimitExceeded, match=r"^an integer of more than 64 bits$"):
        check_bits(65)


def test_time_runs_out():
    spent = budget(seconds=0.01)
    began = thread_time()

    with pytest.raises(LimitExceeded, match=r"^more than 0\.01 s of processor time$"):
        pay_until_refused(spent)
    assert 0.01 < thread_time() - began < 0.1


def test_the_clock_is_read_now_and_then():
    spent = budget(seconds=0)

    for _ in range(1000):
        spent.pay()
    with pytest.raises(LimitExceeded):
        spent.pay()


def test_the_clock_is_not_read_for_each_step(monkeypatch):
    read = []
    monkeypatch.setattr(
        "deltaparse.analyzer.template.budget.thread_time", lambda: read.append(1) or 0
    )
    spent = budget()
    for _ in range(10_000):
        spent.pay()
    assert 9 <= len(read) <= 12


def test_values_that_are_read_are_paid_for_each_with_a_step_more():
    budget(seconds=0).pay_for("a" * 500, *([""] * 900))
    for values in (["a" * 16_000, "a" * 16_000], [""] * 1001):
        with pytest.raises(LimitExceeded, match="processor time"):
            budget(seconds=0).pay_for(*values)


def test_weighing_costs_a_step_per_item():
    budget(seconds=0).weigh(["a" * 99_999])
    with pytest.raises(LimitExceeded, match="processor time"):
        budget(seconds=0).weigh([0] * 1001)


def test_kept_value_is_charged_and_counted():
    budget(seconds=0, memory=31_968).keep(31_968)
    with pytest.raises(LimitExceeded, match=r"^more than 31967 characters of values$"):
        budget(seconds=0, memory=31_967).keep(31_968)
    with pytest.raises(LimitExceeded, match="processor time"):
        budget(seconds=0).keep(31_969)


def test_more_input_gets_more_time():
    given = ["a" * (1 << 20), ["b" * (1 << 19)]]

    assert budget(*given, seconds=2)._seconds == pytest.approx(5, abs=0.01)


@pytest.mark.parametrize(
    ("value", "size", "depth"),
    [
        ("abc", 3, 0),
        (5, 1, 0),
        (None, 1, 0),
        (object(), 1, 0),
        (range(4), 4 * STEP, 1),
        ([], 0, 1),
        ([1, "abc"], 2 * STEP + 1 + 3, 1),
        (("ab", ["c"]), 3 * STEP + 2 + 1, 2),
        ([["c"], "ab"], 3 * STEP + 2 + 1, 2),
        ([[["c"]], []], 4 * STEP + 1, 3),
        ({"k": "abc"}, 2 * STEP + 1 + 3, 1),
        ({"k": {"l": [1]}}, 5 * STEP + 3, 3),
        ({"k": 1}.items(), 2 * STEP + 2, 1),
        ({"k": 1}.keys(), STEP + 1, 1),
        ({"k": "abc"}.values(), STEP + 3, 1),
        ({1, 2}, 2 * STEP + 2, 1),
    ],
)
def test_a_value_is_weighed_with_all_it_holds(value, size, depth):
    scales = budget()

    for _ in range(2):
        assert scales.weigh(value) == (size, depth)
        assert scales.size(value) == size


def test_too_long_list_is_not_iterated():
    class Long(list):
        __slots__ = ()

        def __iter__(self):
            raise AssertionError

    with pytest.raises(LimitExceeded, match="a list or dict with more than 319 characters"):
        budget(value=10 * STEP - 1).weigh(Long([0] * 10))


def test_a_macro_weighs_its_name():
    module = Environment().from_string("{% macro long() %}{% endmacro %}").module
    anonymous = Macro(Environment(), None, None, (), False, False, False, False)
    assert [budget().weigh(one) for one in (module.long, anonymous)] == [(5, 0), (1, 0)]


def test_a_list_is_weighed_once():
    value = ["a"]
    for _ in range(60):
        value = [value, value]

    assert budget().weigh(value)[0] > 2**60


@pytest.mark.parametrize(
    ("value", "limits", "message"),
    [
        ("a" * 11, {"text": 10}, "a value of more than 10 characters"),
        (["a" * 11], {"value": 10}, "a list or dict with more than 10 characters in it"),
        (["a" * 11], {"value": 40}, "a list or dict with more than 40 characters in it"),
        (range(99), {"value": 98}, "a list or dict with more than 98 characters in it"),
        (nested(4), {"depth": 3}, "values nested more than 3 deep"),
        (2**64, {}, "an integer of more than 64 bits"),
        ([1, 2], {"memory": 63}, "more than 63 characters of values"),
        ("ab", {"memory": 1}, "more than 1 characters of values"),
    ],
)
def test_created_value_over_a_limit_is_refused(value, limits, message):
    with pytest.raises(LimitExceeded, match=f"^{message}$"):
        budget(**limits).made(value)


@pytest.mark.parametrize("value", ["a" * 10, ["a"], nested(3), 2**64 - 1, None, 1.5, [1, 2]])
def test_made_returns_its_value(value):
    assert budget(text=10, value=99, depth=3, memory=200).made(value) is value


def test_created_values_add_up_to_the_memory_limit():
    spent = budget(memory=100)

    for _ in range(10):
        spent.made("a" * 10)
    with pytest.raises(LimitExceeded, match="more than 100 characters of values"):
        spent.made("a")


def test_list_is_counted_once_and_unchanged_filter_value_not_at_all():
    spent, made, text = budget(memory=STEP), ["a" * 99], "a" * 99
    for _ in range(3):
        assert spent.made(made) is made
        assert spent.derived(text, text) is text
    with pytest.raises(LimitExceeded, match="more than 32 characters of values"):
        spent.made("a")


def test_an_estimate_is_checked_and_paid_for():
    spent = budget(seconds=0, text=1 << 20)

    with pytest.raises(LimitExceeded, match="a value of more than"):
        spent.allow(1 << 21)
    with pytest.raises(LimitExceeded, match="processor time"):
        spent.allow(1 << 20)


def test_generator_weighs_as_much_as_its_origin():
    scales, origin = budget(), ["a", "b"]
    items = (item for item in origin)

    assert scales.derived(items, origin) is items
    assert scales.weigh(items) == (2 * STEP + 2, 2)
    assert scales.derived(origin, origin) is origin


def test_generators_nest_as_lists_do():
    scales, items = budget(depth=9), []

    for _ in range(8):
        items = scales.derived((item for item in items), items)
    with pytest.raises(LimitExceeded, match="values nested more than 9 deep"):
        scales.derived((item for item in items), items)


def test_a_list_that_the_template_made_may_change():
    scales = budget()
    items = scales.made(["a"])

    assert scales.change(items, "append", ("bcd",)) is None
    assert scales.size(items) == 2 * STEP + 4
    assert scales.change(items, "append", ([["e"]],)) is None
    assert scales.weigh(items) == (5 * STEP + 5, 3)
    assert scales.change(items, "pop", (0,)) == "a"
    assert items == ["bcd", [["e"]]]
    assert scales.size(items) == 4 * STEP + 4


def test_list_keeps_its_depth_after_pop():
    scales = budget()
    items = scales.made([[["a"]]])

    scales.change(items, "append", ("b",))
    assert scales.weigh(items) == (4 * STEP + 2, 3)


def test_only_a_list_may_change():
    scales, made = budget(), {"a": 1}
    scales.made(made)

    with pytest.raises(SecurityError, match=r"^pop needs a list"):
        scales.change(made, "pop", ("a",))
    assert made == {"a": 1}


def test_a_list_that_was_given_or_is_held_may_not_change():
    given, held, itself = ["a"], ["b"], []
    scales = budget(given)
    scales.made(held)
    scales.made([held])
    assert scales.made(held) is held  # as a filter may return it
    scales.made(itself)

    for items, args in ((given, (1,)), (held, (1,)), (itself, (itself,))):
        before = list(items)
        with pytest.raises(SecurityError, match=r"^append needs a list that the template created"):
            scales.change(items, "append", args)
        assert items == before


def test_a_list_must_not_grow_too_much():
    scales = budget(value=100)
    items = scales.made([])

    for _ in range(3):
        scales.change(items, "append", ("a",))
    with pytest.raises(LimitExceeded, match="a list or dict with more than 100"):
        scales.change(items, "append", ("a",))


def test_watched_items_are_paid_for_one_by_one():
    spent = budget(seconds=0)
    items = spent.watch(range(20), 100 * STEP)
    taken = iter(items)

    assert len(items) == 20
    assert items
    assert not spent.watch([])
    assert [next(taken) for _ in range(10)] == list(range(10))
    with pytest.raises(LimitExceeded):
        next(taken)


def test_calls_nest_only_so_deep():
    calls = budget(depth=2)

    for _ in range(9):
        calls.enter()
        calls.leave()
    calls.enter()
    calls.enter()
    with pytest.raises(LimitExceeded, match="calls nested more than 2 deep"):
        calls.enter()


def test_the_budget_is_among_the_variables():
    spent = budget()
    context = Environment().from_string("").new_context({BUDGET: spent})

    assert budget_of(context) is spent
    assert budget_of(context.derived({"a": 1})) is spent
