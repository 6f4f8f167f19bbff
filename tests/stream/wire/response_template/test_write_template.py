"""Tests of writing response templates: exact fields, limits and refused formats."""

from __future__ import annotations

import pytest
import regex

from deltaparse import (
    FormatError,
    WireFormat,
    get_format,
    response_template_limits,
    to_response_template,
)

HERMES, CODER = get_format("hermes"), get_format("qwen3_coder")
ROWS = HERMES.replace(tools={"section_start": "<c>", "per_call_start": ""})
WORDS = "names without quotes that are not words or follow whitespace"


def test_document_around_the_fields():
    made = to_response_template(HERMES)
    assert (made["version"], made["defaults"]) == (1, {"role": "assistant"})
    assert made["start_anchor"] == list(HERMES.turn.headers)
    assert made["fields"]["content"]["content"] == "text"


@pytest.mark.parametrize(
    ("mode", "prompt", "anchors"),
    [
        ("DELIMITER", "<a>so", ["<a>", "<a>so"]),
        ("DELIMITER", "<a>", ["<a>"]),
        ("DELIMITER", "", ["<a>"]),
        ("TAG_BASED", "<a>so", ["<a>"]),
    ],
)
def test_reasoning_markers_of_the_prompt_belong_to_the_anchor(mode, prompt, anchors):
    fmt = WireFormat().replace(
        turn={"headers": ("<a>",), "generation_prompt": prompt},
        reasoning={"mode": mode, "start": "<t>" * (mode == "TAG_BASED"), "end": "</t>"},
    )
    assert to_response_template(fmt)["start_anchor"] == anchors


@pytest.mark.parametrize(
    ("start", "prompt", "turn"),
    [
        ("<t>", "Hi\n<t>", "<t>"),
        ("<t>", "Hi\n<t> \n</t>\n\n", "<t> \n</t>\n\n"),
        ("<t>", "Hi [t]\n", "[t]\n"),
        ("<t>", "Hi [t][/t]", "[t][/t]"),
        ("<t>", "Hi <t>so</t>", ""),
        ("<t>", "Hi </t>", ""),
        ("", "Hi </t>", ""),
        (" ", "Hi </t>", ""),
        ("", "Hi", ""),
    ],
)
def test_reasoning_at_the_end_of_a_prompt_without_headers(start, prompt, turn):
    think = {"mode": "DELIMITER", "start": start, "end": "</t>"}
    if start.strip():
        think |= {"mode": "TAG_BASED", "alternatives": ("[t]", "[/t]")}
    anchor = to_response_template(WireFormat().replace(reasoning=think))["start_anchor_pattern"]
    assert prompt[regex.search(anchor, prompt, regex.DOTALL).end() :] == turn


@pytest.mark.parametrize(
    ("turn", "unseen"),
    [
        ({}, True),
        ({"headers": ("<a>",)}, False),
        ({"generation_prompt": "<a>"}, False),
        ({"headers": ("<a>",), "generation_prompt": "<a>"}, False),
    ],
)
def test_forced_open_reasoning_may_lack_its_start_marker(turn, unseen):
    think = {"mode": "FORCED_OPEN", "start": "<t>", "end": "</t>"}
    fmt = WireFormat().replace(turn=turn, reasoning=think)
    opener = to_response_template(fmt)["fields"]["thinking"]["open_pattern"]
    assert (regex.match(opener, "so") is not None) is unseen
    assert regex.match(opener, " <t>so").end() == 4


THINKS = HERMES.replace(reasoning={"mode": "TAG_BASED", "start": "<t>", "end": "</t>"})
NEXT = HERMES.replace(
    reasoning={"mode": "DELIMITER", "end": "<r>"},
    content={"mode": "ALWAYS_WRAPPED", "start": "<r>", "end": "</r>"},
)


@pytest.mark.parametrize(
    ("mode", "before", "text", "closed"),
    [
        ("ALWAYS_WRAPPED", "So", "\n</r> ", 6),
        ("ALWAYS_WRAPPED", "So", " <|im_end|>", 11),
        ("ALWAYS_WRAPPED", "So", " <tool_call>", 1),
        ("ALWAYS_WRAPPED", "", "<r>", None),
        ("ALWAYS_WRAPPED", "", "</t>", None),
        ("WRAPPED_WITH_REASONING", "So", "\n</r> ", 6),
        ("WRAPPED_WITH_REASONING", "", " <r>\n", 5),
        ("WRAPPED_WITH_REASONING", "</t>\n", "<r>\n", 4),
        ("WRAPPED_WITH_REASONING", "So", "<r>", None),
        ("WRAPPED_WITH_CALLS", "", "<r>", 3),
        ("WRAPPED_WITH_CALLS", "So", " <tool_call>", None),
        ("PLAIN", "", "<r>", None),
        ("PLAIN", "", "</r>", None),
        ("PLAIN", "", " </t> ", 6),
        ("PLAIN", "So", "</t>", None),
        ("PLAIN", "So", " <|im_end|>\n", 12),
        ("PLAIN", "<|im_end|>\n", "<|im_start|>assistant", 21),
        ("PLAIN", "So\n", "<|im_start|>assistant", None),
        ("PLAIN", "</tool_call>\n", "</c>", 4),
    ],
)
def test_close_pattern_of_content(mode, before, text, closed):
    content = {"mode": mode, "start": "<r>\n" * (mode != "PLAIN"), "end": "\n</r>"}
    fmt = THINKS.replace(content=content, tools={"section_end": "</c>"})
    field = to_response_template(fmt)["fields"]["content"]
    assert field.get("open") == ("<r>" if mode == "ALWAYS_WRAPPED" else None)
    found = regex.compile(field["close_pattern"]).match(before + text, len(before))
    assert (found and found.end() - len(before)) == closed


