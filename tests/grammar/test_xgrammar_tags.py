"""Tests of structural tags in xgrammar, with small vocabularies and one of 150,000 tokens.

They are skipped if xgrammar has no wheel. `make test` installs it.
"""

from __future__ import annotations

import os
import random

import pytest

from deltaparse import gbnf, get_format, list_formats

from .. import vocabularies
from ..support import needs
from .machines import Sampler
from .reading_back import TOOLS
from .token_machines import TokenTag, encoder, large, small

pytestmark = [
    vocabularies.needs_vocabularies,
    needs("xgrammar"),
]
NAMED = [name for name in list_formats() if get_format(name).derived.has_calls]
EVERY = bool(os.environ.get("DELTAPARSE_EVERY_TEMPLATE"))
REAL = NAMED if EVERY else ["deepseek_v41", "glm45", "gpt_oss", "hermes", "pythonic", "qwen3_coder"]
"""Formats tested with a real vocabulary. `make test-templates` tests all formats."""

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
    "budget": {"tool_choice": "required", "reasoning_budget": 200},
}


def check_tag(name, vocabulary, request):
    """Check that xgrammar accepts a request's turns token by token, and rejects broken ones."""
    grammar = gbnf(get_format(name), TOOLS, vocabulary=vocabulary, lazy=False, **request)
    engine = TokenTag(grammar.as_tag(), vocabulary)
    for seed in range(4):
        chance = random.Random(seed)
        marked = Sampler(grammar.rules).text(chance)
        ids = encoder(vocabulary).marked(marked, grammar.rules.tokens, chance)
        assert engine.accepts(ids), ascii(marked)
        if request:
            assert not engine.accepts(ids[:-1])
            assert not engine.accepts([*ids, *encoder(vocabulary).of("}")])


@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("name", NAMED)
def test_xgrammar_accepts_samples_of_each_request(name, request_):
    check_tag(name, small(), REQUESTS[request_])


@pytest.mark.parametrize("request_", ["required", "auto"])
@pytest.mark.parametrize("name", REAL)
def test_with_a_real_vocabulary(name, request_):
    check_tag(name, large(), REQUESTS[request_])
