"""Requests of each protocol, converted to the template's form and back."""

from __future__ import annotations

import dataclasses
import json
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import ChatTemplate, StreamParser, Tools, UsageError, get_format
from deltaparse.protocols import (
    Request,
    chat_completions_request,
    messages_request,
    read_chat_completions_request,
    read_messages_request,
    read_responses_request,
    responses_request,
)

from ..strategies.conversations import ALLOWED, NAMED, TOOLS, requests
from ..support import VALUES
from .judges import needs_clients
from .mutations import places, replaced

pytestmark = needs_clients

READ = {
    chat_completions_request: read_chat_completions_request,
    responses_request: read_responses_request,
    messages_request: read_messages_request,
}
by_protocol = pytest.mark.parametrize(
    ("write", "read"), READ.items(), ids=["chat", "responses", "messages"]
)


def with_values(request):
    """Return the request with the arguments of calls as values."""
    messages = json.loads(json.dumps(request.messages))
    for message in messages:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return dataclasses.replace(request, messages=messages)


@given(request=requests())
def test_requests_round_trip(request):
    for write, read in READ.items():
        body = json.loads(json.dumps(write(request)))
        expected = request
        if write is messages_request and request.tool_choice == ALLOWED:
            # Anthropic lacks this choice, so the other tools are dropped.
            tools = Tools(TOOLS[:1])
            expected = dataclasses.replace(request, tools=tools, tool_choice="auto")
        if write is messages_request:
            assert with_values(read(body)) == with_values(expected)
        else:
            assert read(body) == expected


@cache
def lists(type_):
    """Return a validator for lists of a client's type, cached because it is slow to create."""
    from pydantic import TypeAdapter

    return TypeAdapter(list[type_])


@given(request=requests())
def test_written_requests_match_the_client_types(request):
    from anthropic.types import MessageParam, ToolChoiceParam, ToolParam
    from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
    from openai.types.responses import FunctionToolParam, ResponseInputItemParam

    chat = chat_completions_request(request)
    lists(ChatCompletionMessageParam).validate_python(chat["messages"])
    lists(ChatCompletionToolParam).validate_python(chat.get("tools", []))
    responses = responses_request(request)
    lists(ResponseInputItemParam).validate_python(responses["input"])
    lists(FunctionToolParam).validate_python(
        [{"strict": None, **tool} for tool in responses.get("tools", [])]
    )
    messages = messages_request(request)
    lists(MessageParam).validate_python(messages["messages"])
    lists(ToolParam).validate_python(messages.get("tools", []))
    lists(ToolChoiceParam).validate_python([messages.get("tool_choice", {"type": "auto"})])


TEMPLATE = ChatTemplate(
    "{% for m in messages %}<{{ m.role }}>"
    "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}"
    "{% if p.type == 'text' %}{{ p.text }}{% elif p.type == 'image' %}<img>{% endif %}"
    "{% endfor %}{% endif %}{% endfor %}"
)
TEXT_ONLY = ChatTemplate("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")
URL_TEMPLATE = ChatTemplate(
    "{% for m in messages %}{% for p in m.content %}"
    "{% if 'image_url' in p %}<img>{% else %}{{ p.text }}{% endif %}{% endfor %}{% endfor %}"
)
IMAGE_BODIES = [
    (
        read_chat_completions_request,
        {"type": "image_url", "image_url": {"url": "https://x"}},
        "messages",
    ),
    (read_responses_request, {"type": "input_image", "image_url": "https://x"}, "input"),
    (
        read_messages_request,
        {"type": "image", "source": {"type": "url", "url": "https://x"}},
        "messages",
    ),
]


@pytest.mark.parametrize(("read", "image", "member"), IMAGE_BODIES)
def test_image_has_the_shape_accepted_by_the_template(read, image, member):
    text_type = "input_text" if member == "input" else "text"
    content = [{"type": text_type, "text": "what?"}, image]
    body = {member: [{"role": "user", "content": content}]}
    (message,) = read(body, template=TEMPLATE).messages
    assert message["content"][1] == {"type": "image", "image": "https://x"}
    assert TEMPLATE.render([message]) == "<user>what?<img>"
    for template in (None, URL_TEMPLATE):
        (message,) = read(body, template=template).messages
        assert message["content"][1] == {"type": "image_url", "image_url": {"url": "https://x"}}
    with pytest.raises(UsageError, match="images"):
        read(body, template=TEXT_ONLY)


