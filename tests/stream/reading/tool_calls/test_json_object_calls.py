"""Calls as JSON objects."""

from __future__ import annotations

import pytest

from deltaparse import Policies, StreamParser, WireFormat, get_format
from deltaparse.stream.tokens.traced_parser import TracedParser

from ....hangs import no_hang
from ....strategies.wire_by_hand import KEYED, LIST, TAGS, UNMARKED, calls, fed, kinds


def test_number_after_a_possible_marker_does_not_hang():
    fmt = WireFormat().replace(
        tools={
            "format": "JSON_NATIVE",
            "name_is_key": True,
            "array_wrapped": True,
            "per_call_start": "[do]",
            "per_call_end": "[/do]",
        }
    )
    arguments = '{"open": "[", "small": 2.5e-07, "yes": true}'
    with no_hang():
        message = fed(fmt, f'[do][{{"f": {arguments}}}][/do]').message
    assert [call.arguments for call in message.tool_calls] == [arguments]


@pytest.mark.parametrize("policy", ["repair", "strict"])
@pytest.mark.parametrize("key", ['"arguments"', '"other"'])
def test_key_without_a_colon_is_reported(policy, key):
    text = f'<tool_calls>[{{"name": "f", {key}w: 1}}]</tool_calls>'
    parser = StreamParser(get_format("apriel"), policies=Policies(malformed_arguments=policy))
    for char in text:
        parser.feed(char)
    parser.finish("stop")
    (issue,) = [issue for issue in parser.issues if issue.kind != "missing_arguments"]
    assert f"{key}w" in issue.detail


OBJECT = '{"name": "f", "arguments": {}}'


@pytest.mark.parametrize(
    ("separator", "between", "several"),
    [
        ("", ",", True),
        ("", "\n", True),
        ("", ",,", False),
        (", ", ",", True),
        (", ", " , ", True),
        (", ", ",,", False),
        (";;", ";;", True),
        (";;", ", ;; ", True),
        (";;", ";", False),
        (";;", ";;;", False),
    ],
)
@pytest.mark.parametrize("fmt", [LIST, TAGS], ids=["list", "tags"])
def test_separator_between_two_calls_is_checked(fmt, separator, between, several):
    fmt = fmt.replace(tools={"separator": separator})
    start, end = ("[CALLS][", "]") if fmt.tools.array_wrapped else ("<call>\n", "\n</call>")
    parser = fed(fmt, start + OBJECT + between + OBJECT + end)
    assert len(parser.message.tool_calls) == 1 + several
    assert bool(parser.message.content) != several


def test_first_id_counts():
    parser = fed(TAGS, '<call>\n{"id": "1", "id": "2", "name": "f", "arguments": {}}\n</call>')
    assert parser.message.tool_calls[0].id == "1"
    assert "id (again)" in parser.issues[0].detail


@pytest.mark.parametrize("policy", ["repair", "strict"])
@pytest.mark.parametrize("value", ["tr", "[1", '"x', '{"a": '])
def test_truncated_member_ends_the_call(value, policy):
    policies = Policies(malformed_arguments=policy)
    text = f'<call>\n{{"name": "f", "x": {value}'
    parser = fed(TAGS, text, "length", policies=policies)
    assert parser.issues[0].kind == "truncated_call"
    assert [tried.status for tried in parser.attempts] == ["truncated"]
    whole = f'<call>\n{{"name": "f", "arguments": {{}}, "x": {value}'
    (call,) = fed(TAGS, whole, "length", policies=policies).message.tool_calls
    assert call.complete


def test_held_call_is_emitted_before_its_closing_brace():
    parser = StreamParser(TAGS, policies=Policies(malformed_arguments="text"))
    for chunk in ('<call>\n{"name": "f", ', '"arguments": {"a": ', "1"):
        assert parser.feed(chunk) == []
    made = parser.feed("}")
    assert "".join(delta.arguments for delta in made) == '{"a": 1}'


