"""Malicious text for each primitive.

No primitive raises, each takes linear time, and emitted text is not kept.
"""

from __future__ import annotations

import json
from itertools import chain

import pytest

from deltaparse.partial import (
    MAX_DEPTH,
    MAX_TOKEN,
    JsonScanner,
    JsonState,
    JsonValues,
    Markers,
    Pattern,
    PatternSearch,
    Repairs,
    UsageError,
    heal_json,
    python_arguments,
    python_value,
    reversed_partial_pattern,
    until,
)
from deltaparse.partial.patterns.check import MAX_LOOKBEHIND
from deltaparse.partial.patterns.parse import MAX_NESTING

from ..stream.work import counted, is_linear, peak
from ..support import Driver

SIZE = 5_000
"""Characters: beyond every limit."""

TEXTS = {
    "brackets": ("", "["),
    "objects": ("", '{"a":'),
    "a number": ("", "1"),
    "numbers": ("[", "1234,"),
    "an exponent": ("[1e", "0"),
    "half a literal": ("[", "tru"),
    "a string": ('"', "a"),
    "escapes": ('"', r"\u00e9"),
    "halves of pairs": ('"', r"\ud83d"),
    "escapes that are none": ('["', r"\q"),
    "backslashes": ('["', "\\"),
    "NUL": ('["', "\0"),
    "a key": ('{"', "k"),
    "one key": ("{", '"a": 1, '),
    "commas": ("[", ","),
    "spaces and commas": ("[1", " ,\n"),
    "comments": ("[1", "/**/"),
    "half a comment": ("[/*", "*"),
    "single quotes": ("['", "\\'"),
    "quotes": ("", '"'),
    "white space": ("", " \n"),
}
OPTIONS = {
    "as it is": {},
    "compact": {"compact": True},
    "repaired": {"repairs": Repairs()},
    "repaired and compact": {"repairs": Repairs(), "compact": True},
}
ENDED = (JsonState.DONE, JsonState.BROKEN)


@pytest.fixture
def work(monkeypatch):
    return counted(monkeypatch)


