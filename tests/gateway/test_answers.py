"""Features of responses: log probabilities, raw output, constraints, continuation, budgets."""

from __future__ import annotations

import asyncio
import itertools
import json
import re

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import ContentDelta, StreamParser, get_format
from deltaparse.gateway import Model
from deltaparse.gateway.choice_stream import Turn
from deltaparse.gateway.faults import Fault
from deltaparse.gateway.logprobs import TokenTexts
from deltaparse.gateway.model import Thinking
from deltaparse.gateway.upstreams.upstream import Received
from deltaparse.protocols import read_chat_completions_request
from deltaparse.replay import Replayer

from .asking import (
    ASKED,
    CHAT,
    CLIENT,
    HI,
    KINDS,
    MESSAGES,
    PATHS,
    READERS,
    RESPONSES,
    TOOL,
    TOOLS,
    error_of,
    streamed,
)
from .conftest import Records, Running, model_of
from .scripted import Script

THOUGHT = ["<ponder>\n", "So ", "it ", "is", ".\n</ponder>\n\n", "The ", "sum", "."]
CALL = '<call>\n{"name": "add", "arguments": {"a": 1}}\n</call>'


def events_of(answer):
    lines = [line for line in answer.text.splitlines() if line.startswith("data: {")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def prompt_of(body):
    return body.get("prompt") or body.get("text") or body.get("inputs")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stream", [True, False])
def test_log_probabilities_cover_content_tokens(gateways, upstream, kind, stream):
    upstream.plays(chunks=THOUGHT)
    gateway = gateways(kind=kind)
    asked = {"logprobs": True, "top_logprobs": 2, "stream": stream}
    answer = gateway.post(CHAT, ASKED[CHAT] | asked)
    entries = []
    if stream:
        for event in events_of(answer):
            (choice,) = event["choices"]
            if choice["logprobs"]:
                text = "".join(entry["token"] for entry in choice["logprobs"]["content"])
                assert choice["delta"]["content"] == text
                entries += choice["logprobs"]["content"]
    else:
        entries = answer.json()["choices"][0]["logprobs"]["content"]
    assert [entry["token"] for entry in entries] == ["The ", "sum", "."]
    for entry in entries:
        assert entry["logprob"] == -0.5
        assert bytes(entry["bytes"]).decode() == entry["token"]
        assert [top["token"] for top in entry["top_logprobs"]] == [entry["token"], "1?"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stream", [True, False])
def test_log_probabilities_in_responses(gateways, upstream, kind, stream):
    upstream.plays(chunks=THOUGHT)
    asked = {"include": ["message.output_text.logprobs"], "top_logprobs": 1, "stream": stream}
    answer = gateways(kind=kind).post(RESPONSES, ASKED[RESPONSES] | asked)
    response = events_of(answer)[-1]["response"] if stream else answer.json()
    (part,) = [part for item in response["output"] for part in item["content"]][-1:]
    assert [entry["token"] for entry in part["logprobs"]] == ["The ", "sum", "."]


@given(st.lists(st.text("ab<think> /\n", min_size=1, max_size=6), max_size=12))
def test_each_content_token_belongs_to_one_delta(chunks):
    parser, tokens, placed, text = StreamParser(get_format("qwen3")), TokenTexts(), [], ""

    def take(deltas):
        tokens.place(deltas, parser.held)
        for delta in deltas:
            found = tokens.of(delta)
            assert (found is not None) is isinstance(delta, ContentDelta)
            placed.extend(found or ())

    for number, chunk in enumerate(chunks):
        for part in tokens.came(chunk, [{"token": chunk, "number": number}]):
            take(parser.feed(part))
        text += chunk
        assert parser.held <= len(text)
    take(parser.finish("stop"))
    numbers = [entry["number"] for entry in placed]
    assert numbers == sorted(set(numbers))
    whole = parser.message.content == text
    assert numbers == list(range(len(chunks))) or not whole


def came(tokens, *texts):
    """Add the text of some tokens, and return the texts of the tokens."""
    return list(tokens.came("".join(texts), [{"token": text} for text in texts]))


def test_partial_character_tokens_belong_to_the_character():
    tokens = TokenTexts()
    assert list(tokens.came("", [{"token": "\ufffd"}])) == [""]
    assert list(tokens.came("é!", [{"token": "\ufffd"}, {"token": "!"}])) == ["é", "!"]
    delta = ContentDelta("é!")
    tokens.place([delta], held=0)
    assert [entry["token"] for entry in tokens.of(delta)] == ["\ufffd", "\ufffd", "!"]


def test_token_overlapping_a_marker_counts_for_content():
    tokens = TokenTexts()
    came(tokens, "So", ".<")
    delta = ContentDelta("So.")
    tokens.place([delta], held=1)
    assert [entry["token"] for entry in tokens.of(delta)] == ["So", ".<"]
    came(tokens, "tool_call>")
    came(tokens, "</tool_call>H", "i")
    behind = ContentDelta("Hi")
    tokens.place([behind], held=0)
    assert [entry["token"] for entry in tokens.of(behind)] == ["</tool_call>H", "i"]


class Told:
    """A connection that yields lists of tokens."""

    def __init__(self, *lists):
        numbers = itertools.count()
        self.events = [
            Received(
                "".join(texts),
                logprobs=[{"token": text, "number": next(numbers)} for text in texts],
            )
            for texts in lists
        ]
        self.events.append(Received(reason="stop", stop=""))

    async def receive(self):
        return self.events.pop(0) if self.events else None

    def limit(self, deadline):
        pass


def tokens_of_content(*lists, stop=()):
    """Return the content of a turn with these lists of tokens, and the numbers of its tokens."""
    parser, tokens = StreamParser(model_of("json_in_tags").fmt, tools=[TOOL]), TokenTexts()
    turn = Turn(parser, stop, keep=True, tokens=tokens)
    numbers = []

    async def emit(deltas):
        for delta in deltas:
            numbers.extend(entry["number"] for entry in tokens.of(delta) or ())

    async def read():
        await turn.read(Told(*lists), emit)
        await turn.finish(emit)

    asyncio.run(read())
    return parser.message.content, numbers, turn.text


REPEATED = ["a", "<call>", '\n{"name": "add", "arguments": {"a": 1}}\n', "</call>", "a"]
"""The content also occurs in markers and calls."""


@given(st.sets(st.integers(1, len(REPEATED) - 1)))
def test_content_tokens_are_found_at_any_split(cuts):
    places = [0, *sorted(cuts), len(REPEATED)]
    lists = [REPEATED[start:end] for start, end in itertools.pairwise(places)]
    assert tokens_of_content(*lists) == ("aa", [0, 4], "".join(REPEATED))


@pytest.mark.parametrize("together", [True, False])
def test_tokens_after_a_stop_string_are_dropped(together):
    texts = ["Hi", "\n", "ST", "OP\n", "\n"]
    lists = [texts] if together else [[text] for text in texts]
    assert tokens_of_content(*lists, stop=("STOP",)) == ("Hi\n", [0, 1], "Hi\n")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [True, False])
def test_include_raw_adds_the_raw_output(gateway, upstream, path, stream):
    upstream.plays(chunks=THOUGHT)
    answer = gateway.post(path, ASKED[path] | {"stream": stream, "include_raw": True})
    said = events_of(answer) if stream else [answer.json()]
    found = [raw for one in said for raw in raws(one)]
    assert found == ["".join(THOUGHT)]
    plain = gateway.post(path, ASKED[path] | {"stream": stream})
    assert '"raw"' not in plain.text


def raws(value):
    """Return all members `raw` of a JSON value."""
    if isinstance(value, dict):
        own = [value["raw"]] if "raw" in value else []
        return own + [raw for inner in value.values() for raw in raws(inner)]
    return [raw for inner in value for raw in raws(inner)] if isinstance(value, list) else []


def test_each_choice_has_a_raw_output(gateway, upstream):
    upstream.plays(chunks=THOUGHT)
    answer = gateway.post(CHAT, ASKED[CHAT] | {"n": 3, "include_raw": True}).json()
    assert raws(answer) == ["".join(THOUGHT)] * 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("path", PATHS)
def test_usage_is_complete_after_a_stop_string_of_the_gateway(
    gateways, upstream, kind, stream, path
):
    """The usage is present, whether the upstream ends its response or is disconnected."""
    upstream.plays(chunks=["one ", "two END", " three"])
    upstream.documents["/tokenize"] = {"tokens": [1, 2, 3, 4, 5]}
    stop = "stop_sequences" if path == MESSAGES else "stop"
    asked = {stop: ["END"], "stream": stream} | (
        {"stream_options": {"include_usage": True}} if path == CHAT and stream else {}
    )
    answer = gateways(kind=kind).post(path, ASKED[path] | asked)
    del upstream.documents["/tokenize"]
    events = events_of(answer) if stream else [answer.json()]
    numbers = [n for event in events for n in used(event)]
    assert {"completion_tokens", "output_tokens"} & set().union(*numbers)
    read = [n.get("prompt_tokens", n.get("input_tokens", 0)) for n in numbers]
    assert max(read) in (5, 7)


def used(value):
    """Return all usages in a JSON value."""
    if isinstance(value, dict):
        own = [value["usage"]] if value.get("usage") else []
        return own + [
            found for key, inner in value.items() if key != "usage" for found in used(inner)
        ]
    return [found for inner in value for found in used(inner)] if isinstance(value, list) else []


def test_missing_usage_does_not_delay_the_response(gateway, upstream, monkeypatch):
    monkeypatch.setattr("deltaparse.gateway.choice_stream.AFTER_END", 0.2)
    upstream.plays(chunks=["one "], after=20.0)
    answer = gateway.post(CHAT, ASKED[CHAT])
    assert answer.elapsed.total_seconds() < 10
    assert answer.json()["choices"][0]["message"]["content"] == "one "
    assert answer.json()["usage"]["completion_tokens"] == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [True, False])
