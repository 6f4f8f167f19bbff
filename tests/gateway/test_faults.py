"""Faults of the request, of the upstream, and of the connection to the client."""

from __future__ import annotations

import json
import re
import socket
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from deltaparse.gateway.upstreams.llama_cpp_upstream import LlamaCpp
from deltaparse.gateway.upstreams.sglang_upstream import SGLang
from deltaparse.gateway.upstreams.tgi_upstream import TGI
from deltaparse.protocols import read_chat_completions

from .asking import ASKED, CLIENT, KINDS, PATHS, READERS, TOOL, error_of, streamed
from .conftest import Running


def leave(client, url, body):
    """Send a request and disconnect, after the first bytes or while waiting."""
    with suppress(httpx.ReadTimeout), client.stream("POST", url, json=body) as answer:
        next(answer.iter_bytes())


def metric(gateway, name):
    lines = CLIENT.get(gateway.url + "/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


BROKEN = {
    "die": "closed the connection early",
    "cut": "closed the connection early",
    "rubbish": "invalid JSON",
    "odd": "unexpected event",
    "error": "out of memory",
    "line": "more than 1048576 bytes",
}
"""The message for the client, by fault."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", BROKEN)
def test_broken_stream_keeps_its_text_and_ends_with_an_error(gateways, upstream, kind, fault):
    gateway = gateways(kind=kind, max_line=1 << 20)
    for path in PATHS:
        upstream.plays(chunks=["<ponder>\nSo", ".\n</ponder>\n\nThe ", "sum"], fault=fault)
        answer = streamed(gateway, path)
        assert answer.status_code == 200
        message = READERS[path](answer.content)
        assert message.content == "The sum"
        assert message.reasoning_content == "So."
        assert "stream_error" in {issue.kind for issue in message.issues}
        assert "xxxx" not in answer.text
        assert BROKEN[fault] in answer.text


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("fault", ["die", "cut", "rubbish", "error"])
def test_broken_complete_response_is_an_error(gateway, upstream, path, fault):
    upstream.plays(chunks=["The ", "sum"], fault=fault)
    answer = gateway.post(path, ASKED[path])
    assert answer.status_code == 502
    type, words = error_of(path, answer.json())
    assert type == ("api_error" if path == "/v1/messages" else "server_error")
    assert "upstream" in words
    assert "sum" not in answer.text


def test_interrupted_call_is_not_complete(gateway, upstream):
    tools = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]
    upstream.plays(chunks=['<call>\n{"name": "add", "arguments": {"a": "x'], fault="die")
    path = "/v1/chat/completions"
    message = read_chat_completions(streamed(gateway, path, tools=tools).content)
    (call,) = message.tool_calls
    assert (call.name, call.arguments, call.complete) == ("add", '{"a": "x', False)


def test_end_without_a_reason_counts_as_truncation(gateways, upstream):
    """With llama.cpp's `none`, the closer of a tagged value may be missing."""
    gateway = gateways(kind="llama.cpp", model="keys_and_values_in_tags")
    for reason, complete in (("stop", True), ("none", False), ("length", False)):
        chunks = ["<use>add\n<key>a</key>\n<value>1</value>\n"]
        upstream.plays(chunks=chunks, reason=reason)
        answer = gateway.post(PATHS[0], ASKED[PATHS[0]] | {"tools": [TOOL]}).json()
        (choice,) = answer["choices"]
        assert choice["finish_reason"] == ("tool_calls" if complete else "length"), reason


def test_truncation_metric_counts_token_limits_only(gateway, upstream):
    """A broken connection in a call and a stop string in a call do not count as truncation."""
    tools, call = [TOOL], ['<call>\n{"name": "add", "arguments": {"a": 1, "b": "x']
    before = metric(gateway, "deltaparse_truncated_total")
    upstream.plays(chunks=call, fault="die")
    streamed(gateway, PATHS[0], tools=tools)
    upstream.plays(chunks=call, stopped_at="y")
    streamed(gateway, PATHS[0], tools=tools, stop=["y"])
    assert metric(gateway, "deltaparse_truncated_total") == before
    upstream.plays(chunks=call, reason="length")
    streamed(gateway, PATHS[0], tools=tools)
    upstream.plays(reason="length")
    streamed(gateway, PATHS[0])
    assert metric(gateway, "deltaparse_truncated_total") == before + 2


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("said", "status"), [(400, 400), (422, 400), (429, 429), (500, 502), (503, 503), (404, 502)]
)
def test_upstream_refusal_is_forwarded(gateway, upstream, path, stream, said, status):
    upstream.plays(status=said, headers={"retry-after": "3"})
    answer = gateway.post(path, ASKED[path] | {"stream": stream})
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["retry-after"] == "3"
    assert "the reason of the upstream" in error_of(path, answer.json())[1]


