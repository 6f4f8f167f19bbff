"""The program on the page for operators: it fails where a call does not come whole."""

from __future__ import annotations

import logging
import re
import shlex
from pathlib import Path

import pytest

from deltaparse.command.main import main

from .conftest import TEMPLATES

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "gateway-operator.md"
CALL = '<call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</call>'


@pytest.fixture
def smoke(gateway, capsys):
    program = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    assert "http://127.0.0.1:8080" in program

    def ask():
        exec(program.replace("http://127.0.0.1:8080", gateway.url), {})
        return capsys.readouterr().out

    return ask


def test_a_call_that_comes_whole(smoke, upstream):
    upstream.plays(chunks=[CALL])
    assert smoke() == 'a whole call: {"city": "Oslo"}\n'


@pytest.mark.parametrize(
    "script",
    [
        {"chunks": ["It rains."]},
        {"chunks": [CALL[:50]], "reason": "length"},
        {"chunks": [CALL.replace("weather", "look")]},
    ],
)
def test_what_is_no_whole_call_is_noticed(smoke, upstream, script):
    upstream.plays(**script)
    with pytest.raises(AssertionError):
        smoke()


COMMANDS = [
    found
    for page in ("gateway-operator.md", "gateway.md")
    for found in re.findall(
        r"^(?:ExecStart=\S*)?deltaparse serve (.*)$",
        (DOCS / page).read_text(encoding="utf-8"),
        re.MULTILINE,
    )
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_pages_starts(command, tmp_path, monkeypatch, capsys):
    """As far as it can where nothing is at the address of the upstream."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(logging.getLogger("deltaparse.gateway"), "handlers", [])  # `--log` adds one
    Path("key").write_text("secret", encoding="utf-8")
    template = TEMPLATES / "json_in_tags.jinja"
    for name in ("./Qwen3-8B", "/models/mine"):
        command = command.replace(name, str(template))
    command = command.replace("127.0.0.1:8000", "127.0.0.1:9")
    assert main(["serve", *shlex.split(command, comments=True)]) == 2
    assert "reached" in capsys.readouterr().err


def test_the_commands_of_the_pages_are_found():
    assert len(COMMANDS) == 5
