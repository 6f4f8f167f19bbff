"""Shapes of calls that models write, each in a template made for this test, derived and proved."""

from __future__ import annotations

import pytest

from deltaparse import analyze

HEAD = (
    "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}"
    "{% if m.role == 'user' %}{{ '<u>' + m.content + '</u>' }}"
    "{% elif m.role == 'tool' %}{{ '<r>' + m.content + '</r>' }}"
    "{% elif m.role == 'assistant' %}{{ '<a>' }}"
)
TAIL = "{{ '</a>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<a>' }}{% endif %}"
CONTENT = "{% if m.content %}{{ m.content }}{% endif %}"
EACH = "{% for c in m.tool_calls %}"
ITEM = "{% for k, v in c.function.arguments.items() %}"
NEXT = "{% if not loop.last %}{{ ', ' }}{% endif %}{% endfor %}"
PYTHON_CALL = (
    "{{ c.function.name + '(' }}" + ITEM + "{{ k + '=' + (v | tojson) }}" + NEXT + "{{ ')' }}"
)


def template(calls, content=CONTENT):
    return HEAD + content + "{% if m.tool_calls %}" + calls + "{% endif %}" + TAIL


SHAPES = {
    "the marker says the type": (
        "TAG_WITH_TAGGED",
        template(
            "{{ '\n\n<|X|calls>\n' }}"
            + EACH
            + """{{ '<|X|invoke name="' + c.function.name + '">\n' }}"""
            + ITEM
            + """{% if v is string %}{{ '<|X|arg name="' + k + '" string="true">' + v }}"""
            + """{% else %}{{ '<|X|arg name="' + k + '" string="false">' + (v | tojson) }}"""
            + "{% endif %}"
            + "{{ '</|X|arg>\n' }}{% endfor %}{{ '</|X|invoke>\n' }}{% endfor %}{{ '</|X|calls>' }}"
        ),
    ),
    "a list of Python calls in markers": (
        "PYTHONIC",
        template("{{ '<|do|>[' }}" + EACH + PYTHON_CALL + NEXT + "{{ ']<|/do|>' }}"),
    ),
    "Python calls, one a line": (
        "PYTHONIC",
        template(
            "{{ '<calls>' }}"
            + EACH
            + PYTHON_CALL
            + "{% if not loop.last %}{{ '\n' }}{% endif %}{% endfor %}{{ '</calls>' }}"
        ),
    ),
    "Python calls in no markers": (
        "PYTHONIC",
        template(
            "{{ '[' }}" + EACH + PYTHON_CALL + NEXT + "{{ ']' }}",
            "{% if m.content and not m.tool_calls %}{{ m.content }}{% endif %}",
        ),
    ),
    "a dictionary as Python writes it": (
        "JSON_NATIVE",
        template(
            EACH + "{{ '<call>' ~ {'name': c.function.name, 'arguments': c.function.arguments} }}"
            "{{ '</call>' }}{% endfor %}"
        ),
    ),
    "a line each for name and arguments": (
        "TAG_WITH_JSON",
        template(
            EACH + "{{ '\nAction: ' + c.function.name + '\nAction Input: ' }}"
            "{{ (c.function.arguments | tojson) + '\n' }}{% endfor %}"
        ),
    ),
    "id and name in one tag": (
        "TAG_WITH_JSON",
        template(
            EACH + """{{ '<call id="' + c.id + '" name="' + c.function.name + '">' }}"""
            "{{ (c.function.arguments | tojson) + '</call>' }}{% endfor %}"
        ),
    ),
    "a list of JSON calls in no markers": (
        "JSON_NATIVE",
        template(
            "{{ m.tool_calls | map(attribute='function') | list | tojson }}",
            "{% if m.content and not m.tool_calls %}{{ m.content }}{% endif %}",
        ),
    ),
    "a template that wants a system message": (
        "JSON_NATIVE",
        "{% if messages[0].role != 'system' %}{{ raise_exception('system first') }}{% endif %}"
        + template(
            EACH + "{% set made = {'name': c.function.name, 'arguments': c.function.arguments} %}"
            "{{ '<c>' + (made | tojson) + '</c>' }}{% endfor %}"
        ),
    ),
    "one call at most": (
        "TAG_WITH_JSON",
        template(
            "{% if m.tool_calls | length > 1 %}{{ raise_exception('one call') }}{% endif %}"
            + EACH
            + "{{ '<c>' + c.function.name + '<j>' + (c.function.arguments | tojson) }}{% endfor %}"
        ),
    ),
    "the id behind the arguments": (
        "TAG_WITH_JSON",
        template(
            EACH + "{{ '<call>' + c.function.name + '<args>' + (c.function.arguments | tojson) }}"
            "{{ '<id>' + c.id + '</call>' }}{% endfor %}"
        ),
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_is_derived_and_proved(shape):
    family, source = SHAPES[shape]
    fmt = analyze(source)
    assert fmt.issues == ()
    assert fmt.verified
    assert fmt.tools.format == family


def test_objects_with_bare_keys_and_quotes_of_their_own():
    source = template(
        EACH
        + "{{ '<do>call:' + c.function.name + '{' }}"
        + ITEM
        + "{{ k + ':' }}{{ '<q>' + v + '<q>' if v is string else v | tojson }}"
        + "{% if not loop.last %}{{ ',' }}{% endif %}{% endfor %}{{ '}</do>' }}{% endfor %}"
    )
    fmt = analyze(source)
    assert fmt.verified, fmt.issues
    assert fmt.arguments.quote == "<q>"
    assert (fmt.tools.per_call_start, fmt.function.name_prefix) == ("<do>", "call:")


def test_reasoning_under_a_key_of_its_own():
    source = template(
        EACH
        + "{{ '<c>' + ({'name': c.function.name, 'arguments': c.function.arguments} | tojson) }}"
        "{{ '</c>' }}{% endfor %}",
        "{% if m.tool_plan %}{{ '<plan>' + m.tool_plan + '</plan>' }}{% endif %}" + CONTENT,
    )
    fmt = analyze(source)
    assert fmt.verified, fmt.issues
    assert (fmt.reasoning.start, fmt.reasoning.end) == ("<plan>", "</plan>")
