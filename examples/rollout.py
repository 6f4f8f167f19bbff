"""A rollout of several turns in token ids, with a loss mask: no id is ever made twice.

The model samples ids; a parser of ids reads them; what the template writes behind them is all
that is tokenized. So the ids that were sampled, and their log-probabilities, are those of the
sequence that is trained on, and the mask says which of its tokens the model wrote.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import deltaparse as dp
from deltaparse.stream.tokens import loss_mask

TEMPLATE = """\
{%- for message in messages -%}
<|{{ message.role }}|>{{ message.content or "" }}
{%- for call in message.tool_calls or [] -%}
{%- set f = call.function -%}
<|call|>{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson }}}<|/call|>
{%- endfor -%}<|end|>
{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>{% endif %}"""

SPECIAL = ("<|user|>", "<|assistant|>", "<|tool|>", "<|call|>", "<|/call|>", "<|end|>")
TOKENS = {id: bytes([id]) for id in range(256)} | {
    256 + at: text.encode() for at, text in enumerate(SPECIAL)
}
VOCABULARY = dp.Vocabulary(TOKENS, special=range(256, 256 + len(SPECIAL)))
SCRIPT = (
    '<|call|>{"name": "add", "arguments": {"a": 2,"b":  2}}<|/call|><|end|>',
    "It is 4.<|end|>",
)


def encode(text: str) -> list[int]:
    """Tokenize; with a real tokenizer, `tokenizer.encode(text, add_special_tokens=False)`."""
    ids: list[int] = []
    for part in VOCABULARY.spelled(text).stretches:
        ids += part.text.encode() if part.id is None else [part.id]
    return ids


def sample(script: str) -> Iterator[int]:
    """Stand in for a model that samples."""
    yield from encode(script)


def rollout(messages: list[Any], script: Sequence[str]) -> tuple[list[int], list[int]]:
    """Let the model call functions until it answers; return all ids, and the mask for the loss."""
    template = dp.ChatTemplate(TEMPLATE)
    fmt = dp.analyze(template)
    ids = encode(template.render(messages, add_generation_prompt=True))
    mask = [0] * len(ids)
    for turn in script:
        parser = dp.TokenParser(fmt, VOCABULARY, prompt=ids)
        sampled = list(sample(turn))
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
        bridge = template.bridge(turn, results, messages=messages)
        if bridge is None:
            raise SystemExit(template.why_no_bridge(turn, results, messages=messages))
        between = encode(bridge)
        ids += between
        mask += [0] * len(between)
        messages += [parser.message, *results]
    return ids, mask


def main() -> None:
    ids, mask = rollout([{"role": "user", "content": "2 + 2?"}], SCRIPT)
    text = b"".join(VOCABULARY[id] for id in ids).decode()
    print(text)
    print(
        "".join(
            "^" if learnt else "."
            for learnt, id in zip(mask, ids, strict=True)
            for _ in VOCABULARY[id]
        )
    )


if __name__ == "__main__":
    main()
