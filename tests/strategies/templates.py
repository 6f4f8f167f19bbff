"""Chat templates: one for any format, and the sources and parts of `tests/templates`."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

from deltaparse import ChatTemplate, ReasoningMode, TemplateError

from .wire_json_and_tags import is_unmarked

FOLDER = Path(__file__).parents[1] / "templates"
SOURCES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.jinja"))}
"""The templates of this project by the names of their files."""
OWN = SimpleNamespace(**SOURCES)
"""The same templates as attributes, e.g. `OWN.json_in_tags`."""
TOKEN = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|[^{]+|\{", re.DOTALL)
"""A part of a template: a statement, an expression, or text."""


def compiles(source):
    """Return whether a text is a template."""
    try:
        ChatTemplate(source)
    except TemplateError:
        return False
    return True


def quoted(text):
    """Return a text as a Jinja string."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return "{{ '" + escaped + "' }}"


def template_of(fmt):
    """Return a chat template that renders turns in the format."""
    tools, reasoning, content = fmt.tools, fmt.reasoning, fmt.content
    (header,), (end,) = fmt.turn.headers, fmt.turn.ends
    lines = [
        "{% if tools %}{{ 'SYSTEM tools: ' + (tools | tojson) + '\\n' }}{% endif %}",
        "{% for message in messages %}",
        "{% if message.role == 'user' %}{{ '<|header|>user\\n' + message.content }}" + quoted(end),
        "{% elif message.role == 'tool' %}{{ '<|header|>tool\\n' + message.content }}"
        + quoted(end),
        "{% elif message.role == 'system' %}{{ '<|header|>system\\n' + message.content }}"
        + quoted(end),
        "{% else %}" + quoted(header),
    ]
    if reasoning.mode is not ReasoningMode.NONE:
        lines += [
            "{% if message.reasoning_content %}",
            quoted(reasoning.start) + "{{ message.reasoning_content }}" + quoted(reasoning.end),
            "{% endif %}",
        ]
    # An unmarked call counts only at the start of a turn.
    unmarked = is_unmarked(fmt)
    lines += [
        "{% if message.content" + (" and not message.tool_calls" if unmarked else "") + " %}",
        quoted(content.start) + "{{ message.content }}" + quoted(content.end),
        "{% endif %}",
        "{% if message.tool_calls %}",
        quoted(tools.content_separator + tools.section_start),
        *(call_lines(tools) if tools.format == "JSON_NATIVE" else tagged_lines(fmt)),
        quoted(tools.section_end),
        "{% endif %}",
        quoted(end),
        "{% endif %}{% endfor %}",
        "{% if add_generation_prompt %}" + quoted(fmt.turn.generation_prompt) + "{% endif %}",
    ]
    return "".join(lines)


def tagged_lines(fmt):
    tools, function, arguments, call_id = fmt.tools, fmt.function, fmt.arguments, fmt.call_id
    with_id = quoted(call_id.prefix) + "{{ call.id }}" + quoted(call_id.suffix)
    if tools.format == "TAG_WITH_JSON":
        body = "{{ call.function.arguments | tojson }}"
    else:
        body = "".join(
            [
                "{% for key, value in call.function.arguments.items() %}",
                quoted(arguments.name_prefix) + "{{ key }}" + quoted(arguments.name_suffix),
                quoted(arguments.value_prefix),
                "{{ value if value is string else (value | tojson) }}",
                quoted(arguments.value_suffix),
                "{% if not loop.last %}" + quoted(arguments.separator) + "{% endif %}",
                "{% endfor %}",
            ]
        )
    return [
        "{% for call in message.tool_calls %}",
        quoted(tools.per_call_start),
        with_id if call_id.position == "PRE_FUNC_NAME" else "",
        quoted(function.name_prefix) + "{{ call.function.name }}" + quoted(function.name_suffix),
        with_id if call_id.position == "BETWEEN_FUNC_AND_ARGS" else "",
        quoted(arguments.start) + body + quoted(arguments.end),
        with_id if call_id.position == "POST_ARGS" else "",
        quoted(function.close) + quoted(tools.per_call_end),
        "{% if not loop.last %}" + quoted(tools.separator) + "{% endif %}",
        "{% endfor %}",
    ]


def call_lines(tools):
    one_array = tools.array_wrapped and not tools.per_call_start
    opened, closed = ("[", "]") if tools.array_wrapped else ("", "")
    arguments = "{{ call.function.arguments | tojson }}"
    if tools.arguments_as_text:
        arguments = "{{ call.function.arguments | tojson | tojson }}"
    fields = {
        "name": '"name": {{ call.function.name | tojson }}',
        "arguments": f'"arguments": {arguments}',
        "id": '"id": {{ call.id | tojson }}',
    }
    if tools.name_is_key:
        made = "{{ '{' }}{{ call.function.name | tojson }}: " + arguments + "{{ '}' }}"
    elif tools.function_field:
        inner = ", ".join(fields[key] for key in tools.field_order if key != "id")
        rest = "".join(f", {fields[key]}" for key in tools.field_order if key == "id")
        made = (
            '{{ \'{"type": "function", "function": {\' }}'
            + inner
            + "{{ '}' }}"
            + rest
            + "{{ '}' }}"
        )
    else:
        made = "{{ '{' }}" + ", ".join(fields[key] for key in tools.field_order) + "{{ '}' }}"
    separator = quoted(", " if one_array else tools.separator)
    return [
        quoted(opened) if one_array else "",
        "{% for call in message.tool_calls %}",
        quoted(tools.per_call_start),
        "" if one_array else quoted(opened),
        made,
        "" if one_array else quoted(closed),
        quoted(tools.per_call_end),
        "{% if not loop.last %}" + separator + "{% endif %}",
        "{% endfor %}",
        quoted(closed) if one_array else "",
    ]
