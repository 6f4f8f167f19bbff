"""`deltaparse inspect`: pages, pictures, text and errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ..replay.records import lines, record
from .plain import OUTPUT, tool


def shown(name="inspect.html"):
    """Return the outputs of a page."""
    html = Path(name).read_text(encoding="utf-8")
    found = re.findall('<script type="application/json" class="record">(.*?)</script>', html)
    return [json.loads(text) for text in found]


def test_a_page_of_a_text_and_a_template(tried, files):
    files("tools.json", [tool("add")])
    asked = ["--template", "t.jinja", "--tools", "tools.json", "--finish", "stop", "out.txt"]
    code, out, err = tried("inspect", *asked)
    assert (code, out, err) == (0, "", "deltaparse: wrote inspect.html: 1 output\n")
    (one,) = shown()
    assert (one["title"], one["format"], one["text"]) == ("out.txt", "t.jinja", OUTPUT)
    assert set(one["chunks"][:-2]) == {4}
    assert [issue["kind"] for issue in one["issues"]] == ["unknown_tool"]
    code, out, _ = tried(
        "inspect", *asked[:-1], "--chunk", "7", "--out", "-", stdin=OUTPUT.encode()
    )
    assert (code, out[:15]) == (0, "<!DOCTYPE html>")
    assert '"chunks":[7,' in out


def test_a_prompt(tried, files):
    files("prompt.txt", "<assistant>\n<note>Wh")
    code, _, _ = tried(
        "inspect", "--template", "t.jinja", "--prompt", "prompt.txt", "--out", "p.html", "-",
        stdin=b"y?</note>Yes.",
    )  # fmt: skip
    assert code == 0
    (one,) = shown("p.html")
    assert [part["kind"] for part in one["parts"]] == ["reasoning", "content"]
    assert one["title"] == "standard input"


def test_records(tried, files):
    records = [record(), record(id=7, chunks=["So", "."], text=None), {"id": "c"}]
    files("log.jsonl", lines(records) + "no\n")
    assert tried("inspect", "--format", "qwen3", "log.jsonl")[0] == 0
    one, two, three, four = shown()
    assert (one["title"], two["chunks"]) == ("a", [2, 1, 0])
    assert "lacks text" in three["error"]
    assert (four["title"], "not JSON" in four["error"]) == ("4", True)
    assert tried("inspect", "--format", "qwen3", "--id", "7", "--id", "4", "log.jsonl")[0] == 0
    assert [one["title"] for one in shown()] == ["7", "4"]
    _, _, err = tried("inspect", "--format", "qwen3", "--limit", "2", "log.jsonl")
    assert "only the first 2 records" in err
    stdin = lines(records).encode()
    assert tried("inspect", "--format", "qwen3", "--jsonl", "-", stdin=stdin)[0] == 0
    assert len(shown()) == 3


def test_second_format_is_shown_for_comparison(tried, files):
    code, _, err = tried("inspect", "--template", "t.jinja", "--against", "hermes", "out.txt")
    assert (code, "2 outputs" in err) == (0, True)
    one, two = shown()
    assert (one["text"], two["format"]) == (two["text"], "hermes")
    assert len(one["parts"]) > len(two["parts"])
    assert '"beside":1' in Path("inspect.html").read_text(encoding="utf-8")


def test_a_picture_and_text(tried, files, monkeypatch):
    code, _, err = tried("inspect", "--template", "t.jinja", "--svg", "out.txt")
    assert (code, err) == (0, "deltaparse: wrote inspect.svg: a picture\n")
    assert Path("inspect.svg").read_text(encoding="utf-8").startswith("<svg")
    code, out, err = tried("inspect", "--template", "t.jinja", "--text", "out.txt")
    assert (code, err) == (0, "")
    assert "      name │ add" in out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert (
        "\x1b[1;32madd\x1b[0m" in tried("inspect", "--template", "t.jinja", "--text", "out.txt")[1]
    )


def test_invalid_utf_8_is_replaced(tried, files):
    files("bad.txt", b"caf\xe9 \xff")
    assert tried("inspect", "--format", "qwen3", "bad.txt")[0] == 0
    (one,) = shown()
    assert one["text"] == "caf\ufffd \ufffd"
    assert [issue["kind"] for issue in one["issues"]] == ["invalid_text"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["out.txt"], "no format given: use"),
        (["call.txt"], "--template SOURCE; this looks like --format "),
        (["--format", "nothing", "out.txt"], "no format is called 'nothing'"),
        (["--format", "qwen3", "none.txt"], "none.txt: No such file"),
        (["--format", "qwen3", "--finish", "stop", "log.jsonl"], "--finish requires a raw text"),
        (
            ["--format", "qwen3", "--id", "x", "log.jsonl"],
            "log.jsonl: no record found with the id x",
        ),
        (["--format", "qwen3", "--out", "none/x.html", "out.txt"], "none/x.html: No such file"),
        (["--format", "qwen3", "--svg", "--text", "out.txt"], "not allowed with"),
    ],
)
def test_invalid_arguments_are_rejected(tried, files, argv, words):
    files("log.jsonl", lines([record()]))
    files("call.txt", record()["text"])
    code, out, err = tried("inspect", *argv)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
