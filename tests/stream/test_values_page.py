"""The tables of `docs/values.md` about values between markers, checked in all formats."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from deltaparse import StreamParser, ToolFormat, get_format, list_formats

from ..strategies import wire_json_and_tags as wire
from ..strategies.wire_parts import Written
from ..support import cuts

PAGE = (Path(__file__).parents[2] / "docs" / "values.md").read_text(encoding="utf-8")
DEFINED = json.loads(re.search(r"^```json\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[1])
ROW = re.compile(r"^\| `(.+?)` \| `(.+?)` \| `(.+?)` \| (.*?) ?\|$", re.MULTILINE)
ROWS = ROW.findall(PAGE)
FORMATS = [
    fmt
    for fmt in map(get_format, list_formats())
    if fmt.tools.format is ToolFormat.TAG_WITH_TAGGED
    and not fmt.arguments.quoted_strings
    and not fmt.arguments.literal_name_suffix
    # These formats do not write every value as text between two markers.
    and not (fmt.arguments.key_suffix or fmt.arguments.type_suffix or fmt.channels.message)
]


def read(fmt, schema, written, cut=list):
    """Return the argument `a` of the parsed call, and the issues."""
    value = written if isinstance(written, str) else json.dumps(written)
    text = wire.write(fmt, Written("", "", (("f", {"a": value}),), ()))
    parameters = {"$defs": DEFINED, "definitions": DEFINED, "properties": {"a": schema}}
    parser = StreamParser(fmt, tools=[{"name": "f", "parameters": parameters}])
    for chunk in cut(text):
        parser.feed(chunk)
    parser.finish("stop")
    (call,) = parser.message.tool_calls
    assert call.complete
    return call.arguments.removeprefix('{"a": ').removesuffix("}"), parser.issues


def test_all_rows_are_found():
    assert len(ROWS) == len(re.findall(r"^\| `", PAGE, re.MULTILINE)) > 60
    assert len(FORMATS) > 6


@pytest.mark.parametrize(("schema", "written", "value", "why"), ROWS)
def test_value_is_read_as_documented(schema, written, value, why):
    for fmt in FORMATS:
        made, issues = read(fmt, json.loads(schema), written)
        assert (made, issues) == read(fmt, json.loads(schema), written, lambda text: [text])
        assert made == value
        details = "".join(issue.detail for issue in issues)
        for repair in ("argument_type", "non_finite"):
            assert (repair in details) == (f"`{repair}`" in why)


TEXTS = ("", "1", "1.5", "1.50", "-", "0x", "true", "True", "null", "nul", "None", "x", "x y", "é")
TEXTS += ('"1"', '"', "[1]", "{", "{'a': 1}", "(1)")
SCALARS = st.sampled_from([None, True, False, 0, 1, -2, 1.5, 1e300, *TEXTS])
VALUES = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(st.just("k"), SCALARS)
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
REFERENCES = st.sampled_from([f"#/$defs/{name}" for name in ("text", "a%20b", "size", "twice")])
PLAIN = (
    TYPES.map(lambda name: {"type": name})
    | st.lists(TYPES, min_size=1, unique=True).map(lambda names: {"type": names})
    | st.lists(SCALARS, min_size=1, max_size=4).map(lambda values: {"enum": values})
    | SCALARS.map(lambda value: {"const": value})
    | REFERENCES.map(lambda reference: {"$ref": reference})
    | st.sampled_from([True, False, {}])
)
SCHEMAS = st.recursive(
    PLAIN,
    lambda inner: st.dictionaries(
        st.sampled_from(["anyOf", "allOf"]),
        st.lists(inner, min_size=1, max_size=3),
        min_size=1,
    ),
    max_leaves=5,
)


@given(fmt=st.sampled_from(FORMATS), schema=SCHEMAS, value=VALUES, data=st.data())
def test_valid_value_written_by_a_template_is_read_as_valid(fmt, schema, value, data):
    defined = {name: DEFINED[name] for name in ("text", "a b", "count", "size")}
    # The validator would recurse forever on the original definition.
    defined["twice"] = {"type": "string"}
    validator = Draft202012Validator({"$defs": defined, "properties": {"a": schema}})
    assume(validator.is_valid({"a": value}))

    made, _ = read(fmt, schema, value, lambda text: data.draw(cuts(text)))

    assert validator.is_valid({"a": json.loads(made)})
