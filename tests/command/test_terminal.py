"""Colors, progress and completion for terminals and shells, and plain output for pipes."""

from __future__ import annotations

import io
import sys
from types import ModuleType

import pytest

from deltaparse.command import terminal
from deltaparse.command.main import main


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_verdict_is_colored_on_terminals_only(files, monkeypatch):
    for variables, painted in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
        with monkeypatch.context() as patch:
            out = Terminal()
            patch.setattr(sys, "stdout", out)
            for name, value in variables.items():
                patch.setenv(name, value)
            assert main(["analyze", "t.jinja"]) == 0
        assert ("\x1b[32mVerified" in out.getvalue()) is painted
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    assert main(["analyze", "t.jinja"]) == 0
    assert "\x1b" not in out.getvalue()


def test_progress_is_shown_if_stdout_is_redirected(monkeypatch):
    seen = []
    rich, console, progress = ModuleType("rich"), ModuleType("console"), ModuleType("progress")
    console.Console = lambda **given: seen.append(given)
    progress.track = lambda items, words, total, **given: seen.append(words) or items
    modules = {"rich": rich, "rich.console": console, "rich.progress": progress}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert list(terminal.progress([1, 2], "counting")) == [1, 2]
    assert seen == [{"stderr": True}, "counting"]
    for name in modules:
        monkeypatch.setitem(sys.modules, name, None)
    assert list(terminal.progress([1, 2], "counting")) == [1, 2]
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert list(terminal.progress([1, 2], "counting")) == [1, 2]
    assert len(seen) == 2


def test_completion_uses_shtab(monkeypatch, tried):
    shtab = ModuleType("shtab")
    shtab.complete = lambda parser, shell: f"{parser.prog} in {shell}"
    monkeypatch.setitem(sys.modules, "shtab", shtab)
    assert tried("--completion", "zsh") == (0, "deltaparse in zsh\n", "")
    monkeypatch.setitem(sys.modules, "shtab", None)
    code, _, err = tried("--completion", "bash")
    assert (code, "pip install 'deltaparse[completion]'" in err) == (2, True)


def test_completion_knows_the_subcommands(tried):
    pytest.importorskip("shtab")
    code, out, _ = tried("--completion", "bash")
    assert (code, "formats" in out) == (0, True)
