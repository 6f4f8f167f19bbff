"""Values of arguments in markers, and their ends."""

from __future__ import annotations

import json

import pytest

from deltaparse import Policies, StreamParser
from deltaparse.partial import Window, marker_set
from deltaparse.stream.reading.tool_calls.tagged_value import (
    ValueEnd,
    followed,
    name_follows,
)
from deltaparse.stream.tokens.traced_parser import TracedParser
from deltaparse.stream.wire.call_names import LONGEST_NAME
from deltaparse.stream.wire.next_call import MOST_CLOSERS
from deltaparse.stream.wire.spellings import MOST_GAP

from ....strategies.token_texts import Text
from ....strategies.wire_by_hand import ELEMENTS, calls, fed, in_tags, kinds
from ....support import Driver, silent

ESCAPED = in_tags(
    name_prefix="<a=", name_suffix=">", value_suffix="</a>", escape_start="<e>", escape_end="</e>"
)
QUOTED = ESCAPED.replace(arguments={"escape_end": "''"})
LINES = ESCAPED.replace(arguments={"value_suffix": "\n"})
UNMARKED = in_tags(name_suffix="=", value_suffix=";")
PLAIN = in_tags(name_prefix="<a=", name_suffix=">", value_suffix="</a>")
PLAIN_LINES = PLAIN.replace(arguments={"value_suffix": "\n"})
UNENDED = PLAIN.replace(arguments={"value_suffix": ""})
PATH = {"path": {"type": "string"}, "text": {"type": "string"}}


@pytest.mark.parametrize(
    ("fmt", "text", "made"),
    [
        (ESCAPED, "<a=x><e>v</e></a>", '"v"'),
        (ESCAPED, "<a=x><e>v</e>w</e></a>", '"v</e>w"'),
        (ESCAPED, "<a=x><e>v</e> \n </a>", '"v"'),
        (ESCAPED, "<a=x><e>v</a></f></c></e></a>", '"v</a></f></c>"'),
        (ESCAPED, "<a=x><e>v</e></a>w<a=y>1</a>", '"v", "y": 1'),
        (QUOTED, "<a=x><e>v'''</a>", '"v\'"'),
        (LINES, "<a=x><e>v\n</e>\n", '"v\\n"'),
        (LINES, "<a=x><e>v</e>w\n</e>\n", '"v</e>w\\n"'),
        (LINES, "<a=x><e>v</e>  \n", '"v"'),
        (PLAIN, "<a=x>v</a>w</a>", '"v</a>w"'),
        (PLAIN, "<a=x>v</a>y=1</a>", '"v</a>y=1"'),
        (PLAIN, "<a=x>v</a>y>1</a>", '"v</a>y>1"'),
        (PLAIN, "<a=x>v</a> <a=y>1</a>", '"v", "y": 1'),
        (UNMARKED, "x=v;y=1;", '"v", "y": 1'),
        (UNMARKED, "x=v;\ny=1;", '"v", "y": 1'),
        (UNMARKED, "x=v;(y=1;", '"v;(y=1"'),
        (UNMARKED, f"x=v;{' ' * MOST_GAP}y=1;", '"v", "y": 1'),
        *(
            (UNMARKED, f"x=v;{' ' * more}y=1;", f'"v;{" " * more}y=1"')
            for more in (MOST_GAP + 1, 600)
        ),
    ],
)
def test_suffix_ends_a_value_before_plausible_text(fmt, text, made):
    assert calls(fed(fmt, f"<c><f=f>{text}</f></c>")) == [("f", f'{{"x": {made}}}')]


@pytest.mark.parametrize("cut", ["x=v;y", "x=v; y", "x=v;", "x=v;y="])
def test_truncated_name_after_a_suffix_ends_the_value(cut):
    parser = fed(UNMARKED, f"<c><f=f>{cut}", reason="length")
    assert parser.where() == "end"
    (call,) = parser.message.tool_calls
    assert call.healed() == {"x": "v"}
    assert [issue.kind for issue in parser.issues] == ["truncated_call"]


