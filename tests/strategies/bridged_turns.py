"""Turns of each kind, their answers, and the responses of a model for them."""

from __future__ import annotations

from deltaparse import Content, Reasoning, ToolCall, parse

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "description": "the weather",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "where"},
                    "days": {"type": "integer", "description": "many"},
                    "now": {"type": "boolean", "description": "at once"},
                },
            },
        },
    }
]
ASKED, AGAIN = {"role": "user", "content": "zqaskedzq"}, {"role": "user", "content": "And?"}
ARGUMENTS = '{"city": "Ghent", "days": 3}'


def call(at, arguments=ARGUMENTS):
    return ToolCall(f"zqid{at}aaaa", "look_up", arguments, complete=True)


def returned(message):
    """Return the results of the calls, or another question."""
    return [
        {"role": "tool", "tool_call_id": made.id, "name": made.name, "content": "Sun."}
        for made in message.tool_calls
    ] or [AGAIN]


KINDS = {
    "content": [Content("Dry.")],
    "reasoning and content": [Reasoning("hm"), Content("Dry.")],
    "a call": [call(0)],
    "content and a call": [Content("See."), call(0)],
    "reasoning and a call": [Reasoning("hm"), call(0)],
    "two calls": [call(0), call(1)],
}


def thoughts(one, known, tools):
    """Return the reasoning in a response, including its whitespace."""
    prompt, output, _ = known
    read = parse(output, one.fmt, prompt=prompt, tools=tools, finish_reason="stop")
    return read.reasoning_content
