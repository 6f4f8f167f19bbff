"""litellm: one interface to all servers, with Chat Completions, Messages and a second turn.

python litellm_client.py [URL]
"""

import json
import sys

import litellm

litellm.suppress_debug_info = True
SCHEMA = {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]}
TOOLS = [{"type": "function", "function": {"name": "clock", "parameters": SCHEMA}}]
TIMES = {"Asia/Tokyo": "09:00", "Europe/Lisbon": "01:00"}


def ask(model: str, url: str) -> None:
    messages = [{"role": "user", "content": "What time is it in Tokyo and in Lisbon?"}]
    asked = {"model": model, "api_base": url, "api_key": "none", "tools": TOOLS, "max_tokens": 99}
    chunks = list(
        litellm.completion(
            messages=messages, stream=True, stream_options={"include_usage": True}, **asked
        )
    )
    whole = litellm.stream_chunk_builder(chunks, messages=messages)
    message = whole.choices[0].message
    print("reasoning", repr(message.reasoning_content))
    print("content", repr(message.content))
    for call in message.tool_calls:
        print("call", call.id, call.function.name, call.function.arguments)
    # `whole.choices[0].finish_reason` is always "stop", so it is read from the chunks.
    reasons = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices]
    print(*filter(None, reasons), whole.usage.total_tokens)

    messages.append(message.model_dump(exclude_none=True))
    for call in message.tool_calls:
        time = TIMES[json.loads(call.function.arguments)["zone"]]
        messages.append({"role": "tool", "tool_call_id": call.id, "content": time})
    print(litellm.completion(messages=messages, **asked).choices[0].message.content)


def main(url: str = "http://127.0.0.1:8000") -> None:
    ask("openai/mine", f"{url}/v1")
    ask("anthropic/mine", url)


if __name__ == "__main__":
    main(*sys.argv[1:])
