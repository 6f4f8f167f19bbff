"""A rollout of several turns in token ids, with a loss mask: no text is tokenized twice.

Only the text between two outputs is tokenized. So the training uses the sampled ids with their own
log-probabilities, and the mask marks them.
"""

from typing import Any

import deltaparse as dp
from deltaparse.stream.tokens import loss_mask

TEMPLATE = dp.ChatTemplate("""\
{%- for m in messages -%}<|{{ m.role }}|>{{ m.content or "" }}
{%- for c in m.tool_calls or [] %}<|call|>{{ c.function | tojson }}<|/call|>{% endfor %}<|end|>
{%- endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}""")
SPECIAL = ("<|user|>", "<|assistant|>", "<|tool|>", "<|call|>", "<|/call|>", "<|end|>")
BYTES = [*(bytes([byte]) for byte in range(256)), *map(str.encode, SPECIAL)]
VOCABULARY = dp.Vocabulary(dict(enumerate(BYTES)), special=range(256, len(BYTES)))
SCRIPT = ['<|call|>{"name": "add", "arguments": {"a": 2,"b":  2}}<|/call|><|end|>', "4.<|end|>"]


def encode(text: str) -> list[int]:
    """Tokenize. With a real tokenizer: `tokenizer.encode(text, add_special_tokens=False)`."""
    parts = VOCABULARY.spelled(text).stretches
    return [id for part in parts for id in (part.text.encode() if part.id is None else [part.id])]


def rollout(messages: list[Any], script: list[str]) -> tuple[list[int], list[int]]:
    """Let the model call functions until it answers. Return all ids, and the loss mask."""
    ids = encode(TEMPLATE.render(messages, add_generation_prompt=True))
    mask = [0] * len(ids)
    for turn in script:
        parser = dp.TokenParser(dp.analyze(TEMPLATE), VOCABULARY, prompt=ids)
        sampled = encode(turn)  # a model would sample here
        parser.feed(sampled)
        parser.finish("stop")
        ids += sampled
        mask += loss_mask(parser.roles)
        results = [
            {"role": "tool", "tool_call_id": call.id, "content": str(sum(call.healed().values()))}
            for call in parser.message.tool_calls
        ]
        if not results:
            break
        bridge = TEMPLATE.bridge(turn, results, messages=messages)
        if bridge is None:
            raise SystemExit(TEMPLATE.why_no_bridge(turn, results, messages=messages))
        between = encode(bridge)
        ids += between
        mask += [0] * len(between)
        messages += [parser.message, *results]
    return ids, mask


if __name__ == "__main__":
    ids, mask = rollout([{"role": "user", "content": "2 + 2?"}], SCRIPT)
    print(b"".join(VOCABULARY[id] for id in ids).decode())
    print("".join(".^"[learnt] * len(VOCABULARY[id]) for learnt, id in zip(mask, ids, strict=True)))
