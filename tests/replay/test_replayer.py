"""The replay function: fields of records, and errors as results."""

from __future__ import annotations

import json
import pickle
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deltaparse as dp
from deltaparse.replay import FIELDS, LAYOUTS, Replayer, verdict

from ..command.plain import PLAIN
from .records import FORMAT, REPLAYER, TEXT, call, record

RESULT = REPLAYER(record())


def test_result_equals_the_parser():
    parsed = dp.parse(TEXT, FORMAT, tools=record()["tools"], finish_reason="stop")
    assert RESULT["id"] == "a"
    assert RESULT["message"] == parsed.to_openai()
    assert RESULT["finish_reason"] == "tool_calls"
    assert [one["status"] for one in RESULT["attempts"]] == ["complete", "complete"]
    assert RESULT["issues"] == []
    assert "class" not in RESULT
    json.dumps(RESULT)


@given(st.lists(st.integers(0, len(TEXT)), max_size=6))
def test_chunks_are_the_text(cuts):
    places = sorted({0, *cuts, len(TEXT)})
    chunks = [TEXT[a:b] for a, b in pairwise(places)]
    assert REPLAYER(record(text=None, chunks=chunks)) == RESULT
    openai = [{"choices": [{"delta": {"content": one}}]} for one in chunks]
    assert REPLAYER(record(text=None, chunks=[*openai, {"choices": []}])) == RESULT
    old = [{"choices": [{"text": one}]} for one in chunks]
    assert REPLAYER(record(text=None, chunks=old)) == RESULT
    assert REPLAYER(record(text=None, chunks=[{"text": one} for one in chunks])) == RESULT


def test_ids_are_read_with_a_vocabulary():
    words = ["<tool_call>", "</tool_call>", "<|im_end|>", *map(chr, range(10, 127))]
    vocabulary = dp.Vocabulary({id: word.encode() for id, word in enumerate(words)}, special=[0, 1])
    spelled = []
    for stretch in vocabulary.spelled(TEXT).stretches:
        texts = [stretch.text] if stretch.id is not None else stretch.text
        spelled += [words.index(text) for text in texts]
    given = record(text=None, token_ids=spelled)
    message = Replayer(FORMAT, vocabulary=vocabulary)(given)["message"]
    assert message == RESULT["message"]
    assert "vocabulary" in REPLAYER(given)["error"]
    assert REPLAYER(given | {"text": TEXT}) == RESULT
    assert "ids" in REPLAYER(record(prompt=[1, 2]))["error"]


def test_each_record_may_have_its_own_format():
    alone = Replayer()
    assert alone(record(format="qwen3")) == RESULT | {"format": "qwen3"}
    assert alone(record(format=json.loads(FORMAT.to_json()))) == RESULT
    assert alone(record(format=FORMAT.to_json())) == RESULT
    written = '<use>{"tool": "add", "with": {}}</use></assistant>'
    own = alone({"text": written, "template": PLAIN, "finish_reason": "stop"})
    assert own["message"]["tool_calls"][0]["function"]["name"] == "add"
    assert "no format" in alone(record())["error"]
    assert "error" in alone(record(format="nothing"))
    assert "error" in alone(record(format=5))
    assert "error" in alone(record(template="{% if"))


def test_messages_are_rendered_for_the_state_of_the_turn():
    template = dp.ChatTemplate(
        PLAIN.replace("<assistant>\n{% endif %}", "<assistant>\n<note>{% endif %}")
    )
    asked = [{"role": "user", "content": "<note>?"}]
    replayer = Replayer(template=template)
    given = {"text": "So.</note>\nHi", "messages": asked, "finish_reason": "stop"}
    assert replayer(given)["message"]["reasoning_content"] == "So."
    prompt = template.render(asked, add_generation_prompt=True)
    assert replayer(given | {"messages": None, "prompt": prompt}) == replayer(given)
    assert replayer(given | {"messages": json.dumps(asked)}) == replayer(given)
    assert "unrendered" not in replayer(given)
    assert Replayer(dp.analyze(template))(given)["unrendered"] is True


@pytest.mark.parametrize(
    ("reason", "found"),
    [
        ("stop", "tool_calls"),
        ("eos_token", "tool_calls"),
        ("tool_calls", "tool_calls"),
        ({"type": "stop", "matched": 5}, "tool_calls"),
        ("length", "length"),
        ("max_tokens", "length"),
        ({"type": "length"}, "length"),
        (None, "tool_calls"),
        ("abort", "length"),
        ("no such reason", "length"),
    ],
)
def test_finish_reasons_of_engines(reason, found):
    assert REPLAYER(record(finish_reason=reason))["finish_reason"] == found