def test_reasoning_budget_ends_reasoning(gateways, upstream, kind, path, stream):
    """After the budget, the model continues as if it had ended its reasoning itself."""
    upstream.plays(chunks=["<ponder>\n", *["hm "] * 500], pause=0.001)
    upstream.by_prompt["hm \n</ponder>\n\n"] = Script(chunks=["It ", "is ", "26."])
    asked = {
        CHAT: {"thinking_budget": 10, "max_tokens": 400},
        RESPONSES: {"reasoning": {"max_tokens": 10}, "max_output_tokens": 400},
        MESSAGES: {"thinking": {"type": "enabled", "budget_tokens": 10}, "max_tokens": 400},
    }[path]
    if path == CHAT and stream:
        asked["stream_options"] = {"include_usage": True}
    gateway = gateways(kind=kind)
    answer = gateway.post(path, ASKED[path] | asked | {"stream": stream})
    message = READERS[path](answer.content if stream else answer.json())
    assert message.content == "It is 26."
    thought = len(message.reasoning_content.split())
    assert 8 <= thought <= 40
    first, second = upstream.bodies
    assert prompt_of(second).startswith(prompt_of(first) + "<ponder>\nhm hm ")
    assert prompt_of(second).endswith("hm \n</ponder>\n\n")
    left = [limit_of(body) for body in upstream.bodies]
    assert left[0] == 400
    assert 300 < left[1] < 400
    events = events_of(answer) if stream else [answer.json()]
    numbers = [n for event in events for n in used(event)][-1]
    made = numbers.get("completion_tokens", numbers.get("output_tokens"))
    assert made >= thought + 3


