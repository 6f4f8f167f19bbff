"""The JSON cases of other projects' tests: each agrees, or has a reason why we differ.

Per file, `DIFFERENCES` lists the reasons, each with a rule for the affected cases and their number.
The first matching rule counts. So the test fails for each new difference, and for each listed one
that disappears.
"""

from __future__ import annotations

import ast
import base64
import json
import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from deltaparse.partial import (
    JsonScanner,
    JsonState,
    JsonValues,
    Repairs,
    TextDecoder,
    heal_json,
    sound_json,
)

from ...corpus import needs_corpus, rows

pytestmark = needs_corpus

S = JsonState
NOTHING = "(no value)"
REFUSED = "(refused)"
SPACE = " \t\n\r"
SCALARS = ("null", "boolean", "number", "string")
# partial-json-parser's flags.
STR, NUM, ALL = 1, 2, 511


@dataclass
class Case:
    """A line of a file: the expectation for `input`, and the `healed` result."""

    line: dict[str, Any]
    input: str
    expected: Any = None
    healed: Any = None

    @property
    def value(self):
        return self.healed.value if self.healed.text else NOTHING

    @property
    def rest(self):
        """The text after the value."""
        return self.input[self.healed.end :].strip(SPACE) if self.healed.state is S.DONE else ""


def decoded(value):
    """Return a value of the corpus, decoding placeholders for values unknown to JSON."""
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$bytes_b64" in value:
        return TextDecoder().feed(base64.b64decode(value["$bytes_b64"]))
    if "$float" in value:
        return float(value["$float"])
    if "$decimal" in value:
        return float(value["$decimal"])
    return {key: decoded(item) for key, item in value.items()}


def cases(name):
    for row in map(decoded, rows(f"json/{name}.jsonl")):
        given = row | row.get("params", {})
        text = given.get("input", given.get("raw", given.get("payload")))
        yield Case(given, text, given.get("expected"))


def same(a, b):
    """Return True if two values are equal in JSON, with one type of number."""
    dumps = [json.dumps(json.loads(json.dumps(v), parse_int=float), sort_keys=True) for v in (a, b)]
    return dumps[0] == dumps[1]


def chunks(text, size):
    return [text[at : at + size] for at in range(0, len(text), size)]


def check(name, differing):
    """Check that each differing case of a file has a reason, in the listed numbers."""
    reasons = DIFFERENCES[name]
    counts = Counter()
    for case in differing:
        reason = next((reason for reason, (_, rule) in reasons.items() if rule(case)), None)
        assert reason, f"no reason why {case.input!r} becomes {case.healed}, not {case.expected!r}"
        counts[reason] += 1
    assert counts == {reason: count for reason, (count, _) in reasons.items()}


def one_of(*inputs):
    return lambda case: case.input in inputs


def state_in(*states):
    return lambda case: case.healed.state in states and not case.healed.problem


IN_MEMBER = (S.KEY, S.AFTER_KEY, S.AFTER_COLON)
OPEN_STRING = "an open string goes on to its end: where a quote is missing is a guess"
NO_VALUE = "a member without a value is left out, not completed"
BEYOND = "what breaks it is none of our repairs, the text counts as cut there"
AFTER = "what follows the first value belongs to the caller"
MISSING = "the corpus has no text or value there"
TYPES = "all that is open is completed, whatever its type"
WHOLE_LITERALS = "a literal is a value when it is all there, and then at once"
HELD_ESCAPES = "half an escape is held, neither taken as text nor completed with zeros"
OPEN_STRINGS = "open strings count, as with trailing-strings"


def half_escape(case):
    return re.search(r"\\(?:u[0-9a-f]{0,3}|ud[89ab]..(?:\\(?:u[0-9a-f]{0,3})?)?)?\Z", case.input)


def beyond(case):
    return case.healed.problem


def after(case):
    return case.rest


def by_schema(case):
    return case.line["func"] == "validate_json"


def held_number(case):
    return case.healed.state is S.START and case.input[0] in "-.0123456789e"


