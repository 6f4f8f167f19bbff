"""Calls, or text, after an opening marker."""

from __future__ import annotations

import pytest

from deltaparse import ContentDelta, Policies, StreamParser, get_format
from deltaparse.stream.message.message import Attempt

from ....strategies.wire_by_hand import (
    CALL,
    LIST,
    OTHER,
    TAGS,
    UNMARKED,
    calls,
    fed,
    in_tags,
    kinds,
)

OBJECT = '{"name": "f", "arguments": {}}'


@pytest.mark.parametrize(
    ("fmt", "text", "options", "tried"),
    [
        (TAGS, "<call> b", {}, (0, 7, "no call follows '<call>'")),
        (TAGS, '<call>\n{"x": 1} is', {}, (0, 15, "no call follows '<call>'")),
        (TAGS, '{"x": 1} is', {"calls": "json"}, (0, 8, "the JSON is not a call")),
        (UNMARKED, '{"x": 1} is', {"tools": [{"name": "f"}]}, None),
        (UNMARKED, "is", {"tools": [{"name": "f"}]}, None),
    ],
)
def test_apparent_call_is_text(fmt, text, options, tried):
    parser = fed(fmt, text, **options)
    assert (parser.message.content, calls(parser)) == (text, [])
    if tried is None:
        assert parser.attempts == []
    else:
        start, end, detail = tried
        assert parser.attempts == [Attempt("", (start, end), "not_a_call", detail)]


def test_attempt_is_recorded_once():
    assert [one.status for one in fed(TAGS, CALL).attempts] == ["complete"]
    parser = fed(UNMARKED, '{"name": "g", "parameters": {}}', tools=[{"name": "f"}])
    assert [one.status for one in parser.attempts] == ["unknown_tool"]


@pytest.mark.parametrize("prompt", ["", "<|start|>model\n<call>\n"])
def test_marker_before_a_json_call_is_reported_with_its_span(prompt):
    parser = fed(TAGS, "<call>\n" + OBJECT, calls="json", prompt=prompt)
    assert calls(parser) == [("f", "{}")]
    (issue,) = parser.issues
    assert (issue.kind, issue.span) == ("stray_marker", (0, 6))
    assert issue.detail == f"left out before the call: {'<call> <call>' if prompt else '<call>'!r}"


def test_text_call_buffers_no_later_text():
    parser = StreamParser(TAGS, tools=[{"name": "g"}], policies=Policies(unknown_tool="text"))
    made = parser.feed(CALL) + parser.feed(" more")
    assert all(isinstance(delta, ContentDelta) for delta in made)
    assert "".join(delta.text for delta in made) == CALL + " more"
    text = f"{CALL}\n{OTHER} x"
    parser = fed(TAGS, text, tools=[{"name": "g"}], policies=Policies(unknown_tool="text"))
    assert [call.name for call in parser.message.tool_calls] == ["g"]


def test_markers_before_a_call_are_read_in_a_format_with_code():
    fmt = get_format("llama3_json")
    for text in ("<|python_tag|>" + '{"name": "f", "parameters": {}}', "<|python_tag|>x = 1"):
        assert len(calls(fed(fmt, text))) == 1
    both = TAGS.replace(
        tools={"section_start": "<calls>", "section_end": "</calls>"},
        code={"start": "<|code|>", "function": "python"},
    )
    for text in (f"<calls>{CALL}</calls>", f"<calls>\n{CALL}\n{OTHER}</calls>x"):
        parser = fed(both, text)
        assert calls(parser)[0] == ("f", '{"a": 1}')
        assert parser.message.content == ("x" if text.endswith("x") else "")


def test_prompt_markers_are_not_emitted():
    prompt = "<|start|>model\n<call>\n"
    parser = fed(TAGS, OBJECT + "\n</call> <call> no", prompt=prompt)
    assert calls(parser) == [("f", "{}")]
    assert parser.message.content == " <call> no"


def test_prompt_markers_are_not_reported():
    for markers in ("<call>\n", "<call>\n<call>\n"):
        parser = fed(TAGS, OBJECT, calls="json", prompt="<|start|>model\n" + markers)
        assert calls(parser) == [("f", "{}")]
        assert parser.issues == []


def test_code_and_calls_have_different_markers():
    coded = {"code": {"start": "<|code|>", "function": "python"}}
    tags, unmarked = TAGS.replace(**coded), UNMARKED.replace(**coded)
    for fmt in (tags, unmarked):
        assert calls(fed(fmt, "<|code|>x = 1<|end|>")) == [("python", '{"code": "x = 1"}')]
    assert calls(fed(tags, CALL)) == [("f", '{"a": 1}')]
    assert calls(fed(unmarked, '{"name": "f", "parameters": {}}')) == [("f", "{}")]
    parser = fed(tags, "<call> b")
    assert (calls(parser), parser.message.content) == ([], "<call> b")


