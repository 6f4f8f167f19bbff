"""An agent: each call runs as soon as it is complete, while the model still writes the next.

A gate checks each call, and its result is sent back under the call's id. The model's output stays
in the prompt unchanged, if the template supports it.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import deltaparse as dp

TEMPLATE = """\
{%- for m in messages -%}<{{ m.role }}>{{ m.content or "" }}
{%- for c in m.tool_calls or [] -%}{% set f = c.function -%}
<use>{"tool": "{{ f.name }}", "with": {{ f.arguments | tojson }}}</use>{% endfor %}</{{ m.role }}>
{%- endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"""
SCHEMA = {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]}
TOOLS = [{"type": "function", "function": {"name": "clock", "parameters": SCHEMA}}]
CALLS = ['"with": {"zone": "Asia/Tokyo"}}</use>', '"with": {"zones": []}}</use></assistant>']
TURNS = iter(([f'<use>{{"tool": "clock", {rest}' for rest in CALLS], ["It is nine."]))


def engine(prompt: str) -> Iterator[tuple[str, str | None]]:
    """Simulate an inference engine: yield chunks, and the finish reason with the last one."""
    print(prompt)
    yield from ((text, None) for text in next(TURNS))
    yield "", "eos_token"


def agent(template: Any, tools: Any, functions: Any, engine: Any, messages: list[Any]) -> str:
    """Let the model call functions until it answers, and return the answer."""
    fmt, gate = dp.analyze(template), dp.ToolGate(tools)
    prompt = template.render(messages, tools, add_generation_prompt=True)

    def result_of(call: dp.ToolCall) -> dict[str, Any]:
        decision = gate.decide_call(call)
        text = f"refused: {decision.reason}, {decision.detail}"
        if decision.calls:
            text = functions[call.name](**decision.calls[0].arguments)
        return {"role": "tool", "tool_call_id": call.id, "content": text}

    while True:
        parser, output = dp.StreamParser(fmt, tools=tools, prompt=prompt), ""
        found: dict[int, dict[str, Any]] = {}
        for chunk, reason in chain(engine(prompt), [("", "aborted")]):  # if it just stops
            output += chunk
            for delta in parser.feed(chunk) + (parser.finish(reason) if reason else []):
                if isinstance(delta, dp.ToolCallDelta) and delta.last:  # complete: it may run
                    found[delta.index] = result_of(parser.message.tool_calls[delta.index])
            if parser.finish_reason:
                break
        calls = parser.message.tool_calls
        if not calls:
            return parser.message.content
        # A truncated or malformed call has a result too: the reason why it did not run.
        results = [found.get(at) or result_of(call) for at, call in enumerate(calls)]
        bridge = template.bridge(output, results, tools=tools, messages=messages)
        messages += [parser.message, *results]
        prompt += output + (bridge or "")
        if bridge is None:  # the template renders this history differently
            prompt = template.render(messages, tools, add_generation_prompt=True)


if __name__ == "__main__":
    question = {"role": "user", "content": "What time is it in Tokyo?"}
    functions = {"clock": lambda zone: f"09:00 in {zone}"}
    print(agent(dp.ChatTemplate(TEMPLATE), TOOLS, functions, engine, [question]))