def limit_of(body):
    names = ("max_tokens", "n_predict", "max_new_tokens")
    inner = body | body.get("sampling_params", {}) | body.get("parameters", {})
    return next(inner[name] for name in names if name in inner)


def test_reasoning_is_forced_to_end_a_limited_number_of_times(gateway, upstream):
    upstream.plays(chunks=["<ponder>\n", *["hm "] * 20])
    answer = gateway.post(CHAT, ASKED[CHAT] | {"thinking_budget": 3})
    assert answer.status_code == 200
    assert 2 <= len(upstream.bodies) <= 6


def test_unspent_reasoning_budget_has_no_effect(gateway, upstream):
    upstream.plays(chunks=THOUGHT)
    plain = gateway.post(CHAT, ASKED[CHAT]).json()["choices"]
    assert gateway.post(CHAT, ASKED[CHAT] | {"thinking_budget": 100}).json()["choices"] == plain
    assert len(upstream.bodies) == 2


def test_reasoning_budget_of_all_tokens_truncates_the_turn(gateway, upstream):
    upstream.plays(chunks=["<ponder>\n", *["hm "] * 20])
    asked = {"thinking_budget": 5, "max_tokens": 5}
    (choice,) = gateway.post(CHAT, ASKED[CHAT] | asked).json()["choices"]
    assert choice["finish_reason"] == "length"
    assert len(upstream.bodies) == 1


