"""Tests that the proof detects wrong formats."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deltaparse import ChatTemplate, ReasoningFormat, analyze
from deltaparse.analyzer import Trace
from deltaparse.analyzer.assistant_turns import Turns
from deltaparse.analyzer.phases.find_frame import find_frame
from deltaparse.analyzer.phases.find_reasoning import find_reasoning
from deltaparse.analyzer.phases.find_switches import SwitchSetting
from deltaparse.analyzer.proof.conversations import FEW, NAMED_AS_MARKERS, TURNS, TWO
from deltaparse.analyzer.proof.proof import (
    NOT_BACK,
    OTHERWISE,
    TOO_LONG,
    Proof,
    by_cause,
    prove,
)
from deltaparse.analyzer.proof.proved_turn import Wire
from deltaparse.analyzer.proof.round_trip import RoundTrip
from deltaparse.analyzer.renderer import Renderer

from ...strategies.templates import OWN
from ..phases.small_templates import turns


def proof(source, fmt):
    render = Renderer(ChatTemplate(source))
    turns = Turns(render, find_frame(render))
    found = prove(turns, find_reasoning(turns), fmt, SwitchSetting(), [])
    return found.labels, found.failed


def test_a_right_format_is_proved_on_every_turn_the_template_renders():
    proved, failed = proof(
        OWN.reasoning_beside_calls_only,
        analyze(OWN.reasoning_beside_calls_only),
    )
    assert failed == []
    # This template does not render reasoning with content, so it is not proved.
    assert proved == [
        turn.label for turn in TURNS if not turn.label.startswith("reasoning and content")
    ]


@pytest.mark.parametrize(
    ("change", "label"),
    [
        ({"tools": {"section_start": "<acts>"}}, "a call"),
        ({"tools": {"name_field": "names"}}, "a call"),
        ({"content": {"start": "<says>"}}, "content"),
        ({"reasoning": ReasoningFormat()}, "reasoning and a call"),
        ({"turn": {"ends": ("</b>",)}}, "content"),
    ],
)
def test_a_wrong_format_is_not(change, label):
    source = OWN.reasoning_beside_calls_only
    fmt = analyze(source).replace(**change)
    proved, failed = proof(source, fmt)
    assert label not in proved
    assert any(text.startswith(label) for text in failed)


TAGGED = (
    "{% for m in messages %}{% if m.role == 'assistant' %}{{ '<a>' }}{{ m.content or '' }}"
    "{% for c in m.tool_calls or [] %}{{ '<do ' ~ c.function.name ~ '>' }}"
    "{% for key, value in c.function.arguments.items() %}"
    "{{ '<arg ' ~ key ~ '>' ~ VALUE ~ '</arg>' }}{% endfor %}{{ '</do>' }}{% endfor %}{{ '</a>' }}"
    "{% else %}{{ '<u>' ~ m.content ~ '</u>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<a>' }}{% endif %}"
)
JSON_OR_TEXT = "(value if value is string else value | tojson)"


def test_trimmed_values_are_accepted():
    trimmed = TAGGED.replace("VALUE", JSON_OR_TEXT.replace("value if", "value | trim if"))
    fmt = analyze(trimmed)
    assert fmt.verified, fmt.issues
    assert fmt == analyze(TAGGED.replace("VALUE", JSON_OR_TEXT))


@pytest.mark.parametrize(
    "change",
    [
        {"python_literals": True},
        {"quoted_strings": True},
        {"value_suffix": "</do>"},
        {"name_suffix": "|"},
    ],
)
def test_values_are_proved(change):
    source = TAGGED.replace("VALUE", JSON_OR_TEXT)
    right = analyze(source)
    assert "a call" in proof(source, right)[0]
    proved, _ = proof(source, right.replace(arguments=change))
    assert ("a call" in proved) is (change == {"python_literals": True})


def test_a_template_that_spoils_values_is_not_verified():
    fmt = analyze(TAGGED.replace("VALUE", "(value | string | lower)"))
    assert not fmt.verified
    assert any("a call did not round-trip: argument 'text' " in issue for issue in fmt.issues)


NULLS = (
    "{{ tools | tojson if tools }}"
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}{% for c in m.tool_calls or [] %}"
    "<do {{ c.function.name }}>{% for k, v in c.function.arguments.items() if VALUES %}"
    "<p {{ k }}>{{ v if v is string else v | tojson }}</p>{% endfor %}</do>{% endfor %}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def test_arguments_that_are_null_may_be_left_out():
    assert analyze(NULLS.replace("VALUES", "v is not none")).verified
    for left_out in ("v", "v != ''", "v is not boolean"):
        fmt = analyze(NULLS.replace("VALUES", left_out))
        assert any(issue.startswith("a call did not round-trip") for issue in fmt.issues)


def test_successes_are_counted_and_failures_listed_once():
    made, turn = Proof(), TURNS[2]
    wire = Wire("", "text", "", "content", "", 1)
    default, switched = SwitchSetting(), SwitchSetting((("deep", True),), ("prompt",))
    for _ in range(3):
        made.add(turn, wire, "", default, tools=False, first=True)
    made.add(turn, wire, "", default, tools=True, first=True)
    assert made.content == made.calls == {"default": 3, "default, tools": 1}
    assert made.reasoning == {}
    assert made.labels == [turn.label]
    for setting in (default, switched, switched):
        made.add(turn, None, "why", setting, tools=False, first=setting is default)
    assert made.failed == [f"{turn.label}{NOT_BACK}: why"]
    made = Proof()
    for _ in range(2):
        made.add(turn, None, "why", switched, tools=False, first=False)
    assert made.failed == [f"{turn.label}{NOT_BACK} (with deep=true): why"]
    otherwise = replace(switched, changes=("calls",))
    made = Proof()
    made.add(turn, None, "why", otherwise, tools=False, first=False)
    assert made.failed == [OTHERWISE.format(label="deep=true", given="deep=True")]


def test_slow_proof_is_aborted_with_an_issue(monkeypatch):
    monkeypatch.setattr("deltaparse.analyzer.proof.proof.MAX_SECONDS", -1.0)
    proved, failed = proof(
        OWN.reasoning_beside_calls_only, analyze(OWN.reasoning_beside_calls_only)
    )
    assert (proved, failed) == ([], [TOO_LONG])


def proved(source):
    trace = Trace()
    fmt = analyze(source, trace=trace)
    assert fmt.verified, fmt.issues
    return trace.proved


def test_markers_that_any_text_may_hold_are_put_into_texts():
    labels = proved(TAGGED.replace("VALUE", JSON_OR_TEXT).replace("</arg>", "|"))
    held = [label for label in labels if "containing" in label]
    assert held == ["content containing '|'", "a value containing '|'"]
    assert not [label for label in proved(OWN.json_list_behind_words) if "containing" in label]


SWITCHED = OWN.reasoning_beside_calls_only + "{% if brief %}[brief]{% endif %}"


def test_all_turns_are_tried_under_the_first_setting_and_few_under_others(monkeypatch):
    asked = {}
    is_asked = RoundTrip.is_asked

    def noted(self, turn, *, tools, first):
        context = tuple(self.render.settings.switched.items())
        asked.setdefault((first, context), set()).add(turn.label)
        return is_asked(self, turn, tools=tools, first=first)

    monkeypatch.setattr(RoundTrip, "is_asked", noted)
    analyze(SWITCHED)
    first, *others = asked.items()
    assert first[0][0]
    assert first[1] >= {turn.label for turn in TURNS}
    assert {frozenset(labels) for _, labels in others} == {frozenset(FEW), frozenset(TWO)}
    assert not any(is_first for (is_first, _), _ in others)


def test_failure_names_the_switch_that_changes_calls():
    two = SwitchSetting((("deep", True), ("mode", "x")), ("calls",))
    content, _, called, *_ = TURNS
    for turn, first, words in (
        (
            called,
            False,
            "calls are written in another way: use analyze(template, deep=True, mode='x')",
        ),
        (called, True, "a call did not round-trip: why"),
        (content, False, "content did not round-trip (with deep=true, mode=x): why"),
    ):
        made = Proof()
        made.add(turn, None, "why", two, tools=False, first=first)
        assert words in made.failed[0]


def test_failures_of_the_same_cause_are_merged():
    same = [f"{name} did not round-trip: the parser reports x, from {name!r}" for name in "abc"]
    told = [same[0], "d did not round-trip: why", *same[1:], "too long"]
    assert [*by_cause(told)] == [f"{same[0]} (same cause: 2 other turns)", told[1], "too long"]
    assert [*by_cause(same[:2])] == [f"{same[0]} (same cause: 1 other turn)"]
    assert [*by_cause(["too long", "refused"])] == ["too long", "refused"]
    switched = "a did not round-trip (with deep=true): the parser reports x, from 'a'"
    assert [*by_cause([same[0], switched])] == [same[0], switched]


def test_turn_is_proved_only_with_its_reasoning():
    both = TURNS[1]
    for first, reasoning, labels in (
        (True, "why", [both.label]),
        (True, "", []),
        (False, "why", []),
    ):
        made = Proof()
        wire = Wire("", "text", "", "content", reasoning, 0)
        made.add(both, wire, "", SwitchSetting(), tools=False, first=first)
        assert made.labels == labels
        assert len(made.shown) == 1


def test_turn_correct_in_one_place_only_is_not_proved():
    fmt = analyze(TAGGED.replace("VALUE", JSON_OR_TEXT))
    louder = "{{ (m.content | upper if tools else m.content) or '' }}"
    spoilt = TAGGED.replace("VALUE", JSON_OR_TEXT).replace("{{ m.content or '' }}", louder)
    labels, failed = proof(spoilt, fmt)
    assert "content" not in labels
    assert labels[0] == "a call"
    assert len(labels) == len(set(labels))
    assert [text for text in failed if text.startswith("content did not round-trip: ")]


def test_failure_names_the_setting():
    louder = "{{ (m.content | upper if loud else m.content) or '' }}"
    spoilt = TAGGED.replace("VALUE", JSON_OR_TEXT).replace("{{ m.content or '' }}", louder)
    trace = Trace()
    fmt = analyze(spoilt, trace=trace)
    assert not fmt.verified
    told = "reasoning and content did not round-trip (with loud=true): "
    assert any(issue.startswith(told) for issue in fmt.issues)
    assert "a call" in trace.proved


def contexts(monkeypatch, source):
    """Return the tested switches, with the number of turns."""
    asked = {}
    is_asked = RoundTrip.is_asked

    def noted(self, turn, **given):
        context = tuple(self.render.settings.switched.items())
        asked.setdefault(context, set()).add(turn.label)
        return is_asked(self, turn, **given)

    monkeypatch.setattr(RoundTrip, "is_asked", noted)
    analyze(source, trace=Trace())
    monkeypatch.undo()
    return {context: len(labels) for context, labels in asked.items()}


def test_pairs_are_skipped_after_many_renderings(monkeypatch):
    more = SWITCHED + "{% if long and not brief %}[long]{% endif %}"
    usual = contexts(monkeypatch, more)
    monkeypatch.setattr("deltaparse.analyzer.proof.proof.MOST_RENDERINGS", 0)
    fewer = contexts(monkeypatch, more)
    assert fewer.items() < usual.items()
    assert len(TWO) in usual.values()
    assert sorted(set(fewer.values())) == [len(FEW), len(TURNS)]


def test_turns_are_gone_through_under_the_first_setting(monkeypatch):
    thorough = {}
    outcome = RoundTrip.outcome

    def noted(self, turn, **given):
        thorough.setdefault(bool(self.render.settings.switched), set()).add(given["thorough"])
        return outcome(self, turn, **given)

    monkeypatch.setattr(RoundTrip, "outcome", noted)
    analyze(OWN.reasoning_beside_calls_only + "{% if deep %}[deep]{% endif %}", trace=Trace())
    assert {True} in thorough.values()
    assert {False} in thorough.values()


NAMED = (
    "{% for c in m.tool_calls or [] %}<c {{ c.function.name }}>"
    "{% for k, v in c.function.arguments.items() %}<a {{ k }}>"
    "{{ v if v is string else v | tojson }}</a>{% endfor %}</c>{% endfor %}"
)


def test_marker_named_arguments_need_lossless_values():
    source = turns("{{ m.content or '' }}" + NAMED)
    render = Renderer(ChatTemplate(source))
    made = Turns(render, find_frame(render))
    fmt = analyze(source)
    for lost in ((), ("numbers",)):
        found = prove(made, find_reasoning(made), fmt, SwitchSetting(), [], lost)
        assert (NAMED_AS_MARKERS in found.labels) is not bool(lost)


def test_single_call_is_tested_under_each_switch():
    one = "{{ raise_exception('one call') if m.tool_calls and m.tool_calls | length > 1 }}"
    calls = "{% for c in m.tool_calls or [] %}{{ '<d>' if other else '<c>' }}"
    calls += "{{ c.function | tojson }}</c>{% endfor %}"
    [issue] = analyze(turns(one + "{{ m.content or '' }}" + calls)).issues
    assert issue.startswith("content and a call did not round-trip (with other=true): ")
