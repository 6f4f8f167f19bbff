"""Tests of the markers of a turn in channels, by position."""

from __future__ import annotations

import pytest

from deltaparse import WireFormat, get_format
from deltaparse.stream.wire.channel_markers import ChannelMarkers

CHANNELS = {
    "start": "\n<start> ",
    "channel": "<channel>\n",
    "recipient": " to=",
    "constrain": "<form> ",
    "message": "\n<message>\n",
    "ends": ("<call>\n", "\n<end>"),
}
TURN = {"headers": ("<start> the model\n",), "ends": ("<end>", "<stop>")}
FMT = WireFormat().replace(channels=CHANNELS, turn=TURN)
PARTS = {"<channel>", "to=", "<form>", "<message>"}
ENDS = {"<call>", "<end>", "<stop>", "<start>"}


@pytest.fixture
def marks():
    return ChannelMarkers(FMT)


def test_markers_are_stored_without_whitespace(marks):
    assert (marks.start, marks.message, marks.trailing) == ("<start>", "<message>", "\n")
    assert set(marks.parts) == set(marks.openers.literals) == PARTS
    assert marks.ends == tuple(sorted(ENDS))


def test_ends_of_messages_and_ends_of_the_turn(marks):
    assert marks.turn_ends == {"<end>", "<stop>"}
    assert marks.message_ends == {"<call>"}


def test_word_in_a_header_ends_at_markers_and_whitespace(marks):
    assert set(marks.in_header.literals) == PARTS | ENDS
    assert set(marks.after_word.literals) == PARTS | ENDS | set(" \t\r\n")


def test_body_ends_at_each_spelling_of_an_end(marks):
    spelled = {"<call>", "<end>", "\n<end>", "<stop>", "<start>", "\n<start>"}
    assert set(marks.after_body.literals) == spelled
    assert set(marks.in_text.literals) == spelled | PARTS - {"to="}


def test_role_is_a_marker_only_before_a_header(marks):
    first = {"<channel>", "to=", " to=", "<form>", "<message>"}
    roles = {"<start>the model"} | {f"the model{text}" for text in first}
    assert set(marks.outside.literals) == PARTS | ENDS | roles
    assert marks.longest == len("the model<channel>")


@pytest.mark.parametrize(
    ("headers", "role"),
    [
        (("<start> the model\n",), "the model"),
        (("<start>user hi<start>model",), "model"),
        (("<other>model:",), "model"),
        (("<>", "<other>model:"), "model"),
        ((), ""),
    ],
)
def test_role_is_read_from_the_header(headers, role):
    fmt = WireFormat().replace(channels=CHANNELS, turn={"headers": headers})
    assert ChannelMarkers(fmt).role == role


def test_format_without_channels_has_no_markers():
    marks = ChannelMarkers(get_format("hermes"))
    assert (marks.message, marks.ends, marks.longest) == ("", (), 0)
    assert not marks.outside.literals
    assert not marks.in_text.literals
    nameless = ChannelMarkers(WireFormat().replace(channels=CHANNELS))
    assert set(nameless.outside.literals) == PARTS | ENDS - {"<stop>"}


def test_fast_patterns_of_channels_are_cached():
    marks = ChannelMarkers(get_format("gpt_oss"))
    assert marks.usual is not None
    assert marks.usual is marks.usual
    assert ChannelMarkers(FMT).usual is None
    assert ChannelMarkers(get_format("gpt_oss").replace(channels={"start": ""})).usual is None


def test_whitespace_marker_is_ignored():
    fmt = FMT.replace(channels={"constrain": " ", "recipient": "\n"})
    assert set(ChannelMarkers(fmt).parts) == {"<channel>", "<message>"}
