"""Parsers that are made alike share what follows from their arguments, and nothing else."""

from __future__ import annotations

import pytest

from deltaparse import Policies, StreamParser, Tools, UsageError, parse
from deltaparse.stream.request import check_response_schema, request_for

from ..strategies.wire_by_hand import CALL, TAGS

F = {"name": "f", "parameters": {"type": "object"}}
NO_HEADER = TAGS.replace(turn={"headers": (), "generation_prompt": ""})
DEFAULTS = {
    "tools": None,
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "reasoning": "separate",
    "policies": Policies(),
    "response_schema": None,
    "calls": "format",
    "collect": True,
}
OTHERS = {
    "tools": Tools([F]),
    "tool_choice": "required",
    "parallel_tool_calls": False,
    "reasoning": "raw",
    "policies": Policies(unknown_tool="text"),
    "response_schema": {},
    "calls": "json",
    "collect": False,
}


def asked(**options):
    return request_for(TAGS, **{**DEFAULTS, **options})


def test_what_is_asked_alike_is_read_once():
    tools = Tools([F])
    assert asked() is asked()
    assert asked(tools=tools) is asked(tools=tools)


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_asked_otherwise_is_read_anew(name):
    before = asked()
    other = asked(**{name: OTHERS[name]})
    assert other is not before
    assert getattr(other, name) == OTHERS[name]
    assert getattr(asked(), name) == DEFAULTS[name]


@pytest.mark.parametrize("name", ["parallel_tool_calls", "collect"])
def test_what_is_equal_and_wrong_is_refused_the_second_time_too(name):
    StreamParser(TAGS)
    with pytest.raises(UsageError, match=name):
        StreamParser(TAGS, **{name: 1})


def test_what_its_owner_changes_is_read_anew():
    tools, chosen = [F], {"type": "function", "function": {"name": "f"}}
    first = parse(CALL, TAGS, tools=tools, tool_choice=chosen)
    assert first.issues == ()
    tools[0] = {"name": "g", "parameters": {"type": "object"}}
    chosen["function"]["name"] = "g"
    second = parse(CALL, TAGS, tools=tools, tool_choice=chosen)
    assert [issue.kind for issue in second.issues] == ["unknown_tool"]


def test_parsers_that_share_it_know_nothing_of_each_other():
    tools = Tools([F])
    one, other = (StreamParser(TAGS, tools=tools) for _ in range(2))
    one.feed("<think>a</think>b" + CALL)
    other.feed("c")
    assert other.message.content == "c"
    assert (other.issues, other.attempts, other.finish("stop")) == ([], [], [])
    assert [call.name for call in one.message.tool_calls] == ["f"]


@pytest.mark.parametrize(
    "policies", [Policies(unclosed_reasoning="copy"), Policies(duplicate_keys="error")]
)
def test_policies_that_need_the_message(policies):
    with pytest.raises(UsageError, match=r'="(copy|error)" needs the message: leave collect=True'):
        asked(policies=policies, collect=False)
    assert asked(policies=policies).policies is policies


@pytest.mark.parametrize(
    ("fmt", "said"),
    [(TAGS, "the prompt has no header of the turn"), (NO_HEADER, "the format names no header")],
)
def test_a_prompt_in_which_no_turn_begins_is_reported(fmt, said):
    (issue,) = parse("Hi", fmt, prompt="Hello").issues
    assert (issue.kind, issue.span) == ("no_header", (0, 0))
    assert issue.detail.startswith(said)
    assert issue.detail.endswith(": nothing of it was read")


class Model:
    """What pydantic's classes have."""

    @classmethod
    def model_json_schema(cls):
        return {}


def test_a_class_is_no_schema_and_has_one():
    with pytest.raises(UsageError, match=r"a JSON Schema as a mapping, such as model_json_schema"):
        check_response_schema(Model)
    with pytest.raises(UsageError, match="a JSON Schema as a mapping, not 'x'"):
        check_response_schema("x")
