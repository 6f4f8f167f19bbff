"""LangChain: `ChatOpenAI` and `ChatAnthropic`, chunks that add up, and a second turn.

python langchain_client.py [URL]
"""

import sys

from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool
def clock(zone: str) -> str:
    """Return the time in a zone."""
    return {"Asia/Tokyo": "09:00", "Europe/Lisbon": "01:00"}[zone]


def ask(model: BaseChatModel) -> None:
    bound = model.bind_tools([clock])
    messages = [HumanMessage("What time is it in Tokyo and in Lisbon?")]
    whole = None
    for chunk in bound.stream(messages):
        whole = chunk if whole is None else whole + chunk
    for block in whole.content_blocks:
        if block["type"] == "reasoning":
            print("reasoning", repr(block["reasoning"]))
    print("content", repr(whole.text))
    for call in whole.tool_calls:
        print("call", call["id"], call["name"], call["args"])
    told = whole.response_metadata
    reason = told.get("finish_reason") or told.get("stop_reason") or told["status"]
    print(reason, whole.usage_metadata["total_tokens"])

    results = [
        ToolMessage(clock.invoke(call["args"]), tool_call_id=call["id"])
        for call in whole.tool_calls
    ]
    print(bound.invoke([*messages, whole, *results]).text)


def main(url: str = "http://127.0.0.1:8000") -> None:
    # It ignores `reasoning_content`, an extension of OpenAI's API. Responses supports reasoning.
    ask(ChatOpenAI(model="mine", base_url=f"{url}/v1", api_key="none", stream_usage=True))
    ask(ChatOpenAI(model="mine", base_url=f"{url}/v1", api_key="none", use_responses_api=True))
    ask(ChatAnthropic(model="mine", base_url=url, api_key="none"))


if __name__ == "__main__":
    main(*sys.argv[1:])
