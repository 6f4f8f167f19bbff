"""`deltaparse grammar`: grammars for each engine, and errors for bad input."""

from __future__ import annotations

import json

import pytest

import deltaparse as dp
from deltaparse.command.main import main

from ..corpus import FOLDER, needs_corpus
from .plain import PLAIN, tool

TOOLS = [
    tool("say"),
    {
        "type": "function",
        "function": {
            "name": "add",
            "parameters": {
                "properties": {"a": {"type": "array", "uniqueItems": True}},
                "required": ["a"],
            },
        },
    },
]
CALL = '<use>{"tool": "add", "with": {"a": [1, 25]}}</use>'


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Return a function that runs the command in a temporary directory.

    It returns the exit code, stdout and stderr.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.jinja").write_text(PLAIN, encoding="utf-8")
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS), encoding="utf-8")
    (tmp_path / "schema.json").write_text('{"type": "integer"}', encoding="utf-8")
    (tmp_path / "list.json").write_text("[]", encoding="utf-8")
    (tmp_path / "prompt.txt").write_text("<assistant>\n<note>", encoding="utf-8")

    def run(*argv, template="t.jinja"):
        code = main(["grammar", "--template", template, *argv])
        return (code, *capfd.readouterr())

    return run


def printed(run, *argv, **options):
    code, out, err = run(*argv, **options)
    assert (code, err) == (0, "")
    return out


def test_gbnf_equals_the_grammar_of_the_library(run):
    out = printed(run, "--tools", "tools.json")
    grammar = dp.gbnf(dp.analyze(PLAIN), TOOLS)
    notes, text = out[: out.index("root ::=")], out[out.index("root ::=") :]
    assert text == grammar.text
    [trigger] = grammar.triggers
    assert notes.splitlines() == [
        f"# trigger ({trigger.kind}): {json.dumps(trigger.value)}",
        "# not enforced: uniqueItems of add#/properties/a",
    ]
    assert "<use>" in trigger.value


def test_lark(run):
    out = printed(run, "--tools", "tools.json", "--as", "lark")
    assert out.startswith("// trigger (")
    assert out.endswith(dp.gbnf(dp.analyze(PLAIN), TOOLS).as_lark())


def test_structural_tag(run):
    out = printed(run, "--tools", "tools.json", "--as", "structural-tag")
    assert json.loads(out) == dp.structural_tag(dp.analyze(PLAIN), TOOLS)


@pytest.mark.parametrize(
    ("argv", "options"),
    [
        (["--tool-choice", "required"], {"tool_choice": "required"}),
        (["--tool-choice", "say"], {"tool_choice": {"function": {"name": "say"}}}),
        (["--single"], {"parallel_tool_calls": False}),
        (["--response-schema", "schema.json"], {"response_schema": {"type": "integer"}}),
        (
            ["--prompt", "prompt.txt", "--tool-choice", "required"],
            {"prompt": "<assistant>\n<note>", "tool_choice": "required"},
        ),
    ],
)
def test_options(run, argv, options):
    out = printed(run, "--tools", "tools.json", *argv)
    assert out.endswith(dp.gbnf(dp.analyze(PLAIN), TOOLS, **options).text)
    tag = printed(run, "--tools", "tools.json", "--as", "structural-tag", *argv)
    assert json.loads(tag) == dp.structural_tag(dp.analyze(PLAIN), TOOLS, **options)


def test_the_whole_turn(run):
    out = printed(run, "--tools", "tools.json", "--eager")
    assert out.endswith(dp.gbnf(dp.analyze(PLAIN), TOOLS, lazy=False).text)
    assert "trigger" not in out


@pytest.mark.parametrize("form", ["gbnf", "lark", "structural-tag"])
def test_a_grammar_of_tokens(run, tmp_path, form):
    characters = {chr(code): code for code in range(33, 127)}
    special = {"id": 300, "content": "<use>", "special": True}
    document = {"model": {"type": "BPE", "vocab": characters, "merges": []}, "decoder": None}
    path = tmp_path / "tokenizer.json"
    path.write_text(
        json.dumps({**document, "added_tokens": [special], "decoder": {"type": "ByteLevel"}})
    )
    vocabulary = dp.Vocabulary.load(path)
    options = ("--tools", "tools.json", "--as", form)
    out = printed(run, *options, "--vocabulary", "tokenizer.json")
    grammar = dp.gbnf(dp.analyze(PLAIN), TOOLS, vocabulary=vocabulary)
    made = {
        "gbnf": grammar.text,
        "lark": grammar.as_lark(),
        "structural-tag": json.dumps(
            dp.structural_tag(dp.analyze(PLAIN), TOOLS, vocabulary=vocabulary), indent=2
        ),
    }
    assert out.strip().endswith(made[form].strip())
    assert "300" in out
    assert "300" not in printed(run, *options)


