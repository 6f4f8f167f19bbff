"""The examples of engines, with a script in the place of each engine."""

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
def test_calls_run_and_cut_calls_do_not(
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


def test_an_endpoint_of_completions(folder, capsys):
    with serving(completions) as (url, asked):
        run("completions_endpoint.py", url, folder)
        assert capsys.readouterr().out == WHOLE
        run("completions_endpoint.py", url, folder, "40")
        assert capsys.readouterr().out == CUT
    assert asked[0]["skip_special_tokens"] is False
    assert json.loads(asked[0]["structured_outputs"]["structural_tag"])["type"] == "structural_tag"


@pytest.mark.parametrize("count", [40, 70])
def test_an_endpoint_that_breaks_off(count, folder, capsys):
    """The turn is cut, whatever was whole before."""
    broken = [{"choices": [{"text": CALL[:count], "finish_reason": None}]}]
    with serving(lambda body: broken) as (url, _):
        run("completions_endpoint.py", url, folder)
    assert capsys.readouterr().out == RUNS * (count > 65) + CUT


def test_an_endpoint_that_reports_an_error(folder):
    failing = serving(lambda body: [{"error": {"message": "no memory"}}])
    with failing as (url, _), pytest.raises(RuntimeError, match="no memory"):
        run("completions_endpoint.py", url, folder)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("engines/*.py")), ids=lambda path: path.name)
def test_without_arguments_it_says_how_it_is_run(path, monkeypatch):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if not any("sys.argv" in ast.unparse(node) for node in tree.body):
        pytest.skip("another program runs it")
    xgrammar()  # with what stands for torch there it would not be imported
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
    """The modules that a file imports, each behind the packages above it."""
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
    assert "Tokyo" in "".join(map(chr, asked[0]["prompt"]))  # ids, to which no BOS token is added
    assert asked[0]["grammar"].startswith("root ::=")
