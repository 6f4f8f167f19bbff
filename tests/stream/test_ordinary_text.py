"""Ordinary text as an answer, in every named format: it comes out as it went in.

The texts are those of the benchmark: documentation, sources, JSON, HTML, chat templates.
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
def test_without_a_marker_of_the_format_in_it_no_text_changes(ordinary, name):
    fmt = get_format(name)
    texts = [text for found in ordinary.texts().values() for text in found]
    plain = [text for text in texts if not ordinary.marker_in(text, fmt)]
    assert len(plain) > len(texts) * 0.6
    # What may be the beginning of a marker, and one character more, waits; or that of a name.
    allowed = max(map(len, [*ordinary.markers(fmt), "get_weather" * 2])) + 1
    for text in plain:
        parser, held = ordinary.answered(text, fmt)
        message = parser.message
        assert (message.content.strip(), message.tool_calls) == (text.strip(), [])
        assert held <= allowed
