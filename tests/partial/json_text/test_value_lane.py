"""The lane with a lexer, compared with a lexer that reads the same text without a lane."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse.partial import JsonLexer, JsonState, is_whole
from deltaparse.partial.json_text.value_lane import LONG_STRING, value_lane

from ...support import cuts, json_texts, nearly_json

S = JsonState
BEFORE = ["", '{"', '{"a"', '{"a":', '{"a":"b"', '["', '["a"', "[1,"]
TOKENS = ["", '"', "a", "\\", "n", ",", ":", "1", "tru", "é", "<", "[", "]}", "\ud83d", "\n"]
TEXTS = sorted({"".join(tokens) for tokens in product(TOKENS, repeat=2)})


class Counting(JsonLexer):
    """A lexer that counts its scans."""

    scans = 0

    def scan(self, text, pos=0, *, final=False):
        self.scans += 1
        return super().scan(text, pos, final=final)


def after(text):
    lexer = Counting()
    assert lexer.scan(text) == len(text)
    lexer.scans = 0
    return lexer


def stands(lexer):
    return lexer.state, lexer.stack


@pytest.mark.parametrize("firsts", ["", "<", "<[:"])
@pytest.mark.parametrize("before", BEFORE)
def test_passed_text_is_read_and_other_text_is_not(before, firsts):
    for text in TEXTS:
        lexer, reader = after(before), after(before)
        begun, lane = stands(lexer), value_lane(lexer, firsts)
        end = reader.scan(text)
        ends = reader.state in (S.DONE, S.BROKEN)
        odd = not is_whole(text) or any(first in text for first in firsts)

        found = lane.exact(text)
        assert (found is None) is (end == len(text) and not ends and not odd)
        assert stands(lexer) == (stands(reader) if found is None else begun)
        if found is not None:
            scans = lexer.scans
            split = lane.split(text)
            assert split == (-1 if ends or odd else end)
            assert stands(lexer) == (begun if split < 0 else stands(reader))
            # Scanned text is not read again.
            assert lexer.scans == scans + (reader.state is S.BROKEN and not odd)
            ended = reader.state is S.DONE and not odd
            assert lexer.foreseen == ((text, end) if ended else None)


@given(json_texts() | nearly_json(), st.data())
def test_it_goes_along_with_a_reader(text, data):
    lexer, reader = JsonLexer(), JsonLexer()
    lane, held = value_lane(lexer, ""), ""
    for chunk in data.draw(cuts(text)):
        held += chunk
        passed = len(held)
        if lane.quick(held) is not None:
            passed = lane.split(held)
            if passed < 0:  # Only the reader reads this text.
                passed = lexer.scan(held)
        assert passed == reader.scan(held)
        assert stands(lexer) == stands(reader)
        held = held[passed:]


def test_a_long_string_is_left_to_the_lane_of_strings():
    lexer = after('["')
    lane = value_lane(lexer, "")
    for _ in range(2):
        assert [lane.exact("é") is None for _ in range(LONG_STRING + 1)] == [True] * 3 + [False]
        assert lane.split("é") == -1
        assert stands(lexer) == (S.STRING, "[")


def test_each_string_may_be_so_long():
    lane = value_lane(after("["), "")
    for chunk in ['"', *"abc", '"', ', "', *"abc", '", ', '"a', *"bcd"]:
        assert lane.exact(chunk) is None
    assert lane.exact("e")
    lane = value_lane(after('[["'), "")
    for chunk in [*"abc", 'd", "e', *"fgh", '"], ', '["i', *"jkl"]:
        assert lane.exact(chunk) is None
    assert lane.exact("m")


def test_between_strings_any_number_of_chunks_may_pass():
    lane = value_lane(after("[[],"), "")
    for _ in range(3 * LONG_STRING):
        assert lane.exact("[],") is None


def test_split_reads_untested_text():
    lexer = after("[")
    lane = value_lane(lexer, "")
    for text, end in [('"a", ', 5), ("1, 23", 3), ("23, tr", 4), ("true, {", 7), ("1", -1)]:
        assert lane.split(text) == end
    assert stands(lexer) == (S.AFTER_OPEN, "[{")


@pytest.mark.parametrize("chunk", [b"", b"a", b'"'])
@pytest.mark.parametrize("firsts", ["", "<"])
@pytest.mark.parametrize("begun", ['["', '"'])
def test_bytes_raise_type_error(begun, chunk, firsts):
    with pytest.raises(TypeError):
        value_lane(after(begun), firsts).exact(chunk)
