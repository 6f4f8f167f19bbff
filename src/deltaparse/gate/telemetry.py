"""Telemetry records of the gate's decisions.

Each candidate has one record, up to `max_calls` records. A response without candidates has one. The
records are passed to `on_telemetry` after the decision. The host's report on running a call emits
its record again, with `tool_result_status`. If OpenTelemetry is installed and a span is recording,
each record is also an event of the span. The decision's record becomes the attributes of the span.
OpenTelemetry is never a dependency.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal

__all__ = ["ParseMode", "ResultStatus", "Telemetry", "TelemetrySink", "emit"]

ParseMode = Literal["primary", "json", "bracket", "none"]
"""The format of the candidates: the primary format, a fallback, or "none"."""
ResultStatus = Literal["ok", "empty", "error"]
"""The result of an executed call, as reported by the host."""

PREFIX = "deltaparse.tool_gate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """Telemetry of one candidate, without values of its arguments.

    Attributes:
        parse_mode: the format of the candidate: "primary", "json" (fallback A), "bracket"
            (fallback B), or "none".
        fallback_used: True if the format is a fallback.
        candidate_count: the number of candidates in the response.
        schema_validation: "pass" if the candidate passed all checks including the schema, else
            "fail".
        schema_validation_reason: the reason code of a failure (see `Decision`), a colon, and a
            sentence, or "" for "pass".
        tool_result_status: the result of running the call: "ok", "empty", "error", or None before
            it ran.
        executable: True if the complete decision is executable, not only this candidate.
        tool: the called name.
        call_id: the id of the candidate.
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
        """Return all fields as plain data."""
        return asdict(self)


TelemetrySink = Callable[[Telemetry], object]
"""A function called with each record. Its result is ignored."""


def emit(sink: TelemetrySink | None, records: Sequence[Telemetry], summary: Telemetry) -> None:
    """Emit `records` to the sink and the current span, and `summary` as the span's attributes.

    Exceptions of the sink propagate, so a decision never exists without its telemetry.
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
    """Return the record as span attributes. They cannot be None, so None is omitted."""
    fields = record.to_dict().items()
    return {f"{PREFIX}.{name}": value for name, value in fields if value is not None}


@cache
def _opentelemetry() -> Any:
    """Return the module `opentelemetry.trace`, or None if it is not installed."""
    try:
        return importlib.import_module("opentelemetry.trace")
    except ImportError:
        return None
