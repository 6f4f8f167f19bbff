"""The supported syntax, its parsed form, and the errors for other syntax."""

from __future__ import annotations

import pytest
import regex

from deltaparse.partial import UsageError
from deltaparse.partial.patterns.parse import (
    MAX_NESTING,
    Atom,
    Group,
    Kind,
    Repeat,
    parse_pattern,
)

REFUSED = [
    (r"\bword", r"\b", r"(?<!\w)"),
    (r"a\B", r"\B", r"(?<=\w)(?=\w)"),
    (r"a\Kb", r"\K", "lookbehind"),
    (r"\Ga", r"\G", "match()"),
    (r"\Ra", r"\R", r"\r\n|\n"),
    (r"\Xa", r"\X", "class"),
    (r"\ma", r"\m", r"(?<!\w)"),
    (r"a\M", r"\M", r"(?!\w)"),
    (r"\<a", r"\<", r"(?<!\w)"),
    (r"a\>", r"\>", r"(?!\w)"),
    (r"a\z", r"\z", r"\Z"),
    (r"a\0", r"\0", r"\x00"),
    (r"\ha", r"\h", r"\xHH"),
    (r"a\123", r"\1", r"\xHH"),
    ("a{e<=1}", "{", r"\{"),
    ("a{2", "{", r"\{"),
    ("[[a]b", "[ at 0", r"\["),
    ("[]([]", "[", r"\["),
    ("(?r)ab", "(?r", "forwards"),
    ("(?p)ab|abc", "(?p", "longer"),
    ("(?b)ab", "(?b", "fuzzy"),
    ("(?e)ab", "(?e", "fuzzy"),
    ("(?w)ab", "(?w", "leave the flag out"),
    ("(?f)ab", "(?f", "(?i)"),
    ("(?V1)ab", "(?V", "version 0"),
    ("a(?i)b", "(?i", "(?i:...)"),
    ("(a)?b(?(1)c|d)", "(?(", "alternatives"),
    ("(?|(a)|(b))", "(?|", "groups"),
    ("a(?R)?b", "(?R", "recursion"),
    ("(?<n>a)(?&n)", "(?&", "recursion"),
    ("(?<n>a)(?P>n)", "(?P", "known"),
    ("a(*FAIL)", "(*", "verbs"),
    ("(?x)a + +", "+", "one quantifier"),
    ("(a", "(a", "not a pattern"),
    ("a**", "a**", "not a pattern"),
    ("(?:" * 60 + "a" + ")" * 60, "", "nested"),
]


@pytest.mark.parametrize(("pattern", "construct", "instead"), REFUSED)
def test_refused(pattern, construct, instead):
    with pytest.raises(UsageError) as refusal:
        parse_pattern(pattern)

    message = str(refusal.value)
    assert construct in message
    assert instead in message


@pytest.mark.parametrize("flag", [regex.R, regex.P, regex.B, regex.E, regex.F, regex.W, regex.V1])
def test_refused_flags(flag):
    with pytest.raises(UsageError, match="supported") as refusal:
        parse_pattern("a", flag | regex.I)
    assert str(refusal.value).startswith(f"flags {flag!r}:")


def test_the_deepest_pattern():
    def nested(depth):
        return "(?:" * depth + "a" + ")" * depth

    parse_pattern(nested(MAX_NESTING))
    with pytest.raises(UsageError, match="nested"):
        parse_pattern(nested(MAX_NESTING + 1))


def test_bytes_are_refused():
    with pytest.raises(UsageError, match="not bytes"):
        parse_pattern(b"a")


def test_flags_in_front():
    flags, tree = parse_pattern("(?ix)a b", regex.S)

    assert flags == regex.I | regex.X | regex.S
    assert [node.flags for node in tree.branches[0]] == ["isx", "isx"]


def test_flags_of_groups():
    _, tree = parse_pattern("(?im)a(?-i:b(?s-m:c))d")
    a, group, d = tree.branches[0]
    b, inner = group.branches[0]

    assert [a.flags, b.flags, inner.branches[0][0].flags, d.flags] == ["im", "m", "s", "im"]


def test_the_tree():
    flags, tree = parse_pattern(r"(?s)a{2,3}+|(?<=x)(?i:.$)\Z")
    repeat = Repeat(Atom(Kind.CHAR, "a", "s"), "{2,3}", 2, 3, "+")
    behind = Group("(?<=", ((Atom(Kind.CHAR, "x", "s"),),))
    inner = (Atom(Kind.ANY, ".", "is"), Atom(Kind.LAST_LINE_END, "$", "is"))
    group = Group("(?i:", (inner,))

    assert flags == regex.S
    assert tree == Group("(?:", ((repeat,), (behind, group, Atom(Kind.END, r"\Z", "s"))))
    assert behind.behind
    assert not behind.ahead
    assert [atom.one for atom in inner] == [True, False]


@pytest.mark.parametrize(
    ("quantifier", "low", "high", "mode"),
    [
        ("*", 0, None, ""),
        ("+?", 1, None, "?"),
        ("?+", 0, 1, "+"),
        ("{2}", 2, 2, ""),
        ("{2,}", 2, None, ""),
        ("{,3}?", 0, 3, "?"),
    ],
)
def test_quantifiers(quantifier, low, high, mode):
    _, tree = parse_pattern(f"a{quantifier}")
    ((repeat,),) = tree.branches

    assert (repeat.low, repeat.high, repeat.mode) == (low, high, mode)


@pytest.mark.parametrize("letter", "aimsux")
def test_each_flag_may_stand_in_front(letter):
    assert parse_pattern(f"(?{letter})a")[0] == getattr(regex, letter.upper())


@pytest.mark.parametrize(
    ("pattern", "kinds"),
    [
        ("^a$", [Kind.START, Kind.CHAR, Kind.LAST_LINE_END]),
        ("(?m)^a$", [Kind.LINE_START, Kind.CHAR, Kind.LINE_END]),
        (r"\A.\Z", [Kind.START, Kind.CHAR, Kind.END]),
        (r"(?s)\A.\Z", [Kind.START, Kind.ANY, Kind.END]),
    ],
)
def test_kinds_of_anchors(pattern, kinds):
    assert [atom.kind for atom in parse_pattern(pattern)[1].branches[0]] == kinds
