"""Calls with a name and arguments between markers."""

from __future__ import annotations

import pytest

from deltaparse import CallIdFormat
from deltaparse.analyzer.phases.tagged import Position, _before_name, _last_of

FIRST = CallIdFormat(position=Position.PRE_FUNC_NAME)
NAMED = CallIdFormat(position=Position.PRE_FUNC_NAME, holds_name=True)
NONE = CallIdFormat()


@pytest.mark.parametrize(("text", "last"), [("", ""), ("<a><b>", "<b>"), ("<a>b", "b")])
def test_the_last_marker(text, last):
    assert _last_of(text) == last


@pytest.mark.parametrize(
    ("call_id", "start", "marker", "before_id", "before_name"),
    [
        (NONE, "<call><name>", "<call>", "", "<name>"),
        (NAMED, "<call><name>", "<call>", "", "<name>"),
        (FIRST, "<call><id>", "<call>", "<id>", ""),
        (FIRST, "<call>", "<call>", "", ""),
        (FIRST, "id:", "id:", "", ""),
        (NONE, "id:", "", "", "id:"),
        (FIRST, "", "", "", ""),
    ],
)
def test_what_stands_before_a_name(call_id, start, marker, before_id, before_name):
    found, call_start, prefix = _before_name(call_id, start)
    assert (found.prefix, call_start, prefix) == (before_id, marker, before_name)
