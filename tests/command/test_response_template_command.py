"""`deltaparse response-template`: output, checks and exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import deltaparse as dp
from deltaparse.analyzer import response_template

from .plain import PLAIN

WRITTEN = dp.to_response_template(dp.analyze(PLAIN))
NO_CALLS = {**WRITTEN, "fields": {"content": WRITTEN["fields"]["content"]}}
PYTHON = PLAIN.replace(
    '{"tool": "{{ call.function.name }}", "with": ', "[{{ call.function.name }}("
)
PYTHON = PYTHON.replace(
    "{{ call.function.arguments | tojson }}}",
    "{% for k, v in call.function.arguments.items() %}{{ k }}={{ v | tojson }}"
    "{{ ', ' if not loop.last }}{% endfor %})]",
)


@pytest.fixture
def model(files):
    """Return a function that creates a model folder, optionally with a response template."""

    def model(shipped=None):
        Path("model").mkdir(exist_ok=True)
        files("model/chat_template.jinja", PLAIN)
        files("model/tokenizer_config.json", {"response_template": shipped} if shipped else {})
        return "model"

    return model


@pytest.mark.transformers
def test_response_template_is_written_and_verified(tried, files):
    code, out, err = tried("response-template", "t.jinja")
    assert code == 0
    assert json.loads(out) == WRITTEN
    assert "transformers" in err
    assert "not expressible in the standard: a truncated call" in err
    assert "loses" not in err


def test_missing_transformers_leaves_template_unverified(tried, files, monkeypatch):
    monkeypatch.setattr(response_template, "judge", lambda: None)
    code, out, err = tried("response-template", "t.jinja")
    assert code == 0
    assert json.loads(out) == WRITTEN
    assert "not verified: transformers is not installed" in err
    code, out, _ = tried(
        "response-template", "t.jinja", "--check", "--shipped", files("r.json", WRITTEN)
    )
    assert code == 1
    assert "not verified: transformers is not installed" in out


@pytest.mark.parametrize(
    "options", [["--check"], ["--check", "--shipped", "r.json"], ["--shipped", "r"]]
)
@pytest.mark.transformers
def test_check_of_a_lossless_template_passes(tried, model, files, options):
    for name in ("r.json", "r"):
        files(name, {"response_template": WRITTEN})
    code, out, err = tried("response-template", model(WRITTEN), *options)
    assert (code, err) == (0, "")
    assert "no avoidable loss" in out
    assert "loses" not in out


@pytest.mark.transformers
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (NO_CALLS, "loses calls: read as []"),
        ({**WRITTEN, "start_anchor": "<nowhere>"}, "loses content"),
        ({**WRITTEN, "odd": 1}, "loses everything: transformers refuses it: Unknown keys"),
        ({**WRITTEN, "fields": {}}, "loses everything: transformers refuses it"),
    ],
)
def test_check_reports_losses(tried, model, change, words):
    code, out, err = tried("response-template", model(change), "--check")
    assert (code, err) == (1, "")
    assert words in out
    assert out.endswith("to write a better one: deltaparse response-template model\n")


def test_inexpressible_parts_are_reported(tried, files):
    code, out, err = tried("response-template", files("p.jinja", PYTHON))
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "a response template cannot express: calls in Python" in err


@pytest.mark.parametrize("source", ["hermes", "vllm:qwen3_xml", "glm45"])
def test_response_template_of_a_built_in_format(tried, files, source):
    fmt = dp.get_format(source)
    for given in (source, files("format.json", json.loads(fmt.to_json()))):
        code, out, err = tried("response-template", given)
        assert code == 0
        assert json.loads(out) == dp.to_response_template(fmt)
        assert "not verified: built-in formats have no template" in err
    code, out, err = tried("response-template", "llama3_json")
    assert code == 0
    assert "not expressible in the standard: code after its marker" in err
    code, out, err = tried("response-template", "pythonic")
    assert (code, out) == (1, "")
    assert "pythonic: a response template cannot express: calls in Python" in err


@pytest.mark.parametrize("options", [["--check"], ["--shipped", "r.json"], ["--switch", "a=1"]])
def test_check_options_are_rejected_for_a_format(tried, options):
    code, out, err = tried("response-template", "hermes", *options)
    assert (code, out) == (2, "")
    assert "hermes: a format has no template" in err
    assert "(a model's folder or file)" in err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["nowhere.jinja"], "nowhere.jinja: "),
        (["model", "--check"], "tokenizer_config.json: it has no response_template"),
        (["t.jinja", "--check"], "tokenizer_config.json: "),
        (["model", "--shipped", "t.jinja"], "t.jinja: not JSON"),
        (["model", "--shipped", "none.txt"], "none.txt: No such file"),
        (["t.jinja", "--shipped", "model"], "tokenizer_config.json: it has no response_template"),
        (["t.jinja", "--shipped", "bad.json"], "bad.json: not JSON"),
        (["t.jinja", "--shipped", "list.json"], "list.json: it has no response_template"),
        (["t.jinja", "--switch", "odd=1"], "the template does not read 'odd'"),
        (["t.jinja", "--switch", "template=1"], "--switch template=1: template is a reserved name"),
        (["t.jinja", "--switch", "odd"], "--switch odd: expected NAME=VALUE"),
    ],
)
def test_bad_input(tried, model, files, argv, words):
    model()
    files("bad.json", "{")
    files("list.json", [])
    code, out, err = tried("response-template", *argv)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert words in err
