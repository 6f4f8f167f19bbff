"""What is kept of tokens, and what is made of it."""

from __future__ import annotations

import pytest

from deltaparse import Policies, get_format

from ...strategies.token_texts import CALL, HERMES, TOOLS, Text
from ...strategies.wire_by_hand import TAGS

FMT = get_format("qwen3")


def test_a_stretch_is_kept_as_one_however_many_tokens_it_has():
    texts = ["<think>", *["a", " <tool", " so"] * 300, "</think>", *["b", " <"] * 300, "<|im_end|>"]
    parser = Text(FMT, HERMES, texts).read()
    trail = parser._trail
    assert len(trail._said) < 10
    assert len(trail._tail) < trail._fmt.longest
    assert [span.role for span in parser.role_spans] == [
        *("marker", "reasoning", "marker", "content", "end")
    ]


def test_what_is_spelled_is_reported_once_wherever_it_is_cut():
    spelled = "a <tool_call> b</tool_call><tool_call>"
    for size in (1, 2, 5, len(spelled)):
        texts = [spelled[at : at + size] for at in range(0, len(spelled), size)]
        issues = Text(FMT, HERMES, texts).read().issues
        assert {issue.kind for issue in issues} == {"spelled_marker"}
        assert [spelled[slice(*issue.span)] for issue in issues] == [
            *("<tool_call>", "</tool_call>", "<tool_call>")
        ]


@pytest.mark.parametrize("first", ["<", "?", "!"])
def test_nothing_stands_before_the_beginning(first):
    marker = f"{first}call>"
    fmt = TAGS.replace(tools={"per_call_start": marker})
    for text, count in ((marker, 1), (marker[1:], 0)):
        issues = Text(fmt, [marker], list(text)).read().issues
        assert [issue.kind for issue in issues] == ["spelled_marker"] * count


def test_a_stray_token_that_comes_out_is_what_it_stands_in():
    text = Text(FMT, HERMES, ["a", "<|im_start|>", "b"])
    assert text.read().roles == ["content"] * 3
    text = Text(FMT, HERMES, ["<think>", "a", "<|im_start|>", "b", "</think>", "c"])
    assert text.read().roles == ["marker", *["reasoning"] * 3, "marker", "content"]
    dropped = text.read(policies=Policies(stray_token="drop"))
    assert dropped.roles == ["marker", *("reasoning", "dropped", "reasoning"), "marker", "content"]


def test_a_report_spells_special_tokens_and_keeps_backslashes():
    texts = ["a\\", "<|im_start|>", " \\\\", "<|im_end|>"]
    policies = Policies(text_after_tool_call="drop")
    parser = Text(FMT, HERMES, CALL, texts).read(tools=TOOLS, policies=policies)
    said = "".join(issue.detail for issue in parser.issues)
    assert repr("a\\<|im_start|> \\\\") in said
    spelled = ["\\ud800 ", "\\\\ud800"]
    parser = Text(FMT, HERMES, CALL, spelled).read(tools=TOOLS, policies=policies)
    assert repr("".join(spelled)) in parser.issues[0].detail


STRAY = "<|im_start|>"
PYTHONIC = get_format("pythonic")
JSON = ["<tool_call>", '{"name": "f", "arguments": {"a": "x', STRAY, " y", '"}}', "</tool_call>"]
NAME_BEHIND = [JSON[0], '{"arguments": {"a": "x', STRAY, " y", '"}, "name": "f"}', JSON[-1]]
TAGS_CODER = ["<tool_call>", "\n<function=f>\n<parameter=a>\nx", STRAY, " y\n</parameter>\n"]
TAGS_CODER += ["</function>\n", "</tool_call>"]
PYTHON = ["[f(a='x", STRAY, " y')]"]


@pytest.mark.parametrize("policy", ["repair", "text"])
@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        *(("qwen3", JSON), ("qwen3", NAME_BEHIND), ("qwen3_coder", TAGS_CODER)),
        ("pythonic", PYTHON),
    ],
)
def test_a_stray_token_in_arguments_is_its_text_however_late_they_come(name, tokens, policy):
    text = Text(get_format(name), HERMES, tokens)
    for fed in (text.ids, [text.ids]):
        parser = text.parser(tools=TOOLS, policies=Policies(malformed_arguments=policy))
        for ids in fed:
            parser.feed(ids)
        parser.finish("stop")
        (call,) = parser.message.tool_calls
        assert call.arguments == f'{{"a": "x{STRAY} y"}}'
        (issue,) = parser.issues
        start = "".join(tokens).index(STRAY)
        assert (issue.kind, issue.span) == ("stray_token", (start, start + len(STRAY)))
        assert f"'{STRAY}', token" in issue.detail
        assert issue.detail.endswith("stands where it is no marker, and is text")


@pytest.mark.parametrize("policy", ["repair", "text"])
@pytest.mark.parametrize("code", ["d800", "D805", "dc00", "dfff", "00e9"])
def test_what_the_model_spelled_of_a_character_stays_as_it_is(policy, code):
    for spelled in (f"\\u{code}", f"\\\\u{code}"):
        tokens = [token.replace("x", f"{spelled} x") for token in JSON]
        parser = Text(FMT, HERMES, tokens).read(policies=Policies(malformed_arguments=policy))
        (call,) = parser.message.tool_calls
        assert call.arguments == f'{{"a": "{spelled} x{STRAY} y"}}'
        assert [issue.kind for issue in parser.issues] == ["stray_token"]


@pytest.mark.parametrize("backslashes", ["", r"\\", r"\\\\"])
def test_a_stray_token_in_pythons_strings_is_its_text(backslashes):
    tokens = [PYTHON[0] + backslashes, *PYTHON[1:]]
    text = Text(PYTHONIC, [STRAY, '"quoted"'], [*tokens[:2], '"quoted"', *tokens[2:]])
    for fed in (text.ids, [text.ids]):
        parser = text.parser(tools=TOOLS)
        for ids in fed:
            parser.feed(ids)
        (call,) = parser.message.tool_calls
        assert call.arguments == f'{{"a": "x{backslashes}{STRAY}\\"quoted\\" y"}}'
