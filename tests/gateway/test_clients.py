"""The real clients of OpenAI and Anthropic, through the gateway, to each kind of upstream."""

from __future__ import annotations

import json

import pytest

from deltaparse import parse

from .asking import CHUNKS, KINDS, OUTPUT, SCHEMA, TOOL

ASK = [{"role": "user", "content": "What is 1 + 25?"}]


def package(name):
    """Import the package of a client. It is large, so only tests that need it import it."""
    return pytest.importorskip(name, reason=f"the {name} package is not installed")


@pytest.fixture(params=KINDS)
def served(request, gateways, upstream):
    upstream.plays(chunks=CHUNKS)
    return gateways(kind=request.param)


@pytest.fixture
def openai_client(served):
    base = f"{served.url}/v1"
    with package("openai").OpenAI(api_key="x", base_url=base, max_retries=0) as client:
        yield client


@pytest.fixture
def anthropic_client(served):
    with package("anthropic").Anthropic(api_key="x", base_url=served.url, max_retries=0) as client:
        yield client


def expected(served):
    return parse(OUTPUT, served.model.fmt, tools=[TOOL], finish_reason="stop")


def calls_of(message):
    return [(call.name, call.arguments) for call in message.tool_calls]


def test_chat_streamed(served, openai_client):
    want = expected(served)
    reasoning, content, calls, reason, usage = "", "", {}, None, None
    stream = openai_client.chat.completions.create(
        model="tiny",
        messages=ASK,
        tools=[TOOL],
        stream=True,
        stream_options={"include_usage": True},
    )
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            reasoning += getattr(choice.delta, "reasoning_content", None) or ""
            content += choice.delta.content or ""
            for call in choice.delta.tool_calls or ():
                one = calls.setdefault(call.index, [call.id, call.function.name, ""])
                one[2] += call.function.arguments or ""
            reason = choice.finish_reason or reason
    assert (reasoning, content) == (want.reasoning_content, want.content)
    assert [tuple(call[1:]) for call in calls.values()] == calls_of(want)
    assert len({call[0] for call in calls.values()}) == 2
    assert reason == "tool_calls"
    assert usage.completion_tokens == len(CHUNKS)
    assert 0 < usage.completion_tokens_details.reasoning_tokens < len(CHUNKS)


def test_chat_complete(served, openai_client):
    want = expected(served)
    answer = openai_client.chat.completions.create(model="tiny", messages=ASK, tools=[TOOL])
    (choice,) = answer.choices
    assert choice.message.content == want.content
    assert choice.message.reasoning_content == want.reasoning_content
    made = [(call.function.name, call.function.arguments) for call in choice.message.tool_calls]
    assert made == calls_of(want)
    assert (choice.finish_reason, answer.model) == ("tool_calls", "tiny")
    assert answer.usage.completion_tokens == len(CHUNKS)


@pytest.mark.parametrize("streamed", [True, False])
def test_responses(served, openai_client, streamed):
    want = expected(served)
    tools = [{"type": "function", "name": "add", "parameters": SCHEMA, "strict": False}]
    if streamed:
        with openai_client.responses.stream(model="tiny", input="1 + 25?", tools=tools) as stream:
            answer = stream.get_final_response()
    else:
        answer = openai_client.responses.create(model="tiny", input="1 + 25?", tools=tools)
    assert [item.type for item in answer.output][:2] == ["reasoning", "message"]
    assert answer.output_text == want.content
    made = [(item.name, item.arguments) for item in answer.output if item.type == "function_call"]
    assert made == calls_of(want)
    assert answer.status == "completed"
    assert answer.usage.output_tokens == len(CHUNKS)


@pytest.mark.parametrize("streamed", [True, False])
def test_messages(served, anthropic_client, streamed):
    want = expected(served)
    asked = {
        "model": "tiny",
        "max_tokens": 100,
        "messages": ASK,
        "tools": [{"name": "add", "input_schema": SCHEMA}],
    }
    if streamed:
        with anthropic_client.messages.stream(**asked) as stream:
            answer = stream.get_final_message()
    else:
        answer = anthropic_client.messages.create(**asked)
    thinking, text, *calls = answer.content
    assert (thinking.thinking, text.text) == (want.reasoning_content, want.content)
    assert [(call.name, call.input) for call in calls] == [
        (name, json.loads(arguments)) for name, arguments in calls_of(want)
    ]
    assert answer.stop_reason == "tool_use"
    assert answer.usage.output_tokens == len(CHUNKS)


def test_models(openai_client):
    assert [model.id for model in openai_client.models.list()] == ["tiny"]
    assert openai_client.models.retrieve("tiny").id == "tiny"
    with pytest.raises(package("openai").NotFoundError):
        openai_client.models.retrieve("large")


def test_tool_results_are_rendered_into_the_prompt(openai_client, upstream):
    first = openai_client.chat.completions.create(model="tiny", messages=ASK, tools=[TOOL])
    made = first.choices[0].message
    results = [{"role": "tool", "tool_call_id": c.id, "content": "26!"} for c in made.tool_calls]
    messages = [*ASK, made.model_dump(exclude_none=True), *results]
    upstream.plays(chunks=["It is 26."])
    second = openai_client.chat.completions.create(model="tiny", messages=messages, tools=[TOOL])
    assert second.choices[0].message.content == "It is 26."
    asked = upstream.bodies[-1]
    prompt = asked.get("prompt") or asked.get("text") or asked.get("inputs")
    assert prompt.count("26!") == 2
    assert prompt.count("<s>") == 1
    assert prompt.endswith("<|turn|>assistant\n")


@pytest.mark.parametrize("streamed", [True, False])
def test_tool_runner_of_anthropic_sends_whole_conversations(
    gateways, upstream, anthropic_client, streamed
):
    """It sends only new messages after a server has accepted a `thread`."""
    call = '<call>\n{"name": "add", "arguments": {"a": 1}}\n</call>'
    upstream.plays(chunks=[call])

    @package("anthropic").beta_tool
    def add(a: int) -> str:
        """Add one."""
        upstream.plays(chunks=["It is two."])
        return f"result {a + 1}"

    asked = {"model": "tiny", "max_tokens": 100, "messages": ASK, "tools": [add]}
    runner = anthropic_client.beta.messages.tool_runner(**asked, stream=streamed)
    answer = runner.until_done()
    assert answer.content[0].text == "It is two."
    prompt = json.dumps(upstream.bodies[-1])
    assert all(text in prompt for text in ("What is 1 + 25?", "<call>", "result 2"))
