"""vLLM's `ReasoningParser` for text and tokens."""

from __future__ import annotations

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import ReasoningFormat, UsageError
from deltaparse.servers import VllmReasoningParser, vllm_reasoning_parser

from ..strategies.wire_by_hand import CALL, DELIMITED, LIST, TAGS, chunkings
from ..strategies.wire_json_and_tags import any_text
from ..support import cuts
from .fake_servers import Tokens, fold, ids, request

GIVEN = "previous_text current_text delta_text previous_token_ids current_token_ids delta_token_ids"
PARAMETERS = {
    "adjust_initial_state_from_prompt": ["self", "prompt_token_ids"],
    "adjust_request": ["self", "request"],
    "count_reasoning_tokens": ["self", "token_ids"],
    "extract_content_ids": ["self", "input_ids"],
    "extract_reasoning": ["self", "model_output", "request"],
    "extract_reasoning_content": ["self", "model_output", "request"],
    "extract_reasoning_content_streaming": ["self", *GIVEN.split()],
    "extract_reasoning_streaming": ["self", *GIVEN.split()],
    "finish_streaming": ["self"],
    "has_engine_confirmed_reasoning_end": ["self"],
    "is_reasoning_end": ["self", "input_ids"],
    "is_reasoning_end_streaming": ["self", "input_ids", "delta_ids"],
    "reasoning_ended_in_prompt": ["self", "prompt_token_ids"],
}
"""vLLM 0.33: vllm/reasoning/abs_reasoning_parsers.py; `..._content` before 0.12."""

OPENED = TAGS.replace(turn={"generation_prompt": "<|start|>model\n<think>\n"})
NONE = TAGS.replace(reasoning=ReasoningFormat())
PROMPT = "<|start|>user\nhi<|end|><|start|>model\n"
OLD = "<|start|>model\n<think>\nold\n</think>\n\nyes<|end|>" + PROMPT


def made(fmt, **options):
    return vllm_reasoning_parser(fmt, **options)(Tokens(), model_config=None)


def streamed(parser, texts):
    """Return the reasoning and the rest of a streamed response."""
    got = [parser.extract_reasoning_streaming("", text, text, [], [], ids(text)) for text in texts]
    content, reasoning, calls = fold([*got, parser.finish_streaming()])
    assert not calls
    return reasoning or None, content or None


@pytest.mark.parametrize("method", PARAMETERS)
def test_signatures_equal_those_of_vllm(method):
    found = inspect.signature(getattr(VllmReasoningParser, method)).parameters
    assert list(found) == PARAMETERS[method]


@given(case=any_text, data=st.data(), ends=st.booleans())
def test_result_is_independent_of_chunks_and_rest_is_unchanged(case, data, ends):
    fmt, text = case
    whole = made(fmt, call_ends_reasoning=ends).extract_reasoning(text, request())
    reasoning, rest = (part or "" for part in whole)
    assert text.endswith(rest)
    assert reasoning in text[: len(text) - len(rest)]
    for texts in (list(text), data.draw(cuts(text))):
        assert streamed(made(fmt, call_ends_reasoning=ends), texts) == whole


OUTPUTS = [
    ("in tags", TAGS, "<think>\nhm\n</think>\n\nHi", ("hm", "Hi")),
    ("in tight tags", TAGS, "<think>hm</think>Hi", ("hm", "Hi")),
    ("more lines than the template's", TAGS, "<think>hm</think>\n\n\n\nHi", ("hm", "\n\nHi")),
    ("none", TAGS, "\n Hi", (None, "\n Hi")),
    ("none, and a marker in prose", TAGS, "Hi <think>hm</think>", (None, "Hi <think>hm</think>")),
    ("that does not end", TAGS, "<think>\nhm", ("hm", None)),
    ("that may still begin", TAGS, "<thi", (None, "<thi")),
    ("that ends with the turn", TAGS, "<think>hm<|end|>", ("hm", None)),
    ("empty", TAGS, "<think>\n\n</think>\n\nHi", (None, "Hi")),
    ("opened twice", OPENED, "<think>\nhm\n</think>\n\nHi", ("hm", "Hi")),
    ("opened by the prompt", OPENED, "hm\n</think>\n\nHi", ("hm", "Hi")),
    ("the rest as it stands", TAGS, f"<think>a</think>b<|end|>{CALL}", ("a", f"b<|end|>{CALL}")),
    ("a call in it", TAGS, f"<think>a{CALL}b</think>c", (f"a{CALL}b", "c")),
    ("with a header", TAGS, "<|start|>model\n<think>hm</think>Hi", ("hm", "Hi")),
    ("up to a delimiter", DELIMITED, "hm\n[FINAL]\nHi", ("hm", "Hi")),
    ("a format without", NONE, "<think>hm</think>", (None, "<think>hm</think>")),
]


