"""The anthropic package: blocks of thinking, text and calls, and a second turn.

python anthropic_client.py [URL]
"""

import sys

import anthropic

SCHEMA = {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]}
TOOLS = [{"name": "clock", "input_schema": SCHEMA}]
TIMES = {"Asia/Tokyo": "09:00", "Europe/Lisbon": "01:00"}


def main(url: str = "http://127.0.0.1:8000") -> None:
    client = anthropic.Anthropic(base_url=url, api_key="none")
    messages = [{"role": "user", "content": "What time is it in Tokyo and in Lisbon?"}]
    asked = {"model": "mine", "max_tokens": 1000, "tools": TOOLS}
    with client.messages.stream(messages=messages, **asked) as stream:
        for event in stream:
            if event.type == "thinking":
                print("reasoning", repr(event.thinking))
            elif event.type == "text":
                print("content", repr(event.text))
            elif event.type == "content_block_stop" and event.content_block.type == "tool_use":
                call = event.content_block  # complete
                print("call", call.id, call.name, call.input)
        message = stream.get_final_message()
    print(message.stop_reason, message.usage.output_tokens)

    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": TIMES[block.input["zone"]]}
        for block in message.content
        if block.type == "tool_use"
    ]
    messages += [{"role": "assistant", "content": message.content}]
    messages += [{"role": "user", "content": results}]
    print(client.messages.create(messages=messages, **asked).content[0].text)


if __name__ == "__main__":
    main(*sys.argv[1:])
