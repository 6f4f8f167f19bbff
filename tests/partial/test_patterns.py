"""Patterns in text that is not all there yet, against one search of the whole text."""

from __future__ import annotations

import doctest
import itertools
import json
import random
import warnings
from pathlib import Path

import pytest
import regex
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tests.support import Driver, cuts, drive, three_ways

from deltaparse.partial import UsageError, patterns
from deltaparse.partial.patterns import (
    Absent,
    Found,
    Held,
    Pattern,
    PatternSearch,
    reversed_partial_pattern,
    search,
    until_pattern,
)

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "regex"
CALL = r"<tool_call>\s*(?:\{|\[)"
KINDS = {Found: "full", Held: "partial", Absent: "none"}


def answer(found):
    """A result as the tables write it."""
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
def test_what_partial_matching_alone_gets_wrong(pattern, text, found, final):
    assert answer(search(pattern, text)) == found
    assert answer(search(pattern, text, final=True)) == final


def test_groups():
    found = search(r"<f=(?<name>\w+)>(x)?", "a<f=go>b")

    assert found == Found(1, "<f=go>", ("go", None), {"name": "go"})
    assert search(r"<f=(?<name>\w+)>(x)?", "a<f=go") == Held(1)


def test_pos_keeps_what_is_before_it_in_sight():
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


def test_a_pattern_says_what_it_is():
    pattern = Pattern("(?<=ab)<[a-z]+>")

    assert repr(pattern) == "Pattern('(?<=ab)<[a-z]+>')"
    assert pattern.behind == 2
    assert pattern.wake("abc>") is None
    assert pattern.wake("a<")
    assert search(pattern, "ab<c>") == Found(2, "<c>", (), {})


@pytest.mark.parametrize("wrong", [{"max_hold": 0}, {"timeout": 0}, {"timeout": -1.0}])
def test_limits_must_make_sense(wrong):
    with pytest.raises(UsageError, match="must be positive"):
        Pattern("a", **wrong)


# The oracle: patterns of the accepted kinds, and one loop of searches over the whole text.

ATOMS = ["a", "b", "c", "a", "b", ".", "[ab]", "[^a]", "\n", r"\s"]
ANCHORS = ["^", "$", r"\A", r"\Z", "(?m:^)", "(?m:$)"]
QUANTIFIERS = ["", "", "", "", "*", "+", "?", "{2}", "{1,2}", "{2,}", "{,2}"]
LAZY = ["(?s:.*?)", "(?s:.+?)", r"[\s\S]*?", "(?s:.{2,}?)"]
BEHIND = ["(?<=a)", "(?<!b)", "(?<=[ab]c)", "(?<=ab|c)", "(?<!a{1,2})", "(?<=^a)"]


def branches(rnd, depth, *, lazy):
    """A random pattern: alternatives, each one to three items."""
    sizes = rnd.choices([1, 2, 3], k=rnd.choice([1, 1, 2, 3]))
    return "|".join("".join(item(rnd, depth, lazy) for _ in range(size)) for size in sizes)


def item(rnd, depth, lazy):
    kind = rnd.random() if depth else rnd.choice([0, 0.05, 0.13, 1, 1, 1, 1, 1])
    if kind < 0.05:
        return rnd.choice(ANCHORS)
    if kind < 0.13:
        return rnd.choice(LAZY if lazy else BEHIND)
    if kind < 0.16:
        return r"\1"
    if kind < 0.24:
        return rnd.choice(["(?=", "(?!"]) + branches(rnd, depth - 1, lazy=lazy) + ")"
    if kind < 0.5:
        inside = branches(rnd, depth - 1, lazy=False)
        return rnd.choice(["(", "(?:", "(?i:"]) + inside + ")" + rnd.choice(QUANTIFIERS)
    return rnd.choice(ATOMS) + rnd.choice([*QUANTIFIERS, *QUANTIFIERS, "++", "*+", "?+"])


# From a seed: a pattern drawn choice by choice takes longer than all else.
RANDOM = st.builds(
    lambda seed, lazy: branches(random.Random(seed), 2, lazy=lazy),
    st.integers(0, 2**32),
    st.booleans(),
)


def accepted(text):
    """The pattern; what is refused is another test's. (`regex` must not compile in a strategy.)"""
    try:
        return Pattern(text)
    except UsageError:
        assume(condition=False)


