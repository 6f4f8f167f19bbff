"""An unclosed string does not swallow the next call, and a string may contain any text.

In JSON and in custom quotes, a closer, an opener and the head of a call up to its first quote prove
an unclosed string. Values in tags may quote calls, so there is no proof. Their call is incomplete
and contains the rest of the text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import get_format

from ..support import cuts
from .invariants import check_1_and_2, check_3, run

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": {"a": {"type": "string"}}},
        },
    }
    for name in ("f", "g")
]


@dataclass(frozen=True)
class Family:
    """A call pattern: %n is the name, and %s is a string between its quotes.

    `opener` and `closer` are markers. `head` is the start of a call up to its first quote.
    """

    name: str
    call: str
    opener: str
    closer: str
    head: str = "{"
    quotes: tuple[str, str] = ('"', '"')
    honest: str = "y"

    @property
    def format(self):
        return get_format(self.name)

    @property
    def ends(self):
        """Turn ends inside a value; without quotes, text must follow them."""
        return [end.strip() + "y" * (not self.quotes[0]) for end in self.format.turn.ends]

    def write(self, name, value):
        start, end = self.quotes
        return self.call.replace("%n", name).replace("%s", start + value + end)

    def unclosed(self, name, value):
        return self.call.replace("%n", name).replace("%s", self.quotes[0] + value)


HERMES = ("<tool_call>", "</tool_call>")
DEEPSEEK = ("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>")
KIMI = ("<|tool_call_begin|>", "<|tool_call_end|>")
QUOTED = {
    "JSON": Family(
        "hermes",
        '<tool_call>\n{"name": "%n", "arguments": {"a": %s}}\n</tool_call>\n',
        *HERMES,
    ),
    "the name last": Family(
        "hermes",
        '<tool_call>{"arguments": {"a": %s}, "name": "%n"}</tool_call>',
        *HERMES,
    ),
    "a list in each": Family(
        "mistral",
        '[TOOL_CALLS][{"name": "%n", "arguments": {"a": %s}}]',
        "[TOOL_CALLS]",
        "]",
        "[{",
    ),
    "single quotes": Family(
        "hermes",
        "<tool_call>{'name': '%n', 'arguments': {'a': %s}}</tool_call>",
        *HERMES,
        quotes=("'", "'"),
    ),
    "JSON in tags": Family(
        "deepseekv31",
        '<｜tool▁call▁begin｜>%n<｜tool▁sep｜>{"a": %s}<｜tool▁call▁end｜>',
        *DEEPSEEK,
        "g<｜tool▁sep｜>{",
    ),
    "ids in tags": Family(
        "kimi_k2",
        '<|tool_call_begin|>functions.%n:0<|tool_call_argument_begin|>{"a": %s}<|tool_call_end|>',
        *KIMI,
        "functions.g:1<|tool_call_argument_begin|>{",
    ),
    "no closers": Family(
        "devstral", '[TOOL_CALLS]%n[ARGS]{"a": %s}', "[TOOL_CALLS]", "}", "g[ARGS]{"
    ),
    "quotes of its own": Family(
        "gemma4",
        "<|tool_call>call:%n{a:%s}<tool_call|>",
        "<|tool_call>",
        "<tool_call|>",
        "call:g{a:",
        quotes=('<|"|>', '<|"|>'),
    ),
}
TAGGED = {
    "tags": Family(
        "qwen3_coder",
        "<tool_call>\n<function=%n>\n<parameter=a>\n%s\n</function>\n</tool_call>\n",
        "<tool_call>",
        "</tool_call>",
        "<function=",
        quotes=("", "\n</parameter>"),
    ),
    "keys in tags": Family(
        "glm45",
        "<tool_call>%n\n<arg_key>a</arg_key>\n<arg_value>%s</tool_call>\n",
        "<tool_call>",
        "</tool_call>",
        "h\n<arg_key>",
        quotes=("", "</arg_value>\n"),
    ),
    "sections of tags": Family(
        "deepseek_v32",
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="%n">\n'
        '<｜DSML｜parameter name="a" string="true">%s\n</｜DSML｜invoke>\n'
        "</｜DSML｜function_calls>",
        "<｜DSML｜function_calls>",
        "</｜DSML｜invoke>",
        '<｜DSML｜invoke name="h">',
        quotes=("", "</｜DSML｜parameter>"),
    ),
}
OTHERS = {
    "an id": Family(
        "hermes", '<tool_call>{"name": "%n", "id": %s, "arguments": {}}</tool_call>', *HERMES
    ),
    "a name": Family(
        "hermes", '<tool_call>{"arguments": {}, "name": %s}</tool_call>', *HERMES, honest="g"
    ),
    "arguments in a string": Family(
        "hermes", '<tool_call>{"name": "%n", "arguments": %s}</tool_call>', *HERMES, honest="{}"
    ),
    "another member": Family(
        "hermes", '<tool_call>{"name": "%n", "note": %s, "arguments": {}}</tool_call>', *HERMES
    ),
}
TEXT = st.text("xy }]{[,:.é😀", max_size=8)


def in_these(families):
    return pytest.mark.parametrize("family", families.values(), ids=families)


@in_these(QUOTED | OTHERS)
@given(value=TEXT, tools=st.sampled_from([None, TOOLS]), data=st.data())
def test_call_after_an_unclosed_string_is_parsed(family, value, tools, data):
    text = family.unclosed("f", value) + family.write("g", family.honest)
    parser, _ = run(family.format, [text], tools=tools)
    made = [(call.name, call.complete) for call in parser.message.tool_calls]
    assert made[-1] == ("g", True)
    assert ("f", True) not in made
    check_1_and_2(family.format, text, [list(text), data.draw(cuts(text))], tools=tools)
    check_3(family.format, text, tools=tools)


@in_these(TAGGED)
@given(value=TEXT, tools=st.sampled_from([None, TOOLS]), data=st.data())
def test_call_after_an_unclosed_value_in_tags_is_not_parsed(family, value, tools, data):
    text = family.unclosed("f", value) + family.write("g", family.honest)
    parser, _ = run(family.format, [text], tools=tools)
    assert [(call.name, call.complete) for call in parser.message.tool_calls] == [("f", False)]
    # If the value may still be JSON, its text is in the issue.
    told = parser.message.tool_calls[0].healed().get("a") or parser.issues[0].detail
    assert family.opener in told
    check_1_and_2(family.format, text, [list(text), data.draw(cuts(text))], tools=tools)
    check_3(family.format, text, tools=tools)


@in_these(QUOTED | TAGGED)
@given(data=st.data())
def test_string_may_contain_markers_and_heads_of_calls(family, data):
    others = [*family.ends, "x", " ", "{", "<"]
    bits = st.sampled_from([family.opener, family.closer, family.head, *others])
    value = "x" + "".join(data.draw(st.lists(bits, max_size=8))) + "x"
    text = family.write("f", value) + family.write("g", family.honest)
    for chunks in ([text], list(text), data.draw(cuts(text))):
        parser, _ = run(family.format, chunks, tools=TOOLS)
        first, second = parser.message.tool_calls
        assert json.loads(first.arguments) == {"a": value}
        assert (first.complete, second.name, second.complete) == (True, "g", True)


ARGUMENT = {
    "qwen3_coder": (
        "<tool_call>\n<function=f>\n<parameter=a>\n{}\n</parameter>\n",
        "</function>\n</tool_call>",
    ),
    "glm45": (
        "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>{}</arg_value>\n",
        "</tool_call>",
    ),
    "seed_oss": (
        "<seed:tool_call>\n<function=f>\n<parameter=a>{}</parameter>\n",
        "</function>\n</seed:tool_call>",
    ),
    "minicpm5": ('<function name="f"><param name="a">{}</param>', "</function>"),
}
"""A call with one argument, and its closing markers."""


@pytest.mark.parametrize("name", ARGUMENT)
@given(data=st.data(), is_json=st.booleans(), reason=st.sampled_from(["stop", "length"]))
def test_closers_and_turn_ends_in_a_tagged_argument_are_text(name, data, is_json, reason):
    fmt, (call, closers) = get_format(name), ARGUMENT[name]
    ends = [end.strip() + "y" * (not is_json) for end in fmt.turn.ends]
    bits = st.sampled_from([closers, *closers.split("\n"), *ends, "\n", "x", "<s>"])
    value = "".join(data.draw(st.lists(bits, max_size=6)))
    # Quoted strings may contain any text. In other strings, text must follow a marker.
    value = {"k": value} if is_json else f"x{value}x"
    schema = {"properties": {"a": {"type": "object" if is_json else "string"}}}
    tools = [{"name": "f", "parameters": schema}]
    text = call.format(json.dumps(value) if is_json else value) + closers
    for chunks in ([text], list(text), data.draw(cuts(text))):
        (made,) = run(fmt, chunks, reason, tools=tools)[0].message.tool_calls
        assert (json.loads(made.arguments), made.complete) == ({"a": value}, True)


@pytest.mark.parametrize("behind", ["", "\n", "{start}user\nHi", "{start}assistant\nHi", "{end}"])
@pytest.mark.parametrize("before", ["", "\n</function>\n</tool_call>"])
def test_turn_end_without_following_text_ends_an_argument(before, behind):
    fmt = get_format("qwen3_coder")
    text = ARGUMENT["qwen3_coder"][0].split("\n</")[0].format("x") + before + "<|im_end|>"
    text += behind.format(start="<|im_start|>", end="<|im_end|>")
    parser, _ = run(fmt, [text])
    check_1_and_2(fmt, text, [list(text), [text[:-1], text[-1:]]])
    (call,) = parser.message.tool_calls
    assert (call.complete, call.healed()) == (False, {"a": "x"})


def test_turn_end_kept_as_text_in_an_argument_is_reported():
    call, closers = ARGUMENT["qwen3_coder"]
    parser, _ = run(get_format("qwen3_coder"), [call.format("1<|im_end|>2") + closers])
    (issue,) = parser.issues
    assert (issue.kind, issue.detail.split()[0]) == ("ambiguous_marker", "1")


@pytest.mark.parametrize("reason", ["stop", "length", None])
@pytest.mark.parametrize("end", ["", "<|im_end|>", "\n</tool_c"])
def test_argument_without_its_closer_is_incomplete(reason, end):
    text = "<tool_call>\n<function=f>\n<parameter=a>\nx\n</function>\n</tool_call>" + end
    for chunks in ([text], list(text)):
        (call,) = run(get_format("qwen3_coder"), chunks, reason)[0].message.tool_calls
        assert (call.complete, call.healed()) == (False, {"a": "x"})
