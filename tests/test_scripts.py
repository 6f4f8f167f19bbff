"""The programs of `make bench`."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from deltaparse import get_format

from .strategies.templates import OWN

ROOT = Path(__file__).parents[1]


@pytest.fixture
def module(monkeypatch):
    """Return an import function for modules of the benchmark, which import each other by name."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if (ROOT / "bench" / f"{name}.py").is_file():
            del sys.modules[name]


def test_benchmark_measures_and_writes_figures(module, monkeypatch, tmp_path, capsys):
    texts = module("texts")
    monkeypatch.setattr(texts, "OBJECTS", texts.OBJECTS[:5])  # otherwise all objects are read
    bench, settings = module("bench"), module("settings")
    monkeypatch.setattr(module("analysis"), "TEMPLATES", tmp_path)
    monkeypatch.setattr(module("peers"), "CHAT_PARSING", "nowhere")  # slow import
    monkeypatch.setattr(module("servers"), "there", dict)  # slow as well
    (tmp_path / "x.jinja").write_text(OWN.reasoning_beside_calls_only, encoding="utf-8")
    files = [str(tmp_path / "new" / name) for name in ("bench.json", "bench.svg")]
    assert bench.main(["--json", files[0], "--plot", files[1]], settings.TINY) == 0
    said = capsys.readouterr().out.splitlines()
    assert any(line.endswith("targets met") for line in said)
    figures = json.loads(Path(files[0]).read_text(encoding="utf-8"))
    workloads = [row.name for row in module("workloads").WORKLOADS]
    assert [row["workload"] for row in figures["streams"]] == workloads
    assert all(row["four"] > 0 and row["whole"] > 0 for row in figures["streams"])
    assert {row["met"] for row in figures["targets"]} <= {True, False}
    assert figures["missing"][-1] == "nowhere"
    readers = {row["reader"] for row in figures["primitives"]}
    assert {"JsonScanner", "JsonValues", "ijson.backends.python", "PatternSearch"} <= readers
    compare = module("compare")
    assert {ratio for ratio, *_ in compare.ratios(figures, figures)} == {1.0}
    picture = ET.parse(files[1]).getroot()
    words = {text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert {*workloads, "deltaparse", "JsonScanner", "to reach"} <= words
    short = ET.parse(files[1].replace(".svg", "-short.svg")).getroot()
    words = {text.text for text in short.iter("{http://www.w3.org/2000/svg}text")}
    assert {*workloads, "deltaparse", "microseconds"} <= words
    assert not any("SGLang" in word for word in words if "." not in word)
    content = figures["streams"][0]
    content["four"] = content["microseconds"] = 1.0
    # In units of our floor, which is one microsecond here.
    figures["transformers"] = {"content": {"floors": 8.04, "microseconds": 9}}
    figures["servers"] = {"vLLM": {"content": {"floors": 14.4, "microseconds": 20}}}
    Path(files[0]).write_text(json.dumps(figures), encoding="utf-8")
    assert bench.main(["--readme", files[0]]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "| a chunk of four characters, in us | deltaparse | transformers | vLLM |"
    assert len(said) == 5
    assert said[2].endswith(" | 8 | 14 |")


def test_other_parsers_are_compared(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    peers = importlib.import_module("replay_peers")

    def loses(output):
        if "hermes" not in output.names:
            return None
        if output.finish == "length":
            raise ValueError
        return {"content": output.text}

    monkeypatch.setattr(peers, "PEERS", {"one": ("json", loses), "two": ("no.where", loses)})
    assert peers.main(["--corpus", ""]) == 0
    said, complained = capsys.readouterr()
    assert complained.startswith("two cannot be imported")
    whole, cut = (
        dict(line.rsplit(maxsplit=1) for line in part.splitlines()[2:])
        for part in said.split("\n\n")[:2]
    )
    assert (whole["call_lost"], cut["raised"]) == ("1", "9")
    assert int(cut["no such format"]) == 9 * int(whole["no such format"]) > 400


def test_recorder_compares_results_with_a_recording(monkeypatch, tmp_path, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    recorder, file = importlib.import_module("record_outputs"), tmp_path / "before.jsonl"
    monkeypatch.setattr(recorder, "formats", lambda: [("hermes", get_format("hermes"))])
    monkeypatch.setattr(sys, "argv", ["record_outputs.py", "--out", str(file)])
    assert recorder.main() == 0
    assert "complete=True" in file.read_text(encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["record_outputs.py", "--compare", str(file)])
    assert recorder.main() == 0
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join([*lines[:-1], "{}"]), encoding="utf-8")
    assert recorder.main() == 1
    assert f"1 of {len(lines)} records differ" in capsys.readouterr().out


@pytest.mark.parametrize(("threshold", "status"), [("0.6", 0), ("0.7", 1)])
def test_mutants_exit_status_depends_on_threshold(monkeypatch, threshold, status):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    pytest.importorskip("coverage")
    mutants = importlib.import_module("mutants")

    def kill_two_of_three(_, server):
        server.tried, server.killed = 3, 2

    monkeypatch.setattr(mutants, "_run", kill_two_of_three)
    monkeypatch.setattr(mutants, "_record", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["mutants.py", "partial", "--threshold", threshold])
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(mutants.os, "environ", {})
    assert mutants.main() == status


def test_benchmark_inputs_match_their_description(module):
    chunks, counted = module("timing").chunks, module("counts").counted()
    assert len(counted) > 30
    for name, workload in counted.items():
        parser = workload.parser()
        for chunk in chunks(workload.text(3_000)):
            parser.feed(chunk)
        issues = {issue.kind for issue in parser.issues}
        assert issues <= {"repeated_id"}, name  # a repeated call repeats its id
        message = parser.message
        calls = [call.name for call in message.tool_calls]
        arguments = [call.arguments for call in message.tool_calls]
        found = {
            "reasoning": len(message.reasoning_content) > 2_000,
            "calls": set(calls) == {"forecast"} and "Łódź" in arguments[0],
        }
        plain = calls == [] and len(message.content) > 2_000
        argument = calls == ["write"] and len(arguments[0]) > 2_000
        kind = workload.kind.removesuffix(" in Python")
        in_call = kind.split()[-1] in {"string", "nested"}
        assert found.get(kind, argument if in_call else plain), name


def test_minimal_parsers_give_the_right_result(module):
    bare = module("bare")

    def read(name):
        make, text = bare.BARE[name]
        feed = make()
        made = "".join(
            delta.arguments for chunk in module("timing").chunks(text) for delta in feed(chunk)
        )
        return made, text

    made, text = read("string argument")
    assert made == text
    made, text = read("nested arguments")
    assert json.loads(f"[{made}0]") == json.loads(f"[{text}0]")
    made, text = read("nested arguments in Python")
    assert json.loads(f"[{made}]") == list(module("texts").OBJECTS)


def test_server_parser_is_timed_only_with_a_correct_result(module, monkeypatch):
    servers, settings = module("servers"), module("settings")
    (content,) = [row for row in module("workloads").WORKLOADS if row.name == "content"]
    monkeypatch.setattr(servers, "there", lambda: {"vLLM": "1"})
    given = iter([lambda text: (text, []), lambda text: (text, []), lambda _: ("", []), None])
    monkeypatch.setattr(servers, "READERS", {"vLLM": lambda _: next(given)})
    assert servers.server("vLLM", content, settings.TINY).microseconds > 0
    assert servers.server("vLLM", content, settings.TINY) is None
    assert servers.server("vLLM", content, settings.TINY) is None
    assert servers.server("SGLang", content, settings.TINY) is None
    assert servers.missing() == ["SGLang"]
    assert list(servers.tokens("a<tool_call>bcdef</tool_call>")) == [
        "a", "<tool_call>", "bcde", "f", "</tool_call>",
    ]  # fmt: skip


def test_server_parsers_are_timed_on_as_many_calls_as_ours(module):
    servers, settings, families = module("servers"), module("settings"), module("families")
    found = {}
    for row in module("workloads").WORKLOADS:
        if row.kind in servers.CELLS:
            family, column = servers.CELLS[row.kind]
            text = servers.timed(row, settings.FULL)
            assert 0 < len(text) <= settings.FULL.small
            unit = families.FAMILIES[family][column].unit
            found[row.kind] = text.count(unit)
    assert set(found) == set(servers.CELLS)
    assert found["calls"] == 20
    assert found["content"] == settings.FULL.small // len(module("texts").PROSE)


def test_fake_tokenizer_returns_each_chunk(module):
    servers = module("servers")
    known = servers.Vocabulary()
    texts = ["<tool_call>", "\n<fu", "ncti", "\n<fu", "</tool_call>"]
    ids = [one for text in texts for one in known.encode(text)]
    assert known.decode(ids) == "".join(texts)
    assert ids[1] == ids[3]
    assert ids[1] not in known.get_vocab().values()
    assert [ids[0], ids[-1]] == [known.get_vocab()[text] for text in (texts[0], texts[-1])]


def test_transformers_parses_the_workloads(module):
    peers, settings = module("peers"), module("settings")
    pytest.importorskip(peers.CHAT_PARSING)
    for workload in module("workloads").WORKLOADS:
        assert peers.transformers(workload, 1_500, settings.TINY).floors > 0


def test_figures_are_compared_with_targets(module, monkeypatch):
    targets = module("targets")
    most = targets.Target("string", "floors", 2.5)
    least = targets.Target("content", "whole", 100, at_least=True)
    of_all = targets.Target("", "grows", 1.1)
    monkeypatch.setattr(targets, "TARGETS", (most, least, of_all))

    (floors,) = targets.check("x", "string", "floors", 2.6)
    assert (floors.name, floors.target, floors.met) == ("x", "<= 2.5", False)
    (whole,) = targets.check("x", "content", "whole", 100.0)
    assert (whole.target, whole.met) == (">= 100", True)
    assert [row.met for row in targets.check("x", "calls", "grows", 1.1)] == [True]
    assert targets.check("x", "calls", "floors", 99.0) == []


def test_targets_refer_to_measured_figures(module):
    targets = module("targets")
    assert {target.figure for target in targets.TARGETS} <= set(targets.FIGURES)


def test_two_runs_are_compared(module, tmp_path, capsys):
    def run(name, one, four):
        row = {"workload": "content", "one": one, "four": four, "four_large": 1.0}
        families = {"hermes": {"string": {"floors": 2.0}, "new" * (name == "b"): {"floors": 2.0}}}
        primitives = [{"workload": "text", "reader": "jiter", "cost": {"floors": four}}]
        path = tmp_path / name
        figures = {"streams": [row], "families": families, "primitives": primitives}
        path.write_text(json.dumps({**figures, "construction": {}}), encoding="utf-8")
        return str(path)

    old, new = run("a", 2.0, 4.0), run("b", 2.1, 3.0)
    compare = module("compare")
    assert compare.main([old, new]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[1].split() == ["1.050", "2.10", "2.00", "content,", "1", "character"]
    assert said[-1] == "1 of 4 rows are more than 3 % slower"
    assert compare.main([old, new, "--limit", "5.1"]) == 0
    assert "0.750" in capsys.readouterr().out


def test_analysis_benchmark_measures(module, monkeypatch, tmp_path, capsys):
    bench = module("analysis")
    monkeypatch.setattr(bench, "ROUNDS", 2)
    row = bench.measure("x", OWN.reasoning_beside_calls_only)
    assert row.verified
    assert min(row.to_find, row.to_prove) > 10
    assert min(row.compile, row.find, row.prove, row.one, row.times_one) > 0
    (tmp_path / "x.jinja").write_text(OWN.json_list_behind_words, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["analysis.py", str(tmp_path)])
    assert bench.main() == 0
    assert "renderings to prove" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["analysis.py", "--json", str(tmp_path / "none")])
    assert bench.main() == 0
    assert json.loads(capsys.readouterr().out) == {"templates": []}


def test_primitives_benchmark_writes_figures(module, monkeypatch, capsys):
    bench = module("partial")
    monkeypatch.setattr(bench, "QUICK", module("settings").TINY)
    monkeypatch.setattr(sys, "argv", ["partial.py", "--quick", "--json"])
    assert bench.main() == 0
    figures = json.loads(capsys.readouterr().out)
    assert all(row["cost"]["microseconds"] > 0 for row in figures["rows"])
    assert all(ratio > 0 for ratio in figures["grows"].values())
    assert 0 < figures["state_bytes"] < 64 * 1024


@pytest.mark.parametrize("name", ["fuzz/fuzz.py", "bench/bench.py"])
def test_makefile_runs_the_programs(name):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert name in makefile