def test_upstream_failure_after_the_budget_is_reported(gateway, upstream):
    upstream.plays(chunks=["<ponder>\n", *["hm "] * 20])
    upstream.by_prompt["hm \n</ponder>"] = Script(status=500)
    message = READERS[CHAT](streamed(gateway, CHAT, thinking_budget=3).content)
    assert message.reasoning_content.startswith("hm hm")
    assert "stream_error" in {issue.kind for issue in message.issues}
    assert gateway.post(CHAT, ASKED[CHAT] | {"thinking_budget": 3}).status_code == 502


MANY = ("json_in_tags", "channels", "reasoning_in_several_markers", "reasoning_forced_closed")


@pytest.mark.parametrize(
    "name", [*MANY, "reasoning_up_to_a_delimiter", "sections_that_the_next_one_ends"]
)
def test_forced_end_ends_reasoning_in_every_format(name):
    model = model_of(name, bos_token="<s>")
    fmt = model.fmt
    prompt = model.prompt(read_chat_completions_request({"messages": HI}), Thinking(on=True))
    for start, end in fmt.reasoning.pairs:
        opened = start if not StreamParser(fmt, prompt=prompt).in_reasoning else ""
        if fmt.derived.has_channels:
            channels = fmt.channels
            opened = channels.channel + channels.reasoning[0] + channels.message
        parser = StreamParser(fmt, prompt=prompt)
        output = opened + "Hm, hm"
        parser.feed(output)
        assert parser.in_reasoning
        forced = model.forced_end(output, prompt)
        assert fmt.derived.has_channels or opened == "" or forced == end
        parser.feed(forced)
        assert not parser.in_reasoning


@pytest.mark.parametrize("name", [*MANY, "wrapped_content", "escaped_values", "python_unmarked"])
def test_continued_prompt_ends_with_the_last_message(name):
    """The parser continues the message, and emits only new text."""
    model = model_of(name, bos_token="<s>")
    said = {"role": "assistant", "content": "The sum is"}
    request = read_chat_completions_request({"messages": [*HI, said]})
    prompt = model.prompt(request, Thinking(), continues=True)
    assert prompt.endswith("The sum is")
    parser = StreamParser(model.fmt, tools=[], prompt=prompt)
    parser.feed(" 26.")
    parser.finish("stop")
    assert parser.message.content == " 26."
    assert not parser.message.reasoning_content


@pytest.mark.parametrize(
    "last",
    [
        {"content": None, "tool_calls": [{"id": "call_1", **TOOL}]},
        {"content": "", "reasoning_content": "So"},
    ],
)
def test_unsupported_continuation_is_refused(last):
    model = model_of("reasoning_up_to_a_delimiter")
    if "tool_calls" in last:
        call = {"name": "add", "arguments": "{}"}
        last = last | {"tool_calls": [{"id": "call_1", "type": "function", "function": call}]}
    request = read_chat_completions_request({"messages": [*HI, {"role": "assistant", **last}]})
    dropping = Model(
        type(model.template)("{% for m in messages %}{{ m.content }}{% endfor %}"), model.fmt
    )
    with pytest.raises(Fault, match="continu") as caught:
        dropping.prompt(request, Thinking(), continues=True)
    assert caught.value.param == "messages"


