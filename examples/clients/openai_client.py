"""The openai package, Chat Completions: its accumulator, both calls, and a second turn.

python openai_client.py [URL]
"""

import json
import sys

import openai

SCHEMA = {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]}
TOOLS = [{"type": "function", "function": {"name": "clock", "parameters": SCHEMA}}]
TIMES = {"Asia/Tokyo": "09:00", "Europe/Lisbon": "01:00"}


def main(url: str = "http://127.0.0.1:8000") -> None:
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none")
    messages = [{"role": "user", "content": "What time is it in Tokyo and in Lisbon?"}]
    asked = {"model": "mine", "tools": TOOLS, "stream_options": {"include_usage": True}}
    with client.chat.completions.stream(messages=messages, **asked) as stream:
        for event in stream:
            if event.type == "content.delta":
                print("content", repr(event.delta))
            elif event.type == "tool_calls.function.arguments.done":  # this call is complete
                print("whole", event.name, event.arguments)
        completion = stream.get_final_completion()
    choice = completion.choices[0]
    print("reasoning", repr(choice.message.reasoning_content))  # an extension of OpenAI's API
    print(choice.finish_reason, completion.usage.total_tokens)

    messages.append(choice.message)
    for call in choice.message.tool_calls:
        print("call", call.id, call.function.name, call.function.arguments)
        time = TIMES[json.loads(call.function.arguments)["zone"]]
        messages.append({"role": "tool", "tool_call_id": call.id, "content": time})
    answer = client.chat.completions.create(model="mine", messages=messages, tools=TOOLS)
    print(answer.choices[0].message.content)


if __name__ == "__main__":
    main(*sys.argv[1:])
