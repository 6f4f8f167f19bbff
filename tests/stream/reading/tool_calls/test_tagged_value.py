"""The value of an argument in markers, and what ends it."""

from __future__ import annotations

import json

import pytest

from deltaparse import Policies, StreamParser
from deltaparse.partial import Window, marker_set
from deltaparse.stream.reading.tool_calls.tagged_value import (
    ValueEnd,
    followed,
    name_stands,
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
def test_a_suffix_ends_a_value_where_what_follows_may_stand_behind_one(fmt, text, made):
    assert calls(fed(fmt, f"<c><f=f>{text}</f></c>")) == [("f", f'{{"x": {made}}}')]


@pytest.mark.parametrize("cut", ["x=v;y", "x=v; y", "x=v;", "x=v;y="])
def test_what_the_end_cuts_off_behind_a_suffix_may_be_a_name(cut):
    parser = fed(UNMARKED, f"<c><f=f>{cut}", reason="length")
    assert parser.where() == "end"
    (call,) = parser.message.tool_calls
    assert call.healed() == {"x": "v"}
    assert [issue.kind for issue in parser.issues] == ["truncated_call"]


def test_the_name_that_ends_a_value_is_waited_for():
    end = ValueEnd(marker_set({"</"}), "long>", "</")
    for text, stands in (("</long>", True), ("</lone", False), ("</x", False)):
        driver = Driver(silent(name_stands, 2, end))
        for char in text[:-1]:
            driver.feed(char)
            assert driver.running
        driver.feed(text[-1])
        assert (driver.running, driver.result) == (False, stands)
    driver = Driver(silent(name_stands, 2, end))
    driver.feed("</lon")
    driver.close()
    assert driver.result is None


def test_where_nothing_stands_behind_a_value_anything_does():
    driver = Driver(silent(followed, 0, marker_set(())))
    driver.feed("x")
    assert (driver.running, driver.result) == (False, True)


def test_behind_a_suffix_a_separator_ends_a_value_where_the_format_has_one():
    fmt = UNMARKED.replace(arguments={"separator": ","})
    assert calls(fed(fmt, "<c><f=f>x=v;y=1;,z=2;</f></c>")) == [("f", '{"x": "v;y=1", "z": 2}')]


@pytest.mark.parametrize("cut", range(1, 4))
def test_what_may_end_a_string_in_its_own_markers_is_no_text_where_the_output_ends(cut):
    parser = fed(ESCAPED, "<c><f=f><a=x><e>v" + "</e>"[:cut], "length")
    assert calls(parser) == [("f", '{"x": "v')]
    (issue,) = parser.issues
    assert issue.detail.endswith(f"not emitted: {'</e>'[:cut]!r}")


def test_the_marker_behind_a_string_holds_no_suffix():
    fmt = ESCAPED.replace(arguments={"value_suffix": ">"})
    parser = fed(fmt, "<c><f=f><a=x><e>v</e>></f></c>")
    assert (calls(parser), parser.issues) == ([("f", '{"x": "v"}')], [])


@pytest.mark.parametrize(
    ("text", "follows"), [("", True), (" ", True), ("<", True), ("<b", True), ("w", False)]
)
def test_what_follows_where_the_input_has_ended(text, follows):
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
def test_a_value_that_can_only_be_json_ends_where_that_does(value, made, told):
    parser = fed(PLAIN, f"<c><f=f><a=x>{value}</a></f></c>", tools=TOOLS)
    assert calls(parser) == [("f", f'{{"x": {made}}}')]
    assert [one.kind for one in parser.issues] == ["repaired_arguments"] * bool(told)
    assert all(told in one.detail for one in parser.issues)


def test_a_suffix_that_begins_like_json_ends_a_value_of_nothing():
    fmt = in_tags(name_prefix="<a=", name_suffix=">", value_suffix="{/a}")
    parser = fed(fmt, "<c><f=f><a=x>{/a}<a=y>1{/a}</f></c>", tools=TOOLS)
    assert calls(parser) == [("f", '{"x": "", "y": 1}')]
    assert [one.kind for one in parser.issues] == ["repaired_arguments"]
    parser = fed(fmt, '<c><f=f><a=x>{"b": "{/a}<a=y>"}{/a}</f></c>', tools=TOOLS)
    assert (calls(parser), parser.issues) == ([("f", '{"x": {"b": "{/a}<a=y>"}}')], [])


def test_json_that_the_schema_does_not_allow_is_a_string_and_reported():
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
def test_json_in_which_more_than_brackets_are_missing_breaks_its_call(value, said, policy):
    policies = Policies(malformed_arguments=policy)
    text = f"<c><f=f><a=x>{value}</a><a=n>1</a></f></c>"
    parser = fed(PLAIN, text, tools=TOOLS, policies=policies)
    ((_, arguments),) = calls(parser)
    assert f'{{"x": {value}'.startswith(arguments)
    (issue,) = parser.issues
    assert (issue.kind, said in issue.detail) == ("malformed_arguments", True)
    assert issue.detail.endswith("</a><a=n>1</a>'")


def test_brackets_are_closed_only_where_a_policy_repairs():
    text = '<c><f=f><a=x>{"b": [1</a></f></c>'
    parser = fed(PLAIN, text, tools=TOOLS, policies=Policies(malformed_arguments="strict"))
    assert calls(parser) == [("f", '{"x": {"b": [1')]
    assert kinds(parser) == ["malformed_arguments"]


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_json_that_is_cut_is_a_call_that_is_cut_where_nothing_ends_values_too(reason):
    parser = fed(UNENDED, '<c><f=f><a=x>{"b": 1', reason, tools=TOOLS)
    assert (calls(parser), kinds(parser)) == ([("f", '{"x": {"b": ')], ["truncated_call"])


GAPS = in_tags(name_prefix="<a=", name_suffix=">\n", value_suffix="\n</a>\n")


@pytest.mark.parametrize(("reason", "status"), [("stop", "broken"), ("length", "truncated")])
@pytest.mark.parametrize("behind", ["", "<|end|>", " \n<|end|>", "</f></c><|end|>", "<|en"])
def test_a_value_without_its_suffix_is_none_that_ended(behind, reason, status):
    parser = fed(PLAIN, "<c><f=f><a=x>v</f></c>" + behind, reason)
    assert [tried.status for tried in parser.attempts] == [status]
    (call,) = parser.message.tool_calls
    assert (call.healed(), call.complete) == ({"x": "v"}, False)
    said = "an argument has no closing marker" if status == "broken" else "the output ends"
    assert said in parser.issues[0].detail


def test_a_closer_that_begins_like_a_suffix_is_none():
    fmt = PLAIN.replace(arguments={"value_suffix": "<"}, function={"close": "<</c>"})
    assert calls(fed(fmt, "<c><f=f><a=x>v<<</c></c>")) == [("f", '{"x": "v"}')]
    parser = fed(fmt, "<c><f=f><a=x>v<</c></c>")
    assert (calls(parser), kinds(parser)) == ([("f", '{"x": "v"')], ["malformed_arguments"])


def test_a_value_ends_where_the_turn_does():
    parser = fed(PLAIN, "<c><f=f><a=x>v<|end|>")
    assert (calls(parser), kinds(parser)) == ([("f", '{"x": "v')], ["truncated_call"])


def test_what_was_held_back_of_a_value_that_is_cut_is_reported():
    parser = fed(PLAIN, "<c><f=f><a=n>12", "length", tools=TOOLS)
    assert calls(parser) == [("f", '{"n": ')]
    assert parser.issues[0].detail.endswith("not emitted: '12'")


def test_a_closer_that_ends_like_a_suffix_with_the_name_is_none():
    fmt = ELEMENTS.replace(function={"close": "[/job>"})
    parser = fed(fmt, '<jobs><job of="f"><job>v[/job></job>[/job></jobs>')
    assert (calls(parser), kinds(parser)) == ([("f", '{"job": "v[/job>"}')], ["ambiguous_marker"])


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_two_ends_of_the_turn_show_that_a_value_did_not_end(reason):
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
def test_a_value_without_its_suffix_holds_the_calls_behind_it(fmt, text, value, reason):
    parser = fed(fmt, text.format(value), reason, tools=[{"name": "f"}])
    assert [tried.status for tried in parser.attempts] == ["truncated"]
    (call,) = parser.message.tool_calls
    assert (call.healed(), call.complete) == ({"x": value}, False)


@pytest.mark.parametrize("more", [0, 1])
def test_closers_at_the_end_of_the_turn_end_no_value_that_more_stand_behind_than_end_calls(more):
    parser = fed(PLAIN, f"<c><f=f><a=x>v{'</c>' * (MOST_CLOSERS + more)}<|end|>")
    assert calls(parser) == [("f", f'{{"x": "v{"</c>" * more}"')]


@pytest.mark.parametrize("text", ["<|enx", "<|end|>x", "x<|end|>x"])
def test_behind_closers_that_are_text_no_turn_ends(text):
    parser = fed(PLAIN, f"<c><f=f><a=x>v</f></c>{text}</a></f></c>")
    assert calls(parser) == [("f", f'{{"x": "v</f></c>{text}"}}')]
    assert kinds(parser) == ["ambiguous_marker"]


def test_a_closer_is_text_where_nothing_shows_the_next_call():
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
def test_a_name_that_is_cut_in_what_ends_its_value_cuts_the_call(cut):
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
def test_each_marker_that_is_text_in_a_value_is_counted(fmt, text, times):
    tools, function = fmt.tools, fmt.function
    before = tools.section_start + tools.per_call_start + function.name_prefix + "f"
    behind = function.close + tools.per_call_end + tools.section_end
    parser = fed(fmt, before + function.name_suffix + text + behind)
    assert [one.complete for one in parser.message.tool_calls] == [True]
    assert kinds(parser) == ["ambiguous_marker"] * bool(times)
    assert all(issue.detail.startswith(f"{times} argument markers ") for issue in parser.issues)


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_the_name_of_an_argument_that_the_end_cuts_off_in_a_value_is_text(reason):
    parser = fed(PLAIN, "<c><f=f><a=x>v<a=na", reason)
    assert calls(parser) == [("f", '{"x": "v<a=na')]
    assert kinds(parser) == ["truncated_call"]


def test_a_value_ends_when_the_next_name_is_known():
    parser = StreamParser(UNMARKED)
    made = parser.feed("<c><f=f>x=v;y=")
    assert "".join(delta.arguments for delta in made) == '{"x": "v", "y": '


def test_the_name_behind_a_value_is_no_longer_than_names_are():
    for more, arguments in ((0, '{"x": "v", "nnn'), (1, '{"x": "v;nnn')):
        parser = StreamParser(UNMARKED)
        made = parser.feed(f"<c><f=f>x=v;{'n' * (LONGEST_NAME + more)}=1")
        assert "".join(delta.arguments for delta in made).startswith(arguments)


def test_a_value_that_nothing_ends_is_cut_where_the_call_is():
    fmt = in_tags(name_prefix="<a=", name_suffix=">\n", value_suffix="\n</a>\n")
    parser = fed(fmt, "<c><f=f>\n<a=x>\nv\n</c>", "length")
    assert calls(parser) == [("f", '{"x": "v')]
    assert parser.issues[0].detail.endswith("not emitted: '</c>'")
    parser = fed(fmt, "<c><f=f>\n<a=x>\nv\n</f>w\n</c>", "length")
    assert calls(parser) == [("f", '{"x": "v\\n</f>w')]


def test_what_begins_the_end_of_a_value_that_is_cut_is_none_of_it():
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
"""A value in which an argument begins, a call with it, another argument, and the closers."""


@pytest.mark.parametrize("tools", [None, [{"name": "w", "parameters": {"properties": PATH}}]])
@pytest.mark.parametrize("name", ["other", " other "])
@pytest.mark.parametrize("fmt", BEGUN)
def test_an_argument_that_begins_in_another_is_text_and_reported(fmt, name, tools):
    value, text, _, closers = BEGUN[fmt]
    value = value.format(name)
    text = text.format(value) + closers
    for chunks in ([text], list(text)):
        parser = StreamParser(fmt, tools=tools)
        for chunk in chunks:
            parser.feed(chunk)
        # It is not waited for what follows the call.
        assert json.loads(parser.message.tool_calls[0].arguments) == {"path": value}
        parser.finish("stop")
        assert kinds(parser) == ["ambiguous_marker"]


@pytest.mark.parametrize("name", ["text", " text "])
@pytest.mark.parametrize("fmt", BEGUN)
@pytest.mark.parametrize("comes", [False, True])
def test_a_declared_argument_that_begins_in_another_and_is_missing_breaks_its_call(
    fmt, name, comes
):
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


def test_what_a_broken_value_and_the_arguments_behind_it_quote_is_no_call():
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


def test_a_suffix_that_ends_turns_too_ends_a_value():
    fmt = in_tags(name_prefix="<a=", name_suffix=">", value_suffix="<|end|>")
    parser = fed(fmt, "<c><f=f><a=x>v<|end|><a=y>1<|end|></f></c><|end|>")
    assert (calls(parser), parser.issues) == ([("f", '{"x": "v", "y": 1}')], [])


def test_an_end_of_the_turn_ends_a_value_that_has_no_suffix():
    parser = fed(UNENDED, "<c><f=f><a=x>v<|end|>w")
    (call,) = parser.message.tool_calls
    assert (call.healed(), call.complete) == ({"x": "v"}, False)


@pytest.mark.parametrize(("reason", "made"), [("stop", '"v"'), ("length", '"v')])
def test_the_end_of_the_output_ends_a_value_that_has_no_suffix_if_the_model_ended_it(reason, made):
    parser = fed(UNENDED, "<c><f=f><a=x>v", reason)
    assert (calls(parser), kinds(parser)) == ([("f", f'{{"x": {made}')], ["truncated_call"])


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_what_follows_an_argument_ends_a_value_that_has_no_suffix(reason):
    text = "<c><f=f><a=x>v<a=y>1</f></c>"
    with_id = UNENDED.replace(
        call_id={"position": "BETWEEN_FUNC_AND_ARGS", "prefix": "<id>", "suffix": "</id>"}
    )
    # The last is read when the output has ended, for the name of a tool may be longer.
    for fmt, tools in ((UNENDED, None), (with_id, [{"name": "f"}, {"name": f"{text[6:]}z"}])):
        parser = fed(fmt, text, reason, tools=tools)
        assert (calls(parser), parser.issues) == ([("f", '{"x": "v", "y": 1}')], [])
    traced = TracedParser(UNENDED)
    traced.feed(text)
    traced.finish(reason)
    spans = [text[one.start : one.end] for one in traced.role_spans if one.role == "arguments"]
    assert spans == ["x", "v", "y", "1"]
