"""Tests that grammars are identical in all processes, since engines and caches compare them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import deltaparse

PRINT_GRAMMARS = """
import json
import deltaparse as dp

properties = {
    "text": {"type": "string", **{f"keyword{i}": i for i in range(9)}},
    "both": {"allOf": [
        {"pattern": "a", "format": "b", "multipleOf": 2, "contains": {}, "propertyNames": {}},
        {"pattern": "c", "format": "d", "multipleOf": 3, "contains": True, "propertyNames": True},
    ]},
}
tools = [{"name": "f", "parameters": {"type": "object", "properties": properties}}]
for name in ("qwen3_coder", "deepseek_r1", "gpt_oss"):
    fmt = dp.get_format(name)
    for choice in ("auto", "required"):
        grammar = dp.gbnf(fmt, tools, tool_choice=choice)
        print(grammar.text, grammar.as_lark(), grammar.triggers, grammar.not_expressed)
        print(json.dumps(dp.structural_tag(fmt, tools, tool_choice=choice)))
"""


def printed(hash_seed):
    source = str(Path(deltaparse.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", PRINT_GRAMMARS],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": source},
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    return done.stdout


def test_two_processes_print_the_same_grammars():
    first, second = printed("1"), printed("2")
    assert "root ::= " in first
    assert "keyword8" in first
    assert first == second
