"""`deltaparse demo`: output and colors."""

from __future__ import annotations

import io
import json
import re

import pytest

import deltaparse as dp
from deltaparse.command.demo_command import TEMPLATE, TOKENS, TOOLS, demo

from .running import as_process


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)


def shown(out=None):
    out = out or Terminal()
    demo(out)
    return out.getvalue()


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_output_without_terminal_has_no_color(run):
    out = run("demo")
    assert "\x1b" not in out
    assert out == plain(shown())
    assert out == run("demo")


def test_fits_a_terminal(run):
    lines = run("demo").splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)


def test_shows_the_findings_of_the_analysis(run):
    out = run("demo")
    assert dp.analyze(TEMPLATE).verified
    for found in ("..oO( ", " )Oo..", "[[ask> ", " <ask]]", '"task"', '"given"', "~dark~"):
        assert found in out.split("\n  │")[0]


def test_shows_each_chunk_with_its_deltas(run):
    rows = re.findall(r"^  │(.*?)│ +(\S.*)$|^ {20,}(\S.*)$", run("demo"), re.MULTILINE)
    assert [chunk for chunk, *_ in rows if chunk] == [token.replace("\n", "↵") for token in TOKENS]
    became = {}
    for _, first, more in rows:
        kind, _, text = (first or more).partition(" ")
        became[kind] = became.get(kind, "") + text.strip().strip("│")
    message = dp.parse("".join(TOKENS), dp.analyze(TEMPLATE), tools=TOOLS)
    assert became["reasoning"] == message.reasoning_content
    assert became["content"] == message.content
    assert became["arguments"] == "".join(call.arguments for call in message.tool_calls)
    assert became["call"] == "sunset, call 0sunset, call 1"
    assert "buffered" in became


def test_ends_with_the_message(run):
    template = dp.ChatTemplate(TEMPLATE)
    out = run("demo")
    message = json.loads(out[out.index("\n{\n") : out.rindex("}\n") + 1])
    parsed = dp.parse("".join(TOKENS), dp.analyze(template)).to_openai()
    assert message["reasoning_content"] == parsed["reasoning_content"]
    names = ("place", "latitude")
    calls = [json.loads(call["function"]["arguments"]) for call in message["tool_calls"]]
    assert [[call[name] for name in names] for call in calls] == [
        ["Malmö", 55.605],
        ["Hội An", 15.88],
    ]
    assert out.endswith("Finish reason: tool_calls\n")


def test_terminal_has_colour():
    assert "\x1b[35mreasoning" in shown()


@pytest.mark.parametrize(
    ("variables", "terminal", "coloured"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": ""}, False, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
        ({"TERM": "xterm"}, True, True),
    ],
)
def test_colour(monkeypatch, variables, terminal, coloured):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b" in shown(Terminal() if terminal else io.StringIO())) is coloured


def test_terminal_without_unicode():
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="")
    demo(out)
    out.flush()
    text = out.buffer.getvalue().decode("ascii")
    assert "  |o..\\n|" in text


def test_forced_colour_of_a_process():
    with as_process("demo", env={"FORCE_COLOR": "1"}) as process:
        out, err = process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert b"\x1b[" in out
