"""mlx-lm on Apple silicon: token ids, and a grammar as a logits processor.

    python mlx_ids.py MODEL [TOKENS]

MODEL is a folder, or a model name for mlx-lm. TOKENS limits the generated tokens.
"""

import sys

import llguidance.hf
import mlx.core as mx
from mlx_lm import load, stream_generate

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
    model, tokenizer = load(path)
    template = dp.ChatTemplate.load(tokenizer)
    fmt, vocabulary = dp.analyze(template), dp.Vocabulary.load(tokenizer)
    prompt = template.render([QUESTION], tools=TOOLS, add_generation_prompt=True)
    ids = tokenizer.encode(prompt, add_special_tokens=False)
    parser = dp.TokenParser(fmt, vocabulary, prompt=ids, tools=TOOLS)

    # Without the grammar, the model may also answer without a call.
    asked = {"tool_choice": "required", "parallel_tool_calls": False, "vocabulary": vocabulary}
    lark = dp.gbnf(fmt, TOOLS, prompt=prompt, **asked).as_lark()
    words = tokenizer._tokenizer  # noqa: SLF001 - the wrapped tokenizer
    words = llguidance.hf.from_tokenizer(words, n_vocab=model.args.vocab_size)
    matcher = llguidance.LLMatcher(words, llguidance.LLMatcher.grammar_from_lark(lark))

    def held(so_far: mx.array, scores: mx.array) -> mx.array:
        if len(so_far) > len(ids):
            matcher.consume_token(so_far[-1].item())
        allowed = mx.array(list(matcher.compute_logit_bias())) > 0
        return mx.where(allowed, scores, -mx.inf)

    options = {"max_tokens": limit, "logits_processors": [held]}
    for step in stream_generate(model, tokenizer, ids, **options):  # `step.text` has markers too
        run(parser, parser.feed(step.token))
        if step.finish_reason:
            run(parser, parser.finish(step.finish_reason))
    print(parser.finish_reason, repr(parser.message.content))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])) if sys.argv[1:] else __doc__)
