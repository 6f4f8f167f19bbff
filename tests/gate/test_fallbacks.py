"""Fallbacks A and B, and their five checks."""

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


@pytest.mark.parametrize("body", [BLOCK, BRACKET])
@pytest.mark.parametrize(
    "start", ["need_tool: yes\n", "CALL_TOOL\n", "CALL_TOOL ", "CALL_TOOL", " \n CALL_TOOL\r\n\t"]
)
def test_intent_opens_a_fallback(body, start):
    decision = decided(f"{start}{body}\n ")
    assert [call.normalized() for call in decision.calls] == [NORMAL]
    assert decision.telemetry.parse_mode == ("json" if body is BLOCK else "bracket")
    assert decision.telemetry.fallback_used
    assert decision.telemetry.candidate_count == 1


@pytest.mark.parametrize("body", [BLOCK, BRACKET])
def test_intent_can_be_stated_elsewhere(body):
    assert called(f" {body}\n", intent=True) == [NORMAL]
    assert called(f"CALL_TOOL {body}", intent=True) == [NORMAL]
    assert called(f"<think>CALL_TOOL?</think>{body}", intent=True) == [NORMAL]
    assert reason(body, intent="yes") == "no_intent"


@pytest.mark.parametrize("body", [BLOCK, BRACKET])
@pytest.mark.parametrize(
    "start",
    [
        "",
        "need_tool: no\n",
        "need_tool: maybe\n",
        "need_tool: yesterday\n",
        "call_tool\n",
        "I will not CALL_TOOL\n",
        "<think>CALL_TOOL</think>\n",
        "CALL_TOOLS\n",
        "`CALL_TOOL`\n",
    ],
)
def test_gate_1_without_intent_no_call_is_executed(body, start):
    decision = decided(start + body)
    assert not decision.calls
    assert decision.reason in ("no_intent", "no_candidate")
    assert decision.re_emit is None


def test_gate_1_denied_intent_stops_the_calls():
    assert reason(f"need_tool: no\n{tag()}") == "intent_denied"
    assert reason(f"need_tool: no\n{BLOCK}", intent=True) == "no_call_found"
    assert reason("need_tool: no\nIt is 9.") == "no_candidate"


def test_gate_1_intent_markers_can_be_configured():
    assert called(f"<|call|>{BLOCK}", intents=["<|call|>", "<|call|>!"]) == [NORMAL]
    assert called(f"need tool {BLOCK}", intents=["need", "need tool"]) == [NORMAL]
    assert reason(f"CALL_TOOL {BLOCK}", intents=["<|call|>"]) == "no_candidate"
    assert reason(f"CALL_TOOL {BLOCK}", intents=()) == "no_candidate"
    assert called(BLOCK, intents=(), intent=True) == [NORMAL]


def padded(body, size):
    return body.replace("Antwerp", "Antwerp" + "." * (size - len(body.encode())))


@pytest.mark.parametrize("body", [BLOCK, BRACKET])
def test_gate_2_snippet_is_limited_to_2_kb(body):
    assert decided(padded(body, 2048), intent=True).executable
    decision = decided(padded(body, 2049), intent=True)
    assert decision.reason == "too_large"
    assert decision.re_emit
    assert reason(padded(body, 200).replace(".", "é"), intent=True, max_snippet_bytes=210) == (
        "too_large"
    )


@pytest.mark.parametrize("body", [BLOCK, BRACKET])
def test_gate_2_lone_surrogate_counts_three_bytes(body):
    body = body.replace("Antwerp", "\ud800")
    assert reason(body, intent=True, max_snippet_bytes=len(body) + 2) == "not_text"
    assert reason(body, intent=True, max_snippet_bytes=len(body) + 1) == "too_large"


def test_gate_2_does_not_limit_the_primary_format():
    long = f'{{"city": "{"x" * 3000}"}}'
    assert decided(tag(long)).executable
    assert reason(tag(long), max_payload_bytes=3000) == "too_large"


def test_gate_3_tool_must_be_on_the_allow_list():
    assert reason(BLOCK.replace("get_", "put_"), intent=True) == "unknown_tool"
    assert reason(BRACKET.replace("get_", "put_"), intent=True) == "unknown_tool"
    decision = decided(tag(name="rm"))
    assert decision.reason == "unknown_tool"
    assert "get_weather" in decision.re_emit
    assert decision.telemetry.tool == "rm"
    for body in (tag(), BLOCK, BRACKET):
        assert reason(body, tools=[], intent=True) == "unknown_tool"


