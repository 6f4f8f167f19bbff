"""The strings of Python, where they may be those of a tuple."""

from __future__ import annotations

from deltaparse.partial import Window
from deltaparse.partial.python_text.to_json import python_arguments


def waiter_in(text):
    """What waits behind the text of arguments, and what it emitted to."""
    src, written = Window(text), []
    emit = written.append
    next(python_arguments(src, emit, lambda *_: None))
    assert src.waiter is not None
    return src.waiter, emit, written


def test_text_of_a_string_passes_by_to_where_all_goes_unless_it_may_be_a_tuples():
    waiter, emit, _ = waiter_in("a=r'x")
    assert waiter.lane is not None
    assert waiter.sink == emit
    waiter, emit, written = waiter_in("a=('x")
    assert waiter.lane is not None
    assert waiter.sink != emit
    waiter.sink("y")
    assert "".join(written) == '{"a": '
