"""Tests of requested JSON with and without a code fence."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deltaparse import Content, Reasoning, StreamParser
from deltaparse.partial import JsonLexer, is_whole
from deltaparse.stream.tokens.traced_parser import TracedParser

from ...strategies.wire_by_hand import CALL, DELIMITED, TAGS, UNMARKED, WRAPPED, calls, fed, kinds
from ...strategies.wire_channels import HARMONY
from ...support import as_joined, cuts, joined, json_texts
from ..invariants import run

SCHEMA = {"type": "object"}
VALUE = '{"a": "``` no end", "b": [1, 2.5]}'
BLOCK = f"```json\n{VALUE}\n```"
STARTS = [
    (TAGS, "", ""),
    (TAGS, "<think>\nhm\n</think>\n\n", ""),
    (DELIMITED, "hm\n[FINAL]\n", ""),
    (WRAPPED, "<plan>hm</plan><answer>", "</answer>"),
    (UNMARKED, "", "<|end|>"),
    (HARMONY, "<|channel|>final <|constrain|>json<|message|>", "<|return|>"),
    (
        HARMONY,
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>",
        "",
    ),
]
PARTS = ["```", "``", "`", "json", "JSON", "js", "\n", " ", "\t", " " * 70, VALUE, "{", "}"]
PARTS += ['"', "1", "2.", "tr", "ue", "null", "x", ",", '{"a": [', "<think>\n", "</think>"]
PARTS += [CALL, "<call>", "<|end|>"]
# Excludes lone surrogates, because the parser replaces them.
sound_texts = json_texts().filter(is_whole)
# Excludes the markers of all formats, because they end content.
unmarked_texts = sound_texts.filter(lambda text: "<" not in text and "[FINAL]" not in text)
fences = st.sampled_from(["```json\n", "```\n", "```", "``` json\n", "\n```JSON\r\n", " ```json "])
closers = st.sampled_from(["\n```", "```", "\n\n``` \n", " ```\n\n"])


def asked(fmt, text, reason="stop", **options):
    return fed(fmt, text, reason, response_schema=SCHEMA, **options)


@pytest.mark.parametrize(("fmt", "start", "end"), STARTS)
def test_code_fence_around_json_is_removed(fmt, start, end):
    parser = asked(fmt, start + BLOCK + end)
    assert parser.message.content == VALUE
    assert parser.message.reasoning_content == ("hm" if "hm" in start else "")
    assert kinds(parser) == ["code_block"]
    assert (start + BLOCK + end)[slice(*parser.issues[0].span)] == BLOCK
    assert asked(fmt, start + VALUE + end).message.content == VALUE


@given(text=unmarked_texts, fence=fences, close=closers, data=st.data())
def test_code_fence_is_removed_in_any_chunking(text, fence, close, data):
    if text.lstrip()[0] not in '{["':
        fence = "```\n"
    wire = fence + text.lstrip() + close
    fmt, start, end = data.draw(st.sampled_from(STARTS))
    chunks = data.draw(cuts(start + wire + end))
    parser, deltas = run(fmt, chunks, response_schema=SCHEMA)

    assert parser.message.content == text.lstrip()
    assert joined(deltas) == as_joined(parser.message)
    assert kinds(parser) == ["code_block"]


@given(
    st.lists(
        st.sampled_from(PARTS),
        max_size=8,
    ).map("".join),
    st.sampled_from(["separate", "inline", "raw"]),
    st.sampled_from(["stop", "length"]),
    st.data(),
)
@example("```json\n1", "separate", "stop", None)
def test_result_does_not_depend_on_the_chunking(text, reasoning, reason, data):
    options = {"reasoning": reasoning, "response_schema": SCHEMA}
    whole, deltas = run(TAGS, [text], reason, **options)
    assert joined(deltas) == as_joined(whole.message)
    for texts in (list(text), data.draw(cuts(text)) if data else [text]):
        parser, deltas = run(TAGS, texts, reason, **options)
        assert joined(deltas) == as_joined(parser.message)
        assert parser.message == whole.message
        assert parser.issues == whole.issues
    # Only whitespace may be lost.
    plain, _ = run(TAGS, [text], reason, reasoning=reasoning)
    reported = "".join(issue.detail for issue in whole.issues if issue.kind == "code_block")
    left = plain.message.content.count("`") - whole.message.content.count("`")
    assert left == reported.count("`")


@given(text=unmarked_texts.filter(lambda text: "`" not in text), data=st.data())
def test_json_without_a_fence_is_unchanged(text, data):
    parser, _ = run(TAGS, data.draw(cuts(text)), response_schema=SCHEMA)
    json.loads(text)
    assert parser.message.content == text
    assert parser.issues == []


@pytest.mark.parametrize(
    ("text", "content", "left_out"),
    [
        (BLOCK + "\nThat is all.", VALUE + "\nThat is all.", True),
        (BLOCK + "\n" * 100 + "x", VALUE + "\n" * 100 + "x", True),
        (BLOCK + " \n", VALUE, True),
        (BLOCK + "`", VALUE + "`", True),
        ("```json\n" + VALUE, VALUE, True),
        ("```json\n" + VALUE + "\n``", VALUE, True),
        ("```json\n" + VALUE + "\nMore", VALUE + "\nMore", True),
        ('```json\n{"a": tru', '{"a": tru', True),
        ('```json\n{"a": oops}\n```', '{"a": oops}\n```', True),
        ("```json\n42\n```", "42", True),
        ("```json\n42", "42", True),
        ("``` \n\n true\n```", "true", True),
        ("```json", "```json", False),
        ("``", "``", False),
        ("", "", False),
        (" \n", " \n", False),
        ("```python\nprint()\n```", "```python\nprint()\n```", False),
        ("```json5\n{}\n```", "```json5\n{}\n```", False),
        ("```text\n1\n```", "```text\n1\n```", False),
        ("```\nthe end\n```", "```\nthe end\n```", False),
        ("```\nnull```", "null", True),
        ("```\ntru", "```\ntru", False),
        ("```3", "```3", False),
        ("````json\n{}\n````", "````json\n{}\n````", False),
        ("Here:\n" + BLOCK, "Here:\n" + BLOCK, False),
        (" " * 100 + BLOCK, " " * 100 + BLOCK, False),
        (VALUE + "\n```", VALUE + "\n```", False),
    ],
)
def test_recognized_code_blocks(text, content, left_out):
    parser = asked(TAGS, text)
    assert parser.message.content == content
    assert kinds(parser) == (["code_block"] if left_out else [])


def test_removed_fence_is_reported():
    (issue,) = asked(TAGS, f"<think>\nhm\n</think>\n\n{BLOCK}").issues
    assert "'```json\\n'" in issue.detail
    assert "'\\n```'" in issue.detail
    (issue,) = asked(TAGS, f"```json\n{VALUE}\n``").issues
    assert issue.detail == "removed around the JSON: '```json\\n' and '\\n``'"
    (issue,) = asked(TAGS, f"```json\n{VALUE}").issues
    assert issue.detail == "removed around the JSON: '```json\\n'"


def test_code_fence_is_kept_without_a_schema_or_in_raw_output():
    assert fed(TAGS, BLOCK).message.content == BLOCK
    assert asked(TAGS, BLOCK, reasoning="raw").message.content == BLOCK
    text = f"<think>\nhm\n</think>\n\n{BLOCK}"
    parser = asked(TAGS, text, reasoning="inline")
    assert parser.message.content == f"<think>hm</think>{VALUE}"


def test_code_fence_is_removed_from_each_part_of_content():
    parser = asked(TAGS, f"{BLOCK}{CALL}{BLOCK}\n<think>\nhm</think>```{VALUE}```")
    assert parser.message.content == VALUE * 3
    assert calls(parser) == [("f", '{"a": 1}')]
    assert kinds(parser).count("code_block") == 3
    preamble = "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant"
    parts = asked(HARMONY, f"{preamble}<|channel|>final<|message|>{BLOCK}").message.parts
    assert parts == [Content("I look."), Content(VALUE)]


def test_code_fence_in_reasoning_is_kept():
    parser = asked(TAGS, f"<think>\n{BLOCK}\n</think>\n\n{VALUE}")
    assert parser.message.parts == [Reasoning(BLOCK), Content(VALUE)]
    assert parser.issues == []


def test_only_possible_fences_are_buffered():
    parser = StreamParser(TAGS, response_schema=SCHEMA)
    seen = ""
    for char in BLOCK:
        seen += joined(parser.feed(char))[0]
        so_far = BLOCK[: BLOCK.index(char) + 1] if not seen else ""
        assert seen or "{" not in so_far
    assert seen == VALUE
    parser = StreamParser(TAGS, response_schema=SCHEMA)
    assert joined(parser.feed("```p"))[0] == "```p"
    assert joined(parser.feed("ython"))[0] == "ython"


def by_role(text, role, chunks):
    """Return the text of a role according to a traced parser, and the parser."""
    parser = TracedParser(TAGS, response_schema=SCHEMA)
    for chunk in chunks:
        parser.feed(chunk)
    parser.finish("stop")
    spans = parser.role_spans
    return "".join(text[start:end] for start, end, what in spans if what == role), parser


@given(st.lists(st.sampled_from(PARTS), max_size=8).map("".join), st.data())
@example("``<|end|>", None)
@example(f"``{CALL}", None)
@example(f"```json\n42{CALL}", None)
@example(f"{BLOCK} and more", None)
def test_buffered_text_keeps_its_place(text, data):
    for chunks in ([text], list(text), data.draw(cuts(text)) if data else [text]):
        content, parser = by_role(text, "content", chunks)
        assert content == parser.message.content
        assert by_role(text, "reasoning", chunks)[0] == parser.message.reasoning_content
        names = "".join(call.name for call in parser.message.tool_calls)
        assert by_role(text, "name", chunks)[0] == names


def test_text_after_buffered_text_keeps_its_place():
    text = "```json\n42<think>\nhm"
    for chunks in ([text], list(text)):
        parts = [by_role(text, role, chunks)[0] for role in ("marker", "content", "reasoning")]
        assert parts == ["```json\n<think>\n", "42", "hm"]


def test_invalid_json_is_released():
    parser = StreamParser(TAGS, response_schema=SCHEMA)
    chunks = ['```json\n{"a": ', "oops", " ", "``", " [1", "2"]
    assert [joined(parser.feed(chunk))[0] for chunk in chunks] == ['{"a": ', *chunks[1:]]


def test_value_is_scanned_once(monkeypatch):
    read = []
    scan = JsonLexer.scan

    def counted(self, text, pos=0, *, final=False):
        read.append(len(text) - pos)
        return scan(self, text, pos, final=final)

    monkeypatch.setattr(JsonLexer, "scan", counted)
    parser = StreamParser(TAGS, response_schema=SCHEMA)
    text = json.dumps(["some text"] * 1000)
    for char in f"```json\n{text}":
        parser.feed(char)
    assert sum(read) < len(text) * 1.5