def test_truncated_id_is_not_used():
    fmt = TAGS.replace(tools={"id_field": "id"})
    text = '<call>\n{"name": "f", "arguments": {"a": 1}, "id": "7'
    parser = fed(fmt, text, "length", id_factory=lambda _: "made")
    (call,) = parser.message.tool_calls
    assert (call.id, call.complete, kinds(parser)) == ("made", True, ["unused_member"])


def test_truncated_constant_member_is_reported():
    fmt = TAGS.replace(tools={"constants": ("v", "1", "at", "")})
    text = '<call>\n{"name": "f", "arguments": {}, "at": "x'
    assert kinds(fed(fmt, text, "length")) == ["unused_member"]
    assert kinds(fed(fmt, f'{text}"}}\n</call>')) == []


def test_constant_members_may_precede_the_name():
    fmt = UNMARKED.replace(tools={"constants": ("v", "1", "at", "2")})
    text = '{"v": 1, "at": 2, "name": "f", "parameters": {}}'
    assert calls(fed(fmt, text, tools=F)) == [("f", "{}")]


def test_rejected_object_before_a_call_is_content():
    for odd in ('<call>\n{"f": {}}\n</call>', '<call>\n{"name": 1}\n</call>'):
        parser = fed(TAGS, f'{odd}\n<call>\n{{"name": "f", "arguments": {{"a": 1}}}}\n</call>')
        assert (calls(parser), parser.message.content) == ([("f", '{"a": 1}')], odd)
        assert [tried.status for tried in parser.attempts] == ["not_a_call", "complete"]


def test_whitespace_after_a_truncated_list_is_not_reported():
    for end, told in (("", []), (" ", []), ("\n\n", []), (", ", ["cut_marker"])):
        parser = fed(LIST, f'[CALLS][{{"name": "f", "arguments": {{}}}}{end}', "length")
        assert (calls(parser), kinds(parser)) == ([("f", "{}")], told)


@pytest.mark.parametrize(
    ("fmt", "text", "names"),
    [
        (KEYED, '<|calls|>[{"f": {"a": 1}}, {"g": {"f": 2}}]', ["f", "g"]),
        (KEYED, '<|calls|>[{"x": 1, "f": {"a": 1}, "id": 5}]', ["f"]),
        (KEYED.replace(tools={"id_field": "id"}), '<|calls|>[{"f": {"a": 1}, "id": "7"}]', ["f"]),
        (TAGS, '<call>\n{"name": "name", "arguments": {}}\n</call>', ["name"]),
        (TAGS, '<call>\n{"x": 1, "name": "f", "arguments": {}}\n</call>', ["f"]),
        (TAGS, '<call>\n{"arguments": {}, "name": "arguments"}\n</call>', ["arguments"]),
        (TAGS, '<call>\n{"name":":", "arguments": {}}\n</call>', [":"]),
        (TAGS, 'Hi <call>\n{"name": "name", "arguments": {}}\n</call>', ["name"]),
        (KEYED, 'Hi there <|calls|>[{"calls": {"a": 1}}]', ["calls"]),
    ],
)
@pytest.mark.parametrize("size", [100, 1])
def test_role_spans_locate_the_names(fmt, text, names, size):
    parser = TracedParser(fmt)
    for at in range(0, len(text), size):
        parser.feed(text[at : at + size])
    parser.finish()
    spans = [span for span in parser.role_spans if span.role == "name"]
    assert [text[span.start : span.end] for span in spans] == names
    if len(names) == 1:
        assert spans[0].start == text.rindex(f'"{names[0]}"') + 1


@pytest.mark.parametrize("value", ["true", "-12.5", '"a\\u00e9"', '{"b": [null, 1]}'])
def test_truncated_member_after_a_call_is_reported_completely(value):
    begun = '<tool_call>{"name": "f", "arguments": {}, '
    member = f'"xyz": {value}'
    for cut in range(member.index(":") + 2, len(member)):
        parser = fed(get_format("hermes"), begun + member[:cut], reason="length")
        (call,) = parser.message.tool_calls
        assert (call.arguments, call.complete) == ("{}", True)
        (issue,) = parser.issues
        assert issue.kind == "unused_member"
        assert issue.detail.endswith(repr("xyz: " + member[len('"xyz": ') : cut]))


