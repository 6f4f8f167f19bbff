"""Tests of parsing outputs with the response templates of checkpoints.

The property: a response template is refused with the name of the field, or this library parses the
same message as transformers. This holds for complete outputs, and for truncated outputs without an
issue.
"""

from __future__ import annotations

import copy
import importlib.util
import io
import json
import os
import unittest
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import deltaparse as dp
from deltaparse.analyzer.transformers_parser import judge

from ..strategies.random_response_templates import TOOLS, drawn

pytestmark = pytest.mark.transformers
OPENS = {"open", "open_pattern"}


def read(template, text, prompt, tools=TOOLS):
    """Parse an output with transformers and return the message, or the error."""
    reader = judge().reader(copy.deepcopy(template))
    return reader if isinstance(reader, str) else reader([text], prompt, tools)


def ours(fmt, text, prompt, reason, tools=TOOLS):
    """Parse an output with this library and return the message."""
    parser = dp.StreamParser(fmt, tools=tools, prompt=prompt)
    parser.feed(text)
    parser.finish(reason)
    return parser.message


def assert_same(template, mine, theirs, *, typed=True):
    """Hold our message against theirs, in which text that no field takes is dropped."""
    content, taken = mine.content.strip(), (theirs.get("content") or "").strip()
    implicit = "content" in template["fields"] and not OPENS & template["fields"]["content"].keys()
    assert content == taken if implicit else taken in content
    reasoning = theirs.get("thinking") or theirs.get("reasoning_content") or ""
    assert mine.reasoning_content.strip() == reasoning.strip()
    found = theirs.get("tool_calls") or []
    assert [call.name for call in mine.tool_calls] == [one["function"]["name"] for one in found]
    for call, whole in zip(mine.tool_calls, found, strict=True):
        values, others = json.loads(call.arguments), whole["function"]["arguments"]
        assert values.keys() == others.keys()
        # Without tools, we parse values in tags by their form, and transformers keeps them as text.
        texts = {key for key in others if not typed and isinstance(others[key], str)}
        assert [(key, values[key]) for key in values if key not in texts] == [
            (key, others[key]) for key in others if key not in texts
        ]
        assert "id" not in whole or whole["id"] == call.id


def as_format(template):
    """Return the wire format of a response template, or None if refused with its name."""
    try:
        return dp.from_response_template(template)
    except dp.FormatError as error:
        names = [*template, *template["fields"]]
        if not any(name in str(error) for name in names):
            raise
        return None


read_by_us = drawn().filter(lambda case: as_format(case.template) is not None)


@given(read_by_us)
def test_outputs_are_read_as_by_transformers(case):
    theirs = read(case.template, case.text, case.prompt)
    assume(not isinstance(theirs, str))
    fmt = as_format(case.template)
    assert_same(case.template, ours(fmt, case.text, case.prompt, "stop"), theirs)


@given(read_by_us, st.floats(0, 1))
def test_outputs_that_are_cut_off_are_read_so_too_or_reported(case, part):
    text = case.text[: int(part * len(case.text))]
    theirs = read(case.template, text, case.prompt)
    mine = ours(as_format(case.template), text, case.prompt, "length")
    assume(not mine.issues and not isinstance(theirs, str))
    assert_same(case.template, mine, theirs)


def of_transformers():
    """Return templates, outputs, prompts and tools from the tests of transformers."""
    path = Path(os.environ["DELTAPARSE_TRANSFORMERS"], "tests", "utils", "test_chat_parsing.py")
    spec = importlib.util.spec_from_file_location("transformers_chat_parsing", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cases = []

    class Parser(module.ResponseParser):
        """The parser of transformers, which records its arguments."""

        def __init__(self, template, prefix=None, *, tools=None):
            cases.append((copy.deepcopy(template), [], prefix or "", tools))
            self.texts = cases[-1][1]
            super().__init__(template, prefix=prefix, tools=tools)

        def feed(self, text):
            self.texts.append(text)
            return super().feed(text)

    def parse_response(text, template, *, prefix=None, tools=None):
        parser = Parser(template, prefix=prefix, tools=tools)
        parser.feed(text)
        return parser.finalize()[0]

    module.ResponseParser, module.parse_response = Parser, parse_response
    # Whether they pass is not asked: some load models.
    tests = unittest.defaultTestLoader.loadTestsFromModule(module)
    unittest.TextTestRunner(stream=io.StringIO()).run(tests)
    return cases


@pytest.mark.skipif(
    not os.environ.get("DELTAPARSE_TRANSFORMERS"), reason="there is no checkout of transformers"
)
def test_the_fixtures_of_transformers_convert_or_are_refused_by_name():
    cases, refused, same = of_transformers(), 0, 0
    for template, texts, prompt, tools in cases:
        if not isinstance(template, dict) or isinstance(template.get("fields", 0), int):
            continue
        fmt = as_format(template)
        refused += fmt is None
        text, plain = "".join(texts), all(isinstance(tool, dict) for tool in tools or [])
        theirs = read(template, text, prompt, tools) if plain else ""
        if fmt is not None and not isinstance(theirs, str):
            mine = ours(fmt, text, prompt, "stop", tools)
            assert_same(template, mine, theirs, typed=bool(tools))
            same += 1
    assert refused
    assert same