@pytest.mark.parametrize("stream", [True, False])
def test_last_assistant_message_is_continued(gateway, upstream, stream):
    begun = [*HI, {"role": "assistant", "content": "The sum"}]
    for path, more in ((MESSAGES, {}), (CHAT, {"continue_final_message": True})):
        upstream.plays(chunks=[" is ", "26."])
        body = ASKED[path] | {"messages": begun, "stream": stream} | more
        answer = gateway.post(path, body)
        message = READERS[path](answer.content if stream else answer.json())
        assert message.content == " is 26."
        assert upstream.bodies[-1]["prompt"].endswith("<|turn|>assistant\nThe sum")
    upstream.plays()
    gateway.post(CHAT, ASKED[CHAT] | {"messages": begun})
    assert upstream.bodies[-1]["prompt"].endswith("The sum<|done|>\n<|turn|>assistant\n")


STRICT = {
    CHAT: [{**TOOL, "function": TOOL["function"] | {"strict": True}}],
    RESPONSES: [{"type": "function", "strict": True, **TOOL["function"]}],
    MESSAGES: [{"name": "add", "input_schema": TOOL["function"]["parameters"], "strict": True}],
}


@pytest.mark.parametrize("path", PATHS)
def test_strict_tools_constrain_calls_lazily(gateways, upstream, path):
    def asked_of(kind, **options):
        upstream.plays(chunks=[CALL])
        body = ASKED[path] | {"tools": STRICT[path]}
        answer = gateways(kind=kind, **options).post(path, body)
        return answer, upstream.bodies[-1] if upstream.bodies else None

    _, llama = asked_of("llama.cpp")
    assert llama["grammar_lazy"] is True
    (trigger,) = llama["grammar_triggers"]
    assert trigger["type"] == 2
    assert re.search(trigger["value"], "Well.\n<call>")[1] == "<call>"
    assert not re.search(trigger["value"], "<ponder>\n<call>")
    assert "<call>" in llama["preserved_tokens"]
    assert llama["grammar"].startswith("root ::=")
    _, vllm = asked_of("openai")
    tag = json.loads(vllm["structured_outputs"]["structural_tag"])
    assert tag["type"] == "structural_tag"
    assert "add" in json.dumps(tag)
    _, sglang = asked_of("sglang")
    assert json.loads(sglang["sampling_params"]["structural_tag"]) == tag
    _, old = asked_of("openai", grammars="guided")
    assert old["guided_grammar"].startswith("root ::=")
    _, server = asked_of("openai", grammars="gbnf")
    assert server["grammar_lazy"] is True
    for kind, options in (("tgi", {}), ("openai", {"grammars": "none"})):
        refused, _ = asked_of(kind, **options)
        assert refused.status_code == 400
        assert "tools requires strict calls" in error_of(path, refused.json())[1]


def test_strict_tools_use_a_structural_tag_in_any_format(gateways, upstream):
    upstream.plays(chunks=["add(a=1)"])
    tags = []
    for name in ("json_in_tags", "python_unmarked"):
        gateway = gateways(model=name)
        answer = gateway.post(CHAT, ASKED[CHAT] | {"tools": STRICT[CHAT]})
        assert answer.status_code == 200, answer.text
        tags.append("structural_tag" in upstream.bodies[-1]["structured_outputs"])
    assert tags == [True, True]


@pytest.mark.parametrize("path", PATHS)
def test_non_strict_tools_are_not_constrained(gateways, upstream, path):
    for kind in KINDS:
        upstream.plays(chunks=[CALL])
        assert (
            gateways(kind=kind).post(path, ASKED[path] | {"tools": TOOLS[path]}).status_code == 200
        )
        assert not {"grammar", "structured_outputs"} & set(upstream.bodies[-1])


SCHEMA_ASKED = {
    CHAT: ("response_format", {"type": "json_object"}),
    RESPONSES: ("text", {"format": {"type": "json_object"}}),
    MESSAGES: ("output_config", {"format": {"type": "json_schema", "schema": {"type": "object"}}}),
}


@pytest.mark.parametrize("path", PATHS)
def test_missing_grammar_support_is_reported_with_the_member(gateways, upstream, path):
    upstream.plays()
    gateway = gateways(grammars="none")
    required = {"type": "any"} if path == MESSAGES else "required"
    member, value = SCHEMA_ASKED[path]
    for asked, named in (
        ({"tools": TOOLS[path], "tool_choice": required}, "tool_choice"),
        ({member: value}, member),
    ):
        answer = gateway.post(path, ASKED[path] | asked)
        assert answer.status_code == 400
        error = answer.json()["error"]
        assert error["message"].startswith(named)
        assert error.get("param", named).startswith(named)
    assert upstream.bodies == []


