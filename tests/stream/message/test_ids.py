"""Tests of ids: from the model, built-in, and from a factory."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import (
    StreamParser,
    TokenParser,
    UsageError,
    Vocabulary,
    call_id,
    mistral_call_id,
    parse,
    random_call_id,
)
from deltaparse.stream import CallPlace
from deltaparse.stream.message import ids as ids_module
from deltaparse.stream.message.ids import nine_characters

from ...strategies.requests import options
from ...strategies.wire_by_hand import CALL, LIST, OTHER, TAGS, fed
from ...strategies.wire_json_and_tags import soups
from ...support import cuts
from ..invariants import run

PLACES = st.builds(
    CallPlace, name=st.text(), index=st.integers(0), offset=st.integers(0), prompt=st.text()
)


def ids(message):
    return [call.id for call in message.tool_calls]


@given(one=PLACES, other=PLACES)
def test_built_in_ids_depend_only_on_the_place(one, other):
    for factory, shape in (
        (call_id, r"call_[0-9a-zA-Z]{24}"),
        (mistral_call_id, r"[0-9a-zA-Z]{9}"),
    ):
        assert re.fullmatch(shape, factory(one))
        assert (factory(one) == factory(other)) == (one == other)


def test_ids_differ_between_calls_and_between_prompts():
    first = ids(parse(CALL + CALL, TAGS))
    second = ids(parse(CALL + CALL, TAGS, prompt="<|start|>model\n"))
    assert len({*first, *second}) == 4
    assert first == ids(parse(CALL + CALL, TAGS))


def test_prompt_is_hashed_once_for_all_calls(monkeypatch):
    hashed = []
    key_of = ids_module._key_of
    monkeypatch.setattr(
        ids_module, "_key_of", lambda prompt: hashed.append(prompt) or key_of(prompt)
    )
    prompt = "<|start|>model\n"
    made = ids(parse(CALL * 5, TAGS, prompt=prompt))
    assert hashed == [prompt]
    size = len(CALL)
    assert made == [
        call_id(CallPlace(name="f", index=at, offset=at * size, prompt=prompt)) for at in range(5)
    ]


def test_factory_receives_the_place_of_each_call_once():
    places = []

    def factory(place):
        places.append(place)
        return f"functions.{place.name}:{place.index}"

    message = parse(f"ab{CALL}{OTHER}", TAGS, id_factory=factory, prompt="<|start|>model\n")
    assert ids(message) == ["functions.f:0", "functions.g:1"]
    prompt = "<|start|>model\n"
    assert places == [
        CallPlace(name="f", index=0, offset=2, prompt=prompt),
        CallPlace(name="g", index=1, offset=2 + len(CALL), prompt=prompt),
    ]


def test_id_of_the_model_is_kept():
    text = '[CALLS][{"name": "f", "arguments": {}, "id": "k3Qz81abC"}, {"name": "g"}]'
    parser = fed(LIST, text, id_factory=mistral_call_id)
    own, made = ids(parser.message)
    assert own == "k3Qz81abC"
    assert re.fullmatch("[0-9a-zA-Z]{9}", made)


def test_call_read_twice_has_one_id():
    """Check a call in reasoning, which is read as a draft first."""
    numbers = itertools.count()
    message = parse(
        f"<think>so {CALL}{OTHER}",
        TAGS,
        finish_reason="stop",
        id_factory=lambda _: f"n{next(numbers)}",
    )
    assert ids(message) == ["n0", "n1"]


def test_only_the_open_prompt_call_takes_an_id():
    numbers = itertools.count()
    prompt = f"<|start|>model\n{CALL}{OTHER[:-20]}"
    parser = StreamParser(TAGS, prompt=prompt, id_factory=lambda _: f"n{next(numbers)}")
    parser.feed(OTHER[-20:] + CALL)
    parser.finish("stop")
    assert ids(parser.message) == ["n0", "n1"]


@given(case=soups(), kw=options, data=st.data())
def test_factory_is_called_once_for_each_call_without_an_id(case, kw, data):
    fmt, text = case
    asked = []

    def factory(place):
        asked.append(place.index)
        return f"made {len(asked)}"

    parser, _ = run(fmt, data.draw(cuts(text)), id_factory=factory, **kw)
    made = [call.id for call in parser.message.tool_calls if call.id.startswith("made ")]
    assert made == [f"made {at}" for at in range(1, len(asked) + 1)]


@pytest.mark.parametrize("made", ["", None, 7])
def test_invalid_id_is_an_error(made):
    with pytest.raises(UsageError, match="must return a non-empty string"):
        parse(CALL, TAGS, id_factory=lambda _: made)


def test_exception_of_a_factory_is_a_usage_error_and_keeps_output():
    def factory(place):
        raise KeyError(place.name)

    parser = StreamParser(TAGS, id_factory=factory)
    with pytest.raises(UsageError, match=r"KeyError\('f'\)"):
        parser.feed(f"before{CALL}")
    parser.feed("after")
    parser.finish("stop")
    assert parser.message.content.startswith("before")
    assert parser.message.content.endswith("after")
    with pytest.raises(
        UsageError, match=r"a function of a CallPlace, e.g. lambda place: .*'call_1'"
    ):
        parse(CALL, TAGS, id_factory="call_1")


@pytest.mark.parametrize("text", ["", "a", "\ud800", "call_\udfff" * 99])
def test_any_text_makes_an_id(text):
    """Check lone surrogates, which names and prompts from JSON may contain."""
    place = CallPlace(name=text, index=0, offset=0, prompt=text)
    assert re.fullmatch("call_[0-9a-f]{24}", call_id(place))
    for made in (mistral_call_id(place), nine_characters(text)):
        assert re.fullmatch("[0-9a-zA-Z]{9}", made)
    assert nine_characters(text) == nine_characters(text) != nine_characters(f"{text}.")


def test_random_ids_are_unique_and_have_the_usual_form():
    ids = {parse(CALL, TAGS, id_factory=random_call_id).tool_calls[0].id for _ in range(50)}
    assert len(ids) == 50
    assert all(re.fullmatch("call_[0-9a-f]{24}", made) for made in ids)


def fed_again(make, chunks, *, caught):
    """Feed a parser whose factory calls `feed` and `finish` of the same parser."""
    refused = []

    def factory(place):
        for again in (lambda: parser.feed(chunks[0]), lambda: parser.finish("stop")):
            with pytest.raises(UsageError, match="the id factory called") as raised:
                again()
            refused.append(str(raised.value))
        if not caught:
            parser.feed(chunks[0])
        return f"n{place.index}"

    parser = make(factory)
    for chunk in chunks:
        parser.feed(chunk)
    parser.finish("stop")
    assert len(refused) == 4
    return parser.message


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_factory_that_feeds_its_parser_raises(size):
    text = f"before {CALL} after {OTHER} end"
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    want = parse(text, TAGS, finish_reason="stop", id_factory=lambda place: f"n{place.index}")

    def make(factory):
        return StreamParser(TAGS, id_factory=factory)

    assert fed_again(make, chunks, caught=True) == want
    with pytest.raises(UsageError, match="the id factory called"):
        fed_again(make, chunks, caught=False)


def test_factory_that_feeds_its_token_parser_raises():
    text = f"before {CALL} after {OTHER} end"
    vocabulary = Vocabulary({at: bytes([at]) for at in range(128)})
    want = parse(text, TAGS, finish_reason="stop", id_factory=lambda place: f"n{place.index}")

    def make(factory):
        return TokenParser(TAGS, vocabulary, id_factory=factory)

    for chunks in ([ord(one) for one in text], [[ord(one) for one in text]]):
        assert fed_again(make, chunks, caught=True) == want
        with pytest.raises(UsageError, match="the id factory called"):
            fed_again(make, chunks, caught=False)
