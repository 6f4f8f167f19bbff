"""llama-server over httpx: its own `/completion` with GBNF, and its own template.

    python llama_server.py URL [TOKENS]

TOKENS limits the generated tokens.
"""

import json
import sys
from collections.abc import Iterator

import httpx

import deltaparse as dp

ZONE = {"enum": ["UTC", "Asia/Tokyo", "Europe/Lisbon"]}
SCHEMA = {"type": "object", "properties": {"zone": ZONE}, "required": ["zone"]}
TOOLS = [{"type": "function", "function": {"name": "clock", "parameters": SCHEMA}}]
QUESTION = {"role": "user", "content": "What time is it in Tokyo?"}


def texts(client: httpx.Client, body: dict[str, object], ended: list[str]) -> Iterator[str]:
    """Yield the text from the server. Closing the generator stops the model."""
    with client.stream("POST", "/completion", json=body) as response:
        response.raise_for_status()
        for line in response.iter_lines():
            if line.startswith("data: {"):
                event = json.loads(line.removeprefix("data: "))
                ended += filter(None, [event.get("stop_type")])  # "eos", "word" or "limit"
                yield event["content"]


def main(url: str, limit: int = 400) -> None:
    client = httpx.Client(base_url=url, timeout=60)
    told = client.get("/props").raise_for_status().json()
    template = dp.ChatTemplate(told["chat_template"], told["bos_token"], told["eos_token"])
    fmt = dp.analyze(template)
    prompt = template.render([QUESTION], tools=TOOLS, add_generation_prompt=True)

    # Without the grammar, the model may also answer without a call.
    grammar = dp.gbnf(fmt, TOOLS, prompt=prompt, tool_choice="required", parallel_tool_calls=False)
    # As token ids, because the server adds a second BOS token to a text prompt.
    asked = {"content": prompt, "add_special": False, "parse_special": True}
    ids = client.post("/tokenize", json=asked).raise_for_status().json()["tokens"]
    body = {"prompt": ids, "stream": True, "n_predict": limit, "grammar": grammar.text}
    body["preserved_tokens"] = grammar.preserved_tokens  # special tokens to keep in the text
    ended: list[str] = []
    reason = lambda: ended[-1] if ended else "aborted"  # noqa: E731
    deltas = dp.iter_deltas(
        texts(client, body, ended), fmt, tools=TOOLS, prompt=prompt, finish_reason=reason
    )
    for delta in deltas:
        if isinstance(delta, dp.ToolCallDelta) and delta.last:  # complete: it may run
            call = deltas.parser.message.tool_calls[delta.index]
            print("run", call.name, call.healed())
    print(deltas.parser.finish_reason, repr(deltas.parser.message.content))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])) if sys.argv[1:] else __doc__)
