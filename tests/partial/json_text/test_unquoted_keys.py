"""Unquoted keys: their ends, complete and at the end of the input."""

from __future__ import annotations

import pytest

from deltaparse.partial import MAX_TOKEN, marker_set
from deltaparse.partial.json_text.unquoted_keys import WORDS, own_key

from ...support import Driver

QUOTE = "<q>"


def read(text, *, size=None):
    """Return the key at the start of a text, and the rest of the text."""
    driver = Driver(lambda src, _: own_key(src, QUOTE, marker_set({"<end>", "[out:"})))
    driver.feed(*([text] if size is None else list(text)))
    driver.close()
    assert not driver.running
    return driver.result, driver.src.text[driver.src.pos :]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("abc:1,", "abc"),
        (" abc : -1.5e3}", "abc"),
        ("abc:<q>x", "abc"),
        ("abc:{", "abc"),
        ("abc:\n[", "abc"),
        ("a b:true]", "a b"),
        ("a:b:None,", "a:b"),
        ('"a":1,', '"a"'),
        ("a:1,", "a"),
        ("a:'b'", "a"),
        ('a b:"c"', "a b"),
        ('a:"b:1",', "a"),
        ("a:b'c:1,", "a:b'c"),
        *((f"abc:{word},", "abc") for word in WORDS),
        ("abc:Nothing,", ""),
        ("{a:1,", ""),
        ("abc:x,", ""),
        ("abc:x{", ""),
        (":1,", ""),
        ("a}", ""),
        ("a,b:1,", ""),
        ("x:1 y:2,", ""),
        ("x:1\n y:2,", ""),
        ("a\nb:1,", ""),
        ("a:8<end>x:1,", "a"),
        ("a b : -8 <end>x:1,", "a b"),
        ("a:true[out:x:1,", "a"),
        ("a:<q>[out:x:1,", "a"),
        ("a:[out", "a"),
        ("a:x<end>x:1,", ""),
        ("a<end>x:1,", ""),
        ("<end>x:1,", ""),
        ("a:1<en>:1,", "a:1<en>"),
        ("// a:1,", ""),
        ("/* a:1,", ""),
        ("/a:1,", "/a"),
        ("a" * MAX_TOKEN + ":1,", ""),
        ("a" * (MAX_TOKEN - 3) + ":1,", "a" * (MAX_TOKEN - 3)),
        # A possible marker beyond the limit of lookahead is text.
        ("a" * (MAX_TOKEN - 4) + ":[out:", "a" * (MAX_TOKEN - 4)),
    ],
)
def test_where_a_key_ends(text, key):
    assert read(text)[0] == key
    assert read(text)[1].lstrip() == text.strip().removeprefix(key).lstrip()
    if len(text) < 100:
        assert read(text, size=1) == read(text)


@pytest.mark.parametrize("text", [" :1,", "\n : 1,", " :[", ":<q>", "  a}"])
def test_text_without_a_key_stays_unread(text):
    assert read(text) == read(text, size=1) == ("", text)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("abc:", "abc"),
        ("abc:1", "abc"),
        ("abc: -", "abc"),
        ("abc: <q", "abc"),
        ("abc:tru", "abc"),
        ("abc:trux", ""),
        ("abc:x", ""),
        (":", ""),
        ("abc", None),
        ("/", None),
        ("", None),
    ],
)
def test_where_the_input_ends_in_one(text, key):
    for size in (None, 1):
        assert read(text, size=size) == (key, text.removeprefix(key or ""))


@pytest.mark.parametrize("size", [None, 1])
@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("a,b:1}", "a,b"),
        ("a,b:1,c:2}", "a,b"),
        ("a,b:c:1}", "a,b:c"),
        ("{a}:<q>x", "{a}"),
        ("a:1}", "a"),
        ("a:1 b:2}", "a:1 b"),
        ("a,bc:1}", ""),
    ],
)
def test_known_key_may_contain_delimiters(text, key, size):
    given = ("a,b:c", "a:1 b", "a,b", "{a}")
    driver = Driver(lambda src, _: own_key(src, QUOTE, marker_set(()), given))
    driver.feed(*([text] if size is None else list(text)))
    driver.close()
    assert (driver.result or "") == key
    assert driver.src.text[driver.src.pos :].startswith(":" if key else text[0])
