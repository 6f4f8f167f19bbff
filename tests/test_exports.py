"""Every module says what it exports, and every package what its users may import."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

import deltaparse
from deltaparse import analyzer, partial  # noqa: F401

ROOT = Path(deltaparse.__file__).parent
FOLDERS = ("partial", "stream", "analyzer")
MODULES = sorted(
    f"deltaparse.{folder}.{'.'.join(path.relative_to(ROOT / folder).with_suffix('').parts)}"
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*.py")
    if path.name != "__init__.py"
)
LAYER = {"partial": 0, "stream": 1, "analyzer": 2}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_exports_what_it_has(name):
    module = importlib.import_module(name)
    assert module.__doc__
    assert module.__all__ == sorted(
        module.__all__, key=lambda text: (text.upper() != text, text[0].islower(), text)
    )
    for exported in module.__all__:
        assert hasattr(module, exported)


@pytest.mark.parametrize("name", ["deltaparse", *(f"deltaparse.{folder}" for folder in FOLDERS)])
def test_a_package_exports_what_it_has(name):
    package = importlib.import_module(name)
    assert len(set(package.__all__)) == len(package.__all__)
    for exported in package.__all__:
        assert getattr(package, exported) is not None


@pytest.mark.parametrize("name", MODULES)
def test_imports_go_one_way(name):
    folder = name.split(".")[1]
    path = ROOT / Path(*name.split(".")[1:]).with_suffix(".py")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("deltaparse."):
            assert LAYER[node.module.split(".")[1]] < LAYER[folder]


def test_every_module_is_found():
    found = {
        info.name
        for folder in FOLDERS
        for info in pkgutil.walk_packages([str(ROOT / folder)], f"deltaparse.{folder}.")
        if not info.ispkg
    }
    assert found == set(MODULES)


def test_the_contract_of_names():
    names = """ChatTemplate analyze WireFormat StreamParser parse iter_deltas aiter_deltas
    ContentDelta
    ReasoningDelta ToolCallDelta Delta Message ToolCall Policies Issue chat_completion_chunks
    DeltaParseError partial get_format list_formats register_format suggest_formats Suggestion
    create_tool_parser BaseToolParser ToolCallItem ParseResult ToolGate Candidate Candidates
    Decision ExecutableCall Telemetry"""
    assert set(names.split()) <= set(deltaparse.__all__)
    assert {"Markers", "JsonScanner", "heal_json", "HealedJson"} <= set(partial.__all__)
