"""Numbers between bounds, digit by digit.

Integers are exact, and so are other numbers as decimals, their written form. Only a reader with
floating point numbers may read a number just below an exclusive bound as the bound.

Numbers have at most `MAX_DIGITS` digits before and after the point, and fit a floating point
number. JSON does not have these limits, but JSON readers do.
"""

from __future__ import annotations

from collections.abc import Sequence as Digits
from dataclasses import dataclass
from decimal import Decimal

from ..rules.rules import (
    EMPTY,
    NOTHING,
    Expr,
    Literal,
    chars,
    choice,
    literal,
    optional,
    repeat,
    seq,
)

__all__ = ["MAX_DIGITS", "Bound", "digit_span", "integers", "numbers"]

MAX_DIGITS = 20
"""Most digits: enough for 64 bits, and for any number Python writes without an exponent."""

LARGEST = 10**MAX_DIGITS - 1

DIGIT = chars("09")
POSITIVE = chars("19")
MINUS = Literal("-")

TINY = Decimal("1e-4")
HUGE = Decimal("1e16")
"""Python writes an exponent below `TINY`, and from `HUGE` on."""


@dataclass(frozen=True, slots=True)
class Bound:
    """An end of a range. `inclusive` is True if the end belongs to the range."""

    value: Decimal
    inclusive: bool = True


ZERO = Bound(Decimal(0))


def digit_span(low: Digits[int], high: Digits[int], *, radix: int = 10) -> Expr:
    """Return the numbers from `low` to `high`, given as digits of the same length."""
    if not low:
        return EMPTY
    if not any(low) and all(digit == radix - 1 for digit in high):
        return repeat(_digits(0, radix - 1), len(low), len(low))
    (first, *low_rest), (last, *high_rest) = low, high
    if first == last:
        return seq(_digits(first, first), digit_span(low_rest, high_rest, radix=radix))
    least, most = [0] * len(low_rest), [radix - 1] * len(low_rest)
    # A border with a full range of other digits is merged into the middle.
    from_ = first + (low_rest != least)
    to = last - (high_rest != most)
    options = []
    if from_ > first:
        options.append(seq(_digits(first, first), digit_span(low_rest, most, radix=radix)))
    if from_ <= to:
        options.append(seq(_digits(from_, to), digit_span(least, most, radix=radix)))
    if to < last:
        options.append(seq(_digits(last, last), digit_span(least, high_rest, radix=radix)))
    return choice(*options)


def _digits(low: int, high: int) -> Expr:
    names = "0123456789abcdef"[low : high + 1]
    ranges = {char for name in names for char in (name, name.upper())}
    return chars(*ranges)


def integers(least: int | None, most: int | None) -> Expr:
    """Return the integers from `least` to `most`, both inclusive (None: limited by digits)."""
    low = -LARGEST if least is None else max(least, -LARGEST)
    high = LARGEST if most is None else min(most, LARGEST)
    return choice(
        seq(MINUS, _naturals(max(1, -high), -low)),
        _naturals(max(low, 0), high),
    )


def _naturals(low: int, high: int) -> Expr:
    """Return the integers from `low` to `high`, both at least 0."""
    if low > high:
        return NOTHING
    options: list[Expr] = []
    if low == 0:
        options.append(Literal("0"))
        low = 1
    lengths = range(len(str(low)), len(str(high)) + 1) if low <= high else range(0)
    whole = [n for n in lengths if low <= 10 ** (n - 1) and 10**n - 1 <= high]
    for length in lengths:
        if length not in whole:
            ends = max(low, 10 ** (length - 1)), min(high, 10**length - 1)
            options.append(digit_span(*([int(digit) for digit in str(end)] for end in ends)))
    if whole:
        options.append(seq(POSITIVE, repeat(DIGIT, whole[0] - 1, whole[-1] - 1)))
    return choice(*options)


_SOME_DIGITS = repeat(DIGIT, 1, MAX_DIGITS)
_ANY_DIGITS = repeat(DIGIT, 0, MAX_DIGITS)
_ANY_FRACTION = optional(seq(Literal("."), _SOME_DIGITS))
_THREE_DIGITS = choice(
    seq(chars("12"), DIGIT, DIGIT), seq(Literal("30"), chars("07"))
)  # numbers below 10 do not overflow with these


def _scientific(sign: Expr, exponent: Expr) -> Expr:
    return seq(POSITIVE, _ANY_FRACTION, chars("e", "E"), sign, exponent)


_TINY = _scientific(
    MINUS, choice(seq(Literal("0"), chars("59")), seq(POSITIVE, DIGIT), _THREE_DIGITS)
)
_HUGE = _scientific(
    optional(Literal("+")),
    choice(seq(Literal("1"), chars("69")), seq(chars("29"), DIGIT), _THREE_DIGITS),
)
_EXPONENT = choice(repeat(DIGIT, 1, 2), _THREE_DIGITS)
_ANY_NUMBER = seq(
    optional(MINUS),
    choice(
        seq(_naturals(0, LARGEST), _ANY_FRACTION),
        seq(DIGIT, _ANY_FRACTION, chars("e", "E"), optional(chars("+", "-")), _EXPONENT),
    ),
)


