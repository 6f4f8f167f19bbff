"""Records for tests: outputs in one format, and messages of servers."""

from __future__ import annotations

import json

import pytest

from deltaparse import get_format
from deltaparse.replay import Replayer, replay_file

FORMAT = get_format("qwen3")
REPLAYER = Replayer(FORMAT)
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
    for name in ("weather", "clock")
]


def call(name, arguments):
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


ASKED = call("weather", '{"city": "Paris"}') + "\n" + call("clock", '{"city": "Oslo"}')
TEXT = f"<think>\nShe asks twice.\n</think>\n\nLet me see.\n{ASKED}<|im_end|>"


def openai(name, arguments, id="1"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def record(**fields):
    return {"id": "a", "text": TEXT, "tools": TOOLS, "finish_reason": "stop"} | fields


def lines(records):
    return "".join(f"{json.dumps(one)}\n" for one in records)


class Stop(Exception):
    """Error that interrupts a replay."""


def interrupted(source, target, blocks, **given):
    """Replay files, and stop when so many blocks are done."""
    left = [None] * blocks

    def progress(*_):
        left.pop()
        if not left:
            raise Stop

    with pytest.raises(Stop):
        replay_file(REPLAYER, source, target, jobs=1, progress=progress, **given)
