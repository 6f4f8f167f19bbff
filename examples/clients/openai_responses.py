"""The openai package, Responses: items, both calls, and a second turn.

python openai_responses.py [URL]
"""

import json
import sys

import openai

SCHEMA = {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]}
TOOLS = [{"type": "function", "name": "clock", "parameters": SCHEMA, "strict": False}]
TIMES = {"Asia/Tokyo": "09:00", "Europe/Lisbon": "01:00"}


def main(url: str = "http://127.0.0.1:8000") -> None:
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none")
    items = [{"role": "user", "content": "What time is it in Tokyo and in Lisbon?"}]
    with client.responses.stream(model="mine", input=items, tools=TOOLS) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                print("content", repr(event.delta))
            elif event.type == "response.reasoning_summary_text.delta":
                print("reasoning", repr(event.delta))
            elif event.type == "response.output_item.done" and event.item.type == "function_call":
                print("whole", event.item.name, event.item.arguments)
        response = stream.get_final_response()
    print(response.status, response.usage.total_tokens)

    calls = [item for item in response.output if item.type == "function_call"]
    items += [item.model_dump(exclude_none=True) for item in response.output]
    for call in calls:
        print("call", call.call_id, call.name, call.arguments)
        time = TIMES[json.loads(call.arguments)["zone"]]
        items.append({"type": "function_call_output", "call_id": call.call_id, "output": time})
    print(client.responses.create(model="mine", input=items, tools=TOOLS).output_text)


if __name__ == "__main__":
    main(*sys.argv[1:])
