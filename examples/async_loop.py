"""An async loop: deltas from an async iterable of tokens, each as soon as it is certain."""

import asyncio
from collections.abc import AsyncIterator

import deltaparse as dp

TEMPLATE = """\
{%- for message in messages -%}
[{{ message.role }}]
{%- if message.reasoning_content %} (thinking) {{ message.reasoning_content }} (done) {% endif %}
{{- message.content }}[end]
{% endfor %}
{%- if add_generation_prompt %}[assistant]{% endif %}"""


async def tokens() -> AsyncIterator[str]:
    """Stand in for an inference engine."""
    for token in (" (thi", "nking) Paris", " or Lyon?", " (do", "ne) It", " is Paris.", "[end]"):
        await asyncio.sleep(0)
        yield token


async def main() -> None:
    fmt = dp.analyze(TEMPLATE)
    async for delta in dp.aiter_deltas(tokens(), fmt, finish_reason="stop"):
        match delta:
            case dp.ReasoningDelta(text):
                print(f"reasoning  {text!r}")
            case dp.ContentDelta(text):
                print(f"content    {text!r}")


if __name__ == "__main__":
    asyncio.run(main())
