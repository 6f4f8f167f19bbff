"""An endpoint for completions, as vLLM, SGLang and others have it, over httpx: `/v1/completions`.

    python completions_endpoint.py URL MODEL [TOKENS]

MODEL is a folder, for its template and its tokens; TOKENS the most that it may write.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator

import httpx

import deltaparse as dp

ZONE = {"enum": ["UTC", "Asia/Tokyo", "Europe/Lisbon"]}
SCHEMA = {"type": "object", "properties": {"zone": ZONE}, "required": ["zone"]}
TOOLS = [{"type": "function", "function": {"name": "clock", "parameters": SCHEMA}}]
QUESTION = {"role": "user", "content": "What time is it in Tokyo?"}


async def texts(url: str, body: dict[str, object], ended: list[str]) -> AsyncIterator[str]:
    """Yield what the server sends; closing this makes it stop."""
    client = httpx.AsyncClient(base_url=url, timeout=60)
    async with client, client.stream("POST", "/v1/completions", json=body) as response:
        response.raise_for_status()
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                event = json.loads(line.removeprefix("data: "))
                if "error" in event:
                    raise RuntimeError(event["error"])
                for choice in event["choices"]:  # none in an event of the usage alone
                    ended += filter(None, [choice["finish_reason"]])
                    yield choice["text"]


async def main(url: str, path: str, limit: str = "400") -> None:
    template, vocabulary = dp.ChatTemplate.load(path), dp.Vocabulary.load(path)
    fmt = dp.analyze(template)
    prompt = template.render([QUESTION], tools=TOOLS, add_generation_prompt=True)

    # Leave `structured_outputs` out, and the model is free to call or not.
    asked = {"tool_choice": "required", "parallel_tool_calls": False, "vocabulary": vocabulary}
    tag = json.dumps(dp.structural_tag(fmt, TOOLS, prompt=prompt, **asked))
    body = {"prompt": prompt, "stream": True, "max_tokens": int(limit)}
    body |= {"skip_special_tokens": False, "add_special_tokens": False}  # vLLM's and SGLang's own
    body |= {"structured_outputs": {"structural_tag": tag}}  # vLLM's own
    ended: list[str] = []
    reason = lambda: ended[-1] if ended else "aborted"  # noqa: E731
    deltas = dp.aiter_deltas(
        texts(url, body, ended), fmt, tools=TOOLS, prompt=prompt, finish_reason=reason
    )
    async for delta in deltas:
        if isinstance(delta, dp.ToolCallDelta) and delta.last:  # whole: it may run
            call = deltas.parser.message.tool_calls[delta.index]
            print("run", call.name, call.healed())
    print(deltas.parser.finish_reason, repr(deltas.parser.message.content))


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])) if sys.argv[2:] else __doc__)
