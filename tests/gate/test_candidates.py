"""Phase one: candidates of text and of messages."""

from __future__ import annotations

import dataclasses
import re
from inspect import getdoc

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
from deltaparse.stream import Attempt

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


def test_candidate_has_only_text():
    for output in (tag(), BLOCK, BRACKET, Message([CALL])):
        candidates = GATE.extract(output, intent=True)
        assert len(candidates) == 1
        assert (candidates.flaw, candidates.detail) == (None, "")
        [candidate] = candidates
        assert isinstance(candidate.payload, str)
        assert not callable(candidate)
        for name in ("arguments", "normalized", "to_openai", "healed", "function", "execute"):
            assert not hasattr(candidate, name)
        with pytest.raises(dataclasses.FrozenInstanceError):
            candidate.payload = "{}"


def test_extract_needs_no_tools_and_emits_no_telemetry():
    gate = ToolGate([], on_telemetry=pytest.fail)
    assert gate.extract(tag(), intent=True) == GATE.extract(tag(), intent=True)
    assert [candidate.name for candidate in gate.extract(tag("no JSON", "rm"))] == ["rm"]


def test_spans_are_positions_in_the_text():
    text = f"So: {tag()} and {tag('{}', 'now')}"
    assert [text[slice(*found.span)] for found in GATE.extract(text)] == [tag(), tag("{}", "now")]


def test_ids_are_deterministic_and_independent_of_prose():
    def ids(text, **options):
        return [candidate.id for candidate in GATE.extract(text, **options)]

    [first] = ids(tag())
    assert ids(f"Well then. {tag()} So.") == [first] == ids(tag())
    assert ids(f"{tag()}{tag()}")[0] == first != ids(f"{tag()}{tag()}")[1]
    assert ids(tag(), prompt="other") != [first]
    assert ids(tag("{ }")) != [first]
    assert ids(tag("\ud800")) != ids(tag("\udfff"))


def test_handmade_candidate_passes_the_same_checks():
    [found] = candidates = GATE.extract(tag())
    for changes in ({"name": "rm"}, {"payload": "{}"}, {"payload": "?"}, {"flaw": "incomplete"}):
        forged = dataclasses.replace(found, **changes)
        assert isinstance(forged, Candidate)
        assert not GATE.validate(dataclasses.replace(candidates, found=(forged,))).calls


def test_handmade_block_must_be_an_object():
    [found] = candidates = GATE.extract('{"tool": "now", "arguments": {}}', intent=True)
    assert GATE.validate(candidates).executable
    forged = dataclasses.replace(found, payload='["tool", "arguments"]')
    decision = GATE.validate(dataclasses.replace(candidates, found=(forged,)))
    assert decision.reason == "wrong_shape"


def test_calls_of_a_message_are_in_the_primary_format():
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
def test_call_of_a_message_passes_the_same_checks(call, why):
    assert reason(Message([call])) == why
    # One failed call stops the others.
    decision = decided(Message([CALL, call]))
    assert (decision.reason, decision.calls) == (why, ())
    assert [record.schema_validation for record in decision.records] == ["pass", "fail"]


def test_content_of_a_message_is_read_like_text():
    assert called(Message([Reasoning(f"draft {tag('{}')}"), Content(tag())])) == [NORMAL]
    assert called(Message([Content("\n"), Reasoning("x"), Content(f"CALL_TOOL {BLOCK}")])) == [
        NORMAL
    ]
    assert reason(Message([Reasoning(tag())])) == "no_candidate"
    assert reason(Message([])) == "no_candidate"
    assert reason(Message([Reasoning("CALL_TOOL"), Content(BLOCK)])) == "no_intent"


def test_content_around_reasoning_is_not_joined():
    for cut in (5, 25, len(tag()) - 3):
        parts = [Content(tag()[:cut]), Reasoning("hm"), Content(tag()[cut:])]
        assert not decided(Message(parts)).calls
    assert reason(Message([Content("CALL_TOOL"), Reasoning("hm"), Content(BLOCK)])) == "no_intent"
    assert reason(Message([Content(tag()), Reasoning("hm"), Content("Done.")])) == "ambiguous"
    assert called(Message([Content("a"), Reasoning("hm"), Content(tag())])) == [NORMAL]
    assert called(Message([Content(tag()), Reasoning("hm"), Content(" \n")])) == [NORMAL]


