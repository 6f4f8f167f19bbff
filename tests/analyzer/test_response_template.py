"""Tests of the comparison with another parser, here a double that fails on purpose."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from deltaparse import (
    CallIdPosition,
    Content,
    Message,
    Reasoning,
    StreamParser,
    ToolCall,
    UsageError,
    analyze,
    check_response_template,
    get_format,
    to_response_template,
)
from deltaparse.analyzer import response_template
from deltaparse.analyzer.abbreviate import value_of
from deltaparse.analyzer.probes import call
from deltaparse.analyzer.proof.conversations import NAMED_AS_MARKERS, PROOF_TOOLS, Turn
from deltaparse.analyzer.proof.proved_turn import Shown, Wire
from deltaparse.analyzer.response_template import CUT_CALL, IDS, _problems, _Trial
from deltaparse.analyzer.transformers_parser import Judge

from ..strategies.templates import OWN

TEMPLATE = (
    "{% for m in messages %}{{ '<' ~ m.role ~ '>' ~ (m.content or '') }}"
    "{% for c in m.tool_calls or [] %}{{ '<do>' ~ c.function | tojson ~ '</do>' }}{% endfor %}"
    "{{ '</' ~ m.role ~ '>' }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
FORMAT = analyze(TEMPLATE)
WORDS = "some words, and then more"
JUDGE = Judge("a parser", lambda template: template, StreamParser)


class Reader:
    """Double of a reader. It loses the messages of texts for which `spoilt` is true."""

    def __init__(self, spoilt=lambda text: False):
        self.spoilt = spoilt
        self.read = []
        self.tools = []

    def __call__(self, chunks, prompt, tools):
        self.read.append(list(chunks))
        self.tools.append(tools)
        text = "".join(chunks)
        if self.spoilt(text):
            return {}
        return theirs(text, prompt)


def message(text, prompt="<assistant>"):
    parser = StreamParser(FORMAT, tools=PROOF_TOOLS, prompt=prompt)
    parser.feed(text)
    parser.finish("stop" if "</assistant>" in text else "length")
    return parser.message


def theirs(text, prompt="<assistant>"):
    made = message(text, prompt)
    calls = [
        {"function": {"name": one.name, "arguments": value_of(one.arguments)}}
        for one in made.tool_calls
    ]
    return {"content": made.content, "thinking": made.reasoning_content, "tool_calls": calls}


def said(label, words=WORDS):
    wire = Wire("<assistant>", words, "</assistant>", words, "", 0)
    return Shown(Turn(label, words), wire, tools=False)


def called(label, arguments='{"text": "words"}'):
    name = call()["function"]["name"]
    text = f'<do>{{"name": "{name}", "arguments": {arguments}}}</do>'
    wire = Wire("<assistant>", text, "</assistant>", "", "", 1)
    return Shown(Turn(label, calls=(call(),)), wire, tools=True)


def check(reader, *shown):
    return _Trial(FORMAT, reader).check({}, JUDGE, shown)


def test_turn_with_equal_results_is_proved():
    found = check(Reader(), said("content"), called("a call"))
    assert (found.proved, found.lost) == (("content", "a call"), ())
    assert [words.startswith(CUT_CALL) for words in found.limits] == [True]
    assert found.judge == "a parser"
    assert not any("ids of calls" in words for words in found.limits)  # this format has no ids


def test_a_turn_with_calls_is_cut_off_in_them_and_not_in_its_texts():
    one, reader = called("a call"), Reader()
    check(reader, replace(one, wire=replace(one.wire, content="words")))
    assert [one.wire.text.partition("words")[0] + "wo"] not in reader.read


def test_turn_without_reasoning_does_not_prove_reasoning():
    found = check(Reader(), said("reasoning and content"), said("content"))
    assert (found.proved, found.lost) == (("content",), ())
    one = said("reasoning and content")
    found = check(Reader(), replace(one, wire=replace(one.wire, reasoning="words")))
    assert (found.proved, found.lost) == (("reasoning and content",), ())


def test_one_turn_of_a_kind_is_read_in_chunks_and_cut_off():
    once, twice = Reader(), Reader()
    check(once, said("content"))
    check(twice, said("content"), said("content", WORDS.upper()))
    assert [len(chunks) > 1 for chunks in once.read].count(True) == 1
    assert [len(chunks) > 1 for chunks in twice.read].count(True) == 1
    assert ["".join(chunks) for chunks in once.read if len(chunks) > 1] == [WORDS + "</assistant>"]
    assert [WORDS[: len(WORDS) // 2]] in once.read
    assert len(twice.read) == len(once.read) + 2  # whole, with its end and without


def test_whitespace_after_the_end_of_a_turn_is_not_read():
    wire = Wire("<assistant>", WORDS, "</assistant>\n", WORDS, "", 0)
    reader = Reader()
    check(reader, Shown(Turn("content", WORDS), wire, tools=False))
    assert reader.read[:2] == [[WORDS + "</assistant>"], [WORDS]]
    assert not any("\n" in "".join(chunks) for chunks in reader.read)


def test_a_turn_is_read_with_the_tools_that_it_was_rendered_with():
    reader, called_reader = Reader(), Reader()
    check(reader, said("content"))
    check(called_reader, called("a call"))
    assert {str(tools) for tools in reader.tools} == {"None"}
    assert all(tools == PROOF_TOOLS for tools in called_reader.tools)
    assert [""] not in reader.read + called_reader.read  # of no text a half is cut off


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("words</assistant>\n", "words"),
        ("</assistant>\n", ""),
        ("words</assistant>", "words</assistant>"),
        ("words</assistant>\n<user>more", "words</assistant>\n<user>more"),  # that is read too
        ("words\n", "words\n"),
    ],
)
def test_turn_is_read_up_to_its_end_marker_if_complete(text, read):
    one = said("content")
    assert _Trial(FORMAT, Reader())._to_its_end(one, text) == read
    spaced = FORMAT.replace(turn={"ends": ("\n</assistant>",)})
    assert _Trial(spaced, Reader())._to_its_end(one, text) == read
    several = FORMAT.replace(turn={"several_messages": True})
    assert _Trial(several, Reader())._to_its_end(one, text) == text
    unended = FORMAT.replace(turn={"ends": ()})
    assert _Trial(unended, Reader())._to_its_end(one, text) == text


def test_turn_is_read_up_to_the_first_of_two_ends():
    two = FORMAT.replace(turn={"ends": ("</s>", "</assistant>")})
    assert _Trial(two, Reader())._to_its_end(said("content"), "words</assistant></s>") == "words"


def test_failed_turn_is_not_read_in_chunks():
    reader = Reader(lambda text: True)
    found = check(reader, said("content"))
    assert len(reader.read) == 2
    assert found.proved == ()
    assert found.lost == (f"content: read as '' instead of {WORDS!r} (content)",)


def test_kind_with_one_failed_turn_is_not_proved():
    reader = Reader(lambda text: WORDS.upper() in text)
    found = check(reader, said("content"), said("content", WORDS.upper()))
    assert found.proved == ()
    assert len(found.lost) == 1


def test_losses_of_a_truncated_turn_are_reported():
    def cut(text):
        return WORDS not in text and "</do>" not in text

    half = WORDS[: len(WORDS) // 2]
    found = check(Reader(cut), said("content"), called("a call"))
    assert found.proved == ("content", "a call")
    assert found.lost == (
        f"truncated in a text: content: read as '' instead of {half!r} (content)",
    )
    (limit,) = found.limits
    assert limit.startswith(f"{CUT_CALL}: calls: read as []")


def test_repaired_arguments_are_a_limit():
    one = called("a call", '{"text": "words",}')
    made = theirs(one.wire.text)
    made["tool_calls"][0]["function"]["arguments"] = {"text": "others"}
    found = check(lambda chunks, prompt, tools: made, one)
    assert found.limits[0] == "arguments that are not quite JSON (a call)"
    sound = check(lambda chunks, prompt, tools: made, called("a call"))
    assert sound.lost == ("argument text: read as 'others' instead of 'words' (a call)",)


@pytest.mark.parametrize(
    ("change", "problems"),
    [
        ({}, []),
        ({"content": None}, []),
        ({"content": ["a"]}, ["content: read as ['a'] instead of ''"]),
        ({"thinking": "why"}, ["reasoning: read as 'why' instead of ''"]),
        ({"tool_calls": None}, ["calls: read as [] instead of ['zqfirstzq']"]),
        ({"tool_calls": ["a"]}, ["calls: read as [None] instead of ['zqfirstzq']"]),
    ],
)
def test_differences_between_messages_are_reported(change, problems):
    text = called("a call").wire.text
    found = _problems(message(text), theirs(text) | change, ids=False)
    assert [words for words, _ in found] == problems


@pytest.mark.parametrize("key", ["thinking", "reasoning_content", "reasoning"])
def test_reasoning_may_have_any_of_its_usual_names(key):
    ours = Message([Reasoning("hm"), Content("Dry.")])
    assert [*_problems(ours, {key: "hm ", "content": " Dry."}, ids=True)] == []
    (problem,) = _problems(ours, {"musing": "hm", "content": "Dry."}, ids=True)
    assert problem == ("reasoning: read as '' instead of 'hm'", None)


def test_a_message_that_another_parser_could_not_read():
    assert [*_problems(Message([]), "KeyError", ids=False)] == [
        ("the complete message: KeyError", None)
    ]


@pytest.mark.parametrize(
    ("mine", "other", "words"),
    [
        ('{"a": 1}', {"a": 1}, ""),
        ('{"a": 1}', '{"a": 1}', "arguments: read as a string, not an object"),
        ('{"a": 1}', None, "arguments: read as None instead of {'a': 1}"),
        ('{"a": 1', {"a": 1}, "arguments: read as {'a': 1} instead of '{\"a\": 1'"),
        ("[1]", [1], ""),
        ('{"a": 1}', {"a": True}, "argument a: read as True instead of 1"),
        ('{"a": 1}', {"a": 1.0}, "argument a: read as 1.0 instead of 1"),
        ('{"a": 1}', {}, "argument a: read as missing instead of 1"),
        ("{}", {"a": 1}, "argument a: read as 1 instead of missing"),
        ('{"a": 1, "b": 2}', {"b": 3, "a": 1}, "argument b: read as 3 instead of 2"),
    ],
)
def test_arguments_that_are_read_otherwise(mine, other, words):
    ours = Message([ToolCall("zqid", "f", mine, complete=True)])
    made = {"id": "zqid", "function": {"name": "f", "arguments": other}}
    assert [said for said, _ in _problems(ours, {"tool_calls": [made]}, ids=True)] == (
        [words] if words else []
    )
    (*_, (said, value)) = _problems(ours, {"tool_calls": [made | {"id": "other"}]}, ids=True)
    assert (said, value) == ("ids of calls", IDS)


THINKS = get_format("seed_oss")
PROMPT = THINKS.turn.headers[0]
ENDED = Message([Reasoning("hm"), ToolCall("zqid", "f", "{}", complete=True)])


@pytest.mark.parametrize(
    ("fmt", "said", "value", "reason"),
    [
        ({}, {}, None, ""),
        ({}, {"prompt": "a prompt"}, None, "a prompt that does not show where the turn begins"),
        ({"call_id": {"position": CallIdPosition.POST_ARGS}}, {}, IDS, "ids after the arguments"),
        ({"call_id": {"position": CallIdPosition.POST_ARGS}}, {}, 1, ""),
        ({}, {}, IDS, ""),
        ({}, {}, {"a": 1}, "objects and lists that are not JSON"),
        ({}, {}, [1], "objects and lists that are not JSON"),
        ({}, {}, "text", ""),
        ({"arguments": {"python_literals": False}}, {}, [1], ""),
        (
            {"arguments": {"python_literals": False, "item": "item"}},
            {},
            [1],
            "objects and lists that are not JSON",
        ),
        (
            {},
            {"in_doubt": True},
            None,
            "a text that contains a marker, which only its position shows to be text",
        ),
        (
            {},
            {"label": NAMED_AS_MARKERS},
            None,
            "an argument that has the name of a marker",
        ),
        ({}, {"ours": ENDED}, None, "a call that ends reasoning"),
        ({}, {"ours": ENDED, "text": "hm</seed:think>"}, None, ""),
        ({}, {"ours": Message(ENDED.parts[:1])}, None, ""),
        ({}, {"ours": Message(ENDED.parts[1:])}, None, ""),
    ],
)
def test_why_no_response_template_could_bring_a_value_back(fmt, said, value, reason):
    turn = Turn(said.get("label", "a call"), in_doubt=said.get("in_doubt", False))
    one = Shown(turn, Wire(said.get("prompt", PROMPT), said.get("text", ""), "", "", "", 1), True)
    trial = _Trial(THINKS.replace(**fmt), Reader())
    assert trial._beyond(one, said.get("ours", Message([])), value) == reason


def judge_with(reader):
    return lambda: SimpleNamespace(name="a parser", reader=reader)


@pytest.mark.parametrize("given", ["{}", [{}], 7])
def test_a_response_template_is_a_dict(given):
    with pytest.raises(UsageError, match="response_template must be a dict"):
        check_response_template(TEMPLATE, given)


def test_format_without_a_response_template_is_not_ok():
    found = check_response_template(OWN.names_as_keys)
    assert found.limits == ("a response template cannot express: names that are keys",)
    assert (found.response_template, found.judge, found.lost) == (None, "", ())
    assert not found.ok


def test_refused_response_template_loses_everything(monkeypatch):
    monkeypatch.setattr(response_template, "judge", judge_with(lambda template: "not so"))
    found = check_response_template(TEMPLATE, {"fields": {}})
    assert (found.judge, found.lost) == ("a parser", ("everything: not so",))
    assert not found.ok


def test_given_response_template_is_checked_and_not_changed(monkeypatch):
    monkeypatch.setattr(
        response_template, "judge", judge_with(lambda made: made.clear() or Reader())
    )
    given = {"fields": {"content": {}}}
    found = check_response_template(TEMPLATE, given)
    assert found.ok
    assert found.response_template is given
    assert given == {"fields": {"content": {}}}
    assert "content" in found.proved


def test_issues_of_the_analysis_are_losses(monkeypatch):
    def doubtful(template, *, trace, **switches):
        assert switches == {}
        return analyze(template, trace=trace).replace(issues=("a doubt",))

    monkeypatch.setattr(response_template, "judge", judge_with(lambda template: Reader()))
    monkeypatch.setattr(response_template, "analyze", doubtful)
    found = check_response_template(TEMPLATE)
    assert found.lost == ("a doubt",)
    assert found.response_template == to_response_template(FORMAT)
    assert check_response_template(TEMPLATE, found.response_template).ok


@pytest.mark.parametrize("name", ["trace", "cache", "accept_suggestion"])
def test_arguments_of_the_analysis_are_refused_as_switches(name):
    with pytest.raises(UsageError, match=name):
        check_response_template("{{ messages[0].content }}", **{name: True})
