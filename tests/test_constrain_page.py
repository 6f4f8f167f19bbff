"""The recipes of `docs/constrain.md`, run for each installed engine."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import deltaparse as dp

from .grammar.machines import llguidance, xgrammar

PAGE = (Path(__file__).parents[1] / "docs" / "constrain.md").read_text(encoding="utf-8")
RECIPE = re.compile(r"<!-- recipe: (\w+) -->\n```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
RECIPES = dict(RECIPE.findall(PAGE))
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "parameters": {"properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]
FORMAT = dp.get_format("hermes")
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
WRONG = CALL.replace("city", "town")


def recipe(name):
    """Return the function of a recipe, executed from the page."""
    names = {}
    exec(RECIPES[name], names)
    return names[name]


def test_every_engine_has_a_recipe():
    assert sorted(RECIPES) == ["body", "compiled", "matcher"]


def test_llama_cpp():
    made = recipe("body")("<|im_start|>assistant\n", FORMAT, TOOLS)
    assert made["grammar_lazy"] is True
    assert [one["type"] for one in made["grammar_triggers"]] == [1]
    assert made["grammar"].startswith("root ::= ")
    assert "<tool_call>" in made["preserved_tokens"]
    vocabulary = dp.Vocabulary({**{i: bytes([i]) for i in range(256)}, 256: b"<tool_call>"}, [256])
    made = recipe("body")("<|im_start|>assistant\n", FORMAT, TOOLS, vocabulary)
    assert made["grammar_triggers"] == [{"type": 0, "value": "256", "token": 256}]


@pytest.mark.skipif(llguidance() is None, reason="llguidance is not installed")
@pytest.mark.parametrize("request_", [{}, {"tool_choice": "required"}])
def test_llguidance(request_):
    tokenizer = llguidance()[1]
    for text, takes in ((CALL, True), (WRONG, False)):
        matcher = recipe("matcher")(tokenizer, FORMAT, TOOLS, **request_)
        data = list(text.encode())
        whole = matcher.try_consume_tokens(data) == len(data) and matcher.is_accepting()
        assert whole is takes


@pytest.mark.skipif(find_spec("xgrammar") is None, reason="xgrammar is not installed")
def test_xgrammar():
    module, compiler = xgrammar()
    found = recipe("compiled")(compiler, FORMAT, TOOLS)
    for text, takes in (("Let me see. " + CALL, True), (WRONG, False)):
        matcher = module.GrammarMatcher(found, terminate_without_stop_token=True)
        assert (matcher.accept_string(text.encode()) and matcher.is_completed()) is takes