def test_document_is_refused_or_read_as_text():
    source = {"type": "base64", "media_type": "application/pdf", "data": "AA=="}
    document = {"type": "document", "source": source, "title": "a"}
    body = {"messages": [{"role": "user", "content": [document]}]}
    with pytest.raises(UsageError, match="documents"):
        read_messages_request(body, template=TEMPLATE)
    file = {"file_data": "data:application/pdf;base64,AA==", "filename": "a"}
    (message,) = read_messages_request(body).messages
    assert message["content"] == [{"type": "file", "file": file}]
    assert messages_request(read_messages_request(body))["messages"] == body["messages"]
    text = {
        "type": "document",
        "source": {"type": "text", "data": "so", "media_type": "text/plain"},
    }
    body = {"messages": [{"role": "user", "content": [text]}]}
    assert read_messages_request(body, template=TEXT_ONLY).messages[0]["content"] == "so"


@pytest.mark.parametrize(
    ("read", "body", "named"),
    [
        (read_chat_completions_request, [], "a JSON object"),
        (
            read_chat_completions_request,
            {"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]},
            "input_audio",
        ),
        (
            read_chat_completions_request,
            {"messages": [{"role": "assistant", "tool_calls": [{"type": "custom", "id": "c"}]}]},
            "custom",
        ),
        (read_responses_request, {"previous_response_id": "r"}, "previous_response_id"),
        (read_responses_request, {"conversation": "c"}, "conversation"),
        (read_responses_request, {"prompt": {"id": "p"}}, "prompt"),
        (read_messages_request, {"thread": {"type": "create"}}, "thread"),
        (read_messages_request, {"container": "c"}, "container"),
        (
            read_chat_completions_request,
            {"messages": [{"role": "assistant", "audio": {"id": "a"}}]},
            "audio",
        ),
        (
            read_responses_request,
            {"input": [{"type": "item_reference", "id": "rs_1"}]},
            "store.*false",
        ),
        (read_responses_request, {"input": [{"type": "computer_call"}]}, "computer_call"),
        (
            read_responses_request,
            {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]},
            "input_image",
        ),
        (
            read_responses_request,
            {
                "input": [
                    {"role": "assistant", "content": [{"type": "input_image", "image_url": "x"}]}
                ]
            },
            "text",
        ),
        (
            read_messages_request,
            {"messages": [{"role": "assistant", "content": [{"type": "server_tool_use"}]}]},
            "server_tool_use",
        ),
        (
            read_messages_request,
            {"messages": [{"role": "user", "content": [{"type": "search_result"}]}]},
            "search_result",
        ),
        (
            read_messages_request,
            {
                "messages": [
                    {"role": "user", "content": [{"type": "image", "source": {"type": "file"}}]}
                ]
            },
            "file",
        ),
    ],
)
def test_unsupported_parts_are_refused_by_name(read, body, named):
    with pytest.raises(UsageError, match=named):
        read(body)


def test_history_is_read_from_each_protocol():
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "f", "arguments": '{"a": 1}'},
    }
    expected = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "one\ntwo"},
        {
            "role": "assistant",
            "content": "well",
            "reasoning_content": "hm",
            "tool_calls": [call],
        },
        {"role": "tool", "name": "f", "tool_call_id": "c", "content": "4"},
        {"role": "user", "content": "thanks"},
    ]
    two = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    chat = [
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": two},
        {"role": "assistant", "content": "well", "reasoning": "hm", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "4"},
        {"role": "user", "content": "thanks"},
    ]
    assert read_chat_completions_request({"messages": chat}).messages == expected
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": p["text"]} for p in two]},
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "we"}],
        },
        {"type": "message", "role": "assistant", "content": "ll"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "c", "output": "4"},
        {"role": "user", "content": "thanks"},
    ]
    body = {"instructions": "be brief", "input": items}
    assert read_responses_request(body).messages == expected
    assert read_responses_request({"input": "hi"}).messages == [{"role": "user", "content": "hi"}]
    messages = [
        {"role": "user", "content": two},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "well"},
                {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c", "content": "4"},
                {"type": "text", "text": "thanks"},
            ],
        },
    ]
    system = [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}]
    body = {"system": system, "messages": messages}
    assert read_messages_request(body).messages == expected


@pytest.mark.parametrize(
    ("choice", "canonical"),
    [
        (None, "auto"),
        ({"type": "any"}, "required"),
        ({"type": "none"}, "none"),
        ({"type": "tool", "name": "f"}, NAMED),
        ({"type": "function", "name": "f"}, NAMED),
        (NAMED, NAMED),
        (ALLOWED, ALLOWED),
        ({**ALLOWED["allowed_tools"], "type": "allowed_tools"}, ALLOWED),
    ],
)
def test_tool_choice_of_any_protocol_is_read(choice, canonical):
    for read in READ.values():
        found = read({"tools": list(TOOLS), "tool_choice": choice})
        assert found.tool_choice == canonical
        assert StreamParser(get_format("hermes"), **found.parser_options())


