"""Requests in the form of templates: tools, and conversations with calls, results and images."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from deltaparse import Tools
from deltaparse.protocols import Request

from ..support import VALUES

NAMES = ["f", "get_weather"]
TOOLS = Tools(
    [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": f"calls {name}",
                "parameters": {"type": "object", "properties": {"a": {}}},
            },
        }
        for name in NAMES
    ]
)
NAMED = {"type": "function", "function": {"name": "f"}}
ALLOWED = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [NAMED]}}
IMAGES = ["https://x/a.png", "data:image/png;base64,AA=="]

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
images = st.sampled_from(IMAGES).map(lambda url: {"type": "image_url", "image_url": {"url": url}})
files = st.just({"type": "file", "file": {"file_data": "data:application/pdf;base64,AA=="}})


@st.composite
def contents(draw):
    """Draw content of a user or a result: a string, or a list of texts, images and documents."""
    media = draw(st.lists(images | files, max_size=2))
    if not media:
        return draw(texts)
    text = draw(st.lists(texts.map(lambda text: {"type": "text", "text": text}), max_size=1))
    return [*text, *media]


@st.composite
def turns(draw, at):
    """Draw an assistant turn, the results of its calls, and the next user message."""
    values = st.dictionaries(texts, VALUES, max_size=2)
    called = draw(st.lists(st.tuples(st.sampled_from(NAMES), values), max_size=2))
    reasoning, content = draw(st.sampled_from(["", "hm"])), draw(st.sampled_from(["", "well"]))
    message = {"role": "assistant", "content": content or ("" if called else "so")}
    if reasoning:
        message["reasoning_content"] = reasoning
    if called:
        message["tool_calls"] = [
            {
                "id": f"c{at}{place}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(given)},
            }
            for place, (name, given) in enumerate(called)
        ]
    results = [
        {"role": "tool", "name": name, "tool_call_id": f"c{at}{place}", "content": draw(texts)}
        for place, (name, _) in enumerate(called)
    ]
    return [message, *results, {"role": "user", "content": draw(contents())}]


@st.composite
def requests(draw):
    """Draw a request in the form of a template."""
    messages = [{"role": "system", "content": draw(texts)}] * draw(st.integers(0, 1))
    messages.append({"role": "user", "content": draw(contents())})
    for at in range(draw(st.integers(0, 3))):
        messages += draw(turns(at))
    tools = draw(st.sampled_from([None, TOOLS]))
    choices = ["auto"] if tools is None else ["auto", "none", "required", NAMED, ALLOWED]
    choice = draw(st.sampled_from(choices))
    return Request(
        messages=messages,
        tools=tools,
        tool_choice=choice,
        parallel_tool_calls=tools is None or choice == "none" or draw(st.booleans()),
        response_schema=draw(st.sampled_from([None, {"type": "object"}])),
    )
