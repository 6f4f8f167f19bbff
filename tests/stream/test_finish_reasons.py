"""Finish reasons of engines and their effect on the turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from deltaparse import (
    StreamParser,
    TokenParser,
    UsageError,
    Vocabulary,
    get_format,
    iter_deltas,
    parse,
)
from deltaparse.stream.finish_reasons import (
    CUT,
    FAILED,
    FILTERED,
    NATURAL,
    how_it_ended,
    reason_text,
    stop_text,
)

from ..strategies.wire_by_hand import CALL, TAGS


@pytest.mark.parametrize("reason", [*NATURAL, "STOP", "End_Turn", {"type": "stop", "matched": 2}])
def test_natural_reason_completes_the_turn(reason):
    parser = StreamParser(TAGS)
    parser.feed(CALL.removesuffix("</call>"))
    parser.finish(reason)
    assert (parser.finish_reason, parser.message.tool_calls[0].complete) == ("tool_calls", True)
    assert "unknown_finish" not in {issue.kind for issue in parser.issues}


@pytest.mark.parametrize(
    "reason", [*CUT, *FILTERED, *FAILED, "MAX_TOKENS", {"type": "length"}, "because", ""]
)
def test_other_reason_truncates_the_turn(reason):
    for text in ("hi", CALL, CALL[:-20]):
        parser = StreamParser(TAGS, record=True)
        parser.feed(text)
        parser.finish(reason)
        assert parser.finish_reason == "length"
        whole = [call.complete for call in parser.message.tool_calls]
        assert whole in ([], [text == CALL])
        known = reason not in ("because", "")
        assert ("unknown_finish" in {one.kind for one in parser.issues}) is not known
        assert StreamParser.restore(parser.snapshot()).issues == parser.issues


def test_each_reason_has_one_kind_and_a_row_in_the_docs():
    kinds = {
        "ended by itself": NATURAL,
        "was cut off": CUT,
        "was cut off by a filter": FILTERED,
        "was given up": FAILED,
    }
    reasons = [reason for known in kinds.values() for reason in known]
    assert all(reason == reason.strip().lower() for reason in reasons)
    assert "" not in reasons
    assert len(reasons) == len(set(reasons))
    page = (Path(__file__).parents[2] / "docs" / "finish-reasons.md").read_text("utf-8")
    assert page.endswith("".join(row for what, known in kinds.items() for row in rows(known, what)))


def rows(reasons, what):
    return [f"| `{reason}` | {what} | {engines} |\n" for reason, engines in reasons.items()]


# The finish reasons of engines, from their own documentation.
ENGINES = {
    "OpenAI": ("stop tool_calls function_call", "length", "content_filter"),
    "Anthropic": (
        "end_turn stop_sequence tool_use",
        "max_tokens pause_turn model_context_window_exceeded",
        "refusal",
    ),
    "Gemini": (
        "STOP",
        "MAX_TOKENS LANGUAGE OTHER MALFORMED_FUNCTION_CALL",
        "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII",
    ),
    "Cohere": ("COMPLETE STOP_SEQUENCE TOOL_CALL", "MAX_TOKENS", ""),
    "Text Generation Inference": ("eos_token stop_sequence", "length", ""),
    "Amazon Bedrock": (
        "end_turn stop_sequence tool_use",
        "max_tokens",
        "guardrail_intervened content_filtered",
    ),
    "llama.cpp": ("eos word stop", "limit none", ""),
}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_reason_of_an_engine_is_known(engine):
    ways = zip(("natural", "cut", "filtered"), ENGINES[engine], strict=True)
    for how, reasons in ways:
        assert {how_it_ended(reason) for reason in reasons.split()} <= {how}


@pytest.mark.parametrize("reason", FAILED)
def test_reasons_of_aborted_turns_are_failures(reason):
    assert how_it_ended(reason) == "failed"


@pytest.mark.parametrize("reason", [None, "", "because", "?", "stopped"])
def test_reason_in_no_table_is_unknown(reason):
    assert how_it_ended(reason) == "unknown"


@pytest.mark.parametrize("reason", ["stop", "STOP", " Stop\n"])
def test_case_and_whitespace_of_a_reason_are_ignored(reason):
    assert how_it_ended(reason) == "natural"


def test_the_text_of_a_reason():
    given = ["length", None, {"type": "stop", "matched": 2}, {"type": None}, {}]
    assert [reason_text(reason) for reason in given] == ["length", None, "stop", None, None]


@pytest.mark.parametrize("reason", [7, {"reason": "length"}, {"type": 7}, ["length"]])
def test_value_without_a_reason_is_rejected(reason):
    with pytest.raises(UsageError, match="finish reason"):
        reason_text(reason)


TAGGED = "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n"
OBJECT = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}'


def ended(fmt, text, reason="stop", **options):
    """Return the completeness of the only call, and the kinds of issues."""
    parser = StreamParser(fmt)
    parser.feed(text)
    parser.finish(reason, **options)
    [call] = parser.message.tool_calls
    return call.complete, [issue.kind for issue in parser.issues]


@pytest.mark.parametrize(
    ("fmt", "text", "kinds"),
    [
        ("glm45", TAGGED, ["missing_closer"]),
        ("glm45", "<tool_call>f\n", ["missing_closer"]),
        ("glm45", f"{TAGGED}<", ["missing_closer", "cut_marker"]),
        ("glm45", f"{TAGGED}</", ["cut_marker"]),
        ("glm45", f"{TAGGED}</tool_call>", []),
        ("minicpm5", '<function name="f"><param name="a">1</param>', ["missing_closer"]),
        ("hermes", OBJECT, ["cut_marker"]),
        ("hermes", OBJECT[:-1], ["cut_marker"]),
        ("hermes", f"{OBJECT}\n</tool", ["cut_marker"]),
        ("hermes", f"{OBJECT}\n</tool_call>", []),
        ("hermes", f"{OBJECT}<|im_end|>", ["cut_marker"]),
        ("lfm2", "<|tool_call_start|>[f(a=1)]", ["cut_marker"]),
        ("olmo3", "<function_calls>f(a=1)</function_calls>", []),
        ("mistral", '[TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}]', []),
        ("gpt_oss", '<|channel|>commentary to=functions.f<|message|>{"a": 1}', []),
    ],
)
def test_missing_closer_at_a_natural_end_is_reported(fmt, text, kinds):
    assert ended(fmt, text) == (True, kinds)
    closers = get_format(fmt).derived.closers
    if closers and not text.endswith("<"):
        named = [kind for kind in kinds if text[-1:] in "/l"]
        assert ended(fmt, text, stop_reason=closers[-1]) == (True, named)


@pytest.mark.parametrize("reason", ["length", None, "abort"])
def test_stop_string_does_not_complete_a_truncated_turn(reason):
    assert ended("glm45", TAGGED, reason, stop_reason="</tool_call>")[0] is False


def test_stop_string_equal_to_a_closer_closes_the_call():
    text = "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n"
    assert ended("qwen3_coder", text)[0] is False
    for stop in ("</function>", "</tool_call>", "</function>\n</tool_call>"):
        assert ended("qwen3_coder", text, stop_reason=stop) == (True, [])


def test_stop_string_may_be_in_the_object_of_the_engine():
    matched = {"type": "stop", "matched": "</tool_call>"}
    assert ended("glm45", TAGGED, matched) == (True, [])
    assert ended("glm45", TAGGED, {"type": "stop", "matched": 7}) == (True, ["missing_closer"])
    assert stop_text(None, {"type": "stop", "matched": [7]}) is None
    assert stop_text("x", matched) == "x"


@pytest.mark.parametrize("stop", [True, 1.5, ["</s>"], b"</s>"])
def test_stop_reason_of_another_type_is_rejected(stop):
    with pytest.raises(UsageError, match="stop_reason must be the stop string"):
        StreamParser("glm45").finish("stop", stop_reason=stop)


def test_snapshot_keeps_the_stop_reason():
    parser = StreamParser("glm45", record=True)
    parser.feed(TAGGED)
    parser.finish("stop", stop_reason="</tool_call>")
    for again in (parser.fork(), StreamParser.restore(parser.snapshot())):
        assert (again.message, again.issues) == (parser.message, [])


def test_stop_reason_function_is_called_after_the_response():
    for stop in ("</tool_call>", lambda: "</tool_call>"):
        deltas = iter_deltas([TAGGED], "glm45", finish_reason="stop", stop_reason=stop)
        assert list(deltas)
        assert deltas.parser.issues == []
    message = parse(TAGGED, "glm45", finish_reason="stop", stop_reason="</tool_call>")
    assert message.tool_calls[0].complete
    assert message.issues == ()


def test_token_parser_accepts_a_token_id_as_stop_reason():
    tokens = [*sorted({char.encode() for char in TAGGED}), b"<tool_call>", b"</tool_call>"]
    vocabulary = Vocabulary(dict(enumerate(tokens)), special=[len(tokens) - 2, len(tokens) - 1])
    ids = [len(tokens) - 2, *(tokens.index(char.encode()) for char in TAGGED[11:])]
    for stop, kinds in (
        (len(tokens) - 1, []),
        ("</tool_call>", []),
        (0, ["missing_closer"]),
        (999, ["missing_closer"]),
    ):
        parser = TokenParser("glm45", vocabulary)
        parser.feed(ids)
        parser.finish("stop", stop_reason=stop)
        assert parser.message.tool_calls[0].arguments == '{"a": 1}'
        assert [issue.kind for issue in parser.issues] == kinds


def test_a_call_with_the_id_of_another_is_reported():
    one = '{"name": "f", "arguments": {}, "id": "abcdefghi"}'
    other = one.replace("abc", "xyz")
    for collect in (True, False):
        parser = StreamParser("mistral", collect=collect)
        parser.feed(f"[TOOL_CALLS][{one}, {other}, {one}]")
        parser.finish("stop")
        assert [issue.kind for issue in parser.issues] == ["repeated_id"]
