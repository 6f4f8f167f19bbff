"""A chat template with which the command is tried, and tools."""

from __future__ import annotations

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


def tool(name):
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