BOTH = '[CALLS][{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}] x'


@pytest.mark.parametrize(
    ("text", "tools", "called"),
    [
        (BOTH, ["h"], []),
        (BOTH.replace(" x", "} x"), ["h"], []),
        (BOTH, ["g"], ["g"]),
        (BOTH, ["f"], ["f"]),
    ],
)
def test_text_calls_of_a_list_are_emitted_once(text, tools, called):
    options = {"tools": [{"name": name} for name in tools]}
    parser = fed(LIST, text, policies=Policies(unknown_tool="text"), **options)
    assert [call.name for call in parser.message.tool_calls] == called
    if not called:
        assert parser.message.content == text
    assert parser.message.content.count('"name"') == 2 - len(called)
    assert parser.message.content.endswith(" x")


@pytest.mark.parametrize("known", [True, False])
def test_extra_brackets_are_dropped_unless_the_call_is_text(known):
    text = '<call>\n{"name": "f", "arguments": {}}}]\n</call> x'
    policies = Policies(unknown_tool="text")
    parser = fed(TAGS, text, tools=[{"name": "f" if known else "g"}], policies=policies)
    assert parser.message.content == (" x" if known else text)
    left_out = [issue.detail for issue in parser.issues if issue.kind == "repaired_arguments"]
    assert left_out == ["left out: '}]'"] * known


@pytest.mark.parametrize(
    ("value", "made"),
    [("5", "5"), ("-1.5e3", "-1.5e3"), ('"a"', "a"), ("null", None), ("true", None)],
)
def test_id_is_a_string_or_a_number(value, made):
    fmt = TAGS.replace(tools={"id_field": "id"})
    parser = fed(fmt, f'<call>\n{{"id": {value}, "name": "f", "arguments": {{}}}}\n</call>')
    (call,) = parser.message.tool_calls
    assert (call.name, call.arguments, call.complete) == ("f", "{}", True)
    assert call.id == made or made is None
    assert call.id not in ("null", "true")


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ('{"function": {"name": "f", "arguments": {}}}', True),
        ('{"function": {"function": {"name": "f", "arguments": {}}}}', False),
        ('{"function": [1], "name": "f", "arguments": {}}', True),
        ('{"function": "f", "arguments": {}}', True),
    ],
)
def test_function_is_nested_in_one_object_at_most(text, called):
    parser = fed(TAGS, f"<call>\n{text}\n</call>")
    assert [(call.name, call.arguments) for call in parser.message.tool_calls] == [
        ("f", "{}")
    ] * called


def test_bare_arguments_are_the_first_call():
    asked = {"type": "function", "function": {"name": "f"}}
    options = {"calls": "json", "tools": [{"name": "f"}], "tool_choice": asked}
    parser = fed(TAGS, '{"a": 1}', **options)
    assert [(call.name, call.arguments) for call in parser.message.tool_calls] == [
        ("f", '{"a": 1}')
    ]


@pytest.mark.parametrize("arguments", ["", "'arguments': {}, "])
def test_truncated_key_of_a_repaired_object_is_reported(arguments):
    text = f"<call>\n{{'name': 'f', {arguments}'odd'"
    parser = fed(TAGS, text, "length")
    assert any("odd" in issue.detail for issue in parser.issues)
    (call,) = parser.message.tool_calls
    assert (call.arguments, call.complete) == (("{}", True) if arguments else ("", False))


def test_empty_list_is_reported():
    parser = fed(LIST, "[CALLS][] x")
    assert "]" not in parser.message.content
    (issue,) = [issue for issue in parser.issues if issue.kind == "no_calls"]
    assert issue.detail == "the list of calls is empty: '[CALLS][]'"


def test_nested_function_object_is_repaired():
    parser = fed(TAGS, "<call>\n{'function': {'name': 'f', 'arguments': {}}}\n</call>")
    assert [(call.name, call.arguments) for call in parser.message.tool_calls] == [("f", "{}")]


MEMBERS = {"f": '"f": {"a": 1}', "g": ', "g": {}', "h": ',\n"h": {"b": "}"}'}