def strips_space(case):
    """Return True if the only difference is whitespace at the end of a member's text."""
    texts = isinstance(case.value, dict) and all(isinstance(v, str) for v in case.value.values())
    return texts and {key: text.rstrip() for key, text in case.value.items()} == case.expected


DIFFERENCES: dict[str, Any] = {
    "llamacpp_json_partial": {
        WHOLE_LITERALS: (1, one_of("[true")),
        HELD_ESCAPES: (5, half_escape),
    },
    "llamacpp_dumped_args": {HELD_ESCAPES: (11, half_escape)},
    "jiter_tests": {
        "keys may stand twice": (1, lambda c: "catch_duplicate_keys" in c.line["kwargs"]),
        "it is about a wrong option": (1, lambda c: "wrong" in c.line["kwargs"].values()),
        OPEN_STRINGS: (5, state_in(S.STRING)),
    },
    "pydantic_core_partial_tests": {
        "a schema checks and converts the values": (11, by_schema),
        OPEN_STRINGS: (1, state_in(S.STRING)),
    },
    "partial_json_parser_tests": {
        WHOLE_LITERALS: (1, one_of("t")),
        "Infinity is no JSON": (2, one_of("I", "-I")),
        TYPES: (14, lambda c: c.expected == REFUSED or not c.line["args"][0] & STR),
    },
    "partial_json_parser_js_tests": {
        WHOLE_LITERALS: (2, lambda c: c.input in "nt" and c.expected != REFUSED),
        "Infinity is no JSON": (2, one_of("I", "-I")),
        TYPES: (12, lambda c: c.expected == REFUSED or "STR" not in c.line["js_args"]),
    },
    "untruncate_json_js_tests": {
        MISSING: (1, lambda c: "expected" not in c.line),
        WHOLE_LITERALS: (5, one_of("tr", "fal", "nu", "[true, fa", "[nul")),
        "a sign is no number": (1, one_of("-")),
    },
    "json_repair_tests": {
        MISSING: (5, lambda c: c.input is None),
        "keys may be empty, and stand twice": (2, lambda c: c.expected == REFUSED),
        BEYOND: (89, beyond),
        AFTER: (6, after),
        "a scalar is a value": (4, lambda c: c.expected in ("", NOTHING)),
        "white space at the end of a string is part of it": (9, strips_space),
        "a comment goes on to the end of its line": (1, lambda c: "# comment }" in c.input),
        OPEN_STRING: (9, state_in(S.STRING)),
        NO_VALUE: (1, state_in(*IN_MEMBER)),
    },
    "jsonrepair_js_tests": {
        MISSING: (1, lambda c: c.input is None),
        BEYOND: (102, beyond),
        AFTER: (14, after),
        "an unknown escape means a backslash": (1, one_of('"\\a"')),
        "what is no number counts as far as it is one": (9, held_number),
        OPEN_STRING: (10, state_in(S.STRING)),
        NO_VALUE: (6, state_in(*IN_MEMBER)),
    },
    "llamacpp_peg_json_python": {
        "it is about members without an object": (1, one_of('"name": "bo')),
    },
    "ijson_tests": {
        AFTER: (1, one_of("[1, 2] dangling junk")),
        "half a surrogate pair is taken, and becomes U+FFFD": (1, one_of('"\udca8"')),
    },
}


def test_llama_cpp_heals_with_a_marker():
    differing = []
    for case in cases("llamacpp_json_partial"):
        marker = case.line.get("marker")
        if marker is None:
            continue
        case.healed = heal_json(case.input, marker=marker)
        case.expected = json.loads(case.line["expected_dump_ascii"])
        if json.loads(case.healed.text) != case.expected:
            differing.append(case)
    check("llamacpp_json_partial", differing)


def test_llama_cpp_heals_every_prefix():
    texts = [case.input for case in cases("llamacpp_json_partial") if "marker" not in case.line]
    assert len(texts) == 2
    for text in texts:
        for end in range(1, len(text)):
            assert "HERE" in json.dumps(json.loads(heal_json(text[:end], marker="HERE").text))
        assert heal_json(text, marker="HERE").text == text


