"""Shared helpers: drivers for sub-parsers, chunkings of texts, and strategies for JSON."""

from __future__ import annotations

import json
import re
import sys
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
import regex
from hypothesis import strategies as st

from deltaparse.partial import Window, sound_json
from deltaparse.testing import invariants

# A full cache of regex evicts random patterns, and strategies must be deterministic.
vars(sys.modules[regex.compile.__module__])["_MAXCACHE"] = 1 << 30


def needs(*packages):
    """Return a mark for tests that need packages and import them in the test to save time."""
    absent = [name for name in packages if find_spec(name) is None]
    return pytest.mark.skipif(bool(absent), reason=f"not installed: {', '.join(absent)}")


class Read(NamedTuple):
    """The result of a sub-parser."""

    result: Any
    emitted: list[str]
    unread: str


class Driver:
    """A running sub-parser, fed like in `StreamParser`.

    `steps(src, emit)` makes it. `prompt` is the length of the prompt at the start of the input.
    """

    def __init__(self, steps, *, prompt=0):
        self.src = Window(offset=-prompt)
        self.emitted = []
        self.running = True
        self.resumes = 0
        self.result = None
        self._steps = steps(self.src, self.emitted.append)

    def feed(self, *texts):
        for text in texts:
            if self.src.receive(text):
                self._resume()

    def close(self):
        self.src.closed = True
        self._resume()

    @property
    def text(self):
        """The emitted text."""
        return "".join(self.emitted)

    def _resume(self):
        if self.running:
            self.resumes += 1
            try:
                next(self._steps)
            except StopIteration as returned:
                self.running = False
                self.result = returned.value


def silent(sub_parser, *args, **kwargs):
    """Return the steps of a sub-parser without an `emit` argument."""
    return lambda src, emit: sub_parser(src, *args, **kwargs)


def drive(steps, texts, *, prompt=0):
    """Feed `texts` to the sub-parser of `steps(src, emit)`, and close it."""
    driver = Driver(steps, prompt=prompt)
    driver.feed(*texts)
    driver.close()
    assert not driver.running, f"still waits after the end of {texts!r}"
    return Read(driver.result, driver.emitted, driver.src.unread)


def three_ways(steps, text, expected, *, then=" and more", at_end=False):
    """Check that a sub-parser reads exactly `text` in all chunks.

    The text is fed at once, then by character (the sub-parser must run until the last one), then
    split in two at each offset with `then` after it, which must stay unread. `expected` is the
    result, the emitted text, and the unread rest of `text`. With `at_end`, only the end of the
    input ends the sub-parser.
    """
    for chunks in ([text], ["", *text]):
        driver = Driver(steps)
        for done, chunk in enumerate(chunks):
            assert driver.running, f"did not wait for more than {chunks[:done]!r}"
            driver.feed(chunk)
        if at_end:
            assert driver.running, f"did not wait for the end after {chunks!r}"
            driver.close()
        assert not driver.running, f"still waits after {chunks!r}"
        got = (driver.result, driver.text, driver.src.unread)
        assert got == expected, f"{got!r} from {chunks!r}"
    result, emitted, unread = expected
    for cut in range(0 if at_end else len(text) + 1):
        chunks = [text[:cut], text[cut:] + then]
        read = drive(steps, chunks)
        got = (read.result, "".join(read.emitted), read.unread)
        assert got == (result, emitted, unread + then), f"{got!r} from {chunks!r}"


def cuts(text):
    """Return chunkings of a text or bytes, some with empty chunks or single characters."""
    places = st.lists(st.integers(0, len(text)), max_size=12).map(sorted)
    chunks = places.map(lambda at: [text[a:b] for a, b in pairwise([0, *at, len(text)])])
    return chunks | st.just([text[at : at + 1] for at in range(len(text))])


NASTY = st.text('"\\/bfnrtu{}[],:01e-.<\n\x00\x1f\x7f\u2028é😀\ud83d\ude00', max_size=6)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | NASTY | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NASTY, inner, max_size=3),
    max_leaves=8,
)
TOKEN = re.compile(r'"(?:[^"\\]|\\u[0-9a-fA-F]{4}|\\.)*"|[-+.\w]+')
ESCAPE = re.compile(r"\\(?:u....|.)")
SPACE = st.sampled_from(["", " ", "\n", "\t\r "])


@st.composite
def json_texts(draw):
    """Draw JSON texts with any spacing, and with or without escapes for non-ASCII characters."""
    separators = (draw(SPACE) + "," + draw(SPACE), draw(SPACE) + ":" + draw(SPACE))
    indent = draw(st.sampled_from([None, 0, "\t"]))
    ascii_only = draw(st.booleans())
    text = json.dumps(draw(VALUES), ensure_ascii=ascii_only, separators=separators, indent=indent)
    return draw(SPACE) + text


def without_twins(text):
    """Return whether objects have unique keys, also after replacement of lone surrogates."""
    twins = []

    def members(pairs):
        twins.append(len(dict(pairs)) < len(pairs))
        return dict(pairs)

    json.loads(sound_json(text), object_pairs_hook=members)
    return not any(twins)


ODD = ["", *"\"\\,:{}[]-01.eE+/ \n\x00\x7f'tn١", "nul", "true", "NaN", "-Infinity"]
ODD += ["\\u12", "\\ud83d", "\ud83d", "\xa0", "\ufeff", "1e5", "00", "//", "\\x41", '"a":']


@st.composite
def nearly_json(draw):
    """Draw JSON texts with a few parts deleted, replaced or inserted."""
    text = draw(json_texts())
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(ODD)) + text[at + draw(st.integers(0, 2)) :]
    return text


def certain(text):
    """Return, for each cut of a JSON text, the offset up to which the text may be emitted.

    This is the cut itself, or the start of an incomplete escape, number or literal. A number at
    the cut is incomplete, since more digits may follow.
    """
    places = list(range(len(text) + 2))
    for token in TOKEN.finditer(text):
        if token[0][0] == '"':
            whole = [found.span() for found in ESCAPE.finditer(text, *token.span())]
        else:
            whole = [(token.start(), token.end() + (token[0][0] in "-0123456789"))]
        for start, end in whole:
            places[start + 1 : end] = [start] * (end - start - 1)
    return places


def open_brackets(text):
    """Return the open brackets at the end of a truncated JSON text."""
    stack = []
    for char in re.sub(r'"(?:\\.|[^"\\])*(?:"|\\?\Z)', "", text):
        if char in "{[":
            stack.append(char)
        elif char in "}]":
            stack.pop()
    return stack


def closers(text):
    """Return the brackets to close a truncated JSON text."""
    return "".join("}" if bracket == "{" else "]" for bracket in reversed(open_brackets(text)))


def is_json(text):
    """Return whether `text` is one JSON value for Python's parser without its extensions."""
    try:
        json.loads(text, parse_constant=_refuse)
    except ValueError:
        return False
    return True


def _refuse(constant):
    raise ValueError(constant)


joined, as_joined = invariants.added, invariants.as_added
