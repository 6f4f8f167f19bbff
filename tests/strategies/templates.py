"""Chat templates written for these tests: a generator of them, and some of special kinds."""

from __future__ import annotations

from deltaparse import ChatTemplate, ReasoningMode, TemplateError

from .wire_json_and_tags import is_unmarked


def compiles(source):
    """Whether a text is a template."""
    try:
        ChatTemplate(source)
    except TemplateError:
        return False
    return True


def quoted(text):
    """A text as a Jinja string."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return "{{ '" + escaped + "' }}"


def template_of(fmt):
    """A chat template that renders turns as the format says."""
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
    # A call that stands in no markers is one only where a turn begins.
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


HEAD = """{% for message in messages %}
{% if message.role == 'user' %}{{ '<u>' + message.content + '</u>' }}
{% elif message.role == 'tool' %}{{ '<r>' + message.content + '</r>' }}
{% elif message.role == 'assistant' %}"""
TAIL = "{{ '</a>' }}{% endif %}{% endfor %}"

FORCED = (
    HEAD
    + "{{ '<a>' + message.content.split('[/mind]')[-1] }}"
    + TAIL
    + "{% if add_generation_prompt %}{{ '<a>[mind]\\n' }}{% endif %}"
)
"""Opens reasoning in every prompt, and shows its end marker nowhere but where it cuts it off."""

SWITCHED = (
    HEAD
    + "{{ '<a>' + message.content }}"
    + TAIL
    + """{% if add_generation_prompt %}{{ '<a>[mind]' -}}
{% if not deep %}{{ '[/mind]' }}{% endif %}{% endif %}"""
)
"""Opens reasoning, and closes it at once unless a switch says otherwise."""

TOLD = (
    "{% set ns = namespace(deep=true) %}{% for message in messages %}"
    "{% if message.role == 'user' and '/quick' in message.content %}{% set ns.deep = false %}"
    "{% endif %}{% endfor %}"
    + HEAD.replace("message.content +", "message.content.replace('/quick', '') +", 1)
    + "{{ '<a>' + message.content }}"
    + TAIL
    + "{% if add_generation_prompt %}{{ '<a>[mind]' ~ ('' if ns.deep else '[/mind]') }}{% endif %}"
)
"""The same, with the switch a word in the user's message."""

TOOLS_ONLY = (
    HEAD
    + """{{ '<a>' }}{% if message.tool_calls -%}
{{ '<plan>' ~ message.reasoning_content ~ '</plan>' }}
{{ '<act>' }}[{% for call in message.tool_calls %}{% set made = call.function %}
{"number": "{{ loop.index0 }}", "tool": "{{ made.name }}", "input": {{ made.arguments | tojson }}}
{%- if not loop.last %},{% endif %}{% endfor %}]{{ '</act>' }}
{% else %}{{ '<say>' + message.content + '</say>' }}{% endif %}"""
    + TAIL
    + "{{ '<a>' }}{% if not deep %}{{ '<plan></plan>' }}{% endif %}"
)
"""Reasoning only beside calls, content in markers, calls with numbers, a prompt at every end."""

DELIMITED = (
    HEAD
    + """{{ '<a>' }}{% if message.reasoning_content %}
{{ message.reasoning_content + '\\n=== ANSWER ===\\n' }}{% endif %}{{ message.content }}"""
    + TAIL
    + "{% if add_generation_prompt %}{{ '<a>Thinking:\\n' }}{% endif %}"
)
"""Reasoning up to a delimiter that looks like no tag, and words in the generation prompt."""

WORDY = (
    HEAD
    + """{{ '<a>' + message.content }}{% if message.tool_calls %}{{ ' CALL>>> ' }}[
{%- for call in message.tool_calls -%}
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
{%- if not loop.last %}, {% endif %}{% endfor %}]{% endif %}"""
    + TAIL
    + "{% if add_generation_prompt %}{{ '<a>' }}{% endif %}"
)
"""A marker that looks like no tag, and that nothing closes."""

STRICT = (
    "{% for tool in tools %}{{ tool.function.name }};{% endfor %}"
    + HEAD
    + """{% if message.tool_calls %}
{% if message.tool_calls | length > 1 %}{{ raise_exception('one call at a time') }}{% endif %}
{% set made = message.tool_calls[0].function %}
{{ '<a>{"name": "' + made.name + '", "parameters": ' + (made.arguments | tojson) + '}' }}
{% else %}{{ '<a>' + (message.content | trim) }}{% endif %}"""
    + TAIL
    + "{% if add_generation_prompt %}{{ '<a>' }}{% endif %}"
)
"""Calls in no markers, one at most, and tools that must be given."""

TEXTUAL = (
    HEAD
    + """{{ '<a>' ~ message.content }}{% for call in message.tool_calls or [] %}
{% set made = call.function %}
{{ '<do>{"name": "' ~ made.name ~ '", "arguments": ' ~ made.arguments ~ '}</do>' }}
{% endfor %}"""
    + TAIL
    + "{% if add_generation_prompt %}{{ '<a>' }}{% endif %}"
)
"""Wants the arguments as JSON text, and prints None for a null content."""

