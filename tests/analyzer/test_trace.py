"""Tests of the trace: renderings, comparisons and evidence."""

from __future__ import annotations

import pytest

from deltaparse import UsageError, analyze
from deltaparse.analyzer import Trace
from deltaparse.analyzer.probes import (
    ARGUMENTS,
    CALL_IDS,
    CONTENT,
    FUNCTIONS,
    USER,
    assistant,
    call,
)
from deltaparse.analyzer.proof.conversations import TURNS
from deltaparse.analyzer.trace import CONTEXT, Rendering, _described, _places, _seen, phase

from ..strategies.templates import OWN

SEPARATED = (
    "{% for m in messages %}{{ '<' ~ m.role ~ '>' ~ (m.content or '') }}"
    "{% for c in m.tool_calls or [] %}{{ '<do ' ~ c.function.name ~ '|>' }}"
    "{% for key, value in c.function.arguments.items() %}"
    "{{ '<in ' ~ key ~ '>' ~ (value if value is string else value | tojson) ~ '</in>' }}"
    "{% if not loop.last %}^{% endif %}{% endfor %}"
    "</do>{% if not loop.last %}|{% endif %}{% endfor %}{{ '</' ~ m.role ~ '>' }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.fixture(scope="module")
def traced():
    trace = Trace()
    return analyze(OWN.reasoning_beside_calls_only, trace=trace), trace


def test_trace_does_not_change_the_format(traced):
    fmt, _ = traced
    assert fmt == analyze(OWN.reasoning_beside_calls_only)


def test_every_phase_is_noted(traced):
    _, trace = traced
    phases = list(dict.fromkeys(made.phase for made in trace.renderings))
    assert phases[0] == "frame"
    assert {"S", "R1", "R3", "C1", "T1-T7, A1, A2"} <= set(phases)
    assert phases[-1] == "proof"


def test_proved_turns_are_recorded(traced):
    fmt, trace = traced
    assert fmt.verified
    labels = [turn.label for turn in TURNS if not turn.label.startswith("reasoning and content")]
    assert list(trace.proved) == labels
    assert trace.conversations["calls"] > trace.conversations["reasoning"] > 0
    assert trace.disproved == ()


def test_failed_turns_are_recorded():
    trace = Trace()
    fmt = analyze(OWN.calls_in_prose, trace=trace)
    assert not fmt.verified
    assert "content" in trace.proved


def test_a_comparison_is_with_the_conversation_most_like_it(traced):
    _, trace = traced
    for made in trace.comparisons():
        if made.diff is None:
            continue
        diff = made.diff
        assert made.base.text == diff.prefix + diff.left + diff.suffix
        assert made.rendering.text == diff.prefix + diff.right + diff.suffix
    two = next(made for made in trace.comparisons() if _shows_two_calls(made.rendering))
    assert "zqfirstzq" in two.base.label
    assert "zqotherzq" in two.diff.right
    assert "zqfirstzq" not in two.diff.right


def _shows_two_calls(made):
    return made.phase == "T1-T7, A1, A2" and "zqotherzq" in made.label


def test_first_rendering_has_no_base(traced):
    _, trace = traced
    first = next(trace.comparisons())
    assert first.base is None
    assert first.diff is None


def test_a_refusal_is_noted_and_not_compared():
    trace = Trace()
    analyze(OWN.json_unmarked, trace=trace)
    refused = [made for made in trace.comparisons() if made.rendering.text is None]
    assert refused
    assert all(made.diff is None for made in refused)


def test_evidence_shows_each_marker_next_to_its_probe(traced):
    fmt, trace = traced
    found = {made.field: made for made in trace.evidence(fmt)}
    assert found["reasoning.start"].text == "<plan>"
    assert found["reasoning.start"].after.startswith("zqthoughtzq")
    assert found["reasoning.end"].before.endswith("zqthoughtzq")
    assert found["content.start"].after.startswith("zqsaidzq")
    assert found["content.end"].before.endswith("zqsaidzq")
    assert "zqfirstzq" in found["tools.section_start"].after
    assert found["tools.section_start"].rendering.phase.startswith("T")
    assert found["turn.headers"].before.endswith("</b>") or found["turn.headers"].before
    assert found["turn.ends"].rendering.phase == "frame"
    for made in found.values():
        assert made.before + made.text + made.after in made.rendering.text


def test_text_without_a_rendering_has_no_evidence(traced):
    fmt, trace = traced
    fmt = fmt.replace(tools={"section_end": "<never>"})
    assert "tools.section_end" not in {made.field for made in trace.evidence(fmt)}


def test_labels_describe_the_conversations(traced):
    _, trace = traced
    labels = [made.label for made in trace.renderings]
    assert "user('zqaskedzq')" in labels
    assert "user('zqaskedzq'), generation prompt" in labels
    assert any("reasoning_content 'zqthoughtzq'" in label for label in labels)
    assert any("zqfirstzq(zqkeyzq='zqvaluezq')" in label for label in labels)
    assert len(trace.renderings) == len(set(trace.renderings))


def test_a_phase_ends_when_its_function_raises():
    class Given:
        trace = Trace()

    @phase("X")
    def fails(given):
        given.trace.note([{"role": "user", "content": None}], {}, "a")
        raise UsageError

    with pytest.raises(UsageError):
        fails(Given)
    Given.trace.note([{"role": "user", "content": ["x"]}], {"deep": True}, None)
    first, second = Given.trace.renderings
    assert (first.phase, first.label) == ("X", "user(null)")
    assert (second.phase, second.label) == ("frame", "user(parts), deep=True")


def test_a_rendering_is_compared_with_no_refusal():
    trace, chat = Trace(), [{"role": "user", "content": "a"}]
    for settings, text in (({"deep": 1}, "x"), ({"deep": 2}, None), ({"deep": 2, "b": 3}, "y")):
        trace.note(chat, settings, text)
    first, refused, last = trace.comparisons()
    assert (refused.base, refused.diff) == (first.rendering, None)
    assert (last.base, last.diff.left) == (first.rendering, "x")


def test_evidence_of_the_generation_prompt_is_in_a_prompt(traced):
    fmt, trace = traced[0].replace(turn={"generation_prompt": "<g>"}), Trace()
    for prompted in (False, True):
        trace.note(
            [{"role": "user", "content": USER}],
            {"add_generation_prompt": prompted},
            f"{USER} and <g>{CONTENT}",
        )
    (made,) = [made for made in trace.evidence(fmt) if made.field == "turn.generation_prompt"]
    assert made.rendering.label.endswith("generation prompt")


def test_first_renderings_are_counted_by_phase():
    trace = Trace()
    trace.count()
    with trace.phase("X"):
        trace.count()
        trace.count()
    assert trace.rendered == {"frame": 1, "X": 2}


def test_labels_contain_values_and_enabled_settings():
    trace, messages = Trace(), [{"role": "user", "content": "a"}]
    trace.note(messages, {"deep": False, "tools": True, "add_generation_prompt": True}, "")
    trace.note(messages, {"deep": None, "tools": False, "add_generation_prompt": False}, "")
    labels = [made.label for made in trace.renderings]
    assert labels == ["user('a'), deep=False, generation prompt, tools", "user('a'), deep=None"]


def noted(text):
    """A trace of one rendering."""
    trace = Trace()
    trace.note([{"role": "user", "content": USER}], {}, text)
    return trace


def seen(trace, fmt, field):
    found = {made.field: made for made in trace.evidence(fmt)}
    return found.get(f"tools.{field}")


ONE, TWO = FUNCTIONS


@pytest.mark.parametrize("before", ["", f"{USER} ", f"{ONE};{TWO} {USER} "])
def test_a_separator_is_seen_between_two(traced, before):
    fmt = traced[0].replace(tools={"separator": ";"})
    made = seen(noted(f"{before};{ONE} the first; {TWO}; behind"), fmt, "separator")
    assert made.before.endswith(f"{ONE} the first")
    assert made.after.startswith(f" {TWO}")
    for text in (f";{ONE};", f"{TWO};{ONE}; ", f";{TWO};"):
        assert seen(noted(f"{USER} {text}"), fmt, "separator") is None
    assert seen(noted(f"{ONE};{TWO} {USER};"), fmt, "separator") is None
    assert seen(noted(f"{ONE};{TWO}"), fmt, "separator").before == ONE
    fmt = traced[0].replace(tools={"separator": "?"})
    for text in ("?", f"{ONE}?", f"?{TWO}"):
        assert seen(noted(text), fmt, "separator") is None


def test_marker_nearest_to_its_probe_is_the_evidence(traced):
    fmt = traced[0].replace(tools={"section_start": "<c>"})
    text = f"<c>{ONE} {USER} <c> is how tools are called <c>{ONE} or <c>{'long ' * 20}"
    made = seen(noted(text), fmt, "section_start")
    assert made.before.endswith("tools are called ")
    assert made.after == f"{ONE} or <c>{'long ' * 20}"[:48]
    assert len(made.before) == 48
    fmt = traced[0].replace(tools={"section_start": "\n<c>\n"})
    assert seen(noted(f"{text}\n"), fmt, "section_start").text == "<c>"
    assert seen(noted(f"{text}\n<c>\n"), fmt, "section_start").text == "\n<c>\n"
    # Text inserted by the probes is not evidence.
    assert seen(noted(f"{USER} <c>"), fmt, "section_start") is None
    assert seen(noted(f"<c>{ONE} {USER}"), fmt, "section_start") is None


@pytest.mark.parametrize(
    ("group", "name", "probe", "looks"),
    [
        ("tools", "section_start", ONE, "T1"),
        ("call_id", "prefix", CALL_IDS[0], "T1"),
        ("function", "name_prefix", ONE, "T1"),
        ("arguments", "name_prefix", "zqkeyzq", "T1"),
        ("code", "start", ONE, "T1"),
        ("reasoning", "start", "zqthoughtzq", "R1"),
        ("content", "start", "zqsaidzq", "C1"),
        ("turn", "headers", "zqsaidzq", "frame"),
    ],
)
def test_evidence_is_of_the_phase_that_looks_for_it_and_with_its_probe(
    traced, group, name, probe, looks
):
    fmt = traced[0].replace(**{group: {name: ("<c>",) if group == "turn" else "<c>"}})
    with_it, without = f"{USER} and <c>{probe}", f"{USER} and <c>"
    for second, best in ((with_it, looks), (without, "S")):
        trace = Trace()
        for label, text in (("S", with_it), (looks, second)):
            with trace.phase(label):
                trace.note([{"role": "user", "content": USER}], {}, text)
        found = {made.field: made for made in trace.evidence(fmt)}
        assert found[f"{group}.{name}"].rendering.phase == best


def test_evidence_of_channels_is_of_the_first_phase_with_content(traced):
    fmt, trace = traced[0].replace(channels={"message": "<c>"}), Trace()
    for label, probe in (("S", ""), ("R1", CONTENT), ("T1", CONTENT)):
        with trace.phase(label):
            trace.note([{"role": "user", "content": USER}], {}, f"{USER} and <c>{probe}")
    (made,) = [made for made in trace.evidence(fmt) if made.field == "channels.message"]
    assert made.rendering.phase == "R1"


def test_a_separator_of_arguments_is_seen_between_two(traced):
    first, second = ARGUMENTS
    fmt = traced[0].replace(arguments={"separator": ";"})
    trace = noted(f"{USER} and;{first} one; {second}")
    (made,) = [made for made in trace.evidence(fmt) if made.field == "arguments.separator"]
    assert made.before.endswith("one")


@pytest.mark.parametrize(
    ("message", "label"),
    [
        ({"role": "tool", "content": "a", "name": "f", "tool_call_id": "1"}, "tool('a')"),
        ({"role": "assistant", "content": "", "tool_calls": None}, "assistant()"),
        ({"role": "assistant", "content": "a", "x": "b"}, "assistant('a', x 'b')"),
        ({"role": "assistant", "content": "", "x": "b", "y": 1, "z": 2}, "x and y and z 'b'"),
        ({"role": "user", "content": "a" * 30}, f"user('{'a' * 30}')"),
        ({"role": "user", "content": "a" * 31}, f"user('{'a' * 31}...)"),
        (
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1, "b": "c"}}}] * 2,
            },
            "assistant(null, f(a=1, b='c'), f(a=1, b='c'))",
        ),
        ({"role": "assistant", "content": "", **dict.fromkeys("wxyz", 1)}, "under many keys 1"),
    ],
)
def test_a_message_is_described_in_a_few_words(message, label):
    trace = Trace()
    trace.note([message], {}, "a")
    assert label in trace.renderings[0].label


