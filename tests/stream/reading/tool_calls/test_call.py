"""A call while it is parsed."""

from __future__ import annotations

import pytest

from deltaparse import MalformedOutput, Policies, StreamParser, get_format, parse
from deltaparse.stream.tokens.traced_parser import TracedParser

from ....strategies.token_texts import Text
from ....strategies.wire_by_hand import (
    CALL,
    KEYED,
    OTHER,
    TAGS,
    UNMARKED,
    calls,
    fed,
    in_tags,
    kinds,
)
from ....strategies.wire_channels import HARMONY

STRICT = Policies(duplicate_keys="error")


@pytest.mark.parametrize(
    ("arguments", "twice"),
    [
        ('{"a": {"b": 1}, "b": 2}', False),
        ('{"a": [{"c": 1}, {"c": 2}], "c": [{}, []]}', False),
        ('{"a": "a", "b": ["a", "b"]}', False),
        ('{"a": {"b": 1}, "a": 2}', True),
        ('{"a": [{"c": 1, "c": 2}]}', True),
        ('{"a": [{}], "b": {"c": {}, "c": {}}}', True),
        ('{"\\u0061": 1, "a": 2}', True),
    ],
)
def test_duplicate_keys_within_one_object(arguments, twice):
    text = f'<call>\n{{"name": "f", "arguments": {arguments}}}\n</call>'
    if twice:
        with pytest.raises(MalformedOutput, match="repeated") as refused:
            parse(text, TAGS, policies=STRICT)
        assert refused.value.kind == "duplicate_keys"
        assert calls(fed(TAGS, text)) == [("f", arguments)]
    else:
        assert fed(TAGS, text, policies=STRICT).issues == []


@pytest.mark.parametrize("reason", ["stop", "length", None])
def test_call_that_ends_in_a_partial_character_is_truncated(reason):
    """Decode the partial character at the end, after the name has made the text a call."""
    output = b'{"name": "f", "arg' + "é".encode()[:1]
    parser = fed(UNMARKED, output, reason, tools=[{"name": "f"}])
    assert [(call.name, call.complete) for call in parser.message.parts] == [("f", False)]
    assert [attempt.status for attempt in parser.attempts] == ["truncated"]


IDS = TAGS.replace(tools={"id_field": "id", "field_order": ("id", "name", "arguments")})


def test_call_with_a_known_id_is_not_buffered():
    parser = StreamParser(IDS)
    made = parser.feed('<call>\n{"id": "7", "name": "f", "arguments": {"a": ')
    assert [(delta.id, delta.name, delta.arguments) for delta in made] == [
        ("7", "f", ""),
        (None, None, '{"a": '),
    ]
    assert StreamParser(IDS).feed('<call>\n{"name": "f", "arguments": {"a": ') == []
    parser = fed(IDS, '<call>\n{"name": "f", "arguments": {"a": 1}}\n</call>')
    assert calls(parser) == [("f", '{"a": 1}')]


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ('{"name": "f"}', [("f", "{}")]),
        ('{"name": "g"}', []),
        ('{"name": "g", "parameters": {}}', []),
        ('{"name": "f", "parameters": {}}', [("f", "{}")]),
        ('{"parameters": {}}', []),
        ('{"parameters": {}, "id": "7"}', []),
        ("{}", []),
    ],
)
def test_unmarked_call_needs_a_name_and_arguments(text, called):
    parser = fed(UNMARKED, text, tools=[{"name": "f"}])
    assert calls(parser) == called
    assert parser.message.content == ("" if called else text)


def test_dropped_call_is_reported():
    options = {"parallel_tool_calls": False, "policies": Policies(extra_calls="drop")}
    parser = fed(TAGS, CALL + OTHER + "x", **options)
    assert calls(parser) == [("f", '{"a": 1}')]
    assert parser.message.content == "x"
    assert [issue.kind for issue in parser.issues][:2] == ["extra_call"] * 2
    assert parser.issues[1].detail == f"dropped: {OTHER.removesuffix(chr(10) + '</call>')!r}"


@pytest.mark.parametrize("arguments", ["[", "[1]"])
def test_text_call_includes_its_closer(arguments):
    text = f'<call>\n{{"name": "f", "arguments": {arguments}}}\n</call>x'
    parser = fed(TAGS, text, policies=Policies(malformed_arguments="text"))
    assert (calls(parser), parser.message.content) == ([], text)


def test_possible_value_ends_are_counted():
    fmt = in_tags(name_prefix="<a=", name_suffix=">", value_suffix="</a>")
    parser = fed(fmt, "<c><f=f><a=x>v</a>w</a>w</a></f></c>")
    assert [(issue.kind, issue.detail.split()[0]) for issue in parser.issues] == [
        ("ambiguous_marker", "2")
    ]


def test_arguments_may_start_with_the_response():
    prompt = '<|start|>model\n<call>\n{"name": "f", "arguments": '
    parser = TracedParser(TAGS, prompt=prompt)
    parser.feed('{"a": 1}}\n</call>')
    parser.finish()
    spans = [(span.start, span.end, span.role) for span in parser.role_spans]
    assert spans == [(0, 8, "arguments"), (8, 17, "marker")]


