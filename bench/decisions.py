"""What the gate takes to decide whether the calls of a short answer may be executed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import deltaparse as dp
from settings import Settings
from streams import making
from timing import Cost, measure
from workloads import ANSWER, FORMAT, TOOLS

__all__ = ["measure_decisions"]

TIMES = 200
ANSWERED = dp.parse(ANSWER, FORMAT, tools=TOOLS, finish_reason="stop")
OUTPUTS: Mapping[str, str | dp.Message] = {
    "a message with a call": ANSWERED,
    "its text, in no format": ANSWER,
    "text without a call": ANSWERED.content,
}


def measure_decisions(how: Settings) -> Mapping[str, Cost]:
    """Measure a decision on each output."""
    gate = dp.ToolGate(TOOLS)

    def decide(output: str | dp.Message, _: str) -> object:
        return gate.decide(output)

    trials = {name: making(partial(decide, output), TIMES) for name, output in OUTPUTS.items()}
    return measure(trials, how.rounds)
