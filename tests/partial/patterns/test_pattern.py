"""Patterns in incomplete text, compared with one search of the complete text."""

from __future__ import annotations

import itertools
import warnings

import pytest
import regex
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from deltaparse.partial import UsageError
from deltaparse.partial.patterns.pattern import Absent, Found, Held, Pattern, search

from ...corpus import needs_corpus, rows
from ...strategies.random_patterns import RANDOM, accepted

CALL = r"<tool_call>\s*(?:\{|\[)"
KINDS = {Found: "full", Held: "partial", Absent: "none"}


def answer(found):
    """Return a result in the notation of the tables."""
    match found:
        case Found():
            return found.span
        case Held(start):
            return start
        case Absent(timed_out=False):
            return None


@pytest.mark.parametrize(
    ("text", "found", "taken"),
    [
        ("", None, 0),
        ("x", None, None),
        ("x<", 1, None),
        ("<tool_call> ", 0, 0),
        ("<tool_call>\n{", (0, 13), (0, 13)),
        ("<tool_call>x", None, None),
        ("<tool_call>x<to", 12, None),
    ],
)
def test_the_truth_table(text, found, taken):
    assert answer(search(CALL, text)) == found
    assert answer(Pattern(CALL).match(text)) == taken


def test_a_result_does_not_change():
    for text in ("ab", "a", "x"):
        result = search("ab", text)
        with pytest.raises(AttributeError):
            setattr(result, next(iter(type(result).__slots__)), 1)


@pytest.mark.parametrize(
    ("pattern", "text", "found", "final"),
    [
        ("abc", "xyz", None, None),
        ("abc|b", "xab", 1, (2, 3)),
        ("<call>(?s:.*?)</call>|[{]", "<call>{", 0, (6, 7)),
        ("dogsbody|dog", "dogs", 0, (0, 3)),
        ("dog|dogsbody", "dog", (0, 3), (0, 3)),
        ("a+", "aa", 0, (0, 2)),
        ("ab?", "a", 0, (0, 1)),
        ("ab?", "ab", (0, 2), (0, 2)),
        ("a(sbody)?", "a", 0, (0, 1)),
        (r"<a>\s*", "<a> ", 0, (0, 4)),
        (r"<a>\s*", "<a> x", (0, 4), (0, 4)),
        ("foo(?!bar)", "foo", 0, (0, 3)),
        ("foo(?!bar)", "foobaz", (0, 3), (0, 3)),
        ("foo(?=bar)", "foobar", (0, 3), (0, 3)),
        ("abc$", "abc", 0, (0, 3)),
        ("abc$", "abc\n", 0, (0, 3)),
        ("abc$", "abc\nx", None, None),
        ("(?m)abc$", "abc\nx", (0, 3), (0, 3)),
        (r"abc\Z", "abc", 0, (0, 3)),
        (r"abc\Z", "abcd", None, None),
        (r"foo(?!bar\Z)", "foobar", 0, None),
        ("^abc", "xabc", None, None),
        (r"\s*<tool_call>", " hello world", None, None),
        (r'"name"\s*:', '"name" x', None, None),
        ("(?s:<a>.*?</a>)", "<a>\n", 0, None),
        ("(?s:<a>.*?</a>)", "<a></a></a>", (0, 7), (0, 7)),
        ("(?s:.+?)", "", None, None),
        ("<thinking>[^<]*</thinking>", "<thinking>xyz abc", 0, None),
        ("(?i)straße", "STRAß", 0, None),
        (r"(a+)-\1", "aa-a", 0, (1, 4)),
        (r"(a+)-\1", "aa-aa", (0, 5), (0, 5)),
        ("[ab]([bc])*|[ab]", "bcc", 0, (0, 3)),
    ],
)
def test_answers_where_plain_partial_matching_is_wrong(pattern, text, found, final):
    assert answer(search(pattern, text)) == found
    assert answer(search(pattern, text, final=True)) == final


def test_groups():
    found = search(r"<f=(?<name>\w+)>(x)?", "a<f=go>b")

    assert found == Found(1, "<f=go>", ("go", None), {"name": "go"})
    assert search(r"<f=(?<name>\w+)>(x)?", "a<f=go") == Held(1)


