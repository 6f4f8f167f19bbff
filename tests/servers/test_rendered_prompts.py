"""Prompts of short conversations with the switches of a request."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from deltaparse.servers.rendered_prompts import rendered_prompt

SOURCE = "{{ messages[0].content }}{{ deep }}{% if add_generation_prompt %}<|a|>{% endif %}"
TOKENIZER = SimpleNamespace(chat_template=SOURCE, bos_token="", eos_token="")


@pytest.mark.parametrize(
    ("switches", "prompt"),
    [
        ({}, "Hi<|a|>"),
        ({"deep": 1, "self": 2}, "Hi1<|a|>"),
        ({"messages": [], "tools": 5}, "Hi<|a|>"),
        ({"add_generation_prompt": False}, "Hi"),
        ({"deep": {5}}, ""),
    ],
)
def test_prompt_is_rendered_with_any_switches(switches, prompt):
    assert rendered_prompt(TOKENIZER, switches) == prompt