def test_name_in_a_value_end_is_awaited():
    end = ValueEnd(marker_set({"</"}), "long>", "</")
    for text, stands in (("</long>", True), ("</lone", False), ("</x", False)):
        driver = Driver(silent(name_follows, 2, end))
        for char in text[:-1]:
            driver.feed(char)
            assert driver.running
        driver.feed(text[-1])
        assert (driver.running, driver.result) == (False, stands)
    driver = Driver(silent(name_follows, 2, end))
    driver.feed("</lon")
    driver.close()
    assert driver.result is None


def test_any_text_may_follow_a_value_without_markers():
    driver = Driver(silent(followed, 0, marker_set(())))
    driver.feed("x")
    assert (driver.running, driver.result) == (False, True)


def test_suffix_needs_the_separator_of_the_format():
    fmt = UNMARKED.replace(arguments={"separator": ","})
    assert calls(fed(fmt, "<c><f=f>x=v;y=1;,z=2;</f></c>")) == [("f", '{"x": "v;y=1", "z": 2}')]


@pytest.mark.parametrize("cut", range(1, 4))
def test_truncated_string_marker_is_not_part_of_the_string(cut):
    parser = fed(ESCAPED, "<c><f=f><a=x><e>v" + "</e>"[:cut], "length")
    assert calls(parser) == [("f", '{"x": "v')]
    (issue,) = parser.issues
    assert issue.detail.endswith(f"not emitted: {'</e>'[:cut]!r}")


def test_marker_after_a_string_does_not_contain_a_suffix():
    fmt = ESCAPED.replace(arguments={"value_suffix": ">"})
    parser = fed(fmt, "<c><f=f><a=x><e>v</e>></f></c>")
    assert (calls(parser), parser.issues) == ([("f", '{"x": "v"}')], [])


@pytest.mark.parametrize(
    ("text", "follows"), [("", True), (" ", True), ("<", True), ("<b", True), ("w", False)]
)
def test_followed_at_the_end_of_the_input(text, follows):
    src = Window("</a>" + text, closed=True)
    with pytest.raises(StopIteration) as returned:
        next(followed(src, 4, marker_set({"<b>"})))
    assert returned.value.value is follows


KINDS = {"x": {"type": "object"}, "n": {"type": "number"}}
TOOLS = [{"name": "f", "parameters": {"properties": KINDS}}]


@pytest.mark.parametrize(
    ("value", "made", "told"),
    [
        ('{"a": 1}', '{"a": 1}', ""),
        ('{"a": 1} \n ', '{"a": 1}', ""),
        ('{"a": "</a></f></c>"}', '{"a": "</a></f></c>"}', ""),
        ('{"a": 1} z ', '{"a": 1}', "not emitted after an argument: ' z '"),
        ('{"a": 1}</a> z <a=y>2', '{"a": 1}, "y": 2', "not emitted between arguments: 'z '"),
        ('{"a": [1', '{"a": [1]}', "closed_brackets (1)"),
    ],
)
def test_json_value_ends_with_the_json(value, made, told):
    parser = fed(PLAIN, f"<c><f=f><a=x>{value}</a></f></c>", tools=TOOLS)
    assert calls(parser) == [("f", f'{{"x": {made}}}')]
    assert [one.kind for one in parser.issues] == ["repaired_arguments"] * bool(told)
    assert all(told in one.detail for one in parser.issues)


def test_suffix_that_starts_like_json_ends_an_empty_value():
    fmt = in_tags(name_prefix="<a=", name_suffix=">", value_suffix="{/a}")
    parser = fed(fmt, "<c><f=f><a=x>{/a}<a=y>1{/a}</f></c>", tools=TOOLS)
    assert calls(parser) == [("f", '{"x": "", "y": 1}')]
    assert [one.kind for one in parser.issues] == ["repaired_arguments"]
    parser = fed(fmt, '<c><f=f><a=x>{"b": "{/a}<a=y>"}{/a}</f></c>', tools=TOOLS)
    assert (calls(parser), parser.issues) == ([("f", '{"x": {"b": "{/a}<a=y>"}}')], [])