def written(name, size=SIZE):
    start, unit = TEXTS[name]
    return start + unit * (size // len(unit))


def fed(reader, text, size=7):
    """Return the results of a reader for chunks of `size`, up to the end of its value."""
    returned = []
    for at in range(0, len(text), size):
        returned.append(reader.feed(text[at : at + size]))
        if reader.state in ENDED:
            return returned
    return [*returned, reader.finish()]


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("name", TEXTS)
def test_a_scanner_is_linear_and_the_same_for_all_chunks(work, name, options):
    text, found = written(name), set()
    for size in (1, 7, len(text)):
        scanner = JsonScanner(**options)
        returned = "".join(fed(scanner, text, size))
        found.add((returned, scanner.state, scanner.problem))
        if not options:
            assert text.lstrip().startswith(returned + scanner.unread)
    assert len(found) == 1
    longer = written(name, 3 * SIZE)
    assert is_linear(work, lambda text: fed(JsonScanner(**options), text), text, longer)


@pytest.mark.parametrize("start", ["[1] ", "[x"])
def test_text_after_the_value_is_read_once(work, start):
    def read(text):
        scanner = JsonScanner()
        scanner.feed(start)
        for at in range(0, len(text), 7):
            scanner.feed(text[at : at + 7])
        assert scanner.unread.endswith(text)

    assert is_linear(work, read, "x" * SIZE, "x" * 4 * SIZE)


@pytest.mark.parametrize("name", TEXTS)
def test_values_are_linear_and_those_that_healing_returns(work, name):
    text, values = written(name), JsonValues()
    assert [*chain(*fed(values, text))] == [*chain(*fed(JsonValues(), text, 1))]
    if values.state is not JsonState.BROKEN and name != "a number":
        assert values.value == heal_json(text).value
    assert is_linear(work, lambda text: fed(JsonValues(), text), text, written(name, 3 * SIZE))


@pytest.mark.parametrize("repairs", [None, Repairs()], ids=["as it is", "repaired"])
@pytest.mark.parametrize("name", TEXTS)
def test_healed_text_is_json(name, repairs):
    text = written(name, 100_000)
    healed = heal_json(text, repairs=repairs, args_paths=[[], ["a"], [0]])
    assert not healed.text or json.loads(healed.text) is not Ellipsis
    assert len(healed.stack) <= MAX_DEPTH
    assert healed.end <= len(text)


def test_a_number_as_long_as_it_may_be_is_a_number():
    digits = "1" * MAX_TOKEN
    assert heal_json(f"[{digits}]").value == [int(digits)]
    assert fed(JsonValues(), f"[{digits}]", 100)[-1][-1].value == [int(digits)]
    for number in ("1e999999999", "-1e-999999999", "0." + "0" * 4000 + "1", "9" * 400 + ".5"):
        assert [float(heal_json(f"[{number}]").value[0])] == [float(number)]


PYTHON = {
    "brackets": ("", "["),
    "parentheses": ("", "("),
    "a number": ("", "1"),
    "a name": ("", "float("),
    "signs": ("", "-"),
    "strings": ("", "'a' "),
    "a string": ("'", "a"),
    "quotes in threes": ("'''", "''x"),
    "a tuple": ("(", "1, "),
    "long tuples": ("(", "'" + "a" * 500 + "', "),
    "escapes that are none": ("'", r"\N{"),
    "comments": ("[", "#\n"),
    "a comment": ("[#", "#"),
    "commas": ("[", ", "),
    "keys": ("{", "1: 2, "),
    "dictionaries": ("", "{'a': "),
    "arguments": ("a=1", ", a=1"),
    "a name of an argument": ("", "a"),
    "white space": ("", " \n"),
}


@pytest.mark.parametrize("name", PYTHON)
@pytest.mark.parametrize("reader", [python_value, python_arguments])
def test_python_is_linear_and_the_same_for_all_chunks(work, name, reader):
    def read(text, size=7):
        driver = Driver(lambda src, emit: reader(src, emit, lambda *_: None))
        for at in range(0, len(text), size):
            if driver.running:
                driver.feed(text[at : at + size])
        driver.close()
        return driver.text, driver.result

    start, unit = PYTHON[name]
    text = start + unit * (SIZE // len(unit))
    assert read(text, 1) == read(text) == read(text, len(text))
    assert is_linear(work, read, text, start + unit * (3 * SIZE // len(unit)))


def test_numbers_that_collide_are_texts():
    """As numbers, these keys would have the same hash, but they are never converted."""
    keys = [str(at * (2**61 - 1)) for at in range(500)]
    driver = Driver(lambda src, emit: python_value(src, emit, lambda *_: None))
    driver.feed("{" + ", ".join(f"{key}: 1" for key in keys) + "}")
    assert list(heal_json(driver.text).value) == keys


HOPES = {
    "a tag that does not end": ("<[^>]*>", "<"),
    "a tag in a tag": ("(?s:<a>.*?</a>)", "<a>"),
    "any text before": ("[^<]*<call>", "prose "),
    "white space before": (r"\s*<call>", " \n"),
    "many of one": ("a{1,50}b", "a"),
}


@pytest.mark.parametrize("name", HOPES)
def test_pattern_search_is_linear_and_lossless(work, name):
    pattern, unit = HOPES[name]
    made = Pattern(pattern, max_hold=64)

    def searched(text, size=7):
        search = PatternSearch(made)
        returned = [search.feed(text[at : at + size]) for at in range(0, len(text), size)]
        segments = [segment for each in (*returned, search.finish()) for segment in each]
        return "".join(segments), search.given_up, search.timed_out

    text = unit * (1_000 // len(unit))
    assert searched(text, 1) == searched(text) == searched(text, len(text))
    assert searched(text)[::2] == (text, False)
    assert is_linear(work, searched, text, text * 3)


@pytest.mark.parametrize(
    "pattern",
    [
        *(unit * SIZE for unit in ("(", "[", "(?:", "[a-", r"\N{", "(?P<a>", r"\1")),
        "(?#" + "x" * SIZE,
        "(?:" * (MAX_NESTING + 1) + "a" + ")" * (MAX_NESTING + 1),
        f"(?<=a{{{MAX_LOOKBEHIND + 1}}})b",
    ],
    ids=lambda pattern: pattern[:6],
)
def test_patterns_without_measure_are_refused(pattern):
    with pytest.raises(UsageError):
        Pattern(pattern)


@pytest.mark.costly
@pytest.mark.parametrize("pattern", ["(?:a{1000}){1000}", "(?:(?:a{100}){100}){100}"])
def test_copies_of_copies_are_counted_too(pattern):
    with pytest.raises(UsageError):
        reversed_partial_pattern(pattern)


LONG = 1 << 17


def scanner(**options):
    return lambda: JsonScanner(keep=False, **options)


def marker():
    return Driver(lambda src, emit: until(src, Markers(["<call>"]), lambda _: None))


@pytest.mark.costly
@pytest.mark.parametrize(
    ("made", "start", "unit"),
    [
        (scanner(), '{"a": "', "text "),
        (scanner(compact=True), '{"a": "', r"é\/"),
        (scanner(repairs=Repairs()), "['", "it\n"),
        (scanner(), "[", "[1, {}], "),
        (JsonValues, "", "x"),
        (lambda: PatternSearch(Pattern("<[a-z]+>")), "", "a <b "),
        (marker, "", "a <cal "),
    ],
    ids=["string", "compact", "repaired", "array", "broken", "pattern", "marker"],
)
def test_returned_text_is_not_kept(made, start, unit):
    chunk = unit * (1024 // len(unit))

    def run():
        reader = made()
        reader.feed(start)
        for _ in range(LONG // len(chunk)):
            reader.feed(chunk)

    assert peak(run) < LONG / 2


def test_a_scanner_says_where_it_broke():
    scanner = JsonScanner()
    scanner.feed("[" * (MAX_DEPTH + 1))
    assert scanner.state is JsonState.BROKEN
    assert str(MAX_DEPTH) in scanner.problem
    assert scanner.unread == "["
