"""Server-sent events, compared with the rules of WHATWG's EventSource."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

pytest.importorskip("starlette", reason="the extra `serve` is not installed")

from deltaparse.gateway.faults import Fault
from deltaparse.gateway.upstreams.events import EventReader

ENDS = st.sampled_from(["\n", "\r\n", "\r"])
LINES = st.sampled_from(
    [
        "",
        "",
        "data: a",
        "data:b",
        "data:  c",
        "data",
        "data:",
        ": ping",
        "id: 1",
        "datax: 1",
        "\ufeff",
    ]
)


def events_of(text):
    """Return the events of a stream by the standard. The end of the stream also ends an event."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    found, data = [], []
    for line in [*text.split("\n")[:-1], ""]:
        if not line and data:
            found.append("\n".join(data))
            data = []
        name, _, value = line.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
    return found


def read(blocks):
    reader = EventReader(1000)
    found = [event for block in blocks for event in reader.feed(block)]
    return [event.decode() for event in found + reader.end()]


@given(st.booleans(), st.lists(st.tuples(LINES, ENDS), max_size=12), st.data())
@example(False, [("data: a", "\n"), ("", "\n")], None)
def test_events_equal_the_standard_at_every_chunking(has_bom, lines, data):
    text = "\ufeff" * has_bom + "".join(line + end for line, end in lines)
    stream = text.encode()
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=6)) if data else []
    blocks = [stream[a:b] for a, b in pairwise([0, *sorted(cuts), len(stream)])]
    assert read(blocks) == read([bytes([one]) for one in stream]) == events_of(text)


@given(st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=1, max_size=4))
def test_complete_events_as_blocks_equal_one_stream(ends):
    blocks = [f"data: {number}{end}{end}".encode() for number, end in enumerate(ends)]
    assert read(blocks) == [str(number) for number in range(len(ends))]


def test_many_comments_do_not_exceed_the_event_limit():
    reader = EventReader(100)
    for _ in range(50):
        assert reader.feed(b": ping\n") == []
    assert reader.feed(b"data: a\n\n") == [b"a"]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_endless_data_is_refused(end):
    reader = EventReader(100)

    def feed_on():
        while True:
            reader.feed(b"data:" + end)

    with pytest.raises(Fault, match="more than 100 bytes"):
        feed_on()
