"""Phase one: candidates of text and of messages, and that nothing can be run with them."""

from __future__ import annotations

import dataclasses

import pytest

from deltaparse import (
    Content,
    Issue,
    Message,
    Policies,
    Reasoning,
    StreamParser,
    ToolCall,
    get_format,
    parse,
)
from deltaparse.gate import Candidate, ToolGate

from ..strategies.gate_samples import (
    BLOCK,
    BRACKET,
    CITY,
    NORMAL,
    TOOLS,
    called,
    decided,
    reason,
    tag,
    tool,
)
from ..strategies.wire_by_hand import TAGS

GATE = ToolGate(TOOLS)
CALL = ToolCall("id_1", "get_weather", CITY, True)


def test_a_candidate_is_text_and_no_more():
    for output in (tag(), BLOCK, BRACKET, Message([CALL])):
        candidates = GATE.extract(output, intent=True)
        assert len(candidates) == 1
        [candidate] = candidates
        assert isinstance(candidate.payload, str)
        assert not callable(candidate)
        for name in ("arguments", "normalized", "to_openai", "healed", "function", "execute"):
            assert not hasattr(candidate, name)
        with pytest.raises(dataclasses.FrozenInstanceError):
            candidate.payload = "{}"


def test_phase_one_knows_no_tool_and_logs_nothing():
    gate = ToolGate([], on_telemetry=pytest.fail)
    assert gate.extract(tag(), intent=True) == GATE.extract(tag(), intent=True)
    assert [candidate.name for candidate in gate.extract(tag("no JSON", "rm"))] == ["rm"]


def test_spans_say_where():
    text = f"So: {tag()} and {tag('{}', 'now')}"
    assert [text[slice(*found.span)] for found in GATE.extract(text)] == [tag(), tag("{}", "now")]


def test_ids_are_deterministic_and_do_not_depend_on_the_prose():
    def ids(text, **options):
        return [candidate.id for candidate in GATE.extract(text, **options)]

    [first] = ids(tag())
    assert ids(f"Well then. {tag()} So.") == [first] == ids(tag())
    assert ids(f"{tag()}{tag()}")[0] == first != ids(f"{tag()}{tag()}")[1]
    assert ids(tag(), prompt="other") != [first]
    assert ids(tag("{ }")) != [first]
    assert ids(tag("\ud800")) != ids(tag("\udfff"))


def test_a_hand_made_candidate_goes_through_the_same_gates():
    [found] = candidates = GATE.extract(tag())
    for changes in ({"name": "rm"}, {"payload": "{}"}, {"payload": "?"}, {"flaw": "incomplete"}):
        forged = dataclasses.replace(found, **changes)
        assert isinstance(forged, Candidate)
        assert not GATE.validate(dataclasses.replace(candidates, found=(forged,))).calls


def test_a_hand_made_block_that_is_no_object_is_refused():
    [found] = candidates = GATE.extract('{"tool": "now", "arguments": {}}', intent=True)
    assert GATE.validate(candidates).executable
    forged = dataclasses.replace(found, payload='["tool", "arguments"]')
    decision = GATE.validate(dataclasses.replace(candidates, found=(forged,)))
    assert decision.reason == "wrong_shape"


def test_the_calls_of_a_message_are_of_the_primary_format():
    decision = decided(Message([Reasoning("hm"), Content("Let me see."), CALL]))
    assert [call.normalized() for call in decision.calls] == [NORMAL]
    assert decision.calls[0].id == "id_1"
    assert decision.telemetry.parse_mode == "primary"
    both = Message([CALL, ToolCall("id_2", "now", "{}", True)])
    assert [call.id for call in decided(both).calls] == ["id_1", "id_2"]


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (ToolCall("1", "get_weather", CITY, False), "incomplete"),
        (ToolCall("1", "get_weather", CITY[:-1], False), "incomplete"),
        (ToolCall("1", "get_weather", "", True), "not_json"),
        (ToolCall("1", "get_weather", "{}", True), "schema"),
        (ToolCall("1", "rm", "{}", True), "unknown_tool"),
        (ToolCall("1", "", "{}", True), "unknown_tool"),
        (ToolCall("1", "any", '{"a": 1, "a": 2}', True), "duplicate_key"),
        (ToolCall("1", "any", f'{{"a": "{"x" * 70000}"}}', True), "too_large"),
    ],
)
def test_a_call_of_a_message_goes_through_the_same_gates(call, why):
    assert reason(Message([call])) == why
    # One that fails stops the others.
    decision = decided(Message([CALL, call]))
    assert (decision.reason, decision.calls) == (why, ())
    assert [record.schema_validation for record in decision.records] == ["pass", "fail"]