def roles(fmt, text, **options):
    """Return the response and the role of each span."""
    parser = TracedParser(fmt, **options)
    parser.feed(text)
    parser.finish()
    return [(text[span.start : span.end], span.role) for span in parser.role_spans]


def test_missing_arguments_have_no_characters():
    parser = fed(TAGS, '<call>\n{"name": "f"}\n</call>')
    assert (calls(parser), kinds(parser)) == ([("f", "{}")], ["missing_arguments"])
    assert roles(TAGS, '<call>\n{"name": "f"}\n</call>') == [
        ('<call>\n{"name": "', "marker"),
        ("f", "name"),
        ('"}\n</call>', "marker"),
    ]


@pytest.mark.parametrize(
    ("fmt", "prompt", "text", "name"),
    [
        (HARMONY, "<|start|>assistant to=functions.f", "<|channel|>commentary<|message|>{}", ""),
        (TAGS, '<|start|>model\n<call>\n{"name": "fun', 'ction", "arguments": {}}', "ction"),
        (TAGS, "", '<call>\n{"name": "a\\"b", "arguments": {}}', '"a\\"b"'),
    ],
)
def test_name_role_covers_written_characters_only(fmt, prompt, text, name):
    told = roles(fmt, text, prompt=prompt)
    assert "".join(said for said, role in told if role == "name") == name
    assert ("{}", "arguments") in told


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        ({"python_literals": True}, '{"a": True, "b": \'x\'}'),
        ({"quote": "<q>"}, '{a: true, "b": <q>x<q>}'),
    ],
)
def test_own_spelling_of_a_format_is_not_a_repair(arguments, written):
    text = f'<call>\n{{"name": "f", "arguments": {written}}}\n</call>'
    strict = Policies(malformed_arguments="strict")
    parser = fed(TAGS.replace(arguments=arguments), text, policies=strict)
    assert calls(parser) == [("f", '{"a": true, "b": "x"}')]
    assert [tried.status for tried in parser.attempts] == ["complete"]
    assert parser.issues == []


def test_duplicate_keys_are_found_if_the_name_is_last():
    text = '<call>\n{"arguments": {"a": 1, "a": 2}, "name": "f"}\n</call>'
    with pytest.raises(MalformedOutput, match="repeated"):
        parse(text, TAGS, policies=STRICT)


def test_all_repairs_are_listed():
    parser = fed(TAGS, '<call>\n{"name": "f", "arguments": {\'a\': True}}\n</call>')
    (issue,) = parser.issues
    assert issue.detail.endswith("were repaired: single_quotes (1), python_literals (1)")


@pytest.mark.parametrize("arguments", ['{"a": [1', '{"a": 1'])
def test_call_with_closed_brackets_is_repaired(arguments):
    parser = fed(TAGS, f'<call>\n{{"name": "f", "arguments": {arguments}\n</call>')
    assert [tried.status for tried in parser.attempts] == ["repaired"]


ODD = '<call>\n{"name": "f", "arguments": {}, "x": 1}\n</call>'


def test_text_call_reports_no_unused_members():
    parser = fed(TAGS, ODD, tools=[{"name": "g"}], policies=Policies(unknown_tool="text"))
    assert [issue.kind for issue in parser.issues] == ["unknown_tool"]
    assert parser.message.content == ODD


def test_dropped_call_is_dropped_completely():
    told = roles(TAGS, CALL + ODD, parallel_tool_calls=False, policies=Policies(extra_calls="drop"))
    assert told[-2:] == [(ODD.removesuffix("\n</call>"), "dropped"), ("\n</call>", "marker")]
    parser = fed(TAGS, CALL + ODD, parallel_tool_calls=False, policies=Policies(extra_calls="drop"))
    assert [issue.kind for issue in parser.issues] == ["extra_call", "extra_call"]


def test_unknown_unmarked_call_is_text():
    parser = fed(get_format("llama4_pythonic"), "[g(a=1)]", tools=[{"name": "f"}])
    (tried,) = parser.attempts
    assert (tried.name, tried.status, tried.detail) == ("g", "unknown_tool", "it is text")


def test_foreign_keys_are_reported():
    parser = fed(TAGS, '<call>\n{"function": "f", "input": {"a": 1}}\n</call>')
    assert (calls(parser), kinds(parser)) == ([("f", '{"a": 1}')], ["odd_member"])
    said = (
        "in the call of 'f', the key of the name is 'function', the key of the arguments is 'input'"
    )
    assert parser.issues[0].detail == said


def test_extra_bracket_repairs_the_call_before_it():
    first, second = CALL, OTHER.replace("\n</call>", "}\n</call>")
    for text, statuses in ((second, ["repaired"]), (first + second, ["complete", "repaired"])):
        parser = fed(TAGS, text)
        assert [tried.status for tried in parser.attempts] == statuses
        assert [call.repaired for call in parser.message.tool_calls] == [
            status == "repaired" for status in statuses
        ]


