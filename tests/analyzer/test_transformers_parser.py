"""Tests of the reference parser, which is found silently and never raises."""

from __future__ import annotations

import logging

from deltaparse.analyzer import transformers_parser
from deltaparse.analyzer.transformers_parser import HOME, Judge, judge


class Parser:
    """Double of transformers' parser, which repeats its input and fails on "!"."""

    def __init__(self, loaded, *, prefix, tools):
        self.made = {"loaded": loaded, "prefix": prefix, "tools": tools, "content": ""}

    def feed(self, chunk):
        if chunk == "!":
            raise RuntimeError("no\n  such " + "x" * 200)
        self.made["content"] += chunk

    def finalize(self):
        return [self.made]


def load(template):
    if not isinstance(template, dict):
        raise TypeError("not a mapping")
    return template


def test_refused_template_has_no_reader():
    assert Judge("x 1", load, Parser).reader("a") == "transformers refuses it: not a mapping"


def test_chunks_are_read_after_a_prompt():
    given, tools = {"a": 1}, [{"b": [2]}]
    read = Judge("x 1", load, Parser).reader(given)
    made = read(["some ", "words"], "prompt", tools)
    assert made == {"loaded": given, "prefix": "prompt", "tools": tools, "content": "some words"}
    assert made["tools"][0]["b"] is not tools[0]["b"]  # the parser may write into them
    assert read([], "", None)["tools"] is read([], "", [])["tools"] is None


def test_parser_error_is_reported_in_one_line():
    words = Judge("x 1", load, Parser).reader({})(["a", "!"], "", None)
    assert words.startswith("RuntimeError: no such xxx")
    assert len(words) < 120


def test_import_of_the_parser_logs_no_advice(monkeypatch):
    seen = []

    def note(name):
        seen.append((name, logging.root.manager.disable))
        raise ImportError

    monkeypatch.setattr(transformers_parser, "import_module", note)
    monkeypatch.setattr(logging.root.manager, "disable", logging.DEBUG)
    assert judge.__wrapped__() is None
    assert seen == [(HOME, logging.WARNING)]
    assert logging.root.manager.disable == logging.DEBUG