@pytest.mark.parametrize("known", ["", "f", "g", "h", "fg", "fh", "gh"])
def test_each_call_in_one_object_may_be_content(known):
    text = f"<|calls|>[{{{''.join(MEMBERS.values())}}}]<|/calls|>"
    options = {
        "tools": [{"type": "function", "function": {"name": name}} for name in (*known, "x")],
        "policies": Policies(unknown_tool="text"),
    }
    message = fed(KEYED, text, **options).message
    assert "".join(call.name for call in message.tool_calls) == known
    for name, member in MEMBERS.items():
        assert (member in message.content) is (name not in known)

    parser = TracedParser(KEYED, **options)
    parser.feed(text)
    parser.finish("stop")
    shown = {"name": "", "content": ""}
    for start, end, role in parser.role_spans:
        shown[role] = shown.get(role, "") + text[start:end]
    assert (shown["name"], shown["content"]) == (known, message.content)
    assert [(made.name, made.span[1]) for made in parser.attempts[:2]] == [
        (name, text.index(MEMBERS[name]) + len(MEMBERS[name])) for name in "fg"
    ]


def test_text_after_a_list_of_calls_is_not_buffered():
    parser = StreamParser(LIST)
    parser.feed("[CALLS][" + ", ".join(['{"name": "f", "arguments": {}, "id": "1"}'] * 3) + "]")
    parser.feed(" and some words\n" * 100)
    assert parser.held <= 1


F = [{"name": "f"}]
LISTED = UNMARKED.replace(tools={"array_wrapped": True})


def test_null_type_is_not_reported():
    parser = fed(TAGS, '<call>\n{"type": null, "name": "f", "arguments": {}}\n</call>')
    assert (calls(parser), parser.issues) == ([("f", "{}")], [])


def test_unmarked_empty_list_is_content():
    parser = fed(LISTED, "[] x", tools=F)
    assert (parser.message.content, parser.issues) == ("[] x", [])


def test_marker_after_an_unclosed_list_starts_new_calls():
    parser = fed(TAGS, f"<call>\n[{OBJECT}\n</call>\n<call>\n{OBJECT}]\n</call>")
    assert calls(parser) == [("f", "{}")] * 2
    assert [issue.detail for issue in parser.issues] == ["left out: ']'"]


@pytest.mark.parametrize("rest", ["}]", "]", "}"])
def test_extra_brackets_are_kept_by_a_policy(rest):
    strict = Policies(malformed_arguments="strict")
    parser = fed(TAGS, f"<call>\n{OBJECT}{rest}\n</call> x", policies=strict)
    assert parser.message.content == f"{rest}\n</call> x"
    assert [issue.kind for issue in parser.issues] == ["text_after_tool_call", "cut_marker"]


def test_unopened_bracket_is_reported():
    parser = fed(TAGS, f"<call>\n{OBJECT}]\n</call>x")
    assert parser.message.content == "x"
    assert ("repaired_arguments", "left out: ']'") in [
        (issue.kind, issue.detail) for issue in parser.issues
    ]


def test_only_brackets_are_dropped():
    parser = fed(TAGS, f"<call>\n{OBJECT}}}x\n</call>")
    assert parser.message.content == "x\n"
    assert parser.issues[0].detail == "left out: '}'"


def test_extra_brackets_of_unmarked_calls_do_not_hang():
    fmt = WireFormat().replace(
        tools={
            "format": "JSON_NATIVE",
            "name_field": "name",
            "arguments_field": "arguments",
            "array_wrapped": True,
        }
    )
    with no_hang():
        parser = fed(fmt, f"[{OBJECT}}}]", tools=F)
    assert (calls(parser), parser.message.content) == ([("f", "{}")], "")
    assert [issue.detail for issue in parser.issues] == ["left out: '}]'"]


def test_bracket_after_a_separator_is_dropped_with_it():
    parser = fed(TAGS, f"<call>\n{OBJECT} ,]\n</call>x")
    assert (calls(parser), parser.message.content) == ([("f", "{}")], "x")
    assert parser.issues[0].detail == "left out: ',]'"


