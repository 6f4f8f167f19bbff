"""Tests of reading the field of calls from a response template."""

from __future__ import annotations

import copy

import pytest

from deltaparse import FormatError, from_response_template, parse

from ....strategies.response_templates import CODER, GEMMA, MISTRAL, NAMED, QWEN


def calls(template, **changes):
    """Return the format of a template with a changed field of calls."""
    made = copy.deepcopy(template)
    field = made["fields"]["tool_calls"]
    if "close_pattern" in changes:
        field.pop("close", None)
    field.update(changes)
    return from_response_template(made)


def tagged(pattern, **options):
    return calls(CODER, content_args={"tag_pattern": pattern, **options}).arguments


def test_optional_namespace_before_the_name():
    opener = r"<tool_call>(?:functions\.)?(?P<name>\w+)<sep>"
    fmt = calls(CODER, content="json", content_args={}, open_pattern=opener)
    assert fmt.function.namespace == "functions."
    assert (fmt.tools.per_call_start, fmt.function.name_suffix) == ("<tool_call>", "<sep>")
    opener = r"(?:<calls>)?(?:functions\.)?(?P<name>\w+)"
    fmt = calls(CODER, content="json", content_args={}, open_pattern=opener)
    assert (fmt.tools.section_start, fmt.function.namespace) == ("<calls>", "functions.")


@pytest.mark.parametrize(
    "opener",
    [
        r"<tool_call>(?P<name>\w+)(?:now)?<sep>",
        r"<tool_call>(?P<name>\w+)<sep>(?:now)?",
        r"(?:<calls>)?(?:now)?<tool_call>(?P<name>\w+)<sep>",
        r"<tool_call>(?:now)?(?P<id>\w+)<sep>(?P<name>\w+)",
    ],
)
def test_other_optional_text_in_an_opener_raises(opener):
    with pytest.raises(FormatError, match="optional text 'now' is not supported"):
        calls(CODER, open_pattern=opener)


def test_calls_without_a_parser_raise():
    template = copy.deepcopy(QWEN)
    del template["fields"]["tool_calls"]["content"]
    with pytest.raises(FormatError, match="content must be 'json' or 'xml-inline', not 'text'"):
        from_response_template(template)


@pytest.mark.parametrize(
    ("opener", "position", "prefix", "suffix", "name_suffix"),
    [
        (r"<call>(?P<id>\d+):(?P<name>\w+)>", "PRE_FUNC_NAME", "", ":", ">"),
        (r"<call>(?P<name>\w+):\s*(?P<id>\d+)>", "BETWEEN_FUNC_AND_ARGS", ":\n", ">", ""),
        (r"<call>(?P<name>\w+)>", "NONE", "", "", ">"),
        (r"<call>(?P<name>\w+)\s*>", "NONE", "", "", ">"),
        (r"<call>(?P<name>\w+)\s*", "NONE", "", "", ""),
    ],
)
def test_id_before_or_after_the_name(opener, position, prefix, suffix, name_suffix):
    transform = NAMED | ({"id": "{id}"} if "id" in opener else {})
    fmt = calls(
        CODER,
        content="json",
        content_args={},
        open_pattern=opener,
        close_pattern="</call>",
        transform=transform,
    )
    assert fmt.call_id.position == position
    assert (fmt.call_id.prefix, fmt.call_id.suffix) == (prefix, suffix)
    assert fmt.function.name_suffix == name_suffix


@pytest.mark.parametrize(
    ("pattern", "starts", "ends"),
    [
        (r"<(?P<key>\w+)>(?:\[\[)?(?P<value>.*?)(?:\]\])?</p>", "[[", "]]"),
        (r"<(?P<key>\w+)>(?:\[\[)?(?P<value>.*?)</p>", "[[", ""),
        (r"<(?P<key>\w+)>(?P<value>.*?)(?:\]\])?</p>", "", "]]"),
        (r"<(?P<key>\w+)>(?P<value>.*?)</p>", "", ""),
    ],
)
def test_optional_delimiters_of_a_value_are_escapes(pattern, starts, ends):
    arguments = tagged(pattern)
    assert (arguments.escape_start, arguments.escape_end) == (starts, ends)
    assert (arguments.name_prefix, arguments.name_suffix) == ("<", ">")
    assert arguments.value_suffix == "</p>\n"


@pytest.mark.parametrize(
    "pattern",
    [
        r"<(?P<key>\w+)>(?P<value>.*?)</p>(?:;)?",
        r"(?:;)?<(?P<key>\w+)>(?P<value>.*?)</p>",
        r"<(?P<key>\w+)>(?:;)?\n<v>(?P<value>.*?)</p>",
    ],
)
def test_optional_text_away_from_the_value_raises(pattern):
    with pytest.raises(FormatError, match="optional text ';'"):
        tagged(pattern)


