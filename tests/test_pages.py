"""Pages and tables that must agree with the code."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from dataclasses import fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import get_args, get_type_hints

import pytest

from deltaparse import Issue, Policies, WireFormat
from deltaparse.gate.decision import Reason
from deltaparse.partial import Repairs
from deltaparse.stream.message.message import Status

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]*)?\)")
PAGES = [
    *(ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md", "AGENTS.md")),
    *(ROOT / name for name in ("CHANGELOG.md", "llms.txt", "examples/README.md")),
    *DOCS.glob("*.md"),
]
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def text_of(name):
    return (DOCS / name).read_text(encoding="utf-8")


SOURCES = ("partial", "stream", "analyzer", "src")


def rows_of(name, title):
    """Return the subjects of the rows in the table below a title."""
    section = text_of(name).partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


def links_of(page):
    """Return the links of a page as paths and anchors, without those in code."""
    return LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8")))


def anchors(page):
    """Return the anchors of the headings of a page."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {f"#{re.sub(r'[^a-z0-9_ -]', '', title.lower()).replace(' ', '-')}" for title in titles}


def test_formats_page_is_the_output_of_the_tool(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import format_table

    assert text_of("formats.md") == format_table.page()
    sys.modules.pop("format_table")


def test_every_issue_and_policy_has_a_row():
    kinds = re.findall(r"^`(\w+)`  ", inspect.getdoc(Issue), re.MULTILINE)
    assert len(kinds) > 25
    assert set(rows_of("issues.md", "Issues")) == {*kinds, "stream_error", "stream_cut"}
    assert rows_of("issues.md", "Policies") == [policy.name for policy in fields(Policies)]


def test_every_repair_status_and_reason_has_a_row():
    repairs = [repair.name for repair in fields(Repairs)]
    assert rows_of("issues.md", "Repairs") == [*repairs, "closed_brackets", "argument_type"]
    assert set(rows_of("tokens.md", "What became of a call")) == set(get_args(Status))
    assert rows_of("gate.md", "Why a call was refused") == [*get_args(Reason)]


def test_every_choice_of_a_policy_is_documented():
    table = text_of("issues.md").partition("## Issues")[0]
    rows = {row.split("`")[1]: row for row in table.splitlines() if row.startswith("| `")}
    for name, hint in get_type_hints(Policies).items():
        for choice in set(get_args(hint)) - {"error"}:
            assert f'`"{choice}"`' in rows[name]


def test_links_have_targets():
    missing = []
    for page in PAGES:
        for path, anchor in links_of(page):
            if path.startswith(("http", "mailto")):
                continue
            there = (page.parent / path).resolve() if path else page
            if not there.exists() or (anchor and anchor not in anchors(there)):
                missing.append(f"{page.name}: {path}{anchor}")
    assert missing == []


def linked(pages):
    """Return the given pages and the pages that they link to."""
    found = {(page.parent / path).resolve() for page in pages for path, _ in links_of(page) if path}
    return pages | {path for path in found if path.suffix == ".md" and path.exists()}


def test_every_page_is_two_clicks_from_the_readme():
    near = linked(linked({ROOT / "README.md"}))
    assert {page.name for page in DOCS.glob("*.md")} <= {page.name for page in near}


QUESTIONS = """
    vLLM, SGLang, transformers, llama.cpp, reasoning separately, the first call,
    execute a call early, cut-off output, format by hand, count tokens, special tokens,
    Anthropic's, ids of my own,
    a wrong parse, format beside a model, the conversation, thinking on and off, whole response,
    constrain the model, promised, my model is understood, fuzz my format, replay my logs, a gateway
"""


def test_each_question_has_a_linked_answer():
    assert DOCS / "questions.md" in linked({ROOT / "README.md"})
    rows = [row for row in text_of("questions.md").splitlines() if row.startswith("| ")][1:]
    for wanted in QUESTIONS.replace("\n", " ").split(", "):
        found = [row for row in rows if " ".join(wanted.split()) in row.split(" | ")[0]]
        assert len(found) == 1, wanted
        assert LINK.search(found[0])


def test_every_page_is_in_the_navigation_of_the_site():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    named = re.findall(r"[\w-]+\.md", text)
    assert len(named) == len(set(named))
    assert {page.name for page in DOCS.glob("*.md")} <= set(named)


@pytest.fixture
def site_pages(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import site_pages

    yield site_pages
    sys.modules.pop("site_pages")


def test_links_of_llms_txt_are_on_the_site(site_pages):
    config = SimpleNamespace(site_url="https://o.io/d/", extra={"repository": "https://h.com/o/d"})
    made = site_pages.absolute((ROOT / "llms.txt").read_text("utf-8"), config)
    links = [path for path, _ in LINK.findall(made)]
    assert all(
        link.startswith(("https://o.io/d/", "https://h.com/o/d/blob/main/")) for link in links
    )
    assert {"https://o.io/d/start.html", "https://o.io/d/security.html"} <= set(links)


def public(site_pages):
    for room, names in site_pages.public_names():
        for name in names:
            yield room, name, getattr(sys.modules[room], name)


def test_every_public_name_is_in_the_reference(site_pages):
    page = site_pages.reference()
    rooms = {path.parent.name for path in (ROOT / "src/deltaparse").glob("*/__init__.py")}
    assert rooms - {"command"} <= {room.rpartition(".")[2] for room in site_pages.ROOMS}
    count = 0
    for room, name, _ in public(site_pages):
        count += 1
        assert f"::: {room}.{name}\n" in page
    assert count > 200


def test_lists_in_docstrings_are_lists_on_the_site(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from docstring_lists import with_lists

    plain = "One line.\n\nMore of it,\nand more.\n\nArgs:\n    one: the first.\n    two: it is."
    assert with_lists(plain) == plain
    made = with_lists("Of these:\n\n`a_b`     what it\n          is\nc, d:     another\n\nEnd.")
    assert made == "Of these:\n\n- **a_b**: what it is\n- **c, d**: another\n\nEnd."
    kinds = re.findall(r"^- \*\*(\w+)\*\*: ", with_lists(inspect.getdoc(Issue)), re.MULTILINE)
    assert kinds == re.findall(r"^`(\w+)`  ", inspect.getdoc(Issue), re.MULTILINE)
    sys.modules.pop("docstring_lists")


def test_compatibility_promise_lists_the_reference_packages(site_pages):
    promise = text_of("promises.md").partition("## Compatibility")[2].partition("\n\n|")[0]
    named = re.findall(r"`(\.[a-z_.]+)`", promise)
    assert [f"deltaparse{name}" for name in named] == list(site_pages.ROOMS)[1:]


def docstring_of(value):
    """Return the docstring of a value, except a generated one."""
    written = inspect.getdoc(value) or ""
    return "" if written.startswith(f"{getattr(value, '__name__', '')}(") else written


def test_docstrings_of_public_names_are_not_stubs(site_pages):
    stubs = []
    for room, name, value in public(site_pages):
        if not (inspect.isclass(value) or inspect.isroutine(value)):
            continue  # the docstrings of constants and types are in the source only
        if inspect.isroutine(value) or value.__module__.startswith("deltaparse"):
            if len(docstring_of(value).split()) < 5:
                stubs.append(f"{room}.{name}: {docstring_of(value)!r}")
        if inspect.isclass(value) and value.__module__.startswith("deltaparse"):
            for member, method in vars(value).items():
                plain = getattr(method, "__func__", method)
                if member.startswith("_") or not inspect.isfunction(plain):
                    continue
                if len((inspect.getdoc(getattr(value, member)) or "").split()) < 3:
                    stubs.append(f"{room}.{name}.{member}")
    assert stubs == []


def test_constants_and_types_have_docstrings(site_pages):
    """Read docstrings of assignments with `ast`, since Python drops them."""
    said = set()
    for path in (path for folder in SOURCES for path in ROOT.glob(f"{folder}/**/*.py")):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for one, two in pairwise(body):
            if isinstance(two, ast.Expr) and isinstance(two.value, ast.Constant):
                for target in getattr(one, "targets", None) or [getattr(one, "target", None)]:
                    if isinstance(target, ast.Name):
                        said.add(target.id)
    silent = [
        f"{room}.{name}"
        for room, name, value in public(site_pages)
        if not inspect.isclass(value) and not inspect.isroutine(value) and name not in said
    ]
    assert silent == []


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_every_field_of_a_format_has_a_row():
    text = text_of("format-by-hand.md").partition("## All fields")[2]
    groups = dict(
        re.findall(r"^\*\*(\w+)\*\* \(`\w+`\)(.*?)(?=^\*\*|\Z)", text, re.DOTALL | re.MULTILINE)
    )
    kinds = {name: hint for name, hint in get_type_hints(WireFormat).items() if is_dataclass(hint)}
    kinds.pop("proved")  # written by the analysis
    assert set(groups) == set(kinds)
    for group, kind in kinds.items():
        assert f"**{group}** (`{kind.__name__}`)" in text
        rows = re.findall(r"^\| (`.*?`) \|", groups[group], re.MULTILINE)
        named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
        assert sorted(named) == sorted(field.name for field in fields(kind))
