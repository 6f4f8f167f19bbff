"""Calls in JSON, and the markers around them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from deltaparse import ToolsFormat, analyze, parse
from deltaparse.analyzer.phases import find_json_calls
from deltaparse.analyzer.phases.find_json_calls import (
    JsonInText,
    _counts,
    _holds_argument,
    _inner_list,
    _json_pair,
    _json_with,
    _layout,
    _markers,
    _python_at,
)
from deltaparse.analyzer.probes import ARGUMENT, CALL_IDS, FUNCTIONS, VALUE

from ...strategies.templates import OWN


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('x {"a": ["me"]} y', JsonInText("x ", '{"a": ["me"]}', " y", {"a": ["me"]})),
        ('["you"] ["me"]', JsonInText('["you"] ', '["me"]', "", ["me"])),
        ("{'a': 'me'}!", JsonInText("", "{'a': 'me'}", "!", {"a": "me"}, python=True)),
        ("me", None),
        ("{} me", None),
        ("{me", None),
        ("{}me", None),
        ("{", None),
    ],
)
def test_json_with_returns_the_outermost_value(text, found):
    assert _json_with(text, "me") == found


@pytest.mark.parametrize(
    ("text", "value", "end"),
    [("{'a': None}x", {"a": None}, 11), ("", None, 0), ("?", None, 0), ("{'a'", None, 0)],
)
def test_json_with_accepts_python_literals(text, value, end):
    assert _python_at(text, 0) == (value, end)
    assert _python_at("(" + text, 1) == (value, end and end + 1)


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        ({ARGUMENT: VALUE}, True),
        (json.dumps({ARGUMENT: VALUE}), True),
        (ARGUMENT, False),
        (json.dumps([ARGUMENT]), False),
        ("[" * 99_999 + ARGUMENT, False),
        ({ARGUMENT: ""}, False),
        ("", False),
    ],
)
def test_arguments_may_be_an_object_or_json_text(value, holds):
    assert _holds_argument(value) is holds


@pytest.mark.parametrize(
    ("value", "inner"),
    [
        ({"calls": [1]}, [1]),
        ({"calls": {"a": 1}}, None),
        ({"calls": {"a": [1]}}, None),
        ({"a": 1, "b": [1]}, None),
        ({"a": [1], "b": 1}, None),
        ({'a"[': 1}, None),
        ([[1]], None),
    ],
)
def test_inner_list_is_the_only_member_of_an_object(value, inner):
    found = _inner_list(JsonInText("<", json.dumps(value), ">", value))
    assert (found and found.value) == inner
    if found:
        assert (found.before, found.text, found.after) == ('<{"calls": ', "[1]", "}>")
    assert _inner_list(JsonInText("", json.dumps(value), "", value, python=True)) is None


def test_markers_around_an_array_belong_to_the_section():
    made = _markers("<", None, ">", in_array=True)
    assert (made.section_start, made.section_end, made.per_call_start) == ("<", ">", "")
    made = _markers("<", None, ">", in_array=False)
    assert (made.per_call_start, made.per_call_end, made.section_start) == ("<", ">", "")
    assert _markers("", (";", ""), ";", in_array=False).per_call_end == ";"
    made = _markers("\n", (", \n", ""), "", in_array=False)
    assert (made.section_start, made.separator, made.per_call_start) == ("\n", ", \n", "")
    made = _markers("", ("\n;", ""), "\n", in_array=False)
    assert (made.separator, made.per_call_end, made.section_end) == ("\n;", "", "\n")
    made = _markers(" ", None, "\n", in_array=False)
    assert (made.per_call_start, made.per_call_end, made.section_end) == (" ", "\n", "")


NAME, GIVEN = FUNCTIONS[0], {ARGUMENT: VALUE}


@pytest.mark.parametrize(
    ("value", "layout"),
    [
        (
            {"index": "0", "data": {"tool": NAME, "input": GIVEN}, "meta": {"id": CALL_IDS[0]}},
            ToolsFormat(
                function_field="data",
                name_field="tool",
                arguments_field="input",
                id_field="id",
                field_order=("tool", "input"),
                constants=("index", '"0"'),
            ),
        ),
        (
            [{"name": NAME, "arguments": json.dumps(GIVEN), "meta": {"at": 0}}],
            ToolsFormat(
                array_wrapped=True,
                arguments_as_text=True,
                name_field="name",
                arguments_field="arguments",
                generated_id_field="at",
                field_order=("name", "arguments", "meta"),
            ),
        ),
        ({NAME: GIVEN}, ToolsFormat(name_is_key=True)),
        ({"name": NAME, "args": [{"key": ARGUMENT, "value": VALUE}]}, None),
        ({"call": {"name": NAME}, "arguments": GIVEN}, None),
        ({"calls": [{"name": NAME, "arguments": GIVEN}]}, None),
        ({CALL_IDS[0]: {"name": NAME, "arguments": GIVEN}}, None),
        ({"a": {"b": {"name": NAME, "arguments": GIVEN}}}, None),
        ({"tool": NAME, **GIVEN}, None),
        ([[GIVEN]], None),
        ([json.dumps(GIVEN)], None),
        ([], None),
    ],
)
def test_layout_names_the_keys_of_a_call(value, layout):
    assert _layout(value) == (layout and replace(layout, format="JSON_NATIVE"))


@pytest.mark.parametrize(("value", "counts"), [(0, True), ("0", True), (False, False), (1, False)])
def test_call_counter_starts_at_0(value, counts):
    assert _counts(value) is counts


def test_second_call_outside_json_makes_no_pair():
    assert _json_pair(f'{{"name": "{NAME}"}}, {FUNCTIONS[1]}') is None
    assert _json_pair(f'["{NAME}", {FUNCTIONS[1]}]') is None
    assert _json_pair(f'{{"name": "{NAME}"}}, {{"name": "{FUNCTIONS[1]}"}}') == (", ", "")


@pytest.mark.parametrize(
    ("first", "second", "constants"),
    [
        ({"type": "function"}, {"type": "function"}, ()),
        (
            {"type": "tool_use", "v": 1},
            {"type": "tool_use", "v": 1},
            ("type", '"tool_use"', "v", "1"),
        ),
        ({"id": CALL_IDS[0], "at": 0}, {"id": CALL_IDS[1], "at": 1}, ("at", "")),
        ({"by": {"kind": "Łódź"}}, {"by": {"kind": "Łódź"}}, ("by", '{"kind": "Łódź"}')),
        ({"by": None}, None, ("by", "null")),
    ],
)
def test_constant_members_are_recorded(first, second, constants):
    call = {"name": NAME, "args": GIVEN}
    layout = _layout(first | call, second and second | call)
    assert layout.constants == constants


def test_deeply_nested_json_in_a_call_is_accepted():
    deep = 0
    for _ in range(9_999):
        deep = {"in": deep}
    assert _layout({"name": NAME, "arguments": GIVEN, "deep": deep}).name_field == "name"


NESTED = "{{ '[' * 99999 }}{{ (c.function.arguments.items() | first)[0] }}"
ONE = "{{ c.function | tojson }}"


def template(one, before="", behind="", refuses="", space=""):
    calls = "{% for c in m.tool_calls %}" + one + "{{ ', ' if not loop.last }}{% endfor %}"
    return (
        "{{ tools | tojson if tools }}{% for m in messages %}" + refuses + "<|{{ m.role }}|>"
        "{{ m.content or '' }}{% if m.tool_calls %}"
        + space
        + before
        + calls
        + behind
        + "{% endif %}"
        "<|end|>\n{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )


NAMED = "{% for k, v in c.function.arguments.items() %}ARGUMENT{% endfor %}"
NAMED = '<c>{"name": "{{ c.function.name }}", "arguments": ' + NAMED + "}</c>"


def test_arguments_as_other_text_are_not_understood():
    fmt = analyze(template(NAMED.replace("ARGUMENT", '"' + NESTED + '"')))
    assert fmt.tools.format == "NONE"
    assert any("the function's name and arguments were not found" in one for one in fmt.issues)


def test_non_object_arguments_are_parsed_by_their_markers():
    listed = NAMED.replace("ARGUMENT", '[{"key": "{{ k }}", "value": {{ v | tojson }}}]')
    fmt = analyze(template(listed))
    assert (fmt.verified, fmt.tools.format) == (True, "TAG_WITH_TAGGED")
    read = parse('<c>{"name": "f", "arguments": [{"key": "a", "value": "}]"}]}</c>', fmt)
    assert [(call.name, call.arguments) for call in read.tool_calls] == [("f", '{"a": "}]"}')]


@pytest.mark.parametrize(
    "call",
    [
        '<c>{"of": "call", "name": "fns.{{ c.function.name }}", "arguments": ARGUMENTS}</c>',
        '<c id="{{ c.id }}">{"name": "{{ c.function.name }}", "arguments": ARGUMENTS}</c>',
        '<c n="{{ loop.index }}">{"name": "{{ c.function.name }}", "arguments": ARGUMENTS}</c>',
        '<c>{"name": "{{ c.function.name }}", "arguments": ARGUMENTS}<id>{{ c.id }}</id></c>',
    ],
)
def test_incomplete_json_of_calls_is_treated_as_markers(call):
    source = template(call.replace("ARGUMENTS", "{{ c.function.arguments | tojson }}"))
    fmt = analyze(source)
    assert (fmt.verified, fmt.tools.format) == (True, "TAG_WITH_JSON")
    assert fmt.derived.writes_ids is ("id" in call or "loop" in call)


def test_number_of_brackets_tried_before_a_call_is_limited(monkeypatch):
    tried = []
    read = find_json_calls.json_at
    monkeypatch.setattr(
        find_json_calls, "json_at", lambda *given: tried.append(given) or read(*given)
    )
    assert find_json_calls._json_with("[" * 99_999 + NAME, NAME) is None
    assert len(tried) <= 2 * find_json_calls.MOST_BEGUN  # once as JSON, once as Python
    whole = f'[{{"name": "{NAME}"}}]'
    assert find_json_calls._json_with("{" * 20 + whole, NAME).text == whole


@pytest.mark.parametrize(
    ("refuses", "parallel"),
    [
        ("", True),
        ("{% if m.tool_calls | length > 1 %}{{ raise_exception('one') }}{% endif %}", False),
    ],
)
def test_list_of_calls_in_an_object_is_found(refuses, parallel):
    fmt = analyze(template(ONE, '{"calls": [', "]}", refuses))
    tools = fmt.tools
    assert fmt.verified
    assert (tools.section_start, tools.section_end) == ('{"calls": ', "}")
    assert (tools.supports_parallel_calls, tools.separator) == (parallel, ", " * parallel)


def test_whitespace_between_content_and_calls_is_a_separator():
    space = "{{ '\\n' if m.content }}"
    tools = analyze(template(ONE, space=space)).tools
    assert (tools.content_separator, tools.behind_content) == ("\n", True)
    assert (tools.section_start, tools.per_call_start) == ("", "")


@pytest.mark.parametrize("then", ["", " "])
def test_whitespace_after_each_call_is_not_a_marker(then):
    one = "<c>" + ONE + "{{ '\\n' }}{{ '" + then + "' if not loop.last }}"
    fmt = analyze(template(one).replace("{{ ', ' if not loop.last }}", ""))
    assert fmt.verified
    assert (fmt.tools.per_call_start, fmt.tools.per_call_end) == ("<c>", "")
    assert fmt.tools.separator == then
    fmt = analyze(template(one, "", "{{ '\\n' }}").replace("{{ ', ' if not loop.last }}", ""))
    assert (fmt.verified, fmt.tools.per_call_end) == (True, "")
    # If a marker follows the last call, the whitespace precedes this marker too.
    fmt = analyze(template(one, "<s>", "</s>").replace("{{ ', ' if not loop.last }}", ""))
    assert fmt.verified
    assert (fmt.tools.per_call_end, fmt.tools.section_end) == ("\n", "</s>")


TAGGED = (
    "<f={{ c.function.name }}>{% for k, v in c.function.arguments.items() %}"
    "<a={{ k }}>{{ v if v is string else v | tojson }}</a>{% endfor %}</f>"
)


@pytest.mark.parametrize("separator", [",", ", ", "; ", "\n,\n", "\n---\n", " and "])
@pytest.mark.parametrize("one", [ONE, f"<c>{ONE}</c>", f"<c>\n{ONE}\n</c>", TAGGED])
@pytest.mark.parametrize(("before", "behind"), [("", ""), ("<s>\n", "\n</s>")])
def test_separator_is_the_text_between_calls(one, separator, before, behind):
    source = template(one, before, behind).replace("', ' if", repr(separator) + " if")
    fmt = analyze(source)
    assert fmt.verified
    assert fmt.tools.separator.strip() == separator.strip()


@pytest.mark.parametrize(
    ("before", "behind", "marker", "language"),
    [
        ("Calls:\n```json\n[", "]\n```", "Calls:", "json"),
        ("<c>[", "]</c>", "", ""),
    ],
)
def test_code_block_around_calls_is_detected(before, behind, marker, language):
    fmt = analyze(template(ONE, before, behind))
    assert fmt.verified
    found = fmt.tools.code_block_marker, fmt.tools.code_block_language
    assert found == (marker, language)
    assert fmt.tools.supports_tools
    assert fmt.tools.supports_parallel_calls


def test_changing_member_in_a_list_has_no_constant():
    one = '{"at": {{ loop.index }}, "name": "{{ c.function.name }}", "arguments": '
    fmt = analyze(template(one + "{{ c.function.arguments | tojson }}}", "<c>[", "]</c>"))
    assert fmt.tools.constants == ("at", "")


def test_marker_may_begin_like_a_list_of_calls():
    tools = analyze(template(ONE, "[c][", "]")).tools
    assert (tools.section_start, tools.behind_content) == ("[c]", False)


def test_separator_for_calls_without_content_is_the_gap():
    source = template(ONE, "{{ '\\n' }}<c>", "</c>")
    fmt = analyze(source.replace("m.content or ''", "m.content if not m.tool_calls"))
    assert fmt.tools.content_separator == "\n"


def test_whitespace_before_content_does_not_belong_to_calls():
    fmt = analyze(OWN.content_in_parts)
    assert (fmt.content.start, fmt.tools.section_start) == (" ", "")
