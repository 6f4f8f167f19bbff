"""Properties for any text, any schema and any kind of input."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from typing import get_args

import jsonschema
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from deltaparse import (
    Content,
    Message,
    Reasoning,
    StreamParser,
    ToolCall,
    ToolCallDelta,
    UsageError,
)
from deltaparse.gate import Decision, Reason, ToolGate
from deltaparse.testing import outputs

from ..strategies.gate_samples import BLOCK, BRACKET, CITY, TOOLS, tag, tool

GATE = ToolGate(TOOLS)
SNIPPETS = [
    *("<tool", "</tool>", '<tool name="', '">', '<tool name="now">', "{}", CITY, tag(), BLOCK),
    *(
        BRACKET,
        "CALL_TOOL ",
        "need_tool: yes\n",
        "need_tool: no\n",
        "`",
        "```\n",
        "\n",
        "\n\n",
        '"',
    ),
    *(
        "'",
        "> ",
        "    ",
        "~~~\n",
        "<code>",
        "</code>",
        "<think>",
        "</think>",
        "<!--",
        "-->",
        "[",
        "]",
    ),
    *(
        "(",
        ")",
        "{",
        "}",
        "=",
        ",",
        ":",
        "\\",
        '"tool"',
        "now",
        "any",
        "a=1",
        '"a": 1',
        "NaN",
        "1e999",
    ),
    *(
        tag("{}", "now"),
        tag('{"a": 1, "a": 2}', "any"),
        "\ud83d",
        "\x00",
        "“",
        " ",
        "x",
        "\r",
        "\t",
    ),
]
SOUPS = st.lists(st.sampled_from(SNIPPETS) | st.text(max_size=4), max_size=12).map("".join)
SOUND = [tag(), tag("{}", "now"), tag('{"a": 1}', "any"), tag('{"query": "x"}', "search_web")]
FELL_BACK = [
    f"{intent}{body}" for intent in ("CALL_TOOL ", "need_tool: yes\n") for body in (BLOCK, BRACKET)
]
QUIET = [
    "So. ",
    "x ",
    " ",
    "\n",
    "It is:\n\n",
    "`x` ",
    "<think>x</think>",
    "> x\n\n",
    "(y) ",
    "é😀 ",
]


@st.composite
def set_in_text(draw):
    """Generate valid calls in plain prose, with at most one insertion that may change them."""
    quiet = st.lists(st.sampled_from(QUIET), max_size=2)
    found = draw(st.lists(st.sampled_from(SOUND), min_size=1, max_size=2))
    parts = [*draw(quiet), *found, *draw(quiet)]
    if draw(st.integers(0, 3)) == 0:
        parts = [draw(st.sampled_from(FELL_BACK))]
    if draw(st.booleans()):
        odd = draw(st.sampled_from(SNIPPETS) | st.text(max_size=2))
        parts.insert(draw(st.integers(0, len(parts))), odd)
    return "".join(parts)


TEXTS = SOUPS | set_in_text()
"""Outputs, of which a fourth at least have calls that may be executed."""
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False)
    | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = st.sampled_from(["a", "b", "c"])
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
SMALL = (
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "x", "2024-02-29", 0.5])
)
SUBSCHEMAS = st.recursive(
    st.builds(lambda kind: {"type": kind}, TYPES)
    | st.builds(lambda values: {"enum": values}, st.lists(SMALL, min_size=1, max_size=3))
    | st.sampled_from(
        [{}, {"minimum": 0}, {"minLength": 1}, {"format": "date"}, {"multipleOf": 0.5}]
    ),
    lambda inner: (
        st.builds(lambda items: {"items": items, "uniqueItems": True}, inner)
        | st.builds(lambda several: {"anyOf": several}, st.lists(inner, min_size=1, max_size=2))
        | st.builds(lambda member: {"properties": {"a": member}, "required": ["a"]}, inner)
    ),
    max_leaves=4,
)


@st.composite
def schemas(draw):
    """Generate schemas of arguments."""
    schema = {"properties": draw(st.dictionaries(KEYS, SUBSCHEMAS, max_size=3))}
    if draw(st.booleans()):
        schema["required"] = draw(st.lists(KEYS, unique=True, max_size=2))
    if draw(st.booleans()):
        schema["additionalProperties"] = draw(st.booleans() | SUBSCHEMAS)
    return schema


ARGUMENTS = st.dictionaries(KEYS, SMALL | st.lists(SMALL, max_size=2) | VALUES, max_size=3)


@given(TEXTS, st.booleans(), st.text(max_size=3))
def test_text_never_raises(text, intent, prompt):
    decision = GATE.decide(text, intent=intent, prompt=prompt)
    assert decision == GATE.decide(text, intent=intent, prompt=prompt)
    assert decision.reason is None or decision.reason in get_args(Reason)
    repr(decision)
    for record in decision.records:
        json.dumps(record.to_dict())


@given(st.text(), st.booleans())
def test_arbitrary_text_never_raises(text, intent):
    for output in (text, tag(text), tag(text, text[:5]), f"[any({text})]", f'{{"tool"{text}}}'):
        assert isinstance(GATE.decide(output, intent=intent), Decision)


FITTING = st.sampled_from([("now", "{}"), ("any", '{"a": 1}'), ("get_weather", CITY)])
SOUND_CALLS = FITTING.map(lambda call: ToolCall("1", *call, True))


def calls(complete):
    """Generate complete and incomplete calls, half of them with valid arguments."""
    names = st.sampled_from(["now", "any", "?"])
    odd = st.builds(ToolCall, st.text(max_size=2), names, TEXTS, complete)
    return odd | st.builds(lambda call, whole: ToolCall("1", *call, whole), FITTING, complete)


QUIET_PARTS = st.sampled_from(QUIET).map(Content) | st.sampled_from(QUIET).map(Reasoning)
ODD_PARTS = st.builds(Content, TEXTS) | st.builds(Reasoning, TEXTS) | calls(st.booleans())
PARTS = st.lists(ODD_PARTS, max_size=3) | st.lists(
    SOUND_CALLS | QUIET_PARTS, min_size=1, max_size=4
)


def share_that_passes(drawn, **options):
    """Return the share of a strategy's examples with executable calls."""
    passed = []

    @settings(
        max_examples=100, deadline=None, derandomize=True, database=None, phases=[Phase.generate]
    )
    @given(drawn)
    def ask(output):
        passed.append(GATE.decide(output, **options).executable)

    ask()
    return sum(passed) / len(passed)


