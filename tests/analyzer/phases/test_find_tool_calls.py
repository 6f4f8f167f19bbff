"""Tests of styles of messages with calls, and of issues without rendered calls."""

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate, analyze, parse
from deltaparse.analyzer.phases.call_texts import ToolsFinding
from deltaparse.analyzer.phases.find_tool_calls import not_understood, showing_calls
from deltaparse.analyzer.probes import CONTENT, FUNCTIONS, TOOLS, user
from deltaparse.analyzer.renderer import Renderer

from ...strategies.templates import OWN

PROMPT = "{% if add_generation_prompt %}<assistant>{% endif %}"
CALLS = "{% for c in m.tool_calls or [] %}[{{ c.function.name }}]{% endfor %}"
PLAIN = "<{{ m.role }}>{{ m.content }}</{{ m.role }}>"


def turns(body: str) -> str:
    return "{% for m in messages %}" + body + "{% endfor %}" + PROMPT


@pytest.mark.parametrize(
    ("condition", "content"),
    [("m.content is none", None), ("m.content", CONTENT), ("m.content == ''", "")],
)
def test_style_is_the_first_with_rendered_calls(condition, content):
    source = turns(PLAIN + "{% if " + condition + " %}" + CALLS + "{% endif %}")
    style = showing_calls(Renderer(ChatTemplate(source))).settings.style
    assert style.content == content


@pytest.mark.parametrize(
    ("start", "ids"),
    [
        ("call_", "call_{id}"),
        ("functions.", "functions.{name}:{at}"),
        ("call_0_", "call_{at}_{id}"),
    ],
)
def test_style_has_the_ids_of_the_template(start, ids):
    condition = "m.tool_calls and m.tool_calls[0].id.startswith('" + start + "')"
    source = turns(PLAIN + "{% if " + condition + " %}" + CALLS + "{% endif %}")
    assert showing_calls(Renderer(ChatTemplate(source))).settings.style.ids == ids


def test_template_without_tool_calls_key_is_not_rendered():
    render = Renderer(ChatTemplate(turns(PLAIN)))
    before = render.trace.rendered.copy()
    assert showing_calls(render) is render
    assert render.trace.rendered == before


def test_a_template_that_shows_one_of_the_tools_does_not_support_them():
    shown = "{% if tools %}{{ tools[0] | tojson }}{% endif %}"
    every = "{% if tools %}{{ tools | tojson }}{% endif %}"
    assert not analyze(shown + turns(PLAIN)).tools.supports_tools
    assert analyze(every + turns(PLAIN)).tools.supports_tools
    told = "{{ tools | tojson if tools and m.role == 'system' }}</"
    assert analyze(turns(PLAIN.replace("</", told))).tools.supports_tools


def test_refused_or_unread_tools_are_unsupported():
    refused = analyze("{{ raise_exception('no') if tools }}" + turns(PLAIN))
    assert not refused.tools.supports_tools
    assert analyze(turns(PLAIN)).issues == ()


def issue_of_calls(source: str) -> str:
    (issue,) = [issue for issue in analyze(source).issues if "tool calls" in issue]
    return issue


@pytest.mark.parametrize("space", ["", "\n"])
def test_calls_outside_of_the_turn_are_reported(space):
    calls = "{% if not m.content %}" + CALLS + "{% endif %}"
    source = turns(calls + PLAIN.replace(">{{ m.content", ">" + space + "{{ m.content"))
    issue = issue_of_calls(source.replace("<assistant>", "<assistant>" + space))
    assert "outside of the assistant's turn" in issue
    assert "begins with '<assistant>'" in issue


def test_calls_read_but_not_rendered_are_reported():
    issue = issue_of_calls(turns(PLAIN + "{{ m.tool_calls | length if m.tool_calls }}"))
    assert "it reads the tool_calls of a message, but does not render them" in issue


SCHEMAS = (
    "{% for t in tools or [] %}"
    "{% for k, v in t.function.parameters.properties.items() %}SHOWN{% endfor %}{% endfor %}"
)


