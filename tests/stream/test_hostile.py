"""What no model should have written, in every family of formats and in each place of a call.

Whatever it is and however it is cut: the parser decides and says so, loses nothing, and looks at
each character as often as at any other. `test_limits.py` has both sides of each limit, and
`test_hostile_text.py` what is odd without being long.
"""

from __future__ import annotations

import json

import pytest

from deltaparse import Policies
from deltaparse.partial import MAX_DEPTH

from ..strategies.call_patterns import FAMILIES, emitted, kinds, read
from .work import counted, is_linear, peak

SIZE = 4_500
"""Characters, or more: beyond every limit."""

BROKEN = {"malformed_arguments"}
TRUNCATED = {"truncated_call"}
REPAIRED = {"repaired_arguments"}
UNMARKED = ("unmarked objects", "Python", "methods")
PYTHON = ("Python", "Python in markers", "methods")
# Values that may be anything are strings then, as they were written.
TAGS = ("tags", "keys and values in tags", "elements")
TYPED = ("tags that tell types",)


def said(default, *others):
    """The kinds of issues for each family: `default`, or those of the last pair that names it."""
    found = dict.fromkeys(FAMILIES, default)
    for expected, families in others:
        found |= dict.fromkeys(families, expected)
    return found


# What follows a broken call in no markers is content.
IN_VALUE = said(BROKEN, (BROKEN | {"text_after_tool_call"}, UNMARKED), (set(), TAGS))
IN_SCALAR = IN_VALUE | dict.fromkeys(TYPED, REPAIRED)
IN_STRING = said(REPAIRED | TRUNCATED, (TRUNCATED, PYTHON), (set(), TAGS), (REPAIRED, TYPED))
NO_END = said(TRUNCATED, (set(), TAGS), (REPAIRED, TYPED))
NO_NAME = said(set(), ({"odd_header"}, ["channels"]))
ROWS = {
    "brackets": ({"v": "[" * SIZE}, "[", IN_VALUE),
    "objects": ({"v": '{"q":' * SIZE}, "q", IN_VALUE),
    "a number": ({"v": "7" * SIZE}, "7", IN_SCALAR),
    "half a literal": ({"v": "nul" * SIZE}, "nul", IN_SCALAR),
    "signs": ({"v": "-" * SIZE}, "-", IN_SCALAR),
    "commas": ({"v": "[" + "," * SIZE}, ",", IN_VALUE),
    "brackets that close": ({"v": "]}" * SIZE}, "]", IN_SCALAR),
    "a string without end": ({"v": '"' + "s" * SIZE}, "s", NO_END),
    "escapes that are none": ({"v": '"' + r"\q" * SIZE}, "q", IN_STRING),
    "NUL": ({"v": '"' + "\0" * SIZE}, "\0", IN_STRING),
    "a key": ({"k": "k" * SIZE}, "k", said(set(), (BROKEN, ["Python in markers", "elements"]))),
    "a name": ({"n": "N" * SIZE}, "N", NO_NAME),
    "words for a name": ({"n": "N " * SIZE}, "N", NO_NAME),
    "an id": ({"i": "I" * SIZE}, "I", said(set())),
}
CASES = [
    (name, row) for name in FAMILIES for row in ROWS if FAMILIES[name].has(next(iter(ROWS[row][0])))
]


@pytest.fixture
def work(monkeypatch):
    return counted(monkeypatch)


def every_way(fmt, text, **options):
    """The parser after the text, which gave the same as text and as bytes, in chunks and whole."""
    whole = read(fmt, text, **options)
    for given, size in ((text, 1), (text, 4), (text.encode(), 3)):
        parser = read(fmt, given, size, **options)
        assert parser.message == whole.message
        assert parser.issues == whole.issues
    assert "internal_error" not in kinds(whole)
    return whole


