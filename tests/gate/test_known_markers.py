"""Markers of all named and registered formats."""

from __future__ import annotations

import re

import pytest

from deltaparse import WireFormat, register_format
from deltaparse.gate.known_markers import CLOSES, CURLY, DOUBLE, OPENS, known_markers
from deltaparse.stream.wire.named import registry


@pytest.fixture
def known(monkeypatch):
    """Return the known markers after the registration of a format."""
    monkeypatch.setattr(registry.Registered, "entries", dict(registry._entries()))

    def register(**groups):
        register_format("mine", WireFormat().replace(**groups))
        return known_markers()

    return register


def begins(pattern, text):
    """Return the match of a pattern at the beginning of a text."""
    found = re.match(pattern, text)
    return found and found[0]


@pytest.mark.parametrize("header", ["<|mine|>assistant", "\n<|mine|> "])
def test_special_tokens_of_headers_and_content_are_known(known, header):
    own = {f"<|{name}|>" for name in ("mine", "go", "say", "said", "start", "ch", "msg", "end")}
    assert not own - {"<|start|>", "<|end|>"} & known_markers().specials
    channels = {"start": "<|start|>", "channel": "<|ch|>", "message": "<|msg|>"}
    specials = known(
        turn={"headers": (header,), "generation_prompt": "<|go|>model\n"},
        content={"mode": "ALWAYS_WRAPPED", "start": "<|say|>\n", "end": "<|said|>"},
        channels=channels | {"ends": ("<|end|>",)},
    ).specials
    assert own <= specials
    assert all(text[:1] == "<" and text[-1:] == ">" for text in specials)


@pytest.mark.parametrize(
    ("header", "others"),
    [
        ("<|mine|>assistant<|is|>", ["<|mine|>user<|is|>", "<|mine|>System"]),
        ("\n<|mine: chatbot|>\n", ["<|mine: human|>", "<|mine: Tool|>"]),
        ("<mine ai>", ["<mine ipython>", "<mine environment>"]),
    ],
)
def test_header_of_another_speaker_ends_the_turn(known, header, others):
    assert not any(begins(known_markers().ends, other) for other in others)
    ends = known(turn={"headers": (header,)}).ends
    assert all(begins(ends, other) for other in others)
    assert not begins(ends, header.strip())


@pytest.mark.parametrize("header", ["mine assistant:", "<mine>", "<mine maid>", "<mine>aide"])
def test_header_without_role_or_marker_does_not_end_the_turn(known, header):
    ends = known(turn={"headers": (header,)}).ends
    for other in (header, re.sub("assistant|ai", "user", header)):
        assert not begins(ends, other)


@pytest.mark.parametrize(
    ("groups", "opener"),
    [
        ({"channel": "<|ch|>\n", "recipient": "@"}, "<|ch|>\nmine"),
        ({"channel": "<|ch|> "}, "<|ch|>mine"),
        ({"recipient": " to="}, "to=mine"),
    ],
)
def test_reasoning_channel_begins_reasoning(known, groups, opener):
    opener = opener.replace("\n", "")
    assert not begins(known_markers().opens, opener)
    markers = known(channels=groups | {"message": "<|msg|>", "reasoning": ("mine",)})
    assert begins(markers.opens, opener) == opener
    assert not begins(markers.opens, "@mine")


def test_element_is_known_without_whitespace(known):
    reasoning = {"mode": "TAG_BASED", "start": "\n<mine>\n", "end": "\n</mine>\n"}
    markers = known(reasoning=reasoning)
    assert begins(markers.opens, "<mine a='b'>") == "<mine"
    assert begins(markers.closes, "</MINE >") == "</MINE"


@pytest.mark.parametrize("family", ['"', "\uff02", "″", "“”„‟", "«»", "‹›"])
def test_ambiguous_quotation_marks_form_families(family):
    assert {DOUBLE[mark] for mark in family} == {family}
    assert not set(family) & {*OPENS, *CLOSES, *CURLY}


def test_single_quotation_marks_exclude_apostrophes():
    assert set(CURLY) == set("‘‚‛")
