"""transformers with text: a streamer yields the output, and each call runs at once.

    python transformers_text.py MODEL [TOKENS]

MODEL is an argument of `from_pretrained`. A call truncated at the limit of TOKENS does not run.
"""

import sys
from threading import Thread

import torch
import xgrammar
from transformers import AutoModelForCausalLM, AutoTokenizer, TextIteratorStreamer
from xgrammar.contrib.hf import LogitsProcessor

import deltaparse as dp

ZONE = {"enum": ["UTC", "Asia/Tokyo", "Europe/Lisbon"]}
SCHEMA = {"type": "object", "properties": {"zone": ZONE}, "required": ["zone"]}
TOOLS = [{"type": "function", "function": {"name": "clock", "parameters": SCHEMA}}]
QUESTION = {"role": "user", "content": "What time is it in Tokyo?"}


def main(path: str, limit: int = 400) -> None:
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModelForCausalLM.from_pretrained(path)
    template = dp.ChatTemplate.load(tokenizer)
    fmt, vocabulary = dp.analyze(template), dp.Vocabulary.load(tokenizer)
    prompt = template.render([QUESTION], tools=TOOLS, add_generation_prompt=True)

    # Without `logits_processor`, the model may also answer without a call.
    asked = {"tool_choice": "required", "parallel_tool_calls": False, "vocabulary": vocabulary}
    tag = dp.structural_tag(fmt, TOOLS, prompt=prompt, **asked)
    info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=model.config.vocab_size)
    compiled = xgrammar.GrammarCompiler(info).compile_structural_tag(tag)

    # Most markers are special tokens, and the default, True, would drop them from the text.
    streamer = TextIteratorStreamer(tokenizer, skip_prompt=True, skip_special_tokens=False)
    ids = tokenizer(prompt, add_special_tokens=False, return_tensors="pt")
    options = {"max_new_tokens": limit, "logits_processor": [LogitsProcessor(compiled)]}
    written = []
    run = lambda: written.extend(model.generate(**ids, **options, streamer=streamer))  # noqa: E731
    (thread := Thread(target=run)).start()

    def reason() -> str:  # `generate` has no finish reason, only a last token
        thread.join()
        ends = torch.tensor(model.generation_config.eos_token_id)
        return "eos_token" if written[0][-1] in ends else "max_length"

    deltas = dp.iter_deltas(streamer, fmt, tools=TOOLS, prompt=prompt, finish_reason=reason)
    for delta in deltas:
        if isinstance(delta, dp.ToolCallDelta) and delta.last:  # complete: it may run
            call = deltas.parser.message.tool_calls[delta.index]
            print("run", call.name, call.healed())
    print(deltas.parser.finish_reason, repr(deltas.parser.message.content))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])) if sys.argv[1:] else __doc__)
