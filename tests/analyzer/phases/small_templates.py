"""Small templates: a header, an answer, an end."""

from __future__ import annotations


def turns(answer, prompt=""):
    return (
        "{% for m in messages %}{% if m.role == 'assistant' %}<me>" + answer + "</me>{% else %}"
        "<you>{{ m.content }}</you>{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<me>" + prompt + "{% endif %}"
    )


CALLS = "{% for c in m.tool_calls or [] %}<c>{{ c.function | tojson }}</c>{% endfor %}"
THOUGHT = "{{ '<t>' ~ m.reasoning_content ~ '</t>' if m.reasoning_content }}"
