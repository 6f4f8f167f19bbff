"""A string that never closes does not swallow the next call, and a string may hold any text.

What proves that a string was not closed: in JSON and in quotes of a format's own, a closer, an
opener and the head of a call up to a quote that no string can hold; in tags, a closer, an opener
and the whole head of a call to a given tool.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import get_format, parse

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
    """A call, with a name at %n and a string at %s, between its quotes.

    `opener` and `closer` are markers, `head` is the beginning of a call that has no quote in it.
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
def test_the_call_behind_a_string_that_never_closes_is_read(family, value, tools, data):
    text = family.unclosed("f", value) + family.write("g", family.honest)
    parser, _ = run(family.format, [text], tools=tools)
    made = [(call.name, call.complete) for call in parser.message.tool_calls]
    assert made[-1] == ("g", True)
    assert ("f", True) not in made
    check_1_and_2(family.format, text, [list(text), data.draw(cuts(text))], tools=tools)
    check_3(family.format, text, tools=tools)


@in_these(QUOTED)
@given(data=st.data())
def test_a_string_may_hold_all_that_proves_less(family, data):
    bits = st.sampled_from([family.opener, family.closer, family.head, "x", " ", "{", "<"])
    value = "x" + "".join(data.draw(st.lists(bits, max_size=8))) + "x"
    text = family.write("f", value) + family.write("g", family.honest)
    for chunks in ([text], list(text), data.draw(cuts(text))):
        parser, _ = run(family.format, chunks, tools=TOOLS)
        first, second = parser.message.tool_calls
        assert json.loads(first.arguments) == {"a": value}
        assert (first.complete, second.name, second.complete) == (True, "g", True)


@pytest.mark.parametrize("name", ["qwen3_coder", "glm45"])
def test_in_tags_only_the_head_of_a_given_tool_is_proof(name):
    family = QUOTED["tags" if name == "qwen3_coder" else "keys in tags"]
    text = family.unclosed("f", "x") + family.write("h", "y")
    for tools, complete in ((None, [False, True]), (TOOLS, [True])):
        message = parse(text, family.format, tools=tools, finish_reason="stop")
        assert [call.complete for call in message.tool_calls] == complete


@pytest.mark.parametrize("reason", ["stop", "length", None])
@pytest.mark.parametrize("end", ["", "<|im_end|>", "\n</tool_c"])
def test_an_argument_without_its_closer_is_never_whole(reason, end):
    text = "<tool_call>\n<function=f>\n<parameter=a>\nx\n</function>\n</tool_call>" + end
    for chunks in ([text], list(text)):
        (call,) = run(get_format("qwen3_coder"), chunks, reason)[0].message.tool_calls
        assert (call.complete, call.healed()) == (False, {"a": "x"})
