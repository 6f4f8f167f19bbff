"""The examples of engines, each with a script instead of the engine."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import runpy
import sys
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate
from unittest.mock import MagicMock

import pytest

from ..grammar.machines import xgrammar
from ..support import needs
from .stand_ins import CALL, END, EXAMPLES, Script, completions, example, llama_server, serving

pytestmark = needs("transformers")

RUNS = "run clock {'zone': 'Asia/Tokyo'}\n"
WHOLE, CUT = f"{RUNS}tool_calls ''\n", "length ''\n"


@pytest.fixture(scope="module")
def tokenizer():
    return example("engines/tiny_model.py")["tokenizer"]()


@pytest.fixture(scope="module")
def folder(tokenizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    tokenizer.save_pretrained(folder)
    return str(folder)


def run(name, *given):
    main = example(f"engines/{name}")["main"]
    made = main(*given)
    if inspect.iscoroutine(made):
        asyncio.run(made)


@pytest.mark.parametrize(
    ("name", "engine", "times"),
    [
        ("llama_cpp_ids.py", Script.llama_cpp, 1),
        ("mlx_ids.py", Script.mlx_lm, 1),
        ("sglang_engine.py", Script.sglang, 1),
        ("vllm_async.py", Script.vllm, 1),
        ("vllm_offline.py", Script.vllm, 2),
    ],
)
def test_complete_calls_run_and_truncated_calls_do_not(
    name, engine, times, tokenizer, folder, monkeypatch, capsys
):
    script = Script(tokenizer)
    engine(script, monkeypatch)
    run(name, folder)
    assert capsys.readouterr().out == WHOLE * times
    run(name, folder, 12)
    assert capsys.readouterr().out == CUT * times
    for asked in script.asked:
        assert getattr(asked, "skip_special_tokens", False) is False


def test_completions_endpoint_runs_calls(folder, capsys):
    with serving(completions) as (url, asked):
        run("completions_endpoint.py", url, folder)
        assert capsys.readouterr().out == WHOLE
        run("completions_endpoint.py", url, folder, "40")
        assert capsys.readouterr().out == CUT
    assert asked[0]["skip_special_tokens"] is False
    assert json.loads(asked[0]["structured_outputs"]["structural_tag"])["type"] == "structural_tag"


@pytest.mark.parametrize("count", [40, 70])
def test_interrupted_endpoint_is_truncated(count, folder, capsys):
    """The turn is truncated, even if a complete call precedes the break."""
    broken = [{"choices": [{"text": CALL[:count], "finish_reason": None}]}]
    with serving(lambda body: broken) as (url, _):
        run("completions_endpoint.py", url, folder)
    assert capsys.readouterr().out == RUNS * (count > 65) + CUT


def test_endpoint_error_is_raised(folder):
    failing = serving(lambda body: [{"error": {"message": "no memory"}}])
    with failing as (url, _), pytest.raises(RuntimeError, match="no memory"):
        run("completions_endpoint.py", url, folder)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("engines/*.py")), ids=lambda path: path.name)
def test_example_without_arguments_prints_its_usage(path, monkeypatch):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if not any("sys.argv" in ast.unparse(node) for node in tree.body):
        pytest.skip("another program runs it")
    xgrammar()  # must be imported before torch is replaced
    for name in named_modules(tree):
        if find_spec(name.partition(".")[0]):
            import_module(name)
    for name in [one for one in named_modules(tree) if find_spec(one.partition(".")[0]) is None]:
        monkeypatch.setitem(sys.modules, name, MagicMock())
    monkeypatch.setattr(sys, "argv", [path.name])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert f"python {path.name} " in ended.value.code


def named_modules(tree):
    """Yield the modules that a file imports, each after its parent packages."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names if not isinstance(node, ast.ImportFrom) else [node.module]:
            yield from accumulate(name.split("."), "{}.{}".format)


def test_llama_server(tokenizer, capsys):
    props = {"chat_template": tokenizer.chat_template, "bos_token": "", "eos_token": END}
    with serving(llama_server, props) as (url, asked):
        run("llama_server.py", url)
        assert capsys.readouterr().out == WHOLE
        run("llama_server.py", url, 40)
        assert capsys.readouterr().out == CUT
    assert {"<tool_call>", "</tool_call>"} <= set(asked[0]["preserved_tokens"])
    # Token ids, without an additional BOS token
    assert "Tokyo" in "".join(map(chr, asked[0]["prompt"]))
    assert asked[0]["grammar"].startswith("root ::=")
