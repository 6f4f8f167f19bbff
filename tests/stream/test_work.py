"""The eighth invariant: the cost of a character does not depend on the text before it.

Work is the number of characters searched, scanned, kept in the window or joined again, not time.
Each row has a state, and a text for a hostile model to repeat in it.
"""

from __future__ import annotations

import pytest

from deltaparse import CodeFormat, StreamParser, get_format
from deltaparse.stream.reading.tool_calls.typed_value import Value

from ..strategies.wire_by_hand import CALL, KEYED, TAGS, UNMARKED
from ..strategies.wire_channels import HARMONY
from .work import counted

HARMONY_CALL = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>'
CODE = HARMONY.replace(code=CodeFormat(function="python"))
TAGGED, GLM, KIMI = map(get_format, ("qwen3_coder", "glm45", "kimi_k2"))
PYTHON = get_format("llama4_pythonic")
HEAD = "<tool_call>\n<function=f>\n"
PARAMETER = f"{HEAD}<parameter={{}}>\n"
KIMI_CALL = "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
PROPERTIES = {"s": {"type": "string"}, "n": {"type": "number"}, "o": {"type": "object"}, "x": {}}
TOOLS = [{"name": "f", "parameters": {"type": "object", "properties": PROPERTIES}}]

ROWS = [
    ("plain text", TAGS, "", "It was a bright cold day. "),
    ("beginnings of markers", TAGS, "", "a <ca <call <th < "),
    ("no calls", TAGS, "", "<call> no "),
    ("objects that are no calls", TAGS, "", '<call>{"x": 1}'),
    ("reasoning", TAGS, "<think>", "hm <call> </thin "),
    ("calls that open reasoning", TAGS, "", f"<think>{CALL}"),
    ("drafts", TAGS, '<think><call>{"name": "f", "arguments": {}}</call>', "<call> no "),
    ("a string", TAGS, '<call>{"name": "f", "arguments": {"a": "', 'x = \\"y\\" \\u00e9\\n '),
    ("a repaired string", TAGS, '<call>{"name": "f", "arguments": {"a": "', "x\ny \\d "),
    ("nested", TAGS, '<call>{"name": "f", "arguments": {"a": [', '{"b": [1, "x", null]}, '),
    ("before the name", TAGS, '<call>{"arguments": {"a": [', '{"b": [1, "x", null]}, '),
    ("no object in a string", TAGS, '<call>{"name": "f", "arguments": "[', "1, "),
    ("an array for an object", TAGS, '<call>{"name": "f", "arguments": [', "1, "),
    ("members", TAGS, '<call>{"name": "f"', ', "why": [1]'),
    ("calls", TAGS, "", '<call>{"name": "f", "arguments": {"a": 1}}</call>\n'),
    ("names as keys", KEYED, "<|calls|>[", '{"f": {}},'),
    ("white space", TAGS, "", "  \n\n"),
    ("unmarked calls", UNMARKED, "", '{"name": "f", "parameters": {}}; '),
    ("unmarked braces", UNMARKED, "", "{"),
    ("broken unmarked calls", UNMARKED, "", '{"name": "f", "parameters": {oops}} '),
    (
        "calls in tags",
        TAGGED,
        "",
        f"{PARAMETER.format('s')}1\n</parameter>\n</function>\n</tool_call>",
    ),
    ("openings in tags", TAGGED, "", HEAD),
    ("no names in tags", TAGGED, "", "<tool_call>\n<function= "),
    ("a long name", TAGGED, "<tool_call>\n<function=", "name"),
    ("arguments in tags", TAGGED, HEAD, "<parameter=s>\n1\n</parameter>\n"),
    ("arguments that do not end", TAGGED, HEAD, "<parameter=s>\n"),
    ("a long key", TAGGED, f"{HEAD}<parameter=", "key "),
    ("a string in tags", TAGGED, PARAMETER.format("s"), "def f(x):\n    return x < 3\n"),
    ("closers that are text", TAGGED, PARAMETER.format("s"), "</parameter> x "),
    ("closers and space", TAGGED, PARAMETER.format("s"), "</parameter>\n    \n   "),
    ("a number in tags", TAGGED, PARAMETER.format("n"), "1"),
    ("an object in tags", TAGGED, PARAMETER.format("o"), '{"a": ['),
    ("anything in tags", TAGGED, PARAMETER.format("x"), "[1, "),
    ("white space in tags", TAGGED, PARAMETER.format("x"), " \n"),
    ("text between arguments", TAGGED, HEAD, "so "),
    ("keys and values", GLM, "<tool_call>f\n", "<arg_key>s</arg_key><arg_value>1</arg_value>"),
    (
        "values that do not end",
        GLM,
        "<tool_call>f\n<arg_key>s</arg_key><arg_value>",
        "</arg_value> ",
    ),
    ("ids that hold names", KIMI, "", KIMI_CALL),
    ("openings of ids", KIMI, "", "<|tool_call_begin|>"),
    ("calls in Python", PYTHON, "[", "f(a=1), "),
    ("openings in Python", PYTHON, "", "[f(a="),
    ("names in Python", PYTHON, "", "ff "),
    ("brackets in Python", PYTHON, "[f(a=", "["),
    ("a string in Python", PYTHON, "[f(a='", "x = \\'y\\' \\n "),
    ("content in channels", HARMONY, "<|channel|>final<|message|>", "It was a bright cold day. "),
    ("reasoning in channels", HARMONY, "<|channel|>analysis<|message|>", "a < b <| <|en "),
    ("markers in a message", HARMONY, "<|channel|>final<|message|>", "`<|end|>` <|channel|>a b "),
    ("headers in a message", HARMONY, "<|channel|>final<|message|>", "<|start|>a<|channel|>b"),
    ("text for channels", HARMONY, "", "a <|cha <|st < "),
    ("a header", HARMONY, "<|channel|>final", "word "),
    ("headers", HARMONY, "", "<|channel|>"),
    ("calls in channels", HARMONY, "", f"{HARMONY_CALL}<|start|>assistant"),
    ("a string in channels", HARMONY, HARMONY_CALL[:-12] + '{"s": "', "x \\n <|end|> "),
    ("code", CODE, "<|channel|>analysis to=python<|message|>", "print('x')\n"),
    ("a foreign message", HARMONY, "<|channel|>analysis to=container.exec<|message|>", "ls < a "),
    ("ends", HARMONY, "", "<|end|> \n"),
    ("starts", HARMONY, "", "<|start|>a b "),
]


