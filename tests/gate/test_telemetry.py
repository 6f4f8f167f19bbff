"""Telemetry: mandatory fields, destinations, and the results of running calls."""

from __future__ import annotations

import dataclasses
import sys
import types

import pytest

from deltaparse import Message, ToolCall, UsageError
from deltaparse.gate import Telemetry, ToolGate, telemetry

from ..strategies.gate_samples import BLOCK, BRACKET, CITY, TOOLS, decided, tag

MANDATORY = (
    "parse_mode",
    "fallback_used",
    "candidate_count",
    "schema_validation",
    "tool_result_status",
)


@pytest.mark.parametrize(
    ("output", "options", "fields", "why"),
    [
        ("Hello.", {}, ("none", False, 0, "fail", None), "no_candidate"),
        ("CALL_TOOL", {}, ("none", False, 0, "fail", None), "no_call_found"),
        (f"`{tag()}`", {}, ("none", False, 0, "fail", None), "quoted"),
        (tag(), {}, ("primary", False, 1, "pass", None), ""),
        (tag() * 2, {}, ("primary", False, 2, "pass", None), ""),
        (tag() * 2, {"max_calls": 1}, ("primary", False, 2, "fail", None), "too_many_calls"),
        (tag("{}"), {}, ("primary", False, 1, "fail", None), "schema"),
        (tag("?"), {}, ("primary", False, 1, "fail", None), "not_json"),
        ("</tool>", {}, ("primary", False, 0, "fail", None), "malformed_call"),
        (f"CALL_TOOL {BLOCK}", {}, ("json", True, 1, "pass", None), ""),
        (BLOCK, {}, ("json", True, 1, "fail", None), "no_intent"),
        (BLOCK * 2, {"intent": True}, ("json", True, 2, "fail", None), "several_candidates"),
        (f"CALL_TOOL {BRACKET}", {}, ("bracket", True, 1, "pass", None), ""),
        (BRACKET, {}, ("bracket", True, 1, "fail", None), "no_intent"),
        (
            Message([ToolCall("1", "get_weather", CITY, True)]),
            {},
            ("primary", False, 1, "pass", None),
            "",
        ),
    ],
)
def test_mandatory_fields_for_each_outcome(output, options, fields, why):
    decision = decided(output, **options)
    record = decision.telemetry
    assert tuple(getattr(record, name) for name in MANDATORY) == fields
    assert record.schema_validation_reason.partition(":")[0] == why
    assert len(decision.records) == max(
        1, min(record.candidate_count, options.get("max_calls", 16))
    )
    assert set(MANDATORY) <= record.to_dict().keys()


def test_record_has_the_called_name_if_known():
    for output in (tag(), tag() * 17, tag("?"), tag("{}"), f"CALL_TOOL {BLOCK}", tag()[:-1]):
        assert decided(output).telemetry.tool == "get_weather"
    assert decided(f"CALL_TOOL {BLOCK[:-1]},}}").telemetry.tool == ""
    assert decided(f"CALL_TOOL {BLOCK[:-2]}}}").telemetry.tool == ""
    assert decided(tag("{}", "rm")).telemetry.tool == "rm"
    assert decided("<tool>").telemetry.tool == ""
    nothing = decided("Hello.").telemetry
    assert (nothing.tool, nothing.call_id) == ("", "")
    for complete in (True, False):
        call = ToolCall("1", "n" * 1000, "{}", complete)
        assert decided(Message([call])).telemetry.tool == "n" * 128


def test_record_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        decided(tag()).telemetry.parse_mode = "none"


def test_report_emits_the_result_of_a_call():
    logged = []
    gate = ToolGate(TOOLS, on_telemetry=logged.append)
    decision = gate.decide(tag() + tag("{}", "now"))
    for call, status in zip(decision.calls, ("empty", "error"), strict=True):
        record = gate.report(decision, status, call=call)
        assert record == dataclasses.replace(logged[-1], tool_result_status=status) == logged[-1]
        assert (record.call_id, record.tool) == (call.id, call.name)
    assert len(logged) == 4
    one = gate.decide(tag())
    assert gate.report(one, "ok").tool_result_status == "ok"
    for wrong in ("fine", None, True):
        with pytest.raises(UsageError, match='"ok", "empty" or "error"'):
            gate.report(one, wrong)
    with pytest.raises(UsageError, match="call="):
        gate.report(decision, "ok")
    with pytest.raises(UsageError, match="call="):
        gate.report(gate.decide("no"), "ok")
    with pytest.raises(UsageError, match="call="):
        gate.report(one, "ok", call=decision.calls[1])


def test_error_in_telemetry_prevents_the_decision():
    def full(_):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        ToolGate(TOOLS, on_telemetry=full).decide(tag())


class Span:
    def __init__(self, recording=True):
        self.recording = recording
        self.attributes = {}
        self.events = []

    def is_recording(self):
        return self.recording

    def set_attributes(self, attributes):
        self.attributes.update(attributes)

    def add_event(self, name, attributes):
        self.events.append((name, attributes))


@pytest.fixture
def fresh():
    """Clear the cached import of OpenTelemetry for each test."""
    telemetry._opentelemetry.cache_clear()
    yield
    telemetry._opentelemetry.cache_clear()


@pytest.fixture
def span(monkeypatch, fresh):
    span = Span()
    trace = types.SimpleNamespace(get_current_span=lambda: span)
    monkeypatch.setitem(sys.modules, "opentelemetry", types.ModuleType("opentelemetry"))
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", trace)
    return span


def test_span_has_the_decision_and_an_event_per_candidate(span):
    gate = ToolGate(TOOLS)
    decision = gate.decide(tag() + tag("{}"))
    prefix = "deltaparse.tool_gate"
    assert span.attributes[f"{prefix}.schema_validation"] == "fail"
    assert span.attributes[f"{prefix}.candidate_count"] == 2
    assert f"{prefix}.tool_result_status" not in span.attributes
    kinds = [event[f"{prefix}.schema_validation"] for _, event in span.events]
    assert kinds == ["pass", "fail"] == [r.schema_validation for r in decision.records]
    for _, event in span.events:
        assert all(isinstance(value, str | int) for value in event.values())
    gate.report(gate.decide(tag()), "empty")
    assert span.attributes[f"{prefix}.tool_result_status"] == "empty"


def test_span_without_recording_is_unchanged(span):
    span.recording = False
    assert ToolGate(TOOLS).decide(tag()).executable
    assert not span.events
    assert not span.attributes


def test_opentelemetry_is_optional(monkeypatch, fresh):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    assert ToolGate(TOOLS).decide(tag()).executable


def test_real_opentelemetry_api_accepts_the_records(fresh):
    trace = pytest.importorskip("opentelemetry.trace")

    class Recording(trace.NonRecordingSpan):
        def is_recording(self):
            return True

        def set_attributes(self, attributes):
            seen.update(attributes)

    seen = {}
    with trace.use_span(Recording(trace.INVALID_SPAN_CONTEXT)):
        ToolGate(TOOLS).decide(tag())
    assert seen["deltaparse.tool_gate.parse_mode"] == "primary"


def test_every_known_field_is_a_span_attribute():
    names = {field.name for field in dataclasses.fields(Telemetry)}
    assert set(MANDATORY) | {"schema_validation_reason"} <= names
