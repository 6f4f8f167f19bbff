"""Internal errors: a reader may raise at any step without losing or repeating text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaparse import FunctionFormat, StreamParser, ToolsFormat, WireFormat
from deltaparse.partial import Window
from deltaparse.stream import parser as parser_module
from deltaparse.stream.reading import sections

from ..strategies.requests import options, reasons
from ..strategies.wire_by_hand import CALL, TAGS
from ..strategies.wire_families import FAMILIES
from ..support import as_joined, cuts, joined
from .invariants import check_4

CALLED = WireFormat(
    tools=ToolsFormat(format="TAG_WITH_JSON"), function=FunctionFormat(name_prefix="<call>")
)


class Bug(Exception):
    """The exception of a broken reader."""


class Fuse:
    """Raise `Bug` once, at the `left`-th call."""

    def __init__(self, left):
        self.left = left

    def burn(self):
        self.left -= 1
        if self.left == 0:
            raise Bug


class RaisingSteps:
    """Sub-parsers whose innermost one raises while it waits."""

    def __init__(self, steps, fuse):
        self._steps, self._fuse = steps, fuse

    def __next__(self):
        try:
            self._fuse.burn()
        except Bug as bug:
            return self._steps.throw(bug)
        return next(self._steps)


def raising_window(fuse):
    """Return a window class whose reads raise."""

    class RaisingWindow(Window):
        __slots__ = ()

        def consume(self, end):
            fuse.burn()
            return super().consume(end)

        def mark(self):
            fuse.burn()
            return super().mark()

        def wait(self, *lane):
            fuse.burn()
            super().wait(*lane)

    return RaisingWindow


def broken(fmt, texts, reason, at, where, **kw):
    """Return a finished parser with a broken reader, its deltas, and the remaining count.

    The count is `at` minus the number of reads. With `at=0` the readers never raise.
    """
    fuse = Fuse(0)
    with pytest.MonkeyPatch.context() as patch:
        if where == "window":
            for module in (parser_module, sections):
                patch.setattr(module, "Window", raising_window(fuse))
        # The search for a lost marker uses a second parser, so its errors lose no text.
        patch.setattr(parser_module, "called_without_marker", lambda *_: "")
        parser = StreamParser(fmt, **kw)
        if where == "steps":
            parser._steps = RaisingSteps(parser._steps, fuse)
        fuse.left = at
        deltas = [delta for text in texts for delta in parser.feed(text)]
        return parser, deltas + parser.finish(reason), fuse.left


@pytest.mark.parametrize("where", ["steps", "window"])
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@settings(derandomize=True)  # `make fuzz` draws anew
@given(data=st.data(), kw=options, reason=reasons)
def test_error_neither_loses_nor_repeats_a_word(family, where, data, kw, reason):
    fmt, text = data.draw(family.soups)
    words = "ΔΘΛΞΠΣ"  # One character each, so cuts never split a word.
    spots = range(0, len(text) + 1, max(1, len(text) // 5))
    for word, spot in zip(words, reversed(list(spots)), strict=False):
        text = text[:spot] + word + text[spot:]
    texts = data.draw(cuts(text))
    asked = -broken(fmt, texts, reason, 0, where, **kw)[2]
    at = data.draw(st.integers(1, max(asked, 1)))
    parser, deltas, _ = broken(fmt, texts, reason, at, where, **kw)
    assert (asked > 0) is any(issue.kind == "internal_error" for issue in parser.issues)
    content, reasoning, calls = joined(deltas)
    assert joined(deltas) == as_joined(parser.message)
    check_4(deltas)
    # An id may contain the function name, so it does not count as a repetition.
    found = content + reasoning + "".join("".join(call[fmt.call_id.holds_name :]) for call in calls)
    details = "".join(issue.detail for issue in parser.issues)
    passed_over = family.passed_over(fmt, text)
    copied = "unclosed_reasoning" in {issue.kind for issue in parser.issues}

    assert [
        word for word in words if word in text and word not in found + details + passed_over
    ] == []
    assert [word for word in words if found.count(word) > 1 + copied] == []


def test_error_in_the_lost_marker_search_is_one_internal_error():
    said, tools = ["f", '{"a": 1}'], [{"name": "f"}]
    asked = -broken(CALLED, said, "stop", 0, "window", tools=tools)[2]
    for at in range(1, asked + 1):
        parser, _, _ = broken(CALLED, said, "stop", at, "window", tools=tools)
        assert [issue.kind for issue in parser.issues] == ["internal_error"]


@pytest.mark.parametrize("last", ["", "}}</call> and", "}}</call>"])
def test_error_after_a_checkpoint_releases_the_buffered_text(last):
    """Emit a call without a complete name as text, at its place."""
    for cut in range(1, len(CALL)):
        parser = StreamParser(TAGS)
        deltas = parser.feed(f"one {CALL[:cut]}")
        parser._steps = RaisingSteps(parser._steps, Fuse(1))
        deltas += parser.feed(f"{CALL[cut:]}{last}") + parser.finish("stop")
        content, _, calls = joined(deltas)
        if calls:
            ((_, _, arguments),) = calls
            assert '{"a": 1}'.startswith(arguments)
        else:
            assert content == f"one {CALL}{last}"
