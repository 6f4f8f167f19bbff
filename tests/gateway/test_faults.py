"""What goes wrong: before the upstream, in it, and behind the client's back."""

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
    """Ask, and go away: behind the first bytes of a stream, or while nothing comes."""
    with suppress(httpx.ReadTimeout), client.stream("POST", url, json=body) as answer:
        next(answer.iter_bytes())


def metric(gateway, name):
    lines = CLIENT.get(gateway.url + "/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


BROKEN = {
    "die": "broke off",
    "cut": "broke off",
    "rubbish": "no JSON",
    "odd": "of another kind",
    "error": "out of memory",
    "line": "more than 1048576 bytes",
}
"""What a client is told of each fault."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", BROKEN)
def test_a_stream_that_breaks_keeps_what_came_and_ends_with_an_error(
    gateways, upstream, kind, fault
):
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
def test_a_whole_answer_that_breaks_is_an_error(gateway, upstream, path, fault):
    upstream.plays(chunks=["The ", "sum"], fault=fault)
    answer = gateway.post(path, ASKED[path])
    assert answer.status_code == 502
    type, words = error_of(path, answer.json())
    assert type == ("api_error" if path == "/v1/messages" else "server_error")
    assert "upstream" in words
    assert "sum" not in answer.text


def test_a_call_that_breaks_off_is_not_complete(gateway, upstream):
    tools = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]
    upstream.plays(chunks=['<call>\n{"name": "add", "arguments": {"a": "x'], fault="die")
    path = "/v1/chat/completions"
    message = read_chat_completions(streamed(gateway, path, tools=tools).content)
    (call,) = message.tool_calls
    assert (call.name, call.arguments, call.complete) == ("add", '{"a": "x', False)


def test_an_end_for_no_reason_is_a_cut(gateways, upstream):
    """llama.cpp's `none`: what closes a value in tags may be missing."""
    gateway = gateways(kind="llama.cpp", model="keys_and_values_in_tags")
    for reason, complete in (("stop", True), ("none", False), ("length", False)):
        chunks = ["<use>add\n<key>a</key>\n<value>1</value>\n"]
        upstream.plays(chunks=chunks, reason=reason)
        answer = gateway.post(PATHS[0], ASKED[PATHS[0]] | {"tools": [TOOL]}).json()
        (choice,) = answer["choices"]
        assert choice["finish_reason"] == ("tool_calls" if complete else "length"), reason


def test_only_a_limit_counts_as_one(gateway, upstream):
    """Neither an upstream that breaks off in a call, nor a stop string in one, is a limit."""
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
def test_what_the_upstream_refuses(gateway, upstream, path, stream, said, status):
    upstream.plays(status=said, headers={"retry-after": "3"})
    answer = gateway.post(path, ASKED[path] | {"stream": stream})
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["retry-after"] == "3"
    assert "the reason of the upstream" in error_of(path, answer.json())[1]


@pytest.mark.parametrize("path", PATHS)
def test_an_upstream_that_is_not_there(gateways, path):
    class Nowhere:
        url = "http://127.0.0.1:9"

    gateway = Running(Nowhere)
    try:
        answer = streamed(gateway, path)
        assert answer.status_code == 502
        assert error_of(path, answer.json())[1] == "the upstream cannot be reached"
        assert CLIENT.get(gateway.url + "/health").json()["status"] == "ok"
    finally:
        gateway.stop()


@pytest.mark.costly
@pytest.mark.parametrize("path", PATHS)
def test_an_upstream_that_falls_silent(gateways, upstream, path):
    gateway = gateways(idle_timeout=0.3)
    upstream.plays(chunks=["The ", "sum"], fault="hang")
    began = time.monotonic()
    message = READERS[path](streamed(gateway, path).content)
    assert time.monotonic() - began < 5
    assert message.content == "The sum"
    assert "stream_error" in {issue.kind for issue in message.issues}
    upstream.plays(wait=5)
    assert gateway.post(path, ASKED[path]).status_code == 504


def test_an_answer_that_takes_too_long(gateways, upstream):
    gateway = gateways(total_timeout=0.5)
    upstream.plays(chunks=["a"] * 1000, pause=0.05)
    message = read_chat_completions(streamed(gateway, PATHS[0]).content)
    assert 1 < len(message.content) < 20
    assert "stream_error" in {issue.kind for issue in message.issues}


@pytest.mark.costly
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("fault", [None, "hang"])
def test_a_client_that_leaves_closes_the_upstream(gateway, upstream, path, stream, fault):
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


def test_a_slow_client_slows_the_upstream(gateway, upstream):
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


def test_a_client_that_takes_nothing_is_left(gateways, upstream):
    gateway = gateways(send_timeout=0.5)
    upstream.plays(chunks=["x" * 20_000] * 2000)
    head = json.dumps(ASKED[PATHS[0]] | {"stream": True}).encode()
    with socket.create_connection(gateway.url.removeprefix("http://").split(":")) as client:
        client.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n"
            b"content-length: %d\r\n\r\n%b" % (len(head), head)
        )
        assert upstream.gone.wait(5.0)


def test_more_answers_than_places(gateways, upstream):
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


def test_no_numbers_are_lost_with_an_end_that_breaks(gateway, upstream):
    """Behind the reason, the upstream has said all that an answer needs."""
    upstream.plays(chunks=["The sum"], usage=False)
    answer = gateway.post(PATHS[0], ASKED[PATHS[0]]).json()
    assert answer["choices"][0]["message"]["content"] == "The sum"
    assert answer["usage"]["completion_tokens"] == 1


@pytest.mark.parametrize("usage", ["many", [], {}, {"prompt_tokens": "7"}, {"prompt_tokens": None}])
def test_numbers_that_are_none(gateway, upstream, usage):
    upstream.plays(chunks=["The sum"], usage=usage)
    for path in PATHS:
        for n in (1, 2):
            body = ASKED[path] | {"n": n}
            assert "The sum" in gateway.post(path, body).text
            assert "The sum" in gateway.post(path, body | {"stream": True}).text


@pytest.mark.parametrize("number", [-5, 2**53, 10**400], ids=["below", "great", "huge"])
def test_numbers_that_nobody_has_made(gateway, upstream, number):
    """A nonsense number is none: what was made is counted, and the answer stays."""
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
def test_numbers_of_every_kind_that_nobody_has_made(made):
    details = {"finish_reason": "length", "input_length": 7, "generated_tokens": made}
    said = [
        SGLang().reader()({"text": "a", "meta_info": {"completion_tokens": made}}),
        LlamaCpp().reader()({"content": "a", "tokens": [1], "tokens_predicted": made}),
        TGI().reader()({"token": {"text": "a"}, "details": details}),
    ]
    for received in said:
        assert received.usage is None
        assert received.tokens in (0, 1)


def test_an_upstream_that_does_not_stream(gateway, upstream):
    upstream.plays(chunks=["The ", "sum"], whole=True)
    for path in PATHS:
        assert READERS[path](streamed(gateway, path).content).content == "The sum"


def test_each_row_of_the_table_of_faults_has_a_test():
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
