"""`deltaparse analyze`: explanations, traces and tables."""

from __future__ import annotations

import json
import re

import pytest

import deltaparse as dp
from deltaparse.command.main import main

from ..strategies.templates import OWN
from .plain import NO_JSON, PLAIN, SWITCHED_ON


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "a.jinja").write_text(OWN.reasoning_beside_calls_only, encoding="utf-8")
    (tmp_path / "b" / "c.jinja").write_text(OWN.calls_in_prose, encoding="utf-8")
    (tmp_path / "b" / "broken.jinja").write_text("{% for messages %}", encoding="utf-8")
    config = json.dumps({"chat_template": OWN.channels_without_a_system_message})
    (tmp_path / "b" / "tokenizer_config.json").write_text(config, encoding="utf-8")
    (tmp_path / "other.txt").write_text("not a template", encoding="utf-8")
    return tmp_path


def output(capfd, *argv):
    assert main(["analyze", *map(str, argv)]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    return out


def test_the_explanation_has_evidence_grammar_and_proof(folder, capfd):
    out = output(capfd, folder / "a.jinja")
    assert "»<plan>«zqthoughtzq" in out
    assert '\n  reasoning = "<plan>" text "</plan>"\n' in out
    assert "\n  - the same function twice\n" in out
    assert "\nVerified: " in out


def test_an_explanation_without_proof(tmp_path, capfd):
    (tmp_path / "x.jinja").write_text("{{ messages }}{{ raise_exception('no') }}", encoding="utf-8")
    out = output(capfd, tmp_path / "x.jinja")
    assert "parse back unchanged:\n  none\n" in out
    assert "\nNot verified:\n  - the template renders no simple conversation: no\n" in out


def test_a_trace_shows_comparisons(folder, capfd):
    out = output(capfd, "--trace", folder / "a.jinja")
    for name in ("frame", "R1", "C1", "T1-T7, A1, A2", "proof"):
        assert f"\n== {name}\n" in out
    assert "\n  compared to " in out
    assert "\n  + " in out
    assert "\n  - " in out
    assert "\n  identical to " in out


def test_a_trace_shows_refusals(tmp_path, capfd):
    (tmp_path / "x.jinja").write_text(OWN.json_unmarked, encoding="utf-8")
    assert "\n  the template rejects it\n" in output(capfd, "--trace", tmp_path / "x.jinja")


def test_a_table_of_a_directory(folder, capfd):
    lines, legend = (part.splitlines() for part in output(capfd, folder).split("\n\n"))
    assert [line.split()[0] for line in lines] == [
        "template",
        "a.jinja",
        "b/broken.jinja",
        "b/c.jinja",
        "b/tokenizer_config.json",
    ]
    modes = ["TOOLS_ONLY", "ALWAYS_WRAPPED", "JSON_NATIVE"]
    assert lines[1].split()[1:] == [*modes, *("yes",) * 4]
    assert any(re.fullmatch("tools JSON_NATIVE +name and arguments.*", line) for line in legend)
    assert "does not compile" in lines[2]
    assert " no: " in lines[3]
    assert lines[4].split()[3:] == ["CHANNELS", *("yes",) * 4]


def test_check_has_an_exit_status(folder, capfd):
    assert main(["analyze", "--check", str(folder / "a.jinja")]) == 0
    assert main(["analyze", "--check", str(folder / "b" / "c.jinja")]) == 1
    assert main(["analyze", "--check", "--json", str(folder)]) == 1
    assert main(["analyze", str(folder / "b" / "c.jinja")]) == 0
    capfd.readouterr()


def test_first_line_is_the_verdict_on_tool_calls(folder, capfd):
    first, *_ = output(capfd, folder / "a.jinja").splitlines()
    assert re.fullmatch(r"Tool calls will work: verified on \d+ conversations\.", first)
    first, *_ = output(capfd, folder / "b" / "c.jinja").splitlines()
    assert first.startswith("Tool calls: not understood: tool calls are rendered, but ")


def test_unrenderable_template_is_not_reported_as_having_no_calls(run, files):
    files("t.jinja", SWITCHED_ON)
    first, *_ = run("analyze", "t.jinja").splitlines()
    assert first.startswith("Tool calls: unknown: the template renders no simple conversation: ")


@pytest.mark.parametrize("form", [(), ("--trace",), ("--json",), ("--json", "--cache", "kept")])
def test_a_template_may_need_a_switch(tried, files, form):
    files("t.jinja", SWITCHED_ON)
    assert tried("analyze", "--check", *form, "t.jinja")[0] == 1
    assert tried("analyze", "--check", *form, "--switch", "on=true", "t.jinja")[0] == 0
    code, _, err = tried("analyze", *form, "--switch", "odd=1", "t.jinja")
    assert (code, "the template does not read 'odd': it reads on" in err) == (2, True)


def test_described_format_is_suggested_and_used_with_accept(tmp_path, capfd):
    (tmp_path / "x.jinja").write_text(OWN.calls_described, encoding="utf-8")
    assert "the built-in format hermes: use --accept" in output(capfd, tmp_path / "x.jinja")
    assert json.loads(output(capfd, "--json", tmp_path / "x.jinja"))["tools"]["format"] == "NONE"
    made = json.loads(output(capfd, "--json", "--accept", tmp_path / "x.jinja"))
    assert (made["tools"]["format"], made["verified"]) == ("JSON_NATIVE", False)


def test_a_directory_as_json(folder, capfd):
    found = json.loads(output(capfd, "--json", folder))
    assert list(found) == [
        "a.jinja",
        "b/broken.jinja",
        "b/c.jinja",
        "b/tokenizer_config.json",
    ]
    assert found["a.jinja"] == json.loads(dp.analyze(OWN.reasoning_beside_calls_only).to_json())
    assert "does not compile" in found["b/broken.jinja"]["error"]


@pytest.mark.parametrize(
    ("options", "words"),
    [((), "no chat template found"), (("--trace",), "no chat template found")],
)
def test_a_directory_without_templates(tmp_path, capfd, options, words):
    assert main(["analyze", *options, str(tmp_path)]) == 2
    assert words in capfd.readouterr().err


def test_trace_requires_one_template(folder, capfd):
    assert main(["analyze", "--trace", str(folder)]) == 2
    assert "--trace requires a single template" in capfd.readouterr().err
    assert main(["analyze", "--switch", "a=1", str(folder)]) == 2
    assert "--switch requires a single template" in capfd.readouterr().err
    assert main(["analyze", "--trace", "--json", str(folder / "a.jinja")]) == 2
    assert "not allowed with" in capfd.readouterr().err


def test_json(run):
    out = run("analyze", "--json", "t.jinja")
    assert out == dp.analyze(PLAIN).to_json() + "\n"
    assert dp.WireFormat.from_json(out) == dp.analyze(PLAIN)


def test_words(run):
    out = run("analyze", "t.jinja")
    for name, value in {
        "headers": "'<assistant>\\n'",
        "ends": "'</assistant>\\n'",
        "start": "'<note>'",
        "end": "'</note>\\n'",
        "per_call_start": "'<use>'",
        "name_field": "'tool'",
        "arguments_field": "'with'",
        "supports_tools": "yes",
    }.items():
        assert re.search(rf"^  {name} +{re.escape(value)}$", out, re.MULTILINE), name
    assert re.search("^reasoning +between two markers, both written", out, re.MULTILINE)
    assert "section_start" not in out
    assert '\n  | <use>{"tool": "NAME", "with": {"KEY": "VALUE"}}</use>' in out
    assert "\nVerified: " in out


def test_unverified_format(run, files):
    files("t.jinja", NO_JSON)
    fmt = dp.analyze(NO_JSON)
    assert not fmt.verified
    out = run("analyze", "t.jinja")
    assert "\nVerified" not in out
    assert out.endswith("\nNot verified:\n" + "".join(f"  - {x}\n" for x in fmt.issues))
    assert json.loads(run("analyze", "--json", "t.jinja"))["verified"] is False


def test_surrogate_in_a_template(run, files):
    files("config.json", {"chat_template": PLAIN.replace("note", "n\ud800")})
    assert json.loads(run("analyze", "--json", "config.json"))["reasoning"]["start"] == (
        "<n\ud800>"
    )
    assert "\\ud800" in run("analyze", "config.json")