TEXTS = st.text("abc\n", max_size=9)


def offline(pattern, text, flags=0):
    """All matches of the whole text, as `regex` finds them."""
    compiled, found, pos = regex.compile(pattern.pattern, flags), [], 0
    while match := compiled.search(text, pos):
        found.append((match.span(), match[0], match.groups()))
        pos = match.end()
    return found


def online(pattern, chunks):
    """All matches, and the text joined again."""
    numbers = PatternSearch(pattern)
    pieces = [piece for chunk in chunks for piece in numbers.feed(chunk)] + numbers.finish()
    found = [(each.span, each.text, each.groups) for each in pieces if isinstance(each, Found)]
    return found, "".join(each if isinstance(each, str) else each.text for each in pieces)


@settings(max_examples=300)
@given(RANDOM, TEXTS, st.data())
def test_cutting_the_text_changes_nothing(pattern, text, data):
    pattern = accepted(pattern)
    expected = offline(pattern, text), text

    assert online(pattern, data.draw(cuts(text))) == expected
    assert online(pattern, [text]) == expected


EXTENSIONS = [
    "".join(more) for size in range(4) for more in itertools.product("abc\n", repeat=size)
]


@settings(max_examples=150)
@given(RANDOM, st.text("abc\n", max_size=6))
def test_no_text_that_may_come_changes_what_is_certain(pattern, text):
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
    """Patterns in which nothing that is still needed contradicts itself."""
    word = st.text("abc", min_size=1, max_size=2)
    item = word | st.sampled_from(["[ab]", "[^a]", ".", "a?", "(?:bc)?", "c{1,2}", "b*"])
    branch = st.lists(item, min_size=1, max_size=3).map("".join)
    return "|".join(draw(st.lists(branch, min_size=1, max_size=2)))


@settings(max_examples=150)
@given(plain_patterns(), st.text("abc", max_size=5))
@example("(?:bc|aba)", "ab")
@example("(?:a|c.)b", "ca")
@example("(?:bc)+", "bb")
def test_nothing_is_held_that_cannot_become_a_match(pattern, text):
    pattern = accepted(pattern)
    now = pattern.search(text)
    compiled = regex.compile(pattern.pattern)
    # Seven characters more complete every such pattern.
    if isinstance(now, Held):
        tails = (
            "".join(more) for size in range(8) for more in itertools.product("abc", repeat=size)
        )
        found = (compiled.search(text + more) for more in tails)
        assert any(match and match.start() == now.start < match.end() for match in found)


@pytest.mark.parametrize("size", [1, 3, 7, 10_000])
def test_a_long_text_in_many_steps(size):
    text = ("prose and <b> 1 < 2 " * 40 + "<call>[x]" + "\n" * 300 + "{") * 3
    pattern = Pattern(r"(?<=\])\n+\{|<call>|(?<=and )<\w>")
    chunks = [text[at : at + size] for at in range(0, len(text), size)]

    assert online(pattern, chunks) == (offline(pattern, text), text)


# Limits.


@given(st.text("<ab>", max_size=40), st.integers(1, 6), st.data())
def test_what_is_given_up_does_not_depend_on_the_chunks(text, limit, data):
    pattern = Pattern(r"<(?s:.*?)>|<a+|b<", max_hold=limit)
    whole = PatternSearch(pattern)
    expected = [*whole.feed(text), *whole.finish()]
    pieces = PatternSearch(pattern)
    chunks = data.draw(cuts(text))
    got = [piece for chunk in chunks for piece in pieces.feed(chunk)] + pieces.finish()

    assert [each for each in got if isinstance(each, Found)] == [
        each for each in expected if isinstance(each, Found)
    ]
    assert pieces.given_up == whole.given_up
    assert all(len(each.text) <= limit for each in got if isinstance(each, Found))
    assert text == "".join(each if isinstance(each, str) else each.text for each in got)


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
    pieces = [piece for at in range(0, len(text), 40) for piece in hopes.feed(text[at : at + 40])]

    assert hopes.given_up
    assert len("".join(pieces)) > len(text) - patterns.MAX_HOLD
    assert "".join([*pieces, *hopes.finish()]) == text


HOSTILE = "(?:a|aa)+b"


