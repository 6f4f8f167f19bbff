"""Exports of modules and packages, and the direction of imports."""

from __future__ import annotations

import ast
import importlib
import os
import pickle
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import deltaparse
from deltaparse import partial

REPOSITORY = Path(__file__).parents[1]
ROOT = Path(deltaparse.__file__).parent
ENGINE = ["partial", "stream"]
ON_IT = ["analyzer", "gate", "grammar", "protocols", "servers", "tool_parsers"]
ABOVE = ["gateway", "inspector", "replay", "testing"]
PACKAGES = ["deltaparse", *(f"deltaparse.{name}" for name in ENGINE + ON_IT + ABOVE)]
LAZY = ["deltaparse", "deltaparse.partial", "deltaparse.protocols", "deltaparse.stream"]

# Allowed imports between the parts of the package; "" is the package itself.
FLOOR = ["lazy", "version"]
MAY_IMPORT = {
    **{name: [] for name in FLOOR},
    "partial": FLOOR,
    "stream": [*FLOOR, "partial"],
    **dict.fromkeys(ON_IT, FLOOR + ENGINE),
    "servers": [*FLOOR, *ENGINE, "analyzer", "grammar"],
    "": FLOOR + ENGINE + ON_IT,
    "gateway": [*FLOOR, *ENGINE, "analyzer", "grammar", "inspector", "protocols"],
    "inspector": [*FLOOR, *ENGINE, "replay"],
    "replay": [*FLOOR, *ENGINE, "analyzer"],
    "testing": [*FLOOR, *ENGINE, "analyzer", "grammar"],
    "command": ["", *FLOOR, *ENGINE, *ON_IT, *ABOVE],
    "__main__": ["command"],
}
# Allowed imports within `stream`: three packages, then the modules above them, lowest first.
ROOMS = {"wire": set(), "message": set(), "reading": {"wire", "message"}}
for module in (
    "tools",
    "finish_reasons",
    "missing_marker",
    "request",
    "snapshot",
    "fast_path",
    "parser",
    "iterate",
    "tokens",
    "suggest",
    "repetition",
    "",
):
    ROOMS[module] = set(ROOMS)


