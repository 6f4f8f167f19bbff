"""Requests of clients, the resulting requests to the upstream, and rejected requests."""

from __future__ import annotations

import json

import pytest

from deltaparse import ChatTemplate, UsageError, WireFormat
from deltaparse.gateway import HttpClient, Model, Settings
from deltaparse.gateway.upstreams.openai_upstream import OpenAI
from deltaparse.protocols import read_chat_completions
from deltaparse.protocols.requests.chat_request import STATE
from deltaparse.stream import CallPlace, StreamParser

from .asking import (
    ASKED,
    CHAT,
    CLIENT,
    HI,
    KINDS,
    MESSAGES,
    PATHS,
    RESPONSES,
    SCHEMA,
    TOOL,
    TOOLS,
    error_of,
    streamed,
)

CALL = '<call>\n{"name": "add", "arguments": {"a": 1}}\n</call>'
NAMED = {
    CHAT: {"type": "function", "function": {"name": "add"}},
    RESPONSES: {"type": "function", "name": "add"},
    MESSAGES: {"type": "tool", "name": "add"},
}

BAD = [
    b"",
    b"{",
    b"[]",
    b"null",
    b'"text"',
    b"\xff\xfe",
    b"[" * 100_000,
    b"{}",
]
BAD_MEMBERS = [
    {"messages": [], "input": []},
    {"messages": "Hi", "input": 5},
    {"messages": 1.5, "input": True},
    {"messages": [5], "input": [5]},
    {"messages": [{"content": "Hi"}], "input": [{"content": "Hi"}]},
    {"messages": [{"role": "alien", "content": "x"}], "input": [{"role": "x", "content": ""}]},
    {"temperature": "hot"},
    {"temperature": -1},
    {"temperature": True},
    {"top_p": 2},
    {"max_tokens": 0, "max_output_tokens": 0},
    {"max_tokens": "many", "max_output_tokens": "many"},
    {"stream": "yes"},
    {"tools": 5},
    {"tools": [5]},
    {"tools": [{"type": "web_search"}]},
    {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
    {"tool_choice": "sometimes"},
    {"tool_choice": NAMED[CHAT]},
    {"model": 5},
    {"chat_template_kwargs": 5},
    {"chat_template_kwargs": {"messages": []}},
    {"seed": "x"},
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("body", BAD)
def test_invalid_body_is_refused(gateway, path, body):
    answer = CLIENT.post(gateway.url + path, content=body)
    assert answer.status_code == 400
    assert error_of(path, answer.json())[0] == "invalid_request_error"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("members", BAD_MEMBERS)
def test_invalid_members_are_refused(gateway, upstream, path, members):
    answer = gateway.post(path, ASKED[path] | members)
    assert answer.status_code == 400
    assert error_of(path, answer.json())[0] == "invalid_request_error"
    assert upstream.bodies == []


@pytest.mark.parametrize(
    ("path", "members", "named"),
    [
        (CHAT, {"n": 0}, "n"),
        (CHAT, {"n": 1000}, "n"),
        (CHAT, {"stop": [""]}, "stop"),
        (CHAT, {"stop": 5}, "stop"),
        (CHAT, {"stream_options": {"include_usage": True}}, "stream_options"),
        (CHAT, {"top_logprobs": 5}, "top_logprobs"),
        (CHAT, {"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
        (RESPONSES, {"top_logprobs": -1}, "top_logprobs"),
        (RESPONSES, {"include": "all"}, "include"),
        (CHAT, {"continue_final_message": True}, "continue_final_message"),
        (CHAT, {"add_generation_prompt": False}, "add_generation_prompt"),
        (CHAT, {"thinking_budget": -1}, "thinking_budget"),
        (CHAT, {"include_raw": 1}, "include_raw"),
        (CHAT, {"functions": [{}]}, "functions"),
        (CHAT, {"web_search_options": {}}, "web_search_options"),
        (CHAT, {"audio": {}, "modalities": ["audio"]}, "modalities"),
        (CHAT, {"reasoning_effort": "huge"}, "reasoning_effort"),
        (CHAT, {"chat_template": "{{ messages }}"}, "chat_template"),
        (CHAT, {"documents": [{"text": "A"}]}, "documents"),
        (CHAT, {"messages": [{"role": "assistant", "audio": {"id": "audio_1"}}]}, "audio"),
        (RESPONSES, {"background_options": {"continuation_id": "1"}}, "background_options"),
        (MESSAGES, {"compaction": {}}, "compaction"),
        (RESPONSES, {"store": True}, "store"),
        (RESPONSES, {"background": True}, "background"),
        (RESPONSES, {"truncation": "auto"}, "truncation"),
        (RESPONSES, {"context_management": [{"type": "compaction"}]}, "context_management"),
        (RESPONSES, {"tools": [{"type": "web_search"}]}, "tools"),
        (RESPONSES, {"text": "json"}, "text"),
        (MESSAGES, {"max_tokens": None}, "max_tokens"),
        (MESSAGES, {"thinking": {"type": "maybe"}}, "thinking"),
        (MESSAGES, {"context_management": {"edits": []}}, "context_management"),
        (MESSAGES, {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools"),
        (MESSAGES, {"stop_sequences": [5]}, "stop_sequences"),
    ],
)
def test_unsupported_members_are_refused_by_name(gateway, path, members, named):
    answer = gateway.post(path, ASKED[path] | members)
    assert answer.status_code == 400
    assert named in error_of(path, answer.json())[1]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        *((path, name) for path in PATHS for name in STATE),
        (RESPONSES, "prompt"),
    ],
)
@pytest.mark.parametrize("value", [{}, "", {"type": "create"}, "id_1"])
def test_server_state_is_refused_by_name(gateway, upstream, path, name, value):
    answer = gateway.post(path, ASKED[path] | {name: value})
    assert answer.status_code == 400
    assert error_of(path, answer.json())[1].startswith(f"{name} is not supported")
    assert upstream.bodies == []


@pytest.mark.parametrize("thread", [{"type": "create"}, {"type": "continue"}, {}])
def test_thread_is_refused_with_an_error_code(gateway, thread):
    error = gateway.post(MESSAGES, ASKED[MESSAGES] | {"thread": thread}).json()["error"]
    assert error["type"] == "invalid_request_error"
    assert error["details"] == {
        "error_code": "thread_unsupported_request",
        "unsupported": ["thread"],
    }


def test_images_are_refused(gateway):
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    answer = gateway.post(CHAT, {"messages": [{"role": "user", "content": [image]}]})
    assert answer.status_code == 400
    assert "images" in error_of(CHAT, answer.json())[1]


@pytest.mark.parametrize("path", PATHS)
def test_unknown_model_is_refused(gateway, path):
    answer = gateway.post(path, ASKED[path] | {"model": "large"})
    assert answer.status_code == 404
    type, words = error_of(path, answer.json())
    assert type == ("not_found_error" if path == MESSAGES else "invalid_request_error")
    assert "large" in words


def test_configured_model_names(gateways, upstream):
    gateway = gateways(models=("mine", "yours"))
    upstream.plays()
    answer = gateway.post(CHAT, ASKED[CHAT] | {"model": "mine"}).json()
    assert answer["model"] == "mine"
    assert upstream.bodies[-1]["model"] == "tiny"
    assert gateway.post(CHAT, ASKED[CHAT] | {"model": "tiny"}).status_code == 404


@pytest.mark.parametrize("path", PATHS)
def test_too_large_body_is_refused(gateways, upstream, path):
    upstream.plays()
    gateway = gateways(max_body=1000)
    answer = gateway.post(path, ASKED[path] | {"user": "x" * 2000})
    assert answer.status_code == 413
    error_of(path, answer.json())


@pytest.mark.parametrize("path", PATHS)
def test_api_key_is_required(gateways, upstream, path):
    upstream.plays()
    gateway = gateways(api_key="sesame")
    for headers in ({}, {"authorization": "Bearer sesam"}, {"x-api-key": "é".encode()}):
        answer = gateway.post(path, ASKED[path], headers=headers)
        assert answer.status_code == 401
        error_of(path, answer.json())
    for headers in ({"authorization": "Bearer sesame"}, {"x-api-key": "sesame"}):
        assert gateway.post(path, ASKED[path], headers=headers).status_code == 200
        assert "authorization" not in upstream.heads[-1]
    assert CLIENT.get(gateway.url + "/v1/models").status_code == 401


def test_authorization_is_forwarded_if_configured(gateways, upstream):
    headers = {"authorization": "Bearer theirs"}
    for options, shown in (
        ({}, None),
        ({"forward_authorization": True}, "Bearer theirs"),
        ({"upstream_key": "ours", "forward_authorization": True}, "Bearer ours"),
    ):
        upstream.plays()
        gateways(**options).post(CHAT, ASKED[CHAT], headers=headers)
        assert upstream.heads[-1].get("authorization") == shown


def test_non_ascii_authorization_is_refused(gateways, upstream):
    upstream.plays()
    headers = {"authorization": "Bearer é".encode("latin-1")}
    answer = gateways(forward_authorization=True).post(CHAT, ASKED[CHAT], headers=headers)
    assert answer.status_code == 400
    assert upstream.heads == []
    assert gateways().post(CHAT, ASKED[CHAT], headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("ftp://127.0.0.1", ""),
        ("127.0.0.1:8000", ""),
        ("http://", ""),
        ("http://h:x", ""),
        ("http://h:0", ""),
        ("http://me:secret@h", ""),
        ("http://h", "a\nb: c"),
        ("http://h", "é"),
    ],
)
def test_invalid_upstream_urls_and_keys_are_refused(url, key):
    with pytest.raises(UsageError) as raised:
        HttpClient(url, Settings(), key=key)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("kind", KINDS)
def test_sampling_parameters_are_sent_to_the_upstream(gateways, upstream, kind):
    upstream.plays()
    settings = {"temperature": 0.5, "top_p": 0.9, "top_k": 5, "seed": 3, "stop": ["END"]}
    gateways(kind=kind).post(CHAT, ASKED[CHAT] | settings | {"max_tokens": 50})
    (body,) = upstream.bodies
    asked = body.get("sampling_params") or body.get("parameters") or body
    limit = {"openai": "max_tokens", "llama.cpp": "n_predict"}.get(kind, "max_new_tokens")
    seed = "sampling_seed" if kind == "sglang" else "seed"
    assert {name: asked[name] for name in settings if name != "seed"} | {
        "seed": asked[seed]
    } == settings
    assert asked[limit] == 50
    assert body["stream"] is True


@pytest.mark.parametrize("kind", KINDS)
def test_bos_token_is_added_by_upstream_or_template(gateways, upstream, kind):
    for adds in (False, True):
        upstream.plays()
        gateways(kind=kind, options=(("adds_bos", adds),)).post(CHAT, ASKED[CHAT])
        (body,) = upstream.bodies
        prompt = body.get("prompt") or body.get("text") or body.get("inputs")
        assert prompt.startswith("<s>") is not adds


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("named", [True, False])
def test_required_call_is_constrained(gateways, upstream, kind, path, named):
    upstream.plays(chunks=[CALL])
    choice = NAMED[path] if named else {"type": "any"} if path == MESSAGES else "required"
    body = ASKED[path] | {"tools": TOOLS[path], "tool_choice": choice}
    answer = gateways(kind=kind).post(path, body)
    assert answer.status_code == 200
    (asked,) = upstream.bodies
    if kind == "tgi":
        schema = {"type": "object", "properties": {"name": {"const": "add"}, "arguments": SCHEMA}}
        many = {"type": "array", "items": schema | {"required": ["name", "arguments"]}}
        wanted = SCHEMA if named else many | {"minItems": 1}
        assert asked["parameters"]["grammar"] == {"type": "json", "value": wanted}
        return
    grammar = asked.get("grammar") or (asked.get("sampling_params") or {}).get("ebnf")
    grammar = grammar or asked["structured_outputs"]["grammar"]
    assert "root ::=" in grammar
    assert "add" in grammar
    assert "add" in answer.text


def test_response_format_is_constrained(gateway, upstream):
    upstream.plays(chunks=['{"a": 1}'])
    for form in (
        {"type": "json_object"},
        {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}},
    ):
        answer = gateway.post(CHAT, ASKED[CHAT] | {"response_format": form}).json()
        assert json.loads(answer["choices"][0]["message"]["content"]) == {"a": 1}
        assert "root ::=" in upstream.bodies[-1]["structured_outputs"]["grammar"]
    wrong = gateway.post(CHAT, ASKED[CHAT] | {"response_format": {"type": "xml"}})
    assert wrong.status_code == 400


@pytest.mark.parametrize("off", ["none", "no tools"])
def test_calls_are_content_if_tools_are_disabled(gateway, upstream, off):
    upstream.plays(chunks=[CALL])
    tools = {"tools": [TOOL], "tool_choice": "none"} if off == "none" else {}
    answer = gateway.post(CHAT, ASKED[CHAT] | tools).json()
    assert answer["choices"][0]["message"]["content"] == CALL
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert "add" not in upstream.bodies[-1]["prompt"]


@pytest.mark.parametrize("path", PATHS)
def test_tools_with_only_a_name_are_rendered(gateways, upstream, path):
    """Protocols require only a name, but some templates require more."""
    upstream.plays(chunks=["Hi."])
    tool = {"type": "function", "name": "add"}
    named = {CHAT: {"type": "function", "function": {"name": "add"}}, RESPONSES: tool}
    tools = [named.get(path, {"name": "add", "input_schema": {"type": "object"}})]
    answer = gateways(model="channels").post(path, ASKED[path] | {"tools": tools})
    assert answer.status_code == 200, answer.text
    assert "add" in upstream.bodies[0]["prompt"]


def test_parallel_calls_are_dropped_if_disabled(gateway, upstream):
    upstream.plays(chunks=[CALL, "\n", CALL])
    body = ASKED[CHAT] | {"tools": [TOOL], "parallel_tool_calls": False}
    answer = gateway.post(CHAT, body).json()
    assert len(answer["choices"][0]["message"]["tool_calls"]) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stream", [True, False])
def test_stop_string_is_found_across_chunks(gateways, upstream, kind, stream):
    """This includes upstreams that keep the stop string in their text, or ignore it."""
    upstream.plays(chunks=["one E", "N", "D two", " three"])
    gateway = gateways(kind=kind)
    answer = gateway.post(CHAT, ASKED[CHAT] | {"stop": "END", "stream": stream})
    assert "two" not in answer.text
    message = read_chat_completions(answer.content if stream else answer.json())
    assert message.content == "one "
    answer = gateway.post(MESSAGES, ASKED[MESSAGES] | {"stop_sequences": ["nix", "END"]}).json()
    assert answer["content"] == [{"type": "text", "text": "one "}]
    assert (answer["stop_reason"], answer["stop_sequence"]) == ("stop_sequence", "END")


@pytest.mark.parametrize("kind", ["openai", "llama.cpp", "sglang"])
def test_stop_string_of_the_upstream_is_reported(gateways, upstream, kind):
    upstream.plays(chunks=["one "], stopped_at="END")
    body = ASKED[MESSAGES] | {"stop_sequences": ["END"]}
    answer = gateways(kind=kind).post(MESSAGES, body).json()
    assert (answer["stop_reason"], answer["stop_sequence"]) == ("stop_sequence", "END")


@pytest.mark.parametrize("kind", ["openai", "llama.cpp", "sglang"])
@pytest.mark.parametrize(
    ("stopped_at", "asked", "told"),
    [
        ("</call>", [], ("stop", "</call>")),
        ("</call>", ["END"], ("stop", "</call>")),
        ("END", ["END"], (None, None)),
        (128008, [], ("stop", 128008)),
        (None, [], ("stop", None)),
    ],
)
def test_stop_reason_is_passed_to_the_parser(
    gateways, upstream, monkeypatch, kind, stopped_at, asked, told
):
    ends, finish = [], StreamParser.finish

    def spied(self, reason=None, *, stop_reason=None):
        ends.append((reason, stop_reason))
        return finish(self, reason, stop_reason=stop_reason)

    monkeypatch.setattr(StreamParser, "finish", spied)
    upstream.plays(chunks=["one "], stopped_at=stopped_at)
    gateways(kind=kind).post(CHAT, ASKED[CHAT] | {"stop": asked})
    if kind == "sglang" and stopped_at is None:
        told = ("stop", 9)  # SGLang's EOS is a token
    assert ends == [told]


@pytest.mark.parametrize(
    ("choice", "stop"),
    [
        ({}, None),
        ({"stop_reason": None}, ""),
        ({"stop_reason": "</call>"}, "</call>"),
        ({"stop_reason": 7}, 7),
        ({"stop_reason": [7]}, ""),
        ({"matched_stop": "</call>"}, "</call>"),
    ],
)
def test_stop_reason_is_read_from_completions(choice, stop):
    event = {"choices": [{"text": "", "finish_reason": "stop", **choice}]}
    assert OpenAI().reader()(event).stop == stop


def test_stop_string_in_a_call_leaves_it_incomplete(gateway, upstream):
    upstream.plays(chunks=['<call>\n{"name": "add", "arguments": {"a": 1, "b": '])
    body = ASKED[CHAT] | {"tools": [TOOL], "stop": ["2"], "stream": True}
    upstream.script.stopped_at = "2"
    message = read_chat_completions(gateway.post(CHAT, body).content)
    assert [call.complete for call in message.tool_calls] == [False]


@pytest.mark.parametrize("kind", ["openai", "llama.cpp", "sglang", "tgi"])
def test_token_limit_is_reported_in_each_protocol(gateways, upstream, kind):
    upstream.plays(chunks=["one "], reason="length")
    gateway = gateways(kind=kind)
    assert gateway.post(CHAT, ASKED[CHAT]).json()["choices"][0]["finish_reason"] == "length"
    assert gateway.post(MESSAGES, ASKED[MESSAGES]).json()["stop_reason"] == "max_tokens"
    assert gateway.post(RESPONSES, ASKED[RESPONSES]).json()["status"] == "incomplete"


@pytest.mark.parametrize("stream", [True, False])
def test_several_choices(gateway, upstream, stream):
    upstream.plays(chunks=["a ", "b"])
    body = {"n": 3, "seed": 10, "stream": stream}
    if stream:
        body["stream_options"] = {"include_usage": True}
    answer = gateway.post(CHAT, ASKED[CHAT] | body)
    assert sorted(body["seed"] for body in upstream.bodies) == [10, 11, 12]
    if not stream:
        said = answer.json()
        assert [choice["index"] for choice in said["choices"]] == [0, 1, 2]
        assert {choice["message"]["content"] for choice in said["choices"]} == {"a b"}
        assert said["usage"]["completion_tokens"] == 6
        assert said["usage"]["prompt_tokens"] == 7
        return
    *events, done = answer.text.strip().split("\n\n")
    assert done == "data: [DONE]"
    texts, reasons, usages = {}, {}, []
    for event in (json.loads(event.removeprefix("data: ")) for event in events):
        usages += [event["usage"]] if event.get("usage") else []
        for choice in event["choices"]:
            at = choice["index"]
            texts[at] = texts.get(at, "") + choice["delta"].get("content", "")
            reasons[at] = choice["finish_reason"] or reasons.get(at)
    assert texts == dict.fromkeys(range(3), "a b")
    assert reasons == dict.fromkeys(range(3), "stop")
    assert [usage["completion_tokens"] for usage in usages] == [6]


def test_usage_is_streamed_only_on_request(gateway, upstream):
    upstream.plays()
    assert "usage" not in streamed(gateway, CHAT).text
    options = {"stream_options": {"include_usage": True}}
    assert '"usage":{' in streamed(gateway, CHAT, **options).text


@pytest.mark.parametrize("path", PATHS)
def test_reasoning_is_switched_by_the_request(gateways, upstream, path):
    gateway = gateways(model="reasoning_under_a_switch")
    on = {
        CHAT: {"reasoning_effort": "high"},
        RESPONSES: {"reasoning": {"effort": "low"}},
        MESSAGES: {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    }
    off = {
        CHAT: {"reasoning_effort": "none"},
        RESPONSES: {"reasoning": {"effort": "none"}},
        MESSAGES: {"thinking": {"type": "disabled"}},
    }
    for said, opened in (
        ({}, False),
        (on[path], True),
        (off[path], False),
        ({"chat_template_kwargs": {"mulling": True}}, True),
        (on[path] | {"chat_template_kwargs": {"mulling": False}}, False),
    ):
        upstream.plays(chunks=["So.</mull>Yes."] if opened else ["Yes."])
        answer = gateway.post(path, ASKED[path] | said)
        assert upstream.bodies[-1]["prompt"].endswith("<mull>") is opened
        assert ("So." in answer.text) is opened
        assert "Yes." in answer.text


def test_hidden_reasoning_is_dropped(gateway, upstream):
    upstream.plays(chunks=["<ponder>\nSo.\n</ponder>\n\nYes."])
    for path in PATHS:
        answer = gateway.post(path, ASKED[path] | {"include_reasoning": False})
        assert "So." not in answer.text
        assert "Yes." in answer.text


def test_metrics_of_a_request(gateway, upstream):
    upstream.plays(chunks=[CALL])
    gateway.post(CHAT, ASKED[CHAT] | {"tools": [TOOL]})
    lines = CLIENT.get(gateway.url + "/metrics").text.splitlines()
    named = {line.split(" ")[2] for line in lines if line.startswith("# TYPE")}
    assert all(name.startswith("deltaparse_") for name in named)
    assert all(line.startswith(("#", "deltaparse_")) for line in lines)
    found = [line for line in lines if line.startswith('deltaparse_calls_total{status="complete"}')]
    assert len(found) == 1
    assert 'deltaparse_requests_total{protocol="chat",status="200"}' in "\n".join(lines)


def test_every_response_has_an_id(gateway):
    for path in PATHS:
        answer = gateway.post(path, ASKED[path])
        assert answer.headers["x-request-id"].startswith("req_")
        other = gateway.post(path, ASKED[path])
        assert other.json()["id"] != answer.json()["id"]


def test_call_ids_are_accepted_by_the_template():
    refusing = (
        "{% for m in messages %}{{ m.role }}{% for c in m.tool_calls or [] %}"
        "{% if c.id | length != 9 %}{{ raise_exception('nine!') }}{% endif %}"
        "{{ c.id }}{% endfor %}{{ m.content }}{% endfor %}"
    )
    place = CallPlace(name="f", index=0, offset=0, prompt="")
    for source, length in ((refusing, 9), ("{{ messages }}", 29)):
        model = Model(ChatTemplate(source), WireFormat())
        made = {model.id_factory(place) for _ in range(20)}
        assert len(made) == 20
        assert {len(id) for id in made} == {length}


@pytest.mark.parametrize("stream", [True, False])
def test_response_repeats_members_of_its_request(gateway, upstream, stream):
    upstream.plays(chunks=[CALL])
    asked = {"temperature": 0.5, "tools": TOOLS[RESPONSES], "metadata": {"a": "b"}}
    answer = gateway.post(RESPONSES, ASKED[RESPONSES] | asked | {"stream": stream})
    said = answer.json() if not stream else json.loads(answer.text.rpartition("data: ")[2])
    said = said.get("response") if stream else said
    assert {name: said[name] for name in asked} == asked


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", ["self", "context", "name", "value", "", "a b"])
def test_variables_named_like_parameters_are_passed_on(gateway, upstream, path, name):
    body = ASKED[path] | {"chat_template_kwargs": {name: 1}}
    assert gateway.post(path, body).status_code == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", ["messages", "tools", "add_generation_prompt", "bos_token"])
def test_reserved_variables_are_refused_by_name(gateway, upstream, path, name):
    answer = gateway.post(path, ASKED[path] | {"chat_template_kwargs": {name: 1}})
    assert answer.status_code == 400
    assert name in error_of(path, answer.json())[1]


def test_truncated_arguments_in_a_history_are_healed_in_the_prompt(gateway, upstream):
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": '{"a": "on'}}
    said = {"role": "assistant", "content": "", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c", "content": "not JSON"}
    assert gateway.post(CHAT, {"messages": [*HI, said, result]}).status_code == 200
    assert '"arguments": {"a": "on"}' in upstream.bodies[-1]["prompt"]
