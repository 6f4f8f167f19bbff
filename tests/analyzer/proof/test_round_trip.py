"""Tests of rendering, parsing and comparing single turns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deltaparse import (
    ChatTemplate,
    ReasoningFormat,
    ToolFormat,
    WireFormat,
    analyze,
    get_format,
    iter_deltas,
    parse,
)
from deltaparse.analyzer import Trace
from deltaparse.analyzer.assistant_turns import Turns
from deltaparse.analyzer.phases.find_frame import find_frame
from deltaparse.analyzer.phases.find_reasoning import ReasoningFinding
from deltaparse.analyzer.probes import REASONING_KEYS, assistant, call
from deltaparse.analyzer.proof import round_trip as module
from deltaparse.analyzer.proof.conversations import SHORT, Turn
from deltaparse.analyzer.proof.proved_turn import Wire
from deltaparse.analyzer.proof.round_trip import (
    USUAL_IDS,
    RoundTrip,
    _ends_in_ids,
    beside,
    difference,
)
from deltaparse.analyzer.renderer import CallStyle, Renderer


def test_content_is_added_to_calls_only_if_required():
    render = Renderer(ChatTemplate("x"))
    needs = render.styled(CallStyle(content="words"))
    calls = Turn("a call", calls=(call(),))
    thought = Turn("reasoning", reasoning="a thought")
    assert beside(calls, render) is calls
    assert beside(calls, needs).content == SHORT
    assert beside(thought, needs) is thought
    said = replace(calls, content="words")
    assert beside(said, needs) is said


def test_difference_of_texts_is_described():
    fmt = WireFormat()

    def wrong(turn, **wire):
        given = {"prompt": "", "text": "", "end": "", "content": "", "reasoning": "", "calls": 0}
        return difference(turn, Wire(**given | wire), fmt, tools=False, streamed=True)

    said = Turn("content", "words")
    assert "does not render it" in wrong(said, text="other")
    assert wrong(said, text="words", content="words") == ""
    assert wrong(said, text="words", content="others").startswith("content ")
    assert wrong(Turn("nothing")) == ""
    assert wrong(said, reasoning="thought").startswith("reasoning ")


HERMES = get_format("hermes")


@pytest.mark.parametrize(
    ("members", "wrong"),
    [
        ('"arguments": {"zz": 1}', ""),
        ('"parameters": {"zz": 1}', "the parser reports odd_member"),
        ('"arguments": {"zz": 1}, "strict": true', "the parser reports unused_member"),
        ('"arguments": {"zz": 1, "xx": null}', ""),
        ('"arguments": {"zz": 2}', "argument 'zz' "),
        ('"arguments": {}', "missing argument 'zz'"),
    ],
)
def test_difference_of_calls_is_described(members, wrong):
    first, second = call(0, {"zz": 1, "xx": None}), call(1, {"zz": 2})
    text = f'<tool_call>{{"name": "{first["function"]["name"]}", {members}}}</tool_call>'
    wire = Wire("", text, "", "", "", 1)
    turn = Turn("two calls, of which the template shows one", calls=(first, second))
    words = difference(turn, wire, HERMES, tools=False, streamed=True)
    assert words.partition(", from ")[0].startswith(wrong)
    assert bool(words) is bool(wrong)
    doubtful = replace(turn, in_doubt=True)
    again = difference(doubtful, wire, HERMES, tools=False, streamed=True)
    assert again == ("" if "parser reports" in wrong else words)


def test_unquoted_strings_may_be_trimmed():
    [function] = [call(0, {"text": "  a  "})]
    for value in ("a", "  a  ", " a"):
        text = f"<do {function['function']['name']}><in text>{value}</in></do>"
        wire = Wire("", text, "", "", "", 1)
        words = difference(Turn("", calls=(function,)), wire, TAGGED, tools=False, streamed=True)
        assert (words == "") is (value != " a")


PLAIN = (
    "{% for m in messages %}{{ '<' ~ m.role ~ '>' ~ (m.content or '') }}"
    "{% for c in m.tool_calls or [] %}{{ '<do>' ~ c.function | tojson ~ '</do>' }}{% endfor %}"
    "{{ '</' ~ m.role ~ '>' }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
NO_END = PLAIN.replace("{{ '</' ~", "{% if loop.last or m.role != 'assistant' %}{{ '</' ~").replace(
    "~ '>' }}{% endfor %}{% if", "~ '>' }}{% endif %}{% endfor %}{% if"
)
"""The same, with an end only for the last turn."""


def trial(source, *, key="", **switches):
    render = Renderer(ChatTemplate(source))
    turns = Turns(render, find_frame(render))
    reasoning = ReasoningFinding(ReasoningFormat(), key)
    return RoundTrip(turns, render.under(switches), reasoning, analyze(PLAIN))


def bodies(source, turn):
    """Return the texts and ends of a turn for each place of the conversation."""
    places = trial(source)._wires(turn, tools=bool(turn.calls))
    return [[(wire.text, wire.end) for wire in written] for _, written in places]


MARKED = {"mode": "TAG_BASED", "start": "<t>", "end": "</t>"}
SAID = Turn("content", "words")
CALLED = Turn("a call", calls=(call(0, {}),))


def test_a_turn_is_laid_out_last_and_before_another():
    assert bodies(PLAIN, SAID) == [[("words", "</assistant>")]] * 2
    [[(text, end)], again] = bodies(PLAIN, CALLED)
    assert (text[:4], text[-5:], end) == ("<do>", "</do>", "</assistant>")
    assert again == [(text, end)]
    assert bodies(PLAIN, replace(SAID, after_result=True)) == [[("words", "</assistant>")]] * 2
    assert len(bodies(PLAIN, replace(CALLED, after_result=True))) == 1


def test_content_without_an_end_goes_up_to_the_next_message():
    assert bodies(NO_END, SAID) == [[("words", "</assistant>")], [("words", "")]]
    last, before = bodies(NO_END, CALLED)
    assert (len(last), before) == (1, [])


def test_refused_place_is_skipped():
    refuses = "{% if messages[-1].tool_calls %}{{ raise_exception('no') }}{% endif %}" + PLAIN
    assert bodies(refuses, CALLED) == bodies(PLAIN, CALLED)[1:]


def test_trailer_is_the_text_a_switch_appends():
    source = PLAIN + "{% if deep %}[deep{{ ' with tools' if tools }}]{% endif %}"
    assert trial(source, deep=True).trailer(tools=False) == "[deep]"
    assert trial(source, deep=True).trailer(tools=True) == "[deep with tools]"
    assert trial(source).trailer(tools=True) == ""
    assert trial("{% if deep %}!{% endif %}" + PLAIN, deep=True).trailer(tools=False) == ""
    assert (
        trial(source.replace("{{ '</'", "{{ '!</' if deep else '</'"), deep=True).trailer(
            tools=False
        )
        == ""
    )


@pytest.mark.parametrize(
    ("turn", "asked"),
    [
        # Without tools, with tools in the first trial, with tools in later trials.
        (Turn("content", "a"), (True, True, False)),
        (Turn("reasoning and content", "a", "b"), (True, True, True)),
        (Turn("some other content", "a"), (True, False, False)),
        (CALLED, (False, True, True)),
        (Turn("content after a result", "a", after_result=True), (False, True, True)),
    ],
)
def test_selection_of_tested_turns(turn, asked):
    places = ((False, True), (True, True), (True, False))
    made = trial(PLAIN)
    assert asked == tuple(made.is_asked(turn, tools=tools, first=first) for tools, first in places)
    # Parts that were not understood are skipped, since an issue reports them.
    without = replace(made, fmt=WireFormat())
    unknown = replace(made, reasoning=replace(made.reasoning, issues=("unknown",)))
    described = replace(unknown, fmt=made.fmt.replace(reasoning=MARKED))
    for tools, first in places:
        known = made.is_asked(turn, tools=tools, first=first)
        tried = known and not (turn.calls or turn.after_result)
        assert without.is_asked(turn, tools=tools, first=first) is tried
        tried = known and not turn.reasoning
        assert unknown.is_asked(turn, tools=tools, first=first) is tried
        assert described.is_asked(turn, tools=tools, first=first) is known


def test_reasoning_is_given_under_every_known_key():
    turn = Turn("reasoning and content", "words", "why")
    flat = {key: "why" for key in REASONING_KEYS if "." not in key}
    said = {"role": "assistant", "content": "words"}
    assert trial(PLAIN)._message(turn) == said | flat
    assert trial(PLAIN, key="thought")._message(turn) == said | flat
    inner = assistant("words", reasoning="why", key="content.thinking")
    assert trial(PLAIN, key="content.thinking")._message(turn) == inner
    assert trial(PLAIN)._message(SAID) == said


TAGGED = WireFormat().replace(
    tools={"format": "TAG_WITH_TAGGED", "per_call_start": "<do ", "per_call_end": "</do>"},
    function={"name_suffix": ">"},
    arguments={"name_prefix": "<in ", "name_suffix": ">", "value_suffix": "</in>"},
)


def test_values_have_the_types_of_the_tools():
    [function] = [call(0, {"postcode": "02134", "said_true": "true"})]
    name = function["function"]["name"]
    text = f"<do {name}><in postcode>02134</in><in said_true>true</in></do>"
    turn, wire = Turn("a call", calls=(function,)), Wire("", text, "", "", "", 1)
    assert difference(turn, wire, TAGGED, tools=True, streamed=True) == ""
    assert difference(turn, wire, TAGGED, tools=False, streamed=True).startswith("argument ")


def test_end_markers_within_usual_ids_are_found():
    colon = {"call_id": {"position": "BETWEEN_FUNC_AND_ARGS", "prefix": "[", "suffix": ":"}}
    assert [*_ends_in_ids(TAGGED.replace(**colon))] == [(USUAL_IDS[0], ":")]
    assert [*_ends_in_ids(TAGGED)] == []
    in_json = analyze(PLAIN).replace(tools={"separator": ":"}, call_id=colon["call_id"])
    assert in_json.tools.format is ToolFormat.JSON_NATIVE
    assert [*_ends_in_ids(in_json)] == []  # JSON ids have quotes
    named = {"call_id": {"position": "PRE_FUNC_NAME", "suffix": ":", "holds_name": True}}
    assert [*_ends_in_ids(TAGGED.replace(**named))] == []


def test_first_correct_wire_is_returned(monkeypatch):
    first = trial(PLAIN)._first
    streams = []
    compare = module.difference

    def noted(*args, streamed):
        streams.append(streamed)
        return compare(*args, streamed=streamed)

    monkeypatch.setattr(module, "difference", noted)
    prompt = "<assistant>"
    wrong, other, right = (
        Wire(prompt, text, "", "words", "", 0) for text in ("first", "second", "words")
    )
    assert first(SAID, iter([wrong, right, other]), tools=False, streamed=True) == (right, "")
    assert streams == [True, False]  # parsing by characters takes long
    streams.clear()
    assert first(SAID, iter([wrong, right]), tools=False, streamed=False) == (right, "")
    assert streams == [False, False]
    wire, problem = first(SAID, iter([wrong, wrong, other]), tools=False, streamed=True)
    assert (wire, problem) == (None, "content 'first', not 'words', from 'first'")


def test_a_turn_is_parsed_by_characters_with_its_end(monkeypatch):
    fmt = analyze(PLAIN)
    parsed = []

    def noted(texts, *args, **options):
        parsed.append(list(texts))
        return iter_deltas(texts, *args, **options)

    def whole(text, *args, **options):
        parsed.append([text])
        return parse(text, *args, **options)

    monkeypatch.setattr(module, "iter_deltas", noted)
    monkeypatch.setattr(module, "parse", whole)
    wire = Wire("<assistant>", "words", "</assistant>", "words", "", 0)
    for streamed in (False, True):
        assert difference(SAID, wire, fmt, tools=False, streamed=streamed) == ""
    both = [["words"], ["words</assistant>"]]
    assert parsed == [*both, *both, [*"words</assistant>"]]
    monkeypatch.setattr(
        module, "iter_deltas", lambda texts, *args, **options: noted(texts[:1], *args, **options)
    )
    words = difference(SAID, wire, fmt, tools=False, streamed=True)
    assert "by characters" in words


@pytest.mark.parametrize(
    ("label", "tools", "thorough", "places"),
    [
        ("reasoning and content", True, False, 1),
        ("reasoning and content", True, True, 2),
        ("reasoning and content", False, False, 2),
        ("content", True, False, 2),
    ],
)
def test_some_turns_are_tried_at_the_end_of_a_conversation_only(label, tools, thorough, places):
    made = trial(PLAIN)
    turn = Turn(label, "words")
    wire, problem = made.outcome(turn, tools=tools, thorough=thorough)
    assert (wire.text, problem) == ("words", "")
    assert len(made.known) == places


@pytest.mark.parametrize(
    ("thorough", "streamed", "came", "asked"),
    [
        (True, True, (True, True), [True, False]),
        (True, True, (False, True), [True, True]),
        (True, False, (True, True), [False, False]),
        (False, True, (True, True), [False, False]),
    ],
)
def test_one_wire_of_a_turn_is_parsed_by_characters(monkeypatch, thorough, streamed, came, asked):
    wires = [Wire("", text, "", "words", "", 0) for text in ("first", "second")]
    given = [
        (wire if back else None, "" if back else f"{wire.text} is wrong")
        for wire, back in zip(wires, came, strict=True)
    ]
    streams = []

    def first(self, turn, written, *, tools, streamed):
        streams.append(streamed)
        return given[len(streams) - 1]

    made = trial(PLAIN)
    monkeypatch.setattr(RoundTrip, "_first", first)
    turn = replace(SAID, streamed=streamed)
    wire, problem = made.outcome(turn, tools=False, thorough=thorough)
    assert streams == asked
    assert wire is wires[came.index(True)]
    assert problem == ("" if all(came) else "first is wrong")
    made.outcome(turn, tools=False, thorough=thorough)
    assert streams == asked  # parsed turns are cached


def test_first_error_of_two_places_is_returned(monkeypatch):
    told = iter(["first", "second"])
    made = trial(PLAIN)
    monkeypatch.setattr(RoundTrip, "_first", lambda *_, **__: (None, next(told)))
    assert made.outcome(SAID, tools=False, thorough=True) == (None, "first")


def test_changed_id_is_an_error():
    brackets = {"position": "BETWEEN_FUNC_AND_ARGS", "prefix": "[", "suffix": ":"}
    name = CALLED.calls[0]["function"]["name"]
    made = replace(trial(PLAIN), fmt=TAGGED.replace(call_id=brackets))
    wire = Wire("", f"<do {name}>[abc:</do>", "", "", "", 1)
    _, problem = made._first(CALLED, iter([wire]), tools=True, streamed=False)
    assert problem.startswith("id 'functions.f:0' contains the end marker ':'")
    # If ids are not written, words may equal ids.
    words = CALLED.calls[0]["id"]
    wire = Wire("", f"{words}<do {name}></do>", "", words, "", 1)
    turn = replace(CALLED, content=words)
    found = replace(made, fmt=TAGGED)._first(turn, iter([wire]), tools=True, streamed=False)
    assert found == (wire, "")


@pytest.mark.parametrize("put_back", [True, False])
@pytest.mark.parametrize("issues", [("nothing shows it",), ()])
def test_unconfirmed_reasoning_is_not_counted(put_back, issues):
    fmt = analyze(PLAIN).replace(reasoning=MARKED)
    made = trial(PLAIN)
    made = replace(made, fmt=fmt, reasoning=replace(made.reasoning, issues=issues))
    wire = Wire("<assistant>", "<t>why</t>words", "", "words", "why", 0, put_back=put_back)
    found, problem = made._first(SAID, iter([wire]), tools=False, streamed=False)
    assert (found.reasoning, problem) == ("" if put_back and issues else "why", "")


def wires_of(source, turn, **switches):
    """Return the wires of a turn for each place, with its key."""
    places = trial(source, **switches)._wires(turn, tools=bool(turn.calls or turn.after_result))
    return [(key, [*written]) for key, written in places]


def test_history_before_a_turn():
    for turn, before in (
        (SAID, False),
        (replace(SAID, later=True), True),
    ):
        for _, [wire] in wires_of(PLAIN, turn):
            assert ("<assistant>Hello to you</assistant>" in wire.prompt) is before
    for _, [wire] in wires_of(PLAIN, replace(SAID, after_result=True)):
        assert "<assistant><do>" in wire.prompt


def test_turns_with_calls_are_rendered_with_tools():
    with_tools = PLAIN.replace("(m.content or '')", "(m.content or '') ~ ('!' if tools)")
    for _, [wire] in wires_of(with_tools, CALLED):
        assert wire.text.startswith("!<do>")
    for _, [wire] in wires_of(with_tools, SAID):
        assert wire.text == "words"


def test_missing_content_is_skipped_if_content_is_required():
    made, turn = trial(PLAIN), replace(CALLED, without="null")
    assert len([*made._wires(turn, tools=True)]) == 2
    needs = replace(made, fmt=made.fmt.replace(content={"requires_nonnull": True}))
    assert not [*needs._wires(turn, tools=True)]


def test_missing_content_is_tested_if_calls_require_it():
    trace, calls = Trace(), "m.tool_calls or []"
    fmt = analyze(PLAIN.replace(calls, f"({calls}) if m.content is undefined"), trace=trace)
    assert (fmt.verified, fmt.content.requires_nonnull) == (True, True)
    assert "a call without content" in trace.proved


def test_repeated_question_yields_no_wires():
    twice = PLAIN.replace("(m.content or '')", "(m.content or '') * (2 if m.role == 'user' else 1)")
    assert wires_of(twice, SAID) == []


def test_trailer_of_a_switch_is_not_part_of_a_turn():
    source = PLAIN + "{% if deep and not add_generation_prompt %}[deep]{% endif %}"
    assert [[wire.text for wire in wires] for _, wires in wires_of(source, SAID)] == [["words"]] * 2
    always = PLAIN + "{% if deep %}[deep]{% endif %}"
    for _, [wire] in wires_of(always, SAID, deep=True):
        assert (wire.text, wire.end) == ("words", "</assistant>")


def test_turns_after_different_prompts_have_different_keys():
    source = PLAIN + "{{ '[deep]' if deep and add_generation_prompt }}"
    plain, deep = ({key for key, _ in wires_of(source, SAID, deep=on)} for on in (False, True))
    assert len(plain) == len(deep) == 2
    assert not plain & deep
    refuses = PLAIN + "{{ raise_exception('no') if add_generation_prompt }}"
    assert [wire.text for _, [wire] in wires_of(refuses, SAID)] == ["<assistant>words"] * 2


def test_header_is_inserted_after_a_prompt_without_it():
    source = PLAIN.replace("{% if add_generation_prompt", "{% if not raw and add_generation_prompt")
    for raw, texts in ((False, ["words", "words"]), (True, ["<assistant>words", "words"])):
        assert [wire.text for _, [wire] in wires_of(source, SAID, raw=raw)] == texts
