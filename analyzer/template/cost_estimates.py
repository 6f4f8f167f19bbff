"""How large may become what filters, methods and operators make, told before they run.

`GROWTH` is a table by name, of filters and of a string's methods: the functions take the value and
the arguments, and tell a size that the outcome will not exceed, or how much work it is where that
is more. What is not listed cannot make much of little. `operated` is the same for operators; the
rest wraps Jinja's filters and tests, so that they ask and pay first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context

from .budget import CONTAINERS, STEP, Budget, LimitExceeded, budget_of, check_bits

__all__ = ["GROWTH", "TESTS", "guarded_filter", "guarded_test", "operated"]

MAX_PARTS = 10_000
"""Of an attribute like "a.b,c", which filters look up for each item."""

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def _argument(args: Args, kwargs: Kwargs, index: int, name: str) -> Any:
    return args[index] if index < len(args) else kwargs.get(name)


def _integers(values: Iterable[Any]) -> int:
    return sum(abs(value) for value in values if isinstance(value, int))


def _parts(values: Iterable[Any]) -> int:
    """How many steps an attribute like "a.b,c" may take, if it is one."""
    return sum(1 + text.count(".") + text.count(",") for text in values if isinstance(text, str))


def _multiplied(budget: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    """Each character, or item, becomes as much as the arguments tell."""
    given = (*args, *kwargs.values())
    return (1 + budget.size(value)) * (1 + _integers(given) + sum(map(budget.size, given)))


def _searched(budget: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    """Filters that search a text, some of them again and again: 64 KiB must be enough."""
    return 64 * _multiplied(budget, value, args, kwargs)


def _sorted(budget: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    """The attribute to sort by is looked up for each item."""
    return budget.size(value) * (1 + _parts((*args, *kwargs.values())))


def _rounded(_: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    if not isinstance(value, (int, float)):
        raise TypeError(f"round needs a number, not {type(value).__name__}")
    return 10_000 * _integers((*args, *kwargs.values()))


def _scanned(budget: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    """Methods that compare each character with many; that is quick, a million in a millisecond."""
    return budget.size(value) * sum(map(budget.size, (*args, *kwargs.values()))) // 256


def _replaced(_: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    text = str(value)
    old, new = _argument(args, kwargs, 0, "old"), _argument(args, kwargs, 1, "new")
    count = _argument(args, kwargs, 2, "count")
    places = text.count(str(old))
    if isinstance(count, int) and count >= 0:
        places = min(places, count)
    return len(text) + places * len(str(new))


def _joined(budget: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    """For the filter `value` is the items, for the method what stands between them."""
    items, between = value, _argument(args, kwargs, 0, "d")
    if isinstance(items, str):
        items, between = between, items
    return budget.size(items) + len(items) * budget.size(between)


def _formatted(budget: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    """What `%` makes: each number counts as a width, with a `*` also those that are arguments."""
    text = str(value)
    widths = sum(int(digits[:18]) for digits in re.findall("[0-9]+", text))
    if "*" in text:
        widths += _integers(chain.from_iterable(a if isinstance(a, tuple) else (a,) for a in args))
    return len(text) + widths + budget.size((*args, kwargs)) * max(1, text.count("%("))


GROWTH: dict[str, Callable[[Budget, Any, Args, Kwargs], int]] = {
    **dict.fromkeys(("center", "ljust", "rjust", "zfill", "expandtabs"), _multiplied),
    **dict.fromkeys(("batch", "slice", "indent", "translate"), _multiplied),
    **dict.fromkeys(("strip", "lstrip", "rstrip", "trim"), _scanned),
    **dict.fromkeys(("rfind", "rindex", "rsplit", "rpartition"), _scanned),
    **dict.fromkeys(("pprint", "striptags", "title", "urlencode"), _searched),
    **dict.fromkeys(("urlize", "wordwrap", "xmlattr"), _searched),
    **dict.fromkeys(("sort", "groupby", "min", "max"), _sorted),
    "round": _rounded,
    "replace": _replaced,
    "join": _joined,
    "format": _formatted,
}

# Filters that go through their value item by item.
READING = {"batch", "groupby", "list", "map", "max", "min", "slice", "sort", "sum", "unique"}
READING |= {"select", "reject", "selectattr", "rejectattr"}

# Tests made of `%`, which for a text would be formatting; and those that read both values.
ARITHMETIC = {"odd", "even", "divisibleby"}
TESTS = {"in", "eq", "equalto", "==", "ne", "!=", "lt", "lessthan", "<", "le", "<=", *ARITHMETIC}
TESTS |= {"gt", "greaterthan", ">", "ge", ">="}


def operated(budget: Budget, operator: str, left: Any, right: Any) -> int:
    """How large may become what an operator makes."""
    if operator == "%":
        return _formatted(budget, left, (right,), {}) if isinstance(left, str) else 0
    if operator == "**":
        if isinstance(left, int) and isinstance(right, int):
            check_bits(left.bit_length() * abs(right))
        return 0
    if operator == "*":
        times, whole = (left, right) if isinstance(left, int) else (right, left)
        many = times if isinstance(times, int) and not isinstance(whole, (int, float)) else 0
        return budget.size(whole) * max(many, 0)
    if isinstance(left, str):
        return len(left) + budget.size(right)
    return STEP * sum(len(side) for side in (left, right) if isinstance(side, CONTAINERS))


def guarded_filter(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a filter pay for what it reads, ask for what it makes, and have that weighed."""
    growth, reading = GROWTH.get(name), name in READING

    @pass_context
    def guarded(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        budget = budget_of(context)
        given = value
        if name == "join" and not isinstance(value, str):
            # To add up the lengths of what a generator gives, it must be kept.
            given = list(budget.watch(value))
        budget.pay(STEP + budget.size(given))
        if growth:
            budget.allow(growth(budget, given, args, kwargs))
        if reading:
            parts = _parts((*args, *kwargs.values()))
            if parts > MAX_PARTS:
                raise LimitExceeded(f"an argument of {name} with more than {MAX_PARTS} parts")
            given = budget.watch(given, STEP * (1 + parts))
        return budget.derived(context.call(function, given, *args, **kwargs), value)

    return guarded


def guarded_test(name: str, function: Callable[..., bool]) -> Callable[..., bool]:
    """Let a test pay for the values that it reads."""

    @pass_context
    def guarded(context: Context, value: Any, *args: Any) -> bool:
        if name in ARITHMETIC and isinstance(value, str):
            raise TypeError(f"{name} needs a number, not {type(value).__name__}")
        budget = budget_of(context)
        budget.pay(STEP + sum(map(budget.size, (value, *args))))
        return function(value, *args)

    return guarded
