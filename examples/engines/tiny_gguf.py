"""Write a random model for llama.cpp into a file, for use without a real model.

    python tiny_gguf.py FILE

It is untrained, and writes noise unless a grammar requires calls.
"""

import sys

import gguf
import numpy as np

TEMPLATE = """\
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{{ message.content or "" }}
{%- for call in message.tool_calls or [] -%}{% set f = call.function %}
{#- #}<tool_call>{{ {"name": f.name, "arguments": f.arguments} | tojson }}</tool_call>
{%- endfor %}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
SPECIAL = ["<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<pad>"]
SIZE = 64
# GPT-2's letters for bytes: printable bytes map to themselves, others follow from 256 on.
PRINTED = [*map(chr, range(33, 127)), *map(chr, range(161, 173)), *map(chr, range(174, 256))]
LETTERS = PRINTED + [chr(256 + at) for at in range(256 - len(PRINTED))]


def main(path: str) -> None:
    file = gguf.GGUFWriter(path, "llama")
    file.add_context_length(4096)
    file.add_embedding_length(SIZE)
    file.add_block_count(1)
    file.add_feed_forward_length(SIZE)
    file.add_head_count(2)
    file.add_layer_norm_rms_eps(1e-5)
    words, kinds = [*LETTERS, "aa", *SPECIAL], (gguf.TokenType.NORMAL, gguf.TokenType.CONTROL)
    file.add_tokenizer_model("gpt2")
    file.add_tokenizer_pre("gpt-2")
    file.add_token_list(words)
    file.add_token_types([kinds[word in SPECIAL] for word in words])
    file.add_token_merges(["a a"])
    file.add_eos_token_id(words.index("<|im_end|>"))
    file.add_chat_template(TEMPLATE)
    chance = np.random.default_rng(7)
    inner = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
    for name in ("token_embd", "output", *(f"blk.0.{name}" for name in inner)):
        shape = (SIZE if name.startswith("blk") else len(words), SIZE)
        file.add_tensor(f"{name}.weight", chance.normal(0, 0.05, shape).astype("float32"))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        file.add_tensor(f"{name}.weight", np.ones(SIZE, "float32"))
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if sys.argv[1:] else __doc__)
