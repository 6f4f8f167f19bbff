"""What goes through the gate: candidates in, a decision out.

A `Candidate` is text. It has no arguments, no OpenAI form, and nothing that a tool could be run
with; only `ToolGate.validate` makes an `ExecutableCall`.
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
"""Why nothing may be executed; `Decision` describes each."""


class Refusal(Exception):
    """A check that failed. It stays inside the package: it becomes a `Decision`.

    `tool` is the name that was called, where it was known only in phase two.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.tool = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Text that may be a call; it cannot be executed.

    `mode` is the format that it was found in: "primary", "json" (fallback A) or "bracket"
    (fallback B). `name` is "" in fallback A, where it is known when the block is parsed. `payload`
    is the text of the arguments; in fallback A the whole block. `span` is where the candidate
    stands in the text, or in the content of a `Message`; None for a call that the stream parser
    read. `flaw` is a reason for which phase two will refuse it.
    """

    id: str
    mode: ParseMode
    name: str
    payload: str
    span: tuple[int, int] | None = None
    flaw: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """What phase one found in one output, in the order in which it stands there.

    `mode` is the format of the candidates, "none" where there are none. `intent`: the model, or the
    caller for it, stated that a tool is to be called. `flaw` is a reason for which phase two will
    refuse the whole output, `detail` the same in a sentence. `parsed`: the output was read in the
    model's own format, in which it is asked to write again.
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
    """A call that passed every gate; made by `ToolGate.validate` only.

    `arguments_json` is the JSON object as text, so that what was validated cannot change.
    """

    id: str
    name: str
    arguments_json: str

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as a value, a new one each time it is asked for."""
        arguments: dict[str, Any] = json.loads(self.arguments_json)
        return arguments

    def normalized(self) -> dict[str, Any]:
        """Return the one form for calls of every format: `{"name": ..., "arguments": {...}}`."""
        return {"name": self.name, "arguments": self.arguments}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What phase two decided about one output: all of its calls may be executed, or none.

    `calls` are those calls; there are none unless every candidate passed. If there are none,
    `reason` says why in a word and `detail` in a sentence, and `re_emit` is what to write to the
    model, or None where the output did not mean to call. `records` is the telemetry of each
    candidate. The reasons, in the order in which they are looked for:

    no_candidate        the output has no call
    quoted              a call stands in code, in a quotation, or in a line that is set off
    ambiguous           beside calls there are quoted ones, or calls of another format; or a call
                        may stand in a quotation or in code that nothing closes, in an element that
                        the gate does not know, in reasoning that ends behind it, or behind the
                        end of the turn
    intent_denied       the output says that it needs no tool
    parser_issue        the parser altered a call or the turn was not what was asked for
    no_intent           a fallback, and nothing says that a call is meant
    no_call_found       a call is meant, but there is none in a known format
    several_candidates  a fallback, and more than one candidate
    too_many_calls      more than `max_calls` in the primary format
    too_large           the snippet or payload is over its limit
    malformed_call      markers that do not pair, nest, or are misspelt; broken bracket style
    incomplete          the call was cut off
    too_deep            arguments nest deeper than any sane call
    not_json            the payload is not exactly one JSON value
    duplicate_key       a key stands twice in one object
    non_finite          NaN, Infinity, or a number that no float can hold: too large, or whole
                        by rounding only
    not_text            half of a surrogate pair: no Unicode text
    wrong_shape         not an object of arguments; in fallback A, not exactly tool and arguments
    unknown_tool        the name is not on the allow-list, letter by letter
    schema              the arguments break the tool's schema
    validator_error     the validator itself failed, or took too much work, so the arguments have
                        not passed it
    """

    calls: tuple[ExecutableCall, ...] = ()
    reason: Reason | None = None
    detail: str = ""
    re_emit: str | None = None
    records: tuple[Telemetry, ...]

    @property
    def executable(self) -> bool:
        """Whether there is something to execute."""
        return bool(self.calls)

    @property
    def telemetry(self) -> Telemetry:
        """The record that stands for the decision: of the first candidate that failed, if any."""
        failed = (record for record in self.records if record.schema_validation == "fail")
        return next(failed, self.records[0])