def test_calls_in_two_formats_are_ambiguous():
    decision = decided(Message([Content(tag()), CALL]))
    assert decision.reason == "ambiguous"
    assert decision.re_emit
    assert called(Message([Content(f"`{tag()}` it is"), CALL])) == [NORMAL]


def test_tag_in_content_of_a_known_format_is_text():
    text = f'Not {tag()}: <tool_call>{{"name": "get_weather", "arguments": {CITY}}}</tool_call>'
    parser = StreamParser(get_format("hermes"), tools=TOOLS)
    parser.feed(text)
    parser.finish("stop")
    assert called(parser) == [NORMAL]
    assert reason(parser.message) == "ambiguous"


def test_parsed_response_without_calls_has_no_candidate():
    for text in ("Hi.", "Hi.<|im_end|>\nSo.", f"Hi. {tag()}", f"CALL_TOOL {BLOCK}"):
        decision = GATE.decide(text, "hermes", finish_reason="stop")
        assert (decision.reason, decision.telemetry.parse_mode) == ("no_candidate", "none")
        assert decision.re_emit is None
        decision = GATE.decide(text, "hermes", finish_reason="stop", intent=True)
        assert decision.reason == "no_call_found"
        assert "in your own form" in decision.re_emit


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
def test_calls_of_the_stream_parser_are_decided(text, end, why):
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
def test_issue_about_a_call_stops_it(kind):
    issues = [Issue("text_after_tool_call", (0, 0), ""), Issue(kind, (0, 0), "")]
    decision = decided(Message([CALL]), issues=issues)
    assert decision.reason == "parser_issue"
    assert kind in decision.detail
    assert called(Message([CALL]), issues=issues[:1]) == [NORMAL]
    assert reason(Message([Content("hi")]), issues=issues) == "no_candidate"


def test_repaired_call_is_refused_without_its_issues():
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
def test_harmless_issues_do_not_stop_a_call(text, passes):
    parser = StreamParser(TAGS, tools=[F])
    parser.feed(text)
    parser.finish("stop")
    assert bool(decided(parser.message, tools=[F], issues=parser.issues).calls) is passes


def issue(kind, start, end):
    return Issue(kind, (start, end), "")


@pytest.mark.parametrize(
    ("output", "why", "detail"),
    [
        (f"`{tag()}`", "quoted", "the call is inside code or a quotation"),
        (
            f"`{tag()}` means {tag()}",
            "ambiguous",
            "the response contains both calls and quoted calls",
        ),
        (f"{tag()}</tool>", "malformed_call", "a closing marker has no opening marker"),
        (
            f"need_tool: no\n`{tag()}` means {tag()}",
            "intent_denied",
            "the response begins with 'need_tool: no' but contains a call",
        ),
        (
            Message([Content(tag()), CALL]),
            "ambiguous",
            "the response contains calls in two formats",
        ),
        (
            Message([Content("So."), CALL, Reasoning("x"), Content("y</think>")]),
            "ambiguous",
            "reasoning ends after a call",
        ),
        (
            Message([Content(tag()), Reasoning("x"), Content("Done.")]),
            "ambiguous",
            "a call precedes reasoning, and text follows it",
        ),
        (
            Message([CALL], (issue("wrong_tool", 0, 0), issue("extra_call", 0, 0))),
            "parser_issue",
            "the parser reported extra_call, wrong_tool",
        ),
        (
            Message([CALL], (), (Attempt("now", (0, 9), "truncated"),)),
            "parser_issue",
            "the parser reported an unfinished call (truncated)",
        ),
    ],
)
def test_refusal_detail_for_each_flaw(output, why, detail):
    decision = decided(output)
    assert (decision.reason, decision.detail) == (why, detail)
    assert decision.telemetry.schema_validation_reason == f"{why}: {detail}"


def test_quoted_tags_and_stray_markers_are_not_candidates():
    for beside in (f"`{tag()}`", "`<tool>`", "`</tool>`", "</tool>"):
        for text in (f"{beside} {tag()}", f"{tag()} {beside}"):
            assert [found.payload for found in GATE.extract(text)] == [CITY]


def test_decide_call_reports_all_issues():
    call = dataclasses.replace(CALL, repaired=True, issues=frozenset(["unused_member"]))
    decision = GATE.decide_call(call, issues=[issue("text_after_end", 0, 0)])
    assert decision.detail == (
        "the parser reported repaired_arguments, text_after_end, unused_member"
    )
    assert "in your own form" in decision.re_emit
    assert decision.telemetry.parse_mode == "primary"


