"""The program on the operator page: it fails without a complete call."""

from __future__ import annotations

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


def test_smoke_program_prints_a_complete_call(smoke, upstream):
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
def test_smoke_program_fails_without_a_complete_call(smoke, upstream, script):
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
def test_commands_of_the_pages_start(command, tmp_path, monkeypatch, capsys):
    """The upstream is not running, so the command stops with an error."""
    monkeypatch.chdir(tmp_path)
    Path("key").write_text("secret", encoding="utf-8")
    template = TEMPLATES / "json_in_tags.jinja"
    for name in ("./Qwen3-8B", "/models/mine"):
        command = command.replace(name, str(template))
    command = command.replace("127.0.0.1:8000", "127.0.0.1:9")
    assert main(["serve", *shlex.split(command, comments=True)]) == 2
    assert "cannot reach" in capsys.readouterr().err


def test_commands_of_the_pages_are_found():
    assert len(COMMANDS) == 5