NAMED = {"calls": "json", "tool_choice": {"type": "function", "function": {"name": "f"}}}
JSON = {"calls": "json", "tools": TOOLS}
IN_JSON = [
    ("white space", TAGS, JSON, "", "  \n\n"),
    ("calls", TAGS, JSON, "[", '{"name": "f", "arguments": {"a": 1}}, '),
    ("calls in markers", TAGS, JSON, "", CALL),
    ("calls that stand alone", TAGS, JSON, "", '{"name": "f", "arguments": {}}; '),
    ("objects that are none", TAGS, JSON, "", '<call>{"x": 1}'),
    ("code blocks", TAGS, JSON, "", "```json\n"),
    ("broken calls", TAGS, JSON, "", '<call>{"name": "f", "arguments": {oops}} '),
    ("in reasoning", TAGS, JSON, '<think>[{"name": "f", "arguments": {}}]', "a < b [ { "),
    ("a string of arguments", TAGS, NAMED, '{"s": "', 'x = \\"y\\" \\u00e9\\n '),
    ("arguments before the name", TAGS, NAMED, '{"arguments": {"a": [', "[1, null], "),
    ("a long name", TAGS, NAMED, '{"name": "f', "f"),
    ("no calls in channels", HARMONY, JSON, "", "<|channel|>final<|message|>[{}]<|end|>"),
    ("white space in channels", HARMONY, JSON, "<|channel|>final<|message|>", " \n"),
]


@pytest.fixture
def work(monkeypatch):
    """Return the list of work counts, which the test clears."""
    return counted(monkeypatch)


@pytest.mark.parametrize("size", [1, 7, 10**9], ids=["characters", "chunks", "whole"])
@pytest.mark.parametrize(("fmt", "start", "unit"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS])
def test_8_work_and_buffers_do_not_grow_with_earlier_text(work, fmt, start, unit, size):
    check_work(work, fmt, {"tools": TOOLS}, start, unit, size)


@pytest.mark.parametrize("size", [1, 7, 10**9], ids=["characters", "chunks", "whole"])
@pytest.mark.parametrize(
    ("fmt", "kw", "start", "unit"), [r[1:] for r in IN_JSON], ids=[r[0] for r in IN_JSON]
)
def test_8_work_and_buffers_do_not_grow_for_json_calls(work, fmt, kw, start, unit, size):
    check_work(work, fmt, kw, start, unit, size)


def check_work(work, fmt, kw, start, unit, size):
    shares = []
    for length in (1_000, 8_000):
        text = unit * (length // len(unit))
        parser = StreamParser(fmt, **kw)
        parser.feed(start)
        work.clear()
        for at in range(0, len(text), size):
            parser.feed(text[at : at + size])
        parser.finish("stop")
        shares.append(sum(work) / len(text))
        assert "internal_error" not in [issue.kind for issue in parser.issues]
    assert shares[1] <= shares[0] * 1.1 + 2


@pytest.mark.parametrize("before", ["", "1", "tr"])
def test_8_whitespace_in_a_value_is_scanned_once(before):
    written = []
    kinds = dict.fromkeys(("string", "number", "boolean", "null"))
    value = Value(written.append, lambda _: None, kinds)
    for chunk in (before, *" \n" * 5_000):
        value.write(chunk)
    assert value._core == before
    assert written == []
    value.write("x")
    assert "".join(written).endswith("\\nx")
