"""Sub-parsers for plain text in three chunkings, and `until` at every cut."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deltaparse.partial import (
    Markers,
    StringSink,
    Window,
    consume_marker,
    peek,
    peek_marker,
    skip_if_here,
    until,
    whitespace,
)

from ..support import Driver, cuts, drive, silent, three_ways

CALL = Markers(["<call>", "<call>\n", "</s>"])
NESTED = Markers(["aab", "ab", "abab", "b<"])
NOTHING = Markers([])


def up_to(markers):
    return lambda src, emit: until(src, markers, emit)


def skipped(src, space):
    """Generate a marker, and whitespace after it."""
    marker = yield from peek_marker(src, CALL)
    return (yield from consume_marker(src, marker, space))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("</s>", ("</s>", "", "</s>")),
        ("hello</s>", ("</s>", "hello", "</s>")),
        ("a < b, <<</s>", ("</s>", "a < b, <<", "</s>")),
        ("</<call><", ("<call>", "</", "<call><")),
        ("x<call>\n", ("<call>\n", "x", "<call>\n")),
        ("x<call>y", ("<call>", "x", "<call>y")),
    ],
)
def test_until(text, expected):
    three_ways(up_to(CALL), text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("", "", "")),
        ("text", ("", "text", "")),
        ("text <call", ("", "text <call", "")),
        ("text <call>", ("<call>", "text ", "<call>")),
    ],
)
def test_until_the_end(text, expected):
    three_ways(up_to(CALL), text, expected, at_end=True)


@given(st.text("ab<", max_size=12), st.data())
@example("aaab", None)
def test_until_agrees_with_a_search_of_all_text(text, data):
    found = re.search("abab|aab|ab|b<", text)
    gap, marker = (text[: found.start()], found[0]) if found else (text, "")
    read = drive(up_to(NESTED), data.draw(cuts(text)) if data else list(text))

    assert read.result == marker
    assert "".join(read.emitted) == gap
    assert read.unread == text[len(gap) :]


@given(st.text("ab<", max_size=12))
def test_until_buffers_only_possible_markers(text):
    driver = Driver(up_to(NESTED))
    for end, char in enumerate(text, 1):
        driver.feed(char)
        if not driver.running:
            break
        beginnings = (start for start in range(end) if _begins(text[start:end]))

        assert driver.text == text[: min(beginnings, default=end)]


def _begins(text):
    return any(marker.startswith(text) for marker in NESTED.literals)


def test_plain_text_passes_until_by():
    driver = Driver(up_to(CALL))
    driver.feed("plain", " text", "", " > ", "<", "b", "old", "</s>")

    assert driver.emitted == ["plain", " text", "", " > ", "<b", "old"]
    assert driver.result == "</s>"
    assert driver.resumes == 4


def test_marked_text_does_not_bypass_until():
    kept = []

    def steps(src, emit):
        mark = src.mark()
        marker = yield from until(src, CALL, emit)
        kept.append(src.text_since(mark))
        src.release()
        return marker

    read = drive(steps, list("kept<b</s>"))

    assert (read.result, "".join(kept), "".join(read.emitted)) == ("</s>", "kept<b", "kept<b")


def test_until_does_not_emit_the_prompt():
    read = drive(up_to(CALL), ["prompt|mo", "del</s>"], prompt=7)

    assert ("".join(read.emitted), read.result) == ("model", "</s>")


@pytest.mark.parametrize("prompt", ["x<", "x<call", "x<call>"])
def test_a_marker_may_begin_in_the_prompt(prompt):
    text = "x<call>!"
    read = drive(up_to(CALL), [prompt, text[len(prompt) :]], prompt=len(prompt))

    assert (read.result, "".join(read.emitted)) == ("<call>", "")


@pytest.mark.parametrize(
    ("text", "marker"),
    [
        ("</s>", "</s>"),
        ("<call>\n", "<call>\n"),
        ("<call>x", "<call>"),
        ("x", ""),
        ("<callx", ""),
        ("<<", ""),
    ],
)
def test_at(text, marker):
    three_ways(silent(peek_marker, CALL), text, (marker, "", text))


@pytest.mark.parametrize(("text", "marker"), [("", ""), ("<call", ""), ("<call>", "<call>")])
def test_at_the_end(text, marker):
    three_ways(silent(peek_marker, CALL), text, (marker, "", text), at_end=True)


@given(st.text("ab<", max_size=8), st.data())
def test_peeked_marker_agrees_with_a_match(text, data):
    found = re.match("abab|aab|ab|b<", text)
    read = drive(silent(peek_marker, NESTED), data.draw(cuts(text)))

    assert read == (found[0] if found else "", [], text)


def test_marker_after_read_text():
    src = Window("x</s>")
    src.pos = 1
    with pytest.raises(StopIteration) as done:
        next(peek_marker(src, CALL))
    assert done.value.value == "</s>"
    src = Window("x    y")
    src.pos = 1
    with pytest.raises(StopIteration) as done:
        next(whitespace(src, 2))
    assert src.unread == "  y"


def test_where_a_marker_may_stand_the_reader_is_not_resumed_before_it_does():
    driver = Driver(silent(peek_marker, CALL))
    driver.feed("<", "cal", "l", "")
    assert (driver.running, driver.resumes) == (True, 1)
    driver.feed(">x")
    assert (driver.result, driver.resumes) == ("<call>", 2)


@pytest.mark.parametrize(
    ("text", "unread"), [("</s>", ""), ("<call>\n", ""), ("<call>x", "x"), ("<x", "<x"), ("x", "x")]
)
def test_skip_if_here(text, unread):
    three_ways(silent(skip_if_here, CALL), text, (text != unread, "", unread))
    assert drive(silent(skip_if_here, NOTHING), [text]) == (False, [], text)


def test_until_waits_where_the_text_of_a_string_goes():
    emitted, sunk, string = [], [], StringSink()
    src = Window("a")
    reader = until(src, CALL, emitted.append, string=string)
    next(reader)
    assert src.waiter.lane is CALL.lane
    string.sink = sunk.append
    src.feed("b")
    next(reader)
    assert src.waiter.lane is CALL.string_lane
    assert (src.waiter.sink, emitted) == (string.sink, ["a", "b"])


def test_empty_marker_set_never_matches():
    assert drive(silent(peek_marker, NOTHING), ["x"]) == ("", [], "x")
    three_ways(up_to(NOTHING), "x<call>", ("", "x<call>", ""), at_end=True)


def test_peek():
    three_ways(silent(peek), "x", ("x", "", "x"))
    three_ways(silent(peek), "", ("", "", ""), at_end=True)


@pytest.mark.parametrize(
    ("limit", "text", "unread"),
    [
        (0, "", ""),
        (1, "\n", ""),
        (3, " \n\t", ""),
        (3, "x", "x"),
        (3, " \nx", "x"),
        (3, "\u3000\xa0x", "x"),
    ],
)
def test_whitespace(limit, text, unread):
    three_ways(silent(whitespace, limit), text, (None, "", unread), then=" \nand more")


@pytest.mark.parametrize("text", ["", " ", " \n"])
def test_whitespace_at_the_end(text):
    three_ways(silent(whitespace, 3), text, (None, "", ""), at_end=True)


@given(st.text(" \nx", max_size=8), st.integers(0, 5), st.data())
def test_whitespace_is_skipped_up_to_its_limit(text, limit, data):
    read = drive(silent(whitespace, limit), data.draw(cuts(text)))

    assert read.unread == re.sub(rf"\A\s{{0,{limit}}}", "", text)


@pytest.mark.parametrize(
    ("space", "text", "read"),
    [
        ("", "</s>", "</s>"),
        ("\n", "</s>\n", "</s>\n"),
        ("\n\n", "</s>\n\n", "</s>\n\n"),
        ("\n\n", "</s>\nx", "</s>\n"),
        ("\n\n", "</s>x", "</s>"),
        (" \n", "</s>\n", "</s>"),
        ("", "<call>x", "<call>"),
        (" ", "<call>\n ", "<call>\n "),
    ],
)
def test_skip(space, text, read):
    three_ways(silent(skipped, space), text, (read, "", text[len(read) :]))


@pytest.mark.parametrize("text", ["</s>", "</s>\n"])
def test_skip_at_the_end(text):
    three_ways(silent(skipped, "\n\n"), text, (text, "", ""), at_end=True)


def test_consumed_text_excludes_the_prompt():
    read = drive(silent(skipped, "\n\n"), ["</", "s>\n", "\nx"], prompt=2)

    assert read == ("s>\n\n", [], "x")


def test_consumed_text_is_released():
    driver = Driver(silent(skipped, "\n"))
    driver.feed("</s>\n")
    driver.src.wait(driver.emitted.append, CALL.lane)

    assert driver.src.waiter.lane is CALL.lane


@pytest.mark.parametrize("emits_prompt", [False, True])
@pytest.mark.parametrize("prompt", range(6))
@pytest.mark.parametrize("cut", range(3, 7))
def test_consumed_text_does_not_depend_on_chunks(cut, prompt, emits_prompt):
    def steps(src, emit):
        src.emits_prompt = emits_prompt
        return consume_marker(src, "<a>", " \n")

    text = "<a> \nb"
    read = drive(steps, [text[:cut], text[cut:]], prompt=prompt)
    assert read.result == text[0 if emits_prompt else prompt : -1]