def test_json_of_a_wrong_type_is_a_string_and_reported():
    parser = fed(PLAIN, '<c><f=f><a=n>{"b": 1}</a></f></c>', tools=TOOLS)
    assert calls(parser) == [("f", '{"n": "{\\"b\\": 1}"}')]
    (issue,) = parser.issues
    assert issue.detail.endswith("argument_type (1)")


@pytest.mark.parametrize("policy", ["repair", "strict"])
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('{"b": ', "begins no value"),
        ('{"b"', "after key"),
        ('{"b": [1, ', ""),
        ('{"b": [1 z', "'z' after value"),
    ],
)
def test_json_with_more_than_missing_brackets_breaks_the_call(value, said, policy):
    policies = Policies(malformed_arguments=policy)
    text = f"<c><f=f><a=x>{value}</a><a=n>1</a></f></c>"
    parser = fed(PLAIN, text, tools=TOOLS, policies=policies)
    ((_, arguments),) = calls(parser)
    assert f'{{"x": {value}'.startswith(arguments)
    (issue,) = parser.issues
    assert (issue.kind, said in issue.detail) == ("malformed_arguments", True)
    assert issue.detail.endswith("</a><a=n>1</a>'")


def test_brackets_are_closed_only_by_the_repair_policy():
    text = '<c><f=f><a=x>{"b": [1</a></f></c>'
    parser = fed(PLAIN, text, tools=TOOLS, policies=Policies(malformed_arguments="strict"))
    assert calls(parser) == [("f", '{"x": {"b": [1')]
    assert kinds(parser) == ["malformed_arguments"]


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_truncated_json_truncates_a_call_without_value_ends(reason):
    parser = fed(UNENDED, '<c><f=f><a=x>{"b": 1', reason, tools=TOOLS)
    assert (calls(parser), kinds(parser)) == ([("f", '{"x": {"b": ')], ["truncated_call"])


GAPS = in_tags(name_prefix="<a=", name_suffix=">\n", value_suffix="\n</a>\n")


@pytest.mark.parametrize(("reason", "status"), [("stop", "broken"), ("length", "truncated")])
@pytest.mark.parametrize("behind", ["", "<|end|>", " \n<|end|>", "</f></c><|end|>", "<|en"])
def test_value_without_its_suffix_is_incomplete(behind, reason, status):
    parser = fed(PLAIN, "<c><f=f><a=x>v</f></c>" + behind, reason)
    assert [tried.status for tried in parser.attempts] == [status]
    (call,) = parser.message.tool_calls
    assert (call.healed(), call.complete) == ({"x": "v"}, False)
    said = "an argument has no closing marker" if status == "broken" else "the output ends"
    assert said in parser.issues[0].detail


def test_closer_that_starts_like_a_suffix_is_not_a_suffix():
    fmt = PLAIN.replace(arguments={"value_suffix": "<"}, function={"close": "<</c>"})
    assert calls(fed(fmt, "<c><f=f><a=x>v<<</c></c>")) == [("f", '{"x": "v"}')]
    parser = fed(fmt, "<c><f=f><a=x>v<</c></c>")
    assert (calls(parser), kinds(parser)) == ([("f", '{"x": "v"')], ["malformed_arguments"])


def test_turn_end_ends_a_value():
    parser = fed(PLAIN, "<c><f=f><a=x>v<|end|>")
    assert (calls(parser), kinds(parser)) == ([("f", '{"x": "v')], ["truncated_call"])


def test_buffered_text_of_a_truncated_value_is_reported():
    parser = fed(PLAIN, "<c><f=f><a=n>12", "length", tools=TOOLS)
    assert calls(parser) == [("f", '{"n": ')]
    assert parser.issues[0].detail.endswith("not emitted: '12'")


