"""The README's program prints what the README says."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


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


def test_the_session_shows_what_it_gives():
    text = README.read_text(encoding="utf-8")
    session = re.search(r"```python\n(>>>.*?)```", text, re.DOTALL)[1]
    test = doctest.DocTestParser().get_doctest(session, {}, "README.md", None, 0)
    assert len(test.examples) > 1
    assert doctest.DocTestRunner().run(test).failed == 0
