"""Texts as bytes: all encoders write the same bytes, and all clients can read them."""

from __future__ import annotations

import importlib
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse.partial import replace_surrogates
from deltaparse.protocols import sse, sse_writer
from deltaparse.protocols.sse_writer import frame_writer, numbered_writer

texts = st.text(st.characters()) | st.text('\u2028\u2029\x85\ud83d\ude00"\\\n\x00aé', max_size=99)


@given(text=texts)
def test_text_in_a_frame_is_json(text):
    for written in (text, text * 40):
        found = frame_writer('{"a":', "}\n")(written)
        assert json.loads(found) == {"a": replace_surrogates(written)}
        assert len(found.decode().splitlines()) == 1
        kept = []
        numbered = numbered_writer('{"a":', ',"n":', iter([7]), kept.append)(written)
        assert kept == [written]
        assert json.loads(numbered) == {"a": replace_surrogates(written), "n": 7}
        event = {"a": written}
        assert sse([event]) == b"data: " + frame_writer('{"a":', "}\n\n")(written)


@pytest.fixture
def encoders(monkeypatch):
    """Return a function that selects the encoder of long texts."""

    def only(name):
        for other in {"orjson", "msgspec.json"} - {name}:
            monkeypatch.setitem(sys.modules, other, None)
        sse_writer.fastest_encoder.cache_clear()

    yield only
    sse_writer.fastest_encoder.cache_clear()


@pytest.mark.parametrize("name", ["orjson", "msgspec.json", "json"])
def test_every_encoder_writes_the_same(encoders, name):
    importlib.import_module(name) if name == "json" else pytest.importorskip(name)
    encoders(name)
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x10000), 0x1F600, 0x10FFFF]))
    for text in ("a" * 99, '\x7f\x00\b\f\n\r\t"\\/' * 9, "é\ud83d" * 70, every):
        written = frame_writer("", "")(text)
        assert json.loads(written) == replace_surrogates(text)
        expected = json.dumps(replace_surrogates(text), ensure_ascii=False)
        for end in "\x85\u2028\u2029":
            expected = expected.replace(end, f"\\u{ord(end):04x}")
        assert written == expected.encode()


def test_non_json_numbers_are_replaced():
    inf = float("inf")
    event = {"a": [-inf, (inf, 1.5)], "b": {"c": float("nan")}}
    assert json.loads(sse([event])[6:]) == {"a": [-9999.0, [None, 1.5]], "b": {"c": None}}


def test_event_name_is_its_type():
    assert sse([{"type": "ping"}, {"a": 1}]) == (
        b'event: ping\ndata: {"type":"ping"}\n\ndata: {"a":1}\n\n'
    )