def name_of(path):
    parts = ["deltaparse", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {
    name_of(Path(folder, file)): Path(folder, file)
    for folder, _, files in os.walk(ROOT, followlinks=True)
    for file in sorted(files)
    if file.endswith(".py")
}


@cache
def tree(name):
    """Return the docstring of a module."""
    return ast.parse(FILES[name].read_text(encoding="utf-8"))


def imported_by(name):
    """Return the absolute names of all modules that a module imports."""
    above = name.split(".")
    if FILES[name].name != "__init__.py":
        above.pop()
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = above[: len(above) + 1 - node.level] if node.level else []
            module = ".".join([*start, *filter(None, [node.module])])
            inner = [f"{module}.{alias.name}" for alias in node.names]
            yield from (found if found in FILES else module for found in inner)


def part(name, level):
    """Return the part of the package for a module, "" for the package itself."""
    return [*name.split("."), "", ""][level]


@pytest.mark.parametrize("name", FILES)
def test_modules_have_docstrings(name):
    assert ast.get_docstring(tree(name))


@pytest.mark.parametrize("name", FILES)
def test_modules_have_an_all_list(name):
    module, is_empty = importlib.import_module(name), len(tree(name).body) == 1
    exported = [] if is_empty else module.__all__
    assert exported == sorted(
        set(exported), key=lambda text: (text.upper() != text, text[0].islower(), text)
    )
    assert all(getattr(module, each) is not None for each in exported)


@pytest.mark.parametrize("name", FILES)
def test_imports_follow_the_allowed_direction(name):
    for imported in imported_by(name):
        if imported.split(".")[0] != "deltaparse":
            continue
        here, there = part(name, 1), part(imported, 1)
        if here != there:
            assert there in MAY_IMPORT[here], imported
        elif here == "stream" and part(name, 2) != part(imported, 2):
            assert part(imported, 2) in ROOMS[part(name, 2)], imported


def cycles(graph):
    """Return the groups of modules that import each other (Tarjan's algorithm)."""
    numbers, lowest, stack, found = {}, {}, [], []

    def visit(name):
        numbers[name] = lowest[name] = len(numbers)
        stack.append(name)
        for imported in graph[name]:
            if imported not in numbers:
                visit(imported)
            if imported in stack:
                lowest[name] = min(lowest[name], lowest[imported])
        if lowest[name] == numbers[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1 or name in graph[name]:
                found.append(group)

    for name in graph:
        if name not in numbers:
            visit(name)
    return found


def test_cycles_are_found():
    assert cycles({"a": ["b"], "b": ["c"], "c": ["b"], "d": ["a"]}) == [["b", "c"]]
    assert cycles({"a": ["a"], "b": []}) == [["a"]]
    assert cycles({"a": ["b", "c"], "b": ["c"], "c": []}) == []


def test_no_modules_import_each_other():
    graph = {name: sorted(FILES.keys() & set(imported_by(name))) for name in FILES}
    assert sum(map(len, graph.values())) > len(FILES)
    assert cycles(graph) == []


def importers(module):
    """Return the modules that import a module or a part of it."""
    return {
        name
        for name in FILES
        if not name.startswith(module)
        and any(imported.startswith(module) for imported in imported_by(name))
    }


def test_grammar_imports_no_readers():
    found = importers("deltaparse.stream.reading")
    assert "deltaparse.stream.parser" in found
    assert not [name for name in found if name.startswith("deltaparse.grammar")]


def test_next_prompt_is_above_the_analysis():
    assert importers("deltaparse.analyzer.next_prompt") == {"deltaparse.analyzer.chat_template"}


def test_names_of_modules_occur_once():
    names = Counter(path.stem for path in FILES.values())
    repeated = {name for name, count in names.items() if count > 1}
    assert repeated <= {"__init__", "__main__"}


@pytest.mark.parametrize("name", PACKAGES)
def test_packages_export_their_imports(name):
    relative = [node for node in ast.walk(tree(name)) if getattr(node, "level", 0)]
    imported = {alias.name for node in relative for alias in node.names}
    package = importlib.import_module(name)
    assert set(package.__all__) == imported - {"NO_LINKS", "__version__", "lazy_names"}
    assert set(package.__all__) <= set(dir(package))


@pytest.mark.parametrize("name", LAZY)
def test_type_checkers_and_python_find_the_same_names(name):
    (lazy,) = [node for node in tree(name).body if isinstance(node, ast.If) and node.orelse]
    checked = {
        f".{node.module}": {alias.name for alias in node.names} for node in lazy.body if node.module
    }
    homes = ast.literal_eval(lazy.orelse[0].value.args[1])
    assert {home: set(names.split()) for home, names in homes.items()} == checked
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nothing'"):
        _ = importlib.import_module(name).nothing


def test_packages_are_attributes():
    for name in ENGINE + ON_IT + ABOVE:
        assert getattr(deltaparse, name) is importlib.import_module(f"deltaparse.{name}")
        assert name in dir(deltaparse)


def test_no_name_hides_a_module():
    modules = {name: importlib.import_module(name) for name in FILES if "." in name}
    hidden = [
        name
        for name, module in modules.items()
        if getattr(importlib.import_module(name.rpartition(".")[0]), name.rpartition(".")[2])
        is not module
    ]
    assert hidden == []


def test_names_support_pickle_and_star_imports():
    for name in deltaparse.__all__:
        exported = getattr(deltaparse, name)
        if isinstance(exported, type) or hasattr(exported, "__qualname__"):
            # From Python 3.14 on, each load of a union of types is a new object.
            assert pickle.loads(pickle.dumps(exported)) == exported
    star = {}
    exec("from deltaparse import *", star)
    assert star.keys() - {"__builtins__"} == set(deltaparse.__all__)


def test_public_names_are_those_of_the_contract():
    names = """ChatTemplate analyze WireFormat StreamParser parse iter_deltas aiter_deltas
    Vocabulary ContentDelta ReasoningDelta ToolCallDelta Delta Message ToolCall Tools Policies
    Issue get_format list_formats register_format suggest_formats Suggestion create_tool_parser
    BaseToolParser ToolCallItem ParseResult ToolGate Candidate Candidates Decision ExecutableCall
    Telemetry gbnf
    Grammar structural_tag chat_completion_chunks call_id mistral_call_id random_call_id
    from_response_template to_response_template partial DeltaParseError UsageError FormatError
    TemplateError MalformedOutput"""
    assert set(names.split()) <= set(deltaparse.__all__)
    assert len(deltaparse.__all__) < 70
    primitives = "search Found Held Absent Pattern heal_json HealedJson JsonScanner Markers"
    assert set(primitives.split()) <= set(partial.__all__)


def test_version_has_a_single_source():
    pyproject = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    source = (REPOSITORY / pyproject["tool"]["hatch"]["version"]["path"]).read_text("utf-8")
    assert pyproject["project"]["dynamic"] == ["readme", "version"]
    assert f'__version__ = "{deltaparse.__version__}"' in source.splitlines()