def test_request_provides_parser_options():
    text = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    for request, calls in ((Request(tools=TOOLS), 1), (Request(), 0)):
        parser = StreamParser(get_format("hermes"), **request.parser_options())
        parser.feed(text)
        parser.finish("stop")
        assert len(parser.message.tool_calls) == calls


def test_parallel_calls_are_disabled_in_anthropic_tool_choice():
    body = {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}
    request = read_messages_request({**body, "tools": list(TOOLS)})
    assert not request.parallel_tool_calls
    assert messages_request(request)["tool_choice"] == body["tool_choice"]


def test_truncated_call_in_a_request_is_healed_for_anthropic():
    cut = {"id": "c", "function": {"name": "f", "arguments": '{"a": "hel'}}
    request = Request(messages=[{"role": "assistant", "content": "", "tool_calls": [cut]}])
    (message,) = messages_request(request)["messages"]
    assert message["content"][0]["input"] == {"a": "hel"}


CUT = '{"a": "hel'


@pytest.mark.parametrize(
    ("read", "body"),
    [
        (
            read_chat_completions_request,
            {
                "messages": [
                    {
                        "role": "assistant",
                        "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": CUT}}],
                    }
                ]
            },
        ),
        (
            read_chat_completions_request,
            {"messages": [{"role": "assistant", "function_call": {"name": "f", "arguments": CUT}}]},
        ),
        (
            read_responses_request,
            {"input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": CUT}]},
        ),
        (
            read_messages_request,
            {
                "messages": [
                    {
                        "role": "assistant",
                        "content": [{"type": "tool_use", "id": "c", "name": "f", "input": CUT}],
                    }
                ]
            },
        ),
    ],
)
def test_truncated_arguments_are_healed_by_every_reader(read, body):
    (message,) = read(body).messages
    assert message["tool_calls"][0]["function"]["arguments"] == '{"a": "hel"}'


@given(request=requests(), data=st.data(), new=VALUES)
def test_mutated_requests_are_read_or_refused(request, data, new):
    for write, read in READ.items():
        body = json.loads(json.dumps(write(request)))
        place = data.draw(st.sampled_from(list(places(body))))
        try:
            found = read(replaced(body, place, new), template=TEMPLATE)
        except UsageError as error:
            found = error
        assert isinstance(found, Request | UsageError)


def test_a_refusal_in_the_history_is_content():
    refused = {"role": "assistant", "content": None, "refusal": "no"}
    (message,) = read_chat_completions_request({"messages": [refused]}).messages
    assert message == {"role": "assistant", "content": "no"}


def test_legacy_functions_are_read_as_tools():
    call = {"name": "f", "arguments": '{"a": 1}'}
    messages = [
        {"role": "assistant", "content": None, "function_call": call},
        {"role": "function", "name": "f", "content": "one"},
        {"role": "assistant", "content": "so", "function_call": {"name": "g", "arguments": "{}"}},
        {"role": "function", "name": "g", "content": "two"},
    ]
    functions = [{"name": name, "parameters": {"type": "object"}} for name in "fg"]
    body = {"messages": messages, "functions": functions, "function_call": {"name": "f"}}
    request = read_chat_completions_request(body)
    first, one, second, two = request.messages
    assert [made["tool_calls"][0]["function"] for made in (first, second)] == [
        call,
        {"name": "g", "arguments": "{}"},
    ]
    ids = [made["tool_calls"][0]["id"] for made in (first, second)]
    assert [(made["role"], made["tool_call_id"]) for made in (one, two)] == [
        ("tool", call_id) for call_id in ids
    ]
    assert len(set(ids)) == 2
    assert list(request.tools) == [{"type": "function", "function": each} for each in functions]
    assert request.tool_choice == {"type": "function", "function": {"name": "f"}}
    assert read_chat_completions_request(body | {"function_call": "none"}).tool_choice == "none"


def test_text_only_template_refuses_images():
    strict = ChatTemplate("{{ raise_exception('text only') if messages[0].content is not string }}")
    image = {"type": "image_url", "image_url": {"url": "https://x"}}
    with pytest.raises(UsageError, match="images"):
        read_chat_completions_request(
            {"messages": [{"role": "user", "content": [image]}]}, template=strict
        )


@pytest.mark.parametrize("role", [None, 1, {}, "", "alien", "User"])
@pytest.mark.parametrize("read", READ.values(), ids=["chat", "responses", "messages"])
def test_message_with_an_unknown_role_is_refused(read, role):
    """Most templates drop such messages silently."""
    message = {"type": "message", "role": role, "content": "Hi"}
    with pytest.raises(UsageError, match=r"needs a role, one of .*user.*, not "):
        read({"messages": [message], "input": [message]})
