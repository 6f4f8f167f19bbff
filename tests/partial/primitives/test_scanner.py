"""The push scanner at every cut, compared with the complete text."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deltaparse.partial import (
    JsonScanner,
    JsonState,
    JsonValues,
    Pattern,
    PatternSearch,
    Repairs,
    UsageError,
    compact_json,
    escape_surrogates,
    heal_json,
)

from ...support import certain, cuts, is_json, json_texts, nearly_json, open_brackets

S = JsonState
MODES = [{}, {"compact": True}, {"repairs": Repairs()}, {"compact": True, "repairs": Repairs()}]


def fed(chunks, **options):
    scanner = JsonScanner(**options)
    return scanner, "".join(map(scanner.feed, chunks))


@given(json_texts(), st.data())
def test_certain_text_is_returned_verbatim_immediately(text, data):
    scanner = JsonScanner()
    out, places, start = "", certain(text), len(text) - len(text.lstrip())
    for at, char in enumerate(text, 1):
        out += scanner.feed(char)
        passed = escape_surrogates(text[start : places[at]])
        # A comma is emitted with the next token.
        assert out in (passed, passed.rstrip(" \t\r\n").removesuffix(","))
        assert list(scanner.stack) == open_brackets(text[:at])
    assert out + scanner.finish() == escape_surrogates(text.strip())
    assert scanner.state is S.DONE


@given(json_texts() | nearly_json() | st.text(), st.data(), st.sampled_from(MODES))
@example('{"a": 1,', None, {})
@example("[1, 2x", None, {"repairs": Repairs()})
@example("{'a\n': True}", None, {"compact": True, "repairs": Repairs()})
@example("['\\x4", None, {"repairs": Repairs()})
def test_result_does_not_depend_on_chunks(text, data, options):
    whole, out = fed([text], **options)
    scanner, joined = fed(data.draw(cuts(text)) if data else list(text), **options)

    assert joined == out
    assert scanner.finish() == whole.finish()
    for name in ("state", "stack", "problem", "end", "unread", "repaired", "text"):
        assert getattr(scanner, name) == getattr(whole, name), name


@given(json_texts() | nearly_json() | st.text(), st.sampled_from(MODES))
@example("[1, 2x", {})
@example("{A:[null],0", {"repairs": Repairs()})
@example("{A:1,b", {"repairs": Repairs()})
@example("[tru", {})
@example("['a", {"repairs": Repairs()})
def test_all_that_was_returned_can_be_made_json(text, options):
    for at in range(len(text) + 1):
        scanner, out = fed([text[:at]], **options)
        out.encode()
        whole = out + scanner.finish(heal=True)
        assert is_json(whole) or not whole, (text[:at], whole)
        healed = heal_json(out)
        assert is_json(healed.text) or not healed.text


@given(nearly_json(), st.sampled_from(MODES))
def test_returned_text_is_a_prefix_of_the_result(text, options):
    scanner, joined = JsonScanner(**options), ""
    for char in text:
        joined += scanner.feed(char)
        assert scanner.text == joined
        healed = scanner.snapshot()
        assert compact_json(joined) == healed.safe or scanner.state is S.BROKEN
        assert bool(healed.text) is bool(joined)


@given(json_texts(), st.text(max_size=5), st.data())
def test_the_end_is_exact(text, then, data):
    if text[-1] not in "]}":
        text = f"[{text}]"
    scanner, _ = fed(data.draw(cuts(text + then)))

    assert (scanner.end, scanner.unread, scanner.state) == (len(text), then, S.DONE)
    assert (
        scanner.end == json.JSONDecoder().raw_decode(text + then, len(text) - len(text.lstrip()))[1]
    )


@given(json_texts(), st.data())
def test_a_snapshot_is_the_healed_text(text, data):
    scanner, out = fed(data.draw(cuts(text[: data.draw(st.integers(0, len(text)))])))
    whole = scanner.state in (S.DONE, S.AFTER_VALUE)
    snapshot, healed = scanner.snapshot(marker="HERE"), heal_json(out + " " * whole, marker="HERE")

    for name in ("text", "value", "path", "state", "stack", "safe", "certain"):
        assert getattr(snapshot, name) == getattr(healed, name)


@pytest.mark.parametrize(
    ("text", "healed"),
    [
        ("", ""),
        ("12", "12"),
        ("1.", "1"),
        ("-", ""),
        ("tru", ""),
        ("[01]", "[]"),
        ('{"a": 01}', '{"a": null}'),
        ('{"a', '{"a":null}'),
        ('{"a"', '{"a":null}'),
        ('{"a": ', '{"a": null}'),
        ('{"a": 1.5', '{"a": 1.5}'),
        ('{"a": 1.', '{"a": 1}'),
        ('{"a": -', '{"a": null}'),
        ('{"a": tru', '{"a": null}'),
        ('{"a": "x\\u00', '{"a": "x"}'),
        ('{"a": 1,', '{"a": 1}'),
        ("[1, ", "[1]"),
        ("[1, 2", "[1, 2]"),
        ("[1, nul", "[1, null]"),
        ('{"a":1, x', '{"a":1}'),
        ('{"a":1,,"b":2}', '{"a":1}'),
        ("[1,x", "[1]"),
        ("[", "[]"),
        ("[12", "[12]"),
        ('[{"a": [', '[{"a": []}]'),
    ],
)
def test_a_healed_end(text, healed):
    scanner, out = fed([text])
    assert out + scanner.finish(heal=True) == healed


def test_repairs_are_counted():
    scanner, out = fed(["{a: 'x', 'b': [True, None,],}"], repairs=Repairs())
    assert out == '{"a": "x", "b": [true, null]}'
    assert scanner.repaired == {
        "unquoted_keys": 1,
        "single_quotes": 2,
        "python_literals": 2,
        "trailing_commas": 2,
    }
    assert scanner.snapshot().repairs == tuple(scanner.repaired)


def test_problem_and_unread_text_of_broken_input():
    scanner, _ = fed(['{"a": 1', "} x"])
    assert (scanner.state, scanner.unread) == (S.DONE, " x")
    scanner, out = fed(["[1, x"])
    assert (scanner.state, out, scanner.unread) == (S.BROKEN, "[1", ", x")
    assert scanner.problem == "a trailing comma"
    assert scanner.end is None
    assert scanner.feed("more") == ""


def test_without_keeping_there_is_no_snapshot():
    scanner = JsonScanner(keep=False)
    assert scanner.feed('{"a": "b') == '{"a": "b'
    with pytest.raises(UsageError, match="keep=True"):
        scanner.snapshot()


def test_text_only():
    with pytest.raises(UsageError, match="TextDecoder"):
        JsonScanner().feed(b"[]")


def test_compact_option_equals_dumps():
    text = '{ "a" : [1, "\\u00e9"] }'
    assert fed([text])[1] == text
    assert fed([text], compact=True)[1] == '{"a":[1,"é"]}'


def test_problem_is_empty_for_valid_text():
    scanner = JsonScanner()
    assert scanner.problem == ""
    scanner.feed("[1]x")
    assert scanner.problem == ""
    assert scanner.finish(heal=True) == ""


def test_text_after_the_value_does_not_affect_healing():
    for behind in ("", "1", " 2", "]", '"'):
        scanner, out = fed(['{"a": []}' + behind])
        assert (out, scanner.finish(heal=True)) == ('{"a": []}', "")


def test_repaired_text_has_no_problem():
    scanner, out = fed(["[True"], repairs=Repairs())
    assert (out, scanner.problem) == ("[", "")
    scanner.feed(", ?")
    assert scanner.problem
    scanner, out = fed(["[True]"], repairs=Repairs())
    assert (out, scanner.problem, scanner.repaired) == ("[true]", "", {"python_literals": 1})


@pytest.mark.parametrize(
    "made", [JsonScanner, JsonValues, lambda: PatternSearch(Pattern("[0-9]+"))]
)
def test_feed_after_finish_is_an_error(made):
    reader = made()
    reader.feed("[1")
    reader.finish()
    with pytest.raises(UsageError, match=r"feed\(\) after finish\(\)"):
        reader.feed("2]")