def test_separator_before_a_bracket_marker_is_content():
    fmt = LIST.replace(tools={"section_end": "}}end"})
    parser = fed(fmt, f"[CALLS]{OBJECT} ,}}}}end")
    assert (calls(parser), parser.message.content) == ([("f", "{}")], " ,")


@pytest.mark.parametrize("cut", [2, 3])
def test_brackets_that_start_a_marker_are_a_truncated_marker(cut):
    fmt = LIST.replace(tools={"section_end": "}}end"})
    parser = fed(fmt, f"[CALLS]{OBJECT}{'}}end'[:cut]}", "length")
    assert [issue.kind for issue in parser.issues] == ["cut_marker"]
    assert parser.message.content == ""


@pytest.mark.parametrize("space", ["", " \n "])
def test_calls_after_a_separator_share_one_marker(space):
    fmt = TAGS.replace(tools={"separator": ";;"})
    parser = fed(fmt, f"<call>\n{OBJECT};;{space}{OBJECT}\n</call>")
    assert (calls(parser), parser.issues) == ([("f", "{}")] * 2, [])


@pytest.mark.parametrize(
    ("members", "kind", "left"),
    [
        ("'arguments': {}, ]", "repaired_arguments", "]"),
        ("]", "malformed_arguments", "]"),
        ("'arguments': {} = }", "repaired_arguments", "= }"),
    ],
)
def test_unrepairable_object_reports_the_rest(members, kind, left):
    parser = fed(TAGS, f"<call>\n{{'name': 'f', {members}\n</call>")
    assert parser.message.content == ""
    assert [call.name for call in parser.message.tool_calls] == ["f"]
    issue = parser.issues[0]
    assert (issue.kind, issue.detail.endswith(f"not emitted: {left!r}")) == (kind, True)


@pytest.mark.parametrize("rest", ['"name": "g", "x": 1}', '"name": "g"} y'])
def test_unknown_name_after_arguments_rejects_the_object(rest):
    text = '{"parameters": {"a": 1}, ' + rest
    parser = fed(UNMARKED, text, tools=F)
    assert (calls(parser), parser.message.content) == ([], text)
    (tried,) = parser.attempts
    assert (tried.name, tried.status, tried.detail) == ("g", "unknown_tool", "it is text")


@pytest.mark.parametrize(
    "members", ['"name": "g", ', '"function": "g", ', '"x": 1, "function": "g", ']
)
def test_first_name_counts(members):
    parser = fed(TAGS, f'<call>\n{{"name": "f", {members}"arguments": {{}}}}\n</call>')
    assert calls(parser) == [("f", "{}")]
    (issue,) = parser.issues
    assert issue.kind == "unused_member"
    assert "g" in issue.detail


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"name": "f", "parameters": 5}', "parameters"),
        ('{"name": "f", "parameters": []}', "parameters"),
        ('{"name": "f", "x": 5, "parameters": {}}', "x"),
        ('{"name": "f", "x": "5", "parameters": {}}', "x"),
        ('{"name": "f", "id": true, "parameters": {}}', "id"),
    ],
)
def test_other_members_before_arguments_break_an_unmarked_call(text, key):
    fmt = UNMARKED.replace(tools={"id_field": "id"})
    parser = fed(fmt, text, tools=F)
    assert [tried.status for tried in parser.attempts] == ["broken"]
    assert parser.issues[0].kind == "malformed_arguments"
    assert parser.issues[0].detail.startswith(repr(key))
    assert parser.message.content in text.partition(f'"{key}": ')[2]
    assert parser.message.content


@pytest.mark.parametrize("member", ['"x": "5"', '"id": true', '"parameters": {}, "id": true'])
def test_unmarked_object_that_starts_with_other_members_is_text(member):
    text = f'{{{member}, "name": "f"}}'
    parser = fed(UNMARKED.replace(tools={"id_field": "id"}), text, tools=F)
    assert (calls(parser), parser.message.content) == ([], text)


def test_other_members_after_the_arguments_are_reported():
    fmt = UNMARKED.replace(tools={"id_field": "id"})
    parser = fed(fmt, '{"name": "f", "parameters": {}, "id": true}', tools=F)
    assert calls(parser) == [("f", "{}")]
    (issue,) = parser.issues
    assert issue.detail == "not emitted in the call of 'f': 'id: true'"


