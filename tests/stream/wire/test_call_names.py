"""Tests of the names that the parser can read."""

from __future__ import annotations

import pytest

from deltaparse.partial import marker_set
from deltaparse.stream.wire.call_names import (
    LONGEST_NAME,
    is_python_call_name,
    is_readable_name,
)


def test_python_call_name_has_a_maximum_length():
    assert is_python_call_name("f" * LONGEST_NAME)
    assert not is_python_call_name("f" * (LONGEST_NAME + 1))


@pytest.mark.parametrize(
    ("written", "readable"),
    [
        ("f", True),
        ("a b", True),  # a tool has this name
        ("c d", False),
        (" f", False),
        ("f>", False),
        ("f|", False),
        ("f;n", False),
        ("n" * LONGEST_NAME, True),
        ("n" * LONGEST_NAME + "n", False),
    ],
)
def test_readable_names_in_tags(written, readable):
    assert is_readable_name(written, {"a b"}, marker_set({"|", ";n"})) == readable
