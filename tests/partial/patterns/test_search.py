"""All matches in a stream for any chunking, compared with searches of the complete text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaparse.partial import Found, Held, Pattern, PatternSearch, until_pattern
from deltaparse.partial.patterns.pattern import MAX_HOLD

from ...strategies.random_patterns import RANDOM, TEXTS, accepted, offline
from ...support import Driver, cuts, drive, three_ways


def counted(pattern, chunks):
    """Return all matches, the number of given-up places, and the joined text."""
    numbers = PatternSearch(pattern)
    segments = [each for chunk in chunks for each in numbers.feed(chunk)] + numbers.finish()
    found = [(each.span, each.text, each.groups) for each in segments if isinstance(each, Found)]
    text = "".join(each if isinstance(each, str) else each.text for each in segments)
    return (found, numbers.given_up), text


def online(pattern, chunks):
    """Return all matches, and the joined text."""
    (found, _), text = counted(pattern, chunks)
    return found, text


@settings(max_examples=300)
@given(RANDOM, TEXTS, st.data())
def test_result_does_not_depend_on_chunks(pattern, text, data):
    pattern = accepted(pattern)
    expected = offline(pattern, text), text

    assert online(pattern, data.draw(cuts(text))) == expected
    assert online(pattern, [text]) == expected


@pytest.mark.parametrize("size", [1, 3, 7, 10_000])
def test_a_long_text_in_many_steps(size):
    text = ("prose and <b> 1 < 2 " * 40 + "<call>[x]" + "\n" * 300 + "{") * 3
    pattern = Pattern(r"(?<=\])\n+\{|<call>|(?<=and )<\w>")
    chunks = [text[at : at + size] for at in range(0, len(text), size)]

    assert online(pattern, chunks) == (offline(pattern, text), text)


def test_final_search_holds_no_text():
    search = PatternSearch(Pattern("abc+", max_hold=8))
    found = search.find("x" * 5 + "abc", final=True)
    assert (found.span, found.text) == ((5, 8), "abc")


# Limits.


def place_by_place(pattern, text):
    """Return all matches if each place sees `max_hold` characters, and the given-up places."""
    found, given_up, at = [], 0, 0
    while at < len(text):
        end = at + pattern.max_hold
        answer = pattern.match(text[:end], at, final=end > len(text))
        if isinstance(answer, Found):
            found.append((answer.span, answer.text, answer.groups))
        given_up += isinstance(answer, Held)
        at = answer.end if isinstance(answer, Found) else at + 1
    return found, given_up


@given(st.text("<ab>", max_size=40), st.integers(1, 6), st.data())
def test_given_up_places_do_not_depend_on_chunks(text, limit, data):
    pattern = Pattern(r"<(?s:.*?)>|<a+|b<", max_hold=limit)
    expected = place_by_place(pattern, text), text

    assert counted(pattern, data.draw(cuts(text))) == expected
    assert counted(pattern, [text]) == expected


@settings(max_examples=500)
@given(RANDOM, TEXTS, st.integers(1, 6), st.data())
def test_matches_within_the_limit_do_not_depend_on_chunks(pattern, text, limit, data):
    pattern = accepted(pattern, max_hold=limit)
    expected = place_by_place(pattern, text)[0], text

    assert online(pattern, data.draw(cuts(text))) == expected
    assert online(pattern, [text]) == expected


@pytest.mark.parametrize(
    ("pattern", "text", "limit"),
    [
        ("ab*c", "abbc-abbbc-abc", 4),
        ("a(?!b)|(?<=^a)b", "abab", 1),
        ("x|(?<=xa)<|a(?=b)", "xa<xab", 1),
        ("(?<=aa)b|a+(?=c)", "aab-aac-aaac", 2),
        ("(?<=^..)b|.(?=c)", "aab", 1),
        (r"a\Z|b(?=\Z)|.", "ab", 1),
        ("x|(?<=^xx)<", "xx<", 9),
    ],
)
def test_each_place_sees_as_much_as_may_be_held(pattern, text, limit):
    pattern = Pattern(pattern, max_hold=limit)
    for at in range(len(text)):
        assert counted(pattern, [text[:at], text[at:]]) == (place_by_place(pattern, text), text)


def test_no_more_is_held_than_the_limit():
    numbers = PatternSearch(Pattern("(?s:<a>.*?</a>)", max_hold=10))

    assert numbers.feed("x<a>123456") == ["x"]
    assert numbers.feed("7") == ["<a>1234567"]
    assert numbers.given_up == 1
    assert numbers.feed("<a>b</a>")[0].span == (11, 19)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("[^<]*<tool_call>", "prose without " * 600),
        ("(?s:<a>.*?</a>)", "<a>" * 3000),
        (r"\s*<tool_call>", " " * 9000),
    ],
)
def test_a_pattern_that_always_hopes_is_let_go(pattern, text):
    hopes = PatternSearch(Pattern(pattern))
    segments = [each for at in range(0, len(text), 40) for each in hopes.feed(text[at : at + 40])]

    assert hopes.given_up
    assert len("".join(segments)) > len(text) - MAX_HOLD
    assert "".join([*segments, *hopes.finish()]) == text


def test_empty_chunk_returns_no_segments():
    numbers = PatternSearch(Pattern("[0-9]+"))
    assert [numbers.feed(chunk) for chunk in ("", "a", "", "1", "")] == [[], ["a"], [], [], []]


HOSTILE = "(?:a|aa)+b"


def test_a_pattern_that_explodes_is_no_longer_looked_for():
    hostile = PatternSearch(Pattern(HOSTILE, timeout=0.01))
    segments = [*hostile.feed("ab-"), *hostile.feed("a" * 60 + "-"), *hostile.feed("ab")]

    assert hostile.timed_out
    assert segments == [Found(0, "ab", (), {}), "-", "a" * 60 + "-", "ab"]
    assert hostile.finish() == []


# As a sub-parser.


def up_to(pattern):
    def steps(src, emit):
        found = yield from until_pattern(src, PatternSearch(pattern), emit)
        return found and found.text

    return steps


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("</s>", ("</s>", "", "</s>")),
        ("a < b, <<</s>", ("</s>", "a < b, <<", "</s>")),
        ("x<f=go>", ("<f=go>", "x", "<f=go>")),
    ],
)
def test_until_pattern(text, expected):
    three_ways(up_to(Pattern(r"</s>|<f=\w+>")), text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (None, "", "")),
        ("text <f=go", (None, "text <f=go", "")),
        ("text 12", ("12", "text ", "12")),
    ],
)
def test_until_pattern_at_the_end(text, expected):
    three_ways(up_to(Pattern(r"<f=\w+>|\d+")), text, expected, at_end=True)


def test_until_pattern_remembers_bypassed_text():
    driver = Driver(up_to(Pattern("(?<=ab)<")))
    driver.feed("plain", "xa", "b", "<")

    assert driver.result == "<"
    assert driver.resumes == 2
    assert driver.text == "plainxab"


@given(RANDOM, TEXTS, st.data())
def test_until_pattern_again_and_again(pattern, text, data):
    pattern = accepted(pattern)

    def steps(src, emit):
        look_for, found = PatternSearch(pattern), []
        while match := (yield from until_pattern(src, look_for, emit)):
            found.append((match.text, match.groups))
            assert match.start == src.pos
            look_for.read(src.consume(match.end))
        return found

    expected = offline(pattern, text)
    read = drive(steps, data.draw(cuts(text)))

    assert read.result == [(whole, groups) for _, whole, groups in expected]
    assert len("".join(read.emitted)) == len(text) - sum(len(whole) for _, whole, _ in expected)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(?<=ab)<|b(?=c)", "ab<"),
        ("x|(?<=^a)<|a(?=b)", "a<xa<"),
        ("x|<|(?<=^xa<)b", "xa<b"),
    ],
)
def test_until_pattern_lookbehind_sees_read_text_only(pattern, text):
    def steps(src, emit):
        look_for, found = PatternSearch(Pattern(pattern)), []
        while match := (yield from until_pattern(src, look_for, emit)):
            found.append(match.text)
            look_for.read(src.consume(match.end))
        return found

    expected = [whole for _, whole, _ in offline(Pattern(pattern), text)]
    for at in range(len(text)):
        read = drive(steps, [chunk for chunk in (text[:at], text[at:]) if chunk])
        assert read.result == expected
        assert all(read.emitted)


@pytest.mark.parametrize("limit", [4, 300, 4096])
def test_a_search_of_a_whole_text_ends_where_the_text_does(limit):
    pattern = Pattern(r"a+\Z|a\n+b", max_hold=limit)
    for text in ("aaaa", "a" * 700, "." * 255 + "a\nb", "a" * 256 + "\n" * 9 + "ba"):
        found = PatternSearch(pattern).find(text, final=True)
        (span, *_), *_ = place_by_place(pattern, text)[0]
        assert found.span == span


@pytest.mark.parametrize("pattern", ["^a", r"\Aa", "(?m)^a", "(?<!.)a", "(?<![^b])a"])
def test_lookbehind_fails_before_the_first_text(pattern):
    for chunks in (["a", "a"], ["", "aa"]):
        assert online(Pattern(pattern), chunks)[0] == [((0, 1), "a", ())]
    assert online(Pattern("(?<=.)a"), ["a", "b"])[0] == []
