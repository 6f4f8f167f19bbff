"""Names in tags: their limits, and the part of the text that is the name."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from deltaparse import (
    ArgumentsFormat,
    Content,
    FunctionFormat,
    StreamParser,
    ToolsFormat,
    WireFormat,
    get_format,
    parse,
)
from deltaparse.partial import marker_set
from deltaparse.stream.reading.tool_calls.tagged_head import (
    _without_namespace,
    argument_follows,
    name_in,
    names_without_marker,
    read_name,
)
from deltaparse.stream.wire.call_names import LONGEST_NAME

from ....strategies.wire_by_hand import TURN, calls, fed, in_tags
from ....support import Driver, silent

ENDS = marker_set({"</n>"})
KEYS_AND_VALUES = in_tags(name_prefix="<k>", name_suffix="<v>", value_suffix="</v>")
NO_ENDS = WireFormat(
    turn=TURN,
    tools=ToolsFormat(format="TAG_WITH_TAGGED"),
    function=FunctionFormat(name_prefix="<f=", name_suffix=">"),
    arguments=ArgumentsFormat(name_prefix="<a=", name_suffix=">", value_suffix=";"),
)
"""A format without closers of calls."""
NAMES = NO_ENDS.replace(
    function={"close": "</f>"}, arguments={"name_prefix": "", "name_suffix": "="}
)
"""A format without a marker before the names of arguments."""
TOOLS = [{"name": "f", "parameters": {"properties": {"a": {}, "b": {}}}}]


@pytest.mark.parametrize("extra", [0, 1, 100])
def test_name_length_is_limited(extra):
    driver = Driver(silent(read_name, (), ENDS))
    driver.feed("n" * (LONGEST_NAME + extra))
    assert driver.running == (extra < len("</n>"))
    driver.feed("</n>")
    assert not driver.running
    assert driver.result == ("" if extra else "n" * LONGEST_NAME)


def test_truncated_too_long_tool_name_is_not_a_name():
    long = "n" * (2 * LONGEST_NAME)
    text = f"<c><f={long[:-1]}"
    parser = fed(KEYS_AND_VALUES, text, "length", tools=[{"name": long, "parameters": {}}])
    assert parser.message.parts == [Content(text)]
    assert name_in(long[: LONGEST_NAME + ENDS.longest], ENDS, False, {long}) == ""


@pytest.mark.parametrize("reason", ["stop", "length", None])
@pytest.mark.parametrize("begun", [b"<c><f=f ", b"<c><f=f>", b"<c><f=f><"])
def test_partial_character_in_a_head_rejects_the_call(begun, reason):
    """Decode the character at the end, where a prefix of a marker would be truncated."""
    data = begun + "é".encode()[:1]
    parser = fed(KEYS_AND_VALUES, data, reason, tools=TOOLS)
    assert parser.message.parts == [Content(data.decode(errors="replace"))]
    assert [attempt.status for attempt in parser.attempts] == ["not_a_call"]


@pytest.mark.parametrize(
    ("written", "namespace", "holds", "name"),
    [
        ("a.f", "", True, "f"),
        ("a.f", "", False, "a.f"),
        ("a.f", "a.", False, "f"),
        ("a.f", "a.", True, "f"),
        ("x.a.f", "x.", True, "a.f"),
        ("a.g", "", True, "a.g"),
        ("f", "", True, "f"),
        ("a.", "a.", False, "a."),
        ("x.f", "y.", True, "x.f"),
    ],
)
def test_namespace_is_removed_from_a_name(written, namespace, holds, name):
    assert _without_namespace(written, namespace, {"f", "a.g"}, holds=holds) == name


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_tool_name_at_the_end_is_a_call_without_closers(reason):
    assert bool(calls(fed(NO_ENDS, "<f=f", reason, tools=TOOLS))) == (reason == "stop")
    assert calls(fed(NO_ENDS, "<f=f\n", tools=TOOLS)) == [("f", "{}")]
    parser = fed(NO_ENDS, "<f=g", "stop", tools=TOOLS)
    assert calls(parser) == []


def test_unmarked_arguments_are_found_by_their_names():
    parser = fed(NAMES, "<f=f>a=1;b=x;y;</f>", tools=TOOLS)
    assert calls(parser) == [("f", '{"a": 1, "b": "x;y"}')]


@pytest.mark.parametrize(
    ("text", "name", "stands"),
    [("f", None, True), ("f<", None, False), ("f<x", "", False), ("{", "", False)],
)
def test_truncated_text_may_or_may_not_become_a_name(text, name, stands):
    m = SimpleNamespace(key_end=ENDS)
    for steps, result in (
        (silent(read_name, (), ENDS), name),
        (silent(argument_follows, m, ()), stands),
    ):
        driver = Driver(steps)
        driver.feed(text)
        driver.close()
        assert driver.result == result


@pytest.mark.parametrize("ending", ["", "<", "</", "</n", "</n>"])
def test_call_truncated_in_the_name_end_is_not_content(ending):
    fmt = NO_ENDS.replace(function={"name_suffix": "</n>", "close": "</f>"})
    parser = fed(fmt, "<f=f" + ending, "length", tools=TOOLS)
    assert parser.message.content == ""
    assert parser.attempts[-1].status == "truncated"


@pytest.mark.parametrize("unmarked", [False, True])
def test_unmarked_argument_names_are_those_of_the_schema(unmarked):
    m = SimpleNamespace(names_unmarked=unmarked)
    for tools, name, names in (
        ({"f": TOOLS[0]["parameters"]}, "f", {"a", "b"}),
        ({"f": None}, "f", set()),
        ({"f": TOOLS[0]["parameters"]}, "g", set()),
        (None, "f", set()),
    ):
        reading = SimpleNamespace(sink=SimpleNamespace(tools=tools))
        assert set(names_without_marker(reading, name, m)) == (names if unmarked else set())


BETWEEN = {"position": "BETWEEN_FUNC_AND_ARGS"}
IN_SECTION = WireFormat().replace(
    tools={"format": "TAG_WITH_TAGGED", "section_start": "<|calls>", "section_end": "<|/calls>"},
    function={"name_prefix": "<", "name_suffix": "<name/>"},
    arguments={"name_prefix": "</arg>", "name_suffix": "<is/>", "value_suffix": "</arg/>"},
)


@pytest.mark.parametrize(
    ("change", "before", "between"),
    [
        ({"call_id": BETWEEN | {"prefix": "<|id>", "suffix": "<id/>"}}, "<|id>7<id/>", ""),
        ({"call_id": BETWEEN | {"prefix": "<|id>", "suffix": ""}}, "<|id>7", ""),
        ({"arguments": {"start": "<|args>", "end": "<|/args>"}}, "<|args>", ""),
        ({"arguments": {"separator": "<|and>"}}, "", "<|and>"),
    ],
)
@pytest.mark.parametrize("reason", ["length", "stop", None])
def test_possible_next_call_does_not_complete_a_call(change, before, between, reason):
    fmt = IN_SECTION.replace(**change)
    end = fmt.arguments.end
    text = (
        f"<|calls><f<name/>{before}</arg>a<is/>1</arg/>{between}</arg>b<is/>2</arg/>{end}<|/calls>"
    )
    assert [call.arguments for call in fed(fmt, text).message.tool_calls] == ['{"a": 1, "b": 2}']
    first = text.index("<name/>") + len("<name/>")
    for cut in range(first, text.index("</arg/>", text.index("<is/>2")) + len("</arg/>")):
        message = parse(text[:cut], fmt, finish_reason=reason)
        whole = [call.arguments for call in message.tool_calls if call.complete]
        # At a natural end, a call is complete if no further part has started.
        one = f"{before}</arg>a<is/>1</arg/>"
        ended = reason == "stop" and text[first:cut] in ("", before, one, one + between)
        assert not whole or ended, text[:cut]


def test_name_truncated_at_a_possible_end_is_known():
    for cut in ("<", "<n", "<name/"):
        assert calls(fed(IN_SECTION, "<|calls><f" + cut, "length")) == [("f", "")]


def test_object_opens_unless_an_id_has_started():
    fmt = IN_SECTION.replace(call_id=BETWEEN | {"prefix": "<|id>", "suffix": "<id/>"})
    for behind, arguments in (("", "{"), ("<|id>", ""), ("<|id>7<id/>", "{")):
        parser = fed(fmt, "<|calls><f<name/>" + behind, "length")
        assert calls(parser) == [("f", arguments)]


def test_name_without_its_prefix_is_not_a_call():
    fmt = NO_ENDS.replace(tools={"per_call_start": "<c>", "per_call_end": "</c>"})
    assert calls(fed(fmt, "<c><f=f><a=a>1;</c>", tools=TOOLS)) == [("f", '{"a": 1}')]
    assert calls(fed(fmt, "<c>f><a=a>1;</c>", tools=TOOLS)) == []


@pytest.mark.parametrize(
    ("before", "made"), [("<id>7</id>", "7"), ("<id></id>", "new"), ("", "new")]
)
def test_call_with_an_empty_id_gets_a_new_id(before, made):
    fmt = NO_ENDS.replace(
        tools={"per_call_start": "<c>", "per_call_end": "</c>"},
        call_id={"position": "PRE_FUNC_NAME", "prefix": "<id>", "suffix": "</id>"},
    )
    parser = fed(fmt, f"<c>{before}<f=f><a=a>1;</c>", id_factory=lambda *_: "new")
    assert [call.id for call in parser.message.tool_calls] == [made]


def test_suffix_prefix_after_a_name_is_not_content():
    fmt = get_format("hy_v3")
    text = "<tool_calls>\n<tool_call>f<tool_sep>\n<"
    message = fed(fmt, text).message
    assert ([(call.name, call.complete) for call in message.tool_calls], message.content) == (
        [("f", False)],
        "",
    )


SHORT = marker_set({">", "</n>"})


@pytest.mark.parametrize(
    ("text", "final", "name"),
    [
        ("a>", True, "a"),
        ("a>", False, None),
        (" a>", False, None),
        ("a>b>", False, "a>b"),
        (" a>b >", False, " a>b "),
        ("a>bx>", False, "a"),
        ("ax>b>", False, "ax"),
        ("n" * LONGEST_NAME + ">", True, "n" * LONGEST_NAME),
        ("n" * LONGEST_NAME + "n>", True, ""),
    ],
)
def test_tool_name_may_contain_a_name_end(text, final, name):
    assert name_in(text, SHORT, final, {"a>b", "c"}) == name


@pytest.mark.parametrize("gap", ["", " "])
def test_tool_name_with_a_name_end_is_read_completely(gap):
    tools = [{"name": "f>g", "parameters": {}}]
    text = f"<c><f=f>g{gap}<k>a<v>1</v></f></c>"
    assert calls(fed(KEYS_AND_VALUES, text, tools=tools)) == [("f>g", '{"a": 1}')]


def test_call_truncated_in_an_argument_marker_is_not_content():
    assert [one.status for one in fed(KEYS_AND_VALUES, "<c><f=f><k", "length").attempts] == [
        "truncated"
    ]
    assert fed(KEYS_AND_VALUES, "<c><f=f>x", "length").message.content == "<c><f=f>x"


@pytest.mark.parametrize("gap", ["", " ", "\n", "  "])
def test_name_suffix_may_start_like_the_closer(gap):
    closes = {"name_suffix": " end:>", "close": "end:", "close_suffix": ">"}
    fmt = KEYS_AND_VALUES.replace(function=closes)
    text = f"<c><f=f{gap}end:><k>a<v>1</v>end:f></c>"
    assert calls(fed(fmt, text)) == [("f", '{"a": 1}')]
    assert calls(fed(fmt, f"<c><f=f{gap}end:>end:f></c>")) == [("f", "{}")]


def test_name_ends_at_a_suffix_that_starts_with_a_word():
    fmt = NO_ENDS.replace(function={"name_suffix": "is>", "close": "</f>"})
    parser = fed(fmt, "<f=gis><a=n>1;</f>", tools=TOOLS)
    assert [(one.kind, one.span) for one in parser.issues] == [("unknown_tool", (3, 4))]


@pytest.mark.parametrize(
    ("tools", "name"),
    [(None, "f"), ([{"name": "f"}], "f"), ([{"name": "x.f"}], "x.f"), ([{"name": "g"}], "f")],
)
@pytest.mark.parametrize("gap", ["", " "])
def test_namespace_is_removed_unless_a_tool_has_it(tools, name, gap):
    fmt = NO_ENDS.replace(function={"namespace": "x.", "close": "</f>"})
    parser = fed(fmt, f"<f={gap}x.f{gap}><a=n>1;</f>", tools=tools)
    assert calls(parser) == [(name, '{"n": 1}')]
    at = len(f"<f={gap}x.")
    told = [(issue.kind, issue.span) for issue in parser.issues]
    assert told == [("unknown_tool", (at, at + 1))] * (tools == [{"name": "g"}])


def test_id_with_the_name_may_have_a_foreign_namespace():
    fmt = get_format("kimi_k2").replace(function={"namespace": ""})
    text = (
        "<|tool_calls_section_begin|><|tool_call_begin|>x.f:0<|tool_call_argument_begin|>{}"
        "<|tool_call_end|><|tool_calls_section_end|>"
    )
    parser = fed(fmt, text, tools=TOOLS)
    assert (calls(parser), parser.issues) == ([("f", "{}")], [])


def test_too_long_text_is_not_an_argument_name():
    driver = Driver(silent(argument_follows, SimpleNamespace(key_end=ENDS), ()))
    driver.feed("n" * 1000)
    assert (driver.running, driver.result) == (False, False)


@pytest.mark.parametrize("text", ['{"a": 1}', '"a"'])
def test_json_in_place_of_tagged_arguments_is_not_a_call(text):
    text = f"<f=f>{text}</f>"
    parser = fed(NO_ENDS.replace(function={"close": "</f>"}), text, tools=TOOLS)
    assert (calls(parser), parser.message.content) == ([], text)


IN_TAGS = in_tags(name_prefix="<a=", name_suffix=">", value_suffix="</a>")
WITH_ID = IN_TAGS.replace(call_id=BETWEEN | {"prefix": "<id>", "suffix": "</id>"})


@pytest.mark.parametrize(
    ("written", "made"),
    [("<id>7</id>", "7"), ("<id>7", "7"), ("<id></id>", "new"), ("<id>", "new"), ("", "new")],
)
def test_id_between_name_and_arguments_is_used(written, made):
    text = f"<c><f=f>{written}<a=x>1</a></f></c>"
    parser = fed(WITH_ID, text, id_factory=lambda *_: "new")
    assert [(call.id, call.arguments) for call in parser.message.tool_calls] == [(made, '{"x": 1}')]
    assert (parser.message.content, parser.issues) == ("", [])


def test_id_without_its_start_marker_rejects_the_call():
    text = "<c><f=f>7</id><a=x>1</a></f></c>"
    parser = fed(WITH_ID, text)
    assert (calls(parser), parser.message.content) == ([], text)


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_id_without_a_following_name_is_content(reason):
    fmt = WITH_ID.replace(call_id={"position": "PRE_FUNC_NAME"})
    (call,) = fed(fmt, "<c><id>7</id><f=f><a=x>1</a></f></c>", reason).message.tool_calls
    assert (call.id, call.arguments) == ("7", '{"x": 1}')
    parser = fed(fmt, "<c><id>7", reason)
    assert (calls(parser), parser.message.content) == ([], "<c><id>7")


def test_id_in_place_of_arguments_ends_the_call():
    fmt = WITH_ID.replace(call_id={"position": "POST_ARGS"})
    parser = fed(fmt, "<c><f=f><id>7</id><a=x>1</a></f></c>")
    (call,) = parser.message.tool_calls
    assert (call.id, call.arguments, parser.message.content) == ("7", "{}", "<a=x>1</a>")


@pytest.mark.parametrize("name", ["f", "f$"])
def test_id_with_the_name_is_read_like_the_name(name):
    fmt = IN_TAGS.replace(
        function={"name_prefix": "", "name_suffix": "\n"},
        call_id={"position": "PRE_FUNC_NAME", "holds_name": True},
    )
    parser = fed(fmt, f"<c>{name}:0\n<a=x>1</a></f></c>")
    (call,) = parser.message.tool_calls
    assert (call.id, call.name, call.arguments) == (f"{name}:0", name, '{"x": 1}')


@pytest.mark.parametrize("fmt", [IN_TAGS, WITH_ID])
@pytest.mark.parametrize("name", ["f", "f>g"])
def test_tool_name_with_a_name_end_is_parsed(fmt, name):
    tools = [{"name": name} for name in ("f", "f>g")]
    parser = fed(fmt, f"<c><f={name}><a=x>1</a></f></c>", tools=tools)
    assert (calls(parser), parser.issues) == ([(name, '{"x": 1}')], [])


@pytest.mark.parametrize(
    ("cut", "status"), [("<", "truncated"), ("<f", "truncated"), ("<x", "not_a_call")]
)
def test_truncated_name_prefix_is_a_truncated_call(cut, status):
    fmt = IN_TAGS.replace(
        tools={
            "per_call_start": "",
            "per_call_end": "",
            "section_start": "<s>",
            "section_end": "</s>",
        }
    )
    parser = fed(fmt, "<s>" + cut, "length")
    assert [tried.status for tried in parser.attempts] == [status]
    assert parser.message.content == ("" if status == "truncated" else "<s>" + cut)


BEGUN = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>"
ENDED = "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"


@pytest.mark.parametrize(
    ("fmt", "text", "marker"),
    [
        ("deepseekv31", BEGUN + 'f{"x": 1}' + ENDED, "<｜tool▁sep｜>"),
        ("deepseek_v3", BEGUN + 'function<｜tool▁sep｜>f\n{"x": 1}\n```' + ENDED, "```json"),
        (
            "hy_v3",
            "<tool_call>f\n<arg_key>x</arg_key><arg_value>1</arg_value></tool_call>",
            "<tool_sep>",
        ),
    ],
)
def test_missing_marker_after_a_name_is_reported(fmt, text, marker):
    parser = fed(get_format(fmt), text)
    (call,) = parser.message.tool_calls
    assert (call.complete, call.repaired, call.healed()) == (True, True, {"x": 1})
    (issue,) = parser.issues
    assert issue.detail == f"{marker!r} is missing after the name of 'f'"


@pytest.mark.parametrize("text", ["f", "f<｜tool▁sep｜>"])
def test_call_without_arguments_needs_no_marker_after_its_name(text):
    parser = fed(get_format("deepseekv31"), BEGUN + text + ENDED)
    assert calls(parser) == [("f", "{}")]
    assert [issue.kind for issue in parser.issues] == ["missing_arguments"]


@pytest.mark.parametrize("closers", ["<｜tool▁calls▁end｜>", ENDED, "```" + ENDED])
def test_code_block_without_arguments_is_an_incomplete_call(closers):
    text = BEGUN + "function<｜tool▁sep｜>f\n```json\n" + closers
    for size in (1, len(text)):
        parser = StreamParser("deepseek_v3")
        for start in range(0, len(text), size):
            parser.feed(text[start : start + size])
        parser.finish("stop")
        (call,) = parser.message.tool_calls
        assert (call.arguments, call.complete) == ("", False)
        assert [issue.kind for issue in parser.issues] == ["malformed_arguments"]
