"""Calls as Python, and code, one test for each case."""

from __future__ import annotations

import json

import pytest

from deltaparse import (
    CodeFormat,
    Content,
    MalformedOutput,
    Policies,
    Reasoning,
    StreamParser,
    ToolCall,
    ToolCallDelta,
    ToolsFormat,
    WireFormat,
    parse,
)
from deltaparse.partial import Markers, Window
from deltaparse.partial.python_text import strings as python_strings
from deltaparse.partial.python_text import to_json as python_json
from deltaparse.stream.tokens.traced_parser import TracedParser

from ....strategies.wire_by_hand import THINK, TURN, UNMARKED, calls, fed, kinds
from ....strategies.wire_pythonic import TOOLS
from ....support import joined


@pytest.mark.parametrize("text", ["f" * 1000, " " * 1000, "f(" + " " * 1000, "[" + "\n" * 1000])
def test_7_possible_call_is_buffered_up_to_a_limit(text):
    for tools in (None, TOOLS):
        parser = StreamParser(PLAIN, tools=tools)
        held = 0
        for at, char in enumerate(text, 1):
            parser.feed(char)
            held = max(held, at - len(parser.message.content))
        assert held <= 400


# Calls as Python

SECTION = WireFormat(
    turn=TURN,
    reasoning=THINK,
    tools=ToolsFormat(
        format="PYTHONIC", section_start="<calls>", section_end="</calls>", array_wrapped=True
    ),
)
PLAIN = WireFormat(turn=TURN, tools=ToolsFormat(format="PYTHONIC"))
F, G = ("f", '{"a": 1}'), ("g", '{"b": [true, "x"]}')


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("[f(a=1)]", [F]),
        ("f(a=1)", [F]),
        ("[f(a=1), g(b=[True, 'x'])]", [F, G]),
        ("[f(a=1),g(b=[True,'x']),]", [F, G]),
        ("[\n    f(a=1),\n    g(b=[True, 'x'])\n]", [F, G]),
        ("f(a=1), g(b=[True, 'x'])", [F, G]),
        ("f(a=1);g(b=[True, 'x'])", [F, G]),
        ("f(a=1)\n\ng(b=[True, 'x'])", [F, G]),
        ("[f()]", [("f", "{}")]),
        ("[f(\n    a = 1,  # one\n)]", [F]),
        ('[get_weather(location="Paris")]', [("get_weather", '{"location": "Paris"}')]),
        ("[m.f(x=None, y=(1, -2.5))]", [("m.f", '{"x": null, "y": [1, -2.5]}')]),
        ("[f(q='it\\'s', ok=True)]", [("f", '{"q": "it\'s", "ok": true}')]),
        ("[f(d={'k': {'n': [1, {}]}})]", [("f", '{"d": {"k": {"n": [1, {}]}}}')]),
        ('[f(s="</calls>)]")]', [("f", '{"s": "</calls>)]"}')]),
    ],
)
@pytest.mark.parametrize("end", ["", "</calls>", "</calls><|end|>"])
def test_calls_in_markers(text, made, end):
    parser = fed(SECTION, f"Well.<calls>{text}{end}")
    assert calls(parser) == made
    assert parser.message.content == "Well."
    assert parser.finish_reason == "tool_calls"
    assert kinds(parser) == ([] if end else ["cut_marker"])
    if "\n\n" not in text:
        tools = [{"name": name} for name, _ in made]
        for given in (None, tools):
            unmarked = fed(PLAIN, text + end.removeprefix("</calls>"), tools=given)
            assert (calls(unmarked), unmarked.message.content, unmarked.issues) == (made, "", [])


