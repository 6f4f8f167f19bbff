"""Ordinary text as an answer is emitted verbatim in every built-in format.

The texts are those of the benchmark: documentation, sources, JSON, HTML and chat templates.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from deltaparse import get_format, list_formats

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def ordinary(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("ordinary")


@pytest.mark.parametrize("name", list_formats())
def test_text_without_a_marker_of_the_format_is_content(ordinary, name):
    fmt = get_format(name)
    texts = [text for found in ordinary.texts().values() for text in found]
    plain = [text for text in texts if not ordinary.marker_in(text, fmt)]
    assert len(plain) > len(texts) * 0.6
    # The parser may buffer a marker or a name, plus one character.
    allowed = max(map(len, [*ordinary.markers(fmt), "get_weather" * 2])) + 1
    for text in plain:
        parser, held = ordinary.answered(text, fmt)
        message = parser.message
        assert (message.content.strip(), message.tool_calls) == (text.strip(), [])
        assert held <= allowed
