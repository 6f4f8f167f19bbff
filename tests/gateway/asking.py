"""Requests of the tests, in each protocol."""

from __future__ import annotations

import socket
import ssl
import time

import httpx

from deltaparse.protocols import read_chat_completions, read_messages, read_responses

CLIENT = httpx.Client(timeout=20, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
"""A client without certificates, because loading them takes longer than a response."""

PATIENCE = 60
"""Seconds to wait for a process. Each one imports the package, which is slow on a busy machine."""

HI = [{"role": "user", "content": "Hi"}]
ASKED = {
    "/v1/chat/completions": {"messages": HI},
    "/v1/responses": {"input": "Hi"},
    "/v1/messages": {"messages": HI, "max_tokens": 50},
}
PATHS = tuple(ASKED)
READERS = dict(zip(PATHS, (read_chat_completions, read_responses, read_messages), strict=True))
CHAT, RESPONSES, MESSAGES = PATHS
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TOOL = {"type": "function", "function": {"name": "add", "parameters": SCHEMA}}
TOOLS = {
    CHAT: [TOOL],
    RESPONSES: [{"type": "function", **TOOL["function"]}],
    MESSAGES: [{"name": "add", "input_schema": SCHEMA}],
}
OUTPUT = (
    "<ponder>\nA sum.\n</ponder>\n\nLet me see.\n<call>\n"
    '{"name": "add", "arguments": {"a": 1}}\n</call>\n<call>\n'
    '{"name": "add", "arguments": {"a": 25}}\n</call>'
)
CHUNKS = [OUTPUT[at : at + 5] for at in range(0, len(OUTPUT), 5)]
KINDS = ("openai", "llama.cpp", "sglang", "tgi")


def error_of(path, body):
    """Return the type and the message of an error in the shape of a path's protocol."""
    if path == "/v1/messages":
        assert body["type"] == "error"
    return body["error"]["type"], body["error"]["message"]


def streamed(gateway, path, **more):
    return gateway.post(path, ASKED[path] | {"stream": True} | more)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(url):
    for _ in range(PATIENCE * 10):
        try:
            if CLIENT.get(f"{url}/health").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError("the gateway did not start")