def test_repeated_unknown_member_is_reported():
    text = '<call>\n{"x": 1, "x": 2, "name": "f", "arguments": {}}\n</call>'
    (issue,) = fed(TAGS, text).issues
    assert issue.detail == "not emitted in the call of 'f': 'x: 1, x: 2'"


@pytest.mark.parametrize("tools", [None, [{"name": "f"}]])
def test_null_arguments_of_an_unmarked_call_are_empty(tools):
    parser = fed(UNMARKED, '{"name": "f", "parameters": null}', tools=tools)
    assert (calls(parser), parser.message.content, parser.issues) == ([("f", "{}")], "", [])


def test_text_kept_as_content_is_not_reported_as_dropped():
    text = '{"name": "f", "parameters": {"a": 1} x} y'
    parser = fed(
        UNMARKED, text, tools=[{"name": "f"}], policies=Policies(malformed_arguments="strict")
    )
    broken, behind = parser.issues
    assert broken.detail == "no comma in the call of 'f'; the text after it is content"
    assert (parser.message.content, behind.kind) == ("x} y", "text_after_tool_call")


@pytest.mark.parametrize("chunked", [list, lambda text: [text]])
@pytest.mark.parametrize(
    ("listed", "made", "left_out"),
    [
        ('{"f": {"a": 1}, "": {"b": 2}}', [("f", '{"a": 1}')], ': {"b": 2}'),
        (
            '{"f": {"a": 1}, "": {"b": {"c": 3}}, "g": {"d": 4}}',
            [("f", '{"a": 1}'), ("g", '{"d": 4}')],
            ': {"b": {"c": 3}}',
        ),
    ],
)
def test_empty_key_does_not_name_a_call(chunked, listed, made, left_out):
    parser = StreamParser("apertus")
    for chunk in chunked(f"<|tools_prefix|>[{listed}]<|tools_suffix|>"):
        parser.feed(chunk)
    parser.finish("stop")
    assert (calls(parser), parser.message.content) == (made, "")
    assert [(one.kind, left_out in one.detail) for one in parser.issues] == [
        ("unused_member", True)
    ]


def test_id_after_the_emitted_call_is_reported():
    parser = fed("hermes", '<tool_call>{"name": "f", "arguments": {}, "id": "abc"}</tool_call>')
    assert parser.message.tool_calls[0].id != "abc"
    assert [(one.kind, one.detail) for one in parser.issues] == [
        ("late_id", "the id 'abc' follows the call of 'f', which was already emitted")
    ]
    parser = fed("hermes", '<tool_call>{"id": "abc", "name": "f", "arguments": {}}</tool_call>')
    assert (parser.message.tool_calls[0].id, parser.issues) == ("abc", [])


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "f", "arguments": {"a": 1}}{"n": 1}',
        '{"name": "f", "arguments": {"a": 1}}, {"n": 1} and {"more": 2}',
        '[{"name": "f", "arguments": {"a": 1}}, {"n": 1}]',
        '[{"name": "f", "arguments": {"a": 1}}]',
    ],
)
def test_text_after_json_text_calls_is_emitted_once(text):
    policies = Policies(unknown_tool="text")
    for size in (1, 3, len(text)):
        parser = StreamParser("qwen3", tools=[{"name": "g"}], calls="json", policies=policies)
        said = ""
        for at in range(0, len(text), size):
            said += "".join(delta.text for delta in parser.feed(text[at : at + size]))
        said += "".join(delta.text for delta in parser.finish("stop"))
        assert said == parser.message.content == text


def test_arguments_may_be_in_a_function_object_after_the_name():
    text = '<tool_call>\n{"name": "f", "function": {"arguments": {"a": 1}}}\n</tool_call>'
    parser = fed("hermes", text)
    assert (calls(parser), kinds(parser)) == ([("f", '{"a": 1}')], ["odd_member"])


F_ALONE = [{"name": "f", "parameters": {}}]


