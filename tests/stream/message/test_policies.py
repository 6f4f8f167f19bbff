"""Tests of each option of each policy, with its issue."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from inspect import getdoc
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import deltaparse.stream
from deltaparse import (
    Content,
    Issue,
    MalformedOutput,
    Policies,
    Reasoning,
    StreamParser,
    UsageError,
    parse,
)

from ...strategies.wire_by_hand import CALL, OTHER, TAGS, UNMARKED, calls, fed, kinds

F = ("f", '{"a": 1}')
G = ("g", '{"b": [true, "x"]}')
TOOLS = [{"type": "function", "function": {"name": "f"}}]
BAD = '<call>{"name":"f","arguments":{"a": oops}}</call>'


def with_policy(text, reason="stop", *, tools=None, parallel_tool_calls=True, **policies):
    return fed(
        TAGS,
        text,
        reason,
        tools=tools,
        parallel_tool_calls=parallel_tool_calls,
        policies=Policies(**policies),
    )


def test_tool_in_reasoning_reasoning():
    parser = with_policy(f"<think>x{CALL}", tool_in_reasoning="reasoning")
    assert parser.message.parts == [Reasoning(f"x{CALL}")]
    assert kinds(parser) == ["unclosed_reasoning"]


def test_tool_in_reasoning_call():
    parser = with_policy(f"<think>x{CALL}y", tool_in_reasoning="call")
    assert parser.message.parts[0] == Reasoning("x")
    assert calls(parser) == [F]
    assert parser.message.parts[2:] == [Reasoning("y")]
    assert kinds(parser) == ["tool_in_reasoning", "unclosed_reasoning"]
    policies = Policies(tool_in_reasoning="call")
    inline = fed(TAGS, f"<think>x{CALL}y", reasoning="inline", policies=policies)
    assert inline.message.content == "<think>xy</think>"


@pytest.mark.parametrize("gap", ["", "\n", "\n\n", " and "])
def test_reasoning_continues_after_an_interrupting_call(gap):
    text = f"<think>x{CALL}{gap}y{OTHER}{gap}</think>z"
    parser = with_policy(text, tool_in_reasoning="call")
    said = gap.removeprefix("\n")
    thought = "xy" if gap.isspace() or not gap else f"x{gap}y{gap}"
    assert parser.message.reasoning_content.replace("\n", "") == thought
    assert calls(parser) == [F, G]
    assert parser.message.content == "z"
    assert kinds(parser) == ["tool_in_reasoning", "tool_in_reasoning"]
    assert said in parser.message.reasoning_content
    raw = fed(TAGS, text, reasoning="raw", policies=Policies(tool_in_reasoning="call"))
    assert raw.message.content.replace("\n", "") == f"<think>{thought}</think>z"


@pytest.mark.parametrize("end", ["", "\n", "<|end|>", "<|end|>\n", "\n</call>", "</ca"])
def test_reasoning_after_a_call_may_end_with_the_turn(end):
    for choice, content in (("reasoning", ""), ("copy", "x")):
        policies = {"tool_in_reasoning": "call", "unclosed_reasoning": choice}
        parser = with_policy(f"<think>x{CALL}{end}", **policies)
        assert (parser.message.reasoning_content, parser.message.content) == ("x", content)
        assert calls(parser) == [F]
        assert set(kinds(parser)) - {"cut_marker"} == {"tool_in_reasoning", "unclosed_reasoning"}
    with pytest.raises(MalformedOutput):
        with_policy(f"<think>x{CALL}{end}", tool_in_reasoning="call", unclosed_reasoning="error")


def test_tool_in_reasoning_call_needs_a_call():
    text = "<think>use <call> now</think>x"
    parser = with_policy(text, tool_in_reasoning="call")
    assert parser.message.parts == [Reasoning("use <call> now"), Content("x")]


def test_unclosed_reasoning_copy():
    parser = with_policy("<think>42", unclosed_reasoning="copy")
    assert parser.message.parts == [Reasoning("42"), Content("42")]
    assert with_policy("<think>42", "length", unclosed_reasoning="copy").message.content == ""
    shown = with_policy("<think>so</think>a <think>42", unclosed_reasoning="copy")
    assert shown.message.content == "a 42"
    assert shown.message.parts[-1] == Content("42")
    twice = with_policy("<think>4<|end|><think>2", unclosed_reasoning="copy")
    assert twice.message.parts == [Reasoning("42"), Content("42")]
    called = with_policy(f"{CALL}a<think>42", unclosed_reasoning="copy")
    assert called.message.content == "a42"
    for way in ("inline", "raw"):
        policies = Policies(unclosed_reasoning="copy")
        assert (
            "4242" not in fed(TAGS, "<think>42", reasoning=way, policies=policies).message.content
        )


def test_text_after_tool_call_drop_reports_the_text():
    parser = with_policy(f"a{CALL}b{OTHER}c", text_after_tool_call="drop")
    assert parser.message.content == "a"
    assert calls(parser) == [F, G]
    assert [issue.detail for issue in parser.issues] == ["dropped: 'b'", "dropped: 'c'"]


def test_apparent_call_after_a_call_is_text():
    parser = with_policy(f"{CALL}b<call> no")
    assert (calls(parser), parser.message.content) == ([F], "b<call> no")
    assert kinds(parser) == ["text_after_tool_call"] * 2
    parser = with_policy(f"{CALL}b<call> no", text_after_tool_call="drop")
    assert (calls(parser), parser.message.content) == ([F], "")
    assert [issue.detail for issue in parser.issues] == ["dropped: 'b'", "dropped: '<call> no'"]


def test_separator_after_an_unmarked_call_is_kept():
    parser = fed(UNMARKED, '{"name": "f", "parameters": {"a": 1}};<|end|>', tools=TOOLS)
    assert (calls(parser), parser.message.content) == ([F], ";")


def test_unknown_tool_text():
    parser = with_policy(f"{CALL}{OTHER}", tools=TOOLS, unknown_tool="text")
    assert calls(parser) == [F]
    assert '{"name": "g"' in parser.message.content
    assert kinds(parser)[0] == "unknown_tool"


def test_malformed_arguments_strict():
    parser = with_policy(
        '<call>{"name":"f","arguments":{"a":1</call>', malformed_arguments="strict"
    )
    assert [call.complete for call in parser.message.tool_calls] == [False]
    assert kinds(parser) == ["malformed_arguments"]


def test_malformed_arguments_text():
    parser = with_policy(f"{BAD}{CALL}", malformed_arguments="text")
    assert calls(parser) == [F]
    assert "oops" in parser.message.content


def test_duplicate_keys():
    twice = '<call>{"name":"f","arguments":{"a":1,"a":2}}</call>'
    parser = with_policy(twice)
    assert parser.message.tool_calls[0].arguments == '{"a":1,"a":2}'
    assert parser.message.tool_calls[0].healed() == {"a": 2}
    with pytest.raises(MalformedOutput):
        parse(twice, TAGS, policies=Policies(duplicate_keys="error"))


@pytest.mark.parametrize(
    ("choice", "made", "content"), [("flag", [F, G], ""), ("drop", [F], ""), ("text", [F], OTHER)]
)
def test_extra_calls(choice, made, content):
    parser = with_policy(CALL + OTHER, parallel_tool_calls=False, extra_calls=choice)
    assert calls(parser) == made
    assert kinds(parser)[0] == "extra_call"
    assert parser.message.content == content


@pytest.mark.parametrize(
    ("policy", "text", "kind"),
    [
        ("tool_in_reasoning", f"<think>x{CALL}", "tool_in_reasoning"),
        ("unclosed_reasoning", "<think>x", "unclosed_reasoning"),
        ("text_after_tool_call", f"{CALL}b", "text_after_tool_call"),
        ("unknown_tool", OTHER, "unknown_tool"),
        ("malformed_arguments", BAD, "malformed_arguments"),
        ("extra_calls", CALL + CALL, "extra_call"),
    ],
)
def test_error_policy_keeps_earlier_parts(policy, text, kind):
    options = {
        "tools": TOOLS,
        "parallel_tool_calls": False,
        "policies": Policies(**{policy: "error"}),
    }
    parser = StreamParser(TAGS, **options)

    def feed_all():
        for char in f"before{text}":
            parser.feed(char)
        parser.finish("stop")

    with pytest.raises(MalformedOutput) as raised:
        feed_all()
    assert raised.value.kind == kind
    assert parser.message.content.startswith("before")
    # The parser continues, and the following text is content.
    if parser.finish_reason is None:
        parser.feed("rest")
        parser.finish("stop")
        assert parser.message.content.endswith("rest")


def test_violation_of_tool_choice_is_reported():
    named = {"type": "function", "function": {"name": "f"}}
    tools = [*TOOLS, {"type": "function", "function": {"name": "g"}}]
    assert kinds(fed(TAGS, OTHER, tools=tools, tool_choice=named)) == ["wrong_tool"]
    assert kinds(fed(TAGS, CALL, tools=tools, tool_choice=named)) == []
    assert kinds(fed(TAGS, "no", tools=tools, tool_choice="required")) == ["missing_call"]
    assert kinds(fed(TAGS, "no", "length", tools=tools, tool_choice="required")) == []


@pytest.mark.parametrize("policy", ["tool_in_reasoning", "unknown_tool", "extra_calls"])
def test_unknown_option_raises_with_the_valid_options(policy):
    with pytest.raises(UsageError, match=r'must be one of ("[a-z]+", )+"error", not '):
        Policies(**{policy: "maybe"})


ENGINE = sorted(Path(deltaparse.stream.__file__).parent.rglob("*.py"))
DESCRIBED = set(re.findall(r"^`([a-z_]+)`  ", getdoc(Issue), re.MULTILINE))


def texts(node):
    """Return the string constants in an expression."""
    return {
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    }


def issue_kinds(tree):
    """Yield the kinds of issues in a module: arguments of `issue`, or variables named `kind`."""
    takers = {"issue": 0, "Issue": 0}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            names = [argument.arg for argument in node.args.args]
            if "kind" in names and node.name != "issue":
                takers[node.name] = names.index("kind")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in takers and len(node.args) > takers[name]:
                yield from texts(node.args[takers[name]])
        elif isinstance(node, ast.Assign) and "_kind" in ast.unparse(node.targets[0]):
            yield from texts(node.value)


def test_docstring_describes_every_kind_of_issue():
    written = set()
    for path in ENGINE:
        written |= set(issue_kinds(ast.parse(path.read_text(encoding="utf-8"))))
    written -= {"keep"}
    assert {"unknown_tool", "unused_member", "foreign_role", "text_after_end"} <= written
    assert written == DESCRIBED


def test_docstring_describes_every_option():
    for policy in fields(Policies):
        text = getdoc(Policies).partition(f"    {policy.name}: ")[2]
        text = re.split(r"\n    [a-z_]+: |Raises:", text)[0]
        *choices, error = get_args(get_type_hints(Policies)[policy.name])
        assert re.findall('"([a-z]+)": ', text) == choices
        assert (choices[0], error) == (policy.default, "error")
        assert set(re.findall("`([a-z_]+_[a-z_]+)`", text)) - {"parallel_tool_calls"} <= DESCRIBED