@pytest.mark.parametrize(
    ("parser", "quoted"),
    [
        (None, False),
        ({"name": "text"}, False),
        ({"name": "json"}, True),
        ({"name": "json", "args": {}}, True),
        ({"name": "json", "args": {"allow_non_json": False}}, True),
        ({"name": "json", "args": {"allow_non_json": True}}, False),
        ({"name": "text", "args": {"allow_non_json": False}}, False),
    ],
)
def test_strict_json_values_are_quoted_strings(parser, quoted):
    arguments = tagged(r"<(?P<key>\w+)>(?P<value>.*?)</p>", value_parser=parser)
    assert arguments.quoted_strings is quoted


@pytest.mark.parametrize(
    ("close", "per_call_end", "ends"),
    [
        (r"</tool_call>|\Z", "\n</tool_call>", ()),
        (r"</tool_call>|<eot>|\Z", "\n</tool_call>", ("<eot>",)),
        (r"<\|im_end\|>|\Z", "", ()),
        (r"</tool_call>|(?=<tool_call>)", "\n</tool_call>", ()),
        (r"<over>|(?=<tool_call>)", "", ()),
        (r"<over>(?:</calls>)?|(?=<tool_call>)", "\n<over>", ()),
        (r"\Z", "", ()),
        (r"<over>", "\n<over>", ()),
    ],
)
def test_close_of_json_ends_the_call_or_the_turn(close, per_call_end, ends):
    fmt = calls(QWEN, close_pattern=close)
    assert fmt.tools.per_call_end == per_call_end
    assert fmt.turn.ends == ("<|im_end|>", "<|endoftext|>", *ends)


@pytest.mark.parametrize(
    "changes",
    [
        {"open_pattern": r"(?:<a>)?<b>\s*<c>"},
        {"open_pattern": r"<a>(?P<id>\w+)<b>"},
        {"close_pattern": r"</c>\s*</b>(?:</a>)?"},
    ],
)
def test_json_calls_with_three_markers_raise(changes):
    with pytest.raises(FormatError, match="must be between markers, at most two"):
        calls(QWEN, **changes)


@pytest.mark.parametrize("template", [QWEN, CODER])
def test_three_closing_markers_of_a_call_raise(template):
    with pytest.raises(FormatError, match="more than two closing markers"):
        calls(template, close_pattern=r"</c>\s*</b>\s*</a>")


def test_close_of_json_in_tags_is_unchanged():
    fmt = calls(CODER, content="json", content_args={}, close_pattern="</tool_call>")
    assert (fmt.function.close, fmt.tools.per_call_end) == ("", "</tool_call>")


@pytest.mark.parametrize(
    "options",
    [
        {"string_delims": [["'", "'"]]},
        {"unquoted_keys": True},
        {"string_delims": [["<", ">"]], "unquoted_keys": True},
        {"string_delims": [["'", "'"], ["`", "`"]], "unquoted_keys": True},
        {"string_delims": [["'"]], "unquoted_keys": True},
        {"string_delims": [3], "unquoted_keys": True},
        {"string_delims": [["'", "'"]], "unquoted_keys": True, "allow_non_json": True},
    ],
)
def test_unsupported_options_of_json_in_tags_raise(options):
    with pytest.raises(FormatError, match=r"content_args \{.*\} cannot be expressed"):
        calls(GEMMA, content_args=options)
    known = {"string_delims": [["'", "'"]], "unquoted_keys": True}
    assert calls(GEMMA, content_args=known).arguments.quote == "'"


TAG = CODER["fields"]["tool_calls"]["content_args"]


@pytest.mark.parametrize(
    ("template", "options", "key"),
    [
        (QWEN, 3, "content_args"),
        (GEMMA, "strict", "content_args"),
        (CODER, [TAG], "content_args"),
        (CODER, TAG | {"value_parser": "json"}, "value_parser"),
        (CODER, TAG | {"value_parser": {"name": "json", "args": [1]}}, "args"),
    ],
)
def test_options_other_than_objects_raise(template, options, key):
    with pytest.raises(FormatError, match=f"'tool_calls': {key} must be an object, not "):
        calls(template, content_args=options)


def test_call_nested_two_levels_deep_raises():
    function = {"name": "{content.a.b.name}", "arguments": "{content.a.b.args}"}
    with pytest.raises(FormatError, match="name and arguments must be in the same object"):
        calls(QWEN, transform={"function": function})


def test_nested_id_raises():
    transform = {"function": "{content}", "id": "{content.meta.nr}"}
    with pytest.raises(FormatError, match=r"must be a key of the call, not 'meta\.nr'"):
        calls(QWEN, transform=transform)


