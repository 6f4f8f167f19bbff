"""The record that is kept of every candidate, and where it goes.

There is one record per candidate, but no more than `max_calls` of them, and one where there was no
candidate. It goes to `on_telemetry` when the gate has decided, and once more, with
`tool_result_status`, when the host reports what became of running the call. Where OpenTelemetry's
API can be imported and a span is recording, the record is also an event of that span, and the
decision's record its attributes. OpenTelemetry is never a dependency.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal

__all__ = ["ParseMode", "ResultStatus", "Telemetry", "TelemetrySink", "emit"]

ParseMode = Literal["primary", "json", "bracket", "none"]
"""The format that candidates were found in: the parser's, a fallback's, or none."""
ResultStatus = Literal["ok", "empty", "error"]
"""What became of a call that was executed, as whoever executed it reports."""

PREFIX = "deltaparse.tool_gate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """What is recorded of one candidate; no value of an argument is in it.

    parse_mode: the format it was found in: "primary", "json" (fallback A), "bracket" (fallback B),
        or "none".
    fallback_used: whether that is a fallback.
    candidate_count: how many candidates the output has.
    schema_validation: "pass" where the schema was reached and held; "fail" for whatever stopped
        the candidate.
    schema_validation_reason: why it failed: the reason in a word (`Decision` has the list), a
        colon, and a sentence.
    tool_result_status: what became of running the call: "ok", "empty" or "error"; None as long as
        nothing ran.
    executable: whether the whole decision can be executed, not this candidate alone.
    tool: the name that was called. call_id: the candidate's id.
    """

    parse_mode: ParseMode
    fallback_used: bool
    candidate_count: int
    schema_validation: Literal["pass", "fail"]
    schema_validation_reason: str = ""
    tool_result_status: ResultStatus | None = None
    executable: bool = False
    tool: str = ""
    call_id: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain data, every field of it."""
        return asdict(self)


TelemetrySink = Callable[[Telemetry], object]
"""What is called with each record; what it returns is dropped."""
"""What takes the records: a function of one."""


def emit(sink: TelemetrySink | None, records: Sequence[Telemetry], summary: Telemetry) -> None:
    """Emit `records` to the sink and to the current span, whose attributes `summary` becomes.

    What the sink raises comes out: no decision without its telemetry.
    """
    for record in records:
        if sink is not None:
            sink(record)
    trace = _opentelemetry()
    if trace is None:
        return
    span = trace.get_current_span()
    if span.is_recording():
        for record in records:
            span.add_event(PREFIX, attributes=_attributes(record))
        span.set_attributes(_attributes(summary))


def _attributes(record: Telemetry) -> dict[str, str | int | bool]:
    """Return the record as span attributes; a status of None is left out, for none can be None."""
    fields = record.to_dict().items()
    return {f"{PREFIX}.{name}": value for name, value in fields if value is not None}


@cache
def _opentelemetry() -> Any:
    """Return the module `opentelemetry.trace`, or None where it is not installed."""
    try:
        return importlib.import_module("opentelemetry.trace")
    except ImportError:
        return None
