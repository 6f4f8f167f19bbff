"""Tests of writing the field of calls of a response template."""

from __future__ import annotations

import pytest
import regex

from deltaparse import from_response_template, get_format, to_response_template

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
        (CODER.replace(tools={"id_field": "nr"}), {"function": NAMED}, "repeats"),
        (
            HERMES.replace(
                tools={"section_start": "<c>", "array_wrapped": True, "per_call_start": ""}
            ),
            {"function": {"name": "{name}", "arguments": "{arguments}"}},
            "transform_each",
        ),
        (
            HERMES.replace(
                tools={"section_start": "<c>", "array_wrapped": True, "per_call_start": "\n"}
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
def test_transform_of_calls(fmt, transform, many):
    field = calls(fmt)
    assert field["transform"] == {"type": "function", **transform}
    assert field[many] is True
    assert len({"repeats", "transform_each"} & field.keys()) == 1


@pytest.mark.parametrize(
    ("groups", "text", "key", "value"),
    [
        ({}, "<parameter=a>\n1\n</parameter>", "a", "1"),
        ({"key_suffix": ">", "value_suffix": "\n</"}, "<parameter=a>\n1\n</a>", "a", "1"),
        ({"key_suffix": ">\n", "value_suffix": "</arg "}, "<parameter=a>\n1</arg a>", "a", "1"),
        ({"type_suffix": "!>"}, "<parameter=a>int!>1\n</parameter>", "a", "1"),
        ({"type_suffix": " "}, "<parameter=a>1\n</parameter>", "a", "1"),
        ({"literal_name_suffix": "=lit>"}, "<parameter=a=lit>1\n</parameter>", "a", "1"),
        ({"value_prefix": "<v>"}, "<parameter=a>\n<v>1\n</parameter>", "a", "1"),
        ({"escape_start": "[[", "escape_end": "]]"}, "<parameter=a>[[1]]</parameter>", "a", "1"),
    ],
)
def test_pattern_of_an_argument(groups, text, key, value):
    pattern = calls(CODER.replace(arguments=groups))["content_args"]["tag_pattern"]
    assert "(?:)" not in pattern
    found = regex.fullmatch(pattern, text, regex.DOTALL)
    assert (found["key"], found["value"].strip()) == (key, value)
    assert regex.match(pattern, text[:-1], regex.DOTALL) is None
    assert regex.match(pattern, text + "\n", regex.DOTALL).end() == len(text)


@pytest.mark.parametrize("quoted", [True, False])
def test_quoted_strings_round_trip(quoted):
    fmt = CODER.replace(arguments={"quoted_strings": quoted})
    again = from_response_template(to_response_template(fmt))
    assert again.arguments.quoted_strings is quoted


ROWS = HERMES.replace(
    tools={"section_start": "<c>", "section_end": "</c>", "per_call_start": "", "per_call_end": ""}
)
LIST = ROWS.replace(tools={"array_wrapped": True})
EACH = HERMES.replace(tools={"section_start": "<c>", "array_wrapped": True})
UNMARKED = HERMES.replace(
    tools={"per_call_start": "", "per_call_end": "", "separator": "; "},
    code={"start": "<code>", "function": "run"},
)
BARS = UNMARKED.replace(tools={"separator": " | "})
PREFIXED = CODER.replace(
    tools={"format": "TAG_WITH_JSON", "per_call_start": "", "per_call_end": ""},
    function={"name_prefix": "<f=", "name_suffix": "", "close": ""},
)
POST = PREFIXED.replace(
    tools={"per_call_end": "</f>"},
    call_id={"position": "POST_ARGS", "prefix": "#", "suffix": "!"},
)


@pytest.mark.parametrize(
    ("fmt", "text", "end"),
    [
        (HERMES, " <tool_call>\n{", " <tool_call>\n"),
        (HERMES, '{"name": ', None),
        (HERMES.replace(tools={"array_wrapped": True}), "<tool_call>\n[ {", "<tool_call>\n["),
        (HERMES.replace(tools={"array_wrapped": True}), "<tool_call>\n{", None),
        (HERMES.replace(tools={"section_start": "<c>"}), "<c>\n<tool_call>{", "<c>\n<tool_call>"),
        (HERMES.replace(tools={"section_start": "<c>"}), "<tool_call>{", "<tool_call>"),
        (HERMES.replace(tools={"section_start": "<c>"}), "<c>{", None),
        (EACH, "<tool_call>[{", "<tool_call>["),
        (EACH, "<c> <tool_call>[{", "<c> <tool_call>["),
        (ROWS, ' <c>\n{"name": ', " <c>\n"),
        (ROWS, '<c>{ "arguments":', "<c>"),
        (ROWS, '<c>{"other":', None),
        (ROWS, '{"name": ', None),
        (ROWS.replace(function={"name_prefix": "<f="}), '{"name": ', None),
        (LIST, "<c> [", "<c> "),
        (LIST, "[", None),
        (UNMARKED, ' {"name": ', " "),
        (UNMARKED, '<code>{"name": ', "<code>"),
        (UNMARKED, '{"arguments": ', None),
        (UNMARKED.replace(tools={"function_field": "fn"}), '{"fn": ', ""),
        (UNMARKED.replace(tools={"function_field": "fn"}), '{"name": ', None),
        (UNMARKED.replace(tools={"array_wrapped": True}), '[ {"name": ', ""),
        (UNMARKED.replace(tools={"array_wrapped": True}), '{"name": ', None),
        (ROWS.replace(tools={"function_field": "fn"}), '<c>{"type":', "<c>"),
        (ROWS.replace(tools={"function_field": "fn"}), '<c>{"fn":', "<c>"),
        (ROWS.replace(tools={"function_field": "fn"}), '<c>{"name":', None),
        (PREFIXED, "<f=get{", "<f=get"),
        (PREFIXED, "<f=get", None),
    ],
)
def test_open_pattern_of_calls(fmt, text, end):
    fmt = fmt.replace(tools={"field_order": ("name", "arguments")})
    found = regex.match(calls(fmt)["open_pattern"], text)
    assert (found and found[0]) == end
    assert not (found and "name" in found.groupdict()) or found["name"] == "get"


@pytest.mark.parametrize("code", [{"start": ""}, {"start": " ", "function": "run"}])
def test_unmarked_calls_open_only_at_the_start_of_a_turn(code):
    opener = calls(get_format("llama3_json").replace(code=code))["open_pattern"]
    assert regex.search(opener, ' {"name": "f"').end() == 1
    assert regex.search(opener, 'So {"name": "f"') is None


def test_unmarked_calls_may_open_after_content():
    fmt = get_format("llama3_json").replace(tools={"behind_content": True})
    opener = calls(fmt)["open_pattern"]
    for start in ("", "So", f"So{fmt.code.start}"):
        assert regex.search(opener, f'{start} {{"name": "f"').span() == (
            min(len(start), 2),
            len(start) + 1,
        )


def test_id_after_the_name_ends_at_the_arguments():
    call_id = {"position": "BETWEEN_FUNC_AND_ARGS", "prefix": "#"}
    opener = calls(PREFIXED.replace(call_id=call_id))["open_pattern"]
    found = regex.match(opener, '<f=get#call-12{"a": 1}')
    assert (found["name"], found["id"]) == ("get", "call-12")
    opener = calls(PREFIXED.replace(call_id=call_id | {"suffix": "!"}))["open_pattern"]
    found = regex.match(opener, "<f=get#[12]!")
    assert (found["name"], found["id"]) == ("get", "[12]")


def test_opener_that_begins_with_a_turn_end_matches_its_rest():
    fmt = HERMES.replace(tools={"per_call_start": "<|im_end|><call>\n", "per_call_end": ""})
    opener = regex.compile(calls(fmt)["open_pattern"])
    assert opener.match(" <|im_end|><call>{")
    text = "<|im_end|><call>{"
    closed = regex.match(calls(fmt)["close_pattern"], text).end()
    assert closed == len("<|im_end|>")
    assert opener.match(text, closed).end() == len("<|im_end|><call>")
    assert opener.match("<call>{") is None


def test_consumed_turn_end_does_not_open_a_call():
    fmt = HERMES.replace(tools={"per_call_start": "<|im_end|>", "per_call_end": ""})
    opener, text = regex.compile(calls(fmt)["open_pattern"]), "{}<|im_end|>"
    assert opener.match(text, 2)
    assert opener.match(text, len(text)) is None


def test_id_before_the_name_precedes_its_markers():
    call_id = {"position": "PRE_FUNC_NAME", "prefix": "#", "suffix": ":"}
    opener = calls(PREFIXED.replace(call_id=call_id))["open_pattern"]
    found = regex.match(opener, '#call-12:<f=get{"a": 1}')
    assert (found["name"], found["id"]) == ("get", "call-12")


def test_id_with_the_name_is_captured_once():
    text = "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>"
    found = regex.fullmatch(calls(get_format("kimi_k2"))["open_pattern"], text)
    assert (found["id"], found["name"]) == ("functions.f:0", "f")
    bare = get_format("kimi_k2").replace(function={"namespace": ""})
    found = regex.fullmatch(calls(bare)["open_pattern"], text)
    assert (found["id"], found["name"]) == ("functions.f:0", "functions.f")


@pytest.mark.parametrize(
    ("fmt", "text", "end"),
    [
        (HERMES, "\n</tool_call>\n", "\n</tool_call>\n"),
        (HERMES, "<|im_end|>", None),
        (ROWS, "</c>", "</c>"),
        (ROWS, "<|im_end|>", None),
        (ROWS.replace(tools={"per_call_end": "</f>"}), "</f>", "</f>"),
        (LIST, " </c> ", " </c> "),
        (LIST, "<|im_end|>", None),
        (HERMES.replace(tools={"array_wrapped": True}), "] </tool_call>", "] </tool_call>"),
        (PREFIXED, " <f=", ""),
        (ROWS.replace(tools={"section_end": ""}), " <c>", ""),
        (LIST.replace(tools={"section_end": ""}), " <c>", ""),
        (PREFIXED.replace(tools={"per_call_start": "\n"}), " <f=", ""),
        (PREFIXED.replace(tools={"section_end": "</c>"}), "<f=", ""),
        (PREFIXED.replace(tools={"section_end": "</c>"}), "</c>", "</c>"),
        (POST, "# call-12 !</f>", "# call-12 !</f>"),
        (POST, "</f>", None),
        (PREFIXED.replace(tools={"per_call_end": "\n", "section_end": "\n"}), " <f=", ""),
        (PREFIXED, "<|im_end|>", "<|im_end|>"),
        (PREFIXED.replace(tools={"per_call_start": "<call>"}), "<call>", ""),
        (PREFIXED.replace(tools={"per_call_start": "<call>"}), "<f=", None),
    ],
)
def test_close_pattern_of_calls(fmt, text, end):
    found = regex.match(calls(fmt)["close_pattern"], text)
    assert (found and found[0]) == end


@pytest.mark.parametrize("fmt", [HERMES, LIST, CODER])
def test_next_call_does_not_close_a_marked_call(fmt):
    text = '} {"name": "f", "arguments": {}}'
    assert regex.compile(calls(fmt)["close_pattern"]).search(text, 1) is None


def test_separator_after_the_last_call_in_a_row_is_content():
    fmt = ROWS.replace(tools={"separator": ";"})
    close = regex.compile(to_response_template(fmt)["fields"]["content"]["close_pattern"])
    assert close.match("</c>; so", len("</c>")) is None
    each = HERMES.replace(tools={"separator": ";"})
    close = regex.compile(to_response_template(each)["fields"]["content"]["close_pattern"])
    assert close.match("</tool_call>; so", len("</tool_call>")).end() == len("</tool_call>; ")


@pytest.mark.parametrize(
    "fmt", [ROWS, ROWS.replace(tools={"per_call_start": "\n"}), UNMARKED, BARS]
)
def test_next_call_in_a_row_closes_the_previous_one(fmt):
    separator = fmt.tools.separator
    field, text = calls(fmt), f'}}{separator}{{"name": "f"'
    assert regex.compile(field["close_pattern"]).match(text, 1).end() == 1
    opened = regex.compile(field["open_pattern"]).match(text, 1)
    assert opened.end() == 1 + len(separator)
    assert regex.search(field["open_pattern"], text.replace("}", "So", 1)) is None


@pytest.mark.parametrize(
    ("fmt", "opened"),
    [(ROWS, False), (UNMARKED, True), (UNMARKED.replace(tools={"array_wrapped": True}), False)],
)
def test_semicolons_separate_only_unmarked_calls(fmt, opened):
    opener = calls(fmt.replace(tools={"separator": ""}))["open_pattern"]
    text = f'}} ; {"[" * fmt.tools.array_wrapped}{{"name": "f"'
    assert (regex.compile(opener).match(text, 1) is not None) is opened