HARMLESS = "text_after_tool_call unknown_tool no_calls no_header missing_call repeated_marker"
HARMLESS += " code_block stray_marker cut_marker missing_arguments odd_member late_id"
KINDS = re.findall(r"^`([a-z_]+)`  ", getdoc(Issue), re.MULTILINE)
PLACED = ["tool_in_reasoning", "orphan_marker", "invalid_text"]


@pytest.mark.parametrize("kind", [*KINDS, "stream_error", "stream_cut"])
def test_only_listed_issues_about_a_call_are_harmless(kind):
    whole = dataclasses.replace(CALL, span=(10, 20))
    told = dataclasses.replace(whole, issues=frozenset([kind]))
    about = issue(kind, 10, 20)
    decisions = [GATE.decide_call(whole, issues=[about]), GATE.decide_call(told)]
    decisions += [decided(Message([call], (about,))) for call in (CALL, whole, told)]
    decisions += [decided(Message([told])), decided(Message([whole]), issues=[about])]
    assert {one.executable for one in decisions} == {kind in HARMLESS.split()}


@pytest.mark.parametrize("kind", [*PLACED, "text_after_end", "unknown_tool"])
def test_issue_stops_a_call_depending_on_its_span(kind):
    """Outside of all calls it is harmless, but with an unknown span it is not."""
    calls = [dataclasses.replace(CALL, span=span) for span in [(10, 20), (30, 40)]]
    apart = [(0, 10), (9, 10), (20, 30), (24, 25), (40, 50)]
    touching = [(0, 11), (10, 20), (12, 13), (19, 30), (20, 31), (39, 41), (0, 50), (35, 36)]
    nowhere = [(0, 0), (5, 5), (25, 25), (50, 50), (9, 5)]
    for span in [*apart, *touching, *nowhere]:
        stopped = {
            "text_after_end": True,
            # An unknown tool among the calls is refused only for its name.
            "unknown_tool": span in apart,
            # The end of reasoning makes all text before it reasoning.
            "orphan_marker": span not in [(0, 10), (9, 10)],
        }.get(kind, span not in apart)
        found = (issue(kind, *span),)
        assert reason(Message(calls, found)) == ("parser_issue" if stopped else None), span
        assert reason(Message(calls[::-1]), issues=found) == ("parser_issue" if stopped else None)
        # The span of one call is unknown.
        lost = reason(Message([*calls, CALL], found))
        assert lost == (None if kind == "unknown_tool" else "parser_issue"), span
    assert reason(Message([Content(tag())], (issue(kind, 0, 5),))) == (
        "parser_issue" if kind in ("text_after_end", "unknown_tool") else None
    )


@pytest.mark.parametrize("status", ["not_a_call", "truncated", "in_reasoning", "complete"])
def test_unfinished_attempt_stops_the_calls(status):
    """Before an unopened end of reasoning it was a draft, which is harmless."""
    call = dataclasses.replace(CALL, span=(60, 70))
    stops = status in ("not_a_call", "truncated")
    for at, ends, before in [
        (0, (), False),
        (20, (10, 30), True),
        (20, (30, 10), True),
        (35, (10, 30), False),
        (29, (30,), True),
    ]:
        attempts = (Attempt("", (at, at + 1), status),)
        issues = [issue("orphan_marker", end, end + 8) for end in ends]
        issues.append(issue("text_after_tool_call", 80, 90))
        message = Message([call], tuple(issues), attempts)
        assert reason(message) == ("parser_issue" if stops and not before else None), (at, ends)
    # A response without calls cannot be refused for an issue.
    none = Message([Content("Hi.")], (), (Attempt("", (0, 1), status),))
    assert reason(none) == "no_candidate"


def test_id_depends_on_all_parts_of_a_candidate():
    ids = [
        GATE.extract(text, prompt=prompt, intent=True).found[-1].id
        for prompt in ("", "p")
        for text in (tag(), tag() * 2, tag(name="now"), tag("{}"), tag("{}", "n"), BLOCK, BRACKET)
    ]
    assert len({*ids}) == len(ids)
    assert all(len(found) == len("call_") + 24 for found in ids)
    # The boundary between two parts makes a difference.
    one, other = (GATE.extract(tag(*parts)).found[0].id for parts in [("bc", "a"), ("c", "ab")])
    assert one != other
