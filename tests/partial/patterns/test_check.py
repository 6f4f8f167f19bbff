"""Refused patterns, the data of accepted patterns, and agreement with `regex`."""

from __future__ import annotations

import contextlib

import pytest
import regex
from hypothesis import assume, example, given
from hypothesis import strategies as st

from deltaparse.partial import UsageError
from deltaparse.partial.patterns.check import MAX_LOOKBEHIND, MISSING, check_pattern

REFUSED = [
    (".*?a", ".*?", "greedy"),
    ("(?:a)*?b", "(?:a)*?", "greedy"),
    ("[ab]*?c", "[ab]*?", "greedy"),
    ("(?s:.??)b", ".??", "without a limit"),
    ("(?s:.*?)(?<=a)b", ".*?", "with a lookbehind"),
    ("(?s:.*?)(?m:^)b", ".*?", "(?m:^)"),
    ("(?:(?s:.*?)b)+", "(?:(?s:.*?)b)+", "use one"),
    ("(?:ab)++c", "(?:ab)++", "possessive"),
    ("(?>ab)c", "(?>ab)", "(?:...)"),
    ("(?<=a*)b", "(?<=a*)", "limit"),
    (f"(?<=a{{{MAX_LOOKBEHIND + 1}}})b", "(?<=a", str(MAX_LOOKBEHIND)),
    ("(?<=(?<=a{200})b{200})c", "(?<=", str(MAX_LOOKBEHIND)),
    ("(?<=(?<=a*)b)c", "(?<=a*)", str(MAX_LOOKBEHIND)),
    ("(?<=a(?=b))b", "(?<=a(?=b))", "may not look ahead"),
    ("(?<!a$)b", "(?<!a$)", "may not look ahead"),
    ("(?<=(?:ab$)?)b", "(?<=(?:ab$)?)", "may not look ahead"),
    ("(?:(?:a(?s:.*?)b){2})+", "(?:a(?s:.*?)b){2}", "use one"),
    ("(?:(?=a))*b", "(?:(?=a))*", "cannot be repeated"),
    ("^*a", "^*", "cannot be repeated"),
    ("a*", "a*", "empty"),
    ("", "", "empty"),
    ("a|", "a|", "empty"),
    ("(?=a)", "(?=a)", "empty"),
    (r"(a)?\1", "", "empty"),
]


@pytest.mark.parametrize(("pattern", "construct", "instead"), REFUSED)
def test_refused(pattern, construct, instead):
    with pytest.raises(UsageError) as refusal:
        check_pattern(pattern)

    message = str(refusal.value)
    assert construct in message
    assert instead in message


@pytest.mark.parametrize(
    ("pattern", "probe"),
    [
        ("a(?#comment)b", "ab"),
        ("(?x) a b # c\n | [ #]\\ \n", "ab|[ #]\\ "),
        ("(?x)a {2}", "a{2}"),
        ("(?x: a b)c", "(?x:ab)c"),
        ('{"name"', r"\{\"name\"".replace(r"\"", '"')),
        (r"[\]\[{]\p{L}\N{DIGIT ONE}\u00e9", r"[\]\[{]\p{L}\N{DIGIT ONE}\u00e9"),
        ("[]a][^]a][[:alpha:]-]", "[]a][^]a][[:alpha:]-]"),
        ("(?P<x>a)(?P=x)", "(?P<x>a)(?:(?P=x))"),
        (r"(?<x>a)\g<x>\1", r"(?<x>a)(?:\g<x>)(?:\1)"),
        ("(?i-s:.)b", "(?i-s:.)b"),
        ("(ab)+", "(?:(?:|(?!))(ab))+"),
        ("a*+b?+c{2,3}+d", "a*+b?+c{2,3}+d"),
        ("(?>a)b", "(?>a)b"),
        (r"a\Z", f"a{MISSING}"),
        ("a$", rf"a(?=\n?{MISSING})"),
        ("(?m)a$", rf"a(?=\n|{MISSING})"),
        ("(?m)^a", "^a"),
        ("(?<=a(?<!bc))d", "(?<=a(?<!bc))d"),
        (r"[\s\S]*?x", r"[\s\S]*?x"),
    ],
)
def test_the_probe(pattern, probe):
    assert check_pattern(pattern).probe == f"(?:{probe})"


@pytest.mark.parametrize(
    ("pattern", "behind"),
    [
        ("a", 0),
        ("(?<=ab|c)d", 2),
        ("(?:(?<=a{2,5})b)+", 5),
        ("(?<=a(?<!bc))d", 3),
        ("(?m)^a", 0),
        ("a(?:)b", 0),
        ("(?<=)a", 0),
        (f"(?<=a{{{MAX_LOOKBEHIND}}})b", MAX_LOOKBEHIND),
    ],
)
def test_number_of_characters_examined_before_a_match(pattern, behind):
    assert check_pattern(pattern).behind == behind


@pytest.mark.parametrize(
    ("pattern", "first"),
    [
        ("<a", "<"),
        (r"\s*<|[ab]c", r"<|[ab]|\s"),
        ("(?:a?b|(?=x)c)d", "a|b|c"),
        ("^a", "a"),
        ("[^a]?[^b]", "(?=[^a])|(?=[^b])"),
        ("(?i:a)b", "(?i:a)"),
        ("(?s).a", "(?s:.)"),
        ("(?is:.a)", "(?is:.)"),
        (r"(?:(x)|y\1)z", "x|y"),
        (r"\1(a)b", ""),
        (r"(?:\1)?(a)b", ""),
    ],
)
def test_the_characters_that_it_begins_with(pattern, first):
    assert check_pattern(pattern).first == first


BITS = [
    *"aab.^$|()*+?{}[] #\n",
    "(?:",
    "(?=",
    "(?!",
    "(?<=",
    "(?x)",
    "(?i)",
    "(?x:",
    "(?#",
    "(?-s:",
]
BITS += ["{2}", "{,2}", "{1,", "[a", "[^", r"\s", r"\Z", r"\1", "\\", "a-b", "[:alpha:]", r"\x61"]


@example("[^b]*[^a]", "aA")
@given(st.lists(st.sampled_from(BITS), max_size=7).map("".join), st.text("aAb #\n", max_size=6))
def test_it_is_read_as_regex_reads_it(pattern, text):
    """Check that a pattern written from its parsed form matches the same."""
    try:
        checked = check_pattern(pattern)
    except UsageError:
        assume(condition=False)
    assume(MISSING not in checked.probe)
    again = regex.compile(checked.probe, checked.flags)
    first = regex.compile(checked.first)
    for place in range(len(text) + 1):
        expected = regex.compile(pattern).match(text, place)
        got = again.match(text, place)

        assert (got and (got.span(), got.groups())) == (
            expected and (expected.span(), expected.groups())
        )
        if expected:
            assert expected.end() > place
            assert first.match(text, place)


@given(st.text())
def test_any_text_is_a_pattern_or_refused(pattern):
    with contextlib.suppress(UsageError):
        assert regex.compile(check_pattern(pattern).probe)
