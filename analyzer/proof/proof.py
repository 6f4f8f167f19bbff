"""The proof of a format: render conversations that were no probes, parse the turns, compare."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from deltaparse.stream import Message, ReasoningMode, StreamParser, ToolFormat, WireFormat

from ..format_texts import confusing
from ..phases.reasoning import ReasoningFinding
from ..probes import FUNCTIONS, NEXT_USER, REASONING_KEYS, result, user
from ..trace import phase
from ..turns import Turns
from .conversations import PROOF_TOOLS, Turn, turns_without

__all__ = ["verify"]

# A format is right if the parser reads with it what the model writes. There is no model here, but
# the template writes down what models have written: so a turn that is rendered and parsed must
# come back, to the character.
#
# It must not be a probe. The phases would have to be very wrong for those not to come back; formats
# fail on quotes, on a number among strings, on a second call, on no argument. So the turns are as
# awkward as turns may be (`conversations`), and the only words that they share with the probes are
# the names of the functions.
#
# It must not ask for more than a template can show, or right formats would fail:
#
# - A history is not what was written. Reasoning of earlier turns is dropped, and is put back where
#   the model writes it; texts are trimmed; a third call is left out. What a rendering does not show
#   is not expected back from it.
# - The last turn and one in the middle differ in some templates, and only one of them is as the
#   model writes it. It is enough if one comes back.
# - What would be a marker of the format itself is left out of texts: no parser could know better.
#
# Each turn is parsed with its end and without, as servers cut it off or do not. To go through it by
# the character takes many times as long, so only the first rendering of each turn does.

LONGEST_QUOTE = 160
"""Characters of a text that are shown when it did not come back."""


@phase("proof")
def verify(
    turns: Turns, reasoning: ReasoningFinding, fmt: WireFormat
) -> tuple[list[str], list[str]]:
    """Parse with a format what the template renders.

    Returns the labels of the turns that came back, and what is wrong with the others.
    """
    proved, failed = [], []
    for turn in turns_without(confusing(fmt)):
        if turn.calls and fmt.tools.format is ToolFormat.NONE:
            continue
        wires = dict.fromkeys(_wires(turns, reasoning, fmt, turn))
        problems = [_difference(turn, wire, fmt, streamed=at == 0) for at, wire in enumerate(wires)]
        if problems and all(problems):
            failed.append(f"{turn.label} did not come back: {problems[0]}")
        elif problems:
            proved.append(turn.label)
    return proved, failed


@dataclass(frozen=True, slots=True)
class Wire:
    """A turn as the model would write it, after a prompt, and what should come back of it.

    `end` is the end of the turn as the template wrote it; `calls` the number of calls in it.
    """

    prompt: str
    text: str
    end: str
    content: str
    reasoning: str
    calls: int


def _wires(
    turns: Turns, reasoning: ReasoningFinding, fmt: WireFormat, turn: Turn
) -> Iterator[Wire]:
    """The renderings of a turn, as the last of a conversation and before another."""
    results = [result(at % len(FUNCTIONS)) for at in range(len(turn.calls))]
    for then in ([], [*results, user(NEXT_USER)]):
        parts = turns.body_and_end(
            content=turn.content,
            calls=turn.calls,
            reasoning=turn.reasoning if reasoning.key else "",
            key=reasoning.key or REASONING_KEYS[0],
            then=then,
        )
        shown = sum(map(parts[0].count, FUNCTIONS)) if parts else 0
        if parts and (shown or not turn.calls):
            yield _wire(turn, *parts, shown, fmt, dropped=not reasoning.key)


def _wire(turn: Turn, body: str, end: str, shown: int, fmt: WireFormat, *, dropped: bool) -> Wire:
    """What a model writes where the template renders `body`, which shows so many calls.

    `dropped`: the template drops reasoning from history.
    """
    prompt = fmt.turn.headers[0] if fmt.turn.headers else ""
    content = turn.content if turn.content in body else ""
    thought = turn.reasoning if turn.reasoning in body else ""
    start, mode = fmt.reasoning.start, fmt.reasoning.mode
    if turn.calls and start.strip() and content and not thought and start + content in body:
        # The template shows content as reasoning, beside calls.
        content, thought = "", content
    if turn.reasoning and not thought and dropped and fmt.facts.has_reasoning:
        # Put it where the model writes it.
        prompt, thought = prompt + start, turn.reasoning
        body = thought + fmt.reasoning.end + body
    elif mode is ReasoningMode.DELIMITER and not thought:
        body = fmt.reasoning.end + body
    return Wire(prompt, body, end, content, thought, shown)


def _difference(turn: Turn, wire: Wire, fmt: WireFormat, *, streamed: bool) -> str:
    """What is wrong with what comes back, "" if nothing; `streamed`: parse by characters too."""
    tools = PROOF_TOOLS if turn.calls else None
    shown = (made["function"] for made in turn.calls[: wire.calls])
    expected = [
        (function["name"], _rendered(function["arguments"], wire, fmt)) for function in shown
    ]
    for end in dict.fromkeys(("", wire.end)):
        whole = _parse([wire.text + end], fmt, wire.prompt, tools)
        if streamed and end == wire.end:
            if _parse(list(wire.text + end), fmt, wire.prompt, tools) != whole:
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


def _rendered(arguments: Mapping[str, Any], wire: Wire, fmt: WireFormat) -> dict[str, Any]:
    """The arguments as the template shows them: some trim strings that stand in no quotes."""
    plain = fmt.tools.format is ToolFormat.TAG_WITH_TAGGED and not fmt.arguments.quoted_strings

    def shown(value: Any) -> Any:
        cut = plain and isinstance(value, str) and value not in wire.text
        return value.strip() if cut else value

    return {key: shown(value) for key, value in arguments.items()}


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