@pytest.mark.parametrize(
    ("fmt", "text", "end"),
    [
        (THINKS, "\n</t> So", "\n</t> "),
        (THINKS, "<tool_call>", None),
        (NEXT, "\n<r>So", "\n"),
        (NEXT, "<tool_call>", ""),
        (NEXT, "</r>", None),
    ],
)
def test_close_pattern_of_reasoning(fmt, text, end):
    field = to_response_template(fmt)["fields"]["thinking"]
    found = regex.match(field["close_pattern"], text)
    assert (found and found[0]) == end


@pytest.mark.parametrize(
    ("fmt", "words"),
    [
        (CODER.replace(arguments={"name_prefix": " "}), "arguments without an opening marker"),
        (CODER.replace(arguments={"value_suffix": "\n"}), "values without a closing marker"),
        (CODER.replace(arguments={"type_suffix": ">", "type_first": True}), "types before the n"),
        (
            CODER.replace(arguments={"alternatives": ("a", "b", "c", "d")}),
            "several notations of arg",
        ),
        (
            CODER.replace(function={"close": "</", "close_suffix": ">"}),
            "closing markers that repeat the n",
        ),
        (HERMES.replace(tools={"arguments_as_text": True}), "arguments as JSON in a string"),
        (HERMES.replace(tools={"per_call_end": "]"}), "calls that end with only a bracket"),
        (
            HERMES.replace(tools={"per_call_end": "]", "section_end": "</c>"}),
            "calls that end with only a bracket",
        ),
        (
            HERMES.replace(
                tools={
                    "section_start": "<c>",
                    "section_end": "]",
                    "per_call_start": "",
                    "per_call_end": "\n",
                }
            ),
            "calls that end with only a bracket",
        ),
        # A value in tags may also contain the end of JSON.
        (
            CODER.replace(function={"close": ""}, tools={"per_call_end": "]"}),
            "calls that end with only a bracket",
        ),
        (
            CODER.replace(
                tools={
                    "format": "TAG_WITH_JSON",
                    "section_start": "[",
                    "section_end": "]",
                    "per_call_start": "",
                    "per_call_end": "",
                },
                function={"name_prefix": "<f=", "close": ""},
            ),
            "calls that end with only a bracket",
        ),
        (
            HERMES.replace(tools={"array_wrapped": True, "per_call_end": " "}),
            "a list around each call without a closing marker",
        ),
        (
            HERMES.replace(tools={"section_start": "<c>", "per_call_start": "", "separator": ", "}),
            "calls in a row, separated only by a comma",
        ),
        (
            get_format("llama3_json").replace(tools={"field_order": ("parameters", "name")}),
            "unmarked calls that do not begin with their name",
        ),
        (
            get_format("gpt_oss").replace(tools={"format": "PYTHONIC", "section_start": "<c>"}),
            "calls with their own syntax inside messages in channels",
        ),
        (
            get_format("gpt_oss").replace(channels={"channel": " "}),
            "recipients instead of channels",
        ),
        (get_format("pythonic"), "calls in Python$"),
        (
            get_format("llama3_json").replace(
                content={"mode": "WRAPPED_WITH_CALLS", "start": "<r>", "end": "</r>"}
            ),
            "unmarked calls after content in markers",
        ),
        (get_format("functionary_v32"), "calls that begin like content"),
        (get_format("apertus"), "names that are keys"),
        (
            CODER.replace(
                tools={"section_start": "<c>", "per_call_start": ""}, function={"name_prefix": ""}
            ),
            "calls without an opening marker",
        ),
    ],
)
def test_inexpressible_format_raises_with_the_reason(fmt, words):
    with pytest.raises(FormatError, match=f"a response template cannot express: (.*, )?{words}"):
        to_response_template(fmt)


def test_limits_of_code():
    run = "code that calls a function"
    assert response_template_limits(HERMES.replace(code={"function": "run"})) == (run,)
    assert response_template_limits(HERMES.replace(code={"function": "run", "start": " "})) == (
        run,
    )
    marked = HERMES.replace(code={"function": "run", "start": "<code>"})
    assert response_template_limits(marked) == ("code after its marker",)
    assert response_template_limits(HERMES.replace(code={"start": " "})) == ()


@pytest.mark.parametrize(
    ("fmt", "limits"),
    [
        (
            "gpt_oss",
            ("several messages of reasoning or of content in one turn: the last one counts",),
        ),
        ("functiongemma", (WORDS,)),
        (HERMES.replace(arguments={"quote": "'"}), (WORDS,)),
        (CODER, ("objects and lists that are not JSON",)),
        (CODER.replace(arguments={"python_literals": False}), ()),
        (
            CODER.replace(arguments={"python_literals": False, "item": "li"}),
            ("objects and lists that are not JSON",),
        ),
        (ROWS, ()),
        (ROWS.replace(tools={"separator": ""}), ("calls in a row without a separator",)),
    ],
)
def test_limits_of_formats(fmt, limits):
    assert response_template_limits(fmt) == limits