@pytest.mark.parametrize(
    "text",
    [
        "f",
        "f (a=1)",
        "f(",
        "f(x",
        "f(x)",
        "f(1)",
        "f('x')",
        "f(a==1)",
        "f(a=",
        "if(x==1) {}",
        "[",
        "[1] Smith 2024",
        "[f, g]",
        "[]",
        "[link](a=1)",
        "Say f(a=1)",
        "See [f(a=1)]",
        "(f(a=1))",
        "3(a=1)",
        "",
        "Hello, world (a=1)",
    ],
)
def test_other_text_without_markers_is_text(text):
    parser = fed(PLAIN, text)
    assert parser.message.content == text
    assert parser.issues == []
    assert fed(PLAIN, text, "length").message.content == text


def test_tools_decide_which_unmarked_text_is_a_call():
    tools = [{"name": "f"}, {"name": "fetch"}]
    for text in ("g(a=1)", "fe(a=1)", "print(end='')", "[g(a=1), f(a=1)]", "f.x() is one"):
        parser = fed(PLAIN, text, tools=tools)
        assert (parser.message.content, kinds(parser)) == (text, ["unknown_tool"])
    assert calls(fed(PLAIN, "f(a=1)", tools=tools)) == [F]
    # After a call of an unknown tool, everything up to the next marker is text.
    parser = fed(PLAIN, "[f(a=1), g(b=f(a=1)), f(a=1)]<|end|>", tools=tools)
    assert (calls(parser), parser.message.content) == ([F], ", g(b=f(a=1)), f(a=1)]")
    assert kinds(parser) == ["unknown_tool", "text_after_tool_call"]
    assert [one.status for one in parser.attempts] == ["complete", "unknown_tool"]
    with pytest.raises(MalformedOutput):
        parse("g(a=1)", PLAIN, tools=tools, policies=Policies(unknown_tool="error"))


@pytest.mark.parametrize("name", ["यात्रा", "ชื่อ", "café", "城市"])
def test_names_have_marks_on_their_letters(name):
    text = f"[{name}({name}=1), {name}()]"
    made = [(name, f'{{"{name}": 1}}'), (name, "{}")]
    for tools in (None, [{"name": name}]):
        assert calls(fed(PLAIN, text, tools=tools)) == made
    for tools in (None, [{"name": "f"}]):
        assert calls(fed(SECTION, f"<calls>{text}</calls>", tools=tools)) == made


def test_text_that_matches_no_tool_name_is_released():
    parser = StreamParser(PLAIN, tools=[{"name": "f"}, {"name": "fetch"}])
    assert [joined(parser.feed(text))[0] for text in ("f", "e", "x", " ")] == ["", "", "", "fex "]
    parser = StreamParser(PLAIN, tools=[{"name": "f"}])
    assert [joined(parser.feed(text))[0] for text in "feé"] == ["", "", "feé"]
    parser = StreamParser(PLAIN)
    assert [joined(parser.feed(text))[0] for text in "[1]"] == ["", "[1", "]"]


@pytest.mark.parametrize("text", ["", " so", "\nThe result is f(x).", "; and", ", then", " g(x)"])
def test_text_after_calls_is_kept(text):
    for fmt, end in ((PLAIN, ""), (SECTION, "</calls>")):
        start = "<calls>" if fmt is SECTION else ""
        tools = [{"name": "f"}]
        parser = fed(fmt, f"{start}[f(a=1)]{end}{text}", tools=tools)
        assert calls(parser) == [F]
        assert parser.message.content == text
        assert kinds(parser) == (["text_after_tool_call"] if text else [])
        drop = Policies(text_after_tool_call="drop")
        dropped = fed(fmt, f"{start}f(a=1){end}{text}", tools=tools, policies=drop)
        assert (calls(dropped), dropped.message.content) == ([F], "")


def test_invalid_item_in_a_list_is_content():
    parser = fed(SECTION, "<calls>[f(a=1), oops]</calls>")
    assert calls(parser) == [F]
    assert parser.message.content == ", oops]"
    assert kinds(parser) == ["text_after_tool_call", "orphan_marker", "cut_marker"]
    text = ", oops]</calls>?"
    assert fed(SECTION, f"<calls>[f(a=1){text}").message.content == text
    assert fed(SECTION, "<calls>what?").message.content == "<calls>what?"
    assert kinds(fed(SECTION, "<calls>[ ]</calls>")) == ["no_calls"]


