"""transformers with token ids: `generate` feeds a token parser, so no setting can drop a marker.

    python transformers_ids.py MODEL [TOKENS]

MODEL is an argument of `from_pretrained`. TOKENS limits the generated tokens.
"""

import sys
from types import SimpleNamespace

import torch
import xgrammar
from transformers import AutoModelForCausalLM, AutoTokenizer
from xgrammar.contrib.hf import LogitsProcessor

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
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModelForCausalLM.from_pretrained(path)
    template, vocabulary = dp.ChatTemplate.load(tokenizer), dp.Vocabulary.load(tokenizer)
    fmt = dp.analyze(template)
    prompt = template.render([QUESTION], tools=TOOLS, add_generation_prompt=True)
    ids = tokenizer(prompt, add_special_tokens=False, return_tensors="pt").input_ids
    parser = dp.TokenParser(fmt, vocabulary, prompt=ids[0].tolist(), tools=TOOLS)

    # Without the grammar, the model may also answer without a call.
    asked = {"tool_choice": "required", "parallel_tool_calls": False, "vocabulary": vocabulary}
    tag = dp.structural_tag(fmt, TOOLS, prompt=prompt, **asked)
    info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=model.config.vocab_size)
    compiled = xgrammar.GrammarCompiler(info).compile_structural_tag(tag)

    def put(new: torch.Tensor) -> None:
        if new.ndim == 1:  # the first tensor is the prompt, with two dimensions
            run(parser, parser.feed(new.tolist()))

    options = {"logits_processor": [LogitsProcessor(compiled)], "max_new_tokens": limit}
    options["streamer"] = SimpleNamespace(put=put, end=lambda: None)
    written = model.generate(ids, **options)[0]
    ended = written[-1] in torch.tensor(model.generation_config.eos_token_id)  # the last token
    run(parser, parser.finish("eos_token" if ended else "max_length"))
    print(parser.finish_reason, repr(parser.message.content))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])) if sys.argv[1:] else __doc__)
