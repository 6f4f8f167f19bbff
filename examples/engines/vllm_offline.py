"""vLLM without a server: a batch of token ids, with calls required by a structural tag.

    python vllm_offline.py MODEL [TOKENS]

MODEL is a folder, or a model name for vLLM. TOKENS limits the generated tokens.
"""

import json
import sys

from vllm import LLM, SamplingParams
from vllm.sampling_params import StructuredOutputsParams

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


def main(path: str, limit: int = 400) -> None:
    llm = LLM(path)
    tokenizer = llm.get_tokenizer()
    template, vocabulary = dp.ChatTemplate.load(tokenizer), dp.Vocabulary.load(tokenizer)
    fmt = dp.analyze(template)
    prompt = template.render([QUESTION], tools=TOOLS, add_generation_prompt=True)
    ids = tokenizer.encode(prompt, add_special_tokens=False)

    # Without the grammar, the model may also answer without a call.
    asked = {"tool_choice": "required", "parallel_tool_calls": False, "vocabulary": vocabulary}
    tag = json.dumps(dp.structural_tag(fmt, TOOLS, prompt=prompt, **asked))
    sampling = SamplingParams(
        max_tokens=limit,
        skip_special_tokens=False,  # for `text` (`token_ids` always has all tokens)
        structured_outputs=StructuredOutputsParams(structural_tag=tag),
    )
    for request in llm.generate([{"prompt_token_ids": ids}] * 2, sampling):
        answer = request.outputs[0]
        parser = dp.TokenParser(fmt, vocabulary, prompt=ids, tools=TOOLS)
        run(parser, parser.feed(answer.token_ids))
        run(parser, parser.finish(answer.finish_reason))
        print(parser.finish_reason, repr(parser.message.content))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])) if sys.argv[1:] else __doc__)
