"""Measure the way from a text chunk to bytes for a socket, in each protocol, with alternatives.

All writers include the parser. Its own cost is measured in the same rounds, and subtracted. The
alternatives write the chunks of Chat Completions:

    push, json.dumps    the encoder's dictionaries, and the standard library
    pydantic            models, created and dumped for each chunk, as in vLLM and SGLang
    msgspec, orjson     structs or dictionaries, and an encoder in C
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import deltaparse as dp
from deltaparse.protocols import AnthropicMessages, ChatCompletions, Encoder, Responses
from settings import Settings
from timing import Feed, Reader, Trial, measure, parts, seconds, throw_away, undisturbed
from workloads import WORKLOADS, Workload

__all__ = ["LARGE", "MACHINES", "Row", "measure_protocols"]

HEAD: dict[str, Any] = {"id": "chatcmpl-8d3f2a", "model": "example", "created": 1_700_000_000}
MACHINES: Mapping[str, Callable[[], Encoder]] = {
    machine.__name__: partial(machine, **HEAD)
    for machine in (ChatCompletions, Responses, AnthropicMessages)
}
LARGE = 16_384
"""Characters of one large chunk."""

Write = Callable[[dp.Delta], bytes]


@dataclass(frozen=True)
class Row:
    """The cost of one writer, in floors beyond the parser alone, for chunks of four characters.

    `large` is microseconds for a delta of `LARGE` characters.
    """

    workload: str
    kind: str
    writer: str
    more: float
    large: float


def opened(make: Callable[[], Encoder], workload: Workload) -> Encoder:
    """Return an encoder in the state of a running stream of the workload."""
    machine = make()
    machine.start()
    if workload.json:
        machine.push_bytes([dp.ToolCallDelta(0, "call_1", "write")])
    machine.push_bytes(workload.parser().feed(workload.text(100)))
    return machine


class Pipe:
    """A parser and a writer for its deltas."""

    def __init__(self, feed: Feed, push: Callable[[list[dp.Delta]], bytes]) -> None:
        self.feed = feed
        self.push = push

    def __call__(self, text: str) -> bytes:
        """Return the bytes of a chunk."""
        return self.push(self.feed(text))


def through(pipe: Feed, texts: Sequence[str]) -> None:
    """Feed the texts to a parser and write its deltas, as in the loop of a server."""
    if isinstance(pipe, Pipe):
        feed, push = pipe.feed, pipe.push
        for text in texts:
            push(feed(text))


def by_machine(make: Callable[[], Encoder], workload: Workload) -> Feed:
    """Return a pipe with an encoder."""
    return Pipe(workload.feed(), opened(make, workload).push_bytes)


def by_writer(write: Write, workload: Workload) -> Feed:
    """Return a pipe with another writer."""
    return Pipe(workload.feed(), lambda deltas: b"".join([write(delta) for delta in deltas]))


def chunk(delta: dp.Delta) -> dict[str, Any]:
    """Return a chunk as a dictionary."""
    choice = {"index": 0, "delta": delta.to_openai(), "logprobs": None, "finish_reason": None}
    return {**HEAD, "object": "chat.completion.chunk", "choices": [choice]}


def dumped(delta: dp.Delta) -> bytes:
    """Write a chunk with the standard library."""
    return f"data: {json.dumps(chunk(delta))}\n\n".encode()


@cache
def writers() -> dict[str, Write]:
    """Return the installed alternatives."""
    found: dict[str, Write] = {"json.dumps": dumped}
    for make in (pydantic_writer, msgspec_writer, orjson_writer):
        with suppress(ImportError):
            found[make.__name__.partition("_")[0]] = make()
    return found


def pydantic_writer() -> Write:
    """Return a writer with pydantic models, as in vLLM and SGLang."""
    from pydantic import BaseModel

    class Function(BaseModel):
        name: str | None = None
        arguments: str | None = None

    class Call(BaseModel):
        id: str | None = None
        type: str | None = None
        index: int
        function: Function | None = None

    class Delta(BaseModel):
        role: str | None = None
        content: str | None = None
        reasoning_content: str | None = None
        tool_calls: list[Call] | None = None

    class Choice(BaseModel):
        index: int
        delta: Delta
        logprobs: None = None
        finish_reason: str | None = None

    class Chunk(BaseModel):
        id: str
        object: str = "chat.completion.chunk"
        created: int
        model: str
        choices: list[Choice]

    def write(delta: dp.Delta) -> bytes:
        match delta:
            case dp.ContentDelta(text):
                made = Delta(content=text)
            case dp.ReasoningDelta(text):
                made = Delta(reasoning_content=text)
            case dp.ToolCallDelta(index, id, name, arguments):
                function = Function(name=name, arguments=arguments)
                made = Delta(tool_calls=[Call(index=index, id=id, function=function)])
        body = Chunk(**HEAD, choices=[Choice(index=0, delta=made)])
        return f"data: {body.model_dump_json(exclude_unset=True)}\n\n".encode()

    return write


def msgspec_writer() -> Write:
    """Return a writer with structs."""
    import msgspec

    class Choice(msgspec.Struct):
        index: int
        delta: dict[str, Any]
        logprobs: None = None
        finish_reason: str | None = None

    class Chunk(msgspec.Struct):
        id: str
        object: str
        created: int
        model: str
        choices: list[Choice]

    encode = msgspec.json.Encoder().encode
    named = HEAD["id"], "chat.completion.chunk", HEAD["created"], HEAD["model"]
    return lambda delta: b"data: %b\n\n" % encode(Chunk(*named, [Choice(0, delta.to_openai())]))


def orjson_writer() -> Write:
    """Return a writer with orjson, the fastest encoder of dictionaries."""
    import orjson

    return lambda delta: b"data: %b\n\n" % orjson.dumps(chunk(delta))


def measure_protocols(how: Settings) -> list[Row]:
    """Measure all writers, for content and a string argument."""
    rows = []
    for workload in WORKLOADS:
        if workload.kind not in ("content", "reasoning", "string"):
            continue
        ways = {name: partial(by_machine, make, workload) for name, make in MACHINES.items()}
        ways |= {name: partial(by_writer, write, workload) for name, write in writers().items()}
        texts = parts(workload.text(how.medium))
        trials = {"": Trial(Reader(workload.feed, throw_away), texts)}
        trials |= {name: Trial(Reader(make, through), texts) for name, make in ways.items()}
        costs = measure(trials, how.rounds)
        alone = costs.pop("").floors
        rows += [
            Row(workload.name, workload.kind, name, cost.floors - alone, large(name, workload, how))
            for name, cost in costs.items()
        ]
    return rows


def large(name: str, workload: Workload, how: Settings) -> float:
    """Measure the microseconds for one large delta."""
    text = (workload.unit * (LARGE // len(workload.unit) + 1))[:LARGE]
    delta: dp.Delta = dp.ContentDelta(text)
    if workload.json:
        delta = dp.ToolCallDelta(0, arguments=text)
    elif workload.kind == "reasoning":
        delta = dp.ReasoningDelta(text)
    if name in MACHINES:
        push = opened(MACHINES[name], workload).push_bytes
        write: Callable[[], object] = lambda: push([delta])  # noqa: E731 - one of two
    else:
        write = partial(writers()[name], delta)
    with undisturbed():
        return min(seconds(write) for _ in range(how.rounds * 5)) * 1e6
