"""One value of an argument in tags: whatever it holds, JSON of it, at every cut."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from deltaparse.stream.reading.tool_calls.schema import ALL_TYPES, type_of
from deltaparse.stream.reading.tool_calls.values import Value

from ....support import cuts, is_json, json_texts, nearly_json

PARTS = ["{", "}", "[", "]", "(", ")", '"', "'", ",", ": ", "1", "-", ".5", "e", " ", "\n", "x"]
PARTS += ["true", "True", "nu", "null", "None", "\\", "é", '{"a": 1}', "{'a': True}", "[1, 2]"]
texts = nearly_json() | st.lists(st.sampled_from(PARTS), max_size=8).map("".join)
whole_texts = (json_texts() | nearly_json().filter(is_json)).filter(
    lambda text: text.strip()[0] != '"'
)
types = st.just(ALL_TYPES) | st.frozensets(st.sampled_from(sorted(ALL_TYPES)), min_size=1)


def written(chunks, types, *, python=False):
    """The JSON that is written of a value, and what was noted."""
    out, notes = [], []
    value = Value(out.append, notes.append, dict.fromkeys(types), python=python)
    for chunk in chunks:
        value.write(chunk)
    value.end()
    return "".join(out), notes


@given(text=texts, types=types, python=st.booleans())
@example("[1, ", frozenset({"array"}), False)
@example("[1] x", frozenset({"array"}), False)
@example("", frozenset({"number"}), False)
def test_what_is_written_is_json_of_one_of_the_types(text, types, python):
    made, notes = written([text], types, python=python)

    assert is_json(made)
    kind = type_of(json.loads(made))
    assert ("argument_type" in notes) == (kind == "string" and "string" not in types)
    # What cannot be a string may be left out, by null.
    assert kind in types or kind == "string" or (kind == "null" and "string" not in types)
    if types == {"string"}:
        assert json.loads(made) == text


@given(text=texts, types=types, python=st.booleans(), data=st.data())
def test_cutting_the_text_changes_nothing(text, types, python, data):
    cut = data.draw(cuts(text))

    assert written(cut, types, python=python) == written([text], types, python=python)


@given(value=whole_texts, types=types)
def test_json_of_one_of_the_types_passes_unchanged(value, types):
    kind = type_of(json.loads(value))

    assert written([value], types | {kind}) == (value.strip(), [])