@pytest.mark.parametrize("reason", ["stop", "length"])
@pytest.mark.parametrize("text", ['{"name": "g"', '{"name": "g"}', '{"name": "g", "id": 1}'])
def test_unmarked_object_of_an_unknown_name_is_not_an_attempt(text, reason):
    parser = fed("llama3_json", text, reason, tools=F_ALONE)
    assert (parser.message.content, parser.issues, parser.attempts) == (text, [], [])


def test_member_after_the_arguments_is_dropped():
    text = '{"name": "f", "parameters": {"a": 1}, "x": 1}'
    parser = fed("llama3_json", text, tools=F_ALONE)
    assert (calls(parser), kinds(parser)) == ([("f", '{"a": 1}')], ["unused_member"])


def test_rejected_object_after_a_call_is_an_unnamed_attempt():
    parser = fed("mistral", '[TOOL_CALLS][{"name": "f", "arguments": {}}, {"nam": 1}]')
    assert [(one.name, one.status) for one in parser.attempts] == [
        ("f", "complete"),
        ("", "not_a_call"),
    ]


def test_whitespace_around_a_separator_is_optional():
    fmt = get_format("mistral").replace(tools={"separator": " <next> "})
    call = '{"name": "f", "arguments": {}}'
    for between in (" <next> ", "<next>", "\n<next>", " <next>\n"):
        assert calls(fed(fmt, f"[TOOL_CALLS][{call}{between}{call}]")) == [("f", "{}")] * 2


GOOD = '{"name": "c", "arguments": {"y": 1}}'


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize(
    ("bad", "made"),
    [
        ('{"name": "b", "arguments": {"x": 1:2}}', '{"x": 1'),
        ('{"name": "b", "arguments": {"x": }}', '{"x": '),
        ('{"name": "b", "arguments": {"x": [1, 2}}', '{"x": [1, 2'),
        ('{"name": "b", "arguments": {"x": [1:2, {"]}": "}"}]}}', '{"x": [1'),
        ('{"name": "b", "arguments": 5}', ""),
        ('{"name": "b" "arguments": {}}', ""),
        ('{"name": "b", "arguments" {}}', ""),
    ],
)
def test_elements_after_a_broken_one_are_parsed(bad, made, first, size):
    elements = [bad, GOOD] if first else [GOOD, bad, GOOD]
    text = f"[TOOL_CALLS][{', '.join(elements)}]"
    parser = StreamParser("mistral")
    for start in range(0, len(text), size):
        parser.feed(text[start : start + size])
    parser.finish("stop")
    *before, broken, last = parser.message.tool_calls
    good = [(call.name, call.arguments, call.complete) for call in (*before, last)]
    assert good == [("c", '{"y": 1}', True)] * len(good)
    assert (broken.name, broken.complete) == ("b", False)
    assert broken.arguments.startswith(made)
    assert kinds(parser)[0] == "malformed_arguments"
    assert parser.message.content == ""


@pytest.mark.parametrize("behind", ["b}}", 'b "}}'])
def test_quotation_mark_in_a_string_starts_no_element(behind):
    text = f'[TOOL_CALLS][{{"name": "b", "arguments": {{"x": "a"{behind}, {GOOD}]'
    parser = fed(get_format("mistral"), text)
    assert [(call.name, call.complete) for call in parser.message.tool_calls] == [("b", False)]
    assert repr(GOOD)[1:-1] in parser.issues[0].detail


@pytest.mark.parametrize("bad", ["{bad}", '{"x": 1:2}', '{"foo": 1}', "{}"])
def test_invalid_element_before_a_call_is_dropped(bad):
    parser = fed(get_format("mistral"), f"[TOOL_CALLS][{bad}, {GOOD}]")
    assert (calls(parser), kinds(parser)) == ([("c", '{"y": 1}')], ["malformed_arguments"])
    assert repr(bad)[1:-1] in parser.issues[0].detail
    assert [tried.status for tried in parser.attempts] == ["not_a_call", "complete"]
    parser = fed(get_format("mistral"), f"[TOOL_CALLS][{bad}]")
    assert (calls(parser), parser.message.content) == ([], f"[TOOL_CALLS][{bad}]")
