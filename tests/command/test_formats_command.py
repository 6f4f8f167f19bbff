"""`deltaparse formats`, `deltaparse parse --format`, and the note when no call was parsed."""

from __future__ import annotations

import io
import json
import sys

import pytest

from deltaparse import WireFormat, get_format, list_formats
from deltaparse.command.formats_command import ENOUGH, Glance
from deltaparse.command.main import main

CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
PLAIN = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Run the command on an input; its exit code, its output, what it complains."""
    monkeypatch.chdir(tmp_path)

    def run(*argv, stdin=""):
        text = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", text)
        code = main(argv)
        return code, *capfd.readouterr()

    return run


def test_the_list_has_names_aliases_and_a_sample(run):
    code, out, err = run("formats")
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert len(lines) == 2 * len(list_formats())
    names = "hermes, hermes2, hermes_2_pro, granite4: Hermes 2 and 3, Granite 4"
    hermes = lines[lines.index(names) + 1]
    assert hermes.startswith('    CONTENT<tool_call>\\n{"name": "NAME", "arguments": ')
    assert max(map(len, lines)) <= 190


def test_the_list_as_json(run):
    _, out, _ = run("formats", "--json")
    found = json.loads(out)
    assert list(found) == list(list_formats())
    assert found["qwen25"]["aliases"] == list(list_formats()["qwen25"])
    assert found["qwen25"]["models"] == "Qwen 2.5, Qwen 3"
    assert "<tool_call>\n" in found["hermes"]["sample"]


def test_one_format(run):
    _, words, _ = run("formats", "Hermes2")
    assert "<tool_call>" in words
    _, document, _ = run("formats", "hermes", "--json")
    assert WireFormat.from_json(document) == get_format("hermes")


def test_a_name_that_is_none(run):
    for argv in (("formats", "hermess"), ("parse", "--format", "hermess")):
        code, out, err = run(*argv)
        assert (code, out) == (2, "")
        assert err.startswith("deltaparse: no format is called 'hermess'; did you mean 'hermes'")


def test_an_output_is_parsed_by_name(run):
    code, out, err = run("parse", "--format", "hermes", "--as", "message", stdin=CALL)
    assert (code, err) == (0, "")
    assert json.loads(out)["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a": 1}'}


def test_a_template_or_a_name_and_not_both(run):
    code, _, err = run("parse")
    assert (code, "--template --format is required" in err) == (2, True)
    code, _, err = run("parse", "--template", "t.jinja", "--format", "hermes")
    assert (code, "not allowed with" in err) == (2, True)


NOTE = "note: no call was parsed, but this looks like --format hermes, or qwen25"


def test_another_format_is_noticed(run, tmp_path):
    (tmp_path / "t.jinja").write_text(PLAIN)
    (tmp_path / "none.json").write_text("[]")
    for argv in (("--format", "mistral"), ("--template", "t.jinja")):
        code, out, err = run("parse", *argv, "--chunk", "3", stdin=f"Hi {CALL}")
        assert code == 0
        events = [json.loads(line) for line in out.splitlines()]
        assert "<tool_call>" in "".join(event.get("text", "") for event in events)
        assert NOTE in err
        assert "1 call; it holds '<tool_call>'" in err
        _, _, err = run("parse", *argv, "--tools", "none.json", stdin=f"Hi {CALL}")
        assert NOTE not in err


def test_nothing_is_noticed_where_there_is_nothing(run):
    for text in ("", "Hello.", "I write <tool_call> here.", CALL):
        _, _, err = run("parse", "--format", "hermes", stdin=text)
        assert err == ""


def test_a_glance_keeps_no_more_than_it_needs():
    glance = Glance()
    pieces = [b"x" * (ENOUGH - 1), b"yz", b"w"]
    assert list(glance.passing(pieces)) == pieces
    assert sum(map(len, glance._kept)) == ENOUGH
