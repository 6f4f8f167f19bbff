"""No format is verified and wrong: what a template renders, under all of its switches, comes back.

Of templates of these tests, of real ones where there are any, and of mutants of both.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaparse import ChatTemplate, WireFormat, analyze

from .. import corpus
from ..hangs import no_hang
from ..strategies.judge_of_proofs import false_proofs
from ..strategies.mutated_templates import mutated
from ..strategies.templates import SOURCES, compiles

REAL = {path.name: path.read_text(encoding="utf-8") for path in corpus.templates()}
NEWER = {path.name: path.read_text(encoding="utf-8") for path in corpus.newer_templates()}
REAL |= NEWER
MUTANTS = mutated(st.sampled_from(sorted(REAL.values())) if REAL else st.nothing())


def judged(source):
    """The false proofs of a template, none where its format is not verified."""
    with no_hang():
        template = ChatTemplate(source)
        fmt = analyze(template)
        assert fmt.verified or fmt.issues or fmt == WireFormat()
        return false_proofs(template, fmt) if fmt.verified else []


@pytest.mark.parametrize("name", SOURCES)
def test_no_false_proof_of_our_own(name):
    assert judged(SOURCES[name]) == []


@settings(max_examples=60)
@given(source=mutated(st.sampled_from(list(SOURCES.values()))).filter(compiles))
def test_no_false_proof_of_mutants(source):
    assert judged(source) == []


@corpus.needs_corpus
@pytest.mark.parametrize("name", sorted(REAL))
def test_no_false_proof_of_a_real_template(name):
    assert judged(REAL[name]) == []


@corpus.needs_corpus
@settings(max_examples=40)
@given(source=MUTANTS.filter(compiles))
def test_no_false_proof_of_mutants_of_real_templates(source):
    assert judged(source) == []
