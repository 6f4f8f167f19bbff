"""Real chat templates and recorded responses of the corpus."""

from __future__ import annotations

import json

import pytest

from deltaparse import ChatTemplate, StreamParser, WireFormat, analyze
from deltaparse.analyzer.phases.find_tool_calls import NOT_READ, not_rendered

from . import corpus
from .strategies.wire_by_hand import chunkings
from .support import as_joined, joined

pytestmark = corpus.needs_corpus

REFERENCE = {row["template"]: row for row in corpus.rows("analysis.jsonl")}
NATIVE = [name for name, row in REFERENCE.items() if row["tools"]["format"] == "JSON_NATIVE"]
# Expected issues of templates that omit information.
UNPROVED = {
    "ibm-granite-granite-3.3-2B-Instruct.jinja": [
        "thinking requests reasoning between <think> and </think>, but it is never rendered",
        not_rendered(NOT_READ),
    ]
}
# Intended differences from the expectation, with reasons.
DEPARTURES = {
    # Text of the prompt is never emitted, not even the start marker of reasoning.
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16:2704",
    # The template has no reasoning, although a prompt ends in `<think>I'm`.
    "moonshotai-Kimi-K2:5216",
}
# The newer ones differ in prompt text at the start of raw text, whitespace at the end of
# truncated arguments, and repeated markers, which we report.
NEWER_DEPARTURES = {
    *("Qwen3.5-4B:2156", "Qwen3.5-4B:2377", "Cohere2MoE:2883", "Reka-Edge:5363"),
    *("google-gemma-4-31B-it:3155", "google-gemma-4-31B-it:3173"),
}
NEWER = [row for row in corpus.rows("vectors-2026.jsonl") if row["id"] not in NEWER_DEPARTURES]
TOKENS = ("<|tool_call_start|>", "<|tool_call_end|>")
NOT_RENDERED = ("LFM2-8B-A1B", "LFM2.5-Instruct")
VECTORS = [row for row in corpus.rows("vectors.jsonl") if row["id"] not in DEPARTURES]
# The other analysis does not find reasoning that needs a switch.
UNDER_A_SWITCH = {"unsloth-Apriel-1.5.jinja": "</thinking>"}
# The other analysis reports another mode, e.g. since the template does not render reasoning.
OTHER_MODES = {"TAG_BASED": {"TAG_BASED", "FORCED_OPEN", "FORCED_CLOSED", "DELIMITER"}}


@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_every_template_is_analyzed(name):
    fmt = analyze(corpus.template(name))
    assert fmt.turn.headers
    assert fmt.verified or fmt.issues
    assert "zq" not in fmt.to_json()
    assert WireFormat.from_json(fmt.to_json()) == fmt


@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_templates_prove_themselves(name):
    fmt = analyze(ChatTemplate(corpus.template(name), eos_token="</s>"))
    assert list(fmt.issues) == UNPROVED.get(name, [])
    assert fmt.verified is (name not in UNPROVED)


@pytest.mark.parametrize("name", sorted(NATIVE))
def test_markers_agree_with_another_analysis(name):
    fmt, reference = analyze(corpus.template(name)), REFERENCE[name]
    tools, theirs = fmt.tools, reference["tools"]
    ours = {tools.section_start.strip(), tools.per_call_start.strip()} - {""}
    assert ours == {theirs["section_start"].strip(), theirs["per_call_start"].strip()} - {""}
    ours = {tools.section_end.strip(), tools.per_call_end.strip()} - {""}
    assert ours == {theirs["section_end"].strip(), theirs["per_call_end"].strip()} - {""}
    assert tools.array_wrapped == theirs["tools_array_wrapped"]
    assert tools.name_is_key == theirs["fun_name_is_key"]
    assert tools.name_field == theirs["name_field"]
    assert tools.arguments_field == theirs["args_field"]
    assert (tools.id_field, tools.generated_id_field) == (
        theirs["id_field"],
        theirs["gen_id_field"],
    )
    mode = reference["reasoning"]["mode"]
    theirs = reference["reasoning"]["end"].strip() or UNDER_A_SWITCH.get(name, "")
    assert name in UNDER_A_SWITCH or fmt.reasoning.mode in OTHER_MODES.get(mode, {mode})
    assert fmt.reasoning.end.strip() == theirs


def value(arguments):
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


@pytest.mark.parametrize("row", VECTORS, ids=lambda row: row["id"])
def test_recorded_responses_give_the_expected_message(row):
    options, prompt, want = row["options"], row["generation_prompt"], row["expect"]
    prefill = {"content": "", "reasoning_content": ""}
    if options["continue_final_message"] != "none":
        given = row["messages"][-1]
        # The expectation includes the prefill, which belongs to the prompt and is not emitted.
        prefill = {key: given[key] for key in prefill if given[key] and given[key] in prompt}
    message = None
    for texts in chunkings(row["input"]):
        parser = StreamParser(
            analyze(corpus.template(row["template"])),
            tools=row["tools"] or None,
            prompt=prompt,
            reasoning="raw" if options["reasoning_format"] == "none" else "separate",
            response_schema=options["json_schema"],
        )
        deltas = [delta for text in texts for delta in parser.feed(text)]
        deltas += parser.finish("length" if options["is_partial"] else "stop")
        assert joined(deltas) == as_joined(parser.message)
        assert message is None or parser.message == message
        message = parser.message
    for key in ("content", "reasoning_content"):
        got = prefill.get(key, "") + getattr(message, key)
        assert got.strip() == want[key].strip()
    expected = [(call["name"], value(call["arguments"])) for call in want["tool_calls"]]
    assert [(call.name, value(call.arguments)) for call in message.tool_calls] == expected
    for call, theirs in zip(message.tool_calls, want["tool_calls"], strict=True):
        assert not theirs["id"] or call.id == theirs["id"]


def test_described_format_is_suggested():
    """Compare two templates without calls: one contains a token of the format, one does not."""
    shown, silent = (analyze(corpus.template(f"{name}.jinja")) for name in NOT_RENDERED)
    assert (shown.suggested, silent.suggested) == ("lfm2", "")
    for fmt in (shown, silent):
        assert not fmt.verified
        assert not_rendered(NOT_READ) in fmt.issues


@pytest.mark.parametrize("row", NEWER, ids=lambda row: row["id"])
def test_responses_of_newer_models_give_the_expected_message(row):
    """Select the format by the tokens of the tokenizer if the template renders no calls."""
    options, prompt, want = row["options"], row["generation_prompt"], row["expect"]
    template = ChatTemplate(corpus.template(row["template"]), added_tokens=TOKENS)
    given = row["messages"][-1] if options["continue_final_message"] != "none" else {}
    prefill = {key: text for key, text in given.items() if key in want and text and text in prompt}
    parser = StreamParser(
        analyze(template, accept_suggestion=True),
        tools=row["tools"] or None,
        prompt=prompt,
        reasoning="raw" if options["reasoning_format"] == "none" else "separate",
        response_schema=options["json_schema"],
    )
    for char in row["input"]:
        parser.feed(char)
    parser.finish("length" if options["is_partial"] else "stop")
    for key in ("content", "reasoning_content"):
        got = prefill.get(key, "") + getattr(parser.message, key)
        assert got.strip() == want[key].strip()
    expected = [(call["name"], value(call["arguments"])) for call in want["tool_calls"]]
    calls = parser.message.tool_calls
    assert [(call.name, value(call.arguments)) for call in calls] == expected
