"""The official test suite of JSON Schema: nothing wider in silence, nothing left out unsaid.

`make` puts the suite beside the virtual environment; the environment variable
DELTAPARSE_SCHEMA_SUITE names another folder.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from deltaparse.grammar import to_gbnf

from ..machines import Gbnf, accepts, llguidance, read_gbnf, xgrammar

ROOT = Path(__file__).parents[3]
SUITE = Path(os.environ.get("DELTAPARSE_SCHEMA_SUITE", Path(sys.prefix, "schema-suite")))
if not (SUITE / "tests").is_dir():
    pytest.skip("the test suite of JSON Schema is not there", allow_module_level=True)


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import schema_suite

    yield schema_suite
    sys.modules.pop("schema_suite")


def own(grammar):
    """Our own matcher, of the rules as GBNF says them."""
    again = read_gbnf(to_gbnf(grammar))
    return lambda text: accepts(again, text)


def engine(grammar):
    return Gbnf(grammar).accepts


def failures(tool, judge, *, standard):
    """The instances for which the grammar is wrong without saying so."""
    return [
        (verdict.kind, case.keyword, case.what, verdict.what)
        for case in tool.cases(SUITE)
        for verdict in tool.judged(case, judge, standard=standard)
        if verdict.kind in {"silent", "narrower"}
    ]


@pytest.mark.skipif(llguidance() is None, reason="llguidance is not installed")
def test_the_page_is_what_an_engine_says(tool):
    page = (ROOT / "docs" / "json-schema.md").read_text(encoding="utf-8")
    assert page == tool.page(SUITE)


@pytest.mark.parametrize("judge", [own, engine])
def test_nothing_is_wrong_unsaid(tool, judge):
    if judge is engine and xgrammar() is None:
        pytest.skip("xgrammar is not installed")
    assert failures(tool, judge, standard=True) == []


def test_by_default_nothing_is_wider_in_silence(tool):
    kinds = Counter(kind for kind, *_ in failures(tool, own, standard=False))
    assert kinds["silent"] == 0
    assert kinds["narrower"] > 100  # the suite has much that no keyword speaks of
