"""The proof: render conversations that were no probes, parse the turns back, compare.

A turn is parsed whole, with and without its end, and with its end one character at a time. What a
template leaves out of a rendering is not expected back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from deltaparse.stream import Message, ReasoningMode, StreamParser, ToolFormat, WireFormat

from .frame import Frame
from .probes import FUNCTIONS, NEXT_USER, REASONING_KEYS, TOOLS, call, result, user
from .probes import assistant as probe_turn
from .reasoning import ReasoningFinding
from .render import Renderer
from .trace import phase

__all__ = ["Turn", "disproofs"]

LONGEST_QUOTE = 160
"""Characters of a text that are shown when it did not come back."""

SAID = 'First line.\nSecond: 2 < 3, {braces} [brackets] "quotes" and `code`'
THOUGHT = "Let me see.\n\n1. a < b\n2. {x: [y]} done"
VALUES: dict[str, Any] = {
    "text": 'it\'s <b>bold</b>, "quoted"\n\tand \\ indented',
    "empty": "",
    "integer": 7,
    "float": 1.5,
    "yes": True,
    "nothing": None,
    "list": [1, "two", [3]],
    "object": {"key": {"deep": []}},
    "unicode": "ünïcödé 你好 😀",
}


@dataclass(frozen=True, slots=True)
class Turn:
    """What a turn is made of, and so what must come back."""

    label: str
    content: str = ""
    reasoning: str = ""
    calls: tuple[dict[str, Any], ...] = ()


TURNS = (
    Turn("content", SAID),
    Turn("reasoning and content", SAID, THOUGHT),
    Turn("a call", calls=(call(0, VALUES),)),
    Turn("a call without arguments", calls=(call(0, {}),)),
    Turn("content and a call", SAID, calls=(call(1, VALUES),)),
    Turn("reasoning and a call", "", THOUGHT, (call(0, VALUES),)),
    Turn("two calls", calls=(call(0, VALUES), call(1, {"a": 1}))),
    Turn("the same function twice", calls=(call(0, {"a": 1}), call(0, {"a": 2}))),
    Turn("reasoning, content and two calls", SAID, THOUGHT, (call(0, {}), call(1, VALUES))),
)


@phase("proof")
def disproofs(
    render: Renderer, frame: Frame, reasoning: ReasoningFinding, fmt: WireFormat
) -> tuple[list[str], list[str]]:
    """Parse renderings back.

    Returns the labels of the turns that came back, and what is wrong with the others.
    """
    proved, failed = [], []
    turns = [turn for turn in TURNS if fmt.tools.format is not ToolFormat.NONE or not turn.calls]
    for turn in turns:
        wires = dict.fromkeys(_wires(render, frame, reasoning, fmt, turn))
        problems = [_difference(turn, wire, fmt) for wire in wires]
        if problems and all(problems):
            failed.append(f"{turn.label} did not come back: {problems[0]}")
        elif problems:
            proved.append(turn.label)
    return proved, failed


@dataclass(frozen=True, slots=True)
class Wire:
    """A turn as the model would write it, after which prompt; what of it the template renders.

    `end` is the end of the turn as the template wrote it; `calls` how many of them it has.
    """

    prompt: str
    text: str
    end: str
    content: str
    reasoning: str
    calls: int


def _wires(
    render: Renderer, frame: Frame, reasoning: ReasoningFinding, fmt: WireFormat, turn: Turn
) -> Iterator[Wire]:
    """The renderings of a turn, as the last of a conversation and before another."""
    said = probe_turn(
        turn.content,
        calls=turn.calls,
        reasoning=turn.reasoning if reasoning.key else "",
        reasoning_key=reasoning.key or REASONING_KEYS[0],
    )
    tools = TOOLS if turn.calls else None
    results = [result(at) for at in range(len(turn.calls))]
    for after in ([], [*results, user(NEXT_USER)]):
        parts = frame.body_and_end(render([user(), said, *after], tools=tools))
        if parts is None:
            continue
        body, end = parts
        if turn.calls and FUNCTIONS[0] not in body and FUNCTIONS[1] not in body:
            continue
        prompt = fmt.turn.headers[0] if fmt.turn.headers else ""
        content = turn.content if turn.content and turn.content in body else ""
        thought = turn.reasoning if turn.reasoning and turn.reasoning in body else ""
        start = fmt.reasoning.start
        if start.strip() and content and not thought and start + content in body:
            # The template shows content as reasoning, beside calls.
            content, thought = "", content
        unshown = turn.reasoning and not thought and not reasoning.key
        if unshown and fmt.reasoning.mode is not ReasoningMode.NONE:
            # The template drops it from history: put it where the model writes it.
            prompt, thought = prompt + fmt.reasoning.start, turn.reasoning
            body = thought + fmt.reasoning.end + body
        elif fmt.reasoning.mode is ReasoningMode.DELIMITER and not thought:
            body = fmt.reasoning.end + body
        shown = body.count(FUNCTIONS[0]) + body.count(FUNCTIONS[1])
        yield Wire(prompt, body, end, content, thought, shown)


def _difference(turn: Turn, wire: Wire, fmt: WireFormat) -> str:
    """What is wrong with what comes back, "" if nothing."""
    tools = TOOLS if turn.calls else None
    shown = (made["function"] for made in turn.calls[: wire.calls])
    expected = [(function["name"], function["arguments"]) for function in shown]
    for end in dict.fromkeys(("", wire.end)):
        whole = _parse([wire.text + end], fmt, wire.prompt, tools)
        if end == wire.end and _parse(list(wire.text + end), fmt, wire.prompt, tools) != whole:
            return "whole and by characters, it is parsed differently"
        calls = [(made.name, _value(made.arguments)) for made in whole.tool_calls]
        for what, got, want in (
            ("reasoning", whole.reasoning_content, wire.reasoning),
            ("content", whole.content, wire.content),
            ("calls", calls, expected),
        ):
            if got != want:
                return f"{what} {_short(got)}, not {_short(want)}, from {_short(wire.text + end)}"
    return ""


def _parse(
    texts: list[str], fmt: WireFormat, prompt: str, tools: list[dict[str, Any]] | None
) -> Message:
    parser = StreamParser(fmt, tools=tools, prompt=prompt)
    for text in texts:
        parser.feed(text)
    parser.finish("stop")
    return parser.message


def _value(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def _short(value: object) -> str:
    text = repr(value)
    return (
        text
        if len(text) <= LONGEST_QUOTE
        else f"{text[: LONGEST_QUOTE // 2]}...{text[-LONGEST_QUOTE // 2 :]}"
    )