def test_a_pattern_that_explodes_is_no_longer_looked_for():
    hostile = PatternSearch(Pattern(HOSTILE, timeout=0.01))
    pieces = [*hostile.feed("ab-"), *hostile.feed("a" * 60 + "-"), *hostile.feed("ab")]

    assert hostile.timed_out
    assert pieces == [Found(0, "ab", (), {}), "-", "a" * 60 + "-", "ab"]
    assert hostile.finish() == []
    assert Pattern(HOSTILE, timeout=0.01).search("a" * 60 + "c", 1) == Absent(1, timed_out=True)


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


def test_until_pattern_sleeps_and_still_knows_what_was_before():
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
            look_for.read(src.take(match.end))
        return found

    expected = offline(pattern, text)
    read = drive(steps, data.draw(cuts(text)))

    assert read.result == [(whole, groups) for _, whole, groups in expected]
    assert len("".join(read.emitted)) == len(text) - sum(len(whole) for _, whole, _ in expected)


# Cases of others.


def rows(name):
    path = CORPUS / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_llamacpp_cases():
    checked = 0
    for row in rows("llamacpp_regex_partial.jsonl"):
        # Lazy repeats stop at a line's end there: we take them only across lines.
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


def test_pcre2_hard_cases():
    """PCRE2's PARTIAL_HARD is the nearest to ours: what asks for more text wins."""
    checked, refused = 0, set()
    for row in rows("pcre2_partial.jsonl"):
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
            assert kind == "none", row  # nothing is held: that is no partial match here
        elif "(?<=" in row["pattern"]:
            assert (row["text"] or "").endswith(text), row  # PCRE2 counts what is looked behind at
        else:
            assert (kind, text) == (row["type"], row["text"] or ""), row
    assert checked > 25
    assert all(
        regex.search(r"\\[bBKXRz]|[*+?}]\?|\}\+|\(\*|^\\Z$|^c\*\+", each) for each in refused
    )


def test_pcre2_soft_cases_begin_where_ours_do():
    """PARTIAL_SOFT lets a match found later win; but what is held in it is held here."""
    checked = 0
    for row in rows("pcre2_partial.jsonl"):
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


def test_mrab_regex_cases_that_are_patterns_of_ours():
    """The tests of `regex` itself: the same but where the end of what came was taken for an end."""
    checked = 0
    for row in rows("mrab_regex_partial.jsonl"):
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


# The transformation of llama.cpp.


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("abc", "^((?:(?:c)?b)?a)"),
        ("ab?", "^((?:b?)?a)"),
        ("a{2,}", "^((?:a+)?a)"),
        ("a{0,2}b", "^((?:(?:b)?a?)?a?)"),
        ("(ab|c)d*", "^((?:d*)?(?:(?:b)?a|c))"),
        ("(?<name>a)b", "^((?:b)?(?:a))"),
        (r"\{[ab]", r"^((?:[ab])?\{)"),
    ],
)
def test_reversed(pattern, expected):
    assert reversed_partial_pattern(pattern) == expected


def test_reversed_cases_of_llamacpp():
    checked = [row for row in rows("llamacpp_reversed_patterns.jsonl") if row["expected"]]

    for row in checked:
        assert reversed_partial_pattern(row["pattern"]) == row["expected"]
    assert checked


@pytest.mark.parametrize(
    "pattern", ["^a", "a$", "(?=a)b", "(?<!a)b", r"(a)\1", "(?>a)b", "a{9999}"]
)
def test_what_cannot_be_reversed(pattern):
    with pytest.raises(UsageError):
        reversed_partial_pattern(pattern)


@given(st.lists(st.sampled_from(["a", "b", "[ab]", "c"]), min_size=1, max_size=5), TEXTS)
def test_reversed_finds_what_is_held_of_a_plain_pattern(parts, text):
    pattern = "".join(parts)
    found = search(pattern, text)
    assume(not isinstance(found, Found))
    backwards = regex.match(reversed_partial_pattern(pattern), text[::-1])

    assert len(text) - (backwards.end(1) if backwards else 0) <= found.start


def test_reversed_is_not_exact():
    backwards = regex.match(reversed_partial_pattern("bc|aba"), "ab"[::-1])

    assert backwards[1] == "b"
    assert search("bc|aba", "ab") == Held(0)


def test_the_examples():
    assert doctest.testmod(patterns).failed == 0