def test_namespace_is_removed():
    fmt = SECTION.replace(function={"namespace": "functions."})
    assert calls(fed(fmt, "<calls>[functions.f(a=1), f(a=1)]</calls>")) == [F, F]
    tools = [{"name": "functions.f"}]
    assert calls(fed(fmt, "<calls>functions.f(a=1)", tools=tools)) == [("functions.f", '{"a": 1}')]
    unmarked = PLAIN.replace(function={"namespace": "functions."})
    for text in ("functions.f(a=1)", "f(a=1)"):
        assert calls(fed(unmarked, text, tools=[{"name": "f"}])) == [F]


def test_arguments_stream():
    parser = StreamParser(SECTION)
    texts = ["<calls>[f", "(", "code='", "print", "(1)", "\\n", "', n=1", "2", ")", "]</calls>"]
    given = [
        "".join(d.name or d.arguments for d in parser.feed(text) if isinstance(d, ToolCallDelta))
        for text in texts
    ]
    assert given == ["", "f", '{"code": "', "print", "(1)", "\\n", '", "n": ', "", "12}", ""]


@pytest.mark.parametrize(
    ("text", "arguments", "repair"),
    [
        ("f(a='x\ny')", '{"a": "x\\ny"}', "control_characters"),
        ("f(a='\\xyz')", '{"a": "\\\\xyz"}', "invalid_escapes"),
        ("f(a=nan)", '{"a": null}', "non_finite"),
        ("f(a=[1, {'b': 2</calls>", '{"a": [1, {"b": 2}]}', "closed"),
        ("[f(a=1</calls>", '{"a": 1}', "closed"),
        ("f(</calls>", "{}", "closed"),
        ("f(a=1,</calls>", '{"a": 1}', "closed"),
        ("[f(a=1))]", '{"a": 1}', "left out: ')'"),
        ("f(a=1)]", '{"a": 1}', "left out: ']'"),
    ],
)
def test_repairs_are_reported(text, arguments, repair):
    parser = fed(SECTION, f"<calls>{text.removesuffix('</calls>')}</calls>!")
    assert calls(parser) == [("f", arguments)]
    assert parser.message.tool_calls[0].complete
    assert parser.message.content == "!"
    assert kinds(parser)[0] == "repaired_arguments"
    assert repair in parser.issues[0].detail


BROKEN = ["f(x)", "f('x')", "f(a=g(1))", "f(a=x)", "f(a='x' + 'y')", "f(**{'a': 1})", "f(a=1 2)"]
BROKEN += ["f(a=</calls>", "f(a=[oops</calls>", "f(a=[('x'</calls>"]


@pytest.mark.parametrize("text", BROKEN)
def test_unrepairable_arguments_leave_an_incomplete_call(text):
    text = text.removesuffix("</calls>")
    parser = fed(SECTION, f"<calls>[{text}</calls> more")
    assert [(call.name, call.complete) for call in parser.message.tool_calls] == [("f", False)]
    assert parser.message.content == " more"
    assert kinds(parser) == ["malformed_arguments", "text_after_tool_call"]
    if "'x'" in text:
        assert "x" in parser.issues[0].detail + parser.message.tool_calls[0].arguments
    as_text = Policies(malformed_arguments="text")
    shown = fed(SECTION, f"<calls>[{text}</calls> more", policies=as_text)
    assert (calls(shown), "f(" in shown.message.content) == ([], True)
    with pytest.raises(MalformedOutput):
        parse(f"<calls>[{text}</calls>", SECTION, policies=Policies(malformed_arguments="error"))