def test_llama_cpp_dumps_arguments():
    differing = []
    for case in cases("llamacpp_dumped_args"):
        paths = case.line["args_paths"]
        case.healed = heal_json(case.input, args_paths=paths)
        assert case.line["is_partial"] is (case.healed.state is not S.DONE)
        if "expected_args" in case.line:
            got, case.expected = case.healed.args[()], case.line["expected_args"]
        else:
            args = {path[0]: dumped for path, dumped in case.healed.args.items()}
            got, case.expected = case.healed.value | args, json.loads(case.line["expected_dump"])
        if got != case.expected:
            differing.append(case)
    check("llamacpp_dumped_args", differing)


def test_llama_cpp_reads_python_literals():
    differing = []
    for case in cases("llamacpp_peg_json_python"):
        strict = case.line["grammar"] == "json"
        case.healed = heal_json(case.input, repairs=None if strict else Repairs(), final=True)
        if case.line["name"].startswith("json() rejects"):
            ok = case.healed.problem
        elif case.line["partial"]:
            ok = case.healed.state is not S.DONE and not case.healed.problem
        else:
            case.expected = (json.loads if strict else ast.literal_eval)(case.input)
            ok = case.healed.state is S.DONE and case.value == case.expected
        if not ok:
            differing.append(case)
    check("llamacpp_peg_json_python", differing)


def is_cut(case):
    return heal_json(case.input, final=True).state is not S.DONE


def jiter(case):
    mode = case.line.setdefault("kwargs", {"partial_mode": "on"}).get("partial_mode", "off")
    return mode not in (False, "off"), True, case.expected


def pydantic_core(case):
    return case.line["kwargs"].get("allow_partial", False), True, case.expected


def partial_json_parser(case):
    flags = case.line["args"] = case.line["args"] or [ALL]
    fixed = case.line["func"].startswith("fix") and case.expected
    expected = json.loads("".join(fixed)) if fixed else case.expected
    return is_cut(case), bool(flags[0] & NUM), expected


def partial_json_parser_js(case):
    throws = case.line["how"] == "toThrow"
    expected = REFUSED if throws else json.loads(case.line["js_expected"])
    return is_cut(case), case.line["js_args"].endswith(", NUM"), expected


def untruncate_json_js(case):
    return is_cut(case), True, json.loads(case.line.get("expected", "null"))


@pytest.mark.parametrize(
    "options",
    [jiter, pydantic_core, partial_json_parser, partial_json_parser_js, untruncate_json_js],
)
def test_truncated_json_has_the_value_of_peers(options):
    """Compare the values. `options(case)` returns: may be cut, keep cut numbers, the value."""
    pattern = f"{options.__name__}(_partial)?_tests"
    name = next(name for name in DIFFERENCES if re.fullmatch(pattern, name))
    differing = []
    for case in cases(name):
        partial, eager, expected = options(case)
        case.expected = REFUSED if "raises" in case.line else expected
        case.healed = heal_json(case.input, eager_numbers=eager, final=not partial)
        whole = case.healed.state is S.DONE and not case.rest
        got = case.value if partial or whole else REFUSED
        if got == NOTHING and case.expected == REFUSED:
            continue
        if not same(got, case.expected):
            differing.append(case)
    check(name, differing)


def repaired(name, expectation):
    """Return the cases of a file with an unexpected repaired value or refusal."""
    for case in cases(name):
        if case.input is not None:
            case.expected = expectation(case)
            case.healed = heal_json(case.input, eager_numbers=True, repairs=Repairs(), final=True)
            if case.expected == REFUSED and (case.healed.problem or case.rest):
                continue
            if same(case.value, case.expected):
                continue
        yield case


def test_repaired_json_equals_json_repair():
    def expectation(case):
        options = case.line.get("kwargs", {})
        given = case.line.get("serialized", case.expected)
        if "raises" in case.line or "payload" in case.line:
            return REFUSED
        if "logging" in options:
            return given[0]
        dumped = isinstance(given, str) and not options.get("return_objects")
        if dumped and case.line.get("func") != "loads":
            return json.loads(given) if given else NOTHING
        return given

    check("json_repair_tests", repaired("json_repair_tests", expectation))


