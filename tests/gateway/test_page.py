"""The program on the page for operators: it fails where a call does not come whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "gateway-operator.md"
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
