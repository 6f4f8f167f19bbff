"""An agent: each call runs as soon as it is whole, while the model still writes the next.

The loop itself is `agent`. A gate decides on each call; its result goes back to the model under
the call's id; and what the model wrote stays in the prompt as it wrote it, where the template
allows that.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import deltaparse as dp

TEMPLATE = """\
{%- for message in messages -%}
<{{ message.role }}>{{ message.content or "" }}
{%- for call in message.tool_calls or [] -%}
<use>{"tool": "{{ call.function.name }}", "with": {{ call.function.arguments | tojson }}}</use>
{%- endfor %}</{{ message.role }}>
{%- endfor %}
{%- if add_generation_prompt %}<assistant>{% endif %}"""

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "clock",
            "description": "The time in a zone.",
            "parameters": {
                "type": "object",
                "properties": {"zone": {"type": "string"}},
                "required": ["zone"],
            },
        },
    }
]
CALL = '<use>{"tool": "clock", "with": {"zone": "Asia/Tokyo"}}</use>'
WRONG_CALL = '<use>{"tool": "clock", "with": {"zones": []}}</use>'
SCRIPT = (f"{CALL}{WRONG_CALL}</assistant>", "It is nine in Tokyo.</assistant>")


class Engine:
    """Stands in for an inference engine: it writes one output of a script after the other."""

    def __init__(self, script: Sequence[str]) -> None:
        self.script, self.prompts = list(script), [""]
        self.output, self.finish_reason = "", ""

    def __call__(self, prompt: str) -> Iterator[str]:
        """Generate, and keep what was generated, and why it ended."""
        self.prompts.append(prompt)
        self.output, text = "", self.script.pop(0)
        for at in range(0, len(text), 5):
            self.output += text[at : at + 5]
            yield text[at : at + 5]
        self.finish_reason = "eos_token"


def run(decision: dp.Decision, functions: Mapping[str, Callable[..., str]]) -> str:
    """Run a call that may be executed; of another, tell the model why it may not."""
    if not decision.calls:
        return f"refused: {decision.reason}, {decision.detail}"
    call = decision.calls[0].normalized()
    return functions[call["name"]](**call["arguments"])


def agent(
    template: dp.ChatTemplate,
    tools: list[dict[str, Any]],
    functions: Mapping[str, Callable[..., str]],
    engine: Engine,
    messages: list[Any],
) -> str:
    """Let the model call functions until it answers; return the answer."""
    fmt, gate = dp.analyze(template), dp.ToolGate(tools)
    prompt = template.render(messages, tools, add_generation_prompt=True)
    while True:
        results: list[Any] = []
        reason = lambda: engine.finish_reason  # noqa: E731 - known when the chunks have ended
        deltas = dp.iter_deltas(
            engine(prompt), fmt, tools=tools, prompt=prompt, finish_reason=reason
        )
        for delta in deltas:
            if isinstance(delta, dp.ToolCallDelta) and delta.last:  # whole, and may be run
                call = deltas.parser.message.tool_calls[delta.index]
                text = run(gate.decide_call(call), functions)
                results.append({"role": "tool", "tool_call_id": call.id, "content": text})
        said = deltas.parser.message
        if not results:
            return said.content
        bridge = template.bridge(engine.output, results, tools=tools, messages=messages)
        messages += [said, *results]
        prompt += engine.output + (bridge or "")
        if bridge is None:  # the template writes this history in another way
            prompt = template.render(messages, tools, add_generation_prompt=True)


def first_call(fmt: dp.WireFormat, chunks: Iterator[str], prompt: str) -> dp.ToolCall | None:
    """Read up to the first call that is whole; the engine is stopped there."""
    deltas = dp.iter_deltas(chunks, fmt, prompt=prompt)
    for delta in deltas:
        if isinstance(delta, dp.ToolCallDelta) and delta.last:
            deltas.close()
            return deltas.parser.message.tool_calls[delta.index]
    return None


def main() -> None:
    template, engine = dp.ChatTemplate(TEMPLATE), Engine(SCRIPT)
    messages: list[Any] = [{"role": "user", "content": "What time is it in Tokyo?"}]
    functions = {"clock": lambda zone: f"09:00 in {zone}"}
    print(agent(template, TOOLS, functions, engine, messages))
    print(engine.prompts[-1])

    engine = Engine(SCRIPT)
    call = first_call(dp.analyze(template), engine(engine.prompts[0]), engine.prompts[0])
    print(call and call.arguments, len(engine.output) < len(SCRIPT[0]))


if __name__ == "__main__":
    main()
