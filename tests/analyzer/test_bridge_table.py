"""Tests of the table of bridges in the documentation."""

from __future__ import annotations

import re

import pytest

from ..strategies.bridge_table import HEAD, PAGE, row
from ..strategies.open_templates import SOURCES

BEFORE, _, TABLE = PAGE.read_text(encoding="utf-8").partition(HEAD)
ROWS = re.findall(r"^\|.*\n", TABLE, re.MULTILINE)
LETTERS = {why: letter for letter, why in re.findall(r"^- (\w): (.*)$", TABLE, re.MULTILINE)}


@pytest.mark.parametrize("name", SOURCES)
def test_row_matches_its_template(name):
    assert row(name, dict(LETTERS)) == ROWS[list(SOURCES).index(name)]


def test_table_has_a_row_per_template_and_ordered_letters():
    cells = [cell.strip() for one in ROWS for cell in one.split("|")[2:-1]]
    assert len(ROWS) == len(SOURCES)
    assert [cell for cell in dict.fromkeys(cells) if len(cell) == 1] == [*LETTERS.values()]
    legend = "".join(f"- {letter}: {why}\n" for why, letter in LETTERS.items())
    assert f"{''.join(ROWS)}\n{legend}" == TABLE
    assert "python -m" not in BEFORE
