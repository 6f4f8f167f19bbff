"""Simple tokens, compared with the general readers: the same text with each chunk."""

from __future__ import annotations

import ast
import json
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse.partial import MAX_DEPTH, Window
from deltaparse.partial.bypass import Waiter
from deltaparse.partial.python_text import simple_tokens
from deltaparse.partial.python_text import to_json as python_json
from deltaparse.partial.python_text.to_json import PythonReading, python_arguments
from deltaparse.partial.python_text.writer import OPENERS, Frame, Writer

from ...support import cuts, drive

DONE = PythonReading("done")

PLAIN = ["1", "-0", "1.5", "True", "None", "x", "[", "]", "{", "}", "(", ")", ",", ", ", "a=", ":"]
PLAIN += [
    '"a"',
    "'b'",
    '"',
    "'",
    "\\n",
    "\\",
    "\\u00e9",
    " ",
    "\n",
    "# c\n",
    "é",
    "r'",
    "f(1)",
    "1e5",
]
soups_of_tokens = st.lists(st.sampled_from(PLAIN), max_size=12).map("".join)


@st.composite
def nearly_arguments(draw):
    """Generate arguments of a call, possibly with missing or additional text."""
    value = st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text("ab'\"\\\n é,)]", max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.lists(inner, max_size=2).map(tuple)
            | st.dictionaries(st.text("a'b", max_size=2) | st.integers(), inner, max_size=3)
        ),
        max_leaves=6,
    )
    given_ones = draw(st.lists(st.tuples(st.sampled_from(["a", "b-c", "x"]), value), max_size=3))
    text = ", ".join(f"{name}={value!r}" for name, value in given_ones) + ") "
    at = draw(st.integers(0, len(text)))
    return text[:at] + draw(soups_of_tokens) + text[at + draw(st.integers(0, 2)) :]


def said(chunks):
    """Return the text written with each chunk, the end, the unread text, and the notes."""
    notes, written, each = [], [], []
    src = Window()
    reader = python_arguments(src, written.append, lambda *n: notes.append(n))
    ended = None

    def go_on():
        nonlocal ended
        try:
            next(reader)
        except StopIteration as stop:
            ended = stop.value

    go_on()
    for chunk in chunks:
        if ended is not None:
            src.feed(chunk)
        elif src.receive(chunk):
            go_on()
        each.append("".join(written))
    src.closed = True
    if ended is None:
        src.waiter = None
        go_on()
    return each, "".join(written), ended, ended.held, src.unread, notes


@given(data=st.data())
def test_simple_tokens_are_read_as_others_are(data):
    chunks = data.draw(cuts(data.draw(nearly_arguments())))
    quick = said(chunks)
    with patch.object(python_json, "simple_tokens", lambda _: lambda _: None):
        assert said(chunks) == quick


@pytest.mark.parametrize(
    "chunks",
    [
        ['a=["x', "y\", 'z", "w', 1])"],
        ['a=["x', 'y", "', 'z", 1])'],
        ['a=["x', 'y", "', "z", '", 1])'],
        ['a=["x', 'y", "', '", 1])'],
    ],
)
def test_a_string_that_follows_one_in_a_chunk_has_a_lane_of_its_own(chunks):
    text = "".join(chunks).removeprefix("a=").removesuffix(")")
    _, json_text, ended, *_ = said(chunks)
    assert (ended, json.loads(json_text)) == (DONE, {"a": ast.literal_eval(text)})


SAME = [
    'a="", b=1)',
    "a='', b='x')",
    "a=['', {'k': '', '': 1}])",
    "a=(1, [2, {'k': 'v'}], 'x'), b=('y'), c=())",
    "a=[('x', 1), ('y', 2)], b=[('z')])",
    "a=True, b=[None, False], c={'d': True})",
    "a=[1 ,2 , [ ], { }, 'x' , ], b={'k' : 'v' , 'l':2 ,})",
    "a=[[[]], {'b': {'c': {}}}])",
    "a=['it\\'s', \"it's\", 'say \"x\"', '\\n', '\\x41', 'a' 'b'])",
    'a="""x"y""", b="x""y", c=["" "z"])',
    "a='''it's''', b={'''k''': 1})",
    "a=[0, -1, 1.5, 10, 1e5, 0x1f, 1_000, .5])",
    "a={1: 2, 'b' 'c': 3, True: 4})",
    "a=[1,, 2])",
    "a=1 2)",
    "a={'b', 'c'})",
    "a=[1}, b=2)",
    "a-b=1, c.d=2, 1e=3)",
]


@pytest.mark.parametrize("text", SAME)
def test_known_texts_are_read_as_by_others_at_every_cut(text):
    ways = [list(text), [text], *([text[:at], text[at:]] for at in range(1, len(text)))]
    quick = [said(chunks) for chunks in ways]
    with patch.object(python_json, "simple_tokens", lambda _: lambda _: None):
        assert [said(chunks) for chunks in ways] == quick


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_brackets_beyond_the_limit_are_for_others(limit):
    def reader(src, emit):
        return python_arguments(src, emit, lambda *_: None, max_depth=limit)

    text = "a=[[[1]]])"
    for chunks in (list(text), [text]):
        got = drive(reader, chunks)
        assert got.result.state == "broken"
        assert "".join(got.emitted) == '{"a": ' + "[" * (limit - 1)
        assert got.unread == text[2 + limit - 1 :]


def step_of(src):
    """Return a step for simple tokens in an argument list, and its writer."""
    out = Writer(src, [].append, MAX_DEPTH, [Frame(")", "{", "}", "=")], "key")
    return simple_tokens.simple_tokens(out), out


def test_simple_tokens_are_read_without_the_others_at_every_cut():
    text = 'a="x\\n", b=[1, {"k": None, \'l\': [ ]} , -2.5, "y"], c= '
    said = '"a": "x\\n", "b": [1, {"k": null, "l": []}, -2.5, "y"], "c": '
    for at in range(len(text) + 1):
        step, out = step_of(src := Window())
        src.feed(text[:at])
        first = step(src)
        assert first is not None, text[:at]
        src.feed(text[at:])
        assert first + step(src) == said, text[:at]
        assert (src.unread, out.expects) == ("", "value")


def test_possible_tuple_is_left_to_the_writer():
    step, out = step_of(src := Window("[1, "))
    out.expects = "value"
    assert step(src) == "[1"
    out.open(OPENERS["("])
    src.feed("2, ")
    assert step(src) is None
    assert src.unread == "2, "


def test_prompt_text_is_left_to_other_readers():
    step, _ = step_of(src := Window("a=1, ", -5))
    assert step(src) is None
    src.emits_prompt = True
    assert step(src) == '"a": 1'


def test_a_long_string_passes_by():
    step, _ = step_of(src := Window('a="'))
    src.waiter = Waiter([].append, step, [].append)
    assert step(src) == '"a": "'
    for _ in range(simple_tokens.LONG_STRING):
        assert src.waiter.lane is None
        src.feed("word")
        assert step(src) == "word"
    assert src.waiter.lane is simple_tokens.IN_STRING['"'][1]
