"""Reasoning: its end, and calls in it."""

from __future__ import annotations

import pytest

from deltaparse import CodeFormat, Policies, StreamParser

from ...strategies.wire_by_hand import CALL, TAGS, WRAPPED, calls, fed, kinds

PAIRS = TAGS.replace(reasoning={"alternatives": ("<plan>", "</plan>")})
INTERRUPTS = Policies(tool_in_reasoning="call")
F, G = ("f", '{"a": 1}'), ("g", '{"a": "</think>"}')
SECOND = '<call>\n{"name": "g", "arguments": {"a": "</think>"}}\n</call>'


def test_answer_ends_reasoning_opened_by_the_prompt():
    prompt = "<|start|>model\n<plan>"
    parser = fed(WRAPPED, "<answer>hi</answer>", prompt=prompt)
    assert (parser.message.content, kinds(parser)) == ("hi", ["unclosed_reasoning"])
    assert (
        fed(WRAPPED, "<answer>hi</answer>", prompt=prompt, reasoning="raw").message.content == "hi"
    )
    parser = StreamParser(WRAPPED, prompt=prompt, reasoning="inline")
    parser.feed("<answer>")
    assert not parser.in_reasoning


@pytest.mark.parametrize(
    "options",
    [{}, {"calls": "json", "policies": Policies(tool_in_reasoning="reasoning")}],
    ids=["format", "json"],
)
def test_json_in_reasoning_is_emitted_at_once_if_not_a_call(options):
    parser = StreamParser(TAGS, **options)
    begun = parser.feed('<think>\n{"name": "f",')
    assert "".join(delta.text for delta in begun) == '{"name": "f",'
    parser = fed(TAGS, '<think>\n{"name": "f", "arguments": {}}\n</think>\n\n', **options)
    assert parser.message.reasoning_content == '{"name": "f", "arguments": {}}'
    assert (parser.issues, parser.attempts) == ([], [])


@pytest.mark.parametrize("reason", ["stop", "length", None])
@pytest.mark.parametrize(
    ("fmt", "text", "found"),
    [
        (TAGS, CALL + SECOND, [F, G]),
        (TAGS, CALL + SECOND + "<|end|>", [F, G]),
        (PAIRS, CALL + "<|end|>", [F]),
        (PAIRS, CALL + "</plan><|end|>", [F]),
    ],
)
def test_calls_in_reasoning_ended_by_the_turn_are_calls(fmt, text, found, reason):
    if reason != "stop" and not text.endswith("<|end|>"):
        found = []
    parser = fed(fmt, "<think>\n a " + text, reason)
    assert calls(parser) == found
    (issue, *_) = [one for one in parser.issues if one.kind == "tool_in_reasoning"]
    detail = "a call: reasoning did not end" if found else "kept as reasoning"
    assert issue.detail == detail


@pytest.mark.parametrize("until", range(len("<call>"), len(CALL)))
def test_truncated_call_in_reasoning_is_reported(until):
    parser = fed(TAGS, f"<think>\n a {CALL[:until]}", "length")
    assert parser.message.reasoning_content == f" a {CALL[:until]}"
    assert kinds(parser) == ["tool_in_reasoning", "unclosed_reasoning"]
    assert [one.status for one in parser.attempts] == ["in_reasoning"]


def test_end_of_another_pair_does_not_end_reasoning():
    text = f" a {CALL}</plan> b"
    parser = fed(PAIRS, f"<think>\n{text}</think> c")
    assert parser.message.reasoning_content == text
    assert parser.message.content == " c"
    (issue,) = parser.issues
    assert issue.detail == "kept as reasoning"


def test_calls_in_reread_reasoning_are_calls():
    parser = fed(TAGS, f"<think>\n a {CALL}" * 2)
    assert calls(parser) == [F, F]
    told = [issue.detail for issue in parser.issues if issue.kind == "tool_in_reasoning"]
    assert told == ["a call: reasoning did not end"] * 2