@pytest.mark.parametrize(("name", "row"), CASES)
def test_what_is_beyond_measure_is_reported_or_kept_as_text(work, name, row):
    family = FAMILIES[name]
    parts, unit, expected = ROWS[row]
    ((part, value),) = parts.items()
    text = family.write(**parts)
    parser = every_way(family.format, text)

    # In arguments, NUL is written as JSON has it.
    assert emitted(parser).replace(r"\u0000", "\0").count(unit) >= value.count(unit)
    assert kinds(parser) == expected[name]
    if part == "n" and not expected[name] and name != "methods":
        assert parser.message.content == text
    longer = family.write(**{part: value * 2})
    assert is_linear(work, lambda text: read(family.format, text, 16), text, longer)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_hundred_thousand_brackets_and_a_megabyte_of_anything(name):
    family = FAMILIES[name]
    for part, value in (("v", "[" * 100_000), *((part, "9" * (1 << 20)) for part in "nikv")):
        if family.has(part):
            text = family.write(**{part: value})
            whole, chunks = read(family.format, text), read(family.format, text, 1 << 12)
            assert chunks.message == whole.message
            assert chunks.issues == whole.issues
            assert "internal_error" not in kinds(whole)
            assert emitted(whole).count(value[0]) >= len(value)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("share", [0, 0.3, 0.7, 1], ids=["opening", "half", "most", "all"])
def test_what_is_written_over_and_over(work, name, share):
    """As much of each call as `share` says; each has a word of its own, and none is lost."""
    family = FAMILIES[name]

    def written(count):
        chunks = []
        for at in range(count):
            call = family.write(n=f"w{at}w")
            named = call.index(f"w{at}w") + len(f"w{at}w")
            chunks.append(call[: named + int((len(call) - named) * share)])
        return "".join(chunks)

    found = emitted(every_way(family.format, written(100)))
    assert [at for at in range(100) if f"w{at}w" not in found] == []
    assert is_linear(work, lambda text: read(family.format, text, 7), written(100), written(400))


@pytest.mark.parametrize("name", ["JSON", "Python"])
def test_twenty_thousand_calls(work, name):
    one, between, opening = {
        "JSON": ('<call>{"name": "f", "arguments": {}}</call>', "\n", ""),
        "Python": ("f()", ", ", "["),
    }[name]
    fmt = FAMILIES[name].format
    few, many = (opening + between.join([one] * count) for count in (1_000, 20_000))
    parsers = []
    assert is_linear(work, lambda text: parsers.append(read(fmt, text, 512)), few, many)
    calls = parsers[-1].message.tool_calls
    assert len(calls) == len({call.id for call in calls}) == 20_000
    assert all(call.arguments == "{}" and call.complete for call in calls)
    # A call has its text, its parts and its id; nothing else of it is kept.
    assert peak(lambda: read(fmt, few, 512)) < 2_000 * 1_000


DROPPED = {
    "a comment in JSON": ("JSON", {"v": "/*" + "x" * (1 << 20)}),
    "a comment in Python": ("Python", {"v": "#" + "x" * (1 << 20)}),
    "white space in Python": ("Python", {"v": " \n" * (1 << 19)}),
}


@pytest.mark.parametrize("name", DROPPED)
def test_what_is_not_emitted_is_not_kept(name):
    family, parts = DROPPED[name]
    text = FAMILIES[family].write(**parts)
    assert peak(lambda: read(FAMILIES[family].format, text, 1 << 10)) < 1 << 17


@pytest.mark.parametrize("name", FAMILIES)
def test_of_a_long_argument_there_are_few_copies(name):
    family = FAMILIES[name]
    text = family.write(v='"' + "x" * (1 << 20) + '"')
    # Where only the end of a value says what it is, it is joined, judged and emitted then.
    copies = 6 if name in TAGS + TYPED else 3
    assert peak(lambda: read(family.format, text, 1 << 10)) < copies << 20


def test_depth_is_no_matter_of_the_callers_stack():
    family = FAMILIES["JSON"]
    text = family.write(v="[" * 500 + "]" * 500)

    def deep(levels, **options):
        return deep(levels - 1, **options) if levels else read(family.format, text, **options)

    assert deep(600).issues == []
    assert deep(600, policies=Policies(duplicate_keys="error")).issues == []


def test_a_whole_call_heals_to_all_that_it_has():
    family = FAMILIES["tags"]
    text = family.write(v="[" * MAX_DEPTH + "]" * MAX_DEPTH)
    (call,) = read(family.format, text).message.tool_calls
    assert call.complete
    assert call.healed() == json.loads(call.arguments)
