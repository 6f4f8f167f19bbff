"""A plain loop: tokens in, deltas out.

The parser needs only the model's chat template. Tokens may be split anywhere.
"""

import deltaparse as dp

TEMPLATE = """\
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

TOKENS = ["<no", "te>The user asks", " for the", " time.</note>\n", "One moment", ".\n<us"]
TOKENS += ['e>{"tool": "clo', 'ck", "wi', 'th": {"zone": "Asia/', 'Tokyo"', "}}</u", "se></assist"]
TOKENS += ["ant>"]
FINISH_REASON = "eos_token"
"""The finish reason of the engine. "length" would mark the output as truncated."""


def show(deltas: list[dp.Delta]) -> None:
    for delta in deltas:
        match delta:
            case dp.ReasoningDelta(text):
                print(f"reasoning  {text!r}")
            case dp.ContentDelta(text):
                print(f"content    {text!r}")
            case dp.ToolCallDelta(index, _, None, arguments):
                print(f"arguments  {arguments!r} of call {index}")
            case dp.ToolCallDelta(index, _, name, _):
                print(f"call       {name!r} is call {index}")


def main() -> None:
    template = dp.ChatTemplate(TEMPLATE)
    fmt = dp.analyze(template)  # once per model
    question = {"role": "user", "content": "What time is it in Tokyo?"}
    prompt = template.render([question], add_generation_prompt=True)

    parser = dp.StreamParser(fmt, prompt=prompt)  # once per response
    for token in TOKENS:
        show(parser.feed(token))
    show(parser.finish(FINISH_REASON))

    print(parser.finish_reason, parser.message.tool_calls[0].arguments)


if __name__ == "__main__":
    main()
