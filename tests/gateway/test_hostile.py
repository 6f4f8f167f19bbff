"""Malicious or malformed input from clients and upstreams."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import os
import socket
import threading
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaparse.gateway import HttpClient, Settings
from deltaparse.gateway.answers import StreamedAnswer
from deltaparse.gateway.faults import Fault
from deltaparse.gateway.parsed_request import asked, read_body
from deltaparse.gateway.protocol import PROTOCOLS
from deltaparse.gateway.upstreams.http_client import BadAnswer
from deltaparse.gateway.upstreams.openai_upstream import OpenAI

from .asking import (
    ASKED,
    CHAT,
    CLIENT,
    HI,
    MESSAGES,
    PATHS,
    READERS,
    RESPONSES,
    TOOLS,
    error_of,
    streamed,
)
from .conftest import Records, Running, model_of

OK = b"HTTP/1.1 200 OK\r\n"
THE_SUM = ["The ", "sum"]
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"


class Answering:
    """A loopback server that answers every request with the same blocks of bytes.

    Afterwards it closes the connection. With `closes=False` it waits for further requests, and does
    not
    answer the last of `requests_each`.
    """

    def __init__(self, blocks, *, closes=True, requests_each=99, idle_timeout=5):
        self.blocks = blocks
        self.closes = closes
        self.requests_each = requests_each
        self.settings = Settings(idle_timeout=idle_timeout)
        self.connections = 0
        self.requests = 0
        self._open = []

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.client = HttpClient(f"http://127.0.0.1:{port}", self.settings)
        return self

    async def __aexit__(self, *_):
        await self.client.aclose()
        self._server.close()
        await asyncio.gather(*self._open)

    async def _answer(self, reader, writer):
        self.connections += 1
        self._open.append(asyncio.current_task())
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            for left in range(self.requests_each, -1, -1):
                await reader.readuntil(b"\r\n\r\n")
                self.requests += 1
                if not left:
                    break
                for block in self.blocks:
                    writer.write(block)
                    await asyncio.sleep(0)
                if self.closes:
                    break
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def body(self):
        """Send a request, and return the body of the response."""
        answer = await self.client.ask("/", {})
        body = b""
        try:
            while block := await answer.read():
                body += block
        finally:
            answer.close()
        return body


def open_sockets():
    """Return the remote ports of this process's connections."""
    found = []
    for file in Path("/proc/self/fd").iterdir():
        with suppress(OSError), socket.socket(fileno=os.dup(int(file.name))) as one:
            found += one.getpeername()[1:2] if one.family == socket.AF_INET else ()
    return found


async def body_of(blocks):
    async with Answering(blocks) as server:
        return await server.body()


def cut(data, cuts):
    places = sorted({0, len(data), *(at % (len(data) + 1) for at in cuts)})
    return [data[a:b] for a, b in pairwise(places)]


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=6), st.lists(st.integers(0, 999)))
@settings(max_examples=60)
def test_body_is_independent_of_encoding_and_chunking(parts, cuts):
    whole = b"".join(parts)
    chunks = b"".join(b"%x;a=b\r\n%b\r\n" % (len(part), part) for part in parts)
    for data in (
        CHUNKED + chunks + b"0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" + CHUNKED + chunks + b"0\r\nx: y\r\n\r\n",
        OK + b"content-length: %d\r\n\r\n" % len(whole) + whole,
        b"HTTP/1.0 200 OK\r\n\r\n" + whole,
    ):
        assert asyncio.run(body_of(cut(data, cuts))) == whole


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 0 OK\r\n\r\n",
        OK,
        OK + b"x" * 70_000,
        OK + b"no colon\r\n\r\n",
        OK + b"a : b\r\n\r\n",
        OK + b"content-length: 5\r\ncontent-length: 6\r\n\r\nabcdef",
        OK + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        OK + b"content-length: -5\r\n\r\n",
        OK + b"content-length: 5\r\n\r\nabc",
        OK + b"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        OK + b"content-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc",
        *[
            CHUNKED + size + b"\r\nabcdefghijklmnopqrstuvwxyz"
            for size in (b"-1", b"+1", b"0x1", b"1_0", b"", b" 1", b"g", b"f" * 20, b";", b"1")
        ],
        CHUNKED + b"3\r\nabc",
        CHUNKED + b"3\r\nabc\r\n",
        CHUNKED + b"1" * 5000,
    ],
)
def test_invalid_http_is_refused(data):
    with pytest.raises(BadAnswer):
        asyncio.run(body_of([data]))


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        (OK + b"content-length: 2\r\n\r\nab", True),
        (CHUNKED + b"2\r\nab\r\n0\r\n\r\n", True),
        (OK + b"connection: close\r\ncontent-length: 2\r\n\r\nab", False),
        (OK + b"content-length: 2\r\n\r\nabHTTP/1.1 200 OK\r\n\r\n", False),
        (CHUNKED + b"2\r\nab\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nab", False),
    ],
)
def test_connection_is_reused_only_if_empty(data, kept):
    """Otherwise the next response would begin with the rest of the previous one."""

    async def ask():
        async with Answering([data], closes=False) as server:
            for _ in range(3):
                assert await server.body() == b"ab"
            assert server.requests == 3
            return server.connections

    assert asyncio.run(ask()) == (1 if kept else 3)


