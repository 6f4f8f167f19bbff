"""Tests of numbers between bounds."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from deltaparse.grammar.text.number_ranges import Bound, integers, numbers

from ..machines import accepts, grammar_of

BOUNDS = st.none() | st.integers(-300, 300) | st.integers(-(10**22), 10**22)
DECIMALS = st.builds(
    lambda n, places: Decimal(n).scaleb(-places), st.integers(-3000, 3000), st.integers(0, 4)
)


@given(BOUNDS, BOUNDS, st.integers(-400, 400) | st.integers(-(10**21), 10**21))
def test_integers(low, high, value):
    within = (low is None or low <= value) and (high is None or value <= high)
    expected = within and abs(value) < 10**20
    assert accepts(grammar_of(integers(low, high)), str(value)) == expected


@given(st.integers(-120, 120), st.integers(0, 40))
def test_all_integers_and_no_others(low, size):
    grammar = grammar_of(integers(low, low + size))
    found = [value for value in range(-200, 200) if accepts(grammar, str(value))]
    assert found == list(range(low, low + size + 1))
    assert not any(accepts(grammar, text) for text in ("-0", "00", "01", "+1", "1.0", "", "-"))


@st.composite
def bounded(draw):
    low, high = sorted(draw(st.tuples(DECIMALS, DECIMALS)))
    ends = [Bound(end, draw(st.booleans())) for end in (low, high)]
    return draw(st.sampled_from([ends, [ends[0], None], [None, ends[1]]]))


def inside(value, low, high):
    above = low is None or (value >= low.value if low.inclusive else value > low.value)
    return above and (
        high is None or (value <= high.value if high.inclusive else value < high.value)
    )


@given(bounded(), DECIMALS, st.sampled_from(["", "0", "00"]))
def test_decimals(bounds, value, zeros):
    text = f"{value:f}" + (zeros if "." in f"{value:f}" else f".{zeros}" if zeros else "")
    negative_zero = value == 0 and text.startswith("-")
    expected = inside(value, *bounds) and not negative_zero
    assert accepts(grammar_of(numbers(*bounds)), text) == expected


@given(bounded())
def test_values_at_and_near_the_bounds(bounds):
    grammar = grammar_of(numbers(*bounds))
    near = [Decimal(0), Decimal("1e-9"), Decimal("-1e-9")]
    for value in [bound.value + more for bound in filter(None, bounds) for more in near]:
        negative_zero = value == 0 and f"{value:f}".startswith("-")
        assert accepts(grammar, f"{value:f}") == inside(value, *bounds) or negative_zero, value


@given(bounded(), st.floats(-1e300, 1e300).filter(lambda x: abs(x) > 1e-300))
def test_exponents(bounds, value):
    text = repr(value)
    assert not accepts(grammar_of(numbers(*bounds)), text) or inside(Decimal(text), *bounds)
    assert accepts(grammar_of(numbers(None, None)), text)


def test_exponents_are_used_if_all_their_numbers_are_in_bounds():
    grammar = grammar_of(numbers(Bound(Decimal(0)), Bound(Decimal(1))))
    assert accepts(grammar, "1e-07")
    assert not accepts(grammar, "1e-04")
    assert not accepts(grammar, "-1e-07")
    assert accepts(grammar_of(numbers(Bound(Decimal(0)), None)), "1e+16")


def test_no_number_is_too_large_for_a_float():
    grammar = grammar_of(numbers(None, None))
    assert accepts(grammar, "9.99e307")
    assert not accepts(grammar, "1e308")
    assert not accepts(grammar, "10e307")
