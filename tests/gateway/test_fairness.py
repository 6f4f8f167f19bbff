"""One client cannot block others: limits, deadlines, and places per client."""

from __future__ import annotations

import json
import select
import socket
import time
from contextlib import ExitStack, contextmanager

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse.gateway.exchange import client_of
from deltaparse.gateway.faults import Fault
from deltaparse.gateway.parsed_request import read_body, value_count

from .asking import ASKED, CHAT, CLIENT, HI, MESSAGES, PATHS, READERS, RESPONSES, streamed
from .conftest import Running

LARGE_SCHEMA = {"enum": [f"word {number}" for number in range(20_000)]}
"""The grammar of this schema takes about a second."""

SCHEMA_MEMBERS = {
    CHAT: ("response_format", {"type": "json_schema", "json_schema": {"schema": LARGE_SCHEMA}}),
    RESPONSES: ("text", {"format": {"type": "json_schema", "schema": LARGE_SCHEMA}}),
    MESSAGES: ("output_config", {"format": {"type": "json_schema", "schema": LARGE_SCHEMA}}),
}

CUT = {
    CHAT: '"finish_reason":"length"',
    RESPONSES: '"reason":"max_output_tokens"',
    MESSAGES: '"stop_reason":"max_tokens"',
}

JSON = st.recursive(
    st.none() | st.integers() | st.text('ab\\",[{:'),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('a",\\'), inner, max_size=3)
    ),
)


@contextmanager
def connection(gateway):
    with socket.create_connection(gateway.url.removeprefix("http://").split(":")) as made:
        yield made


def head_of(path, *lines):
    return "\r\n".join([f"POST {path} HTTP/1.1", "host: x", *lines, "", ""]).encode()


def raw_request(path, body):
    data = json.dumps(body).encode()
    return head_of(path, f"content-length: {len(data)}") + data


def has_answer(client):
    return bool(select.select([client], [], [], 0)[0])


def marks_in(value):
    """Return the number of commas and opening brackets outside of strings in JSON."""
    if not isinstance(value, list | dict):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return max(len(value), 1) + sum(map(marks_in, inner))