@pytest.mark.parametrize(
    "arguments",
    [
        "{}",
        '{"city": 3}',
        '{"city": null}',
        '{"city": "x", "days": 0}',
        '{"city": "x", "days": "2"}',
        '{"city": "x", "units": "c"}',
        '{"city": "x", "town": 1}',
    ],
)
def test_gate_4_arguments_must_follow_the_schema(arguments):
    block = f'{{"tool": "get_weather", "arguments": {arguments}}}'
    pairs = arguments[1:-1].replace('"city": ', "city=").replace('"days": ', "days=")
    pairs = pairs.replace('"units": ', "units=").replace('"town": ', "town=")
    for output in (tag(arguments), block, f"[get_weather({pairs})]"):
        decision = decided(output, intent=True)
        assert decision.reason == "schema"
        assert decision.telemetry.schema_validation == "fail"
        assert decision.telemetry.schema_validation_reason.startswith("schema: at $")
        assert decision.telemetry.tool == "get_weather"
        assert decision.re_emit


@pytest.mark.parametrize(
    ("body", "mode", "count"),
    [
        (f"{BLOCK}\n{BLOCK}", "json", 2),
        (BLOCK * 3, "json", 3),
        (f"{BRACKET}\n{BRACKET}", "bracket", 2),
        ("[now(), now()]", "bracket", 2),
        ("[now(), now(), get_weather(city='a, b(')]", "bracket", 3),
    ],
)
def test_gate_5_several_candidates_are_requested_again(body, mode, count):
    decision = decided(body, intent=True)
    assert decision.reason == "several_candidates"
    assert decision.re_emit
    assert len(decision.records) == count
    assert (decision.telemetry.parse_mode, decision.telemetry.candidate_count) == (mode, count)


@pytest.mark.parametrize(
    "output",
    [
        f"Sure: {BLOCK}",
        f"{BLOCK} Done.",
        f"```json\n{BLOCK}\n```",
        f"[{BLOCK}]",
        f"Sure: {BRACKET}",
        f"{BRACKET}!",
        f"`{BRACKET}`",
        BLOCK[:-2],
        BRACKET[:-1],
        BLOCK.replace('"tool"', '"name"'),
        f"\u00a0{BLOCK}",
        f"\ufeff{BLOCK}",
        "[link](get_weather)",
        "get_weather(city='x')",
        "[get_weather (city='x')]",
        "",
    ],
)
def test_fallback_must_be_the_complete_response(output):
    assert reason(output) == "no_candidate"
    decision = decided(output, intent=True)
    assert decision.reason == "no_call_found"
    assert decision.re_emit