@pytest.mark.parametrize(
    "shown",
    [
        "{{ v.default | tojson }}",
        "{{ v.enum[0] | upper ~ v.examples[0] }}",
        "{{ t.function.returns.type ~ t.function.strict | tojson }}",
        "{{ v['items'].type ~ v.title | tojson }}",
    ],
)
def test_template_may_require_all_members_of_tools(shown):
    calls = "{% for c in m.tool_calls or [] %}<f>{{ c.function | tojson }}</f>{% endfor %}"
    source = SCHEMAS.replace("SHOWN", shown) + turns(PLAIN.replace("</", calls + "</"))
    assert Renderer(ChatTemplate(source))([user()], tools=TOOLS) is None
    assert analyze(source).verified


def test_calls_are_searched_after_the_user_message():
    shown = "{% if m.role == 'assistant' %}" + PLAIN + CALLS + "{% endif %}"
    render = Renderer(ChatTemplate(turns(shown)))
    assert showing_calls(render) is render


def test_a_template_that_takes_tools_is_given_them_as_they_are():
    render = Renderer(ChatTemplate("{{ tools | tojson if tools }}" + turns(PLAIN + CALLS)))
    assert showing_calls(render)([user()], tools=TOOLS) == render([user()], tools=TOOLS)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (SCHEMAS.replace("SHOWN", "{{ t.some.thing }}"), "refuses tools: the chat template fails"),
        ("{{ raise_exception('say please') if tools }}", "refuses tools: say please"),
        (
            "{{ raise_exception(tools[0].function | join(' ')) if tools }}",
            "refuses tools: name description parameters;",
        ),
        (
            (
                "{% if messages[-1].content == '' and messages[-1].tool_calls %}"
                "{{ raise_exception('say please') }}{% endif %}"
            ),
            "refuses calls: say please",
        ),
    ],
)
def test_refusal_is_reported_with_its_message(source, words):
    calls = "{% for c in m.tool_calls or [] %}<f>{{ c.function | tojson }}</f>{% endfor %}"
    if "tool_calls" in source:
        calls = ""
    assert f": it {words}" in issue_of_calls(source + turns(PLAIN.replace("</", calls + "</")))


def test_issue_quotes_a_misunderstood_call():
    lines = "{% for c in m.tool_calls or [] %}NAME with "
    lines += "{{ c.function.arguments.items() | first | join(' as ') }}"
    inside = PLAIN.replace("</", lines + "{% endfor %}</")
    behind = PLAIN + lines + "{% endfor %}"
    name = "{{ c.function.name }}"
    assert ", 'NAME with KEY as VALUE': " in issue_of_calls(turns(inside.replace("NAME", name)))
    assert "not understood: describe" in issue_of_calls(turns(behind.replace("NAME", name)))
    assert "not understood: describe" in not_understood(ToolsFinding()).issues[0]


def test_tools_are_supported_even_if_calls_are_not_understood():
    call = '<c>{"name": "{{ c.function.name }}", "arguments": 1}</c>'
    calls = "{% for c in m.tool_calls or [] %}" + call + "{% endfor %}"
    fmt = analyze("{{ tools | tojson if tools }}" + turns(PLAIN.replace("</", calls + "</")))
    assert "arguments were not found" in fmt.issues[0]
    assert fmt.tools.supports_tools


ANSWERED = (
    "{% if m.tool_calls and loop.last %}{{ raise_exception('results must follow') }}{% endif %}"
)
NO_END = "the start of the result is unknown"


@pytest.mark.parametrize(
    ("end", "returned", "issue"),
    [
        ("", "<tool>", ""),
        ("<stop>", "tool: ", ""),
        ("", "<tool {{ messages[loop.index0 - 1].tool_calls[0].function.name }}>", NO_END),
    ],
)
def test_calls_that_must_be_answered_end_before_the_result(end, returned, issue):
    """They end before a result without calls would begin, or at the turn end."""
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


HEADER = "<|m|>{{ m.role }}<|to|>NAME<|c|>"
OTHER = "<|m|>{{ m.role }}<|c|>{{ m.content }}<|e|>"


