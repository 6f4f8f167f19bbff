"""In which style of messages a template shows calls, and what is said where it shows none."""

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate, analyze, parse
from deltaparse.analyzer.phases.tool_calls import showing_calls
from deltaparse.analyzer.probes import CONTENT
from deltaparse.analyzer.renderer import Renderer

PROMPT = "{% if add_generation_prompt %}<assistant>{% endif %}"
CALLS = "{% for c in m.tool_calls or [] %}[{{ c.function.name }}]{% endfor %}"
PLAIN = "<{{ m.role }}>{{ m.content }}</{{ m.role }}>"


def turns(body: str) -> str:
    return "{% for m in messages %}" + body + "{% endfor %}" + PROMPT


@pytest.mark.parametrize(
    ("condition", "content"),
    [("m.content is none", None), ("m.content", CONTENT), ("m.content == ''", "")],
)
def test_the_style_is_the_one_in_which_calls_are_shown(condition, content):
    source = turns(PLAIN + "{% if " + condition + " %}" + CALLS + "{% endif %}")
    style = showing_calls(Renderer(ChatTemplate(source))).style
    assert style.content == content


def test_a_template_that_shows_one_of_the_tools_does_not_support_them():
    shown = "{% if tools %}{{ tools[0] | tojson }}{% endif %}"
    every = "{% if tools %}{{ tools | tojson }}{% endif %}"
    assert not analyze(shown + turns(PLAIN)).tools.supports_tools
    assert analyze(every + turns(PLAIN)).tools.supports_tools


def test_calls_outside_of_the_turn_are_said_to_be_there():
    source = turns(CALLS + PLAIN)
    (issue,) = [issue for issue in analyze(source).issues if "tool calls" in issue]
    assert "outside of the assistant's turn" in issue
    assert "<assistant>" in issue


ANSWERED = (
    "{% if m.tool_calls and loop.last %}{{ raise_exception('results must follow') }}{% endif %}"
)
NO_END = "nothing says where that begins"


@pytest.mark.parametrize(
    ("end", "returned", "issue"),
    [
        ("", "<tool>", ""),
        ("<stop>", "tool: ", ""),
        ("", "<tool {{ messages[loop.index0 - 1].tool_calls[0].function.name }}>", NO_END),
    ],
)
def test_calls_that_must_be_answered_end_before_the_result(end, returned, issue):
    """Before what begins a result that answers no calls too, or what ends the turn."""
    said = "<assistant>{{ m.content or '' }}{% for c in m.tool_calls or [] %}"
    said += "<f>{{ c.function | tojson }}</f>{% endfor %}{% if not m.tool_calls "
    said += "and (loop.last or loop.nextitem.role != 'tool') %}<stop>{% endif %}"
    turn = "{% if m.role == 'assistant' %}" + said + end + "{% elif m.role == 'tool' %}"
    turn += returned + "{{ m.content }}{% else %}" + PLAIN + "{% endif %}"
    fmt = analyze("{{ tools | tojson }}" + turns(ANSWERED + turn))
    assert fmt.verified is not bool(issue)
    assert issue in "".join(fmt.issues)
    if not issue:
        assert (fmt.tools.per_call_start, fmt.tools.per_call_end) == ("<f>", "</f>")
        assert fmt.tools.supports_parallel_calls


def test_a_result_that_must_answer_calls_begins_as_a_turn_does():
    refuses = (
        "{% if not messages[loop.index0 - 1].tool_calls %}{{ raise_exception('no') }}{% endif %}"
    )
    said = "{% for c in m.tool_calls or [] %}<f>{{ c.function | tojson }}</f>{% endfor %}"
    said += "{{ '<run>' if m.tool_calls else m.content ~ '<stop>' }}"
    tool = "{% elif m.role == 'tool' %}" + refuses + "{{ m.content }}<stop>"
    turn = "<m>{{ m.role }}<c>{% if m.role == 'assistant' %}" + said + tool
    turn += "{% else %}{{ m.content }}<stop>{% endif %}"
    source = turns(ANSWERED + turn).replace("<assistant>", "<m>assistant<c>")
    fmt = analyze("{{ tools | tojson if tools }}" + source)
    assert fmt.verified
    assert (fmt.tools.section_start, fmt.tools.per_call_start) == ("", "<f>")
    assert parse('<f>{"name": "f", "arguments": {}}</f><run>', fmt).tool_calls[0].complete


def test_a_call_in_a_message_whose_header_names_the_function_too():
    header = "<|m|>{{ m.role }}<|to|>NAME<|c|>"
    tags = "<f={{ c.function.name }}>{% for k, v in c.function.arguments.items() %}"
    tags += "<a={{ k }}>{{ v if v is string else v | tojson }}</a>{% endfor %}</f>"
    parts = [
        ("{% if m.reasoning_content %}", "thoughts", "{{ m.reasoning_content }}", "{% endif %}"),
        ("{% if m.content %}", "user", "{{ m.content }}", "{% endif %}"),
        ("{% for c in m.tool_calls or [] %}", "{{ c.function.name }}", tags, "{% endfor %}"),
    ]
    turn = "".join(
        first + header.replace("NAME", name) + body + "<|e|>" + last
        for first, name, body, last in parts
    )
    other = "<|m|>{{ m.role }}<|c|>{{ m.content }}<|e|>"
    source = "{% if tools %}{{ tools | tojson }}{% endif %}" + turns(
        "{% if m.role == 'assistant' %}" + turn + "{% else %}" + other + "{% endif %}"
    ).replace("<assistant>", "<|m|>assistant")
    fmt = analyze(source)
    assert fmt.issues == ()
    assert (fmt.channels.readers, fmt.function.name_prefix) == (("user",), "<f=")
    made = parse("<|to|>g<|c|><f=g><a=b>c</a></f><|e|>", fmt, finish_reason="stop").tool_calls
    assert [(call.name, call.arguments) for call in made] == [("g", '{"b": "c"}')]
