"""A budget for reasoning: a model that reasons for too long is made to answer.

The end marker of reasoning is then passed to the parser, and appended to the model's context, as if
the model had written it.
"""

from collections.abc import Generator

import deltaparse as dp

TEMPLATE = """\
{%- for m in messages %}<{{ m.role }}>
{% if m.reasoning_content %}<think>
{{ m.reasoning_content }}
</think>
{% endif %}{{ m.content or "" }}</{{ m.role }}>
{% endfor %}{% if add_generation_prompt %}<assistant>
{% endif %}"""
BUDGET = 6  # limit of reasoning tokens


def generate(context: str) -> Generator[str, None, None]:
    """Simulate an inference engine that reasons until the end marker is in its context."""
    if "</think>" in context:
        yield from ["It", " is", " Paris", ".", "</assistant>"]
    else:
        yield "<think>\n"
        while True:
            yield from ["Paris", "?", " Or", " Lyon", "? "]


def answer(fmt: dp.WireFormat, prompt: str) -> dp.StreamParser:
    parser, context = dp.StreamParser(fmt, prompt=prompt), prompt
    tokens = generate(context)
    while (token := next(tokens, None)) is not None:
        context += token
        show(parser.feed(token))
        if parser.in_reasoning and parser.counts.reasoning.chunks >= BUDGET:
            tokens.close()
            context += fmt.reasoning.end
            show(parser.feed(fmt.reasoning.end))
            tokens = generate(context)
    show(parser.finish("eos_token"))  # the engine's finish reason
    return parser


def show(deltas: list[dp.Delta]) -> None:
    for delta in deltas:
        print(delta.to_openai())


def main() -> None:
    template = dp.ChatTemplate(TEMPLATE)
    question = {"role": "user", "content": "What is the capital of France?"}
    prompt = template.render([question], add_generation_prompt=True)
    counts = answer(dp.analyze(template), prompt).counts
    print(f"with markers, {counts.reasoning.chunks} and {counts.content.chunks} chunks")


if __name__ == "__main__":
    main()