def test_call_after_the_code_marker_may_have_any_name():
    text = '<|python_tag|>{"name": "g", "parameters": {}}'
    parser = fed(get_format("llama3_json"), text, tools=[{"name": "f"}])
    assert calls(parser) == [("g", "{}")]


def test_repeated_code_marker_is_code():
    parser = fed(get_format("llama3_json"), "<|python_tag|><|python_tag|>print(1)")
    assert calls(parser) == [("code_interpreter", '{"code": "<|python_tag|>print(1)"}')]


def test_unknown_call_after_content_is_recorded_once():
    fmt, text = get_format("functionary_v32"), "all\nHi>>>f\n{}"
    parser = fed(fmt, text, "length", tools=[{"name": "g"}])
    assert parser.message.content == "Hi>>>f\n{}"
    assert [one.status for one in parser.attempts] == ["unknown_tool"]


AS_TEXT = Policies(unknown_tool="text")
IN_TAGS = in_tags(name_prefix="<a=", name_suffix=">", value_suffix="</a>")


@pytest.mark.parametrize("gap", ["", " ", "\n"])
def test_all_closers_of_a_text_call_are_text(gap):
    text = f"<c><f=f><a=x>1</a></f>{gap}</c> x"
    parser = fed(IN_TAGS, text, tools=[{"name": "g"}], policies=AS_TEXT)
    assert (calls(parser), parser.message.content) == ([], text)


def test_section_closer_is_not_text_after_a_text_call():
    fmt = TAGS.replace(tools={"section_start": "<calls>", "section_end": "</calls>"})
    text = f"<calls>{CALL}\n{OTHER}</calls>x"
    parser = fed(fmt, text, tools=[{"name": "f"}], policies=AS_TEXT)
    assert calls(parser) == [("f", '{"a": 1}')]
    assert "</call>" in parser.message.content
    assert "</calls>" not in parser.message.content
    parser = fed(fmt, text, tools=[{"name": "h"}], policies=AS_TEXT)
    assert (calls(parser), parser.message.content) == ([], text)


@pytest.mark.parametrize("name", ["qwen3", "qwen3_coder"])
def test_second_text_call_includes_its_markers(name):
    call = {
        "qwen3": '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
        "qwen3_coder": "<tool_call>\n<function=f>\n</function>\n</tool_call>",
    }[name]
    policies = Policies(extra_calls="text")
    for more in (1, 2, 3):
        text = "\n".join([call] * (1 + more))
        parser = fed(get_format(name), text, parallel_tool_calls=False, policies=policies)
        assert calls(parser) == [("f", "{}")]
        assert parser.message.content.strip() == "\n".join([call] * more)


def test_repeated_name_prefix_is_text():
    parser = fed(IN_TAGS, "<c><f=<f=f><a=x>1</a></f></c>")
    assert (parser.message.content, calls(parser)) == ("<c><f=", [("f", '{"x": 1}')])


def test_closer_in_place_of_a_name_is_text():
    text = "<c>f><a=x>1</a></f></c>"
    parser = fed(IN_TAGS, text)
    assert (calls(parser), parser.message.content) == ([], text)


COMMAS = TAGS.replace(tools={"separator": ",\n"})
TWO = [("f", '{"a": 1}'), ("g", '{"b": [true, "x"]}')]


@pytest.mark.parametrize("separator", [",\n", ",", ", ", "\n,", " ,\n", "\n", ""])
def test_calls_in_markers_allow_a_separator(separator):
    parser = fed(COMMAS, f"Hm.\n{CALL}{separator}{OTHER}")
    assert (calls(parser), parser.message.content, parser.issues) == (TWO, "Hm.", [])
    between = fed(TAGS, CALL + separator + OTHER)
    assert calls(between) == TWO
    assert ("," in separator) == bool(between.issues)


@pytest.mark.parametrize("text", [", and so on", ", <call> b", " , <i", "<call>, <call>"])
def test_separator_without_a_next_call_is_text(text):
    parser = fed(COMMAS, CALL + text)
    assert (calls(parser), parser.message.content) == (TWO[:1], text)
    assert {issue.kind for issue in parser.issues} == {"text_after_tool_call"}
    assert parser.issues[0].span[0] == len(CALL)


def test_separator_may_be_truncated():
    for cut in range(1, len(",\n<call>")):
        for reason in ("length", "stop"):
            parser = fed(COMMAS, CALL + ",\n<call>"[:cut], reason)
            assert (calls(parser), parser.message.content) == (TWO[:1], "")
            assert [issue.kind for issue in parser.issues] == ["cut_marker"]


