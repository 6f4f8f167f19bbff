"""Checks of the examples' output. Each returns a description of the error, "" for none."""

from __future__ import annotations

import re
from ast import literal_eval

__all__ = ["client", "engine"]

CALLS = re.compile(r"^call (\S+) clock (\{.*\})$", re.MULTILINE)
ANSWER = "It is nine in Tokyo, and one in Lisbon."
ZONES = [{"zone": "Asia/Tokyo"}, {"zone": "Europe/Lisbon"}]
REASONS = re.compile(
    r"^(?:FinishReason\.)?(tool_calls?|tool-calls|tool_use|completed)\b(?: (\d+))?"
)


def engine(printed: str, *, cut: bool, answers: int = 1) -> str:
    """Check the output of an engine's example: a call per response, but no call if truncated."""
    lines = printed.splitlines()[-2 * answers :]
    runs = [line for line in lines if line.startswith("run ")]
    reason = "length ''" if cut else "tool_calls ''"
    if lines.count(reason) != answers:
        return f"not {answers} times {reason!r}"
    if len(runs) != (0 if cut else answers):
        return f"{len(runs)} calls were run"
    for run in runs:
        _, name, arguments = run.split(" ", 2)
        zone = literal_eval(arguments).get("zone")
        if name != "clock" or zone not in ("UTC", "Asia/Tokyo", "Europe/Lisbon"):
            return f"this was run: {run}"
    return ""


def client(printed: str, *, answers: int, reasoning: int) -> str:
    """Check the output of a client's example: its numbers of responses and of reasoning parts."""
    lines = printed.splitlines()
    if (
        sum(ANSWER in line for line in lines) < answers
        and joined(lines, "content").count(ANSWER) < answers
    ):
        return f"not {answers} answers"
    found = CALLS.findall(printed)
    given = [literal_eval(arguments) for _, arguments in found]
    if given != ZONES * answers:
        return f"these calls: {found}"
    if len({id for id, _ in found}) != 2 * answers:
        return f"calls share ids: {found}"
    thoughts = joined(lines, "reasoning").count("Two zones: two calls.")
    if thoughts != reasoning:
        return f"reasoning {thoughts} times, not {reasoning}"
    reasons = [found for line in lines if (found := REASONS.match(line))]
    if len(reasons) != answers or {usage for _, usage in map(re.Match.groups, reasons)} - {
        "20",
        "50",
    }:
        return "not the finish reasons and numbers of tokens"
    return ""


def joined(lines: list[str], kind: str) -> str:
    """Join the texts of one kind, printed directly or as Python literals."""
    texts = [line.removeprefix(f"{kind} ") for line in lines if line.startswith(f"{kind} ")]
    return "".join(literal_eval(text) if text[:1] in "'\"" else text for text in texts)
