"""The proof of an unclosed string, compared with a test of each place."""

from __future__ import annotations

from itertools import product

import pytest

from deltaparse.partial import Markers, Window
from deltaparse.partial.json_text.unclosed_string import UnclosedString

MARKERS = [["<"], ["<a>", "<"], ["<a", "ab"], ["<<", "a<"]]
TEXTS = ["".join(chars) for size in range(6) for chars in product("<a>", repeat=size)]


def proof(markers=("<",)):
    """Return a pattern of a marker and an end, with up to two quotes."""
    return UnclosedString(Markers(markers), lambda quote: rf"<[a-z]*>{quote}{quote};")


def places(text, literals):
    """Return the start of the first marker, or of a possible marker at the end."""
    for at in range(len(text)):
        rest = text[at:]
        if any(rest.startswith(mark) or mark.startswith(rest) for mark in literals):
            yield at


@pytest.mark.parametrize("literals", MARKERS)
def test_where_markers_begin(literals):
    overrun = proof(literals)
    for text in TEXTS:
        for pos, end in product(range(len(text) + 1), repeat=2):
            found = [at for at in places(text, literals) if pos <= at < end]

            if pos <= end:
                assert list(overrun.starts(text, pos, end)) == found
                assert overrun.first(text, pos, end) == min([*found, end])
                assert overrun.may_occur(text, pos, end) is bool(found)


@pytest.mark.parametrize(("literals", "char"), [(["<a", "<b"], "<"), (["<", "["], ""), ([], "")])
def test_the_only_character_that_markers_begin_with(literals, char):
    assert proof(literals).watched == char


def test_its_lane_is_that_of_its_markers():
    lane = proof(["<a", "]"]).lane

    assert lane.exact("b < c") is None
    assert lane.exact("a]")
    assert lane.exact("<a")


@pytest.mark.parametrize("final", [False, True])
@pytest.mark.parametrize("quote", ['"', "'"])
def test_the_proof_is_asked_with_the_quote_that_would_end_the_string(quote, final):
    overrun = proof()
    whole = f"<name>{quote}{quote}"

    assert overrun.stands_at(f"a{whole};", 1, quote, final=final) is True
    assert overrun.stands_at(f"a{whole};", 0, quote, final=final) is False
    assert overrun.stands_at(whole + ".", 0, quote, final=final) is False
    assert overrun.stands_at(whole, 0, quote, final=final) is (False if final else None)
    assert overrun.stands_at(f"{whole};", 0, "`", final=final) is False


def clear(text, end, more=()):
    """Return the end of the string's text, and the window. `more` is fed on demand."""
    src = Window(text)
    steps = proof(["<", "]"]).clear(src, end, '"')
    for chunk in (*more, None):
        try:
            next(steps)
        except StopIteration as done:
            return done.value, src
        if chunk is None:
            src.closed = True
        else:
            src.feed(chunk)
    raise AssertionError


@pytest.mark.parametrize(
    ("text", "end", "more", "expected"),
    [
        ("ab<", 2, [], 2),
        ("ab<c", 4, [], 2),  # The text before a marker belongs to the string.
        ("", 0, [], 0),
        ("<<", 2, [], 1),  # A marker without proof is text, and the rest is undecided.
        ("]<", 2, [], 1),
        ('<x>"";', 6, [], None),
        ('<x>"".', 6, [], 1),
        ("<", 1, ["x", '>"";'], None),
        ("<", 1, ["x", "y z"], 1),
    ],
)
def test_how_far_the_text_is_clear(text, end, more, expected):
    found, src = clear(text, end, more)

    assert found == expected
    assert (src.unread, src.offset) == (text + "".join(more), 0)


def test_truncated_text_at_end_of_input_is_not_proof():
    src = Window("<x>", closed=True)
    with pytest.raises(StopIteration) as done:
        next(proof().clear(src, 3, '"'))
    assert done.value.value == 1
