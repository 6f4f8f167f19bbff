"""`deltaparse replay`: results, tables and errors."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from deltaparse.command.replay_command import KINDS
from deltaparse.command.replay_progress import ProgressLine
from deltaparse.replay import LAYOUTS
from deltaparse.replay.classes import CLASSES
from deltaparse.replay.log_schemas import FIELDS

from ..replay.records import FORMAT, TEXT, lines, record
from .plain import OUTPUT
from .running import as_process, events

HERMES = ["replay", "--format", "qwen3", "--in", "log.jsonl"]


@pytest.fixture
def log(files):
    right = {"role": "assistant", "content": "Let me see."}
    files("log.jsonl", lines([record(), record(id=5, expected=right, model="small")]))


def test_results_and_table(run, log):
    out = run(*HERMES, "--out", "out.jsonl")
    one, two = events(Path("out.jsonl").read_text(encoding="utf-8"))
    assert (one["id"], "class" in one) == ("a", False)
    assert (two["id"], two["class"], two["model"]) == (5, "call_lost", "small")
    assert out.startswith("2 records\n1 (50.0 %): the server returned a different message")
    assert run(*HERMES) == out


def test_table_is_on_stderr_if_results_are_on_stdout(tried, log):
    code, out, err = tried(*HERMES, "--out", "-", "--jobs", "1")
    assert (code, [one["id"] for one in events(out)]) == (0, ["a", 5])
    assert err.startswith("2 records")
    stdin = Path("log.jsonl").read_bytes()
    again = tried("replay", "--format", "qwen3", "--in", "-", "--out", "-", stdin=stdin)
    assert again == (code, out, err)


def test_template_and_unreadable_records(tried, files):
    files("log.jsonl", json.dumps({"text": OUTPUT, "finish_reason": "stop"}) + "\nno\n")
    code, out, err = tried("replay", "--template", "t.jinja", "--in", "log.jsonl", "--out", "o")
    assert code == 0
    assert "1 could not be read:\n  record 2: not JSON" in out
    assert "1 of 2 records could not be read" in err
    first, second = events(Path("o").read_text(encoding="utf-8"))
    assert len(first["message"]["tool_calls"]) == 2
    assert (first["id"], second["id"]) == (1, 2)


def test_a_format_from_a_file_and_a_layout(run, files):
    files("fmt.json", FORMAT.to_json())
    files("log.jsonl", lines([{"id": 1, "a": {"raw": TEXT}}, {"id": 2, "a": {"raw": TEXT}}]))
    run("replay", "--format", "fmt.json", "--in", "log.jsonl", "--map", "text=a.raw", "--out", "o")
    assert [len(one["attempts"]) for one in events(Path("o").read_text(encoding="utf-8"))] == [2, 2]
    files("log.jsonl", lines([{"doc_id": 3, "resps": [[TEXT]]}]))
    run("replay", "--format", "qwen3", "--in", "log.jsonl", "--layout", "lm-eval", "--out", "o")
    assert events(Path("o").read_text(encoding="utf-8"))[0]["id"] == 3


def test_against_option_compares_two_formats(run, log, files):
    files("log.jsonl", lines([record(), record(id=2, tools=record()["tools"][:1])]))
    run(*HERMES, "--against", "unknown_tool=text", "--out", "o")
    (one,) = events(Path("o").read_text(encoding="utf-8"))
    assert (one["id"], one["class"]) == (2, "call_lost")
    run(*HERMES, "--against", "t.jinja", "--out", "o")
    assert len(events(Path("o").read_text(encoding="utf-8"))) == 2
    files("fmt.json", FORMAT.to_json())
    run(*HERMES, "--against", "fmt.json", "--out", "o")
    assert Path("o").read_text(encoding="utf-8") == ""


def test_minimal(run, tried, log, files, monkeypatch):
    monkeypatch.syspath_prepend(".")
    files("mine.py", "def parse(chunks, record): return {'content': ''.join(chunks)}\n")
    argv = [*HERMES, "--minimal", "5", "--peer", "mine:parse", "--class", "call_lost"]
    found = json.loads(run(*argv))
    assert len(found["chunks"]) == 1
    assert len(found["message"]["tool_calls"]) == 1
    source = run(*argv, "--as", "test")
    names = {}
    exec(source, names)
    names["test_this_output"]()
    files("fmt.json", FORMAT.to_json())
    for own, named in (
        ({}, ["--format", "fmt.json"]),
        ({"format": "qwen3"}, []),
        ({"format": json.loads(FORMAT.to_json())}, []),
    ):
        files("own.jsonl", lines([record(id=5, **own)]))
        asked = ["replay", *named, "--in", "own.jsonl", *argv[argv.index("--minimal") :]]
        names = {}
        exec(run(*asked, "--as", "test"), names)
        names["test_this_output"]()
    # With --map too, the reduced text is parsed, not the original one.
    files("deep.jsonl", lines([{"id": 5, "response": {"raw": record()["text"] + " and more"}}]))
    argv[argv.index("log.jsonl")] = "deep.jsonl"
    found = json.loads(run(*argv, "--map", "text=response.raw"))
    assert len(found["message"]["tool_calls"]) == 1
    code, _, err = tried(*HERMES, "--minimal", "5")
    assert (code, "does not show the fault" in err) == (2, True)


def test_report_works_without_a_visible_fault(run, tried, files):
    chunks = ["Well.<tool", record()["text"]]
    files("output.jsonl", lines([{"chunks": chunks, "tools": [{"name": "clock"}]}, record()]))
    source = run("replay", "--format", "qwen3", "--in", "output.jsonl", "--as", "test")
    assert repr(chunks[0]) in source
    names = {}
    exec(source, names)
    names["test_this_output"]()
    source = run("replay", "--template", "t.jinja", "--in", "output.jsonl", "--as", "test")
    exec(source, names)
    names["test_this_output"]()
    for text, words in (("", "no record"), ('{"token_ids": [1]}\n', "token ids")):
        files("output.jsonl", text)
        code, _, err = tried("replay", "--format", "qwen3", "--in", "output.jsonl", "--as", "test")
        assert (code, words in err) == (2, True)


def shown(name):
    """Return the outputs on a page of the inspector."""
    html = Path(name).read_text(encoding="utf-8")
    found = re.findall('<script type="application/json" class="record">(.*?)</script>', html)
    return [(one["title"], one["note"], one["format"]) for one in map(json.loads, found)]


def test_inspect_page_shows_differing_records(tried, log, files, monkeypatch):
    code, _, err = tried(*HERMES, "--inspect", "page.html")
    assert (code, err.splitlines()[-1]) == (0, "deltaparse: wrote page.html: 1 output")
    assert shown("page.html") == [("5", "call_lost: tool_calls[1]", "reasoning, calls JSON_NATIVE")]
    tried(*HERMES, "--against", "qwen3_coder", "--inspect", "page.html")
    one, two, *_ = shown("page.html")
    assert (one[0], two[0], two[2]) == ("a", "a", "qwen3_coder")
    files("log.jsonl", lines([record()] * 2))
    _, _, err = tried(*HERMES, "--inspect", "none.html")
    assert "no record differs, so no page was written" in err
    assert not Path("none.html").exists()
    lost = record(expected={"role": "assistant", "content": ""})
    files("log.jsonl", "no\n" + lines([lost] * 51))
    _, _, err = tried(*HERMES, "--inspect", "page.html")
    assert "the page has the first 50 of 51 differing records" in err
    assert len(shown("page.html")) == 50


def test_inspect_page_shows_the_minimal_output(tried, log, files, monkeypatch):
    monkeypatch.syspath_prepend(".")
    files("mine.py", "def parse(chunks, record): return {'content': ''.join(chunks)}\n")
    argv = [*HERMES, "--minimal", "5", "--inspect", "page.html"]
    assert tried(*argv, "--peer", "mine:parse")[0] == 0
    assert [note for _, note, _ in shown("page.html")] == ["smallest output that shows the fault"]
    assert tried(*argv, "--against", "qwen3_coder")[0] == 0
    assert [name for _, _, name in shown("page.html")][1] == "qwen3_coder"
    from deltaparse.command import replay_minimal

    monkeypatch.setattr(replay_minimal, "breaks_ours", lambda *given: lambda chunks: True)
    assert tried(*argv)[0] == 0
    assert [note for _, note, _ in shown("page.html")][1] == "in one chunk"


@pytest.mark.parametrize("way", [[], ["--in"]])
def test_many_files(tried, files, way):
    for name in ("a", "b"):
        files(f"{name}.jsonl", lines([record(id=name), {}]))
    files("c.txt", lines([record(id="c")]))
    argv = ["replay", "--format", "qwen3", "--out", "o.jsonl", *way, "*.jsonl", "c.txt"]
    code, table, err = tried(*argv)
    assert (code, "2 of 5 records could not be read" in err) == (0, True)
    found = events(Path("o.jsonl").read_text(encoding="utf-8"))
    assert [(one["file"], one["id"]) for one in found] == [
        ("a.jsonl", "a"),
        ("a.jsonl", 2),
        ("b.jsonl", "b"),
        ("b.jsonl", 2),
        ("c.txt", "c"),
    ]
    assert "  a.jsonl, record 2: the record lacks text" in table


def test_choices_have_results_pages_and_ids(run, tried, log, files):
    lost = {"choices": [{"index": at, "message": {"content": ""}} for at in range(2)]}
    outputs = [{"text": "", "finish_reason": "stop"}, {"text": TEXT, "finish_reason": "stop"}]
    files("log.jsonl", lines([{"id": 5, "outputs": outputs, "expected": lost}]))
    assert tried(*HERMES, "--layout", "vllm", "--out", "o", "--inspect", "page.html")[0] == 0
    found = events(Path("o").read_text(encoding="utf-8"))
    assert [(one["id"], one["choice"], one["class"]) for one in found] == [
        (5, 0, "same"),
        (5, 1, "call_lost"),
    ]
    assert [note for _, note, _ in shown("page.html")] == ["choice 1, call_lost: tool_calls[1]"]
    argv = [*HERMES, "--layout", "vllm", "--minimal", "5#1", "--against", "qwen3_coder"]
    assert json.loads(run(*argv))["chunks"]
    assert tried(*HERMES, "--layout", "vllm", "--minimal", "5")[0] == 2
    run("inspect", "--format", "qwen3", "--layout", "vllm", "--id", "5#1", "log.jsonl", "--text")


@pytest.mark.parametrize(
    ("argv", "records", "words"),
    [
        (["--format", "qwen3"], [record()], None),
        (["--format", "qwen3"], [record(text="Hello.")], None),
        (["--format", "llama3"], [record()], "no call was found, but this looks like --format"),
        # Both formats share a marker, so a call is started.
        (["--format", "qwen3_coder"], [record()], "no call was found, but this looks like"),
        ([], [record(format="qwen3", text="Hi")], None),
        # No calls are expected without tools.
        (["--format", "llama3"], [record(tools=[])], None),
    ],
)
def test_hints_for_a_wrong_format_or_layout(tried, files, argv, records, words):
    files("log.jsonl", lines(records))
    code, _, err = tried("replay", *argv, "log.jsonl")
    assert code == 0
    assert (words or "") in err
    assert bool(err) == bool(words)


@pytest.mark.parametrize("command", ["replay", "inspect"])
@pytest.mark.parametrize(
    ("argv", "log", "words"),
    [
        ([], [record()], "no template; no format given: use --format NAME or --template"),
        ([], [record()], "--template SOURCE; this looks like --format"),
        (["--format", "qwen3"], [{"resps": [[TEXT]]}], "this looks like --layout lm-eval"),
        (["--format", "qwen3"], [{"outputs": [{"text": TEXT}]}], "this looks like --layout vllm"),
        (["--format", "qwen3"], [{"response": TEXT}], "no raw text found: use --map text=PATH"),
        (["--format", "qwen3"], [record(tools=5)], "tools must be a list, not 5\n"),
        (["--format", "qwen3"], [], "no record found\n"),
        (["--format", "qwen3"], b"\xff\0\n" * 3, "invalid start byte\n"),
        (["--format", "qwen3"], gzip.compress(TEXT.encode(), mtime=0)[:30], "cannot be unpacked"),
    ],
)
def test_log_without_parsable_output_is_rejected(tried, files, command, argv, log, words):
    files("log.jsonl", log if isinstance(log, bytes) else lines(log))
    code, out, err = tried(command, *argv, "log.jsonl")
    assert (code, out) == (2, "")
    assert words in err
    assert err.startswith("deltaparse: log.jsonl: ")
    assert (err.count("\n"), Path("inspect.html").exists()) == (1, False)


def test_stdin_without_parsable_output_is_rejected(tried):
    stdin = lines([record()]).encode()
    code, out, err = tried("replay", "-", stdin=stdin)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "no format given: use" in err
    assert "no output could be parsed" in tried("replay", "--format", "qwen3", "-", stdin=b"no")[2]


def test_unrendered_messages_are_noted_once(tried, files):
    asked = [{"role": "user", "content": "?"}]
    of_its_own = record(template=Path("t.jinja").read_text(encoding="utf-8"), messages=asked)
    rendered = [record(messages=asked, prompt="?"), record(messages=[]), record()]
    files("log.jsonl", lines([record(messages=asked)] * 2 + rendered))
    code, _, err = tried(*HERMES, "--against", "hermes", "--out", "o")
    assert (code, err.count("\n")) == (0, 1)
    assert "note: the messages of 2 of 5 records were not rendered; use --template" in err
    files("log.jsonl", lines([of_its_own, record(messages=asked, format="qwen3")]))
    assert "1 of 2 records were not" in tried("replay", "log.jsonl")[2]
    assert "rendered" not in tried("replay", "--template", "t.jinja", "log.jsonl")[2]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--in", "-", "--format", "qwen3", "--inspect", "x.html"], "reads the records twice"),
        (["--in", "none.jsonl", "--format", "qwen3"], "none.jsonl: No such file"),
        (["--in", "log.jsonl", "--format", "nothing"], "nothing"),
        (["--in", "log.jsonl", "--format", "t.jinja"], "t.jinja"),
        ([*HERMES[1:], "--map", "text"], "expected FIELD=PATH"),
        ([*HERMES[1:], "--map", "what=x"], "unknown field 'what'"),
        ([*HERMES[1:], "--policies", "what=x"], "unknown policy 'what'"),
        ([*HERMES[1:], "--policies", "unknown_tool=x"], "unknown_tool must be one of"),
        ([*HERMES[1:], "--policies", "{"], "not JSON"),
        ([*HERMES[1:], "--jobs", "0"], "from 1 up"),
        ([*HERMES[1:], "--minimal", "none"], "no record found with the id none"),
        (
            [*HERMES[1:], "--minimal", "5", "--peer", "nosuch:f"],
            "nosuch:f: expected MODULE:FUNCTION",
        ),
        ([*HERMES[1:], "--minimal", "5", "--class", "nosuch"], "invalid choice: 'nosuch'"),
        ([*HERMES[1:], "--minimal", "5", "--class", "leak"], "requires --peer or --against"),
        ([*HERMES[1:], "--peer", "nosuch:f"], "--peer requires --minimal ID"),
        ([*HERMES[1:], "--against", "hermes", "--class", "leak"], "--class requires --minimal ID"),
        ([*HERMES[1:], "--engine", "ray"], "--in FILE --out FILE"),
        (["--format", "qwen3"], "no records given"),
        (["--format", "qwen3", "log.jsonl", "-"], "standard input cannot be combined"),
        (["--format", "qwen3", "--in", "*.csv"], "*.csv: no file matches this pattern"),
        ([*HERMES[1:], "--out", "log.jsonl"], "overwrite the records"),
    ],
)
def test_bad_input_is_one_line(tried, log, argv, words):
    code, _, err = tried("replay", *argv)
    assert code == 2
    assert words in err
    assert err.count("\n") == 1


def test_missing_ray_names_the_extra(tried, log, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    code, _, err = tried(*HERMES, "--engine", "ray", "--out", "o")
    assert (code, "pip install 'deltaparse[ray]'" in err) == (2, True)


def test_each_layout_has_a_name(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    text = run("replay", "-h")
    assert all(name in text for name in LAYOUTS)
    assert all(name in FIELDS for paths in LAYOUTS.values() for name in paths)


def test_each_class_can_be_asked_for():
    assert set(KINDS) == {*CLASSES, "raised"} - {"same"}


class Terminal:
    def __init__(self, shown):
        self.shown, self.text = shown, ""

    def isatty(self):
        return self.shown

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_progress_is_shown_on_terminals_only():
    for shown in (True, False):
        terminal = Terminal(shown)
        line = ProgressLine(terminal)
        line._last -= 1
        line(10, 20, 100)
        line._began -= 4000
        line(30, 60, 100)
        line._last -= 1
        line(30, 60, 100)
        line(50, 100, 100)
        line.end()
        assert ("100 %  50 records" in terminal.text) == shown
        assert ("left" in terminal.text) == shown
        assert bool(terminal.text) == shown


def test_replay_uses_several_processes(log, files):
    files("log.jsonl", lines(record(id=at) for at in range(1500)))
    with as_process(*HERMES, "--out", "o", "--jobs", "2", stdin=subprocess.DEVNULL) as process:
        out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, b"")
    assert out.startswith(b"1500 records")
    ids = [one["id"] for one in events(Path("o").read_text(encoding="utf-8"))]
    assert ids == list(range(1500))


@pytest.mark.costly
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGKILL])
def test_replay_ended_by_a_signal_resumes(log, files, signal_):
    files("log.jsonl", lines(record(id=at) for at in range(4000)))
    argv = [*HERMES, "--out", "o", "--jobs", "2"]
    with as_process(*argv, stdin=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 100
        while not Path("o.part.json").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal_)
        process.communicate(timeout=60)
    assert process.returncode == (130 if signal_ == signal.SIGINT else -signal.SIGKILL)
    assert not Path("o").exists()
    assert 0 < json.loads(Path("o.part.json").read_text(encoding="utf-8"))["next"][1] < 4000
    with as_process(*argv, stdin=subprocess.DEVNULL) as process:
        out, _ = process.communicate(timeout=100)
    assert out.startswith(b"4000 records")
    ids = [one["id"] for one in events(Path("o").read_text(encoding="utf-8"))]
    assert ids == list(range(4000))
