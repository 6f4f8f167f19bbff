"""Wire formats as response templates: the fields to the letter, and what is refused."""

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
FUNCTION = {"name": "{content.name}", "arguments": "{content.arguments}"}
NAMED = {"name": "{name}", "arguments": "{content}"}


def calls(fmt):
    return to_response_template(fmt)["fields"]["tool_calls"]


@pytest.mark.parametrize(
    ("fmt", "transform", "many"),
    [
        (HERMES, {"function": FUNCTION}, "repeats"),
        (
            HERMES.replace(tools={"id_field": "nr"}),
            {"function": FUNCTION, "id": "{content.nr}"},
            "repeats",
        ),
        (
            HERMES.replace(tools={"generated_id_field": "at"}),
            {"function": FUNCTION, "id": "{content.at}"},
            "repeats",
        ),
        (CODER, {"function": NAMED}, "repeats"),
        (
            HERMES.replace(
                tools={"section_start": "<c>", "array_wrapped": True, "per_call_start": ""}
            ),
            {"function": {"name": "{name}", "arguments": "{arguments}"}},
            "transform_each",
        ),
        (
            HERMES.replace(tools={"function_field": "function"}),
            {
                "function": {
                    "name": "{content.function.name}",
                    "arguments": "{content.function.arguments}",
                }
            },
            "repeats",
        ),
        (get_format("mistral_small"), {"function": NAMED, "id": "{id}"}, "repeats"),
        (get_format("gpt_oss"), {"function": NAMED}, "repeats"),
    ],
)
def test_what_becomes_of_a_call(fmt, transform, many):
    field = calls(fmt)
    assert field["transform"] == {"type": "function", **transform}
    assert field[many] is True
    assert len({"repeats", "transform_each"} & field.keys()) == 1


def test_the_document_round_the_fields():
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
def test_what_a_prompt_writes_of_reasoning_is_no_part_of_it(mode, prompt, anchors):
    fmt = WireFormat().replace(
        turn={"headers": ("<a>",), "generation_prompt": prompt},
        reasoning={"mode": mode, "start": "<t>" * (mode == "TAG_BASED"), "end": "</t>"},
    )
    assert to_response_template(fmt)["start_anchor"] == anchors


@pytest.mark.parametrize(
    ("turn", "unseen"),
    [
        ({}, True),
        ({"headers": ("<a>",)}, False),
        ({"generation_prompt": "<a>"}, False),
        ({"headers": ("<a>",), "generation_prompt": "<a>"}, False),
    ],
)
def test_reasoning_that_is_open_in_any_case_may_stand_without_its_opener(turn, unseen):
    think = {"mode": "FORCED_OPEN", "start": "<t>", "end": "</t>"}
    fmt = WireFormat().replace(turn=turn, reasoning=think)
    opener = to_response_template(fmt)["fields"]["thinking"]["open_pattern"]
    assert (regex.match(opener, "so") is not None) is unseen
    assert regex.match(opener, " <t>so").end() == 4


@pytest.mark.parametrize(
    ("fmt", "words"),
    [
        (CODER.replace(arguments={"name_prefix": " "}), "arguments that no marker begins"),
        (CODER.replace(arguments={"value_suffix": "\n"}), "values that no marker ends"),
        (CODER.replace(arguments={"type_suffix": ">", "type_first": True}), "types before the n"),
        (CODER.replace(arguments={"alternatives": ("a", "b", "c", "d")}), "arguments in several w"),
        (
            CODER.replace(function={"close": "</", "close_suffix": ">"}),
            "calls that are closed by n",
        ),
        (HERMES.replace(tools={"arguments_as_text": True}), "arguments that are JSON in a text"),
        (HERMES.replace(tools={"per_call_end": "]"}), "calls that only a bracket ends"),
        (
            HERMES.replace(tools={"array_wrapped": True, "per_call_end": " "}),
            "lists round each call that nothing ends",
        ),
        (
            HERMES.replace(tools={"section_start": "<c>", "per_call_start": "", "separator": ", "}),
            "calls in a row between which stands what JSON has too",
        ),
        (
            get_format("llama3_json").replace(tools={"field_order": ("parameters", "name")}),
            "calls in no markers that do not begin with their name",
        ),
    ],
)
def test_what_no_template_can_say_is_named(fmt, words):
    with pytest.raises(FormatError, match=f"a response template cannot say: (.*, )?{words}"):
        to_response_template(fmt)