def test_empty_code_from_the_prompt_is_not_a_call():
    fmt = TAGS.replace(code=CodeFormat(start="<|code|>", function="python"))
    parser = fed(fmt, "<|end|>", prompt="<|start|>model\n<think>\n<|code|>")
    assert (parser.message.parts, parser.attempts) == ([], [])


def test_repeated_start_selects_the_end_marker():
    parser = fed(PAIRS, "<think>\n<plan>a</think>b</plan>c")
    assert (parser.message.reasoning_content, parser.message.content) == ("a</think>b", "c")


def test_turn_end_after_a_call_in_reasoning_is_reasoning():
    text = f"a {CALL}<|end|>b"
    parser = fed(TAGS, f"<think>\n{text}</think>c")
    assert parser.message.reasoning_content == text
    start = len("<think>\na " + CALL)
    spans = [one.span for one in parser.issues if one.kind == "text_after_end"]
    assert spans == [(start, start + len("<|end|>"))]


def test_call_that_interrupts_reasoning_is_reported():
    parser = fed(
        TAGS,
        f"<think>\n a {CALL} b\n</think>\n\nx",
        policies=Policies(tool_in_reasoning="call"),
    )
    assert parser.message.reasoning_content == " a  b"
    (issue,) = parser.issues
    assert (issue.kind, issue.span) == ("tool_in_reasoning", (11, 17))
    assert "interrupts the reasoning" in issue.detail


@pytest.mark.parametrize("fmt", [TAGS, PAIRS, WRAPPED])
def test_open_reasoning_is_not_buffered(fmt):
    opened = fmt.reasoning.start
    parser = StreamParser(fmt, collect=False)
    parser.feed(f"{opened}a<|end|>b</call>c</plan>" if fmt is not WRAPPED else f"{opened}a<|end|>b")
    for _ in range(100):
        parser.feed("text " * 10)
        assert parser.held < 100


def test_next_section_is_not_kept():
    fmt = WRAPPED.replace(reasoning={"end": "<answer>"})
    parser = StreamParser(fmt, collect=False)
    parser.feed("<plan>a<answer>")
    assert not parser.in_reasoning
    for _ in range(100):
        parser.feed("text " * 10)
        assert parser.held < 100


def test_whitespace_before_the_end_is_not_reasoning():
    for thought in ("a", f"a {CALL}"):
        parser = fed(PAIRS, f"<think>\n{thought}\n</think>\n\nb")
        assert (parser.message.reasoning_content, parser.message.content) == (thought, "b")


def test_apparent_call_after_a_call_in_reasoning_is_reasoning():
    parser = fed(TAGS, f"<think>\n a {CALL} <think>\n b <call>nope")
    assert calls(parser) == [F]
    assert parser.message.reasoning_content == " a  b <call>nope"


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_turn_end_prefixing_another_ends_reasoning(reason):
    fmt = TAGS.replace(turn={"ends": ("<|end|>", "<|end|>all")})
    assert calls(fed(fmt, f"<think>\n a {CALL}<|end|>", reason)) == [F]


@pytest.mark.parametrize("reason", ["stop", "length", None])
@pytest.mark.parametrize(
    "behind", ["<|end|>", "<|end|>\n", "<|end|>\n<|st", "<|end|>\n<|start|>model"]
)
def test_truncated_reasoning_end_may_be_the_turn_end(reason, behind):
    header = "<|start|>model"
    fmt = TAGS.replace(
        reasoning={"end": f"<|end|>\n{header}"}, turn={"headers": (header,), "ends": ("<|end|>\n",)}
    )
    parser = fed(fmt, f"<think>\n a {CALL}{behind}", reason)
    assert calls(parser) == ([F] if reason == "stop" and header not in behind else [])


