"""Arguments as models write them."""

from __future__ import annotations

import pytest

from deltaparse import StreamParser, WireFormat, get_format
from deltaparse.stream import parser as parser_module
from deltaparse.stream.reading.tool_calls import tagged_arguments, usual_argument
from deltaparse.stream.tokens.traced_parser import TracedParser

from ....strategies.wire_by_hand import calls, fed

FMT = get_format("qwen3_coder")
PROPERTIES = {"s": {"type": "string"}, "n": {"type": "number"}, "o": {"type": "object"}}
TOOLS = [{"name": "f", "parameters": {"type": "object", "properties": PROPERTIES}}]
HEAD = "<tool_call>\n<function=f>\n"
TAIL = "</function>\n</tool_call>"


def argument(name, value):
    return f"<parameter={name}>\n{value}\n</parameter>\n"


TEXT = HEAD + argument("n", "1") + argument("s", "x</y>\nz") + argument("n2", "[1]") + TAIL
MADE = '{"n": 1, "s": "x</y>\\nz", "n2": [1]}'


def test_they_are_read_without_the_readers_of_odd_ones(monkeypatch):
    def odd(*_):
        raise AssertionError

    monkeypatch.setattr(tagged_arguments, "argument_name", odd)
    assert calls(fed(FMT, TEXT, tools=TOOLS)) == [("f", MADE)]
    monkeypatch.setattr(usual_argument, "argument_value", odd)
    text = HEAD + argument("n", "1") + argument("s", "x") + TAIL
    assert calls(fed(FMT, text, tools=TOOLS)) == [("f", '{"n": 1, "s": "x"}')]


UNCLOSED = WireFormat().replace(
    turn={"ends": ("<end>",)},
    tools={"format": "TAG_WITH_TAGGED", "section_end": "</calls>", "per_call_start": "<f="},
    function={"name_suffix": ">"},
    arguments={"name_prefix": "<p=", "name_suffix": ">", "value_suffix": "</p>"},
)


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("end", ["</calls>", "</calls><end>"])
def test_calls_that_no_marker_of_their_own_closes(size, end):
    text = "<f=f><p=s>x</p><p=n>1</p><p=o>{}</p><f=f><p=n>2</p><p=s>y</p>" + end
    parser = StreamParser(UNCLOSED, tools=TOOLS)
    for at in range(0, len(text), size):
        parser.feed(text[at : at + size])
    parser.finish("stop")
    assert parser.issues == []
    made = [("f", '{"s": "x", "n": 1, "o": {}}'), ("f", '{"n": 2, "s": "y"}')]
    assert calls(parser) == made


def test_each_name_and_each_value_is_where_it_stands():
    for size in (1, 3, len(TEXT)):
        parser = TracedParser(FMT, tools=TOOLS)
        for at in range(0, len(TEXT), size):
            parser.feed(TEXT[at : at + size])
        parser.finish()
        found = [TEXT[one.start : one.end] for one in parser.role_spans if one.role == "arguments"]
        assert found == ["n", "1", "s", "x</y>\nz", "n2", "[1]"]


def test_a_string_begins_with_its_first_text():
    parser = StreamParser(FMT, tools=TOOLS)
    made = parser.feed(HEAD + "<parameter=s>\nx") + parser.feed("y")
    assert [delta.arguments for delta in made][-2:] == ['"s": "x', "y"]


def test_a_string_that_nothing_waits_for_does_not_resume_the_sub_parsers(monkeypatch):
    resumes = []
    resume = StreamParser._resume
    monkeypatch.setattr(
        parser_module.StreamParser, "_resume", lambda self: resumes.append(1) or resume(self)
    )
    parser = StreamParser(FMT, tools=TOOLS)
    parser.feed(HEAD + "<parameter=s>\nx")
    parser.feed("y")
    before = len(resumes)
    for _ in range(100):
        parser.feed("plain text, ")
    assert len(resumes) <= before + 1


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_a_string_that_is_cut_is_a_call_that_is_cut(reason):
    for text, made in (("x", '"x'), ("x\n</para", '"x'), ("", '"')):
        parser = fed(FMT, f"{HEAD}<parameter=s>\n{text}", reason, tools=TOOLS)
        assert calls(parser)[0][1].startswith(f'{{"s": {made}')
        assert [tried.status for tried in parser.attempts] == ["truncated"]


def test_strings_in_quotes_are_json_where_the_format_writes_them_so():
    fmt = FMT.replace(arguments={"quoted_strings": True})
    text = HEAD + argument("s", '"x\\ny"') + TAIL
    assert calls(fed(fmt, text, tools=TOOLS)) == [("f", '{"s": "x\\ny"}')]
