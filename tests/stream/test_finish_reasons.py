"""Why an engine stopped, and what that means for the turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from deltaparse import StreamParser, UsageError
from deltaparse.stream.finish_reasons import (
    CUT,
    FAILED,
    FILTERED,
    NATURAL,
    how_it_ended,
    reason_text,
)

from ..strategies.wire_by_hand import CALL, TAGS


@pytest.mark.parametrize("reason", [*NATURAL, "STOP", "End_Turn", {"type": "stop", "matched": 2}])
def test_an_engines_reason_for_a_turn_that_ended(reason):
    parser = StreamParser(TAGS)
    parser.feed(CALL.removesuffix("</call>"))
    parser.finish(reason)
    assert (parser.finish_reason, parser.message.tool_calls[0].complete) == ("tool_calls", True)
    assert "unknown_finish" not in {issue.kind for issue in parser.issues}


@pytest.mark.parametrize(
    "reason", [*CUT, *FILTERED, *FAILED, "MAX_TOKENS", {"type": "length"}, "because", ""]
)
def test_an_engines_reason_for_a_turn_that_was_cut(reason):
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


def test_every_reason_is_of_one_kind_and_in_the_table_of_the_docs():
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


# What engines report, as their own documents list it.
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
def test_what_an_engine_gave_up_failed(reason):
    assert how_it_ended(reason) == "failed"


@pytest.mark.parametrize("reason", [None, "", "because", "?", "stopped"])
def test_what_is_in_no_table_is_unknown(reason):
    assert how_it_ended(reason) == "unknown"


@pytest.mark.parametrize("reason", ["stop", "STOP", " Stop\n"])
def test_letters_and_white_space_make_no_other_reason(reason):
    assert how_it_ended(reason) == "natural"


def test_the_text_of_a_reason():
    given = ["length", None, {"type": "stop", "matched": 2}, {"type": None}, {}]
    assert [reason_text(reason) for reason in given] == ["length", None, "stop", None, None]


@pytest.mark.parametrize("reason", [7, {"reason": "length"}, {"type": 7}, ["length"]])
def test_what_has_no_reason_in_it_is_refused(reason):
    with pytest.raises(UsageError, match="finish reason"):
        reason_text(reason)