@pytest.mark.parametrize("space", ["", "\n"])
def test_turn_end_may_be_a_prefix_of_a_reasoning_end(space):
    fmt = PAIRS.replace(reasoning={"end": f"{space}<|end|>so"})
    assert calls(fed(fmt, f"<think>\n a {CALL}<|end|>", "length")) == []
    assert calls(fed(fmt, f"<think>\n a {CALL}<|end|>")) == [F]


def test_turn_end_after_a_line_break_is_reported():
    fmt = TAGS.replace(turn={"ends": ("\n<|end|>",)})
    parser = fed(fmt, "<think>\na\n<|end|>b</think>")
    assert parser.message.reasoning_content == "a\n<|end|>b"
    (issue,) = parser.issues
    assert (issue.kind, issue.span) == ("text_after_end", (10, 17))
    assert "is reasoning" in issue.detail


def test_turn_end_inside_another_ends_reasoning():
    fmt = TAGS.replace(turn={"ends": ("~~",)})
    assert fed(fmt, "<think>\na~~~").message.reasoning_content == "a~"


@pytest.mark.parametrize("behind", ["\n", "\n</think>\n\n"])
def test_whitespace_after_an_interrupting_call(behind):
    parser = fed(TAGS, f"<think>\na{CALL}{behind}", policies=INTERRUPTS)
    assert (parser.message.reasoning_content, calls(parser)) == ("a", [F])
    assert "cut_marker" not in kinds(parser)


def test_reasoning_after_an_interrupting_call_is_not_kept():
    parser = StreamParser(TAGS, policies=INTERRUPTS, collect=False)
    parser.feed(f"<think>\na{CALL}")
    for _ in range(100):
        parser.feed("text " * 10)
        assert parser.held < 100


@pytest.mark.parametrize("prompt", ["", "<|start|>model\n<think>\n"])
def test_repeated_reasoning_start_is_reported(prompt):
    text = "<think>\n" * (1 if prompt else 2) + "hm\n</think>\n\nx"
    parser = fed(TAGS, text, prompt=prompt)
    assert (parser.message.reasoning_content, parser.message.content) == ("hm", "x")
    start = 0 if prompt else len("<think>\n")
    told = [(issue.kind, issue.span) for issue in parser.issues]
    assert told == [("repeated_marker", (start, start + len("<think>\n")))]


NEXT_ENDS = WRAPPED.replace(reasoning={"end": "<answer>"})
"""A format in which the start of the next section ends reasoning."""


def test_unclosed_delimited_reasoning_is_reported():
    parser = fed(NEXT_ENDS, "<plan>a<|end|>")
    assert (parser.message.reasoning_content, kinds(parser)) == ("a", ["unclosed_reasoning"])


def test_json_call_that_ends_reasoning_is_not_buffered():
    parser = StreamParser(NEXT_ENDS, calls="json", collect=False)
    parser.feed('<plan>{"name": "f", "arguments": {"a": "')
    assert not parser.in_reasoning
    for text in ["text " * 10] * 100 + ['"}}<answer>'] + ["text " * 10] * 100:
        parser.feed(text)
        assert parser.held < 100


@pytest.mark.parametrize(
    ("reasoning", "content"),
    [("separate", "b"), ("raw", "<plan>ab"), ("inline", "<think>a</think>b")],
)
def test_next_section_ends_reasoning_in_each_reasoning_mode(reasoning, content):
    parser = fed(NEXT_ENDS, "<plan>a<answer>b</answer>", reasoning=reasoning)
    assert (parser.message.content, parser.issues) == (content, [])


@pytest.mark.parametrize("behind", ["", CALL, "<|end|>"])
@pytest.mark.parametrize(
    ("reasoning", "content"), [("raw", "<think>\na"), ("inline", "<think>a</think>")]
)
def test_unclosed_reasoning_gets_no_raw_end_marker(behind, reasoning, content):
    parser = fed(TAGS, f"<think>\na{behind}", reasoning=reasoning)
    assert (parser.message.content, calls(parser)) == (content, [F] * (behind == CALL))
