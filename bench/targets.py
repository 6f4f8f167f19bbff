"""Targets of the benchmark, and their check."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FIGURES", "TARGETS", "Check", "Target", "check"]

FIGURES = {
    "floors": "floors per chunk of 4",
    "grows": "cost of a chunk late in a long text over that in a short one",
    "whole": "million characters a second, in one chunk",
    "construction": "floors to make a parser",
    "answer": "floors to parse a whole short answer",
    "decision": "floors for the gate to decide on a whole short answer",
    "counted growth": "work for a unit of a long turn over that of a short one, counted",
    "bytes of a call": "bytes that are kept of a call, its deltas aside",
    "interleaved": "cost of a chunk where many parsers take turns over that of one alone",
    "token": "floors more than a chunk of text, per token of 4",
    "written": "floors more than a delta, per chunk of 4, until it is bytes of a protocol",
    "median ms to find": "ms to find the format of a template, the median",
    "median ms to prove": "ms to prove it, the median",
    "renderings to find": "renderings to find it, at most",
    "renderings to prove": "renderings to prove it, at most",
    "most ms": "ms for a template, at most",
    "memory": "bytes by which memory grew at most, the message aside",
}


@dataclass(frozen=True)
class Target:
    """A limit of a figure. `kind` is the kind of a workload, or "" for all."""

    kind: str
    figure: str
    limit: float
    at_least: bool = False

    def __str__(self) -> str:
        return f"{'>=' if self.at_least else '<='} {self.limit:,}"


@dataclass(frozen=True)
class Check:
    """A target, and the result of one workload."""

    name: str
    figure: str
    target: str
    value: float
    met: bool


TARGETS = (
    Target("content", "floors", 1.8),
    Target("reasoning", "floors", 1.8),
    Target("string", "floors", 2.5),
    Target("tagged string", "floors", 3),
    Target("nested", "floors", 4.5),
    Target("beginnings", "floors", 4),
    Target("calls", "floors", 11),
    Target("string in Python", "floors", 3.5),
    Target("nested in Python", "floors", 8),
    Target("calls in Python", "floors", 14),
    Target("", "grows", 1.1),
    Target("content", "whole", 100, at_least=True),
    Target("string", "whole", 30, at_least=True),
    Target("tagged string", "whole", 30, at_least=True),
    Target("", "construction", 15),
    Target("", "answer", 300),
    Target("", "decision", 1_500),
    Target("", "counted growth", 1.05),
    Target("", "bytes of a call", 310),
    Target("", "interleaved", 1.2),
    Target("", "token", 3),
    Target("", "written", 3),
    Target("", "memory", 256 * 1024),
    Target("", "median ms to find", 50),
    Target("", "median ms to prove", 150),
    Target("", "renderings to find", 60),
    Target("", "renderings to prove", 200),
    Target("", "most ms", 500),
)


def check(name: str, kind: str, figure: str, value: float) -> list[Check]:
    """Compare a figure with its targets, if there are any."""
    return [
        Check(
            name,
            figure,
            str(target),
            value,
            value >= target.limit if target.at_least else value <= target.limit,
        )
        for target in TARGETS
        if target.figure == figure and target.kind in (kind, "")
    ]
