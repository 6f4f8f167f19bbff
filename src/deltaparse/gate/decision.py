"""Records of the gate: candidates from phase one, a decision from phase two.

A `Candidate` is text. It has no parsed arguments, so no tool can be run with it. Only
`ToolGate.validate` creates an `ExecutableCall`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from .telemetry import ParseMode, Telemetry

__all__ = ["Candidate", "Candidates", "Decision", "ExecutableCall", "Reason", "Refusal"]

Reason = Literal[
    "no_candidate",
    "quoted",
    "ambiguous",
    "intent_denied",
    "parser_issue",
    "no_intent",
    "no_call_found",
    "several_candidates",
    "too_many_calls",
    "too_large",
    "malformed_call",
    "incomplete",
    "too_deep",
    "not_json",
    "duplicate_key",
    "non_finite",
    "not_text",
    "wrong_shape",
    "unknown_tool",
    "schema",
    "validator_error",
]
"""Reason codes of refusals. `Decision` describes each."""


class Refusal(Exception):
    """A failed check. It is converted to a `Decision` and never leaves the package.

    `tool` is the called name if phase two read it from the payload, else "".
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.tool = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A text that may be a call. It cannot be executed.

    Attributes:
        id: the id of the call.
        mode: the format of the candidate: "primary", "json" (fallback A) or "bracket" (fallback B).
        name: the called name, or "" in fallback A, because phase two reads it from the payload.
        payload: the text of the arguments, or in fallback A the complete block.
        span: the position in the text or in a message's content, or None for calls of the parser.
        flaw: the reason code if phase two will refuse the candidate.
    """

    id: str
    mode: ParseMode
    name: str
    payload: str
    span: tuple[int, int] | None = None
    flaw: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Candidate calls found in a response, in order of appearance.

    Attributes:
        mode: the format of the candidates, or "none" without candidates.
        found: the candidates.
        intent: the model, or the caller, stated that a tool should be called.
        flaw: the reason code if phase two will refuse the complete response.
        detail: the same reason as a sentence.
        parsed: the response was parsed in the model's own format. A request to write the call again
            asks for this format.
    """

    mode: ParseMode
    found: tuple[Candidate, ...] = ()
    intent: bool = False
    flaw: Reason | None = None
    detail: str = ""
    parsed: bool = False

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.found)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutableCall:
    """A call that passed every check, created only by `ToolGate.validate`.

    Attributes:
        id: the id of the candidate.
        name: the name of a tool on the allow-list.
        arguments_json: the JSON object as text, so the validated arguments cannot change.
    """

    id: str
    name: str
    arguments_json: str

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as a new dict on each access."""
        arguments: dict[str, Any] = json.loads(self.arguments_json)
        return arguments

    def normalized(self) -> dict[str, Any]:
        """Return `{"name": ..., "arguments": {...}}`, the same form for all formats."""
        return {"name": self.name, "arguments": self.arguments}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Decision about one response: all of its calls may be executed, or none.

    Attributes:
        calls: the executable calls, empty unless every candidate passed.
        reason: the reason code of a refusal, else None.
        detail: the same reason as a sentence.
        re_emit: a request for the model to write the call again, or None if no call was meant.
        records: the telemetry of each candidate.

    Reason codes, in the order of the checks:

    no_candidate        the response has no call
    quoted              a call is inside code, a quotation, a block quote, a table or a prompt
    ambiguous           the response also has quoted calls or calls in another format, or a call may
                        be inside an unclosed quotation or code, inside an unknown element, before
                        the end of reasoning, or after the end of the turn
    intent_denied       the response denies the need for a tool
    parser_issue        the parser altered a call, or the turn violated the request
    no_intent           a fallback without a stated intent
    no_call_found       a stated intent without a call in a known format
    several_candidates  a fallback with more than one candidate
    too_many_calls      more than `max_calls` in the primary format
    too_large           the snippet or payload is over its limit
    malformed_call      unpaired, nested or misspelled markers, or broken bracket style
    incomplete          the call was truncated
    too_deep            arguments are nested too deeply
    not_json            the payload is not exactly one JSON value
    duplicate_key       a key occurs twice in one object
    non_finite          NaN, Infinity, or a number outside of floats: too large, or an integer only
                        after rounding
    not_text            a lone surrogate, so not Unicode text
    wrong_shape         not an object of arguments, or in fallback A not exactly tool and arguments
    unknown_tool        the name is not exactly a name on the allow-list
    schema              the arguments violate the tool's schema
    validator_error     the validator itself failed or exceeded its work limit
    """

    calls: tuple[ExecutableCall, ...] = ()
    reason: Reason | None = None
    detail: str = ""
    re_emit: str | None = None
    records: tuple[Telemetry, ...]

    @property
    def executable(self) -> bool:
        """True if the decision has executable calls."""
        return bool(self.calls)

    @property
    def telemetry(self) -> Telemetry:
        """The record of the first failed candidate, or of the first candidate if all passed."""
        failed = (record for record in self.records if record.schema_validation == "fail")
        return next(failed, self.records[0])