@pytest.mark.parametrize("path", PATHS)
def test_unreachable_upstream_is_reported(gateways, path):
    class Nowhere:
        url = "http://127.0.0.1:9"

    gateway = Running(Nowhere)
    try:
        answer = streamed(gateway, path)
        assert answer.status_code == 502
        assert error_of(path, answer.json())[1] == "cannot reach the upstream"
        assert CLIENT.get(gateway.url + "/health").json()["status"] == "ok"
    finally:
        gateway.stop()


@pytest.mark.costly
@pytest.mark.parametrize("path", PATHS)
def test_silent_upstream_causes_a_timeout(gateways, upstream, path):
    gateway = gateways(idle_timeout=0.3)
    upstream.plays(chunks=["The ", "sum"], fault="hang")
    began = time.monotonic()
    message = READERS[path](streamed(gateway, path).content)
    assert time.monotonic() - began < 5
    assert message.content == "The sum"
    assert "stream_error" in {issue.kind for issue in message.issues}
    upstream.plays(wait=5)
    assert gateway.post(path, ASKED[path]).status_code == 504


def test_response_beyond_total_timeout_is_ended(gateways, upstream):
    gateway = gateways(total_timeout=0.5)
    upstream.plays(chunks=["a"] * 1000, pause=0.05)
    message = read_chat_completions(streamed(gateway, PATHS[0]).content)
    assert 1 < len(message.content) < 20
    assert "stream_error" in {issue.kind for issue in message.issues}


@pytest.mark.costly
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("fault", [None, "hang"])
def test_client_disconnect_closes_the_upstream_request(gateway, upstream, path, stream, fault):
    chunks = ["a"] * (1000 if fault is None else 1)
    upstream.plays(chunks=chunks, pause=0.05, fault=fault)
    gone = metric(gateway, "deltaparse_clients_gone_total")
    body = ASKED[path] | {"stream": stream}
    with httpx.Client(timeout=0.5) as client:
        leave(client, gateway.url + path, body)
    assert upstream.gone.wait(1.0)
    time.sleep(0.1)
    assert metric(gateway, "deltaparse_clients_gone_total") == gone + 1
    assert metric(gateway, "deltaparse_open_answers") == 0


def test_slow_client_slows_down_the_upstream(gateway, upstream):
    upstream.plays(chunks=["x" * 20_000] * 2000)
    head = json.dumps(ASKED[PATHS[0]] | {"stream": True}).encode()
    with socket.create_connection(gateway.url.removeprefix("http://").split(":")) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n"
            b"content-length: %d\r\n\r\n%b" % (len(head), head)
        )
        client.recv(100)
        sent = -1
        while sent < upstream.sent:
            sent = upstream.sent
            time.sleep(0.3)
        assert sent < 1500
    assert upstream.gone.wait(2.0)


def test_client_that_stops_reading_is_disconnected(gateways, upstream):
    gateway = gateways(send_timeout=0.5)
    upstream.plays(chunks=["x" * 20_000] * 2000)
    head = json.dumps(ASKED[PATHS[0]] | {"stream": True}).encode()
    with socket.create_connection(gateway.url.removeprefix("http://").split(":")) as client:
        client.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n"
            b"content-length: %d\r\n\r\n%b" % (len(head), head)
        )
        assert upstream.gone.wait(5.0)