@pytest.mark.parametrize("policy", ["strict", "text"])
@pytest.mark.parametrize("text", ["f(a=nan)", "f(a='x\ny')", "f(a='\\xyz')", "f(a=1</calls>"])
def test_without_repair_only_valid_python_is_accepted(policy, text):
    policies = Policies(malformed_arguments=policy)
    text = f"<calls>{text.removesuffix('</calls>')}</calls>"
    parser = fed(SECTION, text, policies=policies)
    assert not any(call.complete for call in parser.message.tool_calls)
    assert kinds(parser)[0] == "malformed_arguments"
    good = fed(SECTION, "<calls>[f(a='it\\'s', b=(1,))]</calls>", policies=policies)
    assert calls(good) == [("f", '{"a": "it\'s", "b": [1]}')]
    assert good.issues == []


@pytest.mark.parametrize(
    ("text", "arguments", "healed"),
    [
        ("f(", "{", {}),
        ("f(a", "{", {}),
        ("f(a='rm -rf /tm", '{"a": "rm -rf /tm', {"a": "rm -rf /tm"}),
        ("[f(n=12", '{"n": ', {}),
        ("[f(a=1, b=['x', ", '{"a": 1, "b": ["x"', {"a": 1, "b": ["x"]}),
        ("f(a=(1, 2", '{"a": [1', {"a": []}),
        ("f(a=('x'", '{"a": ', {}),
    ],
)
@pytest.mark.parametrize("reason", ["length", None, "stop"])
def test_truncated_call_is_incomplete_and_reported(text, arguments, healed, reason):
    parser = fed(SECTION, f"<calls>{text}", reason)
    (call,) = parser.message.tool_calls
    assert (call.name, call.arguments, call.complete) == ("f", arguments, False)
    assert call.healed() == healed
    assert set(kinds(parser)) == {"truncated_call"}
    assert parser.finish_reason == "length"
    assert "('x'" not in text or '"x' in "".join(issue.detail for issue in parser.issues)


def test_call_truncated_before_its_name_is_reported():
    parser = fed(SECTION, "So: <calls>[get_wea", "length")
    assert parser.message.parts == [Content("So: ")]
    assert "get_wea" in parser.issues[0].detail
    assert fed(SECTION, "So: <calls>[get_wea").message.content == "So: <calls>[get_wea"
    assert fed(SECTION, "<calls><cal", "length").message.content == "<calls><cal"
    parser = fed(SECTION, "<calls>[f(a=1), get", "length")
    assert calls(parser) == [F]
    assert kinds(parser) == ["truncated_call"]
    assert fed(SECTION, "<calls>[f(a=1)", "length").issues == []
    parser = fed(PLAIN, "[f(a=1), get", "length", tools=[{"name": "f"}])
    assert (calls(parser), parser.message.content) == ([F], ", get")


def test_unknown_tools_extra_calls_and_duplicate_keys():
    text = "<calls>[f(a=1), g(b=[True, 'x'])]</calls>"
    parser = fed(SECTION, text, tools=[{"name": "f"}])
    assert (calls(parser), kinds(parser)) == ([F, G], ["unknown_tool"])
    options = {"tools": [{"name": "f"}], "policies": Policies(unknown_tool="text")}
    parser = fed(SECTION, text, **options)
    assert (calls(parser), parser.message.content) == ([F], ", g(b=[True, 'x'])")
    parser = fed(SECTION, text, parallel_tool_calls=False, policies=Policies(extra_calls="drop"))
    assert (calls(parser), kinds(parser)) == ([F], ["extra_call", "extra_call"])
    assert calls(fed(SECTION, "<calls>f(a=1, a=2)")) == [("f", '{"a": 1, "a": 2}')]
    with pytest.raises(MalformedOutput):
        parse("<calls>f(a=1, a=2)", SECTION, policies=Policies(duplicate_keys="error"))


def test_calls_in_reasoning():
    parser = fed(SECTION, "<think>maybe <calls>[f(a=1)]</calls> no</think>ok")
    assert parser.message.parts == [
        Reasoning("maybe <calls>[f(a=1)]</calls> no"),
        Content("ok"),
    ]
    parser = fed(SECTION, "<think>let me <calls>[f(a=1)]")
    assert (parser.message.reasoning_content, calls(parser)) == ("let me ", [F])