def test_separators_of_unmarked_calls_are_accepted():
    fmt = UNMARKED.replace(tools={"separator": "\n---\n"})
    one = '{"name": "f", "parameters": {}}'
    for between in ("\n---\n", "---", ", ", "; "):
        parser = fed(fmt, one + between + one)
        assert (calls(parser), parser.message.content) == ([("f", "{}")] * 2, "")
    behind = "\n---\nThat was it."
    parser = fed(fmt, one + behind, tools=[{"name": "f"}])
    assert (calls(parser), parser.message.content) == ([("f", "{}")], behind)


@pytest.mark.parametrize("text", [",", " ; ", "\n--", "\n---", "\n---\n"])
@pytest.mark.parametrize("reason", ["stop", "length"])
def test_truncated_separator_of_unmarked_calls(text, reason):
    fmt = UNMARKED.replace(tools={"separator": "\n---\n"})
    one = '{"name": "f", "parameters": {}}'
    parser = fed(fmt, one + text, reason, tools=[{"name": "f"}])
    assert (calls(parser), parser.message.content) == ([("f", "{}")], "")
    (issue,) = parser.issues
    assert (issue.kind, issue.span) == (
        "cut_marker",
        (len(one + text) - len(text.lstrip()), len(one + text)),
    )
    # Without tools, only a complete part proves that these are calls.
    parser = fed(fmt, one + text, reason)
    assert (calls(parser), parser.message.content) == ([], one + text)


NO_LIST = '<call>\n{"name": "h", "arguments": [1]}\n</call>'


@pytest.mark.parametrize(
    ("first", "second", "options", "text", "called"),
    [
        (CALL, OTHER, {"tools": [{"name": "g"}], "policies": AS_TEXT}, CALL, ["g"]),
        (NO_LIST, CALL, {"policies": Policies(malformed_arguments="text")}, NO_LIST, ["f"]),
        (
            f"{CALL}\n{OTHER}",
            CALL,
            {"parallel_tool_calls": False, "policies": Policies(extra_calls="text")},
            f"\n{OTHER}\n{CALL}",
            ["f"],
        ),
    ],
)
def test_text_call_keeps_its_closer(first, second, options, text, called):
    parser = fed(TAGS, f"{first}\n{second}", **options)
    assert [name for name, _ in calls(parser)] == called
    assert parser.message.content == text


IN_LINES = TAGS.replace(tools={"section_start": "<calls>\n", "section_end": "\n</calls>"})


def test_section_end_is_not_text():
    text = f"<calls>\n{CALL}\n{OTHER}\n</calls>x"
    parser = fed(IN_LINES, text, tools=[{"name": "f"}], policies=AS_TEXT)
    assert (calls(parser), parser.message.content) == ([("f", '{"a": 1}')], f"\n{OTHER}x")


def test_whitespace_between_markers_before_a_call_is_ignored():
    parser = fed(IN_LINES, f"<calls>\n  \n {CALL}\n{OTHER}\n</calls>x")
    assert [name for name, _ in calls(parser)] == ["f", "g"]
    assert parser.message.content == "x"
    assert [tried.status for tried in parser.attempts] == ["complete", "complete"]


def test_text_after_a_list_with_a_text_call():
    text = '[CALLS][{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}] x'
    parser = fed(LIST, text, tools=[{"name": "f"}], policies=AS_TEXT)
    assert kinds(parser) == ["unknown_tool", "text_after_tool_call"]
    assert parser.message.content == ', {"name": "g", "arguments": {}} x'


@pytest.mark.parametrize("text", ["x", '{"a": 1} z'])
def test_possible_marker_after_a_prompt_call_is_text(text):
    parser = fed(TAGS, text, prompt=f"<|start|>model\n{CALL}\n<ca")
    assert (calls(parser), parser.message.content) == ([], text)


@pytest.mark.parametrize("suffix", ["", ">"])
def test_separator_ends_a_call_without_a_closer(suffix):
    function = {"name_prefix": "<f=", "name_suffix": suffix, "close": ""}
    markers = {"section_start": "<c>", "section_end": "</c>", "per_call_start": ""}
    fmt = in_tags(name_prefix="<a=", name_suffix=">", value_suffix="</a>").replace(
        tools={**markers, "per_call_end": "", "separator": " ;\n"},
        function=function,
    )
    call = f"<f=f{suffix}"
    assert calls(fed(fmt, f"<c>{call} ;\n{call}</c>")) == [("f", "{}")] * 2


def test_separator_may_precede_the_first_call():
    tools = {"section_start": "---", "separator": "\n---\n", "content_separator": "\n"}
    fmt = IN_TAGS.replace(tools={**tools, "per_call_start": "", "per_call_end": ""})
    call = "\n---\n<f=f><a=x>1</a></f>"
    for text in ("", "hi"):
        parser = fed(fmt, text + call + call)
        assert (calls(parser), parser.message.content) == ([("f", '{"x": 1}')] * 2, text)