@pytest.mark.parametrize("policy", ["drop", "text"])
def test_excluded_call_may_be_repaired(policy):
    odd = "<call>\n{'name': 'g', 'arguments': {}}\n</call>"
    policies = Policies(extra_calls=policy)
    parser = fed(TAGS, CALL + odd, parallel_tool_calls=False, policies=policies)
    assert [tried.status for tried in parser.attempts] == ["complete", "repaired"]
    assert [call.repaired for call in parser.message.tool_calls] == [False]


@pytest.mark.parametrize("policy", ["drop", "text"])
def test_text_after_calls_in_one_object(policy):
    policies = Policies(extra_calls=policy)
    parser = StreamParser(KEYED, parallel_tool_calls=False, policies=policies)
    parser.feed('<|calls|>[{"f": {"a": 1}, "g": {"b": 2}, "h": {}}]<|/calls|> x')
    assert [tried.name for tried in parser.attempts] == ["f", "g", "h"]
    assert parser.held == 0


def test_issue_for_an_implied_name():
    fmt = TAGS.replace(code={"start": "<|code|>", "function": "python"})
    for text, start in (("<|code|>f(a=1)", 0), ("x<|code|>f(a=1)", 1)):
        parser = fed(fmt, text, tools=[{"name": "f"}])
        (issue,) = (one for one in parser.issues if one.kind == "unknown_tool")
        assert issue.span == (start, start + len("<|code|>"))
    policies, text = Policies(malformed_arguments="text"), "x<|code|>import python"
    parser = fed(fmt, text, tools=[{"name": "f"}], policies=policies)
    assert [(one.kind, one.span) for one in parser.issues] == [("unknown_tool", (1, len(text)))]


def test_call_truncated_before_arguments_is_empty():
    for text in ('<call>\n{"name": "f"', '<call>\n{"name": "f", "argu'):
        (call,) = fed(TAGS, text, "length").message.tool_calls
        assert (call.name, call.arguments, call.complete) == ("f", "", False)


def test_name_of_a_call_is_emitted_before_its_arguments():
    (made,) = StreamParser(TAGS).feed('<call>\n{"name": "f", ')
    assert (made.name, made.arguments) == ("f", "")


def test_held_call_is_emitted_when_complete():
    parser = StreamParser(TAGS, policies=Policies(malformed_arguments="text"))
    begun = CALL[: CALL.index("}")]
    assert parser.feed(begun) == []
    first, second = parser.feed("}")
    assert (first.name, second.arguments, second.last) == ("f", '{"a": 1}', True)


def test_unknown_call_text_is_emitted_at_its_name():
    policies = Policies(unknown_tool="text")
    parser = StreamParser(TAGS, tools=[{"name": "f"}], policies=policies)
    (made,) = parser.feed('<call>\n{"name": "g"')
    assert made.text == '<call>\n{"name": "g"'


def test_name_alone_is_not_yet_an_unmarked_call():
    parser = StreamParser(UNMARKED, tools=[{"name": "f"}])
    assert parser.feed('{"name": "f", ') == []
    assert [delta.name for delta in parser.feed('"parameters": {')] == ["f", None]


def test_text_call_reports_no_foreign_keys():
    policies, text = Policies(unknown_tool="text"), CALL.replace("arguments", "parameters")
    for tool, told in (("g", ["unknown_tool"]), ("f", ["odd_member"])):
        parser = fed(TAGS, text, tools=[{"name": tool}], policies=policies)
        assert kinds(parser) == told


@pytest.mark.parametrize(
    ("fmt", "tokens", "spans"),
    [
        (TAGS, ["<call>\n", '{"name": ', '"f"', ", "], [(0, 3)]),
        (UNMARKED, ['{"na', 'me": ', '"f"', "}"], [(0, 4), (3, 4)]),
    ],
)
def test_call_without_arguments_has_token_spans(fmt, tokens, spans):
    text = Text(fmt, [], tokens)
    parser = text.parser(tools=[{"name": "f"}])
    deltas = [delta for id in text.ids for delta in parser.feed(id)] + parser.finish("stop")
    assert [delta.tokens for delta in deltas][: len(spans)] == spans
    (call,) = parser.message.tool_calls
    assert (call.name_tokens, call.arguments_tokens) == ((2, 3), None)


def test_token_spans_of_calls_in_one_object_are_adjacent():
    tokens = ["<|calls|>", '[{"name": "', "f", '", "', "g", '": ', "{}", "}", "]"]
    text = Text(KEYED, ["<|calls|>"], tokens)
    parser = text.parser()
    deltas = [delta for id in text.ids for delta in parser.feed(id)] + parser.finish("stop")
    assert [delta.tokens for delta in deltas] == [(0, 4), (3, 4), (3, 6), (6, 7)]
    assert [call.tokens for call in parser.message.tool_calls] == [(0, 3), (3, 7)]


def test_keyed_calls_have_their_own_spans():
    text = '<|calls|>[{"f": {"a": 1}, "g": {}}]'
    tried = fed(KEYED, text).attempts
    end = text.index(', "g"')
    assert [(one.name, one.span) for one in tried] == [("f", (0, end)), ("g", (end, len(text) - 1))]
