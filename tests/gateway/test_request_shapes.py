"""Invalid members of requests are named in errors, without Python's own messages."""

from __future__ import annotations

import copy
import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse.gateway import Settings
from deltaparse.gateway.faults import Fault
from deltaparse.gateway.parsed_request import ParsedRequest, asked
from deltaparse.gateway.protocol import PROTOCOLS

from .asking import ASKED, CHAT, HI, MESSAGES, PATHS, RESPONSES, SCHEMA, TOOLS, error_of
from .conftest import OpenAI, model_of

CALL = {"name": "add", "arguments": '{"a": 1}'}
WHOLE = {
    CHAT: {
        "messages": [
            {"role": "developer", "content": "Add."},
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {
                "role": "assistant",
                "content": None,
                "refusal": "No.",
                "reasoning_content": "A sum.",
                "tool_calls": [{"id": "call1", "type": "function", "function": CALL}],
            },
            {"role": "tool", "tool_call_id": "call1", "content": "1"},
        ],
        "tools": TOOLS[CHAT],
        "tool_choice": {"type": "function", "function": {"name": "add"}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}},
        "stream": True,
        "stream_options": {"include_usage": True},
        "reasoning": {"max_tokens": 5},
    },
    RESPONSES: {
        "instructions": "Add.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "A sum."}]},
            {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "A sum."}]},
            {
                "type": "message",
                "role": "assistant",
                "content": [
                    {"type": "output_text", "text": "So."},
                    {"type": "refusal", "refusal": "No."},
                ],
            },
            {"type": "function_call", "call_id": "call1", **CALL},
            {
                "type": "function_call_output",
                "call_id": "call1",
                "output": [{"type": "input_text", "text": "1"}],
            },
        ],
        "tools": TOOLS[RESPONSES],
        "tool_choice": {"type": "function", "name": "add"},
        "text": {"format": {"type": "json_schema", "name": "x", "schema": SCHEMA}},
        "reasoning": {"effort": "low"},
        "include": ["message.output_text.logprobs"],
    },
    MESSAGES: {
        "max_tokens": 50,
        "system": [{"type": "text", "text": "Add."}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Hi"},
                    {"type": "document", "source": {"type": "text", "data": "1"}},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "A sum.", "signature": ""},
                    {"type": "text", "text": "So."},
                    {"type": "tool_use", "id": "call1", "name": "add", "input": {"a": 1}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "call1",
                        "content": [{"type": "text", "text": "1"}],
                    }
                ],
            },
        ],
        "tools": TOOLS[MESSAGES],
        "tool_choice": {"type": "tool", "name": "add"},
        "thinking": {"type": "enabled", "budget_tokens": 5},
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}, "effort": "low"},
    },
}
"""Requests with all supported members."""

OTHERS = (5, 1.5, True, None, "x", [], [5], ["x"], [[]], [{}], {}, {"a": 1})
OF_PYTHON = re.compile(
    r"object has|subscript|indices|hashable|NoneType|iterable|expected|argument |concatenate"
    r"|is not a valid request|Error|'[a-z]+' object"
)


def places(value, at=()):
    """Yield the paths of all members of a value."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield (*at, key)
            yield from places(value[key], (*at, key))


PLACES = {path: list(places(body)) for path, body in WHOLE.items()}


def changed(body, place, change):
    """Return a request with one member changed by a function of its holder and key."""
    body = copy.deepcopy(body)
    holder = body
    for key in place[:-1]:
        holder = holder[key]
    change(holder, place[-1])
    return body


@cache
def model():
    return model_of("json_in_tags", bos_token="<s>")


def read(path, body):
    """Return the parsed request, or its fault."""
    upstream = OpenAI(grammars="structured_outputs")
    try:
        return asked(body, PROTOCOLS[path], model(), upstream, Settings())
    except Fault as fault:
        return fault


@pytest.mark.parametrize("path", PATHS)
def test_request_with_all_members_is_parsed(path):
    assert isinstance(read(path, WHOLE[path]), ParsedRequest)


@given(st.data(), st.sampled_from(PATHS), st.sampled_from(OTHERS))
def test_invalid_members_are_refused_without_python_messages(data, path, other):
    place = data.draw(st.sampled_from(PLACES[path]))
    for change in (lambda it, key: it.__setitem__(key, other), lambda it, key: it.__delitem__(key)):
        found = read(path, changed(WHOLE[path], place, change))
        # A change may also leave the request valid.
        assert getattr(found, "status", 400) == 400
        assert not OF_PYTHON.search(getattr(found, "message", ""))


@pytest.mark.parametrize(
    ("path", "members", "named", "words"),
    [
        (CHAT, {"messages": "x"}, "messages", "must be a list, not 'x'"),
        (CHAT, {"messages": [*HI, 5]}, "messages[1]", "must be an object, not 5"),
        (CHAT, {"messages": [{"content": "x"}]}, "messages[0].role", "is missing"),
        (
            CHAT,
            {"messages": [{"role": "user", "content": 5}]},
            "messages[0].content",
            "must be a string or a list, not 5",
        ),
        (
            CHAT,
            {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
            "messages[0].content[0].text",
            "is missing",
        ),
        (CHAT, {"tools": 5}, "tools", "must be a list, not 5"),
        (
            CHAT,
            {"response_format": {"type": "json_schema"}},
            "response_format.json_schema",
            "is missing",
        ),
        (RESPONSES, {"input": [5]}, "input[0]", "must be an object, not 5"),
        (RESPONSES, {"input": 5}, "input", "must be a string or a list, not 5"),
        (RESPONSES, {"input": [{"role": ["x"]}]}, "input[0].role", "must be a string, not ['x']"),
        (
            RESPONSES,
            {"input": [{"type": "function_call", "call_id": "a"}]},
            "input[0].name",
            "is missing",
        ),
        (MESSAGES, {"messages": [5]}, "messages[0]", "must be an object, not 5"),
        (MESSAGES, {"system": 5}, "system", "must be a string or a list, not 5"),
        (MESSAGES, {"system": [{"text": "x"}]}, "system[0].type", "is missing"),
    ],
)
def test_invalid_member_is_named_in_the_error(gateway, path, members, named, words):
    answer = gateway.post(path, ASKED[path] | members)
    assert answer.status_code == 400
    assert error_of(path, answer.json()) == ("invalid_request_error", f"{named} {words}")
    assert path == MESSAGES or answer.json()["error"]["param"] == named


def test_empty_response_format_means_text():
    assert read(CHAT, {"messages": HI, "response_format": {}}).request.response_schema is None
