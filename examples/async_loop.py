"""An async loop: deltas from an async iterable of tokens, each as early as possible."""

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


class Engine:
    """A simulated inference engine, which reports its finish reason at the end."""

    finish_reason = ""

    async def tokens(self) -> AsyncIterator[str]:
        """Generate tokens."""
        for token in (
            " (thi",
            "nking) Paris",
            " or Lyon?",
            " (do",
            "ne) It",
            " is Paris.",
            "[end]",
        ):
            await asyncio.sleep(0)
            yield token
        self.finish_reason = "stop"


async def main() -> None:
    fmt = dp.analyze(TEMPLATE)
    engine = Engine()
    deltas = dp.aiter_deltas(engine.tokens(), fmt, finish_reason=lambda: engine.finish_reason)
    async for delta in deltas:
        match delta:
            case dp.ReasoningDelta(text):
                print(f"reasoning  {text!r}")
            case dp.ContentDelta(text):
                print(f"content    {text!r}")


if __name__ == "__main__":
    asyncio.run(main())