@pytest.mark.parametrize(
    ("block", "why"),
    [
        ('{"tool": "now"}', "wrong_shape"),
        ('{"tool": "now", "arguments": {}, "id": 1}', "wrong_shape"),
        ('{"tool": ["now"], "arguments": {}}', "wrong_shape"),
        ('{"tool": null, "arguments": {}}', "wrong_shape"),
        ('{"tool": "now", "arguments": "{}"}', "wrong_shape"),
        ('{"tool": "now", "arguments": []}', "wrong_shape"),
        ('{"tool": "now", "arguments": null}', "wrong_shape"),
        ('{"tool": "now", "parameters": {}}', "wrong_shape"),
        ('{"Tool": "now", "tool": "now", "arguments": {}}', "wrong_shape"),
        ('{"tool": "rm", "tool": "now", "arguments": {}}', "duplicate_key"),
        ('{"tool": "now", "arguments": {},}', "not_json"),
        ('{"tool": "now", "arguments": {}', "not_json"),
        ('{"tool": "now", "arguments": {}} and {}', "not_json"),
        ("{'tool': 'now', \"tool\": {}}", "not_json"),
        ('{{"tool": "now", "arguments": {}}}', "not_json"),
    ],
)
def test_fallback_a_requires_exactly_two_keys(block, why):
    assert reason(block, intent=True) == why


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("any()", {}),
        ("any( )", {}),
        ('any(a="x", b=1,c = -1.5e2 )', {"a": "x", "b": 1, "c": -150.0}),
        ("any(a=True, b=False, c=None)", {"a": True, "b": False, "c": None}),
        ("any(a=true, b=null)", {"a": True, "b": None}),
        ("any(a='it is \"so\", é')", {"a": 'it is "so", é'}),
        (r'any(a="it\u0027s \"so\", )]")', {"a": 'it\'s "so", )]'}),
        ('any(a=[1, {"b": "(,)"}], c={})', {"a": [1, {"b": "(,)"}], "c": {}}),
        (f"any(a='{'[{' * 40}', b=\"'\")", {"a": "[{" * 40, "b": "'"}),
    ],
)
def test_fallback_b_reads_keywords_and_json(call, arguments):
    assert called(f"[{call}]", intent=True) == [{"name": "any", "arguments": arguments}]
    assert called(f"[ {call}\n]", intent=True) == [{"name": "any", "arguments": arguments}]


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ('any("x")', "malformed_call"),
        ("any(**{})", "malformed_call"),
        ("any(*[])", "malformed_call"),
        ("any(a=1,)", "malformed_call"),
        ("any(,)", "malformed_call"),
        ("any(a=1 b=2)", "malformed_call"),
        ("any(a=1, a=2)", "duplicate_key"),
        ('any(a={"b": 1, "b": 2})', "duplicate_key"),
        ("any(a=x)", "not_json"),
        ("any(a=)", "not_json"),
        ("any(a=Truest)", "not_json"),
        ("any(a=1_000)", "malformed_call"),
        ("any(a=0x1F)", "malformed_call"),
        ("any(a=01)", "malformed_call"),
        ("any(a=1+1)", "malformed_call"),
        ('any(a="x" "y")', "malformed_call"),
        ("any(a=['x'])", "not_json"),
        (r"any(a='it\'s')", "not_json"),
        ("any(a='two\nlines')", "not_json"),
        ("any(a=f'{x}')", "not_json"),
        ("any(a=now())", "not_json"),
        ("any(a=NaN)", "non_finite"),
        ("any(a=-Infinity)", "non_finite"),
        ("any(a=1e999)", "non_finite"),
        ("any(a-b=1)", "malformed_call"),
        ("any(é=1)", "malformed_call"),
        ("any(a=1)(b=2)", "malformed_call"),
        ("any(a=(1))", "not_json"),
        ("any(a=" + "[" * 40 + "]" * 40 + ")", "too_deep"),
        ("any(a='\"', b=" + "[" * 33 + "]" * 33 + ", c='\"')", "too_deep"),
        ("any(a=[)", "malformed_call"),
    ],
)
def test_fallback_b_does_not_guess(call, why):
    assert reason(f"[{call}]", intent=True) == why


def test_fallbacks_can_be_disabled():
    assert called(BLOCK, intent=True, fallbacks=["json"]) == [NORMAL]
    assert reason(BRACKET, intent=True, fallbacks="json") == "no_call_found"
    assert reason(BLOCK, intent=True, fallbacks=()) == "no_call_found"
    assert called(tag(), fallbacks=()) == [NORMAL]
    with pytest.raises(UsageError, match="fallbacks must be"):
        ToolGate(TOOLS, fallbacks=["xml"])


@pytest.mark.parametrize("inner", [tag(), f"`{tag()}`", "</tool>"])
def test_marker_of_the_primary_format_disables_fallbacks(inner):
    inner = inner.replace('"', '\\"')
    block = f'{{"tool": "search_web", "arguments": {{"query": "{inner}"}}}}'
    assert reason(block, intent=True) in ("quoted", "ambiguous", "malformed_call")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("[now()]", ["now()"]),
        (" [ now() ]\r\n\t[ any( a=1 ) ] ", ["now()", "any( a=1 )"]),
        ("[now(), any(a=1)]", ["now()", "any(a=1)"]),
        (
            '[any(a=[1, 2], b={"x": (3), "y": 4}), now()]',
            ['any(a=[1, 2], b={"x": (3), "y": 4})', "now()"],
        ),
        (r"""[any(a=")], [(", b='(]}, '), now()]""", [r"""any(a=")], [(", b='(]}, ')""", "now()"]),
        (r'[any(a="\")]\\"), now()]', [r'any(a="\")]\\")', "now()"]),
        (r"[any(a='\'), (\\'), now()]", [r"any(a='\'), (\\')", "now()"]),
        ("[any(a=1)(b=2)]", ["any(a=1)(b=2)"]),
        ("[any(a=1), x, now()]", ["any(a=1)", "? x", "now()"]),
        ("[now(), , now()]", ["now()", "? ", "now()"]),
        ("[now(),{,},(,),[,],now()]", ["now()", "?{,}", "?(,)", "?[,]", "now()"]),
        # A body with text outside of blocks is one candidate.
        *(
            (body, [f"?{body}"])
            for body in [
                "[now()]][[now()]",
                "[now()] x [now()]",
                "[now()]\u00a0[now()]",
                '[now()]""[now()]',
                '[any(a="x), now()]',
                "[any(a=')]",
                "[now(x]) ]",
                "[now(),now(])]",
                "[now(), [now()]",
                "[now()]'[now()]",
                "[now()] '])]",
                "[now()]) ([now()]",
            ]
        ),
    ],
)
def test_bracket_style_body_is_split_into_calls(body, found):
    assert candidates(body, "bracket") == found