def test_strategies_generate_enough_passing_calls():
    assert share_that_passes(TEXTS) >= 0.2
    assert share_that_passes(PARTS.map(Message), intent=True) >= 0.2


@given(PARTS)
def test_message_never_raises(parts):
    assert isinstance(GATE.decide(Message(parts), intent=True), Decision)


@given(PARTS, calls(st.just(False)), PARTS)
def test_incomplete_call_never_passes(before, call, after):
    assert not GATE.decide(Message([*before, call, *after]), intent=True).calls


def independently_read(text, candidate):
    """Return the name and arguments of a candidate, independently of the gate's code."""
    if candidate.mode == "primary":
        found = re.fullmatch(
            r'<tool\s+name="(.*?)"\s*>(.*)</tool>', text[slice(*candidate.span)], re.DOTALL
        )
        assert found[2] == candidate.payload
        return found[1], json.loads(found[2])
    if candidate.mode == "json":
        value = json.loads(candidate.payload)
        return value["tool"], value["arguments"]
    source = f"{candidate.name}({candidate.payload})"
    call = ast.parse(
        re.sub(r"\b(true|false|null)\b", lambda w: WORDS[w[1]], source), mode="eval"
    ).body
    assert not call.args
    return candidate.name, {word.arg: ast.literal_eval(word.value) for word in call.keywords}


WORDS = {"true": "True", "false": "False", "null": "None"}


def assert_justified(text, gate, tools, *, intent=False):
    """Check that jsonschema and json.loads also accept the executable calls."""
    candidates = gate.extract(text, intent=intent)
    decision = gate.validate(candidates)
    if not decision.calls:
        return decision
    assert len(decision.calls) == len(candidates)
    if candidates.mode != "primary":
        assert len(candidates) == 1
        assert candidates.intent
        assert len(candidates.found[0].payload.encode()) <= 2048
    for call, candidate in zip(decision.calls, candidates, strict=True):
        name, arguments = independently_read(text, candidate)
        assert call.normalized() == {"name": name, "arguments": arguments}
        [allowed] = [one["function"] for one in tools if one["function"]["name"] == name]
        jsonschema.Draft202012Validator(
            allowed.get("parameters", {"additionalProperties": False}),
            format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER,
        ).validate(arguments)
    return decision


