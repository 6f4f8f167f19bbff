"""Tests of the fast path for headers in channels, and between messages."""

from __future__ import annotations

import pytest

from deltaparse import get_format
from deltaparse.partial import Window
from deltaparse.stream.wire.channel_markers import ChannelMarkers

FMT = get_format("gpt_oss")
TO, FORM = " to=functions.f-1", "<|constrain|>json"
HEADERS = [
    ("<|channel|>final<|message|>", "final", None),
    ("<|channel|>final <|message|>", "final", None),
    (f"<|channel|>a{TO}<|message|>", "a", "functions.f-1"),
    (f"<|channel|>a{TO} <|message|>", "a", "functions.f-1"),
    (f"<|channel|>a{FORM}<|message|>", "a", None),
    (f"<|channel|>a {FORM} <|message|>", "a", None),
    (f"<|channel|>a{TO}{FORM}<|message|>", "a", "functions.f-1"),
    (f"<|channel|>a{TO} {FORM}<|message|>", "a", "functions.f-1"),
]


def steps(fmt=FMT):
    return ChannelMarkers(fmt).usual


@pytest.mark.parametrize(("text", "channel", "recipient"), HEADERS)
def test_header_pattern_waits_at_each_character(text, channel, recipient):
    usual = steps()
    found = usual.header.match(f"{text}so")
    assert (found[1], found[2], found.end()) == (channel, recipient, len(text))
    next_one = f"<|start|>assistant{text}"
    for end in ("<|call|>", "<|end|>"):
        behind = usual.following.match(f"{end}{next_one}")
        assert behind.end() == len(f"{end}<|start|>assistant")
        for step, whole in ((usual.header, text), (usual.following, f"{end}{next_one}")):
            for size in range(len(whole)):
                assert step.match(whole[:size]) is None
                assert step.may_follow(Window(whole[:size])), whole[:size]
                assert not step.may_follow(Window(whole[:size] + "\x00"))


@pytest.mark.parametrize(
    "text",
    [
        "<|channel|><|message|>",
        "<|channel|>a<|message|"[:-1] + "!",
        "<|channel|>a  <|message|>",
        f"<|channel|>a {TO}<|message|>",
        f"{TO}<|channel|>a<|message|>",
        f"<|channel|>a{FORM}{TO}<|message|>",
        f"<|channel|>a{TO}{TO}<|message|>",
        "<|channel|>a b<|message|>",
        "<|channel|>" + "a" * 129 + "<|message|>",
    ],
)
def test_unusual_header_is_not_matched(text):
    assert steps().header.match(text) is None
    assert steps().following.match(f"<|call|><|start|>assistant{text}") is None


def test_following_pattern_needs_the_end_of_a_message():
    header = HEADERS[0][0]
    assert steps().following.match(f"<|return|><|start|>assistant{header}") is None
    assert steps().following.match(f"<|call|><|start|>user{header}") is None
    assert steps().following.match(f"<|call|>{header}") is None


@pytest.mark.parametrize(
    "groups",
    [
        {"channels": {"channel": " "}},
        {"channels": {"recipient": " "}},
        {"channels": {"constrain": ""}},
        {"channels": {"start": ""}},
        {"channels": {"ends": ("<|return|>",)}},
        {"turn": {"headers": ()}},
        # Whitespace after the marker is skipped if present.
        {"channels": {"message": "<|message|>\n"}},
        # A marker could be part of a word, or begin inside one.
        {"channels": {"constrain": "form="}},
        {"channels": {"recipient": " to"}},
        {"channels": {"recipient": " to:"}},
        {"channels": {"ends": ("end", "<|call|>")}},
        # One marker is the beginning of another.
        {"channels": {"ends": ("<|call|>", "<|call|>s")}},
        {"channels": {"channel": "<|c|>", "constrain": "<|c|>s"}},
    ],
)
def test_ambiguous_channel_markers_have_no_fast_patterns(groups):
    assert steps(FMT.replace(**groups)) is None


def test_whitespace_around_header_markers_is_optional():
    channels = {"channel": "\n<|channel|> ", "recipient": "to=\n", "message": "\n<|message|>"}
    channels |= {"constrain": " <|constrain|>\n"}
    usual = steps(FMT.replace(channels=channels))
    for text, channel, recipient in HEADERS:
        found = usual.header.match(text)
        assert (found[1], found[2]) == (channel, recipient)
        assert usual.following.match(f"<|call|><|start|>assistant{text}")
        assert all(usual.header.may_follow(Window(text[:size])) for size in range(len(text)))
