"""llama.cpp in this process, with llama-cpp-python, as token ids to keep special tokens.

    python llama_cpp_ids.py MODEL [TOKENS]

MODEL is a GGUF file. TOKENS limits the generated tokens.
"""

import sys

from llama_cpp import Llama, LlamaGrammar, llama_vocab_is_eog

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
    llm = Llama(path, n_ctx=4096, verbose=False)
    template, vocabulary = dp.ChatTemplate.load(path), dp.Vocabulary.load(path)
    fmt = dp.analyze(template)
    prompt = template.render([QUESTION], tools=TOOLS, add_generation_prompt=True)
    ids = llm.tokenize(prompt.encode(), add_bos=False, special=True)
    parser = dp.TokenParser(fmt, vocabulary, prompt=ids, tools=TOOLS)

    # Without the grammar, the model may also answer without a call.
    asked = {"tool_choice": "required", "parallel_tool_calls": False, "vocabulary": vocabulary}
    grammar = LlamaGrammar.from_string(dp.gbnf(fmt, TOOLS, prompt=prompt, **asked).text)

    # `create_completion` drops special tokens, and thereby markers. Token ids keep them.
    reason = "limit"
    for count, id in enumerate(llm.generate(ids, grammar=grammar, temp=0.8), 1):
        run(parser, parser.feed(id))
        if llama_vocab_is_eog(llm._model.vocab, id):  # noqa: SLF001 - there is no public name
            reason = "eos"
            break
        if count == limit:
            break
    run(parser, parser.finish(reason))
    print(parser.finish_reason, repr(parser.message.content))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])) if sys.argv[1:] else __doc__)
