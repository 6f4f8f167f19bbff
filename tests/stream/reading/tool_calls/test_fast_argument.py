"""Arguments in their usual notation, on the fast path."""

from __future__ import annotations

import pytest

from deltaparse import StreamParser, WireFormat, get_format
from deltaparse.stream import parser as parser_module
from deltaparse.stream.reading.tool_calls import fast_argument, tagged_arguments
from deltaparse.stream.tokens.traced_parser import TracedParser

from ....strategies.wire_by_hand import calls, fed

FMT = get_format("qwen3_coder")
NUMBER_OR_TEXT = {"anyOf": [{"enum": [1, 2]}, {"type": "string"}]}
PROPERTIES = {
    "s": {"type": "string"},
    "n": {"type": "number"},
    "o": {"type": "object"},
    "e": NUMBER_OR_TEXT,
}
TOOLS = [{"name": "f", "parameters": {"type": "object", "properties": PROPERTIES}}]
HEAD = "<tool_call>\n<function=f>\n"
TAIL = "</function>\n</tool_call>"


def argument(name, value):
    return f"<parameter={name}>\n{value}\n</parameter>\n"


TEXT = HEAD + argument("n", "1") + argument("s", "x</y>\nz") + argument("n2", "[1]") + TAIL
MADE = '{"n": 1, "s": "x</y>\\nz", "n2": [1]}'


def test_usual_arguments_take_the_fast_path(monkeypatch):
    def odd(*_):
        raise AssertionError

    monkeypatch.setattr(tagged_arguments, "argument_name", odd)
    assert calls(fed(FMT, TEXT, tools=TOOLS)) == [("f", MADE)]
    monkeypatch.setattr(fast_argument, "argument_value", odd)
    text = HEAD + argument("n", "1") + argument("s", "x") + TAIL
    assert calls(fed(FMT, text, tools=TOOLS)) == [("f", '{"n": 1, "s": "x"}')]


@pytest.mark.parametrize(
    ("arguments", "made"),
    [
        ([("s", "x"), ("n", "1")], '{"s": "x", "n": 1}'),
        ([("s", "x"), ("n", "z")], '{"s": "x", "n": "z"}'),
        ([("n", "z"), ("s", "x")], '{"n": "z", "s": "x"}'),
        ([("e", "1"), ("n", "1")], '{"e": 1, "n": 1}'),
        ([("e", "5"), ("n", "1")], '{"e": "5", "n": 1}'),
        ([("s", ""), ("n", "")], '{"s": "", "n": ""}'),
    ],
)
def test_schema_determines_the_type_at_any_position(arguments, made):
    text = HEAD + "".join(argument(*one) for one in arguments) + TAIL
    assert calls(fed(FMT, text, tools=TOOLS)) == [("f", made)]


UNCLOSED = WireFormat().replace(
    turn={"ends": ("<end>",)},
    tools={"format": "TAG_WITH_TAGGED", "section_end": "</calls>", "per_call_start": "<f="},
    function={"name_suffix": ">"},
    arguments={"name_prefix": "<p=", "name_suffix": ">", "value_suffix": "</p>"},
)


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("end", ["</calls>", "</calls><end>"])
def test_calls_without_their_own_closers_are_parsed(size, end):
    text = "<f=f><p=s>x</p><p=n>1</p><p=o>{}</p><f=f><p=n>2</p><p=s>y</p>" + end
    parser = StreamParser(UNCLOSED, tools=TOOLS)
    for at in range(0, len(text), size):
        parser.feed(text[at : at + size])
    parser.finish("stop")
    assert parser.issues == []
    made = [("f", '{"s": "x", "n": 1, "o": {}}'), ("f", '{"n": 2, "s": "y"}')]
    assert calls(parser) == made


def test_names_and_values_have_their_spans():
    for size in (1, 3, len(TEXT)):
        parser = TracedParser(FMT, tools=TOOLS)
        for at in range(0, len(TEXT), size):
            parser.feed(TEXT[at : at + size])
        parser.finish()
        found = [TEXT[one.start : one.end] for one in parser.role_spans if one.role == "arguments"]
        assert found == ["n", "1", "s", "x</y>\nz", "n2", "[1]"]


def test_string_starts_with_its_first_text():
    parser = StreamParser(FMT, tools=TOOLS)
    made = parser.feed(HEAD + "<parameter=s>\nx") + parser.feed("y") + parser.feed("<z</")
    assert [delta.arguments for delta in made][-3:] == ['"s": "x', "y", "<z"]


def test_string_ends_at_its_closer_in_the_next_chunk():
    for behind, made in (
        ("x</parameter>\ny", "x</parameter>\\ny"),
        ("\n</parameter>\n<parameter=", '"'),
    ):
        parser = StreamParser(FMT, tools=TOOLS)
        parser.feed(HEAD + "<parameter=s>\nx")
        assert "".join(delta.arguments for delta in parser.feed(behind)) == made


def test_plain_string_text_does_not_resume_the_sub_parsers(monkeypatch):
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
def test_truncated_string_truncates_the_call(reason):
    for text, made in (("x", '"x'), ("x\n</para", '"x'), ("", '"')):
        parser = fed(FMT, f"{HEAD}<parameter=s>\n{text}", reason, tools=TOOLS)
        assert calls(parser) == [("f", f'{{"s": {made}')]
        assert [tried.status for tried in parser.attempts] == ["truncated"]


def test_quoted_strings_are_json_in_a_format_with_quotes():
    fmt = FMT.replace(arguments={"quoted_strings": True})
    text = HEAD + argument("s", '"x\\ny"') + TAIL
    assert calls(fed(fmt, text, tools=TOOLS)) == [("f", '{"s": "x\\ny"}')]
