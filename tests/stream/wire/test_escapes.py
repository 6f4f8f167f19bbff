"""Tests of escapes: written, read at once, and read in chunks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import FormatError, WireFormat
from deltaparse.stream.wire.escapes import Escapes, Unescaped, escapes_of
from deltaparse.testing import chunkings

HTML = ("&", "&amp;", "<", "&lt;", '"', "&quot;")
BACKSLASH = ("\\", "\\\\", '"', '\\"', "\n", "\\n")
ONE_BEGINS_ANOTHER = ("b", "xx", "c", "xxy", "x", "xyx")
TABLES = (HTML, BACKSLASH, ONE_BEGINS_ANOTHER, ())
TEXTS = st.text(st.sampled_from('&amp;lt<quo"\\\nnxybc é'))


@given(st.sampled_from([HTML, BACKSLASH]), TEXTS)
def test_written_text_reads_back(table, text):
    escapes = Escapes(table)
    assert escapes.read(escapes.write(text)) == text


@given(st.sampled_from(TABLES), TEXTS, st.data())
def test_chunks_read_as_the_whole_text(table, text, data):
    escapes, emitted = Escapes(table), []
    unescaped = Unescaped(escapes, emitted.append)
    for chunk in data.draw(chunkings(text)):
        unescaped.write(chunk)
        longest = max(map(len, escapes.spellings), default=1)
        assert len(unescaped.held) < longest
    unescaped.end()
    assert "".join(emitted) == escapes.read(text)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a &amp; b", "a & b"),
        ("&amp;lt;", "&lt;"),
        ("&amp", "&amp"),
        ("&gt; & &&amp;", "&gt; & &&"),
        ("&lt;&quot;", '<"'),
    ],
)
def test_only_complete_escapes_are_read(text, read):
    assert Escapes(HTML).read(text) == read


def test_escape_covers_its_own_characters():
    escapes = Escapes(BACKSLASH)
    assert escapes.reaches_over('a\\"b"', 2)
    assert escapes.reaches_over("a\\", 2) is False
    assert not escapes.reaches_over('a\\\\"b', 3)
    assert escapes.without('a\\"b\\\\"') == 'ab"'


def test_escapes_are_cached_and_false_if_empty():
    assert escapes_of(HTML) is escapes_of(HTML)
    assert [bool(escapes_of(table)) for table in TABLES] == [True, True, True, False]


@pytest.mark.parametrize("group", ["function.name_escapes", "arguments.value_escapes"])
@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (("&",), "must be pairs of a character and its spelling"),
        (("&&", "&amp;"), "only single characters can have a spelling"),
        (("", "&amp;"), "only single characters can have a spelling"),
        (("&", "+", "<", "+"), "must be unique"),
        (("&", "+", "&", "-"), "must be unique"),
        (("&", ""), "a spelling must have 1 to 32 characters"),
        (("&", "+" * 33), "a spelling must have 1 to 32 characters"),
    ],
)
def test_ambiguous_escapes_raise(group, pairs, words):
    name, field = group.split(".")
    with pytest.raises(FormatError, match=words) as refused:
        WireFormat().replace(**{name: {field: pairs}})
    assert group in str(refused.value)
