"""The table of bridges on the page is what the templates give."""

from __future__ import annotations

from ..strategies.bridge_table import HEAD, PAGE, table


def test_the_table_is_what_the_templates_give():
    head, found, rest = PAGE.read_text(encoding="utf-8").partition(HEAD)
    assert found + rest == table()
    assert "python -m" not in head
