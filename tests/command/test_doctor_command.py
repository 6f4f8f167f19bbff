"""`deltaparse doctor`: checks and exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .plain import NO_JSON, PLAIN, SWITCHED_ON, tool


@pytest.fixture
def model(files):
    """Return a function that creates a model folder with special tokens in its tokenizer."""

    def model(special):
        Path("model").mkdir(exist_ok=True)
        added = [
            {"id": 300 + at, "content": text, "special": True} for at, text in enumerate(special)
        ]
        vocabulary = {chr(code): code for code in range(33, 127)}
        pretokenizer = {"type": "ByteLevel", "add_prefix_space": False}
        document = {
            "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
            "added_tokens": added,
            "pre_tokenizer": pretokenizer,
            "decoder": {"type": "ByteLevel"},
        }
        files("model/tokenizer.json", document)
        files("model/chat_template.jinja", PLAIN)
        return "model"

    return model


def findings(tried, *argv):
    """Return the exit status and the findings by part."""
    code, out, err = tried("doctor", *argv, "--json")
    assert err == ""
    document = json.loads(out)
    assert document["ok"] is (code == 0)
    parts = {}
    for one in document["findings"]:
        parts.setdefault(one["part"], []).append((one["status"], one["detail"]))
    return code, parts


def test_verified_template_passes(tried, files):
    code, found = findings(tried, "t.jinja")
    assert code == 0
    assert found["template"] == [("ok", "rendered conversations parse back unchanged")]
    assert [status for part in ("content", "reasoning", "calls") for status, _ in found[part]] == [
        "ok"
    ] * 3
    assert found["tokenizer"][0][0] == "note"
    assert "tools" not in found


def test_unverified_template_fails(tried, files):
    files("t.jinja", NO_JSON)
    code, found = findings(tried, "t.jinja")
    assert (code, found["template"][0][0]) == (1, "failed")
    assert found["calls"] == [("note", "not in any verified rendering")]


def test_a_template_may_need_a_switch(tried, files):
    files("t.jinja", SWITCHED_ON)
    assert findings(tried, "t.jinja")[0] == 1
    code, found = findings(tried, "t.jinja", "--switch", "on=true")
    assert (code, found["calls"]) == (0, [("ok", "verified with default")])
    reason = found["bridge"][0][1]
    assert "set on" not in reason


def test_dropped_markers_are_reported_with_engine_settings(tried, model):
    code, found = findings(tried, model(["<use>", "</use>"]))
    assert code == 0
    assert [status for status, detail in found["tokenizer"] if "<use>:" in detail] == ["note"]
    assert any("skip_special_tokens" in detail for _, detail in found["engine"])
    code, found = findings(tried, model([]))
    assert code == 0
    assert found["engine"] == [("ok", "no marker is dropped, no setting is required")]


def test_tools_without_a_grammar_fail(tried, files):
    loose, wrong = tool("say"), tool("say")
    loose["function"]["parameters"] = {
        "type": "object",
        "properties": {"a": {"type": "array", "uniqueItems": True}},
    }
    wrong["function"]["parameters"] = {"type": "object", "properties": {"a": {"type": 7}}}
    for given, statuses in (
        ([tool("say")], ["ok"]),
        ([loose], ["ok", "note"]),
        ([wrong], ["failed"]),
        ([], ["failed"]),
    ):
        files("tools.json", given)
        code, found = findings(tried, "t.jinja", "--tools", "tools.json")
        assert [status for status, _ in found["tools"]] == statuses
        assert code == ("failed" in statuses)


def test_report_as_text(tried, files):
    code, out, _ = tried("doctor", "t.jinja")
    assert code == 0
    assert out.splitlines()[0] == "ok      template     rendered conversations parse back unchanged"
    assert "\\x1b" not in out
    code, _, err = tried("doctor", "nowhere")
    assert (code, err.startswith("deltaparse: nowhere: ")) == (2, True)


def test_format_name_instead_of_template_is_rejected(tried):
    code, _, err = tried("doctor", "hermes")
    assert code == 2
    assert "hermes: this is the name of a format, but a template is expected" in err
    assert "deltaparse formats hermes" in err
