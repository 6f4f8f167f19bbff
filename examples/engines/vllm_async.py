"""vLLM without a server, streaming: each call runs while the model still writes.

    python vllm_async.py MODEL [TOKENS]

MODEL is a folder. TOKENS limits the generated tokens.
"""

import asyncio
import json
import sys

from vllm import AsyncEngineArgs, SamplingParams
from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams
from vllm.v1.engine.async_llm import AsyncLLM

import deltaparse as dp

ZONE = {"enum": ["UTC", "Asia/Tokyo", "Europe/Lisbon"]}
SCHEMA = {"type": "object", "properties": {"zone": ZONE}, "required": ["zone"]}
TOOLS = [{"type": "function", "function": {"name": "clock", "parameters": SCHEMA}}]
QUESTION = {"role": "user", "content": "What time is it in Tokyo?"}


def run(parser: dp.TokenParser, deltas: list[dp.Delta]) -> None:
    for delta in deltas:
        if isinstance(delta, dp.ToolCallDelta) and delta.last:  # complete: it may run
            call = parser.message.tool_calls[delta.index]
            print("run", call.name, call.healed())


async def main(path: str, limit: int = 400) -> None:
    engine = AsyncLLM.from_engine_args(AsyncEngineArgs(model=path))
    template, tokenizer = dp.ChatTemplate.load(path), engine.get_tokenizer()
    fmt, vocabulary = dp.analyze(template), dp.Vocabulary.load(tokenizer)
    prompt = template.render([QUESTION], tools=TOOLS, add_generation_prompt=True)
    ids = tokenizer.encode(prompt, add_special_tokens=False)
    parser = dp.TokenParser(fmt, vocabulary, prompt=ids, tools=TOOLS)

    # Without the grammar, the model may also answer without a call.
    asked = {"tool_choice": "required", "parallel_tool_calls": False, "vocabulary": vocabulary}
    tag = json.dumps(dp.structural_tag(fmt, TOOLS, prompt=prompt, **asked))
    sampling = SamplingParams(
        max_tokens=limit,
        output_kind=RequestOutputKind.DELTA,  # each step has the new ids only
        skip_special_tokens=False,
        structured_outputs=StructuredOutputsParams(structural_tag=tag),
    )
    async for step in engine.generate({"prompt_token_ids": ids}, sampling, "request-1"):
        new = step.outputs[0]
        run(parser, parser.feed(new.token_ids))
        if new.finish_reason:
            run(parser, parser.finish(new.finish_reason))
    print(parser.finish_reason, repr(parser.message.content))
    engine.shutdown()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], *map(int, sys.argv[2:]))) if sys.argv[1:] else __doc__)