def test_the_request_of_a_record():
    assert "tool_calls" not in REPLAYER(record(tool_choice="none"))["message"]
    choice = json.dumps({"type": "function", "function": {"name": "clock"}})
    kinds = [one["kind"] for one in REPLAYER(record(tool_choice=choice))["issues"]]
    assert kinds == ["wrong_tool"]
    assert "<tool_call>" in REPLAYER(record(tools=[]))["message"]["content"]
    assert "error" in REPLAYER(record(tool_choice=5))
    assert REPLAYER(record(tools=json.dumps(record()["tools"]))) == RESULT


def test_a_record_names_the_policy_of_its_server_for_extra_calls():
    """Another that is asked for wins."""
    call = '<tool_call>\n{"name": "clock", "arguments": {"zone": "UTC"}}\n</tool_call>'
    asked = record(text=f"{call}\n{call}", parallel_tool_calls=False)

    def calls(replayer, **more):
        return len(replayer(asked | more)["message"].get("tool_calls", ()))

    assert calls(REPLAYER) == 2
    assert calls(REPLAYER, extra_calls="drop") == 1
    assert calls(REPLAYER, extra_calls="flag") == 2
    texts = Replayer(REPLAYER.format, policies=dp.Policies(extra_calls="text"))
    assert "clock" in texts(asked | {"extra_calls": "drop"})["message"]["content"]
    for wrong in (5, "lose"):
        assert "extra_calls" in REPLAYER(asked | {"extra_calls": wrong})["error"]


def test_template_gets_the_recorded_variables():
    opened = "<assistant>\n{% if thinks %}<note>{% endif %}{% endif %}"
    template = dp.ChatTemplate(PLAIN.replace("<assistant>\n{% endif %}", opened))
    asked = {"messages": [{"role": "user", "content": "?"}], "finish_reason": "stop"}
    replayer = Replayer(template=template)
    for thinks in (True, False):
        told = {"thinks": thinks, "add_generation_prompt": False, "messages": []}
        result = replayer({"text": "So.</note>\nHi", "chat_template_kwargs": told} | asked)
        assert ("reasoning_content" in result["message"]) == thinks
    assert "error" in replayer({"text": "a", "chat_template_kwargs": 5} | asked)


def test_other_shapes_of_log_fields():
    odd = record(reasoning="She asks", calls=[{"name": "f"}], template=5, format={"a": 1})
    assert REPLAYER(odd) == RESULT
    assert "error" in REPLAYER(record(calls="jsn"))
    assert "error" in Replayer()(record(template=5))
    template = dp.ChatTemplate(PLAIN)
    asked = [{"role": "user", "content": "Hi"}]
    results = [
        Replayer(template=template)({"id": 1, "text": "Hi", "finish_reason": "stop"} | given)
        for given in ({"messages": asked}, {"messages": "Hi"}, {"prompt": asked})
    ]
    assert results[0] == results[1] == results[2]
    assert "error" not in results[0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner),
    max_leaves=8,
)


@given(JSON | st.dictionaries(st.sampled_from(FIELDS), JSON))
def test_no_record_raises(given):
    result = Replayer(FORMAT)(given, 7)
    assert isinstance(result.get("error", result.get("message")), (str, dict))
    assert "internal" not in result.get("error", "")


@given(JSON, st.sampled_from(sorted(LAYOUTS)))
def test_no_record_raises_in_any_layout(given, name):
    result = Replayer(FORMAT, fields=LAYOUTS[name])({"text": given, "chunks": given, "id": given})
    assert "internal" not in result.get("error", "")


def test_a_record_without_an_id_has_its_number():
    assert REPLAYER(record(id=None), 12)["id"] == 12
    assert REPLAYER({"id": 0}, 12)["id"] == 0


def test_it_pickles_and_means_the_same():
    against = Replayer(FORMAT, policies=dp.Policies(unknown_tool="text"))
    for one in (
        REPLAYER,
        Replayer(FORMAT, fields={"text": "a.b"}),
        Replayer(FORMAT, against=against),
    ):
        again = pickle.loads(pickle.dumps(one))
        for one_record in (record(), {"a": {"b": TEXT}}, 5):
            assert again(one_record) == one(one_record)


def test_a_policy_that_raises_is_an_error_of_its_record():
    strict = Replayer(FORMAT, policies=dp.Policies(unknown_tool="error"))
    assert "error" in strict(record(tools=[{"name": "other"}]))


def test_before_and_after():
    policies = dp.Policies(unknown_tool="text")
    both = Replayer(FORMAT, against=Replayer(FORMAT, policies=policies))
    assert both(record())["class"] == "same"
    other = both(record(tools=record()["tools"][:1]))
    assert other["class"] == "call_lost"
    assert len(other["against"]["message"]["tool_calls"]) == 1
    refused = Replayer(FORMAT, policies=dp.Policies(unknown_tool="error"))
    same = Replayer(FORMAT, policies=dp.Policies(unknown_tool="error"), against=refused)
    odd = record(tools=[{"name": "other"}])
    assert same(odd)["class"] == "same"
    assert Replayer(FORMAT, against=refused)(odd)["error"].startswith("before: no error; after:")


