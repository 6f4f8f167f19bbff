"""Rules of plain English for docstrings, comments, error messages and names of tests."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ("analyzer", "bench", "examples", "fuzz", "partial", "src", "stream", "tests", "tools")
COMMENTED = ("partial", "stream")
"""Folders whose code explains its decisions in comments."""
KINDS = ("docstrings", "comments", "messages")

# A habit that makes sentences hard to read, and how often it may occur in 1,000 words. The limits
# are about three times the rates in httpx, fastapi, starlette, jinja2, anyio, click and h11.
HABITS = {
    "'what' as a noun": (r"\bwhat\b(?![^.\n]*\?)", 2.0),
    "things that stand": (r"\bst(?:ands?|ood)\b", 0.3),
    "things that speak": (r"\b(?:says?|said|tells?|told)\b", 1.0),
    "negated nouns": (r"\b(?:none of|(?:is|are) (?:none|no)|begins? none|knows? no)\b", 1.2),
    "negated subjects": (r"\b(?:nothing|nobody|nowhere)\b", 1.0),
    "'behind' for order": (r"\b(?:behind|beside|round)\b", 0.6),
    "things that come": (r"\b(?:comes?|came|becomes? of)\b", 0.8),
    "'where' for 'if'": (r"\bwhere\b(?![^.\n]*\?)", 2.5),
    "'those' and 'such'": (r"\b(?:those|such)\b", 1.5),
    "relative clauses": (r"\b(?:that|which)\b", 18.0),
    "semicolons": (r";(?!\s*$)", 4.0),
}
RIDDLE = re.compile(r"_(?:what|none|stands|nobody|nothing|behind|beside|that_is|told|said)(?=_|$)")
LONGEST_TEST_NAME = 70
EXAMPLE = re.compile(r"^\s*(?:>>>|\.\.\.).*$", re.MULTILINE)
QUOTED = re.compile(r"`[^`\n]*`")
DIRECTIVE = re.compile(r"#\s*(?:noqa|type:|fmt:|pragma|ruff:|!)")
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
MESSAGE_ARGUMENTS = {"help", "description", "epilog", "detail", "why", "message"}


@cache
def files():
    """Return all Python files of the sources, without the links in src/deltaparse."""
    found = {
        path.resolve(): path
        for folder in SOURCES
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "node_modules" not in path.parts
    }
    return [*found.values()]


@cache
def prose_of(path):
    """Return the docstrings, comments and messages of a file."""
    source = path.read_text(encoding="utf-8")
    prose = {"docstrings": [], "comments": [], "messages": []}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not DIRECTIVE.match(token.string):
            prose["comments"].append(token.string.lstrip("# "))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | FUNCTIONS):
            text = EXAMPLE.sub("", ast.get_docstring(node) or "")
            prose["docstrings"].append(QUOTED.sub("X", text))
        elif isinstance(node, ast.Raise) and node.exc:
            prose["messages"] += [QUOTED.sub("X", t) for t in strings_in(node.exc) if " " in t]
        elif isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg in MESSAGE_ARGUMENTS:
                    prose["messages"] += strings_in(keyword.value)
    return prose


def strings_in(node):
    return [
        each.value
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]


@cache
def corpus(kind):
    return tuple((path, text) for path in files() for text in prose_of(path)[kind])


@pytest.mark.parametrize("habit", HABITS)
@pytest.mark.parametrize("kind", KINDS)
def test_prose_is_free_of_habits(kind, habit):
    pattern, limit = re.compile(HABITS[habit][0], re.IGNORECASE), HABITS[habit][1]
    words = sum(len(text.split()) for _, text in corpus(kind))
    hits = defaultdict(int)
    for path, text in corpus(kind):
        hits[path.relative_to(ROOT).as_posix()] += len(pattern.findall(text))
    rate = 1000 * sum(hits.values()) / words
    worst = sorted(((count, name) for name, count in hits.items() if count), reverse=True)[:10]
    assert rate <= limit, f"{habit}: {rate:.1f} in 1,000 words of {kind}; most in {worst}"


@pytest.mark.parametrize("folder", COMMENTED)
def test_comments_give_reasons(folder):
    lines = [
        line.strip()
        for path in files()
        if path.is_relative_to(ROOT / folder)
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    comments = sum(line.startswith("#") for line in lines)
    assert comments >= 0.075 * len(lines)


def test_docstrings_start_with_a_verb_or_a_noun():
    riddles = [
        f"{path.relative_to(ROOT)}: {text.splitlines()[0]}"
        for path, text in corpus("docstrings")
        if re.match(r"(?:What|Whether|How)\b", text)
    ]
    assert riddles == []


def test_names_of_tests_are_short_and_plain():
    names = [
        node.name
        for path in files()
        if path.name.startswith("test_")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, FUNCTIONS) and node.name.startswith("test_")
    ]
    odd = [name for name in names if len(name) > LONGEST_TEST_NAME or RIDDLE.search(name)]
    assert len(odd) <= len(names) / 20, odd


def test_the_habits_are_recognized():
    riddle = "What is none of the format's stands behind it; nobody says where such marks come."
    found = {
        habit for habit, (pattern, _) in HABITS.items() if re.search(pattern, riddle, re.IGNORECASE)
    }
    assert len(found) == 10
    assert RIDDLE.search("test_in_what_is_made_the_pattern_is_found")
    assert not RIDDLE.search("test_generated_strings_match_the_pattern")