def messages(header=HEADER, of_calls=HEADER, other=OTHER, prompt="<|m|>assistant"):
    """Return a template with messages in turns, each with a recipient in its header."""
    tags = "<f={{ c.function.name }}>{% for k, v in c.function.arguments.items() %}"
    tags += "<a={{ k }}>{{ v if v is string else v | tojson }}</a>{% endfor %}</f>"
    thought = header.replace("NAME", "thoughts") + "{{ m.reasoning_content }}<|e|>"
    said = header.replace("NAME", "user") + "{{ m.content }}<|e|>"
    called = of_calls.replace("NAME", "{{ c.function.name }}") + tags + "<|e|>"
    turn = "{% if m.reasoning_content %}" + thought + "{% endif %}{% if m.content %}" + said
    turn += "{% endif %}{% for c in m.tool_calls or [] %}" + called + "{% endfor %}"
    source = turns("{% if m.role == 'assistant' %}" + turn + "{% else %}" + other + "{% endif %}")
    return "{% if tools %}{{ tools | tojson }}{% endif %}" + source.replace("<assistant>", prompt)


@pytest.mark.parametrize(
    "header", [HEADER, HEADER.replace("<|to|>", "{{ '\\n' }}<|to|>")], ids=["alike", "space"]
)
def test_a_call_in_a_message_whose_header_names_the_function_too(header):
    fmt = analyze(messages(header))
    assert fmt.issues == ()
    assert (fmt.channels.readers, fmt.function.name_prefix) == (("user",), "<f=")
    made = parse("<|to|>g<|c|><f=g><a=b>c</a></f><|e|>", fmt, finish_reason="stop").tool_calls
    assert [(call.name, call.arguments) for call in made] == [("g", '{"b": "c"}')]


@pytest.mark.parametrize(
    "source",
    [
        messages(of_calls=HEADER.replace("<|to|>", "<|by|>")),
        messages("<|to|>NAME<|c|>", "<|to|>NAME<|c|>", "{{ m.content }}", ""),
    ],
)
def test_call_with_a_different_or_missing_header_is_unverified(source):
    fmt = analyze(source)
    assert fmt.channels.readers == ()
    assert not fmt.verified


BEFORE_END = ("m.reasoning_content }}", "m.reasoning_content }}{{ '\\n' }}")
AT_BEGIN = ("{% if add_generation_prompt %}", "'assistant' %}")


@pytest.mark.parametrize(
    "changes",
    [
        [BEFORE_END],
        [(there, there + "{{ '\\n' }}") for there in AT_BEGIN],
        [("assistant{%", "assistant{{ '\\n' }}{%"), ("{{ m.role }}", "{{ m.role }}{{ '\\n' }}")],
    ],
    ids=["before the end", "before the header", "behind the role"],
)
def test_whitespace_around_a_call_header_is_removed(changes):
    source = messages()
    for there, spaced in changes:
        assert there in source
        source = source.replace(there, spaced)
    fmt = analyze(source)
    assert fmt.verified
    assert (fmt.function.name_prefix, fmt.tools.separator) == ("<f=", "")


def test_call_after_another_header_end_is_unverified():
    fmt = analyze(messages(of_calls=HEADER.replace("<|c|>", "<|d|>")))
    assert not fmt.verified
    assert FUNCTIONS[0] not in fmt.to_json().partition('"issues"')[0]


def test_issue_for_templates_without_rendered_calls():
    turns = (
        "{{ tools | tojson if tools }}{% for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}"
        "MORE<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )
    reads = turns.replace("MORE", "{% if m.tool_calls %}!{% endif %}")
    for source, words in (
        (turns.replace("MORE", ""), "never reads the tool_calls of a message"),
        (reads, "reads the tool_calls of a message, but does not render them"),
        (reads.replace("{{ tools | tojson if tools }}", ""), "but does not render them"),
    ):
        [issue] = analyze(source).issues
        assert words in issue
        assert "describe them with fmt.replace(" in issue
    odd = "{% for c in m.tool_calls or [] %}{{ c.function.name }} {{ c.id }} "
    odd += "{{ c.function.arguments | tojson }}{% endfor %}"
    assert any("NAME ID {" in issue for issue in analyze(turns.replace("MORE", odd)).issues)


def test_end_of_call_only_turns_is_a_turn_end():
    fmt = analyze(OWN.calls_with_an_end_of_their_own)
    assert fmt.verified
    assert fmt.tools.section_end == ""
    assert "<|/msg|><|wait|>\n" in fmt.turn.ends