@given(st.lists(JSON), st.booleans(), st.sampled_from([None, 1]))
def test_values_are_counted_without_looking_into_strings(value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    marks = marks_in(value)
    assert value_count(text, marks) <= marks
    assert value_count(text, marks - 1) > marks - 1


@given(st.text('ab\\",[{'))
def test_counting_values_never_fails(text):
    assert value_count(text, 1) >= 0


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_body_with_too_many_values_is_refused(encoding):
    def read(body):
        return read_body(json.dumps(body, ensure_ascii=False).encode(encoding), 1000)

    assert read({"x": ',[{"\\é≢' * 1000, "y": [1] * 900})["y"] == [1] * 900
    for many in (
        [1] * 1001,
        [[]] * 501 + [0] * 500,
        [{"a": 1}] * 600,
        {str(n): n for n in range(1001)},
    ):
        with pytest.raises(Fault, match="limit of 1000 JSON values") as refused:
            read({"x": many})
        assert refused.value.status == 413


def test_request_with_too_many_values_is_refused(gateways, upstream):
    gateway = gateways(max_values=100)
    upstream.plays()
    for path in PATHS:
        assert gateway.post(path, ASKED[path] | {"x": [1] * 200}).status_code == 413
        assert gateway.post(path, ASKED[path]).status_code == 200


@pytest.mark.parametrize("path", PATHS)
def test_schema_that_takes_too_long_is_refused_by_name(gateways, upstream, path):
    gateway = gateways(work_timeout=0.15)
    upstream.plays()
    member, value = SCHEMA_MEMBERS[path]
    answer = gateway.post(path, ASKED[path] | {member: value})
    assert answer.status_code == 400
    assert f"{member}" in answer.json()["error"]["message"]
    assert "takes more than 0.15 seconds to process" in answer.json()["error"]["message"]
    assert gateway.post(path, ASKED[path]).status_code == 200


def test_prompt_that_takes_too_long_is_refused_by_name(gateways, upstream):
    gateway = gateways(work_timeout=0.15)
    properties = {f"p{number}": {"type": "string"} for number in range(20_000)}
    function = {"name": "f", "parameters": {"type": "object", "properties": properties}}
    body = ASKED[CHAT] | {"tools": [{"type": "function", "function": function}]}
    answer = gateway.post(CHAT, body)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "messages"


def test_slow_requests_do_not_delay_others(upstream):
    """After the slow clients disconnect, their places and processes are free."""
    gateway = Running(upstream, work_timeout=600)
    upstream.plays()
    member, value = SCHEMA_MEMBERS[CHAT]
    body = raw_request(
        CHAT,
        ASKED[CHAT]
        | {
            member: value
            | {
                "json_schema": {
                    "schema": {
                        "type": "object",
                        "properties": {f"p{n}": LARGE_SCHEMA for n in range(4)},
                    }
                }
            }
        },
    )
    try:
        with ExitStack() as stack:
            hogs = [stack.enter_context(connection(gateway)) for _ in range(4)]
            for hog in hogs:
                hog.sendall(body)
            while gateway.gateway.open < len(hogs):
                time.sleep(0.01)
            assert gateway.post(CHAT, ASKED[CHAT]).status_code == 200
            assert not any(map(has_answer, hogs))
            assert gateway.gateway.open >= len(hogs)
        for _ in range(200):
            if not gateway.gateway.open:
                break
            time.sleep(0.02)
        assert gateway.gateway.open == 0
        assert not gateway.gateway.pool._running
        assert gateway.gateway.pool._taken == 0
    finally:
        gateway.stop()


def test_slow_uploads_do_not_delay_others(upstream):
    gateway = Running(upstream, max_streams=3)
    upstream.plays()
    try:
        with ExitStack() as stack:
            slow = [stack.enter_context(connection(gateway)) for _ in range(5)]
            for one in slow:
                one.sendall(head_of(CHAT, "content-length: 99") + b"{")
                time.sleep(0.05)
            assert b" 408 " in slow[0].recv(1000)
            assert gateway.post(CHAT, ASKED[CHAT]).status_code == 200
            assert not has_answer(slow[-1])
    finally:
        gateway.stop()


@pytest.mark.parametrize(("limit", "most"), [(None, 3), (1, 1)])
def test_one_client_cannot_take_all_places(gateways, upstream, limit, most):
    gateway = gateways(max_streams=4, max_client_streams=limit)
    upstream.plays(chunks=["a"], fault="hang")
    arriving = []
    with ExitStack() as stack:
        for _ in range(most):
            asked = ASKED[CHAT] | {"stream": True}
            answer = stack.enter_context(httpx.stream("POST", gateway.url + CHAT, json=asked))
            arriving.append(answer.iter_bytes())
            next(arriving[-1])
        refused = gateway.post(CHAT, ASKED[CHAT])
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unix", "unix"),
    ],
)
def test_client_is_an_address_or_a_network(address, client):
    assert client_of({"type": "http", "client": (address, 1)}) == client
    assert client_of({"type": "http", "client": None}) == ""


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("size", [1, 7, 500])
def test_endless_response_is_truncated_at_the_limit(gateways, upstream, path, size):
    """The text is truncated with any token limit and any size of events."""
    gateway = gateways(max_answer=100)
    upstream.plays(chunks=["x" * size] * (1000 // size))
    whole = gateway.post(path, ASKED[path])
    upstream.plays(chunks=["x" * size] * (1000 // size))
    stream = streamed(gateway, path)
    for text, read in ((whole.text, whole.json()), (stream.text, stream.content)):
        assert READERS[path](read).content == "x" * 100
        assert CUT[path] in text


def test_choices_share_the_size_limit_of_a_response(gateways, upstream):
    gateway = gateways(max_answer=100)
    upstream.plays(chunks=["x" * 500])
    answer = gateway.post(CHAT, ASKED[CHAT] | {"n": 2}).json()
    assert [len(choice["message"]["content"]) for choice in answer["choices"]] == [50, 50]
    assert [choice["finish_reason"] for choice in answer["choices"]] == ["length"] * 2


def test_prompts_of_many_choices_are_limited(gateways):
    gateway = gateways(max_prompts=500)
    long = [{"role": "user", "content": "x" * 200}]
    refused = gateway.post(CHAT, {"messages": long, "n": 4})
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "n")
    assert gateway.post(CHAT, {"messages": HI, "n": 2}).status_code == 200


def test_long_name_of_a_model_is_refused(gateway):
    answer = gateway.post(CHAT, ASKED[CHAT] | {"model": "m" * 600})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "model")


def test_body_in_many_short_chunks_is_refused(gateway, upstream):
    body = json.dumps(ASKED[CHAT] | {"x": "y" * 20_000}).encode()

    def sent(size):
        with connection(gateway) as client:
            client.sendall(head_of(CHAT, "transfer-encoding: chunked"))
            parts = [body[at : at + size] for at in range(0, len(body), size)]
            data = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
            client.sendall(data + b"0\r\n\r\n")
            return client.recv(100)

    assert b" 200 " in sent(5)
    assert b" 400 " in sent(1)


def test_endless_head_is_refused(gateway):
    with connection(gateway) as client:
        client.settimeout(5)
        client.sendall(b"POST / HTTP/1.1\r\nx: ")
        with pytest.raises(OSError, match=r"reset|Broken pipe"):
            client.sendall(b"x" * (64 << 20))
    assert CLIENT.get(gateway.url + "/health").status_code == 200
