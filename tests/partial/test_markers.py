"""Markers in incomplete text, compared with a search of every place."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deltaparse.partial import (
    LONGEST_MARKER,
    Markers,
    UsageError,
    Window,
    is_whole,
    marker_set,
    until,
)

from ..support import Driver, cuts, drive

# Few letters cause overlaps. The third alphabet has special characters of patterns.
ALPHABETS = ["ab", "<|a>", "[]^-\\.*+?{}()|$&~# \n", "é｜▁😀\ud83d\u0301"]
METACHARACTERS = [*"[]^-\\$#.*", "a|b", "(?:", "[a-z]", "{2}", "&&", "~~", "||", "--"]


@st.composite
def cases(draw):
    """Generate a set of markers, and a text of them, their parts and other characters."""
    alphabet = st.sampled_from(draw(st.sampled_from(ALPHABETS)))
    word = st.text(alphabet, max_size=4)
    literals = draw(st.sets(word, max_size=4))
    parts = {text[:end] for text in literals for end in range(1, len(text) + 1)}
    part = st.sampled_from(sorted(parts)) | word if parts else word
    return literals, "".join(draw(st.lists(part, max_size=8)))


def first(text, pos, literals, *, final):
    """Find the first marker by testing each place and each literal, as an oracle."""
    for place in range(pos, len(text)):
        rest = text[place:]
        if not final and any(mark.startswith(rest) and mark != rest for mark in literals):
            return place, place
        longest = max((len(mark) for mark in literals if rest.startswith(mark)), default=0)
        if longest:
            return place, place + longest
    return len(text), len(text)


def offline(text, literals):
    """Return every marker of `text` with the text before it, as an oracle."""
    found, gap = [], ""
    while text:
        mark = max((m for m in literals if text.startswith(m)), key=len, default="")
        if mark:
            found.append((gap, mark))
        gap = "" if mark else gap + text[0]
        text = text[len(mark) or 1 :]
    return [*found, (gap, "")]


def online(chunks, literals):
    """Return every marker with the text before it, by repeated calls of `find`."""
    look_for, found, gap, text = Markers(literals), [], "", ""
    for chunk in (*chunks, None):
        text += chunk or ""
        pos = 0
        while True:
            start, end = look_for.find(text, pos, final=chunk is None)
            gap += text[pos:start]
            pos = end
            if start == end:
                break
            found.append((gap, text[start:end]))
            gap = ""
        text = text[pos:]
    assert text == ""
    return [*found, (gap, "")]


@given(cases(), st.data())
def test_result_does_not_depend_on_chunks(case, data):
    literals, text = case

    assert online(data.draw(cuts(text)), literals) == offline(text, literals)


@given(cases(), st.data())
@example(({"<a>"}, "x<a"), None)
def test_no_more_and_no_less_is_held_back(case, data):
    literals, text = case
    pos = data.draw(st.integers(0, len(text))) if data else 0
    look_for = Markers(literals)

    for final in (False, True):
        expected = first(text, pos, literals, final=final)
        assert look_for.find(text, pos, final=final) == expected


@given(cases(), st.data())
def test_buffered_text_is_a_possible_marker(case, data):
    literals, text = case
    start, end = Markers(literals).find(text)
    more = data.draw(st.sampled_from(["", *sorted(literals)]) | st.text("ab<|>", max_size=6))
    gap = offline(text + more, literals)[0][0]

    if start < end:
        assert offline(text + more, literals)[0] == (text[:start], text[start:end])
    else:
        assert len(gap) >= start
    if start == end < len(text):
        rest = text[start:]
        completions = [mark[len(rest) :] for mark in literals if mark.startswith(rest)]
        assert any(len(offline(text + tail, literals)[0][0]) == start for tail in completions)


@given(cases())
def test_passing_text_has_no_marker(case):
    literals, text = case
    look_for = Markers(literals)
    firsts = {mark[0] for mark in literals if mark}
    begins = any(char in firsts or not is_whole(char) for char in text)

    if look_for.find(text) != (len(text), len(text)):
        assert look_for.exact(text)
    assert begins or look_for.exact(text) is None


@given(cases(), st.sampled_from("\ud800\udfff"))
def test_half_a_character_does_not_pass(case, half):
    literals, text = case
    look_for = Markers(literals)

    for find in (look_for.exact, look_for.quick_json):
        assert find(text + half)


@given(cases(), st.sampled_from('"\\\n\x00é<'))
def test_escaped_text_fails_the_quick_test(case, char):
    literals, text = case
    look_for = Markers(literals)
    spelled = json.dumps(text + char, ensure_ascii=False)[1:-1]

    begins = any(first in text + char for first in look_for.firsts)
    passes = not begins and is_whole(text + char) and spelled == text + char
    assert (look_for.quick_json(text + char) is None) == passes


@pytest.mark.parametrize(
    ("literals", "text", "found"),
    [
        (["<a>"], "x<a>y", (1, 4)),
        (["<a>"], "x<a", (1, 1)),
        (["<a>"], "x<b", (3, 3)),
        (["<a>"], "<<a", (1, 1)),
        (["<a>"], "<<<", (2, 2)),
        (["aab"], "aaa", (1, 1)),  # Only the longest possible prefix is buffered.
        (["abab"], "ababa", (0, 4)),
        (["abab", "ababab"], "abab", (0, 0)),  # A marker, but possibly the prefix of a longer one.
        (["abab", "ababab"], "ababx", (0, 4)),
        (["abcd", "bc"], "abc", (0, 0)),  # A marker inside the possible prefix of an earlier one.
        (["abcd", "bc"], "abcx", (1, 3)),
        (["abcd", "bc"], "abcd", (0, 4)),
        (["x"], "ax", (1, 2)),  # A marker of one character is certain at once.
        (["x", "xy"], "ax", (1, 1)),
        (["<|end|>"], "<|end", (0, 0)),
        ([".*"], "a.*", (1, 3)),
        (["é", "é\u0301"], "é", (0, 0)),
        (["b", "acd"], "xb", (1, 2)),
        (["<anna"], "x<anu", (5, 5)),  # A text with the start and the length of a prefix.
        (["😀"], "\ud83d", (1, 1)),  # Half of a surrogate pair is a different character.
        ([], "anything", (8, 8)),
        ([""], "anything", (8, 8)),
    ],
)
def test_minimal_examples(literals, text, found):
    start, end = found
    assert Markers(literals).find(text) == found
    assert Markers(literals).split(text) == (start if start == end else -1)


@pytest.mark.parametrize("literals", [["abab", "ababab"], ["abcd", "bc"]])
def test_final_find_buffers_no_text(literals):
    look_for = Markers(literals)

    assert look_for.find("abab", final=True) == first("abab", 0, literals, final=True)
    assert look_for.find("aba", final=True) == (3, 3)


@pytest.mark.parametrize("marker", METACHARACTERS)
def test_metacharacters_stand_for_themselves(marker):
    look_for = Markers([marker, "^", "]-a"])

    assert look_for.find(f"b{marker}", final=True) == (1, 1 + len(marker))
    for find in (look_for.exact, look_for.quick_json):
        assert find("bcz,_=") is None
        assert find(f"b{marker}").start() == 1


def test_literals_are_unique_and_not_empty():
    look_for = Markers(["b", "", "abc", "b", "ab"])

    assert set(look_for.literals) == {"abc", "ab", "b"}
    assert look_for.longest == 3


@pytest.mark.parametrize("literals", [[], [""]])
def test_empty_set_never_matches(literals):
    nothing = Markers(literals)

    assert (nothing.literals, nothing.longest) == ((), 0)
    assert nothing.find("") == nothing.find("", final=True) == (0, 0)
    assert nothing.find("ab", 1, final=True) == (2, 2)
    assert nothing.exact("\x00 <") is None


def test_the_longest_marker():
    marker = "<" * (LONGEST_MARKER - 1) + ">"
    look_for = Markers([marker])

    assert look_for.find("<" * 1000) == (1000 - LONGEST_MARKER + 1,) * 2
    assert look_for.find("<" * 1000 + ">") == (1001 - LONGEST_MARKER, 1001)


def test_a_longer_marker_is_refused():
    with pytest.raises(UsageError, match=f"{LONGEST_MARKER + 1} characters"):
        Markers(["ab", "<" * (LONGEST_MARKER + 1)])


def test_the_same_literals_give_the_same_object():
    assert marker_set(["a", "b"]) is marker_set(["b", "a"])
    assert marker_set(["a", "b"]) is not marker_set(["a"])


class CountingMarkers(Markers):
    """A pattern that counts the searched characters."""

    def __init__(self, literals):
        super().__init__(literals)
        self.searched = 0

    def find(self, text, pos=0, *, final=False):
        self.searched += len(text) - pos
        return super().find(text, pos, final=final)


@pytest.mark.parametrize("length", [1000, 4000])
@pytest.mark.parametrize("pattern", ["plain text ", "<", "<tool_cal", "<tool_call", "<tool_call>"])
def test_no_character_is_searched_more_often_than_it_can_be_held(pattern, length):
    look_for = CountingMarkers(["<tool_call>", "<tool>"])
    text = (pattern * length)[:length]

    def every_marker(src, emit):
        while marker := (yield from until(src, look_for, emit)):
            src.pos += len(marker)

    read = drive(every_marker, list(text))

    assert "".join(read.emitted) == "".join(gap for gap, _ in offline(text, look_for.literals))
    assert look_for.searched <= 2 * look_for.longest * length


def test_beginnings_of_markers_are_looked_for_at_the_end_only():
    look_for = Markers(["<tool_call>"])
    search, searched = look_for._search, []

    def noting(text, pos):
        searched.append(pos)
        return search(text, pos)

    look_for._search = noting

    assert look_for.find("a <tob" * 1000 + "<tool") == (6000, 6000)
    assert min(searched[1:]) > 6000 - 2 * len("<tool_call>")


def test_text_in_which_no_marker_begins_is_not_searched_at_all():
    look_for = CountingMarkers(["<tool_call>"])
    driver = Driver(lambda src, emit: until(src, look_for, emit))
    driver.feed("a", *"plain text" * 100)

    assert look_for.searched == 1
    assert driver.resumes == 1
    assert driver.src.offset == len(driver.text) == 1001


def test_find_reads_a_window_from_any_place():
    src = Window("<a><a>")
    look_for = Markers(["<a>"])

    assert look_for.find(src.text, 1) == (3, 6)
    assert look_for.find(src.text, 6) == (6, 6)


def test_the_lanes_of_text_as_it_is_and_as_json_spells_it():
    markers = Markers(["<tool>"])
    for lane in (markers.lane, markers.string_lane):
        assert lane.exact('1 < 2 "\n') is None
        assert lane.exact("a<to")
        assert lane.exact("a<tool>b")
        assert [lane.split(text) for text in ("plain", "a<to", "<tool>")] == [5, 1, -1]
    assert markers.lane.quick('"\n') is None
    assert markers.string_lane.quick('"\n')
    assert markers.lane.spell is None
    assert markers.string_lane.spell('"\n') == '\\"\\n'


@given(cases())
def test_match_agrees_with_find(case):
    literals, text = case
    markers = Markers(literals)
    for final in (False, True):
        for pos in range(len(text) + 1):
            start, end = markers.find(text, pos, final=final)
            may_come = not final and (start == pos == len(text) and bool(markers.literals))
            expected = end if start == pos and end > start else -1
            if start == end == pos and (pos < len(text) or may_come) and not final:
                expected = pos
            assert markers.match(text, pos, final=final) == expected


@given(cases())
def test_the_tail_that_may_become_a_marker_is_split_off(case):
    literals, text = case
    start, end = first(text, 0, literals, final=False)

    assert Markers(literals).split(text) == (start if start == end else -1)


def test_waiter_knows_prefixes_and_first_characters():
    markers = Markers(["<tool>", "[END]"])
    assert markers.firsts == "<["
    waiter = markers.waiter
    for text in ("<", "<tool", "[EN"):
        assert text in waiter.known
        window = Window(f"a{text}")
        window.pos = 1
        assert waiter.step(window) == ""
    for text in ("<tool>", "<x", "tool", ""):
        assert text not in waiter.known
        assert waiter.step(Window(text)) is None
