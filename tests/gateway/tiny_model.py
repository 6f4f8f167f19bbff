"""An untrained model for llama.cpp with one layer and a token for each byte.

It writes noise, except within a grammar. This suffices to test the protocol between server and
gateway. It requires the package `gguf`.
"""

from __future__ import annotations

import sys

SPECIAL = ("<s>", "<|turn|>", "<|done|>", "<call>", "</call>", "<ponder>", "</ponder>")
END = 257 + SPECIAL.index("<|done|>")
WIDTH, FEED, CONTEXT = 64, 64, 4096

SERVER = """
import sys, time, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.n_parallel, params.port = sys.argv[1], 4096, 4, 0
params.hostnames = ["127.0.0.1"]
params.warmup = False
params.endpoint_props = params.endpoint_slots = True
params.sampling.seed = 7
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
time.sleep(1000)
"""
"""A program that runs llama.cpp's server from the package `xllamacpp`, and prints its address."""


def byte_names():
    """Return the vocabulary's character for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    names = {byte: chr(byte) for byte in plain}
    return names | {byte: chr(256 + at) for at, byte in enumerate(others)}


def write_model(path, template):
    """Write the model with a chat template as a GGUF file."""
    import gguf
    import numpy as np

    names = byte_names()
    tokens = [names[byte] for byte in range(256)] + [names[97] + names[98], *SPECIAL]
    types = [gguf.TokenType.NORMAL] * 257 + [gguf.TokenType.CONTROL] * 3
    types += [gguf.TokenType.USER_DEFINED] * (len(tokens) - len(types))
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(FEED)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // 2)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([f"{names[97]} {names[98]}"])
    writer.add_bos_token_id(tokens.index("<s>"))
    writer.add_eos_token_id(tokens.index("<|done|>"))
    writer.add_add_bos_token(True)
    writer.add_chat_template(template)
    random = np.random.default_rng(7)

    def add(name, *shape):
        made = random.standard_normal(shape) * 0.2 if len(shape) > 1 else np.ones(shape)
        writer.add_tensor(name, made.astype(np.float32))

    add("token_embd.weight", len(tokens), WIDTH)
    add("output_norm.weight", WIDTH)
    add("output.weight", len(tokens), WIDTH)
    add("blk.0.attn_norm.weight", WIDTH)
    add("blk.0.ffn_norm.weight", WIDTH)
    for part in ("q", "k", "v", "output"):
        add(f"blk.0.attn_{part}.weight", WIDTH, WIDTH)
    for part in ("gate", "up", "down"):
        add(f"blk.0.ffn_{part}.weight", FEED, WIDTH)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    from pathlib import Path

    write_model(sys.argv[1], Path(sys.argv[2]).read_text())