def test_json_after_reasoning_is_refused_by_schema_only_upstreams(
    gateways,
):
    gateway = gateways(kind="tgi", model="reasoning_forced_open")
    asked = {"response_format": {"type": "json_object"}}
    answer = gateway.post(CHAT, ASKED[CHAT] | asked)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "response_format"


@pytest.mark.parametrize("named", [True, False])
def test_calls_constrained_by_a_schema_are_parsed(gateways, upstream, named):
    arguments = '{"a": 1}'
    choice = {"type": "function", "function": {"name": "add"}} if named else "required"
    call = arguments if named else f'[{{"name": "add", "arguments": {arguments}}}]'
    upstream.plays(chunks=[call[at : at + 3] for at in range(0, len(call), 3)])
    body = ASKED[CHAT] | {"tools": [TOOL], "tool_choice": choice}
    for stream in (True, False):
        answer = gateways(kind="tgi").post(CHAT, body | {"stream": stream})
        message = READERS[CHAT](answer.content if stream else answer.json())
        assert [(c.name, c.arguments) for c in message.tool_calls] == [("add", arguments)]


@pytest.mark.parametrize("mode", ["auto", "required"])
@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_only_allowed_tools_are_shown(gateway, upstream, path, mode):
    other = json.loads(json.dumps(TOOLS[path]).replace("add", "subtract"))
    upstream.plays(chunks=[CALL])
    name = {"type": "function", "name": "add"}
    if path == CHAT:
        name = {"type": "function", "function": {"name": "add"}}
    allowed = {"mode": mode, "tools": [name]}
    choice = {"type": "allowed_tools", **({"allowed_tools": allowed} if path == CHAT else allowed)}
    answer = gateway.post(
        path, ASKED[path] | {"tools": [*TOOLS[path], *other], "tool_choice": choice}
    )
    assert answer.status_code == 200
    (body,) = upstream.bodies
    assert "subtract" not in body["prompt"]
    assert ("structured_outputs" in body) is (mode == "required")
    assert "add" in answer.text


def test_record_is_readable_by_replay(upstream, tmp_path):
    file = tmp_path / "turns.jsonl"
    records = Records(file, latest=2)
    gateway = Running(upstream, records=records)
    try:
        for path in PATHS:
            upstream.plays(chunks=[*THOUGHT, "\n", CALL])
            streamed(gateway, path, tools=TOOLS[path])
    finally:
        gateway.stop()
    kept = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(kept) == 3
    assert [json.loads(json.dumps(one)) for one in records.latest] == kept[1:]
    replayer = Replayer(gateway.model.fmt)
    for record in kept:
        assert "".join(record["chunks"]) == "".join(THOUGHT) + "\n" + CALL
        assert record["token_ids"] == list(range(len(record["chunks"])))
        assert replayer(record)["class"] == "same"


def test_record_contains_the_policy_for_extra_calls(upstream):
    """The gateway drops them, and replay does the same."""
    records = Records(latest=1)
    gateway = Running(upstream, records=records)
    try:
        for parallel, calls in ((False, 1), (True, 2)):
            upstream.plays(chunks=[CALL, "\n", CALL])
            gateway.post(CHAT, ASKED[CHAT] | {"tools": [TOOL], "parallel_tool_calls": parallel})
            (record,) = records.latest
            assert len(record["expected"]["tool_calls"]) == calls
            assert Replayer(gateway.model.fmt)(record)["class"] == "same"
    finally:
        gateway.stop()


def test_buffered_characters_are_measured(gateway, upstream):
    upstream.plays(chunks=["one <pon"], fault="hang")
    with httpx.stream("POST", gateway.url + CHAT, json=ASKED[CHAT] | {"stream": True}) as answer:
        arriving = answer.iter_text()
        text = next(arriving)
        while "one" not in text:
            text += next(arriving)
        lines = CLIENT.get(gateway.url + "/metrics").text.splitlines()
        assert [line for line in lines if line.startswith("deltaparse_held_characters ")] == [
            "deltaparse_held_characters 4.0"
        ]
    assert upstream.gone.wait(1.0)