@given(TEXTS, st.booleans())
def test_executable_calls_are_justified_by_the_text(text, intent):
    assert_justified(text, GATE, TOOLS, intent=intent)


@given(schemas(), ARGUMENTS, st.sampled_from(["f", "f", "f", "g"]), st.sampled_from(["", "x", "}"]))
def test_invalid_arguments_are_never_executable(schema, arguments, name, garbage):
    tools = [tool("f", schema)]
    gate = ToolGate(tools)
    payload = json.dumps(arguments)
    pairs = ", ".join(
        f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in arguments.items()
    )
    outputs = [
        tag(payload + garbage, name),
        f'CALL_TOOL {{"tool": "{name}", "arguments": {payload}{garbage}}}',
        f"CALL_TOOL [{name}({pairs}{garbage})]",
    ]
    reasons = {assert_justified(text, gate, tools).reason for text in outputs}
    validator = jsonschema.Draft202012Validator(
        schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )
    named = schema["properties"].keys() >= arguments.keys() or "additionalProperties" in schema
    not_finite = []
    json.loads(payload, parse_constant=not_finite.append)
    if garbage or name != "f" or not_finite:
        assert None not in reasons
    else:
        # All three formats agree, and valid calls are not refused.
        assert reasons == ({None} if named and validator.is_valid(arguments) else {"schema"})


@given(schemas(), TYPES.filter(lambda kind: kind != "object") | st.just("strin"))
def test_schema_must_allow_objects(schema, kind):
    with pytest.raises(UsageError):
        ToolGate([tool("f", schema | {"type": kind})])


PROSE = st.text("abc ,.;:-!?(){}[]=\n\\/0é😀", max_size=30)


@given(
    PROSE,
    PROSE,
    st.lists(st.sampled_from([tag(), tag("{}", "now"), tag("?")]), min_size=1, max_size=3),
)
def test_prose_around_a_call_does_not_change_the_decision(before, after, tags):
    # An unopened end tag makes the text before it doubtful.
    assume("[/" not in before + after)
    # Indented prose would be code, and some signs at the start of a line a comment.
    before = f"So {before.replace('  ', ' ')}".replace("\n ", "\n")
    before = re.sub(r"([-/])\1+", r"\1", before)
    alone = GATE.decide("".join(tags))
    assert GATE.decide(f"{before} {' and '.join(tags)} {after}") == alone


@given(TEXTS.filter(lambda text: text.strip(" \t\r\n")), st.sampled_from([BLOCK, BRACKET]))
def test_prose_next_to_a_fallback_disables_it(text, body):
    for output in (f"CALL_TOOL\nSo {text}\n{body}", f"CALL_TOOL\n{body}\n{text} so"):
        decision = GATE.decide(output)
        fell_back = decision.telemetry.parse_mode in ("json", "bracket", "none")
        # Text before the last end of reasoning is not part of the body.
        assert not (fell_back and decision.calls) or "</think>" in text


@given(TEXTS)
def test_quoted_text_is_not_executed(text):
    text = text.replace("</", "")
    for quoted in (f"```\n{text.replace('`', '')}\n```", f"<pre>{text}</pre>"):
        assert not GATE.decide(quoted).calls


FORMATS = ["hermes", "qwen3_coder", "gpt_oss", "llama3_json", "pythonic", "mistral"]


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data(), reason=st.sampled_from(["stop", "length", None]))
def test_all_inputs_lead_to_the_same_decision(name, data, reason):
    text = data.draw(outputs(name, TOOLS, faults=True))
    assume("<tool " not in text and "</tool>" not in text)
    parser = StreamParser(name, tools=TOOLS)
    early = []
    for char in text:
        for delta in parser.feed(char):
            if isinstance(delta, ToolCallDelta) and delta.last:
                call = parser.message.tool_calls[delta.index]
                early.append(GATE.decide_call(call, issues=parser.issues).executable)
    parser.finish(reason)
    decision, message = GATE.decide(parser), parser.message
    assert GATE.decide(text, name, finish_reason=reason) == decision
    if message.tool_calls:
        # Only the form requested in `re_emit` differs.
        assert replace(GATE.decide(message), re_emit=decision.re_emit) == decision
    if decision.executable:
        assert all(early)
        alone = [GATE.decide_call(call, issues=parser.issues) for call in message.tool_calls]
        assert tuple(one.calls[0] for one in alone) == decision.calls
