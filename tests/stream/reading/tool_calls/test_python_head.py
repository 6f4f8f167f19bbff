"""The beginning of a call in Python: what is one, what may become one, and what is none."""

from __future__ import annotations

import pytest

from deltaparse.partial import Window
from deltaparse.stream.reading.tool_calls.python_head import python_head
from deltaparse.stream.wire.call_names import LONGEST_NAME

WAITS = "waits"


def read(text, *, closed=False, **options):
    """What is returned, or that more is waited for; and where the reader stands."""
    src = Window(text, closed=closed)
    steps = python_head(src, **({"sure": True} | options))
    try:
        next(steps)
    except StopIteration as stop:
        return stop.value, src.unread
    return WAITS, src.unread


TOOLS = {"names": {"find", "fetch"}}


@pytest.mark.parametrize(
    ("text", "options", "found"),
    [
        ("f(", {}, ("f", "")),
        (" f (x", {}, ("f", "x")),
        ("", {}, (WAITS, "")),
        (" ", {}, (WAITS, " ")),
        ("a.b-c", {}, (WAITS, "a.b-c")),
        ("1st(", {}, ("1st", "")),
        ("+", {}, ("", "+")),
        ("(", {}, ("", "(")),
        ("-f(", {}, ("", "-f(")),
        ("f x", {}, ("", "f x")),
        (", f(", {}, ("", ", f(")),
        (", f(", {"after": True}, ("f", "")),
        (",,f(", {"after": True}, ("", ",,f(")),
        (f"{'x' * LONGEST_NAME}(", {}, ("x" * LONGEST_NAME, "")),
        (f"{'x' * (LONGEST_NAME + 1)}", {}, ("", "x" * (LONGEST_NAME + 1))),
        # Only a name and a parenthesis are not enough where nothing says that a call stands here.
        ("f(", {"sure": False}, (WAITS, "f(")),
        ("f()", {"sure": False}, ("f", ")")),
        ("f(a", {"sure": False}, (WAITS, "f(a")),
        ("f(a=", {"sure": False}, (WAITS, "f(a=")),
        ("f(a=1", {"sure": False}, ("f", "a=1")),
        ("f(a==", {"sure": False}, ("", "f(a==")),
        ("f(1", {"sure": False}, ("", "f(1")),
        ("f (", {"sure": False}, ("", "f (")),
        ("1st(", {"sure": False}, ("", "1st(")),
        # Where the tools are known, the name is that of one, and what may become it is waited for.
        ("", TOOLS, (WAITS, "")),
        (" ", TOOLS, (WAITS, " ")),
        ("fi", TOOLS, (WAITS, "fi")),
        ("fo", TOOLS, ("", "fo")),
        ("find(", TOOLS, ("find", "")),
        ("f(", TOOLS, ("", "f(")),
        ("finder", TOOLS, ("", "finder")),
        ("fo(", TOOLS | {"strays": True}, ("fo", "")),
        ("fö(", TOOLS | {"strays": True}, ("", "fö(")),
        # A method stands behind the name, and is not of it.
        ("f.call(", {"method": ".call"}, ("f", "")),
        ("f.cal(", {"method": ".call"}, ("", "f.cal(")),
        ("f.ca", {"method": ".call"}, (WAITS, "f.ca")),
        ("find.call(", TOOLS | {"method": ".call"}, ("find", "")),
        ("find.c", TOOLS | {"method": ".call"}, (WAITS, "find.c")),
        ("find.x", TOOLS | {"method": ".call"}, ("", "find.x")),
    ],
)
def test_a_name_and_a_parenthesis(text, options, found):
    assert read(text, **options) == found
    ended = read(text, closed=True, **options)
    assert ended == ((None, text) if found[0] == WAITS else found)


@pytest.mark.parametrize(
    ("text", "options", "found"),
    [
        ("1f(", {}, ("1f", "")),
        ("1f()", {"sure": False}, ("", "1f()")),
        ("f()", {"sure": False}, ("f", ")")),
        (", f(", {}, ("", ", f(")),
        (", f(", {"after": True}, ("f", "")),
    ],
)
def test_what_a_name_begins_with_and_what_stands_before_it(text, options, found):
    assert read(text, **options) == found
