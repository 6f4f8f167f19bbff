"""Structural tags and whole turns in xgrammar itself, also with a vocabulary of 150,000 tokens.

Nothing of this runs where xgrammar has no wheel: `make test` installs it.
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
from .token_machines import TokenTag, encoder, large, small

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


LARGE = {"required", "auto"}
"""Requests that are judged with a real vocabulary; with it, one compiles for seconds."""


def tag_of(fmt, vocabulary, **request):
    """The structural tag of a request, or the grammar of the whole turn as one."""
    if "lazy" not in request:
        return structural_tag(fmt, TOOLS, vocabulary=vocabulary, **request)
    rules = gbnf(fmt, TOOLS, vocabulary=vocabulary, **request).rules
    grammar = {"type": "grammar", "grammar": to_gbnf(rules, XGRAMMAR)}
    return {"type": "structural_tag", "format": grammar}


@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("name", NAMED)
def test_what_a_request_allows_xgrammar_takes(name, request_):
    fmt, options = get_format(name), REQUESTS[request_]
    vocabulary = large() if request_ in LARGE else small()
    grammar = gbnf(fmt, TOOLS, vocabulary=vocabulary, **{"lazy": False, **options})
    try:
        engine = TokenTag(tag_of(fmt, vocabulary, **options), vocabulary)
    except dp.UsageError as error:
        assert "no tag can set them apart" in str(error)  # noqa: PT017  and not in other formats
        return
    for seed in range(4):
        chance = random.Random(seed)
        marked = Sampler(grammar.rules).text(chance)
        ids = encoder(vocabulary).marked(marked, grammar.rules.tokens, chance)
        assert engine.accepts(ids), marked
        if request_ not in {"auto", "whole"}:
            assert not engine.accepts(ids[:-1])
            assert not engine.accepts([*ids, *encoder(vocabulary).of("}")])
