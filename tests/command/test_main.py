"""The command in this process and as a separate process: help, exit codes, bad input."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import deltaparse as dp
from deltaparse.command import demo_command
from deltaparse.command.main import main

from .running import as_process

ROOT = Path(__file__).resolve().parents[2]
PARSE = ["parse", "--template", "t.jinja"]


def test_version(run):
    assert run("--version") == f"deltaparse {dp.__version__}\n"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["-h"], ["demo", "parse", "analyze", "chat template"]),
        (["parse", "-h"], ["--template FILE", "--tools", "--prompt", "--chunk N", "--as"]),
        (["analyze", "--help"], ["--json", "tokenizer_config.json", "a model's folder", "GGUF"]),
    ],
)
def test_help(run, monkeypatch, argv, words):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    out = run(*argv)
    assert all(word in out for word in words)
    assert max(map(len, out.splitlines())) <= 90


def test_default_arguments_are_from_the_process(run, monkeypatch, capfd):
    monkeypatch.setattr(sys, "argv", ["deltaparse", "--version"])
    assert main() == 0
    assert capfd.readouterr().out.startswith("deltaparse ")


def test_script_is_main():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"deltaparse": "deltaparse.command.main:main"}


@pytest.mark.parametrize(("argv", "code"), [(["--version"], 0), (["analyze", "nowhere"], 2)])
def test_exit_code_of_the_process(argv, code):
    with as_process(*argv) as process:
        process.communicate()
    assert process.returncode == code


def test_interrupted(monkeypatch, files):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo_command, "demo", interrupted)
    assert main(["demo"]) == 130


def test_closed_standard_output_is_reported(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["demo"]) == 1
    assert capsys.readouterr().err == "deltaparse: standard output is closed\n"


def test_broken_pipe_exits_silently(files):
    argv = ("parse", "--template", "t.jinja", "--chunk", "1")
    with as_process(*argv, stdin=subprocess.PIPE) as process:
        process.stdin.write(b"a")
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(b"b" * 100)
        process.stdin.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (BrokenPipeError(), ""),
        (OSError(5, "Input/output error"), "deltaparse: Input/output error\n"),
        (OSError("no reason"), "deltaparse: no reason\n"),
    ],
)
def test_output_fails(monkeypatch, capsys, error, words):
    class Failing(io.StringIO):
        def write(self, _):
            raise error

    monkeypatch.setattr(sys, "stdout", Failing())
    assert main(["demo"]) == 1
    assert capsys.readouterr().err == words


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_disk_is_full(files):
    with Path("/dev/full").open("wb") as full:
        paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run(
            [sys.executable, "-m", "deltaparse", "analyze", "t.jinja"],
            env=os.environ | paths,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == b"deltaparse: No space left on device\n"


BAD_FILES = {
    "open.jinja": "{% for m in messages %}",
    "text.jinja": "Not a template.\n",
    "latin.jinja": "{{ messages }} é".encode("latin-1"),
    "huge.jinja": "{{ messages }}" + "x" * 200_000,
    "bad.json": "{",
    "deep.json": "[" * 200_000,
    "list.json": "[]",
    "empty.json": "{}",
    "number.json": '{"chat_template": 5}',
    "other.json": '{"chat_template": [{"name": "rag", "template": ""}, 1]}',
    "unnamed.json": '{"chat_template": [{"name": "default"}]}',
    "tools.json": '["\\n"]',
    "nameless.json": '[{"type": "function", "function": {"description": "' + "x" * 1000 + '"}}]',
    "directory/file": "",
}


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "COMMAND"),
        (["paint"], "paint"),
        (["--bogus"], "required"),
        (["demo", "more"], "more"),
        (["parse"], "--template"),
        (["analyze"], "FILE"),
        (["analyze", "nowhere.jinja"], "nowhere.jinja: No such file or directory"),
        (["analyze", "nowhere.json"], "nowhere.json: No such file or directory"),
        (["analyze", "directory"], "directory: "),
        (["analyze", "nul\0.jinja"], "null byte"),
        (["analyze", "open.jinja"], "open.jinja: the chat template does not compile at line 1"),
        (["analyze", "text.jinja"], "text.jinja: not a chat template"),
        (["analyze", "latin.jinja"], "latin.jinja: not UTF-8 text: byte 0xe9 at 15"),
        (["analyze", "huge.jinja"], "more than"),
        (["analyze", "bad.json"], "bad.json: not JSON: "),
        (["analyze", "deep.json"], "deep.json: not JSON: "),
        (["analyze", "list.json"], "list.json: not a tokenizer configuration"),
        (["analyze", "empty.json"], "empty.json: no chat_template in it, and no "),
        (["analyze", "number.json"], "number.json: chat_template must be a string"),
        (["analyze", "other.json"], 'other.json: no chat_template named "tool_use" or '),
        (["analyze", "unnamed.json"], "unnamed.json: chat_template must be a string"),
        (["parse", "--template", "nowhere", "out.txt"], "nowhere: No such file"),
        ([*PARSE, "nowhere.txt"], "nowhere.txt: No such file or directory"),
        ([*PARSE, "directory"], "directory: "),
        ([*PARSE, "nul\0"], "null byte"),
        ([*PARSE, "--tools", "nowhere.json", "out.txt"], "nowhere.json: No such file"),
        ([*PARSE, "--tools", "bad.json", "out.txt"], "bad.json: not JSON: "),
        ([*PARSE, "--tools", "empty.json", "out.txt"], "empty.json: not a list of tools"),
        ([*PARSE, "--tools", "tools.json", "out.txt"], "tools.json: a tool must have "),
        ([*PARSE, "--tools", "nameless.json", "out.txt"], "nameless.json: a tool must have "),
        ([*PARSE, "--prompt", "nowhere.txt", "out.txt"], "nowhere.txt: No such file"),
        ([*PARSE, "--prompt", "latin.jinja", "out.txt"], "latin.jinja: not UTF-8 text"),
        ([*PARSE, "--chunk", "0", "out.txt"], "--chunk: must be a whole number from 1 up"),
        ([*PARSE, "--chunk", "-3", "out.txt"], "--chunk"),
        ([*PARSE, "--chunk", "two", "out.txt"], "not 'two'"),
        ([*PARSE, "--as", "xml", "out.txt"], "--as"),
        ([*PARSE, "--messages", "empty.json", "out.txt"], "empty.json: not a list of messages"),
        (["parse", "--format", "bad.json", "out.txt"], "bad.json: "),
        (["parse", "--format", "nowhere.json", "out.txt"], "nowhere.json: No such file"),
        (["--completion", "fish"], "--completion"),
        ([*PARSE, "out.txt", "more.txt"], "more.txt (see `deltaparse parse -h`)"),
        (["analyze", "t.jinja", "--bogus"], "--bogus (see `deltaparse analyze -h`)"),
        (["formats", "zzzzzz"], "'zzzzzz'; `deltaparse formats` lists all"),
        (["doctor", "Qwen/Qwen3-8B"], "Qwen/Qwen3-8B: No such file or directory. Models are not"),
    ],
)
def test_bad_input_is_one_line_and_code_2(files, capfd, argv, words):
    Path("directory").mkdir()
    for name, content in BAD_FILES.items():
        files(name, content)
    assert main(argv) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("deltaparse: ")
    assert words in err
    assert err.endswith("\n")
    assert len(err.splitlines()) == 1
    assert len(err) < 350


def test_standard_input_is_closed(files, capfd, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert main(PARSE) == 2
    assert capfd.readouterr().err == "deltaparse: standard input is closed\n"


def test_bad_input_of_a_process(files):
    with as_process("parse", "--template", "no\nwhere") as process:
        out, err = process.communicate()
    assert (process.returncode, out) == (2, b"")
    assert err.decode().splitlines() == ["deltaparse: no where: No such file or directory"]


def test_library_errors_are_printed_on_one_line(files, capfd, monkeypatch):
    def refused(*_, **__):
        raise dp.FormatError("that\ncannot be")

    monkeypatch.setattr(dp, "analyze", refused)
    assert main(["analyze", "t.jinja"]) == 2
    assert capfd.readouterr().err == "deltaparse: that cannot be\n"
