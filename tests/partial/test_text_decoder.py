"""Decoded chunks, compared with Python's decoding of the complete input."""

from __future__ import annotations

import codecs
import gc
import itertools
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse.partial import TextDecoder, UsageError, is_whole
from deltaparse.partial import text_decoder as decode

from ..support import cuts

# Beginnings, middles and ends of characters, and invalid bytes.
BYTES = [b"a", b"\x80", b"\x9f", b"\xa0", b"\xbd", b"\xbf", b"\xc0", b"\xc3", b"\xe0", b"\xed"]
BYTES += [b"\xef", b"\xf0", b"\xf4", b"\xff", "é€😀\ufffd".encode(), b"\xef\xbf\xbd", b"\xed\xa0"]
SPOILED = st.lists(st.sampled_from(BYTES), max_size=8).map(b"".join) | st.binary(max_size=12)
HALVES = st.text("aé\ufffd😀\ud83d\ude00\udbff\udc00", max_size=8)
KINDS = st.sampled_from([bytes, bytearray, memoryview])


def decoded(chunks):
    """Return the decoder after all chunks, and its results."""
    decoder = TextDecoder()
    return decoder, [*map(decoder.feed, chunks), decoder.finish()]


def replacements(decoder):
    """Return the decoder's number of replacements, and the offsets of the first and last."""
    return decoder.replaced, decoder.first_replaced, decoder.last_replaced


def places(marked, text):
    """Return the same, from a text with surrogates in place of the replacements in `text`.

    For one replacement, `marked` may have several surrogates.
    """
    is_bad = ["\ud800" <= char <= "\udfff" for char in marked]
    if True not in is_bad:
        return 0, None, None
    count = text.count("\ufffd") - marked.count("\ufffd")
    return count, is_bad.index(True), len(text) - 1 - is_bad[::-1].index(True)


def paired(text):
    """Return the text with its pairs of surrogates joined."""
    whole = []
    for char in text:
        if whole and "\ud800" <= whole[-1] <= "\udbff" and "\udc00" <= char <= "\udfff":
            high, low = ord(whole.pop()) - 0xD800, ord(char) - 0xDC00
            whole.append(chr(0x10000 + high * 0x400 + low))
        else:
            whole.append(char)
    return "".join(whole)


def replaced(text):
    """Return the text with U+FFFD for each surrogate."""
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)


@given(SPOILED, KINDS, st.data())
def test_bytes_cut_anywhere(whole, kind, data):
    decoder, emitted = decoded(kind(chunk) for chunk in data.draw(cuts(whole)))
    expected = whole.decode("utf-8", "replace")

    assert "".join(emitted) == expected
    assert replacements(decoder) == places(whole.decode("utf-8", "surrogateescape"), expected)
    assert decoder.offset == len(expected)


def test_all_short_sequences_of_bytes():
    some = [bytes([byte]) for byte in b"a\x80\x9f\xa0\xc3\xe0\xed\xf0\xf4"]
    for chunks in itertools.product(some, repeat=4):
        decoder, emitted = decoded(chunks)
        whole = b"".join(chunks)
        expected = whole.decode("utf-8", "replace")

        assert "".join(emitted) == expected
        assert replacements(decoder) == places(whole.decode("utf-8", "surrogateescape"), expected)


@given(HALVES, st.data())
def test_strings_cut_anywhere(text, data):
    decoder, emitted = decoded(data.draw(cuts(text)))
    expected = paired(text)

    assert "".join(emitted) == replaced(expected)
    assert replacements(decoder) == places(expected, replaced(expected))


@given(st.lists(SPOILED | HALVES, max_size=6), st.data())
def test_strings_and_bytes_in_turn(parts, data):
    """Return the text of each run of chunks of one kind, decoded separately."""
    runs = [(kind, list(run)) for kind, run in itertools.groupby(filter(None, parts), type)]
    expected = marked = ""
    for kind, run in runs:
        whole = kind().join(run)
        if kind is bytes:
            expected += whole.decode("utf-8", "replace")
            marked += whole.decode("utf-8", "surrogateescape")
        else:
            expected += replaced(paired(whole))
            marked += paired(whole)
    decoder, emitted = decoded(
        chunk for _, run in runs for part in run for chunk in data.draw(cuts(part))
    )

    assert "".join(emitted) == expected
    assert replacements(decoder) == places(marked, expected)
    assert all(map(is_whole, emitted))


