"""The tables in the README of the examples: all files, their lines, and their packages."""

from __future__ import annotations

import ast
import re
import runpy
import sys

import pytest

from .stand_ins import EXAMPLES

RUN = runpy.run_path(str(EXAMPLES.parent / "tools" / "loops" / "run.py"))
ROWS = {example.path.relative_to(EXAMPLES).as_posix(): example for example in RUN["examples"]()}
FILES = [
    path.relative_to(EXAMPLES).as_posix()
    for path in sorted(EXAMPLES.rglob("*"))
    if path.suffix in (".py", ".mjs")
]
MADE_BY_OTHERS = {"engines/tiny_model.py", "engines/tiny_gguf.py", "clients/server.py"}
PACKAGES = {"llama_cpp": "llama-cpp-python", "mlx_lm": "mlx-lm", "mlx": "mlx[cpu]"}


def test_tables_list_all_examples():
    assert set(ROWS) == set(FILES) - MADE_BY_OTHERS


def test_rows_have_the_line_counts():
    for name, row in ROWS.items():
        assert (name, row.lines) == (name, len(row.path.read_text(encoding="utf-8").splitlines()))


@pytest.mark.parametrize("name", FILES)
def test_examples_are_short_and_self_contained(name):
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    assert len(text.splitlines()) < 70
    modules = {path.stem for path in EXAMPLES.rglob("*.py")}
    assert not set(re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE)) & modules


@pytest.mark.parametrize("name", [name for name in ROWS if name.endswith(".py")])
def test_rows_list_the_imported_packages(name):
    """Only the packages of the row and their dependencies are imported."""
    tree = ast.parse((EXAMPLES / name).read_text(encoding="utf-8"))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module.split(".")[0])
    named = " ".join(ROWS[name].packages)
    foreign = {one for one in found - {"deltaparse"} if one not in sys.stdlib_module_names}
    assert foreign == {one for one in foreign if PACKAGES.get(one, one.split("_")[0]) in named}