@pytest.mark.parametrize(
    ("prompt", "text", "arguments"),
    [
        ("<calls>", "[f(a=1)]", '{"a": 1}'),
        ("<calls>[f(", "a=1)]", '{"a": 1}'),
        ("<calls>[f(a", "=1)]", '{"a": 1}'),
        ("<calls>[f(a=", "1)]", '{"a": 1}'),
        ("<calls>[f(a='x", "y')]", '{"a": "xy"}'),
    ],
)
def test_call_started_in_the_prompt_is_emitted_completely(prompt, text, arguments):
    parser = fed(SECTION, text, prompt=f"<|start|>model\n{prompt}")
    assert calls(parser) == [("f", arguments)]


@pytest.mark.parametrize("text", ["f(a=[", "[f(a=", "(", "[", "f(a=1);", "f", "f(a='", "{'a':"])
def test_8_work_does_not_grow_with_earlier_text(text, monkeypatch):
    """Limit the work for nested calls and other nested text."""
    seen = []
    find, feed, end_of = Markers.find, Window.feed, python_json.match_end

    def counted_find(self, text, pos=0, *, final=False):
        seen.append(len(text) - pos)
        return find(self, text, pos, final=final)

    def counted_feed(self, text):
        feed(self, text)
        seen.append(len(self.text))

    def counted_match(pattern, text, pos):
        seen.append(len(text) - pos)
        return end_of(pattern, text, pos)

    monkeypatch.setattr(Markers, "find", counted_find)
    monkeypatch.setattr(Window, "feed", counted_feed)
    for module in (python_json, python_strings):
        monkeypatch.setattr(module, "match_end", counted_match)
    for fmt in (PLAIN, SECTION):
        works = []
        for times in (500, 2000):
            parser = StreamParser(fmt)
            parser.feed("<calls>" if fmt is SECTION else "")
            seen.clear()
            for char in text * times:
                parser.feed(char)
            works.append(sum(seen) / times)
        assert works[1] <= works[0] * 1.1 + 1


# Code

CODE = UNMARKED.replace(code=CodeFormat(start="<|code|>", function="python", method=".call"))
HELLO = 'print("Hi\\n")\n'


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ('{"name": "f", "parameters": {"a": 1}}', [F]),
        ('<|code|>{"name": "f", "parameters": {"a": 1}}', [F]),
        ('<|code|> {"name": "f", "parameters": {"a": 1}}', [F]),
        ('<|code|>foo.call(query="baz")', [("foo", '{"query": "baz"}')]),
        ("<|code|>foo.call()", [("foo", "{}")]),
        (f"<|code|>{HELLO}", [("python", json.dumps({"code": HELLO}))]),
        ("<|code|>\n x", [("python", '{"code": "\\n x"}')]),
        ("<|code|>foo.call(1)", [("python", '{"code": "foo.call(1)"}')]),
        (
            '<|code|>subprocess.call(["ls"])',
            [("python", '{"code": "subprocess.call([\\"ls\\"])"}')],
        ),
        ("<|code|>foo.callers(a=1)", [("python", '{"code": "foo.callers(a=1)"}')]),
        ("<|code|>foo.call", [("python", '{"code": "foo.call"}')]),
        ("<|code|>x = {}<|e", [("python", '{"code": "x = {}<|e"}')]),
        ("<|code|>foo.call(a=1)<|code|>x", [("foo", '{"a": 1}'), ("python", '{"code": "x"}')]),
    ],
)
@pytest.mark.parametrize("end", ["", "<|end|>"])
def test_code_or_a_call_may_follow_the_code_marker(text, made, end):
    parser = fed(CODE, text + end)
    assert calls(parser) == made
    assert all(call.complete for call in parser.message.tool_calls)
    assert (parser.message.content, parser.issues) == ("", [])
    assert parser.finish_reason == "tool_calls"


