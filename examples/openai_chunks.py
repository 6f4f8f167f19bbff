"""OpenAI's stream: deltas as `chat.completion.chunk` objects, sent as server-sent events."""

import json
from collections.abc import Iterator

import deltaparse as dp

TEMPLATE = """\
{%- for message in messages -%}
@{{ message.role }} {{ message.content or "" }}
{%- if message.tool_calls %} @calls [
{%- for call in message.tool_calls -%}
{"id": "{{ call.id }}", "fn": "{{ call.function.name }}", "in": \
{{- call.function.arguments | tojson }}}{{ ", " if not loop.last }}
{%- endfor %}] @end
{%- endif %} @stop
{% endfor %}
{%- if add_generation_prompt %}@assistant {% endif %}"""

TOKENS = ["Let me", " see. @ca", 'lls [{"id": "c7", "fn"', ': "add", "in', '": {"a": 1', "2}}] @e"]
TOKENS += ["nd", " @stop"]
FINISH_REASON = "stop_sequence"
"""The finish reason of the engine."""


def events() -> Iterator[str]:
    deltas = dp.iter_deltas(TOKENS, dp.analyze(TEMPLATE), finish_reason=FINISH_REASON)
    chunks = dp.chat_completion_chunks(
        deltas,
        id="chatcmpl-1",
        model="example",
        created=1_700_000_000,
        finish_reason=lambda: deltas.parser.finish_reason,  # known after the last delta
    )
    for chunk in chunks:
        yield f"data: {json.dumps(chunk)}\n\n"
    yield "data: [DONE]\n\n"


if __name__ == "__main__":
    for event in events():
        print(event, end="", flush=True)