def test_who_is_to_blame():
    right = RESULT["message"]
    assert verdict(REPLAYER(record(expected=right))) == "nobody"
    assert verdict(REPLAYER(record(expected=right | {"tool_calls": None}))) == "parser"
    assert verdict(REPLAYER(record(text=call("weather", '{"city": tr}')))) == "model"
    assert verdict(REPLAYER(record(text=TEXT[:-40], finish_reason="length"))) == "limit"


SAMPLES = {
    "openai-chunks": {
        "chunks": [
            {"id": "a", "model": "m", "choices": [{"delta": {"content": TEXT[:50]}}]},
            {"choices": [{"delta": {"content": TEXT[50:]}, "finish_reason": "stop"}]},
        ],
    },
    "openai-parsed": {
        "id": "a",
        "request": {"model": "m"},
        "raw": TEXT,
        "response": {"choices": [{"message": RESULT["message"], "finish_reason": "stop"}]},
    },
    "vllm": {
        "request_id": "a",
        "model": "m",
        "prompt": "<|im_start|>assistant\n",
        "outputs": [{"text": TEXT, "finish_reason": "stop"}],
    },
    "sglang": {
        "text": TEXT,
        "model": "m",
        "meta_info": {"id": "a", "finish_reason": {"type": "stop", "matched": 7}},
    },
    "inspect-ai": {
        "id": "a",
        "epoch": 1,
        "input": [{"role": "user", "content": "?"}],
        "output": {
            "model": "m",
            "choices": [
                {
                    "message": {"role": "assistant", "source": "generate", "content": TEXT},
                    "stop_reason": "stop",
                }
            ],
            "completion": TEXT,
        },
    },
    "lm-eval": {
        "doc_id": "a",
        "model": "m",
        "finish_reason": "stop",
        "arguments": {"gen_args_0": {"arg_0": "<|im_start|>assistant\n", "arg_1": {}}},
        "resps": [[TEXT]],
        "filter": "none",
    },
}


def without_ids(message):
    calls = [call["function"] for call in message["tool_calls"]]
    return message | {"tool_calls": calls}


@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_layouts_of_logs(name):
    result = Replayer(FORMAT, fields=LAYOUTS[name])(SAMPLES[name])
    # Ids depend on the prompt.
    assert without_ids(result["message"]) == without_ids(RESULT["message"])
    assert (result["id"], result["model"]) == ("a", "m")
    assert result["finish_reason"] == "tool_calls"


def test_call_returned_as_content_is_a_difference():
    sample = SAMPLES["inspect-ai"]
    assert Replayer(FORMAT, fields=LAYOUTS["inspect-ai"])(sample)["class"] == "call_lost"
    parsed = {
        "content": [{"type": "reasoning", "reasoning": "She asks twice."}, {"text": "Let me see."}],
        "tool_calls": [
            {"id": "1", "function": "weather", "arguments": {"city": "Paris"}},
            {"id": "2", "function": "clock", "arguments": {"city": "Oslo"}},
        ],
        "metadata": {"raw": TEXT},
    }
    choice = {"message": parsed, "stop_reason": "tool_calls"}
    right = sample | {"output": {"model": "m", "choices": [choice]}}
    assert Replayer(FORMAT, fields=LAYOUTS["inspect-ai"])(right)["class"] == "same"


def test_prompts_of_a_harness_are_texts_or_messages_in_json():
    template = dp.ChatTemplate(PLAIN)
    replayer = Replayer(template=template, fields=LAYOUTS["lm-eval"])
    asked = [{"role": "user", "content": "?"}]
    plain = {"doc_id": 1, "resps": [["Hi."]], "messages": asked}
    for prompt in (json.dumps(asked), template.render(asked, add_generation_prompt=True)):
        given = {"doc_id": 1, "resps": [["Hi."]], "arguments": {"gen_args_0": {"arg_0": [prompt]}}}
        assert replayer(given) == replayer(plain)
    odd = {"resps": [["Hi."]], "arguments": [[["[{no"]]]}
    assert replayer(odd)["message"]["content"] == "Hi."


def test_paths_with_lists_and_alternatives():
    replayer = Replayer(FORMAT, fields={"text": "none.at.all|choices.-1.raw", "id": "meta.id"})
    given = {"choices": [{}, {"raw": TEXT}], "meta": {"id": 3}, "text": "not this", "id": 4}
    result = replayer(given | {"finish_reason": "stop", "tools": record()["tools"]})
    assert result == RESULT | {"id": 3}
    for bad in ({"what": "a"}, {"text": ""}, {"text": "a||b"}):
        with pytest.raises(dp.UsageError):
            Replayer(FORMAT, fields=bad)
