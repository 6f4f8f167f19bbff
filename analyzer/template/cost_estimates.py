"""Upper bounds for the results of filters, methods and operators, checked before they run.

An estimate takes the value and the arguments. It returns an upper bound for the size of the result,
or the amount of work if that is larger. Filters and methods without an estimate cannot turn a small
input into a large result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from .budget import CONTAINERS, STEP, Budget, check_bits

__all__ = ["ESTIMATES", "METHOD_ESTIMATES", "attribute_steps", "operator_estimate", "widths"]

MANY_DIGITS = 19

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def _argument(args: Args, kwargs: Kwargs, index: int, name: str) -> Any:
    return args[index] if index < len(args) else kwargs.get(name)


def _integers(values: Iterable[Any]) -> int:
    return sum(abs(value) for value in values if isinstance(value, int))


def attribute_steps(values: Iterable[Any]) -> int:
    """Return the number of lookups for each item if the texts are attributes like "a.b,c"."""
    return sum(1 + text.count(".") + text.count(",") for text in values if isinstance(text, str))


def widths(form: str) -> int:
    """Return the sum of all numbers in a format string, because each may be a width.

    Digits of any script count, as in Python. A number with many digits is too large, even if it
    begins with zeros.
    """
    numbers: list[str] = re.findall(r"\d+", form)
    return sum(int(digits) if len(digits) < MANY_DIGITS else 10**MANY_DIGITS for digits in numbers)


def _multiplied(budget: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    """Estimate filters that turn each character or item into as much as the arguments allow."""
    given = (*args, *kwargs.values())
    return (1 + budget.size(value)) * (1 + _integers(given) + sum(map(budget.size, given)))


def _searched(budget: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    """Estimate filters with repeated searches of a text. The factor limits them to 64 KiB."""
    return 64 * _multiplied(budget, value, args, kwargs)


def _sorted(budget: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    """Estimate filters with an attribute lookup for each item."""
    return budget.size(value) * (1 + attribute_steps((*args, *kwargs.values())))


def _rounded(_: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    if not isinstance(value, (int, float)):
        raise TypeError(f"`round` needs a number, not {type(value).__name__}")
    return 10_000 * _integers((*args, *kwargs.values()))


def _scanned(budget: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    """Estimate methods that compare each character with many, at a million per millisecond."""
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
    """Estimate the filter `join`. `value` is the items, or a text with its characters."""
    between = _argument(args, kwargs, 0, "d")
    return budget.size(value) + len(value) * (0 if between is None else len(str(between)))


def _joined_by(budget: Budget, value: Any, args: Args, _: Kwargs) -> int:
    """Estimate the method `join`. `value` is the separator."""
    return _joined(budget, args[0], (value,), {}) if args else 0


def _formatted(budget: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    """Estimate `%` formatting. Numbers count as widths, and with a `*` the arguments do too."""
    text = str(value)
    width = widths(text)
    if "*" in text:
        width += _integers(chain.from_iterable(a if isinstance(a, tuple) else (a,) for a in args))
    return len(text) + width + budget.size((*args, kwargs)) * max(1, text.count("%("))


ESTIMATES: dict[str, Callable[[Budget, Any, Args, Kwargs], int]] = {
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
"""Estimates of filters by name."""

METHOD_ESTIMATES = ESTIMATES | {"join": _joined_by}
"""Estimates of string methods. Only `join` differs, because its value is the separator."""


def operator_estimate(budget: Budget, operator: str, left: Any, right: Any) -> int:
    """Return an upper bound for the size of an operator's result."""
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