def test_code_streams_and_is_closed_by_the_end():
    for end in (["<|e", "nd|>"], []):
        parser = StreamParser(CODE)
        given = [
            "".join(
                d.name or d.arguments for d in parser.feed(text) if isinstance(d, ToolCallDelta)
            )
            for text in ["<|code|>", "im", "port os\n", 'x = "', *end]
        ]
        given.append("".join(delta.arguments for delta in parser.finish("stop")))

        assert given[:4] == ["", "", 'python{"code": "import os\\n', 'x = \\"']
        assert [text for text in given[4:] if text] == ['"}']


def test_truncated_code_is_incomplete():
    parser = fed(CODE, "<|code|>print(1", "length")
    (call,) = parser.message.tool_calls
    assert (call.arguments, call.complete) == ('{"code": "print(1', False)
    assert call.healed() == {"code": "print(1"}
    assert (kinds(parser), parser.finish_reason) == (["truncated_call"], "length")
    parser = fed(CODE, "<|code|>print(1)<|end|>", "length")
    assert parser.message.tool_calls[0].complete


@pytest.mark.parametrize("text", ["<|code|>", "<|code|> \n", "Say <|code|>"])
def test_code_marker_without_code_is_content(text):
    assert fed(CODE, text).message.content == text
    parser = fed(CODE, text, "length")
    assert parser.message.content == text[: text.index("<")]
    assert kinds(parser) == ["truncated_call"]


def test_method_call_of_an_unknown_tool_is_code():
    text = "<|code|>os.call(a=1)"
    tools = [{"name": "python"}, {"name": "foo"}]
    assert calls(fed(CODE, text, tools=tools)) == [("python", '{"code": "os.call(a=1)"}')]
    assert calls(fed(CODE, "<|code|>foo.call(a=1)", tools=tools)) == [("foo", '{"a": 1}')]
    parser = fed(CODE, text, tools=[{"name": "f"}], policies=Policies(unknown_tool="text"))
    assert (parser.message.content, kinds(parser)) == (text, ["unknown_tool"])
    assert fed(CODE, text, tools=[]).message.content == text


def test_only_the_marker_whitespace_is_removed_from_code():
    fmt = CODE.replace(code={"start": "<|code|>\n"})
    assert calls(fed(fmt, "<|code|>\n\n  x\n<|end|>")) == [("python", '{"code": "\\n  x\\n"}')]
    assert calls(fed(fmt, "<|code|>x")) == [("python", '{"code": "x"}')]
    fmt = CODE.replace(turn={"ends": ("\n<|end|>",)})
    assert calls(fed(fmt, "<|code|>x\n\n<|end|>")) == [("python", '{"code": "x\\n"}')]


def test_code_in_reasoning():
    fmt = CODE.replace(reasoning=THINK)
    parser = fed(fmt, "<think>maybe <|code|>x = 1 no</think>ok")
    assert parser.message.parts == [Reasoning("maybe <|code|>x = 1 no"), Content("ok")]
    parser = fed(fmt, "<think>so <|code|>x = 1")
    assert parser.message.reasoning_content == "so "
    assert calls(parser) == [("python", '{"code": "x = 1"}')]


def test_code_started_in_the_prompt_is_complete():
    parser = fed(CODE, "x = 1", prompt="<|start|>model\n<|code|>")
    assert calls(parser) == [("python", '{"code": "x = 1"}')]
    parser = fed(CODE, "= 1", prompt="<|start|>model\n<|code|>x ")
    assert calls(parser) == [("python", '{"code": "x = 1"}')]


def test_held_code_call_is_content_if_incomplete():
    policies = Policies(malformed_arguments="text")
    assert fed(CODE, "<|code|>x = 1", "length", policies=policies).message.parts == [
        Content("<|code|>x = 1")
    ]
    whole = fed(CODE, "<|code|>x = 1", policies=policies)
    assert whole.message.tool_calls == [
        ToolCall(whole.message.tool_calls[0].id, "python", '{"code": "x = 1"}', True)
    ]