def test_closer_that_ends_like_a_named_suffix_is_text():
    fmt = ELEMENTS.replace(function={"close": "[/job>"})
    parser = fed(fmt, '<jobs><job of="f"><job>v[/job></job>[/job></jobs>')
    assert (calls(parser), kinds(parser)) == ([("f", '{"job": "v[/job>"}')], ["ambiguous_marker"])


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_two_turn_ends_prove_an_unclosed_value(reason):
    parser = fed(PLAIN, "<c><f=f><a=x>v</f></c><|end|> <|end|>", reason)
    assert (calls(parser), kinds(parser)) == ([("f", '{"x": "v"')], ["malformed_arguments"])


@pytest.mark.parametrize("reason", ["stop", "length"])
@pytest.mark.parametrize(
    ("fmt", "text", "value"),
    [
        (PLAIN, "<c><f=f><a=x>{}", "v</f></c><c><f=f></f></c>"),
        (GAPS, "<c><f=f>\n<a=x>\n{}", "v\n</f>\n</c>\n<c><f=f></f></c>"),
    ],
)
def test_value_without_its_suffix_contains_the_next_calls(fmt, text, value, reason):
    parser = fed(fmt, text.format(value), reason, tools=[{"name": "f"}])
    assert [tried.status for tried in parser.attempts] == ["truncated"]
    (call,) = parser.message.tool_calls
    assert (call.healed(), call.complete) == ({"x": value}, False)


@pytest.mark.parametrize("more", [0, 1])
def test_closers_before_the_turn_end_are_limited(more):
    parser = fed(PLAIN, f"<c><f=f><a=x>v{'</c>' * (MOST_CLOSERS + more)}<|end|>")
    assert calls(parser) == [("f", f'{{"x": "v{"</c>" * more}"')]


@pytest.mark.parametrize("text", ["<|enx", "<|end|>x", "x<|end|>x"])
def test_turn_end_after_text_closers_is_text(text):
    parser = fed(PLAIN, f"<c><f=f><a=x>v</f></c>{text}</a></f></c>")
    assert calls(parser) == [("f", f'{{"x": "v</f></c>{text}"}}')]
    assert kinds(parser) == ["ambiguous_marker"]


def test_closer_without_proof_of_a_next_call_is_text():
    fmt = PLAIN.replace(
        tools={
            "per_call_start": "",
            "per_call_end": "",
            "section_start": "<s>",
            "section_end": "</s>",
        },
        function={"name_prefix": ""},
    )
    parser = fed(fmt, "<s>f><a=x>v</f>w</a></f></s>")
    assert (calls(parser), kinds(parser)) == ([("f", '{"x": "v</f>w"}')], ["ambiguous_marker"])


@pytest.mark.parametrize("cut", range(3))
def test_truncated_name_in_a_value_end_truncates_the_call(cut):
    fmt = in_tags(name_prefix="<", name_suffix=">", value_suffix="</", key_suffix=">")
    parser = fed(fmt, "<c><f=f><ab>v</" + "ab>"[:cut], "length")
    assert calls(parser) == [("f", '{"ab": "v')]
    assert [tried.status for tried in parser.attempts] == ["truncated"]


BAR = in_tags(name_prefix="|", name_suffix="=", value_suffix="|")
BY_NAME = ELEMENTS.replace(function={"close": "[/job]"})


