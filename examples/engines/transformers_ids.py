"""transformers, as ids: `generate` feeds a parser of tokens, so that no setting can lose a marker.

    python transformers_ids.py MODEL [TOKENS]

MODEL is what `from_pretrained` takes; TOKENS the most that it may write.
"""

import sys
from types import SimpleNamespace

import llguidance.hf
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import deltaparse as dp

ZONE = {"enum": ["UTC", "Asia/Tokyo", "Europe/Lisbon"]}
SCHEMA = {"type": "object", "properties": {"zone": ZONE}, "required": ["zone"]}
TOOLS = [{"type": "function", "function": {"name": "clock", "parameters": SCHEMA}}]
QUESTION = {"role": "user", "content": "What time is it in Tokyo?"}


def run(parser: dp.TokenParser, deltas: list[dp.Delta]) -> None:
    for delta in deltas:
        if isinstance(delta, dp.ToolCallDelta) and delta.last:  # whole: it may run
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

    # Leave the grammar out, and the model is free to call or not.
    asked = {"tool_choice": "required", "parallel_tool_calls": False, "vocabulary": vocabulary}
    lark = dp.gbnf(fmt, TOOLS, prompt=prompt, **asked).as_lark()
    words = llguidance.hf.from_tokenizer(tokenizer, n_vocab=model.config.vocab_size)
    matcher = llguidance.LLMatcher(words, llguidance.LLMatcher.grammar_from_lark(lark))

    def held(so_far: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        if so_far.shape[1] > ids.shape[1]:
            matcher.consume_token(int(so_far[0, -1]))
        allowed = torch.tensor(list(matcher.compute_logit_bias()), dtype=torch.bool)
        return scores.masked_fill(~allowed, -torch.inf)

    def put(new: torch.Tensor) -> None:
        if new.ndim == 1:  # the prompt comes first, with two dimensions
            run(parser, parser.feed(new.tolist()))

    streamer = SimpleNamespace(put=put, end=lambda: None)
    options = {"logits_processor": [held], "max_new_tokens": limit}
    written = model.generate(ids, streamer=streamer, **options)[0]
    ended = written[-1] == tokenizer.eos_token_id  # `generate` does not say why it ended
    run(parser, parser.finish("eos_token" if ended else "max_length"))
    print(parser.finish_reason, repr(parser.message.content))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