@pytest.mark.parametrize(("fmt", "text", "parts"), [row[1:] for row in OUTPUTS], ids=lambda v: "")
def test_response_is_split_into_reasoning_and_rest(fmt, text, parts):
    assert made(fmt).extract_reasoning(text) == parts
    assert made(fmt).extract_reasoning_content(text) == parts
    for texts in chunkings(text):
        assert streamed(made(fmt), texts) == parts


def test_call_may_end_reasoning():
    text = f"<think>\na{CALL}"
    for texts in chunkings(text):
        parser = made(TAGS, call_ends_reasoning=True)
        assert streamed(parser, texts) == ("a", CALL)
        assert parser.has_engine_confirmed_reasoning_end()


def test_reasoning_end_is_confirmed_once_certain():
    parser = made(TAGS)
    steps = []
    assert not parser.has_engine_confirmed_reasoning_end()
    for chunk in ("<th", "ink>\nh", "m</think", ">\n", "\n", "Hi"):
        parser.extract_reasoning_streaming("", chunk, chunk, [], [], [])
        steps.append(parser.has_engine_confirmed_reasoning_end())
    assert steps == [False, False, False, False, True, True]
    assert parser.finish_streaming() is None


def test_reasoning_end_is_confirmed_without_reasoning():
    parser = made(TAGS)
    message = parser.extract_reasoning_streaming("", "Hi", "Hi", [], [], [])
    assert message.content == "Hi"
    assert parser.has_engine_confirmed_reasoning_end()


PROMPTS = [
    (TAGS, PROMPT, False),
    (TAGS, PROMPT + "<think>\n", False),
    (TAGS, PROMPT + "<think>\n\n</think>\n\n", True),
    (TAGS, PROMPT + "<think></think>", True),
    (TAGS, OLD, False),
    (TAGS, OLD + "<think>\n\n</think>\n\n", True),
    (TAGS, OLD + "<think>\nI know ", False),
    (TAGS, PROMPT + "Yes, ", True),
    (TAGS, "<think>\nhm", False),
    (TAGS, "<think>\nhm</think>", True),
    (TAGS.replace(turn={"headers": ()}), "<think>a</think>b user <think>\n", False),
    (TAGS.replace(turn={"headers": ()}), "user <think>\n\n</think>\n\n", True),
    (TAGS.replace(turn={"headers": ()}), "user", False),
    (TAGS, "Hi", False),
    (OPENED, "no header here", False),
    (TAGS, f"{PROMPT}<think>\na\n</think>\n\n{CALL}<result>1</result>", False),
    (TAGS, f"{PROMPT}<think>\na\n</think>\n\n{CALL}<result>1</result><think>", False),
    (OPENED, "hm", False),
    (OPENED, "hm\n</think>\n\n", True),
    (DELIMITED, PROMPT, False),
    (DELIMITED, "hm\n[FINAL]\n", True),
    (NONE, PROMPT, True),
]


@pytest.mark.parametrize(("fmt", "text", "over"), PROMPTS)
def test_reasoning_end_is_detected_in_tokens(fmt, text, over):
    assert made(fmt).is_reasoning_end(ids(text)) is over
    assert made(fmt).reasoning_ended_in_prompt(ids(text)) is over


