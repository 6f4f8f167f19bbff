"""Tools, a gate for them, and helpers to query it."""

from __future__ import annotations

from deltaparse.gate import ToolGate


def tool(name, parameters=None):
    function = {"name": name}
    if parameters is not None:
        function["parameters"] = parameters
    return {"type": "function", "function": function}


WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1, "default": 3},
        "units": {"enum": ["C", "F"]},
        "exact": {"type": ["boolean", "null"]},
        "near": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["city"],
}
ANY = {"type": "object", "additionalProperties": True}
TOOLS = [
    tool("search_web", {"type": "object", "properties": {"query": {"type": "string"}}}),
    tool("get_weather", WEATHER),
    tool("now"),
    tool("any", ANY),
]
CITY = '{"city": "Antwerp"}'
BLOCK = '{"tool": "get_weather", "arguments": {"city": "Antwerp"}}'
BRACKET = '[get_weather(city="Antwerp")]'
NORMAL = {"name": "get_weather", "arguments": {"city": "Antwerp"}}


def tag(payload=CITY, name="get_weather"):
    return f'<tool name="{name}">{payload}</tool>'


def decided(output, tools=TOOLS, **options):
    """Return the decision of a gate, after a check of its telemetry."""
    asked = {key: options.pop(key) for key in ("intent", "issues", "prompt") if key in options}
    logged = []
    decision = ToolGate(tools, on_telemetry=logged.append, **options).decide(output, **asked)
    assert tuple(logged) == decision.records
    assert decision.executable is bool(decision.calls)
    assert (decision.reason is None) is decision.executable
    # A rejection has a one-word reason and a detail sentence.
    assert (" " in decision.detail) is not decision.executable
    if decision.re_emit is not None:
        assert f"({decision.reason}: {decision.detail})" in decision.re_emit
    if decision.executable:
        assert len(decision.records) == len(decision.calls)
        assert decision.re_emit is None
        assert decision.telemetry.schema_validation == "pass"
    for record in decision.records:
        assert record.executable is decision.executable
        assert record.tool_result_status is None
        assert record.fallback_used is (record.parse_mode in ("json", "bracket"))
    return decision


def called(output, **options):
    """Return the executable calls in the documented form."""
    return [call.normalized() for call in decided(output, **options).calls]


def reason(output, **options):
    return decided(output, **options).reason
