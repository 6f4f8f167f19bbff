"""Common mistakes of gates. In each case this gate fails closed."""

from __future__ import annotations

import pytest

from deltaparse import UsageError
from deltaparse.gate import ToolGate

from ..strategies.gate_samples import (
    BLOCK,
    BRACKET,
    NORMAL,
    TOOLS,
    called,
    decided,
    reason,
    tag,
)


def test_pitfall_grabbing_json_from_long_text():
    long = f"The docs show {BLOCK} as an example, {'and more, ' * 500} then {BRACKET}."
    for text in (long, f"need_tool: yes\n{long}", f"CALL_TOOL {long}"):
        decision = decided(text)
        assert not decision.calls
        assert decision.telemetry.candidate_count == 0
    assert reason(long) == "no_candidate"


@pytest.mark.parametrize("wrap", [tag, '{{"tool": "get_weather", "arguments": {}}}'.format])
def test_pitfall_filling_in_missing_arguments(wrap):
    # `city` is required, and the default of `days` is not filled in.
    assert reason(wrap('{"days": 2}'), intent=True) == "schema"
    assert called(wrap('{"city": "Antwerp"}'), intent=True) == [NORMAL]
    for coerced in ('{"city": "x", "days": "2"}', '{"city": "x", "exact": "true"}'):
        assert reason(wrap(coerced), intent=True) == "schema"
    for missing in (
        '{"tool": "now"}',
        tag("", "now"),
        "[get_weather()]",
        '<tool name="now"></tool>',
    ):
        assert not decided(missing, intent=True).calls


def test_pitfall_no_allow_list():
    with pytest.raises(TypeError):
        ToolGate()
    with pytest.raises(UsageError):
        ToolGate(None)
    for text in (tag("{}", "os.system"), '{"tool": "eval", "arguments": {}}', "[exec()]"):
        assert reason(text, intent=True) == "unknown_tool"


@pytest.mark.parametrize("body", [BLOCK, BRACKET, BLOCK * 2, BRACKET * 2, BLOCK.replace("c", "d")])
@pytest.mark.parametrize("start", ["", "CALL_TOOL "])
def test_pitfall_fallbacks_without_telemetry(body, start):
    logged = []
    ToolGate(TOOLS, on_telemetry=logged.append).decide(start + body)
    assert logged
    assert all(record.fallback_used for record in logged)
    assert all(record.parse_mode in ("json", "bracket") for record in logged)


def test_pitfall_a_parser_that_makes_models_look_better():
    # A lenient parser would execute all of these, but the primary format is strict.
    for text in (
        '<tool name=\'get_weather\'>{"city": "x"}</tool>',
        "<tool name=\"get_weather\">{'city': 'x'}</tool>",
        '<tool name="get_weather">{"city": "x",}</tool>',
        '<tool name="get_weather">{"city": "x"}',
        '<tool name="get_weather">```json\n{"city": "x"}\n```</tool>',
        '<tool name="get_weather">city: x</tool>',
        '<tool name="Get_Weather">{"city": "x"}</tool>',
        '<tool name="get_weather">{"City": "x"}</tool>',
    ):
        decision = decided(text)
        assert not decision.calls
        assert decision.re_emit
