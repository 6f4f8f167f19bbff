"""What pages and docstrings name exists."""

from __future__ import annotations

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
    """The paths of the repository that stand in backticks in a file."""
    return NAMED.findall(path.read_text(encoding="utf-8"))


def test_the_paths_that_are_named_exist():
    missing = [
        f"{text.relative_to(ROOT)}: {path}"
        for text in TEXTS
        for path in named(text)
        if not (ROOT / path).exists()
    ]
    assert missing == []
    assert "partial/window.py" in named(ROOT / "docs" / "glossary.md")


@pytest.fixture
def glossary():
    return (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


def test_the_glossary_names_each_concept_once(glossary):
    words = [word.lower() for word in re.findall(r"^\*\*(.+?)\*\*", glossary, re.MULTILINE)]
    assert len(words) > 60
    assert words == sorted(set(words))
