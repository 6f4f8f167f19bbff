"""Phase two: decide on the candidates of a response, all or none.

A candidate of a fallback must pass five checks. Each failure has a reason code.

    1 explicit intent       stated at the start of the response, or by the caller
    2 small snippet         2 KB by default
    3 allow-list            an exact match of the name
    4 strict validation     strict JSON and the schema, without repairs and defaults
    5 one candidate         otherwise the model is asked to write the call again

The primary format needs checks 3 and 4 only, because its markers state the intent. It may have
several calls and larger payloads, up to limits. One failed call stops all calls of its response,
because a subset of the intended calls is not the intended action.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .decision import Candidate, Candidates, Decision, ExecutableCall, Reason, Refusal
from .fallbacks import size
from .schemas import Tool
from .strict_arguments import arguments_json, bracket_arguments, strict_json
from .telemetry import Telemetry
from .work_budget import counting

__all__ = ["ValidationRules", "decide"]

SILENT: frozenset[Reason] = frozenset({"no_candidate", "quoted", "no_intent"})
"""Reasons without a request to write the call again, unless the model stated its intent."""

FALLBACKS = ("json", "bracket")
FLAWS: dict[Reason, str] = {
    "malformed_call": "the call violates the syntax of its format",
    "ambiguous": "the call may be inside code or an unclosed quotation",
    "incomplete": "the call is truncated or incomplete",
}
LONGEST_NAME = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationRules:
    """Settings of phase two: the allow-list and the limits."""

    tools: Mapping[str, Tool]
    snippet_bytes: int
    payload_bytes: int
    max_calls: int


def decide(candidates: Candidates, rules: ValidationRules) -> Decision:
    """Return the decision. Calls are executable only if every candidate passes every check."""
    stopped = _stopped(candidates, rules)
    # The number of records is limited, because a response may contain thousands of calls.
    judged = candidates.found[: rules.max_calls]
    with counting():
        verdicts = [stopped or _verdict(candidate, rules) for candidate in judged]
    first = next((v for v in verdicts if isinstance(v, Refusal)), stopped)
    calls = () if first else tuple(v for v in verdicts if isinstance(v, ExecutableCall))
    records = [
        _record(candidates, candidate, verdict, executable=bool(calls))
        for candidate, verdict in zip(judged, verdicts, strict=True)
    ]
    if first is None:
        return Decision(calls=calls, records=tuple(records))
    asked = candidates.intent or first.reason not in SILENT
    return Decision(
        reason=first.reason,
        detail=first.detail,
        re_emit=_re_emit(first, rules.tools, candidates.parsed) if asked else None,
        records=tuple(records) or (_record(candidates, None, first),),
    )


def _stopped(candidates: Candidates, rules: ValidationRules) -> Refusal | None:
    """Return the refusal of the complete response, if any."""
    fallback = candidates.mode in FALLBACKS
    if candidates.flaw is not None:
        return Refusal(candidates.flaw, candidates.detail)
    if not candidates.found and not candidates.intent:
        return Refusal("no_candidate", "the response has no call")
    if fallback and not candidates.intent:
        return Refusal("no_intent", "the response does not state an intent to call a tool")
    if not candidates.found:
        return Refusal("no_call_found", "an intent was stated without a call in a known format")
    if fallback and len(candidates) > 1:
        return Refusal("several_candidates", f"{len(candidates)} candidates, at most 1 is allowed")
    if len(candidates) > rules.max_calls:
        return Refusal(
            "too_many_calls", f"{len(candidates)} calls, at most {rules.max_calls} are allowed"
        )
    return None


def _verdict(candidate: Candidate, rules: ValidationRules) -> ExecutableCall | Refusal:
    try:
        return _call(candidate, rules)
    except Refusal as refusal:
        return refusal


def _call(candidate: Candidate, rules: ValidationRules) -> ExecutableCall:
    """Return the executable call of a candidate, or raise `Refusal`."""
    limit = rules.payload_bytes if candidate.mode == "primary" else rules.snippet_bytes
    if size(candidate.payload) > limit:
        raise Refusal("too_large", f"the call is larger than {limit} bytes")
    if candidate.flaw is not None:
        raise Refusal(candidate.flaw, FLAWS.get(candidate.flaw, candidate.flaw))
    name, arguments = _parsed(candidate)
    try:
        return _checked(candidate.id, name, arguments, rules.tools.get(name))
    except Refusal as refusal:
        refusal.tool = name
        raise


def _checked(call_id: str, name: str, arguments: object, tool: Tool | None) -> ExecutableCall:
    if tool is None:
        raise Refusal("unknown_tool", "the called tool is not on the allow-list")
    if not isinstance(arguments, dict):
        raise Refusal("wrong_shape", "arguments must be a JSON object")
    text = arguments_json(arguments)
    tool.check(arguments)
    return ExecutableCall(id=call_id, name=name, arguments_json=text)


def _parsed(candidate: Candidate) -> tuple[str, Any]:
    """Return the name and the parsed arguments, or raise `Refusal`."""
    if candidate.mode == "bracket":
        return candidate.name, bracket_arguments(candidate.payload)
    value = strict_json(candidate.payload)
    if candidate.mode == "primary":
        return candidate.name, value
    if not isinstance(value, dict) or value.keys() != {"tool", "arguments"}:
        raise Refusal("wrong_shape", 'the block must have exactly the keys "tool" and "arguments"')
    if not isinstance(value["tool"], str):
        raise Refusal("wrong_shape", '"tool" must be a string')
    return value["tool"], value["arguments"]


def _record(
    candidates: Candidates,
    candidate: Candidate | None,
    verdict: ExecutableCall | Refusal,
    *,
    executable: bool = False,
) -> Telemetry:
    refusal = verdict if isinstance(verdict, Refusal) else None
    name = verdict.tool if isinstance(verdict, Refusal) else verdict.name
    if candidate is not None:
        name = name or candidate.name
    return Telemetry(
        parse_mode=candidates.mode,
        fallback_used=candidates.mode in FALLBACKS,
        candidate_count=len(candidates),
        schema_validation="fail" if refusal else "pass",
        schema_validation_reason=f"{refusal.reason}: {refusal.detail}" if refusal else "",
        executable=executable,
        tool=name[:LONGEST_NAME],
        call_id=candidate.id if candidate else "",
    )


def _re_emit(refusal: Refusal, tools: Mapping[str, Tool], parsed: bool) -> str:
    """Return a request to the model: the error, and the format for the next call."""
    form = "in exactly this form, with arguments that follow the schema of the tool: "
    form += '<tool name="NAME">{"KEY": VALUE}</tool>'
    if parsed:
        form = "in your own form for calls, with arguments that follow the schema of the tool."
    return (
        f"No tool was run ({refusal.reason}: {refusal.detail}). If you want a tool to run, write "
        f"the call again, outside of code and quotation marks, {form} "
        f"Tools: {', '.join(tools) or 'none'}."
    )