@given(st.lists(SPOILED | HALVES, max_size=6))
def test_only_half_a_character_waits(parts):
    decoder = TextDecoder()
    for part in parts:
        assert is_whole(decoder.feed(part))
        if not decoder.waiting:
            assert decoder.finish() == ""
        elif isinstance(part, str):
            assert "\ud800" <= part[-1:] <= "\udbff" or not part
    waits = decoder.waiting
    assert bool(decoder.finish()) == waits
    assert decoder.finish() == ""


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([b"caf\xc3", b"\xa9"], ["caf", "é", ""]),
        ([b"\xf0", b"\x9f", b"\x98", b"\x80"], ["", "", "", "😀", ""]),
        ([b"\xe2\x82", "x"], ["", "\ufffdx", ""]),
        ([b"\xe2\x82", "", b"", b"\xac"], ["", "", "", "€", ""]),
        ([b"a\xff", b"\xf0\x9f"], ["a\ufffd", "", "\ufffd"]),
        ([b"\xed", b"\xa0"], ["", "", "\ufffd\ufffd"]),
        (["\ud83d", "\ude00"], ["", "😀", ""]),
        (["\ud800", "\udc00", "\udbff", "\udfff"], ["", "\U00010000", "", "\U0010ffff", ""]),
        (["a\ud83d", "", "b"], ["a", "", "\ufffdb", ""]),
        (["\ud83d", "\ud83d", "\ude00"], ["", "\ufffd", "😀", ""]),
        (["\ud83d", b"", b"\xc3\xa9"], ["", "", "\ufffdé", ""]),
        (["\ude00\ud83d"], ["\ufffd", "\ufffd"]),
        (["\ufeff\ud83d\ude00"], ["\ufeff😀", ""]),
        ([b"\xef\xbb\xbfa"], ["\ufeffa", ""]),
    ],
)
def test_decoded_text_of_each_chunk(chunks, expected):
    assert decoded(chunks)[1] == expected


def test_replacement_characters_in_input_are_not_counted():
    decoder, emitted = decoded(["\ufffd", "\ufffd".encode(), b"\xff\xef\xbf\xbd", "\ufffd\ude00"])

    assert "".join(emitted) == "\ufffd" * 6
    assert replacements(decoder) == (2, 2, 5)


@pytest.mark.parametrize("chunks", [["\ud83d", "\ude00"], [b"\xf0\x9f", b"\x98\x80"]])
def test_surrogate_pairs_are_not_replaced(chunks):
    assert replacements(decoded(chunks)[0]) == (0, None, None)


@pytest.mark.parametrize("half", ["\ud83d", b"\xf0\x9f"])
def test_half_a_character_at_the_end_is_replaced_once(half):
    decoder, emitted = decoded([half])

    assert (emitted, decoder.waiting) == (["", "\ufffd"], False)
    assert decoder.finish() == ""
    assert replacements(decoder) == (1, 0, 0)


def test_plain_text_goes_through_untouched():
    for text in ("", "plain", "né 😀 你好"):
        decoder = TextDecoder()
        assert decoder.feed(text) is text
        assert replacements(decoder) == (0, None, None)


def test_text_may_go_past_a_decoder_whose_offset_is_moved():
    decoder = TextDecoder()
    decoder.feed("ab")
    decoder.offset += 3
    decoder.feed(b"c\xff")

    assert decoder.first_replaced == 6


def test_a_string_of_another_class_is_a_string():
    class Text(str):
        __slots__ = ()

    assert decoded([Text("\ud83d"), Text("\ude00")])[1] == ["", "😀", ""]


@pytest.mark.parametrize("text", ["", "a", "é", "😀", "\ud7ff\ue000"])
def test_whole(text):
    assert is_whole(text)
    assert not is_whole(f"{text}\ud800")
    assert not is_whole(f"\udfff{text}")


@pytest.mark.parametrize("wrong", [None, 7, [b"a"], {"text": "a"}])
def test_other_chunks_are_refused(wrong):
    decoder = TextDecoder()
    decoder.feed(b"\xc3")
    with pytest.raises(UsageError, match="str or bytes, not"):
        decoder.feed(wrong)
    assert decoder.feed(b"\xa9") == "é"


# Cost, as a number of function calls.


def calls(feed, chunk):
    """Return the number of Python and C functions called by one feed."""
    count = 0

    def profile(frame, event, arg):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    gc.disable()  # The counting itself also ends with calls.
    sys.setprofile(profile)
    try:
        feed(chunk)
    finally:
        sys.setprofile(before)
        gc.enable()
    return count


@pytest.mark.parametrize(
    "unit",
    ["a", "é", "\ud83d", "\ud83d\ude00", "\ude00a", b"\xff", b"\xf0\x9f", b"a\xff"],
)
def test_a_long_chunk_needs_no_more_calls_than_a_short_one(unit):
    few, many = (calls(TextDecoder().feed, unit * times) for times in (10, 100_000))

    assert few == many < 40


def test_a_byte_is_decoded_a_fixed_number_of_times(monkeypatch):
    sizes = []

    def counting(data, errors, final):
        sizes.append(len(data))
        return codecs.utf_8_decode(data, errors, final)

    monkeypatch.setattr(decode, "utf_8_decode", counting)
    for size in (1, 2, 3, 1000):
        sizes.clear()
        data = b"\xf0\x9f\xff\xf0\x9f\x98" * 500
        decoder = TextDecoder()
        for at in range(0, len(data), size):
            decoder.feed(data[at : at + size])
        # Three times, including up to three waiting bytes.
        assert sum(sizes) <= 3 * (len(data) + 3 * -(-len(data) // size))


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        (b"\xffab\xe2", (1, 0, 0)),
        (b"a\xffb\xff\xf0\x9f", (2, 1, 3)),
        (b"\xe2\x82", (0, None, None)),
    ],
)
def test_waiting_half_is_not_replaced(chunk, expected):
    decoder = TextDecoder()
    decoder.feed(chunk)

    assert decoder.waiting
    assert replacements(decoder) == expected