def test_list_of_calls_with_content_as_function_raises():
    with pytest.raises(FormatError, match="transform must contain a function"):
        calls(MISTRAL, transform={"type": "function", "function": "{content}"})


def test_path_of_the_id_is_its_key():
    function = {"name": "{content.fn.name}", "arguments": "{content.fn.args}"}
    transform = {"type": "function", "function": function, "id": "{content.id}"}
    tools = calls(QWEN, transform=transform).tools
    assert (tools.function_field, tools.name_field, tools.arguments_field) == ("fn", "name", "args")
    assert (tools.id_field, tools.field_order) == ("id", ("name", "args", "id"))


def test_list_of_calls_between_two_markers():
    function = {"name": "{name}", "arguments": "{arguments}"}
    fmt = calls(
        QWEN,
        open_pattern=r"<calls>\s*<tool_call>",
        close_pattern=r"</tool_call>\s*</calls>",
        repeats=False,
        transform_each=True,
        transform={"type": "function", "function": function},
    )
    tools = fmt.tools
    assert (tools.section_start, tools.section_end) == ("<calls>", "</calls>")
    assert (tools.per_call_start, tools.per_call_end) == ("<tool_call>\n", "\n</tool_call>")
    assert (tools.separator, tools.array_wrapped) == (", ", True)


def test_section_start_may_be_the_only_opener():
    options = {"open_pattern": r"(?:<c>)?(?P<name>\w+)<sep>", "close_pattern": r"\Z"}
    fmt = calls(CODER, content="json", content_args={}, **options)
    assert (fmt.tools.section_start, fmt.tools.per_call_start) == ("<c>", "")
    # For arguments in tags, the closing tag is known.
    assert calls(CODER, **options).tools.per_call_end == "</c>"


@pytest.mark.parametrize(
    ("outer", "close", "ends"),
    [
        ("<tool_call>", "<x>\\s*<y>", ("<x>\n", "<y>")),
        ("<tool_call>", "<over>", ("</function>\n", "<over>")),
        (r"\[call\]", "<over>", ("</function>\n", "<over>")),
        ("<tool_call>", r"\Z", ("</function>\n", "</tool_call>")),
        ("", "<over>", ("</function>\n", "<over>")),
    ],
)
def test_missing_closing_tags_are_added(outer, close, ends):
    opener = rf"{outer}\s*<function=(?P<name>[^>\n]+)>"
    fmt = calls(CODER, open_pattern=opener, close_pattern=close)
    assert (fmt.function.close, fmt.tools.per_call_end) == ends


def test_close_of_the_inner_tag_ends_the_call():
    fmt = calls(CODER, close_pattern="</function>")
    assert (fmt.function.close, fmt.tools.per_call_end) == ("", "</function>")


def test_invalid_path_raises_with_its_role():
    with pytest.raises(
        FormatError, match="transform must have one path in braces for the name, not 3"
    ):
        calls(CODER, transform={"function": {"name": 3, "arguments": "{content}"}})


MESSAGES = {
    "start_anchor": "<|start|>assistant",
    "fields": {
        "thinking": {"open": "<|think|>", "close": "<|end|><|start|>assistant"},
        "content": {"open": "<|final|>", "close": ["<|return|>", "<|call|>"]},
        "tool_calls": {
            "open_pattern": r" to=(?P<name>[^\s<]+)<\|message\|>",
            "close": ["<|end|><|start|>assistant", "<|call|>"],
            "repeats": True,
            "content": "xml-inline",
            "content_args": {"tag_pattern": r'<p name="(?P<key>[^"]+)">(?P<value>.*?)</p>'},
            "transform": {
                "type": "function",
                "function": {"name": "{name}", "arguments": "{content}"},
            },
        },
    },
}


@pytest.mark.parametrize(
    "made",
    [
        "C<|call|>",
        "C<|end|><|start|>assistantC<|call|>",
        "<|think|>Hm<|end|><|start|>assistantC<|call|>",
        "C<|end|><|start|>assistant<|think|>Hm<|end|><|start|>assistantC<|call|>",
        "C<|end|><|start|>assistant<|final|>Hi<|return|>",
    ],
)
def test_end_of_a_message_or_the_turn_ends_a_call(made):
    fmt = from_response_template(MESSAGES)
    text = made.replace("C", ' to=f<|message|><p name="a">x</p>')
    message = parse(text, fmt, prompt="<|start|>assistant", finish_reason="stop")
    expected = [("f", '{"a": "x"}', True)] * made.count("C")
    assert [(one.name, one.arguments, one.complete) for one in message.tool_calls] == expected
    assert message.reasoning_content == "Hm" * ("Hm" in made)
    assert (message.content, [*message.issues]) == ("Hi" * ("Hi" in made), [])
    assert fmt.turn.several_messages
    assert fmt.turn.ends == ("<|call|>", "<|end|>")
