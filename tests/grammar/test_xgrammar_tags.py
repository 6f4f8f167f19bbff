"""Structural tags and whole turns in xgrammar itself, with a real vocabulary of 150,000 tokens.

`make test-grammars` installs xgrammar; without it, or without the vocabulary, nothing is collected.
"""

from __future__ import annotations

import random

import pytest

import deltaparse as dp
from deltaparse import gbnf, get_format, list_formats, structural_tag
from deltaparse.grammar import to_gbnf
from deltaparse.grammar.notation.write_gbnf import XGRAMMAR

from .. import vocabularies
from .machines import Sampler, xgrammar
from .reading_back import TOOLS
from .token_machines import TokenTag, encoder, large

pytestmark = [
    vocabularies.needs_vocabularies,
    pytest.mark.skipif(xgrammar() is None, reason="xgrammar is not installed"),
]
NAMED = [name for name in list_formats() if get_format(name).facts.has_calls]
ANSWER = {
    "type": "object",
    "properties": {
        "sum": {"type": "integer"},
        "of": {"type": "array", "items": {"type": "number"}},
    },
    "required": ["sum"],
}
REQUESTS = {
    "required": {"tool_choice": "required"},
    "named": {"tool_choice": {"type": "function", "function": {"name": "look_up"}}},
    "one": {"tool_choice": "required", "parallel_tool_calls": False},
    "none": {"tool_choice": "none", "response_schema": ANSWER},
    "either": {"response_schema": ANSWER},
    "auto": {},
    "whole": {"lazy": False},
}


def tag_of(fmt, **request):
    """The structural tag of a request, or the grammar of the whole turn as one."""
    if "lazy" not in request:
        return structural_tag(fmt, TOOLS, vocabulary=large(), **request)
    rules = gbnf(fmt, TOOLS, vocabulary=large(), **request).rules
    grammar = {"type": "grammar", "grammar": to_gbnf(rules, XGRAMMAR)}
    return {"type": "structural_tag", "format": grammar}


@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("name", NAMED)
def test_what_a_request_allows_xgrammar_takes(name, request_):
    fmt, options = get_format(name), REQUESTS[request_]
    grammar = gbnf(fmt, TOOLS, vocabulary=large(), **options)
    try:
        engine = TokenTag(tag_of(fmt, **options), large())
    except dp.UsageError as error:
        assert "no tag can set them apart" in str(error)  # noqa: PT017  and not in other formats
        return
    for seed in range(4):
        chance = random.Random(seed)
        marked = Sampler(grammar.rules).text(chance)
        ids = encoder(large()).marked(marked, grammar.rules.tokens, chance)
        assert engine.accepts(ids), marked
        if not grammar.lazy and request_ != "whole":
            assert not engine.accepts(ids[:-1])
            assert not engine.accepts([*ids, *encoder(large()).of("}")])