def test_the_content_of_a_message_is_read_like_text():
    assert called(Message([Reasoning(f"draft {tag('{}')}"), Content(tag())])) == [NORMAL]
    assert called(Message([Content("\n"), Reasoning("x"), Content(f"CALL_TOOL {BLOCK}")])) == [
        NORMAL
    ]
    assert reason(Message([Reasoning(tag())])) == "no_candidate"
    assert reason(Message([])) == "no_candidate"
    assert reason(Message([Reasoning("CALL_TOOL"), Content(BLOCK)])) == "no_intent"


def test_what_reasoning_parts_is_not_joined():
    for cut in (5, 25, len(tag()) - 3):
        parts = [Content(tag()[:cut]), Reasoning("hm"), Content(tag()[cut:])]
        assert not decided(Message(parts)).calls
    assert reason(Message([Content("CALL_TOOL"), Reasoning("hm"), Content(BLOCK)])) == "no_intent"
    assert reason(Message([Content(tag()), Reasoning("hm"), Content("Done.")])) == "ambiguous"
    assert called(Message([Content("a"), Reasoning("hm"), Content(tag())])) == [NORMAL]


def test_two_formats_in_one_message():
    decision = decided(Message([Content(tag()), CALL]))
    assert decision.reason == "ambiguous"
    assert decision.re_emit
    assert called(Message([Content(f"`{tag()}` it is"), CALL])) == [NORMAL]


F = tool("f", {"type": "object", "properties": {"a": {"type": "integer"}}})


@pytest.mark.parametrize(
    ("text", "end", "why"),
    [
        ('<call>\n{"name": "f", "arguments": {"a": 1}}\n</call>', "stop", None),
        ('<call>\n{"name": "f", "arguments": {"a": 1', "length", "parser_issue"),
        ('<call>\n{"name": "f", "arguments": {"a": 1', "stop", "parser_issue"),
        ('<call>\n{"name": "f", "arguments": {"a": 1,}}\n</call>', "stop", "parser_issue"),
        ('<call>\n{"name": "f", "arguments": {"a": "1"}}\n</call>', "stop", "schema"),
        ('<call>\n{"name": "g", "arguments": {"a": 1}}\n</call>', "stop", "unknown_tool"),
        ("It is 9.", "stop", "no_candidate"),
    ],
)
def test_what_the_stream_parser_read(text, end, why):
    parser = StreamParser(TAGS, tools=[F])
    parser.feed(text)
    parser.finish(end)
    decision = decided(parser.message, tools=[F], issues=parser.issues)
    assert decision.reason == why
    if why is None:
        assert [call.id for call in decision.calls] == [parser.message.tool_calls[0].id]


def test_every_prefix_of_a_streamed_call_is_refused():
    text = '<call>\n{"name": "f", "arguments": {"a": 1'
    for cut in range(len(text) + 1):
        parser = StreamParser(TAGS, tools=[F], policies=Policies(malformed_arguments="strict"))
        parser.feed(text[:cut])
        assert not decided(parser.message, tools=[F]).calls
        parser.finish("length")
        assert not decided(parser.message, tools=[F]).calls


@pytest.mark.parametrize("kind", ["repaired_arguments", "wrong_tool", "internal_error"])
def test_an_issue_that_touches_the_call_stops_it(kind):
    issues = [Issue("text_after_tool_call", (0, 0), ""), Issue(kind, (0, 0), "")]
    decision = decided(Message([CALL]), issues=issues)
    assert decision.reason == "parser_issue"
    assert kind in decision.detail
    assert called(Message([CALL]), issues=issues[:1]) == [NORMAL]
    assert reason(Message([Content("hi")]), issues=issues) == "no_candidate"


def test_a_repaired_call_is_refused_without_its_issues():
    fmt = get_format("tool_tag")
    whole = parse('<tool name="get_weather">{"city": "Antwerp"}</tool>', fmt)
    assert called(whole) == [NORMAL]
    for payload in ("{'city': 'Antwerp'}", '{"city": "Antwerp",}', '{"city": "Antwerp"'):
        message = parse(f'<tool name="get_weather">{payload}</tool>', fmt)
        assert message.tool_calls[0].repaired
        decision = decided(message)
        assert decision.reason == "parser_issue"
        assert "repaired_arguments" in decision.detail


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ('<call>{"name": "f", "arguments": {"a": 1}}</cal', True),
        ('<call>{"name": "f", "args": {"a": 1}}</call>', True),
        ('<call>{"name": "f", "args": {"a": 1}, "arguments": {"a": 2}}</call>', False),
        ('<call>{"name": "f", "arguments": {"a": 1', False),
    ],
)
def test_what_is_reported_of_a_call_and_still_says_what_was_meant(text, passes):
    parser = StreamParser(TAGS, tools=[F])
    parser.feed(text)
    parser.finish("stop")
    assert bool(decided(parser.message, tools=[F], issues=parser.issues).calls) is passes
