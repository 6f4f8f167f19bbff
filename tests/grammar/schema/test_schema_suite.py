"""Tests with the official JSON Schema test suite: all deviations are reported.

`make` puts the suite next to the virtual environment. The environment variable
DELTAPARSE_SCHEMA_SUITE names another folder.
"""

from __future__ import annotations

import os
import re
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

PAGE = (ROOT / "docs" / "json-schema.md").read_text(encoding="utf-8")
KEYWORDS = re.findall(r"^\| `(.+)` \|", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def tool():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools"))
        import schema_suite

        yield schema_suite
    sys.modules.pop("schema_suite")


@pytest.fixture(scope="module")
def suite(tool):
    return tool.by_keyword(SUITE)


def own(grammar):
    """Return our own matcher of the rules, as GBNF writes them."""
    again = read_gbnf(to_gbnf(grammar))
    return lambda text: accepts(again, text)


def engine(grammar):
    return Gbnf(grammar).accepts


def failures(tool, cases, judge, *, standard):
    """Return the instances with silently wrong results."""
    return [
        (verdict.kind, case.what, verdict.what)
        for case in cases
        for verdict in tool.judged(case, judge, standard=standard)
        if verdict.kind in {"silent", "narrower"}
    ]


def test_the_page_has_a_row_for_each_keyword(tool, suite):
    rows = {}
    for keyword in KEYWORDS:
        (figures,) = re.findall(rf"^\| `{re.escape(keyword)}` \| (.*) \|$", PAGE, re.MULTILINE)
        counted = (int(figure or 0) for figure in figures.split(" | "))
        rows[keyword] = Counter(dict(zip(tool.COLUMNS, counted, strict=True)))
    assert rows.keys() == suite.keys()
    assert tool.page(rows) == PAGE
    # Many instances of the suite are unrelated to any keyword.
    assert sum(row["by default"] for row in rows.values()) > 100


@pytest.mark.skipif(llguidance() is None, reason="llguidance is not installed")
@pytest.mark.parametrize("keyword", KEYWORDS)
def test_page_rows_equal_the_engines_results(tool, suite, keyword):
    assert tool.line(f"`{keyword}`", tool.counted(suite[keyword])) in PAGE.splitlines()


@pytest.mark.parametrize("keyword", KEYWORDS)
@pytest.mark.parametrize("judge", [own, engine])
def test_standard_mode_reports_all_deviations(tool, suite, judge, keyword):
    if judge is engine and xgrammar() is None:
        pytest.skip("xgrammar is not installed")
    assert failures(tool, suite[keyword], judge, standard=True) == []


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_default_mode_is_never_silently_wider(tool, suite, keyword):
    kinds = {kind for kind, *_ in failures(tool, suite[keyword], own, standard=False)}
    assert kinds <= {"narrower"}
