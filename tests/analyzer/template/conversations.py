"""A conversation with a call, as it is given to templates."""

from __future__ import annotations

USER = {"role": "user", "content": "Is it <warm> in Paris & Köln?"}
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tell the weather.",
        "parameters": {
            "type": "object",
            "properties": {
                "location": {"type": "string", "description": "A city."},
                "unit": {"type": "string", "description": "C or F.", "enum": ["C", "F"]},
                "days": {"type": "integer", "description": "How many.", "default": 1},
            },
            "required": ["location"],
        },
    },
}
RESULT = {"role": "tool", "name": "get_weather", "tool_call_id": "abcdefgh1", "content": "Sunny."}


def calling(arguments, content="", **more):
    function = {"name": "get_weather", "arguments": arguments}
    call = {"id": "abcdefgh1", "type": "function", "function": function}
    return {"role": "assistant", "content": content, "tool_calls": [call], **more}
