"""Streams of deltas as the events and the bytes of a protocol."""

from __future__ import annotations

import json

from deltaparse import Message, StreamParser, ToolCall

USAGE = {
    "prompt_tokens": 12,
    "completion_tokens": 30,
    "total_tokens": 42,
    "prompt_tokens_details": {"cached_tokens": 5},
    "completion_tokens_details": {"reasoning_tokens": 10},
}


def parsed(fmt, texts, reason, **options):
    """Return a finished parser and its deltas."""
    parser = StreamParser(fmt, **options)
    deltas = [delta for text in texts for delta in parser.feed(text)]
    return parser, deltas + parser.finish(reason)


def events_of(machine, deltas, reason, usage=None, **finish):
    """Return all events of a stream."""
    events = machine.start()
    for delta in deltas:
        events += machine.push(delta)
    return events + machine.finish(reason, usage, **finish)


def bytes_of(machine, deltas, reason, usage=None, *, at_once=1, **finish):
    """Return all bytes of a stream, written with several deltas at a time."""
    body = machine.sse(machine.start())
    for at in range(0, len(deltas), at_once):
        body += machine.push_bytes(deltas[at : at + at_once])
    return body + machine.sse(machine.finish(reason, usage, **finish))


def data_of(body):
    """Return the JSON in the bytes of a stream, and the names of the events."""
    blocks = body.decode().split("\n\n")
    assert blocks.pop() == ""
    names, data = [], []
    for block in blocks:
        *name, line = block.split("\n")
        names.append(name[0].removeprefix("event: ") if name else None)
        assert line.startswith("data: ")
        data.append(line.removeprefix("data: "))
    return names, [json.loads(text) if text != "[DONE]" else text for text in data]


def joined_runs(message):
    """Return the message with adjacent parts of one kind joined, as in its deltas."""
    parts = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            parts.append(ToolCall(part.id, part.name, part.arguments, part.complete))
        else:
            if parts and type(parts[-1]) is type(part):
                parts.append(type(part)(parts.pop().text + part.text))
            else:
                parts.append(part)
    return Message([part for part in parts if isinstance(part, ToolCall) or part.text])


def without_complete(message):
    """Return the parts of the message without completeness, for protocols that lack it."""
    return [
        (part.id, part.name, part.arguments or "{}") if isinstance(part, ToolCall) else part
        for part in message.parts
    ]
