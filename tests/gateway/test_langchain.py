"""LangChain's models through the gateway. `make test-clients` installs them."""

from __future__ import annotations

import json

import pytest

from deltaparse import parse

from .asking import CHUNKS, KINDS, OUTPUT, SCHEMA

langchain_openai = pytest.importorskip("langchain_openai", reason="make test-clients installs it")
langchain_anthropic = pytest.importorskip("langchain_anthropic", reason="as langchain_openai")

pytestmark = pytest.mark.filterwarnings("ignore")

TOOL = {
    "type": "function",
    "function": {"name": "add", "description": "Adds.", "parameters": SCHEMA},
}
MODELS = ("chat", "responses", "messages")


@pytest.fixture(params=KINDS)
def served(request, gateways, upstream):
    upstream.plays(chunks=CHUNKS)
    return gateways(kind=request.param)


@pytest.fixture(params=MODELS)
def model(request, served):
    if request.param == "messages":
        return langchain_anthropic.ChatAnthropic(
            model="tiny", api_key="x", base_url=served.url, max_tokens=100, max_retries=0
        )
    return langchain_openai.ChatOpenAI(
        model="tiny",
        api_key="x",
        base_url=f"{served.url}/v1",
        max_retries=0,
        stream_usage=True,
        use_responses_api=request.param == "responses",
    )


def calls_of(message):
    return [(call["name"], call["args"]) for call in message.tool_calls]


@pytest.mark.parametrize("streamed", [True, False])
def test_calls(model, served, streamed):
    want = parse(OUTPUT, served.model.fmt, tools=[TOOL], finish_reason="stop")
    bound = model.bind_tools([TOOL])
    if streamed:
        made = None
        for chunk in bound.stream("What is 1 + 25?"):
            made = chunk if made is None else made + chunk
    else:
        made = bound.invoke("What is 1 + 25?")
    assert calls_of(made) == [(c.name, json.loads(c.arguments)) for c in want.tool_calls]
    assert made.text.strip() == want.content.strip()
    assert made.usage_metadata["output_tokens"] == len(CHUNKS)


def test_the_second_turn(model, upstream):
    from langchain_core.messages import HumanMessage, ToolMessage

    question = HumanMessage("What is 1 + 25?")
    made = model.bind_tools([TOOL]).invoke([question])
    results = [ToolMessage("26!", tool_call_id=call["id"]) for call in made.tool_calls]
    upstream.plays(chunks=["It is ", "26."])
    assert model.bind_tools([TOOL]).invoke([question, made, *results]).text == "It is 26."
    body = upstream.bodies[-1]
    prompt = body.get("prompt") or body.get("text") or body.get("inputs")
    assert prompt.count("26!") == 2
