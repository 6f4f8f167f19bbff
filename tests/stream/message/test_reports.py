"""Tests of the limits of issues and attempts."""

from __future__ import annotations

import pytest

from deltaparse import Issue, StreamParser, get_format
from deltaparse.stream.message.reports import MOST_OF_A_KIND, issue_reports

from ...strategies.wire_by_hand import CALL, TAGS, UNMARKED, chunkings, kinds
from ...strategies.wire_channels import HARMONY

TOOLS = [{"name": "f"}]
HOSTILE = {
    "ends": "a</think>",
    "turns": "<|end|>x",
    "closers": "a</call><think></think>",
    "calls": CALL + "x",
    "openers": "<call>",
    "repeated": "<think><think></think>",
    "members": CALL.replace("}}", "}, 3: 4}"),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("collect", [True, False])
def test_a_hundred_issues_of_each_kind_are_kept(name, collect):
    first = None
    text = HOSTILE[name] * (5 * MOST_OF_A_KIND)
    for size in (1, 7, len(text)):
        parser = StreamParser(TAGS, collect=collect)
        for at in range(0, len(text), size):
            parser.feed(text[at : at + size])
        parser.finish("stop")
        seen = parser.issues, parser.attempts
        first = first or seen
        assert seen == first
    issues, attempts = first
    for kind in {issue.kind for issue in issues}:
        of_kind = [issue for issue in issues if issue.kind == kind]
        assert len(of_kind) <= MOST_OF_A_KIND + 1
    for status in {attempt.status for attempt in attempts}:
        assert sum(attempt.status == status for attempt in attempts) <= MOST_OF_A_KIND + 1


def test_last_report_has_count_and_span_of_the_rest():
    for chunks in chunkings("a</think>" * (MOST_OF_A_KIND + 3)):
        parser = StreamParser(TAGS)
        for chunk in chunks:
            parser.feed(chunk)
        *kept, last = parser.issues
        assert len(kept) == MOST_OF_A_KIND
        assert last.detail == "3 more of this kind"
        assert last.span == (9 * MOST_OF_A_KIND + 1, 9 * (MOST_OF_A_KIND + 3))
        break
    parser = StreamParser(TAGS)
    parser.feed("<call>" * 3 + f"x{CALL}" * (MOST_OF_A_KIND + 2))
    *_, last = parser.attempts
    assert (last.name, last.status, last.detail) == ("", "complete", "2 more of this status")


def tried(*calls):
    """Return the attempts of calls in messages, given as names and arguments."""
    parser = StreamParser(HARMONY, tools=TOOLS)
    for name, arguments in calls:
        header = f"<|start|>assistant<|channel|>commentary to=functions.{name}<|message|>"
        parser.feed(f"{header}{arguments}<|call|>")
    return parser.attempts


@pytest.mark.parametrize(
    ("name", "arguments", "status"),
    [
        ("f", "{}", "complete"),
        ("f", "{}}", "repaired"),
        ("f", "{'a': 1}}", "repaired"),
        ("g", "{}}", "unknown_tool"),
    ],
)
def test_extra_bracket_repairs_a_complete_call_only(name, arguments, status):
    found = tried(("f", "{}"), (name, arguments), ("f", "{}"))
    assert [attempt.status for attempt in found] == ["complete", status, "complete"]


def test_repaired_call_does_not_count_as_complete():
    *kept, last = tried(*[("f", "{}}")] * 3, *[("f", "{}")] * (MOST_OF_A_KIND + 1))
    assert [attempt.status for attempt in kept] == [
        *["repaired"] * 3,
        *["complete"] * MOST_OF_A_KIND,
    ]
    assert last.detail == "1 more of this status"


def test_repair_does_not_change_counted_calls():
    *_, last = found = tried(*[("f", "{}")] * MOST_OF_A_KIND, *[("f", "{}}")] * 2)
    assert len(found) == MOST_OF_A_KIND + 1
    assert (last.status, last.detail) == ("complete", "2 more of this status")


def test_repair_of_a_counted_call_changes_only_the_count():
    single = ("f", "{'a': 1}")
    found = [*tried(*[single] * (MOST_OF_A_KIND + 1), ("f", "{}"), ("f", "{'a': 1}}"))]
    statuses = [one.status for one in found]
    assert statuses == ["repaired"] * (MOST_OF_A_KIND + 1) + ["complete"]
    assert found[MOST_OF_A_KIND].detail == "2 more of this status"


def many(*spans):
    """Return issues of one kind: as many as the limit, and one more for each span."""
    issues = issue_reports()
    issues.extend(Issue("odd", (0, 1), "") for _ in range(MOST_OF_A_KIND))
    issues.extend(Issue("odd", span, "") for span in spans)
    return issues


def test_span_of_the_rest_does_not_depend_on_the_order():
    spans = [(7, 9), (3, 4), (8, 20), (5, 6)]
    for given in (spans, spans[::-1]):
        *_, last = issues = many(*given)
        assert last == Issue("odd", (3, 20), "4 more of this kind")
        assert len(issues) == MOST_OF_A_KIND + 4
        assert issues.kept == MOST_OF_A_KIND + 1


def test_cleared_issues_are_not_counted():
    issues = many((7, 9), (3, 4))
    issues.clear()
    assert (list(issues), len(issues), issues.kept) == ([], 0, 0)
    issues.append(Issue("odd", (1, 2), "again"))
    assert (list(issues), len(issues)) == ([Issue("odd", (1, 2), "again")], 1)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('{"type": {"a": 1', '{"type": {"a": 1'),
        ('{"type": ["a", "b"', '{"type": ["a", "b"'),
        ('{"type": 12, "a', '{"type": 12, "a'),
        ('{"id": {"a": 1', '{"id": {"a": 1'),
        ('{"parameters": {"a": 1}, "more": {"b": ', '{"parameters": {"a": 1}, "more": {"b": '),
        ('{"function": {"type": {"a', '{"function": {"type": {"a'),
        ('{"type": "object", "properties": {"a', '{"type": "object", "properties": {"a'),
        ('{"name": {"first', '{"name": {"first'),
    ],
)
def test_json_is_released_when_it_cannot_be_a_call(text, seen):
    for fmt, tools in ((UNMARKED, None), (UNMARKED, TOOLS), (get_format("llama3_json"), TOOLS)):
        parser = StreamParser(fmt, tools=tools)
        got = "".join(delta.text for char in text for delta in parser.feed(char))
        assert got == seen
        parser.feed("x" * 99)
        assert kinds(parser) == []


@pytest.mark.parametrize(
    "text",
    [
        '{"type": "function", "name": "f", "parameters": {}}',
        '{"id": 7, "name": "f", "parameters": {}}',
        '{"parameters": {}, "type": "function", "name": "f"}',
        '{"name": "f", "parameters": {}, "type": {"a": 1}}',
        '{"type": "function", "function": {"name": "f", "parameters": {}}}',
    ],
)
def test_possible_call_becomes_a_call(text):
    parser = StreamParser(UNMARKED, tools=TOOLS)
    parser.feed(text)
    parser.finish("stop")
    assert [call.name for call in parser.message.tool_calls] == ["f"]