def test_an_answer_without_tools(run):
    out = printed(run, "--response-schema", "schema.json")
    assert out.startswith("root ::= ")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "nothing to constrain: give --tools or --response-schema"),
        (
            ["--tools", "tools.json", "--tool-choice", "none"],
            "nothing to constrain: --tool-choice none forbids calls",
        ),
        (["--tools", "none.json"], "none.json: nothing to constrain: the list of tools is empty"),
        (["--tools", "tools.json", "--switch", "odd=1"], "the template does not read 'odd'"),
        (
            ["--tools", "tools.json", "--tool-choice", "sing"],
            "tools.json: tool_choice names 'sing'",
        ),
        (["--tools", "schema.json"], "schema.json: not a list of tools"),
        (["--tools", "bad.json"], "bad.json: tool 'f': #/properties/x/type"),
        (["--response-schema", "list.json"], "list.json: not a JSON Schema"),
        (["--response-schema", "t.jinja"], "t.jinja: not JSON"),
        (["--as", "bnf"], "--as"),
        (["--tools", "list.json", "--vocabulary", "nowhere.json"], "nowhere.json: "),
        (["--tools", "list.json", "--vocabulary", "list.json"], "list.json: "),
    ],
)
def test_bad_input(run, tmp_path, argv, words):
    bad = [{"name": "f", "parameters": {"properties": {"x": {"type": "text"}}}}]
    (tmp_path / "bad.json").write_text(json.dumps(bad), encoding="utf-8")
    (tmp_path / "none.json").write_text("[]", encoding="utf-8")
    code, out, err = run(*argv)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert words in err


def test_a_template_without_calls(run, tmp_path):
    (tmp_path / "plain.jinja").write_text(
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}",
        encoding="utf-8",
    )
    code, _, err = run("--tools", "tools.json", template="plain.jinja")
    assert code == 2
    assert "plain.jinja: nothing to constrain: " in err


@needs_corpus
def test_a_real_template(run):
    path = FOLDER / "templates" / "Qwen3-Coder.jinja"
    out = printed(run, "--tools", "tools.json", template=str(path))
    assert 'trigger (word): "<tool_call>"' in out


def test_a_switch_may_choose_other_calls(tried, files):
    files("tools.json", [tool("say")])
    files("s.jinja", PLAIN.replace("<use>", "<{{ 'do' if short else 'use' }}>"))
    argv = ["grammar", "--template", "s.jinja", "--tools", "tools.json"]
    assert '"<do>' in tried(*argv, "--switch", "short=true")[1]
    assert '"<do>' not in tried(*argv, "--switch", "short=false")[1]
    code, _, err = tried("grammar", "--format", "hermes", "--switch", "a=1")
    assert (code, "--switch requires --template" in err) == (2, True)


def test_a_grammar_of_a_format_by_name_or_file(run, files):
    files("tools.json", [tool("say")])
    files("f.json", dp.get_format("hermes").to_json())
    texts = {
        run("grammar", "--format", name, "--tools", "tools.json") for name in ("hermes", "f.json")
    }
    assert len(texts) == 1


def test_check_fails_if_the_grammar_is_wider(tried, files):
    loose = tool("say")
    loose["function"]["parameters"] = {
        "type": "object",
        "properties": {"a": {"type": "array", "uniqueItems": True}},
    }
    for tools, status in (([tool("say")], 0), ([loose], 1)):
        files("tools.json", tools)
        for form in ("gbnf", "structural-tag"):
            argv = ["grammar", "--format", "hermes", "--tools", "tools.json", "--as", form]
            assert tried(*argv, "--check")[0] == status
            assert tried(*argv)[0] == 0
