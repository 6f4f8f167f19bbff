"""Paths and names in pages and docstrings exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("analyzer", "bench", "docs", "examples", "fuzz", "partial", "src", "stream", "tests")
TEXTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "Makefile", "pyproject.toml")),
    *sorted(path for name in FOLDERS for path in ROOT.glob(f"{name}/**/*.md")),
    *sorted(path for name in FOLDERS for path in ROOT.glob(f"{name}/**/*.py")),
]
NAMED = re.compile(rf"`((?:{'|'.join(FOLDERS)}|tools)/[\w./-]*)`")


def named(path):
    """Return the repository paths in backticks in a file."""
    return NAMED.findall(path.read_text(encoding="utf-8"))


def test_paths_in_backticks_exist():
    missing = [
        f"{text.relative_to(ROOT)}: {path}"
        for text in TEXTS
        for path in named(text)
        if not (ROOT / path).exists()
    ]
    assert missing == []
    assert "partial/window.py" in named(ROOT / "docs" / "glossary.md")


def defined():
    """Return the names of all classes, functions, attributes and fields in the sources."""
    names = set()
    for folder in ("partial", "stream", "analyzer", "src"):
        for path in ROOT.glob(f"{folder}/**/*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef | ast.FunctionDef):
                    names.add(node.name)
                elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    names.add(node.id)
                elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                    names.add(node.attr)
    return names


def test_names_on_the_architecture_page_are_defined():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    tree = next(block for block in blocks if block.startswith("sections"))
    readers = re.findall(r"(?:^|─ )([A-Za-z_]+)", tree, re.MULTILINE)
    named = {*readers, *re.findall(r"`([A-Za-z]\w*(?:\.\w+)*)`", page)}
    words = {"yield", "deltaparse", "steps", "src", "Steps", "reading", "message", "wire"}
    known = defined()
    missing = {name for name in named - words if not set(name.split(".")) <= known | words}
    assert missing == set()
    assert {"Window", "settle", "WireFormat.verified", "python_calls"} <= named


@pytest.fixture
def glossary():
    return (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


def test_glossary_has_each_concept_once(glossary):
    words = [word.lower() for word in re.findall(r"^\*\*(.+?)\*\*", glossary, re.MULTILINE)]
    assert len(words) > 60
    assert words == sorted(set(words))
