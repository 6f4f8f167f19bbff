"""The record that the seed makes mandatory for every tool call, and where it goes.

One record per candidate, but no more than `max_calls`, or one alone when there was none: given to
`on_telemetry` when the gate has decided, and once more, with `tool_result_status`, when the host
reports what running the call gave. Where OpenTelemetry's API can be imported and a span is
recording, the record is also an event of that span, and the decision's record its attributes. It
is never a dependency.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal

__all__ = ["ParseMode", "ResultStatus", "Telemetry", "TelemetrySink", "emit"]

ParseMode = Literal["primary", "json", "bracket", "none"]
ResultStatus = Literal["ok", "empty", "error"]

PREFIX = "deltaparse.tool_gate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """What is logged of one candidate.

    `schema_validation` is "pass" only where the schema was reached and held; for whatever else
    stopped the candidate it is "fail", and `schema_validation_reason` begins with the word of
    `Reason`. No argument's value is in it. `tool_result_status` is None as long as nothing ran.
    `executable` says that the whole decision was, not this candidate alone.
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
        """The record as plain data, every field of it."""
        return asdict(self)


TelemetrySink = Callable[[Telemetry], object]


def emit(sink: TelemetrySink | None, records: Sequence[Telemetry], summary: Telemetry) -> None:
    """Hand `records` to the sink and to the current span; `summary` becomes its attributes.

    What the sink raises is passed on: no decision without its telemetry.
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
    """The record as span attributes, which cannot be None: an unknown status is left out."""
    fields = record.to_dict().items()
    return {f"{PREFIX}.{name}": value for name, value in fields if value is not None}


@cache
def _opentelemetry() -> Any:
    """The module `opentelemetry.trace`, or None where it is not installed."""
    try:
        return importlib.import_module("opentelemetry.trace")
    except ImportError:
        return None