HI_THERE = OK + b"content-length: 2\r\n\r\nhi"


def test_stale_connection_is_replaced():
    """The server may close it while a request is sent. A request on a new connection is not
    retried.
    """

    async def ask():
        async with Answering([HI_THERE], closes=False, requests_each=1) as server:
            bodies = [await server.body() for _ in range(5)]
            server.requests_each = 0
            with pytest.raises(BadAnswer):
                await server.body()
            return bodies, server.connections

    # Each connection gets two requests. The second is not answered, and is sent again on a new
    # connection. The last request finds a closed connection, fails on a new one, and is not
    # retried.
    bodies, connections = asyncio.run(ask())
    assert bodies == [b"hi"] * 5
    assert connections == 6


@pytest.mark.costly
@pytest.mark.parametrize("end", [b"", b"zz\r\n", None])
def test_data_before_a_failure_is_read_by_a_slow_reader(end):
    """The body ends by a closed connection, by invalid data, or by a timeout."""

    async def ask():
        blocks = [CHUNKED, b"2\r\nab\r\n", b"2\r\ncd\r\n"]
        closes = end is not None
        async with Answering([*blocks, end or b""], closes=closes, idle_timeout=0.3) as server:
            answer = await server.client.ask("/")
            first = await answer.read()
            await asyncio.sleep(0.6)
            rest = await answer.read()
            with pytest.raises(TimeoutError if end is None else BadAnswer):
                await answer.read()
            answer.close()
            return first + rest

    assert asyncio.run(ask()) == b"abcd"


def test_deadline_ends_a_body():
    async def ask():
        async with Answering([CHUNKED + b"2\r\nab\r\n"], closes=False) as server:
            answer = await server.client.ask("/")
            answer.limit(asyncio.get_running_loop().time() + 30)
            answer.limit(asyncio.get_running_loop().time() + 0.1)
            assert await answer.read() == b"ab"
            with pytest.raises(TimeoutError):
                await answer.read()
            answer.close()

    asyncio.run(ask())


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="Linux has it")
def test_connection_to_a_stalled_server_is_closed():
    """The pending request is dropped, too."""

    async def ask():
        taken = []
        server = await asyncio.start_server(lambda _, w: taken.append(w), "127.0.0.1", 0, limit=1)
        port = server.sockets[0].getsockname()[1]
        client = HttpClient(f"http://127.0.0.1:{port}", Settings(idle_timeout=0.3))
        with pytest.raises(TimeoutError):
            await client.ask("/", "x" * (16 << 20))
        for _ in range(100):
            if port not in open_sockets():
                break
            await asyncio.sleep(0.1)
        still = port in open_sockets()
        for writer in taken:
            writer.transport.abort()
        await client.aclose()
        server.close()
        return still

    assert not asyncio.run(ask())


