"""Explanations and samples of formats."""

from __future__ import annotations

import json

import pytest

import deltaparse as dp
from deltaparse.command.explain import explanation, sample

from .. import corpus

NATIVE = {"format": "JSON_NATIVE", "name_field": "name", "arguments_field": "arguments"}
MARKED = NATIVE | {"per_call_start": "<c>", "per_call_end": "</c>"}
BOTH = {"supports_parallel_calls": True}
THINK = {"mode": "TAG_BASED", "start": "<t>", "end": "</t>"}


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        ({}, "CONTENT"),
        ({"turn": {"ends": ("<e>", "<f>")}}, "CONTENT<e>"),
        ({"reasoning": THINK}, "<t>REASONING</t>CONTENT"),
        ({"reasoning": THINK | {"mode": "FORCED_OPEN"}}, "REASONING</t>CONTENT"),
        (
            {"content": {"mode": "ALWAYS_WRAPPED", "start": "<s>", "end": "</s>"}},
            "<s>CONTENT</s>",
        ),
        (
            {"tools": MARKED},
            'CONTENT<c>{"name": "NAME", "arguments": {"KEY": "VALUE"}}</c>',
        ),
        (
            {"tools": NATIVE | {"field_order": ("arguments", "name")}},
            '{"arguments": {"KEY": "VALUE"}, "name": "NAME"}',
        ),
        (
            {"tools": MARKED | {"arguments_as_text": True, "content_separator": "\n"}},
            'CONTENT\n<c>{"name": "NAME", "arguments": "{\\"KEY\\": \\"VALUE\\"}"}</c>',
        ),
        (
            {"tools": MARKED | {"function_field": "f", "id_field": "id"}},
            'CONTENT<c>{"f": {"name": "NAME", "arguments": {"KEY": "VALUE"}}, "id": "ID0"}</c>',
        ),
        (
            {
                "tools": {"format": "JSON_NATIVE", "name_is_key": True, "separator": ", "}
                | {"array_wrapped": True, "section_start": "<s>", "section_end": "</s>"}
                | BOTH
            },
            'CONTENT<s>[{"NAME": {"KEY": "VALUE"}}, {"NAME": {"KEY": "VALUE"}}]</s>',
        ),
        (
            {"tools": MARKED | BOTH | {"generated_id_field": "n", "separator": "\n"}},
            (
                'CONTENT<c>{"name": "NAME", "arguments": {"KEY": "VALUE"}, "n": 0}</c>\n'
                '<c>{"name": "NAME", "arguments": {"KEY": "VALUE"}, "n": 1}</c>'
            ),
        ),
    ],
)
def test_sample(groups, text):
    fmt = dp.WireFormat().replace(**groups)
    assert sample(fmt) == text
    prompt = "<t>" if fmt.reasoning.mode is dp.ReasoningMode.FORCED_OPEN else ""
    assert_parses(fmt, prompt)


def test_other_groups():
    fmt = dp.WireFormat().replace(
        tools={"format": "TAG_WITH_JSON"},
        function={"name_prefix": "<f="},
        call_id={"position": "POST_ARGS", "prefix": "#"},
    )
    lines = explanation(fmt).splitlines()
    assert "tools                      the name between markers, the arguments a JSON object" in (
        lines
    )
    assert lines[lines.index("function") + 1] == "  name_prefix              '<f='"
    assert lines[lines.index("call_id") + 1] == "  position                 POST_ARGS"
    assert "turn" not in lines
    assert not any(line.startswith("arguments") for line in lines)


@corpus.needs_corpus
@pytest.mark.parametrize("path", corpus.templates(), ids=lambda path: path.stem)
def test_samples_of_real_templates(path):
    fmt = dp.analyze(path.read_text(encoding="utf-8"))
    assert explanation(fmt)
    if fmt.verified:
        opened = fmt.reasoning.mode in {"FORCED_OPEN", "FORCED_CLOSED"}
        head = "".join(fmt.turn.headers[:1])
        assert_parses(fmt, head + fmt.reasoning.start if opened else head)


def assert_parses(fmt, prompt):
    """Check that the sample of a format parses to its placeholders."""
    text = sample(fmt)
    message = dp.parse(text, fmt, prompt=prompt)
    assert message.content == ("CONTENT" if "CONTENT" in text else "")
    assert message.reasoning_content == ("REASONING" if "REASONING" in text else "")
    assert [call.name for call in message.tool_calls] == ["NAME"] * text.count("NAME")
    assert all(json.loads(call.arguments) == {"KEY": "VALUE"} for call in message.tool_calls)