@pytest.mark.parametrize(
    ("policies", "tools", "content", "made"),
    [
        (Policies(), None, "", [("f", "{}")]),
        (Policies(malformed_arguments="strict"), None, ")]", [("f", "{}")]),
        (Policies(unknown_tool="text"), [{"name": "g"}], "<calls>[f())]</calls>", []),
    ],
)
def test_extra_bracket_is_dropped_if_calls_are_repaired(policies, tools, content, made):
    parser = fed(SECTION, "<calls>[f())]</calls>", policies=policies, tools=tools)
    assert (parser.message.content, calls(parser)) == (content, made)


def test_section_truncated_before_a_call_is_reported():
    for text, said in (("", ["truncated_call"]), ("[f() ", []), ("[f(), ", ["cut_marker"])):
        assert kinds(fed(SECTION, "<calls>" + text, "length")) == said


@pytest.mark.parametrize("reason", ["length", None, "stop"])
def test_marker_with_a_list_bracket_may_end_the_response(reason):
    tools = ToolsFormat(format="PYTHONIC", section_start="<calls>[", section_end="]</calls>")
    parser = fed(SECTION.replace(tools=tools), "<calls>[", reason)
    said = [] if reason == "stop" else ["truncated_call"]
    assert (calls(parser), kinds(parser)) == ([], said)
    assert parser.message.content == ("" if said else "<calls>[")


def test_marked_empty_list_is_not_content():
    parser = fed(SECTION, "<calls>[ ]</calls>x")
    assert (parser.message.content, calls(parser)) == ("x", [])
    parser = fed(PLAIN, "[] is empty", tools=TOOLS)
    assert (parser.message.content, parser.issues) == ("[] is empty", [])


@pytest.mark.parametrize("behind", ["(a=1)", "1(a=1)", "-g(a=1)"])
def test_unnamed_list_item_after_a_call_is_not_a_call(behind):
    parser = fed(SECTION, f"<calls>[f(a=1), {behind}]</calls>")
    assert calls(parser)[0] == F
    assert all(name for name, _ in calls(parser))
    parser = fed(SECTION, "<calls>[f(a=1), (a=", "length")
    assert (parser.message.content, kinds(parser)) == (", (a=", ["text_after_tool_call"])


MARKED = WireFormat(
    turn=TURN,
    tools=ToolsFormat(format="PYTHONIC", section_start="<calls>", section_end="</calls>"),
)


@pytest.mark.parametrize("before", ["", "<think>x</think>"])
def test_whitespace_before_a_list_is_in_the_span_of_the_attempt(before):
    fmt = PLAIN.replace(reasoning={"mode": "TAG_BASED", "start": "<think>", "end": "</think>"})
    for tools in (None, [{"name": "f"}]):
        parser = fed(fmt, f"{before}  [f(a=1)]", tools=tools)
        assert calls(parser) == [("f", '{"a": 1}')]
        assert [tried.span for tried in parser.attempts] == [(len(before), len(before) + 9)]


@pytest.mark.parametrize("chunked", [list, lambda text: [text]])
def test_role_spans_locate_the_arguments(chunked):
    parser = TracedParser(SECTION)
    text = "<calls>[f(a=1, b='x)'), g()]</calls>"
    for chunk in chunked(text):
        parser.feed(chunk)
    parser.finish("stop")
    shown = [text[start:end] for start, end, role in parser.role_spans if role == "arguments"]
    assert "".join(shown) == "a=1, b='x)'"


def test_unmarked_calls_without_a_list_have_their_own_spans():
    parser = fed(PLAIN, "f(a=1), g(b=1)")
    assert [tried.span for tried in parser.attempts] == [(0, 6), (8, 14)]


def test_name_and_parenthesis_without_a_list_are_not_yet_a_call():
    parser = fed(SECTION, "<calls>f(a=1);g(1)</calls>")
    assert (calls(parser), parser.message.content) == ([F], ";g(1)")


