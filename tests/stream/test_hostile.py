"""Hostile responses in every format family and in each place of a call.

For any text in any chunks, the parser reports its decisions, loses no text, and takes linear time.
`test_limits.py` covers both sides of each limit. `test_hostile_text.py` has short, odd texts.
"""

from __future__ import annotations

import json

import pytest

from deltaparse import Policies
from deltaparse.partial import MAX_DEPTH

from ..strategies.call_patterns import FAMILIES, emitted, kinds, read
from .work import counted, is_linear, peak

SIZE = 4_500
"""The minimum length in characters, beyond every limit."""

BROKEN = {"malformed_arguments"}
TRUNCATED = {"truncated_call"}
REPAIRED = {"repaired_arguments"}
UNMARKED = ("unmarked objects", "Python", "methods")
PYTHON = ("Python", "Python in markers", "methods")
# Untyped values are strings in these families, verbatim.
TAGS = ("tags", "keys and values in tags", "elements")
TYPED = ("tags that tell types",)


def said(default, *others):
    """Return the kinds of issues for each family: of the last pair with it, or `default`."""
    found = dict.fromkeys(FAMILIES, default)
    for expected, families in others:
        found |= dict.fromkeys(families, expected)
    return found


# Text after a broken unmarked call is content.
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
    """Return a finished parser after a comparison of text, bytes and several chunk sizes."""
    whole = read(fmt, text, **options)
    for given, size in ((text, 1), (text, 4), (text.encode(), 3)):
        parser = read(fmt, given, size, **options)
        assert parser.message == whole.message
        assert parser.issues == whole.issues
    assert "internal_error" not in kinds(whole)
    return whole


@pytest.mark.parametrize(("name", "row"), CASES)
def test_oversized_part_is_reported_or_kept_as_content(work, name, row):
    family = FAMILIES[name]
    parts, unit, expected = ROWS[row]
    ((part, value),) = parts.items()
    text = family.write(**parts)
    parser = every_way(family.format, text)

    # JSON arguments have NUL as an escape.
    assert emitted(parser).replace(r"\u0000", "\0").count(unit) >= value.count(unit)
    assert kinds(parser) == expected[name]
    if part == "n" and not expected[name] and name != "methods":
        assert parser.message.content == text
    longer = family.write(**{part: value * 2})
    assert is_linear(work, lambda text: read(family.format, text, 16), text, longer)


@pytest.mark.parametrize("name", FAMILIES)
def test_deep_or_long_value_gives_the_same_in_chunks(name):
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
def test_repeated_partial_calls_lose_no_word_in_linear_time(work, name, share):
    """Repeat a share of a call with a word of its own, and find each word."""
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
def test_many_calls_take_linear_time_and_little_memory(work, name):
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
    # Only the text, the parts and the id of a call are kept.
    assert peak(lambda: read(fmt, few, 512)) < 2_000 * 1_000


DROPPED = {
    "a comment in JSON": ("JSON", {"v": "/*" + "x" * (1 << 20)}),
    "a comment in Python": ("Python", {"v": "#" + "x" * (1 << 20)}),
    "white space in Python": ("Python", {"v": " \n" * (1 << 19)}),
}


@pytest.mark.parametrize("name", DROPPED)
def test_dropped_text_is_not_kept_in_memory(name):
    family, parts = DROPPED[name]
    text = FAMILIES[family].write(**parts)
    assert peak(lambda: read(FAMILIES[family].format, text, 1 << 10)) < 1 << 17


@pytest.mark.parametrize("name", FAMILIES)
def test_long_argument_is_copied_few_times(name):
    family = FAMILIES[name]
    text = family.write(v='"' + "x" * (1 << 20) + '"')
    # Some families know the type of a value only at its end, so they join it there.
    copies = 6 if name in TAGS + TYPED else 3
    assert peak(lambda: read(family.format, text, 1 << 10)) < copies << 20


def test_nesting_works_on_a_deep_stack_of_the_caller():
    family = FAMILIES["JSON"]
    text = family.write(v="[" * 500 + "]" * 500)

    def deep(levels, **options):
        return deep(levels - 1, **options) if levels else read(family.format, text, **options)

    assert deep(600).issues == []
    assert deep(600, policies=Policies(duplicate_keys="error")).issues == []


def test_complete_call_heals_to_all_of_its_arguments():
    family = FAMILIES["tags"]
    text = family.write(v="[" * MAX_DEPTH + "]" * MAX_DEPTH)
    (call,) = read(family.format, text).message.tool_calls
    assert call.complete
    assert call.healed() == json.loads(call.arguments)