def test_redirects_and_proxies_are_ignored(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    data = b"HTTP/1.1 302 Found\r\nlocation: /there\r\ncontent-length: 2\r\n\r\nno"

    async def ask():
        async with Answering([data], closes=False) as server:
            answer = await server.client.ask("/")
            answer.close()
            return answer.status, server.requests

    assert asyncio.run(ask()) == (302, 1)


def test_cookies_are_ignored(gateway, upstream):
    upstream.plays(headers={"set-cookie": "session=of-another; path=/"})
    gateway.post(CHAT, ASKED[CHAT])
    gateway.post(CHAT, ASKED[CHAT])
    assert all("cookie" not in head for head in upstream.heads)


@pytest.mark.parametrize("again", ["é", "x" * 99, "1\x0b2"])
def test_invalid_retry_after_is_dropped(gateway, upstream, again):
    upstream.plays(status=503, headers={"retry-after": again})
    answer = gateway.post(CHAT, ASKED[CHAT])
    assert answer.status_code == 503
    assert "retry-after" not in answer.headers


@pytest.mark.parametrize("path", PATHS)
def test_surrogates_are_replaced(gateway, upstream, path):
    upstream.plays(chunks=["Hi \ud800", "."])
    body = json.dumps(ASKED[path] | {"stream": True}).replace("Hi", "Hi \\ud800 \\ud83d\\ude00")
    answer = CLIENT.post(gateway.url + path, content=body)
    assert READERS[path](answer.content).content == "Hi \ufffd."
    assert "Hi \ufffd \U0001f600" in upstream.bodies[0]["prompt"]


def test_model_names_with_surrogates_are_listed(gateways, upstream):
    before = upstream.documents
    upstream.documents = {"/v1/models": {"data": [{"id": "\ud800"}]}}
    try:
        gateway = gateways(connect_timeout=4.0)
        assert CLIENT.get(gateway.url + "/v1/models").status_code == 200
    finally:
        upstream.documents = before


def test_incomplete_request_takes_no_place(gateways, upstream):
    gateway = gateways(body_timeout=0.3, max_streams=1)
    upstream.plays()
    host, port = gateway.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as slow:
        slow.sendall(b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\r\n{")
        assert b" 408 " in slow.recv(1000)
    assert gateway.post(CHAT, ASKED[CHAT]).status_code == 200


def test_web_pages_of_other_origins_are_refused(gateways, gateway, upstream):
    upstream.plays()
    own = gateway.url.replace("127.0.0.1", "localhost")
    for origin, status in (
        ("https://evil.example", 403),
        ("null", 403),
        ("http://evil.example:1", 403),
        ("http://[", 403),
        (own, 403),  # requested by another name
        (gateway.url, 200),
        ("app://here", 200),
    ):
        for path in PATHS:
            answer = gateway.post(path, ASKED[path], headers={"origin": origin})
            assert answer.status_code == status
    rebound = {"origin": "http://evil.example", "host": "evil.example"}
    assert gateway.post(CHAT, ASKED[CHAT], headers=rebound).status_code == 403
    keyed = gateways(api_key="sesame")
    shown = {"origin": "https://evil.example", "x-api-key": "sesame"}
    assert keyed.post(CHAT, ASKED[CHAT], headers=shown).status_code == 200


def test_unknown_model_is_refused_for_concurrent_first_requests(upstream):
    """This includes requests during the download of the list."""
    upstream.plays()
    gateway = Running(upstream)
    answers = []
    try:
        asking = [
            threading.Thread(
                target=lambda: answers.append(gateway.post(CHAT, ASKED[CHAT] | {"model": "large"}))
            )
            for _ in range(8)
        ]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
    finally:
        gateway.stop()
    assert [answer.status_code for answer in answers] == [404] * 8


def test_model_list_of_one_client_is_hidden_from_others(upstream):
    """Clients may forward different keys to the upstream."""
    before = upstream.documents
    upstream.documents = {"/v1/models": {"data": [{"id": "secret"}]}}
    gateway = Running(upstream, forward_authorization=True)
    try:
        shown = {"authorization": "Bearer one"}
        assert "secret" in CLIENT.get(gateway.url + "/v1/models", headers=shown).text
        upstream.documents = {"/v1/models": {"data": []}}
        assert "secret" not in CLIENT.get(gateway.url + "/v1/models").text
    finally:
        upstream.documents = before
        gateway.stop()


def test_client_disconnect_is_recorded_as_cancelled(upstream):
    records = Records(latest=1)
    gateway = Running(upstream, records=records)
    try:
        upstream.plays(chunks=["The ", "sum"], fault="hang")
        body = ASKED[CHAT] | {"stream": True}
        with httpx.stream("POST", gateway.url + CHAT, json=body) as answer:
            text = ""
            for part in answer.iter_text():
                text += part
                if "sum" in text:
                    break
        assert upstream.gone.wait(1.0)
        time.sleep(0.1)
        numbers = CLIENT.get(gateway.url + "/metrics").text
        assert 'deltaparse_turns_total{reason="cancelled"} 1' in numbers
        assert 'reason="stop"' not in numbers
    finally:
        gateway.stop()
    (record,) = records.latest
    assert record["chunks"] == ["The ", "sum"]
    assert "finish_reason" not in record


@pytest.mark.parametrize("stream", [True, False])
def test_client_with_a_complete_response_is_not_counted_as_gone(gateway, upstream, stream):
    def gone():
        lines = CLIENT.get(gateway.url + "/metrics").text.splitlines()
        return [line for line in lines if line.startswith("deltaparse_clients_gone_total")]

    before = gone()
    for path in PATHS:
        upstream.plays(chunks=THE_SUM)
        gateway.post(path, ASKED[path] | {"stream": stream})
    assert gone() == before


@pytest.mark.parametrize("path", PATHS)
def test_bug_ends_a_stream_with_the_protocol_error(gateway, upstream, monkeypatch, caplog, path):
    """The log contains no text of the request."""
    upstream.plays(chunks=["The ", "sum"])

    async def broken(self, index, deltas):
        raise RuntimeError("secret words")

    monkeypatch.setattr(StreamedAnswer, "take", broken)
    with caplog.at_level(logging.INFO):
        answer = streamed(gateway, path)
    assert "stream_error" in {issue.kind for issue in READERS[path](answer.content).issues}
    assert "secret words" not in caplog.text
    assert "internal error: RuntimeError" in caplog.text


@pytest.mark.costly
@pytest.mark.parametrize("path", PATHS)
def test_shutdown_is_reported_to_open_streams(upstream, path):
    gateway = Running(upstream)
    upstream.plays(chunks=["The ", "sum"], fault="hang")
    body = ASKED[path] | {"stream": True}
    with httpx.stream("POST", gateway.url + path, json=body, timeout=20) as answer:
        arriving = answer.iter_bytes()
        data = next(arriving)
        while b"sum" not in data:
            data += next(arriving)
        gateway.server.should_exit = True
        data += b"".join(arriving)
    message = READERS[path](data)
    assert message.content == "The sum"
    assert "stream_error" in {issue.kind for issue in message.issues}
    assert b"stopping" in data
    assert upstream.gone.wait(1.0)
    gateway.stop()


@pytest.mark.parametrize("way", ["/nowhere", "/v1/chat", CHAT])
def test_unknown_paths_are_refused_as_json(gateway, way):
    answer = CLIENT.get(gateway.url + way)
    assert answer.status_code == (405 if way == CHAT else 404)
    assert answer.json()["error"]["type"] == "invalid_request_error"


WORDS = [
    "auto",
    "none",
    "required",
    "add",
    "",
    "user",
    "assistant",
    "tool",
    "text",
    "function",
    "\ud800",
]
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.just(10**400),
    st.floats(),
    st.sampled_from(WORDS),
)
KEYS = st.sampled_from(["type", "name", "role", "content", "id", "function", "tools", "x", "text"])
VALUES = st.recursive(
    LEAVES, lambda v: st.lists(v, max_size=3) | st.dictionaries(KEYS, v, max_size=3), max_leaves=6
)
FULL = {
    CHAT: ASKED[CHAT]
    | {
        "tools": TOOLS[CHAT],
        "tool_choice": "auto",
        "response_format": {"type": "json_object"},
        "stream_options": {"include_usage": True},
        "stream": True,
        "chat_template_kwargs": {"x": 1},
        "reasoning": {"max_tokens": 5},
        "stop": ["END"],
    },
    RESPONSES: {
        "input": [*HI, {"type": "function_call_output", "call_id": "c", "output": "1"}],
        "tools": TOOLS[RESPONSES],
        "text": {"format": {"type": "text"}},
        "reasoning": {"effort": "low", "max_tokens": 5},
        "include": [],
    },
    MESSAGES: ASKED[MESSAGES]
    | {
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            *HI,
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c", "name": "add", "input": {}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c", "content": "1"}],
            },
        ],
        "tools": TOOLS[MESSAGES],
        "tool_choice": {"type": "auto"},
        "thinking": {"type": "enabled", "budget_tokens": 5},
    },
}


