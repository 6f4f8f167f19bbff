"""Any server with `/v1/completions`, such as vLLM or SGLang, over httpx.

    python completions_endpoint.py URL MODEL [TOKENS]

MODEL is a folder with the template and the tokenizer. TOKENS limits the generated tokens.
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
    """Yield the text from the server. Closing the generator stops the model."""
    client = httpx.AsyncClient(base_url=url, timeout=60)
    async with client, client.stream("POST", "/v1/completions", json=body) as response:
        response.raise_for_status()
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                event = json.loads(line.removeprefix("data: "))
                if "error" in event:
                    raise RuntimeError(event["error"])
                for choice in event["choices"]:  # empty in the event of the usage
                    ended += filter(None, [choice["finish_reason"]])
                    yield choice["text"]


async def main(url: str, path: str, limit: str = "400") -> None:
    template, vocabulary = dp.ChatTemplate.load(path), dp.Vocabulary.load(path)
    fmt = dp.analyze(template)
    prompt = template.render([QUESTION], tools=TOOLS, add_generation_prompt=True)

    # Without `structured_outputs`, the model may also answer without a call.
    asked = {"tool_choice": "required", "parallel_tool_calls": False, "vocabulary": vocabulary}
    tag = json.dumps(dp.structural_tag(fmt, TOOLS, prompt=prompt, **asked))
    body = {"prompt": prompt, "stream": True, "max_tokens": int(limit)}
    body |= {"skip_special_tokens": False, "add_special_tokens": False}  # for vLLM and SGLang
    body |= {"structured_outputs": {"structural_tag": tag}}  # for vLLM
    ended: list[str] = []
    reason = lambda: ended[-1] if ended else "aborted"  # noqa: E731
    deltas = dp.aiter_deltas(
        texts(url, body, ended), fmt, tools=TOOLS, prompt=prompt, finish_reason=reason
    )
    async for delta in deltas:
        if isinstance(delta, dp.ToolCallDelta) and delta.last:  # complete: it may run
            call = deltas.parser.message.tool_calls[delta.index]
            print("run", call.name, call.healed())
    print(deltas.parser.finish_reason, repr(deltas.parser.message.content))


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])) if sys.argv[2:] else __doc__)
