"""The programs behind `make fuzz` and `make bench` run."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.analyzer import templates

ROOT = Path(__file__).parents[1]


def test_the_fuzzer_tries_and_says_what_it_did_not_try():
    paths = f"import sys; sys.path[:] = {sys.path!r}; sys.argv = ['fuzz', '--seconds', '0']"
    script = str(ROOT / "fuzz" / "fuzz.py")
    run = f"{paths}; import runpy; runpy.run_path({script!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("holds")
    assert sum(line.startswith("untried") for line in lines) > 30
    assert lines[-1].startswith("1 of ")


def script(name, monkeypatch):
    spec = importlib.util.spec_from_file_location(name, ROOT / "bench" / f"{name}.py")
    bench = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, bench)
    spec.loader.exec_module(bench)
    monkeypatch.setattr(bench, "ROUNDS", 2)
    for name, size in {"LARGE": 4000, "SMALL": 2000}.items():
        monkeypatch.setattr(bench, name, size, raising=False)
    return bench


def test_the_benchmark_measures(monkeypatch):
    bench = script("bench", monkeypatch)
    for workload in bench.WORKLOADS:
        assert bench.measure(workload)["floors"] > 0
    assert bench.measure_construction(2).floors > 0


def test_the_benchmark_of_the_analysis_measures(monkeypatch, tmp_path, capsys):
    bench = script("analysis", monkeypatch)
    row = bench.measure("x", templates.TOOLS_ONLY)
    assert row.verified
    assert row.renderings > 10
    assert min(row.compile, row.analysis, row.one, row.times_one) > 0
    (tmp_path / "x.jinja").write_text(templates.WORDY, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["analysis.py", str(tmp_path)])
    assert bench.main() == 0
    assert "ms in total; " in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["analysis.py", "--json", str(tmp_path / "none")])
    assert bench.main() == 0
    assert json.loads(capsys.readouterr().out) == {"templates": []}


def test_the_benchmark_of_the_primitives_measures(monkeypatch):
    bench = script("partial", monkeypatch)
    monkeypatch.setattr(bench, "BUDGET", 0.02)
    rows = bench.measure_json() + bench.measure_text()
    measured = {row.reader for row in rows}
    assert {*bench.OURS, "ijson.backends.python", "Markers", "PatternSearch"} <= measured
    assert all(row.microseconds > 0 for row in rows if row.reader in bench.OURS)
    assert all(bench.growth(reader) > 0 for reader in bench.STRINGS)
    assert 0 < bench.state_size() < 64 * 1024


@pytest.mark.parametrize(
    "name", ["fuzz/fuzz.py", "bench/bench.py", "bench/partial.py", "bench/analysis.py"]
)
def test_make_runs_them(name):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert name in makefile
