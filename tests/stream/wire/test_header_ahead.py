"""Tests of the recognition of headers, in any chunking."""

from __future__ import annotations

import pytest

from deltaparse import get_format
from deltaparse.stream.wire.channel_markers import ChannelMarkers
from deltaparse.stream.wire.header_ahead import header_ahead

MARKS = ChannelMarkers(get_format("gpt_oss"))
MUSE = ChannelMarkers(get_format("muse_glimmer"))
WHOLE = [
    "<|start|><|message|>",
    "<|channel|> final<|message|>",
    "<|start|>assistant<|message|>",
    "<|start|>user<|message|>",
    "<|start|>assistant<|channel|>final<|message|>",
    "<|start|>functions.f to=assistant<|channel|>commentary<|message|>",
    "<|start|>assistant to=functions.f<|channel|>commentary json<|message|>",
    "<|start|> to=functions.f<|channel|>commentary<|message|>",
    "<|channel|>commentary to= functions.f\n<|message|>",
    "<|channel|>commentary to=functions.f <|constrain|>json<|message|>",
    "<|constrain|>json<|channel|>commentary to=functions.f<|message|>",
]
NONE = [
    "<|start|>` opens",
    "<|start|> opens a message",
    "<|start|>{role}<|message|>",
    "<|start|>.Use <|message|>",
    "<|start|>assistant<|end|>",
    "<|start|>assistant<|start|>",
    "<|channel|><|message|>",
    "<|channel|>, <|message|>",
    "<|channel|>final I think so<|message|>",
    "<|channel|>final<|channel|>analysis<|message|>",
    "<|channel|>" + "a" * 300 + "<|message|>",
    "<|channel|>final" + " " * 40 + "<|message|>",
]


def first(text):
    return text[: text.index(">") + 1]


@pytest.mark.parametrize("text", WHOLE)
def test_header_is_recognized_at_its_last_marker(text):
    marker = first(text)
    assert header_ahead(MARKS, marker, f"a{text} b", 1) == 1 + len(text)
    for cut in range(len(marker), len(text)):
        assert header_ahead(MARKS, marker, f"a{text[:cut]}", 1) == 1


@pytest.mark.parametrize("text", NONE)
def test_text_that_cannot_be_a_header_is_rejected_early(text):
    assert header_ahead(MARKS, first(text), f"a{text} b", 1) == -1
    made = [header_ahead(MARKS, first(text), text[:cut], 0) for cut in range(9, len(text) + 1)]
    assert made == sorted(made, reverse=True)
    assert set(made) <= {0, -1}


def test_header_with_a_recipient_but_no_channel():
    text = "<|start|>assistant to=f<|message|>"
    assert header_ahead(MUSE, "<|start|>", text, 0) == len(text)