IN_TAGS = (
    "{% if tools %}{{ tools | tojson }}{% endif %}"
    + HEAD
    + """{{ '<a>' ~ message.content }}{% for call in message.tool_calls or [] %}
{{ '<do=' ~ call.function.name ~ '>' ~ call.function.arguments | tojson ~ '</do>' }}{% endfor %}"""
    + TAIL
    + "{% if add_generation_prompt %}{{ '<a>' }}{% endif %}"
)
"""Calls whose name is not in the JSON."""

MESSAGES = (
    "{% if tools %}{{ tools | tojson }}{% endif %}"
    + HEAD
    + """{{ '<a>' }}{% if message.content %}{{ '@@all\n' ~ message.content }}{% endif %}
{% for call in message.tool_calls or [] %}
{{ '@@' ~ call.function.name ~ '\n' ~ call.function.arguments | tojson }}{% endfor %}"""
    + TAIL
    + "{% if add_generation_prompt %}{{ '<a>@@' }}{% endif %}"
).replace("%}\n{", "%}{")
"""Each message of a turn says whom it is for; the prompt has the mark of the first."""

HEADED = (
    "{% if tools %}{{ tools | tojson }}{% endif %}"
    "{% for message in messages %}{% if message.role == 'assistant' %}"
    "{% if message.thinking %}{{ '<go>model<part>mull<text>' ~ message.thinking }}"
    "{{ '<stop>' }}{% endif %}"
    "{% for call in message.tool_calls or [] %}"
    "{{ '<go>model to fn.' ~ call.function.name ~ '<part>work<text>' }}"
    "{{ call.function.arguments | tojson ~ '<act>' }}{% endfor %}"
    "{% if message.content %}{{ '<go>model<part>say<text>' ~ message.content }}"
    "{{ '<done>' }}{% endif %}"
    "{% else %}{{ '<go>' ~ message.role ~ '<text>' ~ message.content ~ '<stop>' }}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<go>model' }}{% endif %}"
)
"""Messages with headers that name their channel."""

IN_PARTS = (
    HEAD
    + """{{ '<a>' }}{% if message.content is string %}{{ message.content }}{% else %}
{% for part in message.content %}{% if part.type == 'thinking' %}
{{ '[MULL]' ~ part.thinking ~ '[/MULL]' }}{% else %}{{ part.text }}{% endif %}{% endfor %}
{% endif %}"""
    + TAIL
    + "{% if add_generation_prompt %}{{ '<a>' }}{% endif %}"
).replace("%}\n{", "%}{")
"""Takes reasoning as a part of the content."""

ASKED = (
    "{% if muse %}{{ 'Write thoughts between <muse></muse>, then <reply></reply>.' }}{% endif %}"
    + HEAD
    + "{{ '<a>' ~ message.content }}"
    + TAIL
    + "{% if add_generation_prompt %}{{ '<a>' }}{% endif %}"
)
"""Tells the model how to mark its reasoning, and shows none."""

OTHER_SYNTAX = (
    "{% if tools %}{{ tools | tojson }}{% endif %}"
    + HEAD
    + """{{ '<a>' ~ message.content }}{% for call in message.tool_calls or [] %}
{{ 'I do ' ~ call.function.name }}{% for key, value in call.function.arguments.items() %}
{{ ' ' ~ key ~ ' ' ~ value }}{% endfor %}{% endfor %}"""
    + TAIL
    + "{% if add_generation_prompt %}{{ '<a>' }}{% endif %}"
)
"""Calls that only a reader understands."""

SILENT = (
    "{% if tools %}{{ tools | tojson }}{% endif %}"
    + HEAD
    + "{{ '<a>' ~ message.content }}"
    + TAIL
    + "{% if add_generation_prompt %}{{ '<a>' }}{% endif %}"
)
"""Shows the tools and never a call."""

INSIDE = (
    HEAD
    + """<a>{% if message.reasoning_content -%}
<mind>{{ message.reasoning_content }}</mind>{% endif -%}
<say>{{ message.content }}{% if message.tool_calls %}
<acts>[{% for call in message.tool_calls %}{% set made = call.function %}
{"name": "{{ made.name }}", "arguments": {{ made.arguments | tojson }}}
{%- if not loop.last %}, {% endif %}{% endfor %}]</acts>{% endif %}</say>"""
    + TAIL
    + "{% if add_generation_prompt %}{{ '<a>' }}{% endif %}"
)
"""Calls inside the content's markers."""

REUSED = (
    HEAD
    + """<a>{{ message.content }}{% for call in message.tool_calls or [] -%}
{% set made = call.function %}
</a>call:<b>{"name": "{{ made.name }}", "arguments": {{ made.arguments | tojson }}}{% endfor %}"""
    + TAIL
    + "{% if add_generation_prompt %}{{ '<a>' }}{% endif %}"
)
"""A marker of calls that begins with the end-of-turn string."""

BESIDE = (
    HEAD
    + """<a>{% if message.reasoning_content -%}
<mind>{{ message.reasoning_content }}</mind><say>{{ message.content }}</say>
{%- else %}{{ message.content }}{% endif %}"""
    + TAIL
    + "{% if add_generation_prompt %}{{ '<a>' }}{% endif %}"
)
"""Content in markers only where there is reasoning."""