def test_responses_beyond_the_limit_are_refused(gateways, upstream):
    gateway = gateways(max_streams=1)
    upstream.plays(chunks=["a"], fault="hang")
    body = ASKED[PATHS[0]] | {"stream": True}
    with httpx.stream("POST", gateway.url + PATHS[0], json=body) as answer:
        arriving = answer.iter_bytes()
        next(arriving)
        for path in PATHS:
            refused = gateway.post(path, ASKED[path])
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "1"
            type, _ = error_of(path, refused.json())
            assert type == ("overloaded_error" if path == "/v1/messages" else "server_error")
    assert upstream.gone.wait(1.0)
    time.sleep(0.1)
    upstream.plays()
    assert gateway.post(PATHS[0], ASKED[PATHS[0]]).status_code == 200


def test_missing_usage_at_the_end_is_counted(gateway, upstream):
    """After the finish reason, the response is complete."""
    upstream.plays(chunks=["The sum"], usage=False)
    answer = gateway.post(PATHS[0], ASKED[PATHS[0]]).json()
    assert answer["choices"][0]["message"]["content"] == "The sum"
    assert answer["usage"]["completion_tokens"] == 1


@pytest.mark.parametrize("usage", ["many", [], {}, {"prompt_tokens": "7"}, {"prompt_tokens": None}])
def test_invalid_usage_is_ignored(gateway, upstream, usage):
    upstream.plays(chunks=["The sum"], usage=usage)
    for path in PATHS:
        for n in (1, 2):
            body = ASKED[path] | {"n": n}
            assert "The sum" in gateway.post(path, body).text
            assert "The sum" in gateway.post(path, body | {"stream": True}).text


@pytest.mark.parametrize("number", [-5, 2**53, 10**400], ids=["below", "great", "huge"])
def test_impossible_token_counts_are_ignored(gateway, upstream, number):
    """Impossible counts are ignored, and the tokens are counted instead."""
    inner = {"reasoning_tokens": number}
    usage = dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens"), number)
    for said in (usage, {"completion_tokens": 1, "completion_tokens_details": inner}):
        upstream.plays(chunks=["The sum"], usage=said)
        for path in PATHS:
            answer = gateway.post(path, ASKED[path])
            assert answer.status_code == 200
            assert answer.json()["usage"].get("completion_tokens", 1) == 1
            assert f":{number}" not in answer.text.replace(" ", "")
            assert answer.json()["usage"].get("completion_tokens_details") is None
            streaming = gateway.post(path, ASKED[path] | {"stream": True}).text
            assert "The sum" in streaming
            assert f":{number}" not in streaming.replace(" ", "")


@pytest.mark.parametrize(
    "made", [-5, 2**53, 10**400, True], ids=["below", "great", "huge", "truth"]
)
def test_impossible_token_counts_are_ignored_by_each_kind(made):
    details = {"finish_reason": "length", "input_length": 7, "generated_tokens": made}
    said = [
        SGLang().reader()({"text": "a", "meta_info": {"completion_tokens": made}}),
        LlamaCpp().reader()({"content": "a", "tokens": [1], "tokens_predicted": made}),
        TGI().reader()({"token": {"text": "a"}, "details": details}),
    ]
    for received in said:
        assert received.usage is None
        assert received.tokens in (0, 1)


def test_upstream_without_streaming_is_supported(gateway, upstream):
    upstream.plays(chunks=["The ", "sum"], whole=True)
    for path in PATHS:
        assert READERS[path](streamed(gateway, path).content).content == "The sum"


def test_each_row_of_the_fault_table_has_a_test():
    root = Path(__file__).parents[2]
    page = (root / "SECURITY.md").read_text(encoding="utf-8")
    table = page.partition("| fault | what the client gets | test |")[2].partition("\n\n")[0]
    rows = [re.findall(r"`(test_\w+)`", row) for row in table.strip().splitlines()[1:]]
    sources = "".join(
        file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("*.py")
    )
    there = set(re.findall(r"def (test_\w+)\(", sources))
    assert len(rows) > 25
    for tests in rows:
        assert tests
        assert set(tests) <= there
