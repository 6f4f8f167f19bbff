"""Tests of the complete analysis: from a template to a format that parses its renderings."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaparse import (
    ChatTemplate,
    FormatError,
    ReasoningFormat,
    TemplateError,
    UsageError,
    WireFormat,
    analyze,
    get_format,
    parse,
)
from deltaparse.analyzer import Trace, analysis
from deltaparse.analyzer.analysis import prove_format
from deltaparse.analyzer.phases.find_reasoning import ReasoningFinding
from deltaparse.analyzer.probes import PROBE_TEXTS
from deltaparse.analyzer.proof.proof import Proof
from deltaparse.analyzer.renderer import Renderer
from deltaparse.analyzer.template.budget import Limits

from ..strategies.templates import OWN, template_of
from ..strategies.wire_json_and_tags import TOOLS as WIRE_TOOLS
from ..strategies.wire_json_and_tags import formats, turns, write

TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]


@settings(max_examples=30)
@given(fmt=formats(), data=st.data())
def test_template_with_random_markers_is_verified(fmt, data):
    """Check that turns in the syntax of a template with random markers are parsed."""
    found = analyze(template_of(fmt))
    assert found.issues == ()
    assert found.verified
    turn = data.draw(turns(fmt))
    wire = write(fmt, turn, ["abc123abc", "bcd234bcd", "cde345cde"])
    message = parse(wire + fmt.turn.ends[0], found, tools=WIRE_TOOLS)
    assert message.content == turn.content
    assert message.reasoning_content == turn.reasoning
    assert [(call.name, json.loads(call.arguments)) for call in message.tool_calls] == list(
        turn.calls
    )
    if fmt.tools.id_field or fmt.call_id.position != "NONE":
        assert [call.id for call in message.tool_calls] == ["abc123abc", "bcd234bcd", "cde345cde"][
            : len(turn.calls)
        ]


def test_forced_reasoning_is_read_after_the_prompt():
    template = ChatTemplate(OWN.reasoning_forced_closed)
    fmt = analyze(template)
    messages = [{"role": "user", "content": "What is [mind]?"}]
    deep = template.render(messages, add_generation_prompt=True, deep=True)
    quick = template.render(messages, add_generation_prompt=True)
    assert parse("hm[/mind]4", fmt, prompt=deep).reasoning_content == "hm"
    assert parse("hm", fmt, prompt=quick).content == "hm"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{{ raise_exception('no') }}", ": no"),
        ("{{ raise_exception('no ' ~ (tools or []) | length) }}", ": no 0"),  # the first
        ("the same for all", ": its texts are not in the rendering"),
        ("{% for m in messages %}{{ m.x.y }}{% endfor %}", "'x'"),
    ],
)
def test_a_template_that_renders_no_conversation(source, words):
    (issue,) = analyze(source).issues
    assert issue.startswith("the template renders no simple conversation: ")
    assert words in issue
    assert analyze(source) == WireFormat(issues=(issue,))


def test_trace_has_the_proved_turns():
    trace = Trace()
    fmt = analyze(OWN.reasoning_beside_calls_only, trace=trace)
    assert {one.turn.label for one in trace.shown} >= set(trace.proved) > set()
    assert all(trace.conversations[part] for part in ("content", "reasoning", "calls"))
    assert fmt.verified


def test_invalid_format_is_an_issue(monkeypatch):
    def contradicts(*_):
        raise FormatError("an end is its own start")

    monkeypatch.setattr(analysis, "_derived", contradicts)
    (issue,) = analyze(OWN.json_list_behind_words, trace=Trace()).issues
    assert issue == "the rendered markers do not form a valid format: an end is its own start"


def test_a_template_that_renders_no_prompt():
    refuses = "{{ raise_exception('no') if add_generation_prompt }}"
    fmt = analyze(refuses + OWN.json_list_behind_words)
    assert fmt.turn.generation_prompt == ""
    assert any("renders no generation prompt" in issue for issue in fmt.issues)


def test_it_is_a_pure_function_of_the_template():
    assert analyze(OWN.json_list_behind_words) is analyze(ChatTemplate(OWN.json_list_behind_words))
    assert "</s>" in analyze(ChatTemplate(OWN.json_list_behind_words, eos_token="</s>")).turn.ends


def test_argument_must_be_a_template():
    with pytest.raises(TemplateError):
        analyze("{% for %}")
    with pytest.raises(UsageError, match="takes a ChatTemplate or its source, not NoneType"):
        analyze(None)


def test_analyze_accepts_a_path_or_a_tokenizer(tmp_path):
    source = OWN.json_list_behind_words
    path = tmp_path / "chat_template.jinja"
    path.write_text(source, encoding="utf-8")
    tokenizer = SimpleNamespace(chat_template=source, bos_token="", eos_token="")
    assert analyze(path) == analyze(tokenizer) == analyze(source)


def test_source_without_whitespace_is_accepted():
    source = "{%for(m)in(messages)%}<{{m.role}}>{{m.content}}</{{m.role}}>{%endfor%}"
    assert not source.split()[1:]
    assert analyze(source).turn.ends == ("</assistant>",)


ENDED = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (ENDED, "pass it, ChatTemplate(source, eos_token=...)"),
        ("{% for m in messages %}{{ m.content }}{% endfor %}", "turn={'ends': (...,)}"),
    ],
)
def test_issue_for_a_turn_without_end_names_the_fix(source, words):
    (issue,) = analyze(source).issues
    assert words in issue
    assert analyze(ChatTemplate(source, eos_token="</s>")).verified


@pytest.mark.parametrize("text", ["models/Qwen3", "model.gguf", "Qwen/Qwen3-8B", "hermes"])
def test_a_path_or_a_name_is_no_source(text):
    with pytest.raises(UsageError, match=r"pass a Path.*get_format"):
        analyze(text)


def test_cached_format_has_the_same_limits_and_switches():
    source = OWN.json_list_behind_words
    assert not analyze(ChatTemplate(source, limits=Limits(text=20))).verified
    assert analyze(ChatTemplate(source)).verified
    shown = "{% if deep is true %}<deep>{% endif %}"
    switched = "{% for message in messages %}<{{ message.role }}>{{ message.content }}</end>"
    switched += "{% endfor %}{% if add_generation_prompt %}<assistant>" + shown + "{% endif %}"
    given = (1, True, 1, [1])
    prompts = [analyze(switched, deep=deep).turn.generation_prompt for deep in given]
    assert prompts == ["<assistant>", "<assistant><deep>", "<assistant>", "<assistant>"]


EACH = (
    "{% for call in message.tool_calls or [] %}"
    "{{ BEFORE ~ '[[ask> ' }}{{ call.function | tojson }}{{ ' <ask]]' }}{% endfor %}"
)


@pytest.mark.parametrize("before", ["", "\n"])
def test_markers_and_separators_of_calls_are_found(before):
    shown = EACH.replace("BEFORE", repr(before))
    source = (
        "{% for message in messages %}<{{ message.role }}>{{ message.content or '' }}"
        + shown
        + "</end>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    tools = analyze(source).tools
    assert (tools.per_call_start, tools.per_call_end) == ("[[ask> ", " <ask]]")
    assert (tools.separator, tools.content_separator) == (before, before)
    assert (tools.section_start, tools.section_end) == ("", "")


def test_a_template_that_burns_is_refused_after_two_tries():
    burns = "{% for a in range(10**5) %}{% for b in range(10**5) %}{% endfor %}{% endfor %}"
    template = ChatTemplate("{{ messages[0].content }}" + burns, limits=Limits(seconds=0.2))
    fmt = analyze(template)
    assert "processor time" in fmt.issues[0]


def test_issue_names_the_reason_for_a_refusal():
    first = "{{ raise_exception(messages | length ~ (' and tools' if tools else '')) }}"
    for source, why in ((first, "1"), ("the same", "its texts are not in the rendering")):
        found = analyze(source).issues
        assert found == (f"the template renders no simple conversation: {why}",)


def test_invalid_format_proves_no_other_format(monkeypatch):
    def fails(_):
        raise FormatError("none")

    monkeypatch.setattr(analysis, "_read", fails)
    (why,) = prove_format(OWN.json_in_tags, WireFormat(), Trace())
    assert why == "the rendered markers do not form a valid format: none"


def test_a_format_is_proved_on_a_template():
    """The proof does not depend on the result of the analysis."""
    source = OWN.json_in_tags
    trace = Trace()
    assert prove_format(source, analyze(source), trace) == ()
    assert {shown.turn.label for shown in trace.shown} >= {"a call", "content"}
    hermes = get_format("hermes")
    assert "content did not round-trip" in prove_format(source, hermes, Trace())[0]
    plain = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>{% endfor %}"
    plain += "{% if add_generation_prompt %}<assistant>{% endif %}"
    calls = {"format": "JSON_NATIVE", "name_is_key": True, "per_call_start": "<c>"}
    marked = analyze(plain).replace(tools=calls)
    (why,) = prove_format(plain, marked, Trace())
    assert why == "the template renders no calls, so the calls of the format are not proved"
    assert prove_format(plain, analyze(plain), Trace()) == ()
    why, nothing = prove_format(plain, marked.replace(turn={"ends": ("</t>",)}), Trace())
    assert "content did not round-trip" in why
    assert nothing == "no rendered turn was parsed back, so the format is not proved"
    (why,) = prove_format("{{ raise_exception('no') }}", hermes, Trace())
    assert why == "the template renders no simple conversation: no"
    roles = "{% for m in messages %}{{ m.role }}{% endfor %}"
    assert prove_format(roles, WireFormat(), Trace()) != ()


def test_a_template_of_thousands_of_words_is_analysed():
    words = "".join(f"{{% if v{at} == 'w{at}' %}}x{{% endif %}}" for at in range(400))
    assert analyze(words + OWN.json_list_behind_words).verified


def test_unknown_switch_is_refused_with_the_known_switches():
    with pytest.raises(UsageError, match="reads no switch"):
        analyze("{{ messages[0].content }}", nope=True)
    with pytest.raises(UsageError, match=r"'nope': it reads deep$"):
        analyze("{% if deep %}x{% endif %}{{ messages[0].content }}", nope=True)


CHANNELS = (
    "{% for m in messages %}{% if m.role == 'assistant' %}{% if m.reasoning_content %}"
    "<|from|>me<|in|>think<|is|>{{ m.reasoning_content }}<|end|>{% endif %}"
    "<|from|>me<|in|>say<|is|>{{ m.content }}<|end|>"
    "{% else %}<|from|>{{ m.role }}<|is|>{{ m.content }}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|from|>me{% endif %}"
)


def test_format_is_suggested_if_no_calls_were_found(monkeypatch):
    monkeypatch.setattr(analysis, "suggested_format", lambda render: "hermes")
    plain = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}"
    assert analyze(plain, trace=Trace()).suggested == "hermes"
    for accepts in (True, False):
        fmt = analyze(plain, trace=Trace(), accept_suggestion=accepts)
        assert (fmt.tools == get_format("hermes").tools) is accepts
    assert analyze(OWN.reasoning_beside_calls_only, trace=Trace()).suggested == ""
    assert analyze(OWN.channels, trace=Trace()).suggested == ""
    fmt = analyze(CHANNELS, trace=Trace())
    assert fmt.derived.has_channels
    assert (fmt.tools.format, fmt.suggested) == ("NONE", "")


def test_settings_that_change_no_turn_are_not_proved_as_found(monkeypatch):
    given = []
    prove = analysis.prove

    def noted(turns, reasoning, fmt, chosen, others, lost):
        given.append(others)
        return prove(turns, reasoning, fmt, chosen, others, lost)

    monkeypatch.setattr(analysis, "prove", noted)
    analyze(OWN.reasoning_asked_for, trace=Trace())
    analyze(OWN.reasoning_beside_calls_only, trace=Trace())
    none, some = given
    assert none == []
    assert some
    assert all(one.matters for one in some)


JSON_CALLS = {
    "format": "JSON_NATIVE",
    "section_start": "<c>",
    "name_field": "name",
    "arguments_field": "arguments",
}
BY_TAGS = {"mode": "TAG_BASED", "start": "<t>", "end": "</t>"}
NOTHING = "no rendered turn was parsed back, so the format is not proved"
UNSHOWN = "the template reads reasoning and thinking of a message, but no rendering shows it"


@pytest.mark.parametrize(
    ("fmt", "proof", "known", "doubts"),
    [
        ({}, {}, False, [UNSHOWN]),
        ({}, {"labels": []}, False, [NOTHING, UNSHOWN]),
        ({}, {}, True, []),
        ({}, {"reasoning": {"default": 1}}, False, []),
        ({"reasoning": BY_TAGS}, {}, False, []),
        ({"tools": JSON_CALLS}, {}, True, [NOTHING]),
        ({"tools": JSON_CALLS}, {"calls": {"default": 1}}, True, []),
    ],
)
def test_unproved_reasoning_or_calls_are_an_issue(fmt, proof, known, doubts):
    render = Renderer(ChatTemplate("{{ messages[0].thinking or messages[0].reasoning }}"))
    came = Proof(**({"labels": ["content"]} | proof))
    assert [*analysis._unproved(render, WireFormat().replace(**fmt), came, known=known)] == doubts


def test_empty_proof_is_an_issue():
    given = Renderer(ChatTemplate(OWN.json_list_behind_words)), WireFormat(), Proof()
    found = analysis._doubts(*given, ReasoningFinding(ReasoningFormat()))
    assert [*found] == [NOTHING, analysis.NO_END]


def test_incomplete_analysis_is_an_issue():
    render = Renderer(ChatTemplate(OWN.json_list_behind_words))
    render._left[0] = 0.0
    given = render, WireFormat(), Proof(labels=["content"])
    assert analysis.TOO_LONG in analysis._doubts(*given, ReasoningFinding(ReasoningFormat()))


@pytest.mark.parametrize("probe", PROBE_TEXTS)
def test_a_probe_in_a_format_is_a_doubt(probe):
    render = Renderer(ChatTemplate(OWN.json_list_behind_words))
    given = render, WireFormat().replace(turn={"ends": (f"<{probe}>",)}), Proof(labels=["content"])
    found = ReasoningFinding(ReasoningFormat())
    assert [*analysis._doubts(*given, found)] == [f"the format contains the probe {probe!r}"]


def test_object_content_is_an_issue_if_no_calls_are_shown():
    blocks = "{% for b in m.content.blocks %}<c>{{ b.call }}</c>{% endfor %}"
    turn = "<a>{% if m.content is mapping %}" + blocks + "{% else %}{{ m.content }}{% endif %}"
    calls = "{% for c in m.tool_calls or [] %}<c>{{ c.function | tojson }}</c>{% endfor %}"
    source = (
        "{% for m in messages %}{% if m.role == 'assistant' %}" + turn + "CALLS</a>"
        "{% else %}<u>{{ m.content }}</u>{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<a>{% endif %}"
    )
    words = "the template reads blocks of a content that is an object: calls or other parts"
    [issue] = analyze(source.replace("CALLS", "")).issues
    assert issue.startswith(words)
    [issue] = analyze(source.replace("CALLS", "{{ m.content.asked }}")).issues
    assert issue.startswith(words.replace("blocks", "asked and blocks"))
    assert analyze(source.replace("CALLS", calls)).verified


def test_object_content_is_not_an_issue_with_channels():
    blocks = "{{ m.content.blocks if m.content is mapping else m.content }}"
    fmt = analyze(CHANNELS.replace("{{ m.content }}<|end|>{% else", blocks + "<|end|>{% else"))
    assert (fmt.verified, fmt.derived.has_channels, fmt.tools.format) == (True, True, "NONE")


SIMPLE = (
    "{% for m in messages %}{% if m.role == 'assistant' %}<a>TURN{% else %}<u>{{ m.content }}</u>"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}PROMPT{% endif %}"
)


def test_header_ends_before_reasoning_with_whitespace_in_turns_only():
    turn = "<t>{{ '\n' ~ m.reasoning_content }}</t>{{ m.content }}</a>"
    fmt = analyze(SIMPLE.replace("TURN", turn).replace("PROMPT", "<a><t>"))
    assert (fmt.verified, fmt.turn.headers, fmt.reasoning.start) == (True, ("<a>",), "<t>\n")


def test_end_of_content_excludes_the_end_of_the_turn():
    turn = (
        "{{ '<t>' ~ m.reasoning_content ~ '</t><say>' if m.reasoning_content }}{{ m.content }}"
        "{{ '<end>' if m.reasoning_content and loop.last }}"
        "{{ '<stop>' if loop.last else '<end>\n' }}"
    )
    fmt = analyze(SIMPLE.replace("TURN", turn).replace("PROMPT", "<a>"))
    assert fmt.turn.ends == ("<end>\n", "<stop>")
    assert (fmt.content.start, fmt.content.end) == ("<say>", "")


def test_tokens_around_words_are_found_by_two_function_names():
    call = "<|do|>{{ c.function.name }}<|is|>{{ c.function.arguments | tojson }}"
    call += "<|done|>{{ c.function.name }}<|is|>"
    calls = "{% for c in m.tool_calls or [] %}" + call + "{% endfor %}"
    turn = "{{ m.content or '' }}" + calls + "</a>"
    fmt = analyze(SIMPLE.replace("TURN", turn).replace("PROMPT", "<a>"))
    assert fmt.verified
    assert (fmt.function.name_prefix, fmt.function.close) == ("<|do|>", "<|done|>")


PREFIXED = (
    "{% for c in m.tool_calls or [] %}]<]m[>[<call>]<]m[>[<f>{{ c.function | tojson }}"
    "]<]m[>[</f>]<]m[>[</call>{% endfor %}"
)


@pytest.mark.parametrize(
    "refused",
    [
        "false",
        "(m.tool_calls or []) | length > 1",
        "m.role == 'tool'",
        "m.tool_calls and loop.last",
    ],
)
def test_tokens_before_tags_are_found_despite_refusals(refused):
    refuses = "{{ raise_exception('no') if " + refused + " }}"
    source = "{% for m in messages %}" + refuses + "{{ m.content }}" + PREFIXED + "{% endfor %}"
    render = analysis.with_brackets(Renderer(ChatTemplate(source)))
    assert render.settings.brackets.prefixes == ("]<]m[>[",)


REACT = (
    "{% for m in messages %}{% if m.role == 'assistant' %}"
    "{% if m.reasoning_content %}Thought: {{ m.reasoning_content }}\n{% endif %}"
    "{% for c in m.tool_calls or [] %}Action: {{ c.function.name }}\nAction Input: "
    "{{ c.function.arguments | tojson }}\n{% endfor %}"
    "{% if m.content %}Final Answer: {{ m.content }}\n{% endif %}</s>"
    "{% else %}Question: {{ m.content }}\n{% endif %}{% endfor %}"
)


def test_a_marker_that_a_line_of_text_may_hold_is_not_verified():
    fmt = analyze(ChatTemplate(REACT, eos_token="</s>"))
    assert not fmt.verified
    assert any("containing 'Action:' did not round-trip" in issue for issue in fmt.issues)
    headings = "{% if m.reasoning_content %}**Thinking**\n{{ m.reasoning_content }}\n\n**Answer**\n"
    source = (
        "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' %}"
        + headings
        + "{% endif %}{% endif %}{{ m.content }}</s>{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    fmt = analyze(source)
    assert any("containing '**Thinking**' did not round-trip" in issue for issue in fmt.issues)
