"""A real llama.cpp server with the gateway, and a model that writes noise.

`make test-llama` installs its large packages: `xllamacpp`, which contains the server, and `gguf`.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import httpx
import pytest

from deltaparse.gateway import HttpClient, Settings, discover
from deltaparse.protocols import read_chat_completions

from .asking import ASKED, CHAT, CLIENT, MESSAGES, PATHS, READERS, RESPONSES, TOOLS
from .conftest import TEMPLATES, Running
from .tiny_model import SERVER, write_model

pytest.importorskip("xllamacpp", reason="make test-llama installs it")
pytest.importorskip("gguf", reason="make test-llama installs it")

SCHEMA = {
    "type": "object",
    "properties": {"unit": {"enum": ["C", "F"]}, "now": {"type": "boolean"}},
    "required": ["unit", "now"],
    "additionalProperties": False,
}
BUDGET = {
    CHAT: {"thinking_budget": 20},
    RESPONSES: {"reasoning": {"max_tokens": 20}},
    MESSAGES: {"thinking": {"type": "enabled", "budget_tokens": 20}},
}
"""A reasoning budget, because noise rarely contains the end of reasoning."""
SHORT = {CHAT: "max_tokens", RESPONSES: "max_output_tokens", MESSAGES: "max_tokens"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    file = tmp_path_factory.mktemp("model") / "tiny.gguf"
    write_model(file, (TEMPLATES / "json_in_tags.jinja").read_text())
    command = [sys.executable, "-c", SERVER, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().strip()
        process.terminate()


@pytest.fixture(scope="module")
def found(server):
    async def ask():
        async with HttpClient(server, Settings()) as client:
            return await discover(client, "auto", "auto")

    return asyncio.run(ask())


@pytest.fixture(scope="module")
def real(server, found):
    class Upstream:
        url = server

    gateway = Running(Upstream, kind="llama.cpp", options=(("adds_bos", found.upstream.adds_bos),))
    yield gateway
    gateway.stop()


def asked(path, **more):
    return ASKED[path] | {SHORT[path]: 60} | more


def test_llama_server_is_detected(found):
    assert found.upstream.kind == "llama.cpp"
    assert found.upstream.adds_bos
    assert found.model.fmt.verified
    assert found.model.template.bos_token == "<s>"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [True, False])
def test_noise_is_parsed_as_content(real, path, stream):
    answer = real.post(path, asked(path, stream=stream))
    assert answer.status_code == 200
    message = READERS[path](answer.content if stream else answer.json())
    assert message.content
    assert "stream_error" not in {issue.kind for issue in message.issues}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [True, False])
def test_required_call_constrains_noise(real, path, stream):
    tools = json.loads(json.dumps(TOOLS[path]).replace('"add"', '"weather"'))
    (tools[0].get("function") or tools[0])["input_schema" if path == MESSAGES else "parameters"] = (
        SCHEMA
    )
    choice = {"type": "any", "disable_parallel_tool_use": True}
    more = {"tool_choice": choice}
    if path != MESSAGES:
        more = {"tool_choice": "required", "parallel_tool_calls": False}
    for seed in range(3):
        body = asked(path, stream=stream, tools=tools, seed=seed, **more) | {SHORT[path]: 400}
        answer = real.post(path, body | BUDGET[path])
        assert answer.status_code == 200, answer.text
        message = READERS[path](answer.content if stream else answer.json())
        (call,) = message.tool_calls
        made = json.loads(call.arguments)
        assert call.name == "weather"
        assert made["unit"] in ("C", "F")
        assert isinstance(made["now"], bool)


def test_response_format_constrains_noise(real):
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
    body = asked(CHAT, response_format=form, **BUDGET[CHAT]) | {"max_tokens": 400}
    answer = real.post(CHAT, body).json()
    made = json.loads(answer["choices"][0]["message"]["content"])
    assert set(made) == {"unit", "now"}


def test_lazy_grammars_are_accepted(real):
    function = {"name": "weather", "strict": True, "parameters": SCHEMA}
    answer = real.post(CHAT, asked(CHAT, tools=[{"type": "function", "function": function}]))
    assert answer.status_code == 200, answer.text


def test_bos_token_occurs_once(real, server):
    usage = real.post(CHAT, asked(CHAT)).json()["usage"]
    sent = real.model.template.render(ASKED[CHAT]["messages"], add_generation_prompt=True)
    body = {"content": sent.removeprefix("<s>"), "add_special": True, "parse_special": True}
    tokens = CLIENT.post(f"{server}/tokenize", json=body).json()["tokens"]
    assert usage["prompt_tokens"] == len(tokens)
    assert usage["completion_tokens"] <= 60


def test_log_probabilities(real):
    said = real.post(CHAT, asked(CHAT, logprobs=True, top_logprobs=3)).json()["choices"][0]
    entries = said["logprobs"]["content"]
    assert len(entries) > 10
    assert all(entry["logprob"] <= 0 and len(entry["top_logprobs"]) == 3 for entry in entries)


def test_forced_end_of_reasoning(real):
    begun = {"role": "assistant", "content": "", "reasoning_content": "Let me"}
    messages = [*ASKED[CHAT]["messages"], begun]
    body = asked(CHAT, messages=messages, continue_final_message=True, thinking_budget=8)
    answer = real.post(CHAT, body | {"stream": True, "include_raw": True})
    message = read_chat_completions(answer.content)
    assert message.content
    assert "\\n</ponder>\\n\\n" in answer.text.rpartition('"raw"')[2]


def test_abandoned_response_is_stopped(real, server):
    body = asked(CHAT, stream=True) | {"max_tokens": 3000}
    with httpx.stream("POST", real.url + CHAT, json=body) as answer:
        next(answer.iter_bytes())
    for _ in range(50):
        slots = CLIENT.get(f"{server}/slots").json()
        if not any(slot["is_processing"] for slot in slots):
            return
    raise AssertionError("the server goes on")
