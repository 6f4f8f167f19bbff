"""Single sub-parsers, fed at once or by character. The rest of the text stays unread."""

from __future__ import annotations

import pytest

from deltaparse import Content, Policies, Reasoning, ToolCall
from deltaparse.stream.message.policy_sink import Sink
from deltaparse.stream.message.request_rules import Rules
from deltaparse.stream.reading.reading import Reading
from deltaparse.stream.reading.reasoning import reasoning
from deltaparse.stream.reading.sections import sections
from deltaparse.stream.reading.tool_calls.dispatch import tool_calls
from deltaparse.stream.wire.marker_tables import marker_tables
from deltaparse.stream.wire.section_markers import Role

from ...strategies.wire_by_hand import CALL, KEYED, LIST, OTHER, TAGS, UNMARKED, WRAPPED
from ...support import three_ways


def read(sub_parser, fmt, **options):
    """Adapt a sub-parser to `three_ways`: it returns its parts."""

    def steps(src, _emit):
        sink = Sink(Rules(Policies(**options)))
        yield from sub_parser(Reading(src, sink, marker_tables(fmt, calls=True)))
        return sink.message().parts

    return steps


def calls_here(reading):
    yield from tool_calls(reading, reading.checkpoint())


def reasoning_here(reading):
    yield from reasoning(reading, opened="")


def made(*calls):
    return [(call.name, call.arguments, call.complete) for call in calls]


F, G = ("f", '{"a": 1}', True), ("g", '{"b": [true, "x"]}', True)


@pytest.mark.parametrize(
    ("fmt", "text", "calls"),
    [
        (LIST, '[CALLS] [{"name": "f", "arguments": {"a": 1}, "id": "1"}]', [F]),
        (
            LIST,
            '[CALLS][{"id": 7, "name": "f", "arguments": {"a": 1}}, {"name": "g"}]',
            [F, ("g", "{}", True)],
        ),
        (KEYED, '<|calls|>[{"f": {"a": 1}}]', [F]),
        (WRAPPED, '<act>[\n{"number": "0", "tool": "f", "input": {"a": 1}}\n]', [F]),
        (UNMARKED, '{"name": "f", "parameters": {"a": 1}}', [F]),
    ],
)
def test_calls_end_with_their_brackets(fmt, text, calls):
    def steps(src, _emit):
        parts = yield from read(calls_here, fmt)(src, _emit)
        return made(*parts)

    three_ways(steps, text, (calls, "", ""))


def test_calls_in_tags_end_before_their_closing_tag():
    """Read one character of the tag, since another call may follow in the same tags."""

    def steps(src, _emit):
        parts = yield from read(calls_here, TAGS)(src, _emit)
        return made(*parts)

    three_ways(steps, CALL.removesuffix("/call>"), ([F], "", "\n<"))
    second = '{"name": "g", "arguments": {"b": [true, "x"]}}'
    both = f'<call>{{"name": "f", "arguments": {{"a": 1}}}}\n{second}<'
    three_ways(steps, both, ([F, G], "", "<"))


def test_apparent_call_is_returned_as_content():
    three_ways(read(calls_here, TAGS), "<call> n", ([Content("<call> ")], "", "n"))
    three_ways(read(calls_here, UNMARKED), '{"a": 1', ([Content('{"a": ')], "", "1"))


def test_reasoning_end_includes_its_whitespace():
    three_ways(read(reasoning_here, WRAPPED), "so </plan>", ([Reasoning("so ")], "", ""))
    three_ways(read(reasoning_here, TAGS), "so\n</think>\n\n", ([Reasoning("so")], "", ""))


def test_reasoning_ends_before_the_end_of_the_turn():
    read_so = read(reasoning_here, TAGS)
    for text in ("so<|end|>", "so<|end|>\n \n"):
        unread = text.removeprefix("so")
        three_ways(read_so, text, ([Reasoning("so")], "", unread), at_end=True)
    three_ways(read_so, "a <|end|> b</think>\n\n", ([Reasoning("a <|end|> b")], "", ""))


def test_call_interrupts_reasoning_under_the_policy():
    steps = read(reasoning_here, TAGS, tool_in_reasoning="call")

    def parts(src, emit):
        found = yield from steps(src, emit)
        return [made(part)[0] if isinstance(part, ToolCall) else part for part in found]

    three_ways(parts, f"a{CALL}b</think>\n\n", ([Reasoning("a"), F, Reasoning("b")], "", ""))


def test_turn_ends_with_the_input():
    text = f"<think>\nhm\n</think>\n\nYes.\n{CALL}\n{OTHER}<|end|>"

    def steps(src, _emit):
        parts = yield from read(sections, TAGS)(src, _emit)
        return [part if not isinstance(part, ToolCall) else made(part)[0] for part in parts]

    three_ways(steps, text, ([Reasoning("hm"), Content("Yes."), F, G], "", ""), at_end=True)


def test_markers_match_with_less_whitespace():
    tables = marker_tables(TAGS, calls=True)
    assert set(tables.in_reasoning_only.literals) == {"\n</think>", "</think>", "<|end|>"}
    assert {"\n<call>", "<call>"} <= set(tables.in_content.literals)
    assert tables.role("\n</think>") is Role.REASONING_END
    assert tables.trailing("</think>") == "\n\n"


def test_call_markers_are_not_searched_without_calls():
    tables = marker_tables(TAGS, calls=False)
    assert set(tables.in_content.literals) == {"<think>", "</think>", "<|end|>"}
    assert not tables.unmarked
    assert marker_tables(UNMARKED, calls=True).unmarked
