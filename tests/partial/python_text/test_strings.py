"""Python strings: the text bypassing an open string, and its receiver."""

from __future__ import annotations

import json

import pytest

from deltaparse.partial import Window
from deltaparse.partial.python_text.to_json import python_arguments


def waiter_in(text):
    """Return the waiter after the text of arguments, and the emitted text."""
    src, written = Window(text), []
    emit = written.append
    next(python_arguments(src, emit, lambda *_: None))
    assert src.waiter is not None
    return src.waiter, emit, written


def test_string_text_bypasses_the_writer_outside_of_tuples():
    waiter, emit, _ = waiter_in("a=r'x")
    assert waiter.lane is not None
    assert waiter.sink == emit
    waiter, emit, written = waiter_in("a=('x")
    assert waiter.lane is not None
    assert waiter.sink != emit
    waiter.sink("y")
    assert "".join(written) == '{"a": '


@pytest.mark.parametrize(
    ("text", "plain", "raw"),
    [
        ("", 0, 0),
        ("plain é", 7, 7),
        ("a\\n", 3, -1),
        ("a\\u00e9b", 8, -1),
        ("a\\", 1, 1),
        ("a\\u00", 1, 1),
        ("a\\x4", -1, -1),
        ("'a", -1, -1),
        ('"a', -1, -1),
        ("a\nb", -1, -1),
    ],
)
def test_split_of_a_string_with_an_escape(text, plain, raw):
    for begun, end in [("a='", plain), ("a=r'", raw)]:
        assert waiter_in(f"{begun}x\\x41y")[0].lane.split(text) == end


@pytest.mark.parametrize("text", ["\\x4", "\\u12", "\\U0001", "\\N{BULL", "\\12", "\\\r"])
def test_in_a_raw_string_no_escape_is_waited_for(text):
    assert "".join(waiter_in(f"a=r'{text}")[2]) == '{"a": ' + json.dumps(text)[:-1]