def numbers(least: Bound | None, most: Bound | None) -> Expr:
    """Return the numbers between two bounds (None: limited by digits).

    With bounds, exponents are used only below `TINY` or from `HUGE` on, and only if the bounds
    include all of these numbers.
    """
    if least is None and most is None:
        return _ANY_NUMBER
    low, high = _mirrored(most), _mirrored(least)
    below = _magnitudes(low if low and low.value >= 0 else Bound(Decimal(0), inclusive=False), high)
    above = _magnitudes(least if least and least.value >= 0 else ZERO, most)
    return choice(seq(MINUS, below), above)


def _mirrored(bound: Bound | None) -> Bound | None:
    return bound and Bound(-bound.value, bound.inclusive)


def _magnitudes(low: Bound, high: Bound | None) -> Expr:
    """Return the numbers from `low` (at least 0) to `high`, without a sign."""
    options = []
    if high is None or high.value >= TINY:
        options += [_TINY] if low.value == 0 else []
    if high is None:
        options += [_HUGE] if low.value <= HUGE else []
        high = Bound(Decimal(10**MAX_DIGITS), inclusive=False)
    return choice(*options, _decimals(low, high))


def _decimals(low: Bound, high: Bound) -> Expr:
    if low.value > high.value:
        return NOTHING
    (first, after_first), (last, after_last) = _split(low.value), _split(high.value)
    if first == last:
        fraction = _between(after_first, after_last, low.inclusive, high.inclusive)
        return seq(literal(str(first)), _with_point(fraction, low, high))
    return choice(
        seq(literal(str(first)), _with_point(_at_least(after_first, low.inclusive), low, None)),
        seq(_naturals(first + 1, last - 1), _ANY_FRACTION),
        seq(literal(str(last)), _with_point(_at_most(after_last, high.inclusive), None, high))
        if last <= LARGEST
        else NOTHING,
    )


def _split(value: Decimal) -> tuple[int, str]:
    """Split into the integer and the digits after the point, without trailing zeros."""
    integer, _, fraction = f"{value:f}".partition(".")
    return int(integer), fraction.rstrip("0")


def _with_point(fraction: Expr, low: Bound | None, high: Bound | None) -> Expr:
    """Add the point, and the integer by itself if it is within the bounds."""
    whole = (low is None or _whole(low)) and (high is None or _reaches(high))
    dotted = seq(Literal("."), fraction)
    return optional(dotted) if whole else dotted


def _whole(low: Bound) -> bool:
    return low.inclusive and low.value == int(low.value)


def _reaches(high: Bound) -> bool:
    return high.inclusive or high.value != int(high.value)


def _at_least(digits: str, inclusive: bool) -> Expr:
    """Return one or more digits after the point, with a value of at least `digits`."""
    if not digits:
        more = seq(repeat(Literal("0"), 0, MAX_DIGITS), POSITIVE, _ANY_DIGITS)
        return _SOME_DIGITS if inclusive else more
    digit, rest = int(digits[0]), digits[1:]
    after = _at_least(rest, inclusive)
    if not rest and inclusive:
        after = _ANY_DIGITS
    larger = seq(_digits(digit + 1, 9), _ANY_DIGITS) if digit < 9 else NOTHING
    return choice(larger, seq(literal(digits[0]), after))


def _at_most(digits: str, inclusive: bool) -> Expr:
    """Return one or more digits after the point, with a value of at most `digits`."""
    if not digits:
        return repeat(Literal("0"), 1, MAX_DIGITS) if inclusive else NOTHING
    digit, rest = int(digits[0]), digits[1:]
    after = _at_most(rest, inclusive)
    if rest or inclusive:
        after = optional(after)
    smaller = seq(_digits(0, digit - 1), _ANY_DIGITS) if digit else NOTHING
    return choice(smaller, seq(literal(digits[0]), after))


def _between(low: str, high: str, from_low: bool, to_high: bool) -> Expr:
    """Return one or more digits after the point, with a value from `low` to `high`."""
    if low == high:
        zeros = repeat(Literal("0"), 0 if low else 1, MAX_DIGITS)
        return seq(literal(low), zeros) if from_low and to_high else NOTHING
    if not low:
        return _above(high, from_low, to_high)
    first, last = int(low[0]), int(high[0])
    if first == last:
        after = _between(low[1:], high[1:], from_low, to_high)
        # The digits may end here if they equal `low`.
        after = optional(after) if len(low) == 1 and from_low else after
        return seq(literal(low[0]), after)
    middle = _digits(first + 1, last - 1) if first + 1 < last else NOTHING
    up = _at_least(low[1:], from_low)
    down = _at_most(high[1:], to_high)
    return choice(
        seq(literal(low[0]), optional(up) if len(low) == 1 and from_low else up),
        seq(middle, _ANY_DIGITS),
        seq(literal(high[0]), optional(down) if len(high) > 1 or to_high else down),
    )


def _above(high: str, from_zero: bool, to_high: bool) -> Expr:
    """Return the digits after the point from 0 to `high`; 0 itself only if `from_zero`."""
    if from_zero:
        return _at_most(high, to_high)
    first, rest = int(high[0]), high[1:]
    down = _at_most(rest, to_high)
    zero = seq(Literal("0"), _above(rest, False, to_high) if not first else _at_least("", False))
    if not first:
        return zero
    middle = seq(_digits(1, first - 1), _ANY_DIGITS) if first > 1 else NOTHING
    return choice(zero, middle, seq(literal(high[0]), optional(down) if rest or to_high else down))
