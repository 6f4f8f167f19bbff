"""Pages that are written from the code, or name all of something, say what the code says."""

from __future__ import annotations

import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_args, get_type_hints

from deltaparse import Issue, Policies

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]*)?\)")
PAGES = [ROOT / "README.md", *DOCS.glob("*.md")]


def text_of(name):
    return (DOCS / name).read_text(encoding="utf-8")


def anchors(page):
    """The anchors of the headings of a page."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {f"#{re.sub(r'[^a-z0-9 -]', '', title.lower()).replace(' ', '-')}" for title in titles}


def test_the_page_of_the_formats_is_written_by_the_tool(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import format_table

    assert text_of("formats.md") == format_table.page()
    sys.modules.pop("format_table")


def test_every_issue_and_policy_has_a_row():
    kinds = re.findall(r"^    `(\w+)`  ", Issue.__doc__, re.MULTILINE)
    named = re.findall(r"^\| `(\w+)` \|", text_of("issues.md"), re.MULTILINE)
    policies = [policy.name for policy in fields(Policies)]
    assert len(kinds) > 25
    assert set(named) == {*kinds, *policies, "stream_error", "stream_cut"}


def test_every_choice_of_a_policy_is_named():
    table = text_of("issues.md").partition("## Issues")[0]
    rows = {row.split("`")[1]: row for row in table.splitlines() if row.startswith("| `")}
    for name, hint in get_type_hints(Policies).items():
        for choice in set(get_args(hint)) - {"error"}:
            assert f'`"{choice}"`' in rows[name]


def test_links_lead_somewhere():
    missing = []
    for page in PAGES:
        for path, anchor in LINK.findall(page.read_text(encoding="utf-8")):
            if path.startswith(("http", "mailto")):
                continue
            there = (page.parent / path).resolve() if path else page
            if not there.exists() or (anchor and anchor not in anchors(there)):
                missing.append(f"{page.name}: {path}{anchor}")
    assert missing == []


def test_every_page_is_linked_from_the_readme():
    """Following links from the README, one comes to all pages."""
    seen, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        seen.add(page)
        found = LINK.findall(page.read_text(encoding="utf-8"))
        paths = {(page.parent / path).resolve() for path, _ in found if path.endswith(".md")}
        todo += [path for path in paths if path.exists() and path not in seen and path not in todo]
    assert {page.name for page in DOCS.glob("*.md")} <= {page.name for page in seen}


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150
