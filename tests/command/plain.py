"""Inputs for the command: chat templates, an output, tools."""

from __future__ import annotations

"""Real templates, if available."""

PLAIN = """\
{%- for message in messages -%}
<{{ message.role }}>
{% if message.reasoning_content %}<note>{{ message.reasoning_content }}</note>
{% endif %}{{ message.content or "" }}
{%- for call in message.tool_calls or [] %}

<use>{"tool": "{{ call.function.name }}", "with": {{ call.function.arguments | tojson }}}</use>
{%- endfor %}</{{ message.role }}>
{% endfor %}
{%- if add_generation_prompt %}<assistant>
{% endif %}"""
"""The model's chat template."""

NO_JSON = PLAIN.replace('{"tool": "{{ call.function.name }}", "with": ', "{{ call.function.name }}")
NO_JSON = NO_JSON.replace("{{ call.function.arguments | tojson }}", "")
"""A template with calls that cannot be verified."""

SWITCHED_ON = "{% if not on %}{{ raise_exception('set on') }}{% endif %}" + PLAIN
"""A template that requires a switch."""

OUTPUT = (
    '<note>Où? "Là".</note>\nLet me see.\n<use>{"tool": "add", "with": {"a": [1, 25], '
    '"b": "\\u00e9\\n"}}</use>\n<use>{"tool": "say", "with": {}}</use></assistant>'
)
"""A model output: reasoning, content, two calls."""


def tool(name):
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