@pytest.mark.parametrize(
    ("fmt", "text", "times"),
    [
        (PLAIN, "<a= x >v</a>w</a>w</a>", 2),
        (ESCAPED, "<a= x >v</a>w</a>w</a>", 2),
        (PLAIN, "<a=x>v<|end|>w</a>", 1),
        (PLAIN, "<a=x>v<a=y>w</a>", 1),
        (PLAIN, f"<a=x>v<a={'n' * LONGEST_NAME}>w</a>", 1),
        (PLAIN, f"<a=x>v<a={'n' * (LONGEST_NAME + 1)}>w</a>", 0),
        (PLAIN, "<a=x>v<a=(y>w</a>", 0),
        (PLAIN, "<a=x>v<a=>w</a>", 0),
        (PLAIN_LINES, "<a=x>v\nw\n", 0),
        (GAPS, "<a=x>\nv\n</a>w\n</a>", 1),
        (GAPS, "<a=x>\nv\n</f>w\n</a>", 1),
        (GAPS, "<a=x>\nv\n<|end|>w\n</a>", 1),
        (BAR, "|x=v|w|", 1),
        (ELEMENTS, "<x>v</y>w</x>", 0),
        (ELEMENTS, "<x>v</job>w</x>", 1),
        (BY_NAME, "<x>v</job>w</x>", 0),
        (BY_NAME, "<x>v[/job]w</x>", 1),
    ],
)
def test_each_text_marker_in_a_value_is_counted(fmt, text, times):
    tools, function = fmt.tools, fmt.function
    before = tools.section_start + tools.per_call_start + function.name_prefix + "f"
    behind = function.close + tools.per_call_end + tools.section_end
    parser = fed(fmt, before + function.name_suffix + text + behind)
    assert [one.complete for one in parser.message.tool_calls] == [True]
    assert kinds(parser) == ["ambiguous_marker"] * bool(times)
    assert all(issue.detail.startswith(f"{times} argument markers ") for issue in parser.issues)


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_truncated_argument_name_in_a_value_is_text(reason):
    parser = fed(PLAIN, "<c><f=f><a=x>v<a=na", reason)
    assert calls(parser) == [("f", '{"x": "v<a=na')]
    assert kinds(parser) == ["truncated_call"]


def test_value_ends_when_the_next_name_is_known():
    parser = StreamParser(UNMARKED)
    made = parser.feed("<c><f=f>x=v;y=")
    assert "".join(delta.arguments for delta in made) == '{"x": "v", "y": '


def test_name_after_a_value_is_limited():
    for more, arguments in ((0, '{"x": "v", "nnn'), (1, '{"x": "v;nnn')):
        parser = StreamParser(UNMARKED)
        made = parser.feed(f"<c><f=f>x=v;{'n' * (LONGEST_NAME + more)}=1")
        assert "".join(delta.arguments for delta in made).startswith(arguments)


def test_unclosed_value_of_a_truncated_call_is_truncated():
    fmt = in_tags(name_prefix="<a=", name_suffix=">\n", value_suffix="\n</a>\n")
    parser = fed(fmt, "<c><f=f>\n<a=x>\nv\n</c>", "length")
    assert calls(parser) == [("f", '{"x": "v')]
    assert parser.issues[0].detail.endswith("not emitted: '</c>'")
    parser = fed(fmt, "<c><f=f>\n<a=x>\nv\n</f>w\n</c>", "length")
    assert calls(parser) == [("f", '{"x": "v\\n</f>w')]


def test_truncated_value_end_is_not_part_of_the_value():
    parser = Text(PLAIN, ["<c>"], ["<c>", "<f=f>", "<a=", "x", ">", "1", "</", "a"]).read()
    assert parser.roles == [
        *("marker", "marker", "marker", "arguments", "marker", "arguments", "marker", "marker")
    ]


BEGUN = {
    "qwen3_coder": (
        "a.py\n<parameter={}>\nhi",
        "<tool_call>\n<function=w>\n<parameter=path>\n{}\n</parameter>\n",
        "<parameter=text>\nhi\n</parameter>\n",
        "</function>\n</tool_call>",
    ),
    "glm45": (
        "a.py\n<arg_key>{}</arg_key>\n<arg_value>hi",
        "<tool_call>w\n<arg_key>path</arg_key>\n<arg_value>{}</arg_value>\n",
        "<arg_key>text</arg_key>\n<arg_value>hi</arg_value>\n",
        "</tool_call>",
    ),
}
"""For each format: a value with the start of an argument, a call, another argument, closers."""


