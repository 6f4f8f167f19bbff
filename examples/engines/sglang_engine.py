"""SGLang without a server, streaming: token ids, with calls required by a structural tag.

    python sglang_engine.py MODEL [TOKENS]

MODEL is a folder, or a model name for SGLang. TOKENS limits the generated tokens.
"""

import json
import sys

import sglang

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
    engine = sglang.Engine(model_path=path)
    tokenizer = engine.tokenizer_manager.tokenizer
    template, vocabulary = dp.ChatTemplate.load(tokenizer), dp.Vocabulary.load(tokenizer)
    fmt = dp.analyze(template)
    prompt = template.render([QUESTION], tools=TOOLS, add_generation_prompt=True)
    ids = tokenizer.encode(prompt, add_special_tokens=False)
    parser = dp.TokenParser(fmt, vocabulary, prompt=ids, tools=TOOLS)

    # Without the grammar, the model may also answer without a call.
    asked = {"tool_choice": "required", "parallel_tool_calls": False, "vocabulary": vocabulary}
    tag = json.dumps(dp.structural_tag(fmt, TOOLS, prompt=prompt, **asked))
    sampling = {"max_new_tokens": limit, "skip_special_tokens": False, "structural_tag": tag}
    read = 0
    for step in engine.generate(input_ids=ids, sampling_params=sampling, stream=True):
        run(parser, parser.feed(step["output_ids"][read:]))  # each step repeats all previous ids
        read = len(step["output_ids"])
        if step["meta_info"]["finish_reason"]:  # {"type": "stop", "matched": 2}
            run(parser, parser.finish(step["meta_info"]["finish_reason"]))
    print(parser.finish_reason, repr(parser.message.content))
    engine.shutdown()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])) if sys.argv[1:] else __doc__)