def test_code_that_a_template_leaves_out():
    run = "code that calls a function"
    assert response_template_limits(HERMES.replace(code={"function": "run"})) == (run,)
    marked = HERMES.replace(code={"function": "run", "start": "<code>"})
    assert response_template_limits(marked) == ("what stands behind the marker of code",)
    assert response_template_limits(HERMES.replace(code={"start": " "})) == ()


@pytest.mark.parametrize(
    ("groups", "text", "key", "value"),
    [
        ({}, "<parameter=a>\n1\n</parameter>", "a", "1"),
        ({"key_suffix": ">", "value_suffix": "\n</"}, "<parameter=a>\n1\n</a>", "a", "1"),
        ({"key_suffix": ">\n", "value_suffix": "</arg "}, "<parameter=a>\n1</arg a>", "a", "1"),
        ({"type_suffix": "!>"}, "<parameter=a>int!>1\n</parameter>", "a", "1"),
        ({"literal_name_suffix": "=lit>"}, "<parameter=a=lit>1\n</parameter>", "a", "1"),
        ({"value_prefix": "<v>"}, "<parameter=a>\n<v>1\n</parameter>", "a", "1"),
        ({"escape_start": "[[", "escape_end": "]]"}, "<parameter=a>[[1]]</parameter>", "a", "1"),
    ],
)
def test_the_pattern_of_an_argument(groups, text, key, value):
    pattern = calls(CODER.replace(arguments=groups))["content_args"]["tag_pattern"]
    found = regex.fullmatch(pattern, text, regex.DOTALL)
    assert (found["key"], found["value"].strip()) == (key, value)
    assert regex.match(pattern, text[:-1], regex.DOTALL) is None


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("<|start|>assistant<|channel|>analysis<|message|>", "thinking"),
        ("<|channel|>analysis<|message|>", "thinking"),
        ("<|channel|>analysis to=all<|message|>", "thinking"),
        ("<|channel|>final<|message|>", "content"),
        ("<|channel|>analysis2<|message|>", "content"),
        ("<|channel|>commentary to=user<|message|>", "content"),
        ("<|channel|>commentary to=assistant <|message|>", "content"),
        ("<|channel|>final <|constrain|>json<|message|>", "content"),
        ("<|channel|>commentary to=functions.f <|constrain|>json<|message|>", "tool_calls"),
        (" to=functions.f<|channel|>analysis<|message|>", "tool_calls"),
        ("<|start|>assistant to=functions.f<|channel|>commentary json<|message|>", "tool_calls"),
        ("<|channel|>commentary to=f<|message|>", None),
    ],
)
def test_a_header_says_what_a_message_is(header, kind):
    fields = to_response_template(get_format("gpt_oss"))["fields"]
    found = {
        name for name, field in fields.items() if regex.fullmatch(field["open_pattern"], header)
    }
    assert found == ({kind} if kind else set())
    if kind == "tool_calls":
        assert regex.fullmatch(fields[kind]["open_pattern"], header)["name"] == "f"
    assert [fields[name]["content"] for name in ("thinking", "tool_calls", "content")] == [
        "text",
        "json",
        "text",
    ]
    for field in fields.values():
        for end in ("<|end|>", "<|call|> ", "\n<|return|>"):
            assert regex.fullmatch(field["close_pattern"], end)
        assert regex.match(field["close_pattern"], "<|start|>").end() == 0


def test_headers_of_a_format_with_less_in_them():
    fmt = get_format("gpt_oss").replace(function={"namespace": ""})
    opener = calls(fmt)["open_pattern"]
    assert (
        regex.fullmatch(opener, "<|channel|>a to=functions.f<|message|>")["name"] == "functions.f"
    )
    assert regex.fullmatch(opener, "<|channel|>a to=user<|message|>") is None
    assert regex.fullmatch(opener, "<|channel|>a to=users<|message|>")["name"] == "users"
    plain = fmt.replace(channels={"recipient": " ", "reasoning": (), "start": "", "constrain": ""})
    fields = to_response_template(plain.replace(turn={"headers": ("<|a|>",)}))["fields"]
    assert regex.fullmatch(fields["content"]["open_pattern"], "<|channel|>analysis<|message|>")
    assert (
        regex.search(fields["tool_calls"]["open_pattern"], "<|channel|>a to=f<|message|>") is None
    )
    assert (
        regex.search(fields["thinking"]["open_pattern"], "<|channel|>analysis<|message|>") is None
    )
    assert regex.fullmatch(fields["content"]["close_pattern"], "<|end|>")
    assert regex.match(fields["content"]["close_pattern"], "so") is None