def places_in(value, path=()):
    """Yield the paths of all values in a JSON value."""
    yield path
    inner = value.items() if isinstance(value, dict) else ()
    for key, one in enumerate(value) if isinstance(value, list) else inner:
        yield from places_in(one, (*path, key))


def replaced(value, path, new):
    if not path:
        return new
    value = copy.copy(value)
    value[path[0]] = replaced(value[path[0]], path[1:], new)
    return value


@pytest.fixture(scope="module")
def model():
    return model_of("json_in_tags", bos_token="<s>")


def status_of(path, body, model):
    """Return the status of a request, 200 if valid. The error must be serializable."""
    vllm = OpenAI(grammars="structured_outputs")
    try:
        read = read_body(json.dumps(body).encode())
        made = asked(read, PROTOCOLS[path], model, vllm, Settings())
    except Fault as fault:
        json.dumps(PROTOCOLS[path].error(fault, "")).encode()
        return fault.status
    made.generation(None, 0).prompt.encode()
    return 200


@pytest.mark.parametrize("path", PATHS)
@given(data=st.data())
@settings(max_examples=60)
def test_every_request_is_parsed_or_refused(model, path, data):
    place = data.draw(st.sampled_from(sorted(places_in(FULL[path]), key=repr)))
    body = replaced(FULL[path], place, data.draw(VALUES))
    assert status_of(path, body, model) in (200, 400)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("depth", [50, 400, 900])
