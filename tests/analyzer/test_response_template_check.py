"""Response templates held against what chat templates render, by transformers' own parser.

The property: whatever template we prove, and the standard can express, the response template that
is written for it makes transformers' parser read the same messages as ours. Beside it, what is
said of response templates that lose something.
"""

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate, analyze, check_response_template
from deltaparse.analyzer.transformers_parser import judge

from .. import corpus
from ..strategies.templates import SOURCES

needs_transformers = pytest.mark.skipif(
    judge() is None, reason="the installed transformers has no parser of responses"
)

CANNOT = (
    "calls in messages that have a syntax of their own",
    "recipients in the place of channels",
    "calls in Python",
    "calls in no markers that do not begin with their name",
    "calls that begin like content",
    "names that are keys",
    "arguments that are JSON in a text",
)
"""All that the standard has no words for."""


def source(name):
    return SOURCES[name] if name in SOURCES else corpus.template(name)


def names():
    real = [*corpus.templates(), *corpus.newer_templates()]
    marked = [pytest.param(path.name, marks=corpus.needs_corpus) for path in real]
    return [*SOURCES, *marked]


@needs_transformers
@pytest.mark.parametrize("name", names())
def test_transformers_reads_the_same_as_we_do(name):
    template = ChatTemplate(source(name))
    fmt, found = analyze(template), check_response_template(template)
    if found.response_template is None:
        (words,) = found.limits
        assert any(reason in words for reason in CANNOT)
        return
    assert not fmt.verified or (found.lost == () and found.proved)