@pytest.mark.parametrize("end", [")]", "\n)]", "]]"])
def test_bracket_of_a_marker_is_not_an_extra_bracket(end):
    fmt = SECTION.replace(tools={"section_end": end})
    parser = fed(fmt, f"<calls>f(a=1){end}x")
    assert (calls(parser), parser.message.content) == ([F], "x")
    assert kinds(parser) == ["text_after_tool_call"]


@pytest.mark.parametrize("policy", ["repair", "strict"])
def test_only_brackets_are_dropped(policy):
    policies = Policies(malformed_arguments=policy)
    parser = fed(SECTION, "<calls>f(a=1)?</calls>", policies=policies)
    assert (calls(parser), parser.message.content) == ([F], "?")


def test_list_bracket_is_content_if_all_of_its_calls_are():
    policies = Policies(unknown_tool="text")
    for text in ("<calls>[f(a=1)]</calls>", "<calls>[f(a=1), g(a=1) ]</calls>"):
        parser = fed(SECTION, text, tools=[{"name": "h"}], policies=policies)
        assert (calls(parser), parser.message.content) == ([], text)


def test_text_after_a_list_of_calls_is_not_buffered():
    for fmt, text in ((SECTION, "<calls>[f(a=1), f(a=1)]</calls>"), (PLAIN, "[f(a=1), f(a=1)]")):
        parser = StreamParser(fmt)
        parser.feed(text)
        parser.feed(" and some words\n" * 100)
        assert parser.held <= 1


def test_trailing_separator_of_a_list_is_a_truncated_marker():
    parser = fed(PLAIN, "[f(a=1), f(b=2), ", "length", tools=[{"name": "f"}])
    assert calls(parser) == [("f", '{"a": 1}'), ("f", '{"b": 2}')]
    assert (parser.message.content, kinds(parser)) == ("", ["cut_marker"])


def test_trailing_separator_without_a_list_is_content():
    parser = fed(MARKED, "<calls>f(a=1); ", "length")
    assert (calls(parser), parser.message.content) == ([("f", '{"a": 1}')], "; ")
    assert [tried.status for tried in parser.attempts] == ["complete"]


@pytest.mark.parametrize("text", ["<calls>[f", "<calls>f"])
def test_name_at_the_end_of_the_turn_is_content(text):
    parser = fed(MARKED, text)
    assert (calls(parser), parser.message.content) == ([], text)
    assert [tried.status for tried in parser.attempts] == ["not_a_call"]
    assert [tried.span for tried in parser.attempts] == [(0, len(text) - 1)]


def test_namespace_alone_is_a_name():
    fmt = MARKED.replace(function={"namespace": "ns."})
    assert calls(fed(fmt, "<calls>[ns.(a=1)]</calls>")) == [("ns.", '{"a": 1}')]
    assert calls(fed(fmt, "<calls>[ns.f(a=1)]</calls>")) == [("f", '{"a": 1}')]


@pytest.mark.parametrize("value", ['"x\ny"', "nan"])
def test_strict_policy_does_not_report_a_repair(value):
    strict = Policies(malformed_arguments="strict")
    parser = fed(PLAIN, f"[f(a={value})]", tools=[{"name": "f"}], policies=strict)
    (call,) = parser.message.tool_calls
    assert (call.complete, call.repaired) == (False, False)
    assert kinds(parser) == ["malformed_arguments", "text_after_tool_call"]


@pytest.mark.parametrize(("behind", "tried"), [("\n[f", True), (" [", True), ("\nf(", False)])
def test_list_bracket_after_a_call_is_a_truncated_attempt(behind, tried):
    parser = fed(PLAIN, f"f(a=1){behind}", "length", tools=[{"name": "f"}])
    assert [one.status for one in parser.attempts] == ["complete", *["truncated"] * tried]
    assert parser.message.content == behind
