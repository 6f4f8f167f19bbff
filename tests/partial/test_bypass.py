"""Waiters of sub-parsers."""

from __future__ import annotations

import re

from deltaparse.partial import Lane
from deltaparse.partial.bypass import Waiter, never_split, nowhere


def test_default_split_leaves_text_to_the_sub_parser():
    find = re.compile("<").search
    lane = Lane(find, find)

    assert [lane.split(text) for text in ("", "a", "a<")] == [-1] * 3
    assert lane.split is never_split
    assert lane.spell is None


def test_a_waiter_has_no_lane_unless_it_is_given_one():
    waiter = Waiter(nowhere, None, nowhere)

    assert waiter.lane is None
    assert (waiter.emit, waiter.step, waiter.sink) == (nowhere, None, nowhere)
