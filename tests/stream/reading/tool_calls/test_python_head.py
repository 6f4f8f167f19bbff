"""Heads of Python calls: complete heads, prefixes of heads, and other text."""

from __future__ import annotations

import pytest

from deltaparse.partial import Window
from deltaparse.stream.reading.tool_calls.python_head import python_head
from deltaparse.stream.wire.call_names import LONGEST_NAME

WAITS = "waits"


def read(text, *, closed=False, **options):
    """Return the result or `WAITS`, and the unread text."""
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
        # Without a marker, a name and a parenthesis are not enough for a call.
        ("f(", {"sure": False}, (WAITS, "f(")),
        ("f()", {"sure": False}, ("f", ")")),
        ("f(a", {"sure": False}, (WAITS, "f(a")),
        ("f(a=", {"sure": False}, (WAITS, "f(a=")),
        ("f(a=1", {"sure": False}, ("f", "a=1")),
        ("f(a==", {"sure": False}, ("", "f(a==")),
        ("f(1", {"sure": False}, ("", "f(1")),
        ("f (", {"sure": False}, ("", "f (")),
        ("1st(", {"sure": False}, ("", "1st(")),
        # With tools, the name must be that of a tool, and a prefix of a tool name waits.
        ("", TOOLS, (WAITS, "")),
        (" ", TOOLS, (WAITS, " ")),
        ("fi", TOOLS, (WAITS, "fi")),
        ("fo", TOOLS, ("", "fo")),
        ("find(", TOOLS, ("find", "")),
        ("f(", TOOLS, ("", "f(")),
        ("finder", TOOLS, ("", "finder")),
        ("fo(", TOOLS | {"strays": True}, ("fo", "")),
        ("fö(", TOOLS | {"strays": True}, ("", "fö(")),
        # A method after the name is not part of the name.
        ("f.call(", {"method": ".call"}, ("f", "")),
        ("f.cal(", {"method": ".call"}, ("", "f.cal(")),
        ("f.ca", {"method": ".call"}, (WAITS, "f.ca")),
        ("find.call(", TOOLS | {"method": ".call"}, ("find", "")),
        ("find.c", TOOLS | {"method": ".call"}, (WAITS, "find.c")),
        ("find.x", TOOLS | {"method": ".call"}, ("", "find.x")),
    ],
)
def test_name_and_parenthesis_start_a_call(text, options, found):
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
def test_first_character_and_separator_of_a_name(text, options, found):
    assert read(text, **options) == found