def test_lookbehinds_see_text_before_pos():
    assert answer(search("(?<=a)b", "ab", 1)) == (1, 2)
    assert answer(search("^b", "ab", 1)) is None
    assert answer(search("(?m)^b", "\nb", 1)) == (1, 2)
    assert search("b", "ab", 2) == Absent(2)
    assert Pattern("b").match("aab", 1) == Absent(1)


def test_flags():
    assert answer(search("AB", "ab", flags=regex.I)) == (0, 2)
    assert answer(search("(?x) a b # c", "ab")) == (0, 2)
    assert answer(search("(?s)a.", "a\n")) == (0, 2)
    assert answer(search(r"(?a)\w", "éa")) == (1, 2)


def test_repr_lookbehind_and_lane_of_a_pattern():
    pattern = Pattern("(?<=ab)<[a-z]+>")

    assert repr(pattern) == "Pattern('(?<=ab)<[a-z]+>')"
    assert pattern.behind == 2
    assert pattern.lane.exact("abc>") is None
    assert pattern.lane.exact("a<")
    assert search(pattern, "ab<c>") == Found(2, "<c>", (), {})


@pytest.mark.parametrize("wrong", [{"max_hold": 0}, {"timeout": 0}, {"timeout": -1.0}])
def test_limits_must_make_sense(wrong):
    with pytest.raises(UsageError, match="must be positive"):
        Pattern("a", **wrong)


def test_pattern_keeps_its_options():
    pattern = Pattern("a", regex.IGNORECASE, max_hold=7, timeout=None)
    assert (pattern.pattern, pattern.flags, pattern.max_hold) == ("a", regex.IGNORECASE, 7)
    assert pattern.search("xA-") == Found(1, "A", (), {})


def test_a_search_that_takes_too_long_is_given_up():
    hostile = Pattern("(?:a|aa)+b", timeout=0.01)

    assert hostile.search("a" * 60 + "c", 1) == Absent(1, timed_out=True)


# Compared with `regex` for all continuations.

EXTENSIONS = [
    "".join(more) for size in range(4) for more in itertools.product("abc\n", repeat=size)
]


@settings(max_examples=150)
@given(RANDOM, st.text("abc\n", max_size=6))
def test_more_text_does_not_change_certain_answers(pattern, text):
    pattern = accepted(pattern)
    compiled = regex.compile(pattern.pattern)
    now = pattern.search(text)
    anchored = pattern.match(text)
    for more in EXTENSIONS:
        match = compiled.search(text + more)
        start = match.start() if match else len(text + more)
        if isinstance(now, Found):
            assert match
            assert (match.span(), match.groups()) == (now.span, now.groups)
        assert start >= now.start
        match = compiled.match(text + more)
        if isinstance(anchored, Found):
            assert match
            assert (match.span(), match.groups()) == (anchored.span, anchored.groups)
        if isinstance(anchored, Absent):
            assert match is None
    if isinstance(now, Absent):
        assert now.start == len(text)


@st.composite
def plain_patterns(draw):
    """Generate patterns with satisfiable rests."""
    word = st.text("abc", min_size=1, max_size=2)
    item = word | st.sampled_from(["[ab]", "[^a]", ".", "a?", "(?:bc)?", "c{1,2}", "b*"])
    branch = st.lists(item, min_size=1, max_size=3).map("".join)
    return "|".join(draw(st.lists(branch, min_size=1, max_size=2)))


@settings(max_examples=150)
@given(plain_patterns(), st.text("abc", max_size=5))
@example("(?:bc|aba)", "ab")
@example("(?:a|c.)b", "ca")
@example("(?:bc)+", "bb")
def test_held_text_can_become_a_match(pattern, text):
    pattern = accepted(pattern)
    now = pattern.search(text)
    compiled = regex.compile(pattern.pattern)
    assume(isinstance(now, Held))
    # Seven more characters complete each of these patterns.
    tails = ("".join(more) for size in range(8) for more in itertools.product("abc", repeat=size))
    found = (compiled.search(text + more) for more in tails)
    assert any(match and match.start() == now.start < match.end() for match in found)


# Cases of other projects.