@pytest.mark.parametrize(
    ("source", "groups"),
    [
        (OWN.reasoning_beside_calls_only, {"turn", "reasoning", "content", "tools"}),
        (SEPARATED, {"turn", "tools", "function", "arguments"}),
    ],
)
def test_evidence_of_a_group_is_of_its_phases(source, groups):
    trace = Trace()
    found = [*trace.evidence(analyze(source, trace=trace))]
    seen = {(made.field.partition(".")[0], made.rendering.phase) for made in found}
    assert {group for group, _ in seen} == groups
    phases = {"turn": "frame", "reasoning": "R", "content": "C"}
    assert not [one for one in seen if not one[1].startswith(phases.get(one[0], "T"))]


def test_separators_are_seen_between_two():
    trace = Trace()
    fmt = analyze(SEPARATED, trace=trace)
    assert (fmt.tools.separator, fmt.arguments.separator) == ("|", "^")
    found = {made.field: made for made in trace.evidence(fmt)}
    for group, two in (("tools", FUNCTIONS), ("arguments", ARGUMENTS)):
        made = found[f"{group}.separator"]
        assert two[0] in made.before
        assert two[1] in made.after
    assert found["tools.separator"].before.endswith("</do>")


@pytest.mark.parametrize(
    ("whole", "two", "places"),
    [
        ("<{}><p<", None, [4]),
        ("<{}<ap<", None, [6]),
        ("{}<pa<", None, [2]),
        ("p<{}<p{}<", None, [4]),
        ("p<", None, [1]),
        ("p<aa<p", None, [1]),
        ("{}p", None, []),
        ("{} <p", None, []),  # text inserted by the probes
        ("<{}p<q", "pq", [4]),
        ("p<{}p<<q<", "pq", [6]),
        ("p<q", "pq", [1]),
        ("<{}p<", "pq", []),
        ("<{}q<p", "pq", []),
    ],
)
def test_the_place_nearest_to_a_probe(whole, two, places):
    """The user's message replaces "{}", and offsets count these two characters."""
    text = whole.replace("{}", USER)
    counted = [
        at - (len(USER) - 2) * text.count(USER, 0, at)
        for at in _places(Rendering("", (), text), "<", "p", two)
    ]
    assert counted == places


def test_evidence_has_some_context():
    long = "ab" * CONTEXT
    made = _seen("turn.ends", "<>", Rendering("", (), f"{long}<>{long}"), len(long))
    assert (made.before, made.after) == (long[-CONTEXT:], long[:CONTEXT])


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (assistant("", calls=[call(0, {})]), f"assistant({FUNCTIONS[0]}())"),
        ({"role": "a", "content": "b", "c": 1, "d": 1, "e": 1}, "a('b', c and d and e 1)"),
        ({"role": "a", "content": "", "c": 1, "d": 1, "e": 1, "f": 1}, "a(under many keys 1)"),
        ({"role": "tool", "content": "x", "tool_call_id": "1", "name": "y"}, "tool('x')"),
    ],
)
def test_a_message_in_words(message, words):
    assert _described(message) == words
