"""Fixtures that run the command in its own folder, with a chat template and an output."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest

from deltaparse.command.main import main

from .plain import OUTPUT, PLAIN

OF_A_TURN = re.compile(r"deltaparse: (finish reason|[a-z_]+ at \d+-\d+): ")
"""Expected issues and finish reason on stderr."""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Change to a temporary directory. Return a function that writes a file there."""
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        if isinstance(content, bytes):
            Path(name).write_bytes(content)
        else:
            text = content if isinstance(content, str) else json.dumps(content)
            Path(name).write_text(text, encoding="utf-8", newline="")
        return name

    write("t.jinja", PLAIN)
    write("out.txt", OUTPUT)
    return write


@pytest.fixture
def tried(files, capfd, monkeypatch):
    """Return a function that runs the command and returns its exit code, stdout and stderr."""

    def tried(*argv, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        return main(argv), *capfd.readouterr()

    return tried


@pytest.fixture
def run(tried):
    """Return a function that runs the command without errors and returns its output."""

    def run(*argv, stdin=b""):
        code, out, err = tried(*argv, stdin=stdin)
        told = [line for line in err.splitlines() if not OF_A_TURN.match(line)]
        assert (code, told) == (0, [])
        assert bool(err) is ("message" in argv)
        return out

    return run