def test_last_step_may_end_reasoning():
    text = "<think>\nhm\n</think>\n\nHi"
    end = text.index("</think>") + len("</think>")
    for count in (1, 3):
        steps = [
            made(TAGS).is_reasoning_end_streaming(ids(text[:at]), iter(ids(text[at - count : at])))
            for at in range(count, len(text))
        ]
        assert [at for at, ends in enumerate(steps, count) if ends][:1] == [end]
        assert all(steps[steps.index(True) :])
    assert made(NONE).is_reasoning_end_streaming([], [])
    parser = made(TAGS, call_ends_reasoning=True)
    assert parser.is_reasoning_end_streaming(ids("<think>a<call>"), ids(">"))
    assert not made(TAGS).is_reasoning_end_streaming(ids("<think>a<call>"), ids(">"))


def test_prompt_determines_the_initial_state():
    parser = made(TAGS)
    parser.adjust_initial_state_from_prompt(ids(OLD + "<think>\n"))
    assert streamed(parser, list("hm\n</think>\n\nHi")) == ("hm", "Hi")
    parser = made(OPENED)
    parser.adjust_initial_state_from_prompt(ids(OLD))
    assert streamed(parser, list("Hi")) == (None, "Hi")
    parser = made(TAGS)
    parser.adjust_initial_state_from_prompt(ids(PROMPT + "<think>\nI kn"))
    assert streamed(parser, list("ow</think>Hi")) == ("ow", "Hi")


@pytest.mark.parametrize(
    ("fmt", "text", "content", "count"),
    [
        (TAGS, "<think>\nhm\n</think>\n\nHi", "Hi", 2),
        (TAGS, "<think>\nhm", "", 2),
        (TAGS, "Hi", "Hi", 0),
        (OPENED, "hm\n</think>\n\nHi", "\n\nHi", 2),
        (OPENED, "hm", "", 2),
        (NONE, "Hi", "Hi", 0),
    ],
)
def test_reasoning_tokens_are_counted_and_content_extracted(fmt, text, content, count):
    parser = made(fmt)
    assert parser.extract_content_ids(ids(text)) == ids(content)
    assert parser.count_reasoning_tokens(ids(text)) == count


def test_unknown_prompt_may_open_or_close_reasoning():
    closed = {
        "headers": ("<|start|>model\n",),
        "generation_prompt": "<|start|>model\n<think></think>",
    }
    for turn in (closed, closed | {"headers": ()}):
        fmt = TAGS.replace(reasoning={"mode": "FORCED_CLOSED"}, turn=turn)
        for text in ("<think>hm</think>Hi", "hm</think>Hi"):
            assert made(fmt).extract_reasoning(text) == ("hm", "Hi")
        assert made(fmt).extract_reasoning("Hi") == (None, "Hi")
        assert streamed(made(fmt), list("<think>hm</think>Hi")) == ("hm", "Hi")
        parser = made(fmt)
        parser.adjust_initial_state_from_prompt(ids("<|start|>model\n<think>\n"))
        assert streamed(parser, list("hm</think>Hi")) == ("hm", "Hi")


def test_reasoning_markers_are_attributes():
    assert made(TAGS).reasoning_start_str == "<think>"
    assert made(TAGS).reasoning_end_str == "</think>"
    assert (made(NONE).reasoning_start_str, made(NONE).reasoning_end_str) == (None, None)


def test_special_tokens_are_requested():
    asked = request(skip_special_tokens=True)
    assert made(LIST).adjust_request(asked).skip_special_tokens is False


def test_unsupported_use_is_rejected():
    with pytest.raises(UsageError, match="StreamParser"):
        made("gpt_oss")
    with pytest.raises(UsageError, match="tokenizer"):
        vllm_reasoning_parser(TAGS)().is_reasoning_end([1])


def test_objects_share_no_state():
    kind = vllm_reasoning_parser(TAGS)
    one, two = kind(Tokens()), kind(Tokens())
    one.extract_reasoning_streaming("", "", "<think>a", [], [], [])
    assert two.extract_reasoning_streaming("", "", "b", [], [], []).content == "b"
    assert one.extract_reasoning_streaming("", "", "c", [], [], []).reasoning == "c"
