"""Results of the JavaScript clients of OpenAI, Anthropic and Vercel for the streams.

They require node, and a folder in the environment variable DELTAPARSE_NODE, prepared with
`npm install openai @anthropic-ai/sdk ai @ai-sdk/openai @ai-sdk/openai-compatible
@ai-sdk/anthropic`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from deltaparse import ContentDelta, ReasoningDelta, ToolCallDelta
from deltaparse.protocols import AnthropicMessages, ChatCompletions, Responses

from .streams import USAGE, bytes_of

FOLDER = os.environ.get("DELTAPARSE_NODE")
SCRIPT = Path(__file__).with_name("javascript_clients.mjs")
pytestmark = pytest.mark.skipif(
    FOLDER is None or shutil.which("node") is None,
    reason="DELTAPARSE_NODE names no folder with the JavaScript clients",
)

HEAD = {"id": "resp_1", "model": "m", "created": 1_700_000_000}
MACHINES = {
    "/chat/completions": lambda: ChatCompletions(**HEAD),
    "/responses": lambda: Responses(**HEAD, reasoning="summary"),
    "/messages": lambda: AnthropicMessages(**HEAD),
}
DELTAS = [
    ReasoningDelta("Hm, é "),
    ReasoningDelta("日本"),
    ContentDelta("Let me "),
    ContentDelta('see \u2028"x".'),
    ReasoningDelta("again"),
    ToolCallDelta(0, "call_1", "look", ""),
    ToolCallDelta(0, arguments='{"n": '),
    ToolCallDelta(0, arguments="1.50}", last=True),
    ToolCallDelta(1, "call_2", "look", "{}", last=True),
    ContentDelta("😀"),
]


@pytest.fixture
def clients():
    """Return a function that runs the clients with a server that sends a few bytes at a time."""
    bodies = {}

    class Server(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            body = next(body for path, body in bodies.items() if self.path.endswith(path))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            for at in range(0, len(body), 37):
                self.wfile.write(body[at : at + 37])

        def log_message(self, *said):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def run(deltas, reason):
        for path, machine in MACHINES.items():
            bodies[path] = bytes_of(machine(), deltas, reason, USAGE)
        url = f"http://127.0.0.1:{server.server_port}"
        done = subprocess.run(
            ["node", SCRIPT, url, FOLDER], capture_output=True, check=True, encoding="utf-8"
        )
        return [json.loads(line) for line in done.stdout.split("\n") if line.startswith("{")]

    yield run
    server.shutdown()
    thread.join()
    server.server_close()


def test_javascript_clients_read_the_message(clients):
    found = clients(DELTAS, "stop")
    assert len(found) == 6
    for made in found:
        assert "error" not in made
        assert made["content"] == 'Let me see \u2028"x".😀'
        calls = [
            (call_id, name, json.loads(given) if isinstance(given, str) else given)
            for call_id, name, given in made["calls"]
        ]
        assert calls == [("call_1", "look", {"n": 1.5}), ("call_2", "look", {})]
        assert made["reason"] in ("tool_calls", "tool-calls", "tool_use", "completed")
        assert made.get("reasoning", "Hm, é 日本again") == "Hm, é 日本again"


def test_javascript_clients_report_truncation(clients):
    for made in clients(DELTAS[:7], "length"):
        assert "error" not in made
        assert made["content"] == 'Let me see \u2028"x".'
        assert made["reason"] in ("length", "max_tokens", "incomplete")
        assert made["calls"][0][2] in ('{"n": ', {})


def test_javascript_clients_read_an_empty_response(clients):
    for made in clients([], "stop"):
        assert "error" not in made
        assert (made["content"], made["calls"]) == ("", [])
        assert made["reason"] in ("stop", "end_turn", "completed")
