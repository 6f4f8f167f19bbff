"""Parsers with equal arguments share the data derived from them, and no other state."""

from __future__ import annotations

import pytest

from deltaparse import Policies, StreamParser, Tools, UsageError, get_format, parse
from deltaparse.stream.request import after_reasoning, check_response_schema, request_for
from deltaparse.stream.wire.marker_tables import marker_tables

from ..strategies.wire_by_hand import CALL, TAGS, UNMARKED
from ..strategies.wire_channels import HARMONY

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
    return request_for(TAGS, tuple((DEFAULTS | options).values()))


def test_equal_requests_are_cached():
    tools = Tools([F])
    assert asked() is asked()
    assert asked(tools=tools) is asked(tools=tools)
    assert asked(tool_choice=None) is asked(tool_choice=None)


@pytest.mark.parametrize("name", OTHERS)
def test_different_request_is_not_cached(name):
    before = asked()
    other = asked(**{name: OTHERS[name]})
    assert other is not before
    assert getattr(other, name) == OTHERS[name]
    assert getattr(asked(), name) == DEFAULTS[name]


@pytest.mark.parametrize("name", ["parallel_tool_calls", "collect"])
def test_equal_value_of_a_wrong_type_is_not_served_from_the_cache(name):
    StreamParser(TAGS)
    with pytest.raises(UsageError, match=name):
        StreamParser(TAGS, **{name: 1})


def test_mutated_tools_and_choice_are_read_again():
    tools, chosen = [F], {"type": "function", "function": {"name": "f"}}
    first = parse(CALL, TAGS, tools=tools, tool_choice=chosen)
    assert first.issues == ()
    tools[0] = {"name": "g", "parameters": {"type": "object"}}
    chosen["function"]["name"] = "g"
    second = parse(CALL, TAGS, tools=tools, tool_choice=chosen)
    assert [issue.kind for issue in second.issues] == ["unknown_tool"]


def test_prompt_may_be_a_subclass_of_str():
    class Rendered(str):
        __slots__ = ()

    parser = StreamParser(TAGS, prompt=Rendered("<|start|>model\n<think>\n"))
    parser.feed("hm")
    assert parser.message.reasoning_content == "hm"


def test_parsers_of_one_request_are_independent():
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
def test_policies_that_need_the_message_require_collection(policies):
    with pytest.raises(UsageError, match=r'="(copy|error)" needs the message, .* collect=True'):
        asked(policies=policies, collect=False)
    assert asked(policies=policies).policies is policies


@pytest.mark.parametrize(
    ("fmt", "said"),
    [(TAGS, "the prompt has no header of the turn"), (NO_HEADER, "the format defines no header")],
)
def test_prompt_without_a_turn_is_reported(fmt, said):
    (issue,) = parse("Hi", fmt, prompt="Hello").issues
    assert (issue.kind, issue.span) == ("no_header", (0, 0))
    assert issue.detail.startswith(said)
    assert issue.detail.endswith("; the prompt was ignored")


SCHEMA = {"response_schema": {}}
NAMED = {"tool_choice": {"type": "tool", "name": "f"}, "tools": [F]}


@pytest.mark.parametrize(
    ("options", "has_calls", "required", "unwraps", "named"),
    [
        ({}, True, False, False, ""),
        ({"tools": []}, False, False, False, ""),
        ({"tool_choice": "none"}, False, False, False, ""),
        ({"tool_choice": "any"}, True, True, False, ""),
        ({"tool_choice": "required", "calls": "json"}, True, True, False, ""),
        (NAMED, True, True, False, ""),
        (NAMED | {"calls": "json"}, True, True, False, "f"),
        (SCHEMA, True, False, True, ""),
        (SCHEMA | {"reasoning": "inline"}, True, False, True, ""),
        (SCHEMA | {"reasoning": "raw"}, True, False, False, ""),
        ({"reasoning": "raw"}, True, False, False, ""),
    ],
)
def test_request_derives_its_flags_from_the_options(options, has_calls, required, unwraps, named):
    made = asked(**options)
    assert (made.has_calls, made.required, made.unwraps, made.rules.named) == (
        *(has_calls, required, unwraps, named),
    )


@pytest.mark.parametrize(
    ("fmt", "options", "calls"),
    [
        (UNMARKED, {}, True),
        (UNMARKED, SCHEMA, False),
        (UNMARKED, SCHEMA | {"tool_choice": "required"}, True),
        (UNMARKED, {"tools": []}, False),
        (TAGS, SCHEMA, True),
        (TAGS, SCHEMA | {"tools": []}, False),
    ],
)
def test_unmarked_json_with_a_response_schema_is_not_a_call(fmt, options, calls):
    tables = request_for(fmt, tuple((DEFAULTS | options).values())).tables
    assert tables is marker_tables(fmt, calls=calls)


@pytest.mark.parametrize(
    ("options", "why"), [({"tools": []}, r"tools=\[\]"), ({"tool_choice": "none"}, 'choice="none"')]
)
def test_json_calls_without_callable_tools_are_rejected(options, why):
    with pytest.raises(UsageError, match=f"the model to call a tool, but .*{why} forbids it"):
        asked(calls="json", **options)


def test_mutated_tool_choice_is_read_again():
    tools, chosen = Tools([F, {"name": "g"}]), {"type": "tool", "name": "f"}
    assert asked(tools=tools, tool_choice=chosen).rules.allowed == {"f"}
    chosen["name"] = "g"
    assert asked(tools=tools, tool_choice=chosen).rules.allowed == {"g"}


@pytest.mark.parametrize(
    ("fmt", "same"),
    [
        (TAGS, True),
        (NO_HEADER, False),
        (NO_HEADER.replace(reasoning={"mode": "DELIMITER", "start": ""}), False),
        (NO_HEADER.replace(reasoning={"mode": "DELIMITER", "start": "\n"}), False),
        (get_format("hermes"), True),
        (HARMONY, True),
        (HARMONY.replace(reasoning=TAGS.reasoning), True),
    ],
    ids=["header", "no header", "delimiter", "white space", "none", "channels", "both"],
)
def test_format_after_reasoning_reads_all_as_content(fmt, same):
    made, prompt = after_reasoning(fmt)
    assert (made == fmt) is same
    assert (prompt == "") is (fmt.derived.has_channels or not made.derived.has_reasoning)
    assert made.reasoning == fmt.reasoning or not fmt.reasoning.start.strip()
    if not fmt.derived.has_channels:
        assert parse("a</think>b", made, prompt=prompt).content == "a</think>b"


class Model:
    """A fake pydantic class."""

    @classmethod
    def model_json_schema(cls):
        return {}


def test_response_schema_must_be_a_mapping():
    with pytest.raises(UsageError, match=r"a mapping, e\.g\. the result of model_json_schema"):
        check_response_schema(Model)
    with pytest.raises(UsageError, match="a JSON Schema as a mapping, not 'x'"):
        check_response_schema("x")
