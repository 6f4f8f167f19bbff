"""The text written for Python literals, and the text buffered for possible tuples."""

from __future__ import annotations

import pytest

from deltaparse.partial import MAX_TOKEN
from deltaparse.partial.python_text.to_json import python_value

from ...support import drive

HALF = "x" * (MAX_TOKEN // 2)
MOST = "x" * MAX_TOKEN


def written(text):
    """Return the end and the written text, after comparing two chunkings."""
    ways = (
        drive(lambda src, emit: python_value(src, emit, lambda *_: None), chunks)
        for chunks in ([text], list(text))
    )
    found = []
    for got in ways:
        assert "" not in got.emitted
        found.append((got.result, "".join(got.emitted)))
    one, other = found
    assert one == other
    return one


@pytest.mark.parametrize(
    ("text", "json_text"),
    [
        ("[(1, 2), (3, 4)]", "[[1, 2], [3, 4]]"),
        ("[('a'), ('b')]", '["a", "b"]'),
        ("[(), (1,), ()]", "[[], [1], []]"),
        (f"[('{HALF}x', 1), ('{HALF}x', 2)]", f'[["{HALF}x", 1], ["{HALF}x", 2]]'),
        (f"[('{MOST}')]", f'["{MOST}"]'),
        (f"(['{MOST}'], 1)", f'[["{MOST}"], 1]'),
        (f"(('{MOST}'))", f'"{MOST}"'),
        (f"[(1, ('{MOST}'))]", f'[[1, "{MOST}"]]'),
    ],
)
def test_held_text_is_written_once(text, json_text):
    result, found = written(text)
    assert (result.state, found) == ("done", json_text)


def test_beyond_the_limit_a_string_is_a_value_and_all_else_a_tuple():
    for text, begun in [
        (f"('{MOST}', 1)", f'"{MOST}"'),
        (f"(('{MOST}', 1), 2)", f'"{MOST}"'),
        (f"(['{MOST}'])", f'[["{MOST}"]'),
        (f"[([('{MOST}', 1)])]", f'[[["{MOST}"'),
    ]:
        result, found = written(text)
        assert (result.state, found) == ("broken", begun), text[:9]


@pytest.mark.parametrize(
    ("text", "json_text", "closers"),
    [
        ("{'ab", '{"ab', ""),
        ("{'ab'", '{"ab', ""),
        ("{'ab':", '{"ab": ', ""),
        ("{'ab': 'c", '{"ab": "c', '"}'),
        ("{'ab': [", '{"ab": [', "]}"),
        ("[{'a': 1, 'b", '[{"a": 1, "b', ""),
        ("['a' ", '["a', '"]'),
        ("{'a': ('b', 'c", '{"a": ["b", "c', '"]}'),
        ("{'a': ('b", '{"a": ', ""),
        ("[('b", "[", "]"),
    ],
)
def test_closers_of_truncated_text(text, json_text, closers):
    result, found = written(text)
    assert (result.state, found, result.closers) == ("cut", json_text, closers)


@pytest.mark.parametrize("answer", [None, True, False])
def test_repairs_can_be_refused(answer):
    notes = []

    def note(*said):
        notes.append(said)
        return answer

    got = drive(lambda src, emit: python_value(src, emit, note), ["[nan, '\\xg', 1]"])
    if answer is False:
        assert (got.result.state, notes) == ("broken", [("non_finite", 1)])
        assert "non_finite" in got.result.problem
    else:
        assert (got.result.state, "".join(got.emitted)) == ("done", '[null, "\\\\xg", 1]')
        assert [name for name, _ in notes] == ["non_finite", "invalid_escapes"]
