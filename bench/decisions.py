"""Measure the gate's decision about the calls of a short response."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import deltaparse as dp
from settings import Settings
from streams import making
from timing import Cost, measure
from workloads import ANSWER, FORMAT, tool

__all__ = ["OUTPUTS", "TOOLS", "measure_decisions"]

TIMES = 200
GIVEN = {"city": "string", "days": "integer", "units": "string", "hourly": "boolean"}
TOOLS = [tool("forecast", **GIVEN, note="string")]
ANSWERED = dp.parse(ANSWER, FORMAT, tools=TOOLS, finish_reason="stop")
CALLED = ANSWERED.tool_calls[0]
OUTPUTS: Mapping[str, str | dp.Message] = {
    "a message with a call": ANSWERED,
    "text with a call": f'{ANSWERED.content}\n<tool name="{CALLED.name}">{CALLED.arguments}</tool>',
    "text without a call": ANSWERED.content,
}


def measure_decisions(how: Settings) -> Mapping[str, Cost]:
    """Measure a decision on each output."""
    gate = dp.ToolGate(TOOLS)

    def decide(output: str | dp.Message, _: str) -> object:
        return gate.decide(output)

    trials = {name: making(partial(decide, output), TIMES) for name, output in OUTPUTS.items()}
    return measure(trials, how.rounds)