def test_deeply_nested_requests_do_not_fail(gateway, upstream, path, depth):
    upstream.plays()
    body = json.dumps(ASKED[path] | {"tools": TOOLS[path]})
    schema = '{"properties": {"a": ' * depth + "{}" + "}}" * depth
    answer = CLIENT.post(gateway.url + path, content=body.replace('{"type": "integer"}', schema))
    assert answer.status_code in (200, 400)
    if answer.status_code == 400:
        assert error_of(path, answer.json())[0] == "invalid_request_error"


def test_inspect_page_checks_access(gateways, gateway, upstream):
    assert CLIENT.get(gateway.url + "/inspect").status_code == 404
    upstream.plays(chunks=["</script><b>The sum"])
    free, keyed = gateways(inspect=2), gateways(inspect=2, api_key="sesame")
    assert free.post(CHAT, ASKED[CHAT]).status_code == 200
    page = CLIENT.get(free.url + "/inspect")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert "script-src" in page.headers["content-security-policy"]
    assert "The sum" in page.text
    assert "</script><b>" not in page.text
    for host in ("evil.example", "evil.example:80", "[", ""):
        assert CLIENT.get(free.url + "/inspect", headers={"host": host}).status_code in (400, 403)
    asked = CLIENT.get(keyed.url + "/inspect")
    assert (asked.status_code, asked.headers["www-authenticate"][:5]) == (401, "Basic")
    for shown in ({"auth": ("me", "sesame")}, {"headers": {"x-api-key": "sesame"}}):
        assert CLIENT.get(keyed.url + "/inspect", **shown).status_code == 200
    for shown in ({"auth": ("sesame", "me")}, {"headers": {"authorization": "Basic !"}}):
        assert CLIENT.get(keyed.url + "/inspect", **shown).status_code == 401