def test_repaired_json_equals_jsonrepair():
    def expectation(case):
        # Without an expectation, the text is JSON and must stay unchanged.
        return json.loads(case.input if case.line["how"] is None else case.expected)

    check("jsonrepair_js_tests", repaired("jsonrepair_js_tests", expectation))


@pytest.mark.parametrize("size", [1, 4, 1_000_000])
def test_ijson(size):
    differing = []
    for case in cases("ijson_tests"):
        values = case.healed = JsonValues()
        found = [one for chunk in chunks(case.input, size) for one in values.feed(chunk)]
        found += values.finish()
        kind = case.line["kind"]
        if kind == "invalid":
            agrees = values.problem
        elif kind == "valid_or_named":
            agrees = values.state is S.DONE
            assert values.value == json.JSONDecoder().raw_decode(case.input.lstrip(SPACE))[0]
        else:
            agrees = values.state is not S.DONE and not values.problem
            items = [value for path, value in found if len(path) == 1]
            assert items == case.line.get("expected_items", items)
        if wanted := case.line.get("expected_events"):
            ended = [event for event, _ in wanted if event.startswith("end_")]
            scalars = [value for event, value in wanted if event in SCALARS]
            assert len(ended) + len(scalars) == len(found)
            assert scalars == [one.value for one in found if not isinstance(one.value, dict | list)]
        if not agrees:
            differing.append(case)
    check("ijson_tests", differing)


def suite():
    """Yield JSONTestSuite's texts with the expectation: "accept", "reject" or neither.

    Two deep texts are only named there, so shorter ones above all limits are used here.
    """
    deep = {"n_structure_100000_opening_arrays": "[" * 5000}
    deep["n_structure_open_array_object"] = '[{"":' * 2500 + "\n"
    for case in cases("jsontestsuite"):
        name = Path(case.line["file"]).stem
        raw = base64.b64decode(case.line.get("input_b64", ""))
        text = deep.get(name) or case.input or TextDecoder().feed(raw)
        yield name, text, case.line["expect"]


def read(text, size, **options):
    """Return the verdict on a text in chunks, and the joined results."""
    scanner = JsonScanner(**options)
    out = [scanner.feed(chunk) for chunk in chunks(text, size)] + [scanner.finish()]
    accepted = scanner.state is S.DONE and not scanner.unread.strip(SPACE)
    assert (scanner.problem == "") is (scanner.state is not S.BROKEN)
    return ("accept" if accepted else "reject"), "".join(out)


@pytest.mark.parametrize("options", [{}, {"compact": True}], ids=str)
def test_the_json_test_suite_is_judged_and_returned_the_same_in_any_chunks(options):
    judged = Counter()
    for name, text, expect in suite():
        whole = read(text, 1_000_000, **options)
        assert read(text, 1, **options) == read(text, 4, **options) == whole, name
        assert expect in (whole[0], "implementation"), name
        if whole[0] == "accept":
            value = json.loads(sound_json(text))
            assert json.loads(sound_json(whole[1])) == value, name
            assert options or whole[1] == text.strip(SPACE), name
        judged[expect] += 1
    assert judged == {"accept": 95, "reject": 188, "implementation": 35}


@pytest.mark.parametrize("size", [1, 4, 1_000_000])
def test_the_values_in_the_json_test_suite(size):
    for name, text, expect in suite():
        values = JsonValues()
        found = [one for chunk in chunks(text, size) for one in values.feed(chunk)]
        found += values.finish()
        if read(text, size)[0] == "accept":
            assert found[-1] == ((), values.value), name
            assert values.value == json.loads(sound_json(text)), name
        else:
            # After a complete value, the rest belongs to the caller.
            assert expect != "accept"
            assert any(one.path == () for one in found) is (values.state is S.DONE), name


@pytest.mark.parametrize("repairs", [None, Repairs()], ids=["strict", "repairs"])
def test_every_beginning_in_the_json_test_suite_heals(repairs):
    for name, text, _ in suite():
        ends = range(min(len(text), 120) + 1)
        safe = [heal_json(text[:end], repairs=repairs).safe for end in ends]
        for before, after in pairwise(safe):
            assert after.startswith(before), name
