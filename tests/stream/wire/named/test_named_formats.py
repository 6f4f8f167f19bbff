"""Tests of built-in formats with hand-written samples and with analyzed templates."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from deltaparse import (
    ChatTemplate,
    StreamParser,
    WireFormat,
    analyze,
    get_format,
    list_formats,
)
from deltaparse.stream.wire.named import registry
from deltaparse.testing import check_template

from .... import corpus
from ....strategies.wire_named import CALLS, TOOLS, WIRES
from ....support import as_joined, joined
from ...invariants import run

NAMES = sorted(list_formats())


def fed(fmt, wire, **kw):
    """Return the parser after the text, and check that the chunking does not matter."""
    first = None
    for size in (len(wire) or 1, 1, 3, 5):
        texts = [wire[at : at + size] for at in range(0, len(wire), size)]
        parser, deltas = run(fmt, texts, **kw)
        first = first or parser
        assert joined(deltas) == as_joined(parser.message)
        assert parser.message == first.message
        assert parser.issues == first.issues
    return first


def made(parser):
    """Return the calls with their arguments as values."""
    return [(call.name, json.loads(call.arguments)) for call in parser.message.tool_calls]


def test_every_format_has_sample_texts():
    assert sorted(WIRES) == NAMES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("tools", [None, TOOLS], ids=["any", "tools"])
@pytest.mark.parametrize("count", ["one", "two"])
def test_calls_are_parsed_in_any_chunking(name, tools, count):
    wire = getattr(WIRES[name], count)
    if not wire:
        pytest.skip("calls no tools")
    parser = fed(get_format(name), wire, tools=tools)

    assert made(parser) == CALLS[count]
    assert all(call.complete for call in parser.message.tool_calls)
    assert not parser.message.content
    assert not {issue.kind for issue in parser.issues} - {"repeated_marker"}
    assert parser.finish_reason == "tool_calls"


@pytest.mark.parametrize("name", NAMES)
def test_unknown_tool_issue_spans_the_name(name):
    wire = WIRES[name].one
    if not wire:
        pytest.skip("calls no tools")
    issues = fed(get_format(name), wire, tools=[{"name": "other"}]).issues
    called = CALLS["one"][0][0]
    assert [wire[slice(*one.span)] for one in issues if one.kind == "unknown_tool"] == [called]


@pytest.mark.parametrize("name", NAMES)
def test_content_and_reasoning_are_parsed(name):
    wire, fmt = WIRES[name], get_format(name)
    assert fed(fmt, wire.says).message.content == "Hi"
    if wire.thinks:
        message = fed(fmt, wire.thinks).message
        assert (message.reasoning_content, message.content) == ("hm", "Hi")
    has_reasoning = fmt.reasoning.mode != "NONE" or bool(fmt.channels.reasoning)
    assert bool(wire.thinks) is has_reasoning


@pytest.mark.parametrize("name", NAMES)
def test_content_before_a_call_is_parsed(name):
    wire = WIRES[name]
    if wire.before_calls and wire.one:
        parser = fed(get_format(name), wire.before_calls + wire.one)
        assert parser.message.content == "Hi"
        assert made(parser) == CALLS["one"]


@pytest.mark.parametrize("name", NAMES)
def test_documents_omit_default_values(name):
    fmt = get_format(name)
    path = Path(registry.__file__).with_name(f"{name}.json")
    document = json.loads(path.read_text(encoding="utf-8"))
    default = asdict(WireFormat())

    assert WireFormat.from_json(fmt.to_json()) == fmt
    assert fmt.issues == ()
    for group, values in document.items():
        if isinstance(values, dict):
            assert all(default[group][key] != value for key, value in values.items())
        else:
            assert default[group] != values


# Comparisons with analyzed templates, if the corpus is available.

ANALYSED = {
    "Apertus-8B-Instruct": "apertus",
    "Apriel-1.6-15b-Thinker-fixed": "apriel_thinker",
    "ByteDance-Seed-OSS": "seed_oss",
    "CohereForAI-c4ai-command-r-plus-tool_use": "command_r_plus",
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use": "command_r7b",
    "GLM-4.6": "glm45",
    "GLM-4.7-Flash": "glm47",
    "Kimi-K2-Instruct": "kimi_k2",
    "Kimi-K2-Thinking": "kimi_k2",
    "MiniMax-M2": "minimax_m2",
    "Mistral-Small-3.2-24B-Instruct-2506": "mistral_small",
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": "nemotron3_nano",
    "NVIDIA-Nemotron-Nano-v2": "nemotron_nano_v2",
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": "hermes",
    "Qwen-QwQ-32B": "qwq",
    "Qwen3-Coder": "qwen3_coder",
    "StepFun3.5-Flash": "step3p5",
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B": "deepseek_r1",
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": "deepseek_r1",
    "deepseek-ai-DeepSeek-V3.1": "deepseekv31",
    "fireworks-ai-llama-3-firefunction-v2": "firefunction_v2",
    "google-gemma-2-2b-it": "gemma2",
    "ibm-granite-granite-3.3-2B-Instruct": "granite",
    "llama-cpp-deepseek-r1": "deepseek_r1",
    "meetkai-functionary-medium-v3.1": "functionary_v31",
    "meetkai-functionary-medium-v3.2": "functionary_v32",
    "meta-llama-Llama-3.1-8B-Instruct": "llama3_json",
    "meta-llama-Llama-3.2-3B-Instruct": "llama3_json",
    "meta-llama-Llama-3.3-70B-Instruct": "llama3_json",
    "mistralai-Ministral-3-14B-Reasoning-2512": "ministral",
    "mistralai-Mistral-Nemo-Instruct-2407": "mistral",
    "moonshotai-Kimi-K2": "kimi_k2",
    "openai-gpt-oss-120b": "gpt_oss",
    "unsloth-Apriel-1.5": "apriel",
    "unsloth-mistral-Devstral-Small-2507": "devstral",
}
NEWER = {
    "Cohere2MoE": "cohere_command4",
    "GigaChat3-10B-A1.8B": "gigachat3",
    "GigaChat3.1-10B-A1.8B": "gigachat31",
    "Kimi-K3": "kimi_k3",
    "LFM2-8B-A1B": "lfm2",
    "LFM2.5-8B-A1B": "lfm2",
    "LFM2.5-Instruct": "lfm2",
    "MiniMax-M3": "minimax_m3",
    "NousResearch-Hermes-3-Llama-3.1-8B-tool_use": "hermes",
    "Qwen-Qwen2.5-7B-Instruct": "qwen2.5",
    "Qwen-Qwen3-0.6B": "qwen3",
    "Spark2.5": "spark25",
    "deepseek-ai-DeepSeek-V3.2": "deepseek_v32",
    "deepseek-ai-DeepSeek-V4-Flash-0731": "deepseek_v4",
    "deepseek-ai-DeepSeek-V4": "deepseek_v4",
    "google-gemma-4-31B-it-interleaved": "gemma4",
    "google-gemma-4-31B-it": "gemma4",
    "ibm-granite-granite-4.0": "granite4",
    "ibm-granite-granite-4.1": "granite4",
    "inclusionai-ling-3.0-flash": "ling3",
    "muse-glimmer": "muse_glimmer",
    "openbmb-MiniCPM5-1B": "minicpm5",
    "poolside-Laguna-S-2.1": "poolside_v1",
    "poolside-Laguna-XS-2.1": "poolside_v1",
    "poolside-Laguna-XS.2": "poolside_v1",
    "tencent-Hy3": "hy3",
}
"""Templates of further models of a name."""
OWN_TEMPLATES = {**ANALYSED, **NEWER}
# The recorded expectation repeats a marker of the prompt.
PUT_BACK = {"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16:2704"}
RECORDED = [row for row in corpus.rows("vectors.jsonl") if row["id"] not in PUT_BACK]


def analysis(template):
    return analyze(corpus.template(template))


@corpus.needs_corpus
@pytest.mark.parametrize("template", sorted(ANALYSED))
def test_markers_equal_the_analyzed_template(template):
    found, named = analysis(f"{template}.jinja"), get_format(ANALYSED[template])
    if not found.verified or found.tools.format == "NONE":
        pytest.skip("the template does not tell how calls are written")
    default, two_forms = asdict(WireFormat()), named.tools.also != "NONE"
    for group in ("tools", "function", "arguments", "call_id"):
        mine, theirs = asdict(getattr(named, group)), asdict(getattr(found, group))
        differ = {key: (mine[key], theirs[key]) for key in mine if mine[key] != theirs[key]}
        if two_forms:
            # The template does not render fields of the second form.
            differ = {key: both for key, both in differ.items() if both[1] != default[group][key]}
        assert not differ
    assert set(found.turn.headers) <= set(named.turn.headers)
    assert set(found.turn.ends) <= set(named.turn.ends)
    if found.channels.message:
        for part in ("start", "channel", "message", "recipient", "reasoning"):
            assert getattr(named.channels, part) == getattr(found.channels, part)
    elif found.reasoning.mode != "NONE":
        assert named.reasoning.start.strip() == found.reasoning.start.strip()
        assert named.reasoning.end.strip() == found.reasoning.end.strip()


@corpus.needs_corpus
@pytest.mark.parametrize("template", sorted(OWN_TEMPLATES))
def test_format_parses_renderings_of_its_template(template):
    source, name = corpus.template(f"{template}.jinja"), OWN_TEMPLATES[template]
    tools = [{"type": "function", "function": {"description": "does", **tool}} for tool in TOOLS]
    asked = [{"role": "user", "content": "Hi"}]
    prompt = ChatTemplate(source).render(asked, tools=tools, add_generation_prompt=True)
    assert get_format(name).derived.turn_in(prompt) is not None
    found = analyze(source)
    if not found.verified or (found.tools.format == "NONE" and not found.derived.has_channels):
        pytest.skip("the template does not tell how calls are written")
    check_template(source, fmt=name)


@corpus.needs_corpus
@pytest.mark.parametrize("row", RECORDED, ids=lambda row: row["id"])
def test_recorded_outputs_are_parsed_as_expected(row):
    asked, prompt, want = row["options"], row["generation_prompt"], row["expect"]

    def message(fmt):
        parser = StreamParser(
            fmt,
            tools=row["tools"] or None,
            prompt=prompt,
            reasoning="raw" if asked["reasoning_format"] == "none" else "separate",
            response_schema=asked["json_schema"],
        )
        parser.feed(row["input"])
        parser.finish("length" if asked["is_partial"] else "stop")
        return parser.message

    fmt = get_format(ANALYSED[row["template"].removesuffix(".jinja")])
    named = message(fmt)
    given = row["messages"][-1] if asked["continue_final_message"] != "none" else {}
    for key in ("content", "reasoning_content"):
        # The expectation includes the prefill, but the parser does not emit text of the prompt.
        prefill = given.get(key, "")
        prefill = prefill if prefill and prefill in prompt else ""
        assert (prefill + getattr(named, key)).strip() == want[key].strip()
    expected = [(call["name"], value(call["arguments"])) for call in want["tool_calls"]]
    assert [(call.name, value(call.arguments)) for call in named.tool_calls] == expected
    found = analysis(row["template"])
    # A format may serve two models, only one of them with reasoning.
    if found.verified and (found.reasoning.mode != "NONE" or fmt.reasoning.mode == "NONE"):
        assert trimmed(message(found)) == trimmed(named)


def trimmed(message):
    """Return a message without outer whitespace, which depends on the markers."""
    calls = [(call.id, call.name, call.arguments) for call in message.tool_calls]
    return message.content.strip(), message.reasoning_content.strip(), calls


def value(arguments):
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_turn_end_in_a_value_does_not_belong_to_the_call(size):
    text = "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>b</arg_value>\n</tool_c<|user|>\n"
    parser, _ = run(get_format("glm45"), [text[at : at + size] for at in range(0, len(text), size)])
    issue = parser.issues[0]
    assert (issue.kind, issue.span) == ("truncated_call", (text.index("<|user|>"),) * 2)
