"""Objects with custom quotes and unquoted keys."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from deltaparse import StreamParser, get_format, parse

from ....strategies.wire_parts import markers_of
from ....support import cuts

GEMMA = get_format("gemma4")
FORMATS = [
    GEMMA,
    get_format("functiongemma"),
    *(GEMMA.replace(arguments={"quote": quote}) for quote in ("<q>", "''", "<<x", "aab")),
]
NO_COMMA = re.compile(r":\s*(-?[0-9][-+.0-9eE]*|true|false|null|True|False|None)\s")
"""A possible end of a value, directly before another key."""
# Characters of keys: colons, starts of values, letters of any alphabet.
CHARS = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=",{}[]\"'")
PARTS = st.sampled_from([":", "/", " ", "#", "<", "|", "1", "12:30", "true", "-", "é", "語", "."])
TEXTS = st.lists(PARTS | CHARS, min_size=1, max_size=5).map("".join)
KEYS = TEXTS.filter(lambda key: key == key.strip() and not key.startswith(("//", "/*")))
STRINGS = st.lists(PARTS | st.characters(exclude_categories=["Cs"]), max_size=6).map("".join)
SCALARS = st.none() | st.booleans() | st.integers(-99, 99) | st.just(-1.5e30) | STRINGS
OBJECTS = st.recursive(
    st.dictionaries(KEYS, SCALARS, min_size=1, max_size=3),
    lambda inner: st.dictionaries(KEYS, inner | st.lists(inner | SCALARS, max_size=2), min_size=1),
    max_leaves=4,
)


def spelled(value, quote):
    """Write a value like the templates of these formats."""
    if isinstance(value, str):
        return quote + value + quote
    if isinstance(value, dict):
        members = (f"{key}:{spelled(inner, quote)}" for key, inner in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(spelled(inner, quote) for inner in value) + "]"
    return json.dumps(value)


def write(fmt, arguments):
    """Write a call with these arguments."""
    return f"{fmt.tools.per_call_start}f{arguments}{fmt.tools.per_call_end}"


def read(fmt, chunks):
    """Return the call in the chunks, and the issues."""
    parser = StreamParser(fmt)
    for chunk in chunks:
        parser.feed(chunk)
    parser.finish("stop")
    (call,) = parser.message.tool_calls
    return call, parser.issues


def holds(value, quote):
    """Return whether a key or a string contains the quote, or a value before a missing comma."""
    if isinstance(value, str):
        return quote in f"{value}{quote}"[:-1]
    if isinstance(value, dict):
        odd = any(quote in key or NO_COMMA.search(key) for key in value)
        return odd or any(holds(inner, quote) for inner in value.values())
    return isinstance(value, list) and any(holds(inner, quote) for inner in value)


@given(data=st.data(), fmt=st.sampled_from(FORMATS), arguments=OBJECTS)
@example(None, GEMMA, {"two words": "x", "a/b": {"12:30": [{"straße": 1}]}, "日本 語": True})
@example(None, GEMMA, {"/x": 1, "#y": None, "1st": -1.5e30, "it": "<|", "x:y": ""})
def test_any_text_may_be_a_key(data, fmt, arguments):
    quote = fmt.arguments.quote
    text = write(fmt, spelled(arguments, quote))
    chunks = data.draw(cuts(text)) if data else list(text)
    expected = json.loads(json.dumps(arguments))

    assume(not holds(arguments, quote))
    call, issues = read(fmt, chunks)

    assert json.loads(call.arguments) == expected
    assert issues == []


@given(data=st.data(), fmt=st.sampled_from(FORMATS), text=STRINGS)
def test_7_string_buffers_only_prefixes_of_quotes_and_markers(data, fmt, text):
    quote = fmt.arguments.quote
    beginnings = [quote[:size] for size in range(1, len(quote))]
    # A prefix of a marker is buffered too, since the string may be unclosed.
    marks = [quote, *(mark.strip() for mark in markers_of(fmt))]
    sizes = range(max(map(len, marks)))
    teasing = data.draw(st.lists(st.sampled_from([*beginnings, text]), max_size=4).map("".join))
    teasing = teasing.replace(quote, "")
    parser = StreamParser(fmt)
    seen = "".join(
        delta.arguments for delta in parser.feed(f"{fmt.tools.per_call_start}f{{a:{quote}")
    )
    for at, char in enumerate(teasing, 1):
        seen += "".join(delta.arguments for delta in parser.feed(char))
        so_far = teasing[:at]
        tails = [so_far[at - size :] for size in sizes if size <= at]
        held = max(len(tail) for tail in tails if any(mark.startswith(tail) for mark in marks))
        got = json.loads(seen + '"}')["a"]

        assert so_far.startswith(got)
        assert at - len(got) <= held


@pytest.mark.parametrize("chunks", [list, lambda text: [text]])
@pytest.mark.parametrize(
    ("written", "arguments", "kinds"),
    [
        ('{\n  a : 5,\n  b c :\n <|"|>x<|"|>\n}', {"a": 5, "b c": "x"}, set()),
        ("{'a b':5}", {"a b": 5}, {"repaired_arguments"}),
        ('{"a, b":5}', {"a, b": 5}, set()),
        ('{<|"|>a, b<|"|>:5}', {"a, b": 5}, set()),
        ("{it's:5}", {"it's": 5}, set()),
        ("{// b: 5\na:1}", {"a": 1}, {"repaired_arguments"}),
        ("{a:1,/* b: 5 */}", {"a": 1}, {"repaired_arguments"}),
        ("{# b: 5\na:1}", {"a": 1}, {"repaired_arguments"}),
        ("{a b:NaN}", {"a b": None}, {"repaired_arguments"}),
        ("{a:1 b:2}", None, {"malformed_arguments"}),
        ("{a:x}", None, {"malformed_arguments"}),
        ("{a b}", None, {"malformed_arguments"}),
        ("{:1}", None, {"malformed_arguments"}),
        ("{" + "a b" * 2000 + ":1}", None, {"malformed_arguments"}),
    ],
)
def test_other_forms_of_keys_are_read_or_reported(chunks, written, arguments, kinds):
    call, issues = read(GEMMA, chunks(write(GEMMA, written)))

    assert (json.loads(call.arguments) if call.complete else None) == arguments
    assert {issue.kind for issue in issues} == kinds


def test_truncated_call_heals_to_its_keys():
    whole = '{two words:<|"|>x<|"|>,a/b:12'
    for size in range(len(whole) + 1):
        parser = StreamParser(GEMMA)
        parser.feed(GEMMA.tools.per_call_start + "f" + whole[:size])
        parser.finish("length")
        for call in parser.message.tool_calls:
            assert not call.complete
            assert call.healed().keys() <= {"two words", "a/b"}


@pytest.mark.parametrize("value", ["8", " -1.5 ", "true", "x", "{b:1}", "{b:8"])
@pytest.mark.parametrize("fmt", FORMATS[:2], ids=["gemma4", "functiongemma"])
@given(more=st.lists(st.sampled_from(["x", ":", "1", " ", "<"]), max_size=6).map("".join))
def test_key_does_not_pass_the_end_of_its_call(fmt, value, more):
    """Ignore the text after the closer."""
    text = f"{fmt.tools.per_call_start}f{{n:{value}{fmt.tools.per_call_end}"
    (alone,) = parse(text, fmt).tool_calls
    (call,) = parse(text + more, fmt).tool_calls
    assert (call.name, call.arguments, call.complete) == (
        alone.name,
        alone.arguments,
        alone.complete,
    )


@pytest.mark.parametrize("marker", [GEMMA.tools.per_call_start, *GEMMA.turn.ends])
def test_key_does_not_pass_another_marker(marker):
    (call, *_) = parse(f"<|tool_call>call:f{{n:8{marker}x:1,", GEMMA).tool_calls
    assert (call.arguments, call.complete) == ('{"n":8', False)
