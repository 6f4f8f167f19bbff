"""Detection of upstreams, and the command `serve`."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from uvicorn.config import STARTUP_FAILURE

from deltaparse import TemplateError, UsageError
from deltaparse.command.main import main
from deltaparse.gateway import HttpClient, Settings, discover, serving
from deltaparse.gateway.serving import Service

from .asking import ASKED, CLIENT, PATIENCE, free_port, wait_for
from .conftest import TEMPLATES

OPEN = "deltaparse_open_answers"

ONCE = {"connection": "close"}
SOURCE = (TEMPLATES / "json_in_tags.jinja").read_text()
FILE = str(TEMPLATES / "json_in_tags.jinja")
PROPS = {"chat_template": SOURCE, "bos_token": "<s>", "eos_token": "</s>"}
DOCUMENTS = {
    "openai": {"/v1/models": {"data": [{"id": "tiny"}]}},
    "llama.cpp": {"/props": PROPS},
    "sglang": {"/get_model_info": {"model_path": "x"}, "/get_server_info": {"stream_output": True}},
    "tgi": {"/info": {"model_id": "x", "max_total_tokens": 9}},
}


@pytest.fixture
def documents(upstream):
    before = upstream.documents
    yield lambda found: setattr(upstream, "documents", found)
    upstream.documents = before


async def found(url, kind="auto", template=FILE):
    async with HttpClient(url, Settings(connect_timeout=1)) as client:
        return await discover(client, kind, template)


@pytest.mark.parametrize("kind", DOCUMENTS)
async def test_kind_of_upstream_is_detected(upstream, documents, kind):
    documents(DOCUMENTS[kind])
    for url in (upstream.url, f"{upstream.url}/", f"{upstream.url}/v1"):
        made = await found(url)
        assert made.upstream.kind == kind
        assert made.model.fmt.verified
        assert getattr(made.upstream, "increments", kind == "sglang") is (kind == "sglang")


async def test_template_is_read_from_llama_server(upstream, documents):
    documents({"/props": PROPS, "/tokenize": {"tokens": [1]}})
    made = await found(upstream.url, template="auto")
    assert made.model.template.source == SOURCE
    assert made.upstream.adds_bos
    documents({"/props": PROPS, "/tokenize": {"tokens": []}})
    assert not (await found(upstream.url, template="auto")).upstream.adds_bos


async def test_template_is_read_from_the_local_model_folder(upstream, documents, tmp_path):
    (tmp_path / "chat_template.jinja").write_text(SOURCE)
    documents({"/v1/models": {"data": [{"id": "x", "root": str(tmp_path)}]}})
    assert (await found(upstream.url, template="auto")).model.template.source == SOURCE


async def test_missing_information_of_the_upstream_is_an_error(upstream, documents):
    for told in ({}, {"/v1/models": {"data": 5}}, {"/v1/models": [], "/props": 5}):
        documents(told)
        with pytest.raises(UsageError, match="--template"):
            await found(upstream.url, template="auto")
    with pytest.raises(UsageError, match="cannot reach"):
        await found("http://127.0.0.1:9")
    with pytest.raises(UsageError, match="kind must be one of"):
        await found(upstream.url, kind="other")
    assert (await found("http://127.0.0.1:9", kind="openai")).upstream.kind == "openai"
    documents({"/props": PROPS | {"chat_template": "{% if %}"}})
    with pytest.raises(TemplateError):
        await found(upstream.url, template="auto")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--upstream", "http://127.0.0.1:9"], "cannot reach"),
        (["--upstream", "nonsense"], "nonsense"),
        (["--upstream", "http://127.0.0.1:9", "--kind", "openai"], "cannot reach"),
        (["--upstream", "http://127.0.0.1:9", "--template", "nofile"], "nofile: No such file"),
        (["--upstream", "http://127.0.0.1:9", "--record", "/nowhere/x"], "/nowhere/x: No such"),
        (["--upstream", "http://x", "--port", "no"], "number"),
        (["--upstream", "http://x", "--port", "65536"], "from 0 to 65535, not '65536'"),
        (["--upstream", "http://x", "--idle-timeout", "0"], "seconds"),
        (["--upstream", "http://x", "--api-key-file", "/nowhere"], "/nowhere"),
        ([], "--upstream"),
    ],
)
def test_serve_rejects_invalid_arguments(capsys, arguments, words):
    assert main(["serve", *arguments]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="stops it by a signal")
def test_serve_answers_and_logs(upstream, documents, tmp_path):
    documents({**DOCUMENTS["llama.cpp"], "/v1/models": {"data": [{"id": "tiny"}]}})
    upstream.plays(chunks=["It is ", "26."])
    record, port = tmp_path / "turns.jsonl", free_port()
    command = ["serve", "--upstream", upstream.url, "--port", str(port), "--log"]
    process = subprocess.Popen(
        [sys.executable, "-m", "deltaparse", *command, "--record", str(record)],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        wait_for(url)
        body = {"messages": [{"role": "user", "content": "secret"}]}
        answer = CLIENT.post(f"{url}/v1/chat/completions", json=body).json()
        assert answer["choices"][0]["message"]["content"] == "It is 26."
    finally:
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=PATIENCE)
    assert "secret" not in log
    assert process.returncode == 0
    said = log.split("{", 1)[0]
    for words in ("llama.cpp at", "/props", "verified", f"http://127.0.0.1:{port}"):
        assert words in said
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert [(line["protocol"], line["status"]) for line in lines] == [("chat", 200)]
    (turn,) = map(json.loads, record.read_text().splitlines())
    assert (turn["chunks"], turn["finish_reason"]) == (["It is ", "26."], "stop")
    assert "secret" in turn["prompt"]


@pytest.mark.skipif(
    not (os.name == "posix" and shutil.which("ps")), reason="ends workers by signals; ps lists them"
)
def test_workers_share_socket_file_and_metrics(upstream, documents, tmp_path):
    """They share a socket, a file and metrics, and a dead worker is restarted."""
    documents({**DOCUMENTS["llama.cpp"], "/v1/models": {"data": [{"id": "tiny"}]}})
    upstream.plays(chunks=["It is ", "26."])
    record, port = tmp_path / "turns.jsonl", free_port()
    command = ["serve", "--upstream", upstream.url, "--port", str(port), "--workers", "2", "--log"]
    process = subprocess.Popen(
        [sys.executable, "-m", "deltaparse", *command, "--record", str(record)],
        stderr=subprocess.PIPE,
        text=True,
    )
    url = f"http://127.0.0.1:{port}"

    def ask(count):
        for _ in range(count):
            body = ASKED["/v1/chat/completions"]
            answer = CLIENT.post(f"{url}/v1/chat/completions", json=body, headers=ONCE)
            assert answer.json()["choices"][0]["message"]["content"] == "It is 26."

    def numbers(name):
        lines = CLIENT.get(f"{url}/metrics", headers=ONCE).text.splitlines()
        return [line for line in lines if line.startswith(name)]

    def answered():
        return numbers("deltaparse_requests_total")

    try:
        wait_for(url)
        ask(12)
        workers = workers_of(process.pid)
        assert len(workers) == 2
        wait_until(lambda: answered() == [counted(12)])
        upstream.plays(chunks=["It is "], fault="hang")
        body = ASKED["/v1/chat/completions"] | {"stream": True}
        with (
            suppress(httpx.TransportError),
            httpx.stream("POST", f"{url}/v1/chat/completions", json=body) as answer,
        ):
            arriving = answer.iter_bytes()
            next(arriving)
            wait_until(lambda: numbers(OPEN) == [f"{OPEN} 1.0"])
            for worker in workers:
                os.kill(worker, signal.SIGKILL)
        wait_until(lambda: len(workers_of(process.pid) - workers) == 2)
        wait_until(lambda: numbers(OPEN) == [f"{OPEN} 0.0"])
        upstream.plays(chunks=["It is ", "26."])
        ask(4)
        wait_until(lambda: answered() == [counted(16)])
    finally:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert len(record.read_text().splitlines()) == 16
    assert len([line for line in said.splitlines() if '"status": 200' in line]) == 16
    assert "llama.cpp" in said
    assert "verified" in said


@pytest.mark.skipif(os.name != "posix", reason="stops it by a signal")
def test_stopping_workers_refuse_new_connections(upstream, documents):
    """While an open response continues, new connections are refused immediately."""
    documents({**DOCUMENTS["llama.cpp"], "/v1/models": {"data": [{"id": "tiny"}]}})
    upstream.plays(chunks=["It is "], fault="hang")
    command = ["serve", "--upstream", upstream.url, "--port", "0", "--workers", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "deltaparse", *command], stderr=subprocess.PIPE, text=True
    )
    printed = next(line for line in process.stderr if "listening" in line)
    port = int(re.search(r"127\.0\.0\.1:(\d+)", printed)[1])

    def is_refused():
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return True
        return False

    try:
        wait_for(f"http://127.0.0.1:{port}")
        body = ASKED["/v1/chat/completions"] | {"stream": True}
        url = f"http://127.0.0.1:{port}/v1/chat/completions"
        with CLIENT.stream("POST", url, json=body) as answer:
            next(answer.iter_bytes())
            process.send_signal(signal.SIGTERM)
            wait_until(is_refused)
            assert process.poll() is None
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def service(**options):
    return Service(found=None, settings=Settings(), url="http://127.0.0.1:9", **options)


def test_application_that_cannot_be_created_is_a_startup_failure(caplog):
    with pytest.raises(SystemExit) as ended:
        service(record=Path("/nowhere/x")).app()
    assert ended.value.code == STARTUP_FAILURE
    assert "/nowhere/x" in caplog.text


@pytest.mark.parametrize("codes", [(0, -15), (-15, STARTUP_FAILURE)])
def test_service_reports_a_startup_failure_of_a_worker(monkeypatch, codes):
    def run(workers):
        workers.processes = [SimpleNamespace(exitcode=code) for code in codes]

    monkeypatch.setattr(serving.Workers, "run", run)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(serving, "share_numbers", lambda _: None)
    failure = pytest.raises(UsageError, match="failed at startup")
    with failure if STARTUP_FAILURE in codes else nullcontext():
        serving.serve(service(workers=2), None)


def counted(number):
    return f'deltaparse_requests_total{{protocol="chat",status="200"}} {number:.1f}'


def workers_of(process):
    """Return the ids of the workers. The other child of a service tracks its resources."""
    said = subprocess.run(
        ["ps", "-A", "-w", "-w", "-o", "pid=,ppid=,args="],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line.split(maxsplit=2) for line in said.stdout.splitlines() if "spawn_main" in line]
    return {int(pid) for pid, parent, _ in rows if parent == str(process)}


def wait_until(true):
    for _ in range(PATIENCE * 10):
        if true():
            return
        time.sleep(0.1)
    assert true()
