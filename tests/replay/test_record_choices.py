"""Several choices of a record: each has its own result, whichever shape the log has."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse.replay import LAYOUTS, Replayer, replay_stream
from deltaparse.replay.record_choices import by_choice

from .records import FORMAT, REPLAYER, TEXT, call, lines, record

TEXTS = [TEXT, "Hello.<|im_end|>", call("weather", "{}")]
ALONE = [REPLAYER(record(text=text)) for text in TEXTS]


def told(results):
    """Return results without their ids and comparisons."""
    others = ("id", "choice", "class", "difference")
    return [{name: one[name] for name in one if name not in others} for one in results]


def chunked(texts, size, reasons=("stop", "stop", "stop")):
    """OpenAI chunks of several choices, as they come: in turn, each with its index."""
    chunks = []
    for at in range(0, max(map(len, texts)), size):
        for index, text in enumerate(texts):
            if text[at : at + size]:
                delta = {"content": text[at : at + size]}
                chunks.append({"choices": [{"index": index, "delta": delta}]})
    for index, reason in enumerate(reasons[: len(texts)]):
        chunks.append({"choices": [{"index": index, "delta": {}, "finish_reason": reason}]})
    return [*chunks, {"choices": [], "usage": {}}]


SHAPES = {
    "vllm": lambda: {
        "request_id": "a",
        "outputs": [{"text": text, "finish_reason": "stop"} for text in TEXTS],
    },
    "sglang": lambda: [
        {"text": text, "meta_info": {"id": "a", "finish_reason": {"type": "stop"}}}
        for text in TEXTS
    ],
    "lm-eval": lambda: {"doc_id": "a", "resps": [TEXTS], "finish_reason": "stop"},
    "inspect-ai": lambda: {
        "id": "a",
        "output": {
            "choices": [{"message": {"content": one}, "stop_reason": "stop"} for one in TEXTS]
        },
    },
    "openai-chunks": lambda: {"id": "a", "chunks": chunked(TEXTS, 7)},
}


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_each_choice_has_a_result(name):
    shape = SHAPES[name]()
    shape = [one | {"tools": record()["tools"]} for one in shape] if name == "sglang" else shape
    if name != "sglang":
        shape["tools"] = record()["tools"]
    results = Replayer(FORMAT, fields=LAYOUTS[name]).each(shape, 5)
    assert [(one["id"], one["choice"]) for one in results] == [("a", 0), ("a", 1), ("a", 2)]
    assert told(results) == told(ALONE)


@given(st.integers(1, 9), st.permutations(range(3)))
def test_each_choice_is_compared_with_its_own(size, order):
    """Choices of a response, or of chunks, are found by their index, in any order."""
    served = [one["message"] for one in ALONE]
    choices = [{"index": at, "message": served[at], "finish_reason": "stop"} for at in order]
    given = record(text=None, finish_reason=None, chunks=chunked(TEXTS, size))
    results = REPLAYER.each(given | {"expected": {"choices": choices}})
    assert [one["class"] for one in results] == ["same"] * 3
    lost = {"index": 1, "message": {"content": ""}}
    changed = [lost if one["index"] == 1 else one for one in choices]
    results = REPLAYER.each(given | {"expected": {"choices": changed}})
    assert [one["class"] for one in results] == ["same", "loss", "same"]
    assert results[1]["difference"]["path"] == "content"


def test_each_choice_has_its_own_reason():
    chunks = chunked(TEXTS, 5, ("stop", "length", "tool_calls"))
    results = REPLAYER.each(record(text=None, finish_reason=None, chunks=chunks))
    assert [one["finish_reason"] for one in results] == ["tool_calls", "length", "tool_calls"]


def test_chunks_that_a_server_made_of_several_choices():
    served = [
        {"choices": [{"index": 1, "delta": {"content": "Hello."}}]},
        {"choices": [{"index": 0, "delta": {"content": "Hel"}}]},
        {"choices": [{"index": 0, "delta": {"content": "lo."}}, {"index": 1, "delta": {}}]},
    ]
    given = record(text=None, raw=["Hello.", "Hello?"], expected=served)
    results = Replayer(FORMAT, fields={"text": "raw.*"}).each(given)
    assert [one["class"] for one in results] == ["same", "loss"]


def test_choice_without_text_or_expected_message():
    choices = [{"message": {"content": "a"}}, {"message": {"content": "b"}}]
    one, two = REPLAYER.each(record(text="a", expected={"choices": choices}))
    assert one["class"] == "same"
    # The text is not assigned to a choice, so all choices share it.
    assert two["class"] != "same"
    fields = {"text": "raw.*", "expected": "made.*"}
    results = Replayer(FORMAT, fields=fields).each(
        {"raw": ["a"], "made": [choices[0]["message"]] * 2}
    )
    assert [one.get("class") for one in results] == ["same", None]
    assert "the record lacks text" in results[1]["error"]


def test_one_choice_is_no_choice():
    for shape in ({"outputs": [{"text": TEXT}]}, [{"outputs": [{"text": TEXT}]}]):
        (one,) = Replayer(FORMAT, fields=LAYOUTS["vllm"]).each(shape, 3)
        assert (one["id"], one.get("choice", 0)) == (3, 0)
    assert (
        Replayer(FORMAT, fields=LAYOUTS["vllm"])({"outputs": [{"text": TEXT}] * 2})["choice"] == 0
    )


def test_lines_of_several_choices_are_all_counted():
    out = io.BytesIO()
    given = [record(id=at, text=None, chunks=chunked(TEXTS, 9)) for at in range(4)]
    tally = replay_stream(REPLAYER, io.BytesIO(lines(given).encode()), out, jobs=1)
    found = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(one["id"], one["choice"]) for one in found] == [
        (at, choice) for at in range(4) for choice in range(3)
    ]
    assert tally.records == 12


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["index", "choices", "delta", "text", "chunks"]), inner)
    ),
    max_leaves=12,
)


@given(JSON, JSON)
def test_any_values_of_choices_have_results(chunks, expected):
    results = REPLAYER.each({"text": "a", "chunks": chunks, "expected": expected}, 1)
    assert results
    assert not any("internal" in one.get("error", "") for one in results)
    once = by_choice({"chunks": chunks, "expected": expected})
    assert all(len(by_choice(one)) == 1 for one in once)


def test_chunks_as_the_client_of_openai_dumps_them():
    """With all that is null in them, and the last one, which has no choice."""
    types = pytest.importorskip("openai.types.chat")
    chunks = [
        types.ChatCompletionChunk.model_validate(
            {"id": "c", "created": 1, "model": "m", "object": "chat.completion.chunk", **one}
        ).model_dump()
        for one in chunked(TEXTS[:2], 11, ("stop", "length"))[:-1]
    ]
    last = chunks[-1] | {"choices": [], "usage": {"total_tokens": 3}}
    replayer = Replayer(FORMAT, fields=LAYOUTS["openai-chunks"])
    one, two = replayer.each({"chunks": [*chunks, last], "tools": record()["tools"]})
    assert (one["id"], one["model"], one["finish_reason"]) == ("c", "m", "tool_calls")
    assert one["message"]["tool_calls"] == ALONE[0]["message"]["tool_calls"]
    assert (two["message"]["content"], two["finish_reason"]) == ("Hello.", "length")
    served = {"chunks": [*chunks, last], "raw": TEXTS[:2]}
    results = Replayer(FORMAT, fields=LAYOUTS["openai-parsed"]).each(served)
    assert [each["class"] for each in results] == ["call_lost", "leak"]
