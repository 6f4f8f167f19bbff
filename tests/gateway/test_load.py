"""Many concurrent responses, some with faults. Each equals the parser's result for its output."""

from __future__ import annotations

import asyncio
import json
import os

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaparse import parse
from deltaparse.gateway.faults import Fault
from deltaparse.gateway.stop_strings import Stops
from deltaparse.gateway.upstreams.events import EventReader

from .asking import ASKED, KINDS, PATHS, READERS, TOOL, TOOLS
from .scripted import Script

AT_A_TIME = int(os.environ.get("DELTAPARSE_STREAMS", "60"))
"""Number of concurrent streams. `make test-gateway` uses 500."""

FAULTS = (None, "die", None, "cut", "rubbish", None, "error", "leave", None)


def output_of(number):
    call = {"name": "add", "arguments": {"a": number, "b": f"é{number}🙂"}}
    written = json.dumps(call, ensure_ascii=False)
    return f"<ponder>\nN {number}.\n</ponder>\n\nIt is {number}.\n<call>\n{written}\n</call>"


def plain(message):
    calls = [(call.name, json.loads(call.arguments)) for call in message.tool_calls]
    return message.content, message.reasoning_content, calls


async def test_each_response_belongs_to_its_own_request(gateways, upstream):
    """Streamed and complete responses from each kind of upstream, with faults in between."""
    served = [gateways(kind=kind) for kind in KINDS]
    upstream.plays()
    outputs = [output_of(number) for number in range(AT_A_TIME)]
    for number, output in enumerate(outputs):
        size = 1 + number % 7
        chunks = [output[at : at + size] for at in range(0, len(output), size)]
        fault = FAULTS[number % len(FAULTS)]
        fault = "hang" if fault == "leave" else fault
        upstream.by_prompt[f"<{number}>"] = Script(chunks=chunks, fault=fault, pause=0.001)

    async def ask(client, number):
        path, whole = PATHS[number % 3], number % 5 == 4
        body = json.loads(json.dumps(ASKED[path]).replace("Hi", f"<{number}>"))
        body |= {"stream": not whole, "tools": TOOLS[path]}
        url = served[number % len(KINDS)].url + path
        leaves = FAULTS[number % len(FAULTS)] == "leave"
        try:
            answer = await client.post(url, json=body, timeout=120 if not leaves else 0.4)
        except httpx.ReadTimeout:
            return None
        return answer.json() if whole else answer.content

    async with httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=None)) as client:
        answers = await asyncio.gather(*[ask(client, number) for number in range(AT_A_TIME)])
    for number, answer in enumerate(answers):
        fault = FAULTS[number % len(FAULTS)]
        if fault == "leave":
            assert answer is None
            continue
        if fault is not None and number % 5 == 4:
            assert answer["error"]["message"], number
            continue
        got = READERS[PATHS[number % 3]](answer)
        want = parse(outputs[number], served[0].model.fmt, tools=[TOOL], finish_reason="stop")
        assert plain(got) == plain(want), number
        assert ("stream_error" in {issue.kind for issue in got.issues}) is bool(fault), number
    for _ in range(100):
        if not any(one.gateway.open for one in served):
            break
        await asyncio.sleep(0.05)
    assert [one.gateway.open for one in served] == [0] * len(KINDS)
    assert [len(one.gateway.turns) for one in served] == [0] * len(KINDS)


@given(
    st.lists(st.text("abE\n", max_size=6), max_size=8),
    st.lists(st.text("abE\n", min_size=1, max_size=4), max_size=3),
)
def test_stop_string_is_found_at_every_chunking(chunks, strings):
    def read(cut):
        stops, out = Stops(strings), ""
        for chunk in cut:
            out += stops.feed(chunk)
            if stops.found is not None:
                return out, stops.found
        return out + stops.rest(), None

    text = "".join(chunks)
    out, found = read(chunks)
    assert (out, found) == read([text]) == read(list(text))
    assert text.startswith(out + (found or ""))
    assert (found is not None) == any(string in text for string in strings)
    assert found is not None or out == text


@given(st.lists(st.text("ab é\r", max_size=9), max_size=5), st.data())
@settings(max_examples=50)
def test_events_are_the_same_at_every_chunking(texts, data):
    texts = [text.replace("\r", "") for text in texts]
    end = data.draw(st.sampled_from(["\n", "\r\n"]))
    stream = "".join(f": ping{end}data: {text}{end}{end}" for text in texts).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    blocks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]

    reader = EventReader(1000)
    found = [event for block in blocks for event in reader.feed(block)]
    assert [event.decode() for event in found + reader.end()] == texts


@pytest.mark.parametrize("block", [b"data: " + b"x" * 99, b"data: x\n" * 30, b"x" * 200])
def test_endless_event_is_refused(block):
    reader = EventReader(1000)

    def feed_on():
        while True:
            reader.feed(block)

    with pytest.raises(Fault, match="more than 1000 bytes"):
        feed_on()