@pytest.mark.parametrize("tools", [None, [{"name": "w", "parameters": {"properties": PATH}}]])
@pytest.mark.parametrize("name", ["other", " other "])
@pytest.mark.parametrize("fmt", BEGUN)
def test_argument_start_inside_a_value_is_text_and_reported(fmt, name, tools):
    value, text, _, closers = BEGUN[fmt]
    value = value.format(name)
    text = text.format(value) + closers
    for chunks in ([text], list(text)):
        parser = StreamParser(fmt, tools=tools)
        for chunk in chunks:
            parser.feed(chunk)
        # The call is complete without the text after it.
        assert json.loads(parser.message.tool_calls[0].arguments) == {"path": value}
        parser.finish("stop")
        assert kinds(parser) == ["ambiguous_marker"]


@pytest.mark.parametrize("name", ["text", " text "])
@pytest.mark.parametrize("fmt", BEGUN)
@pytest.mark.parametrize("comes", [False, True])
def test_missing_declared_argument_inside_a_value_breaks_the_call(fmt, name, comes):
    value, text, another, closers = BEGUN[fmt]
    value = value.format(name)
    written = text.format(value) + another * comes + closers
    tools = [{"name": "w", "parameters": {"properties": PATH}}]
    for chunks in ([written], list(written)):
        parser = StreamParser(fmt, tools=tools)
        for chunk in chunks:
            parser.feed(chunk)
        parser.finish("stop")
        (call,) = parser.message.tool_calls
        assert (call.complete, call.healed()["path"]) == (comes, value)
        assert kinds(parser) == ["malformed_arguments"] * (not comes) + ["ambiguous_marker"]


def test_quoted_call_after_a_broken_value_is_not_a_call():
    quoted = "<c><f=g></f></c>"
    for first, second in (("{" + quoted + "}", "v"), ('{"a": b', quoted), ('{"a": b', quoted * 2)):
        text = f"<c><f=f><a=x>{first}</a> <a=n>{second}</a></f></c>"
        for size in (1, len(text)):
            parser = StreamParser(PLAIN, tools=TOOLS)
            for start in range(0, len(text), size):
                parser.feed(text[start : start + size])
            parser.finish("stop")
            assert [(call.name, call.complete) for call in parser.message.tool_calls] == [
                ("f", False)
            ]
            assert parser.message.content == ""
            assert parser.issues[0].detail.endswith(f"<a=n>{second}</a>'")


def test_suffix_equal_to_a_turn_end_ends_a_value():
    fmt = in_tags(name_prefix="<a=", name_suffix=">", value_suffix="<|end|>")
    parser = fed(fmt, "<c><f=f><a=x>v<|end|><a=y>1<|end|></f></c><|end|>")
    assert (calls(parser), parser.issues) == ([("f", '{"x": "v", "y": 1}')], [])


def test_turn_end_ends_a_value_without_a_suffix():
    parser = fed(UNENDED, "<c><f=f><a=x>v<|end|>w")
    (call,) = parser.message.tool_calls
    assert (call.healed(), call.complete) == ({"x": "v"}, False)


@pytest.mark.parametrize(("reason", "made"), [("stop", '"v"'), ("length", '"v')])
def test_natural_end_ends_a_value_without_a_suffix(reason, made):
    parser = fed(UNENDED, "<c><f=f><a=x>v", reason)
    assert (calls(parser), kinds(parser)) == ([("f", f'{{"x": {made}')], ["truncated_call"])


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_next_argument_ends_a_value_without_a_suffix(reason):
    text = "<c><f=f><a=x>v<a=y>1</f></c>"
    with_id = UNENDED.replace(
        call_id={"position": "BETWEEN_FUNC_AND_ARGS", "prefix": "<id>", "suffix": "</id>"}
    )
    # The second format ends the name late, since the name of a tool may be longer.
    for fmt, tools in ((UNENDED, None), (with_id, [{"name": "f"}, {"name": f"{text[6:]}z"}])):
        parser = fed(fmt, text, reason, tools=tools)
        assert (calls(parser), parser.issues) == ([("f", '{"x": "v", "y": 1}')], [])
    traced = TracedParser(UNENDED)
    traced.feed(text)
    traced.finish(reason)
    spans = [text[one.start : one.end] for one in traced.role_spans if one.role == "arguments"]
    assert spans == ["x", "v", "y", "1"]
