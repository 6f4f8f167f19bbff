"""The lane of open strings for all short texts, compared with a test of each place."""

from __future__ import annotations

import re
from itertools import product

import pytest

from deltaparse.partial import marker_set
from deltaparse.partial.json_text.string_lane import string_lane

# Some markers overlap, some begin with characters of escapes, and some are long.
MARKERS = [
    (),
    ("<a",),
    ("<",),
    ("<<a", "<a"),
    ("u", "<nn"),
    ("<a", "<a<n"),
    ("an", "n<a"),
    ("]", "[]-"),
    ("<anna",),
    ("<anna", "anun"),
]
TEXTS = ["".join(chars) for size in range(6) for chars in product("\\<nau", repeat=size)]
ODD = ['"', "\\x", "\n", "\x1f", "\ud83d", "\\u12", "\\u12ab", "\\u12g", "[]", "[]-", "]", "é\x7f"]
TEXTS += [
    f"{before}{odd}{after}"
    for before in ("", "a", "\\\\", "<")
    for odd in ODD
    for after in ("", "a")
]


def tail(text, literals):
    """Return the start of a possible escape or marker at the end, -1 for other odd text."""
    at = 0
    while at < len(text):
        rest = text[at:]
        if escape := re.match(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})', rest):
            at += escape.end()
            continue
        cut = re.fullmatch(r"\\(?:u[0-9a-fA-F]{0,3})?", rest)
        if cut or any(marker.startswith(rest) and marker != rest for marker in literals):
            return at
        odd = rest[0] in '"\\' or rest[0] < " " or "\ud800" <= rest[0] <= "\udfff"
        if odd or any(map(rest.startswith, literals)):
            return -1
        at += 1
    return at


@pytest.mark.parametrize("literals", MARKERS)
def test_lane_agrees_with_a_search_of_each_position(literals):
    lane = string_lane(marker_set(literals))
    for text in TEXTS:
        expected = tail(text, literals)

        assert lane.split(text) == expected, text
        if lane.exact(text) is None:
            assert expected == len(text), text
        elif expected == len(text):  # A text with the length and the start of a marker prefix.
            longest = max(map(len, literals)) + 2
            ends = {text[at : at + 2] for at in range(max(len(text) - longest, 0), len(text))}
            assert ends & {marker[:2] for marker in literals}, text
        if lane.quick(text) is None:
            assert lane.exact(text) is None, text


def test_plain_text_passes_at_once():
    lane = string_lane(marker_set({"<a", "]"}))

    for text in ("", "plain text", "é😀\x7f > [", " " * 1000):
        assert lane.quick(text) is None
    for text in ("<", "]", "a\\", '"', "\ud83d", "\t"):
        assert lane.quick(text)
    assert lane.spell is None
