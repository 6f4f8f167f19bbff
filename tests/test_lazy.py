"""Imported modules, counted in separate processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

import deltaparse

SLOW = {"jinja2", "regex", "ijson", "jsonschema", "importlib.resources"}
PACKAGES = {
    f"deltaparse.{name}" for name in ("analyzer", "command", "gate", "grammar", "replay", "servers")
}

MAKE_A_PARSER = """
parser = deltaparse.StreamParser(deltaparse.WireFormat())
parser.feed("x")
parser.finish("stop")
parser.message.to_openai()
"""


MAIN = "from deltaparse.command.main import main; main"


def modules_after(program):
    """Return the modules of a process after it imports the package and runs a program."""
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", f"import deltaparse\n{program}\nimport sys\nprint(*sys.modules)"],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return set(done.stdout.split())


def test_package_import_is_lazy():
    own = {name for name in modules_after("") if name.startswith("deltaparse")}
    assert own == {"deltaparse", "deltaparse.lazy", "deltaparse.version"}


def test_parser_imports_only_the_engine():
    modules = modules_after(MAKE_A_PARSER)
    assert not modules & (SLOW | PACKAGES)
    assert "deltaparse.stream.reading.sections" in modules
    assert not {name for name in modules if name.startswith("deltaparse.stream.wire.named")}


@pytest.mark.costly
@pytest.mark.parametrize(
    ("program", "needed"),
    [
        ("deltaparse.analyze", {"jinja2", "deltaparse.analyzer"}),
        ("deltaparse.ChatTemplate", {"jinja2", "deltaparse.analyzer"}),
        ("deltaparse.get_format('hermes')", {"importlib.resources"}),
        ("deltaparse.create_tool_parser('hermes')", {"importlib.resources"}),
        ("deltaparse.partial.search", {"regex"}),
        ("deltaparse.partial.heal_json", set()),
        ("deltaparse.partial.JsonValues()", {"ijson"}),
        ("deltaparse.partial.Markers", set()),
        ("deltaparse.to_response_template", {"regex"}),
        ("deltaparse.gbnf", {"deltaparse.grammar"}),
        ("deltaparse.ToolGate", {"deltaparse.gate", "regex"}),
        (
            "deltaparse.ToolGate([])",
            {"deltaparse.gate", "regex", "jsonschema", "importlib.resources"},
        ),
        (
            "deltaparse.servers",
            {f"deltaparse.{name}" for name in ("servers", "analyzer", "grammar")}
            | {"jinja2", "importlib.resources"},
        ),
        (f"{MAIN}(['--version'])", {"deltaparse.command", "importlib.resources"}),
        (
            f"import os; {MAIN}(['parse', '--format', 'hermes', os.devnull])",
            {"deltaparse.command", "importlib.resources"},
        ),
        ("deltaparse.chat_completion_chunks", set()),
        ("deltaparse.UsageError", set()),
        ("deltaparse.__version__, dir(deltaparse), deltaparse.__doc__", set()),
    ],
)
def test_name_imports_only_its_dependencies(program, needed):
    assert modules_after(program) & (SLOW | PACKAGES) == needed


def test_packages_in_the_help_exist():
    named = re.findall(r"deltaparse\.(\w+)  ", deltaparse.__doc__)
    assert len(named) == 12
    for name in named:
        assert getattr(deltaparse, name).__name__ == f"deltaparse.{name}"