def candidates(body, mode):
    """Return the candidates of a body, with "?" before malformed calls."""
    extracted = ToolGate([]).extract(body, intent=True)
    assert extracted.mode == mode
    if mode == "json":
        assert {(found.name, found.flaw) for found in extracted} == {("", None)}
        return [found.payload for found in extracted]
    odd = [found for found in extracted if found.flaw]
    assert {(found.name, found.flaw) for found in odd} <= {("", "malformed_call")}
    return [
        f"?{found.payload}" if found in odd else f"{found.name}({found.payload})"
        for found in extracted
    ]


@pytest.mark.parametrize(
    "blocks",
    [
        ['{"tool": 1}'],
        ['{"tool": 1}', '{"tool": 2}'],
        ['{"tool": "}{"}', '{"tool": "\\"}{\\\\"}', "{}"],
        ['{"tool": [{}, {}]}', "[2]", '{"a": 3}'],
        # A body with text outside of blocks is one candidate.
        ['{"tool": 1} x {"tool": 2}'],
        ['{"tool": 1}\u00a0{"tool": 2}'],
        ['{"tool": 1} "x" {"tool": 2}'],
        ['{"tool": 1}}{{"tool": 2}'],
        ['{"tool": 1}{"tool": {}'],
        ['{"tool": 1} "}'],
        ['{"tool": 1}"{"tool": 2}'],
    ],
)
def test_json_body_is_split_into_blocks(blocks):
    assert candidates("".join(blocks), "json") == blocks
    assert candidates(" " + " \r\n\t".join(blocks) + "\n", "json") == blocks


def test_body_over_the_limit_is_one_candidate():
    for body in (f"{BLOCK}\n{BLOCK}", f"{BRACKET}\n{BRACKET}"):
        size = len(body)
        assert len(decided(body, intent=True, max_snippet_bytes=size).records) == 2
        decision = decided(body, intent=True, max_snippet_bytes=size - 1)
        assert (decision.reason, len(decision.records)) == ("too_large", 1)


@pytest.mark.parametrize(
    "body",
    [
        "[now()",
        "now()]",
        "[now]",
        "[1now()]",
        "[now()x]",
        "['now()']",
        "[(now())]",
        f"[{'n' * 129}()]",
        f"[{' ' * 17}now()]",
        f"[now(){' ' * 17}]",
        "[now()]\u00a0",
        "x[now()]",
    ],
)
def test_body_without_fallback_syntax_has_no_candidate(body):
    assert reason(body, intent=True) == "no_call_found"
    for one in (f"[{'n' * 128}()]", f"[{' ' * 16}now(){' ' * 16}]", "[_n.1-2()]"):
        assert reason(one, intent=True) in (None, "unknown_tool")


@pytest.mark.parametrize("body", [BLOCK, BRACKET])
def test_intent_marker_may_be_a_prefix_of_another(body):
    intents = ["USE", "USE IT", "need_tool: no doubt"]
    assert called(f"USE IT\n{body}", intents=intents) == [NORMAL]
    assert called(f"USE{body}", intents=intents) == [NORMAL]
    assert reason(f"USE AT {body}", intents=intents) == "no_call_found"
    assert reason(f"USE: {body}", intents=intents) == "no_candidate"
    assert reason("USE", intents=intents) == "no_call_found"
    # A denial has priority over all intent markers.
    assert reason(f"need_tool: no doubt {body}", intents=intents) == "intent_denied"


def test_quoted_call_is_requested_again_only_after_intent():
    quoted = f"```\n{tag()}\n```"
    for start in ("", "CALL_TOOL\n"):
        decision = decided(start + quoted)
        assert decision.reason == "quoted"
        assert bool(decision.re_emit) is bool(start)