@needs_corpus
def test_llamacpp_cases():
    checked = 0
    for row in rows("regex/llamacpp_regex_partial.jsonl"):
        # Lazy repeats stop at line ends there, but only repeats across lines are supported here.
        pattern = row["pattern"].replace(".*?", "(?s:.*?)")
        if row["func"] != "common_regex.search":
            continue
        found = search(pattern, row["input"])
        checked += 1

        assert KINDS[type(found)] == row["type"], row
        if row["type"] != "none":
            assert found.start == row["groups"][0][0], row
        if row["type"] == "full":
            assert list(found.span) == row["groups"][0], row
    assert checked > 60


PCRE2_FLAGS = {"i": regex.I, "m": regex.M, "s": regex.S, "": 0, "I": 0, "utf": 0, "startchar": 0}


@needs_corpus
def test_pcre2_hard_cases():
    """PCRE2's PARTIAL_HARD is the most similar mode: a request for more text wins."""
    checked, refused = 0, set()
    for row in rows("regex/pcre2_partial.jsonl"):
        names = row["modifiers"].split(",")
        if row["mode"] != "hard" or not set(names) <= set(PCRE2_FLAGS):
            continue
        if row["subject_options"] != "ph":
            continue
        source = row["pattern"].replace(r"\x{123}", r"\u0123")
        try:
            pattern = Pattern(source, sum(PCRE2_FLAGS[name] for name in set(names)))
        except UsageError:
            refused.add(row["pattern"])
            continue
        found = pattern.search(row["input"])
        kind = KINDS[type(found)]
        text = found.text if kind == "full" else row["input"][found.start :]
        checked += 1
        if row["text"] == "" and row["type"] == "partial":
            assert kind == "none", row  # No text is held, so this is not a partial match here.
        elif "(?<=" in row["pattern"]:
            assert (row["text"] or "").endswith(text), (
                row
            )  # PCRE2 includes the text of lookbehinds.
        else:
            assert (kind, text) == (row["type"], row["text"] or ""), row
    assert checked > 25
    assert all(
        regex.search(r"\\[bBKXRz]|[*+?}]\?|\}\+|\(\*|^\\Z$|^c\*\+", each) for each in refused
    )


@needs_corpus
def test_pcre2_soft_cases_begin_where_ours_do():
    """In PARTIAL_SOFT a later match wins, but its held texts are held here, too."""
    checked = 0
    for row in rows("regex/pcre2_partial.jsonl"):
        names = row["modifiers"].split(",")
        if row["mode"] != "soft" or not set(names) <= set(PCRE2_FLAGS):
            continue
        source = row["pattern"].replace(r"\x{123}", r"\u0123")
        try:
            pattern = Pattern(source, sum(PCRE2_FLAGS[name] for name in set(names)))
        except UsageError:
            continue
        found = pattern.search(row["input"])
        checked += 1
        if row["type"] == "partial" and row["text"]:
            assert isinstance(found, Held), row
            assert row["text"].endswith(row["input"][found.start :]), row
        elif row["type"] == "full":
            assert found.start <= row["input"].rindex(row["text"]), row
        else:
            assert isinstance(found, Absent), row
    assert checked > 100


@needs_corpus
def test_mrab_regex_cases_that_are_patterns_of_ours():
    """The tests of `regex` agree, unless they treat the end of the received text as the end."""
    checked = 0
    for row in rows("regex/mrab_regex_partial.jsonl"):
        if row["args"] or set(row["kwargs"]) != {"partial"} or row["func"] != "match":
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                pattern = Pattern(row["pattern"])
        except UsageError:
            continue
        found = pattern.match(row["input"])
        checked += 1
        if row["expected"] is None:
            assert isinstance(found, Absent), row
        elif row["accessor"] == "partial" and row["expected"]:
            assert isinstance(found, Held), row
        else:
            assert isinstance(found, Held | Found), row
    assert checked > 5


@pytest.mark.parametrize(
    ("pattern", "flags", "text"),
    [(r"\W", regex.A, "é"), (r"(?a)\D", 0, "٣"), (r"[^\w]x", regex.A, "éx"), (r"\w", 0, "é")],
)
def test_the_lane_has_the_flags_of_the_pattern(pattern, flags, text):
    pattern = Pattern(pattern, flags)

    assert pattern.search(text, final=True) == Found(0, text, (), {})
    assert pattern.lane.exact(text)


def test_ascii_letters_alone_are_words_in_ascii():
    assert Pattern(r"\w", regex.A).lane.exact("é") is None
