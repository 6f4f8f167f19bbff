"""pydantic-ai: an agent that runs the calls itself, over Chat Completions and Messages.

python pydantic_ai_client.py [URL]
"""

import asyncio
import sys

from pydantic_ai import Agent
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider


def clock(zone: str) -> str:
    """Return the time in a zone."""
    return {"Asia/Tokyo": "09:00", "Europe/Lisbon": "01:00"}[zone]


async def streamed(_context: object, events: object) -> None:
    """Print parts as soon as they are complete. With a handler, `run` streams."""
    async for event in events:
        if event.event_kind == "part_end":
            print("whole", event.part.part_kind)


async def ask(model: Model) -> None:
    question = "What time is it in Tokyo and in Lisbon?"
    result = await Agent(model, tools=[clock]).run(question, event_stream_handler=streamed)
    for response in result.all_messages():
        for part in response.parts:
            if part.part_kind == "thinking":
                print("reasoning", repr(part.content))
            elif part.part_kind == "tool-call":
                print("call", part.tool_call_id, part.tool_name, part.args_as_dict())
        if response.kind == "response":
            print(response.finish_reason, response.usage.output_tokens)
    print(result.output)


async def main(url: str = "http://127.0.0.1:8000") -> None:
    provider = OpenAIProvider(base_url=f"{url}/v1", api_key="none")
    await ask(OpenAIChatModel("mine", provider=provider))
    provider = AnthropicProvider(base_url=url, api_key="none")
    await ask(AnthropicModel("mine", provider=provider))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
