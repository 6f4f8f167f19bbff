"""The README's program prints what the README says, and so do the sessions of all pages."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
PAGES = [README, *sorted(README.parent.glob("docs/*.md"))]
SESSIONS = [page for page in PAGES if "```python\n>>>" in page.read_text(encoding="utf-8")]


def test_the_program_prints_what_it_says():
    text = README.read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```\n\nprints\n\n```\n(.*?)```", text, re.DOTALL)
    program, output = found.groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "README.md", "exec"), {})
    assert printed.getvalue() == output


def test_the_two_commands_are_targets():
    text = README.read_text(encoding="utf-8")
    makefile = README.with_name("Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert f"make {target} " in text
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


@pytest.mark.parametrize("page", SESSIONS, ids=lambda page: page.name)
def test_the_sessions_show_what_they_give(page):
    sessions = re.findall(r"```python\n(>>>.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(sessions), {}, page.name, None, 0)
    assert len(test.examples) > 1
    assert doctest.DocTestRunner().run(test).failed == 0
