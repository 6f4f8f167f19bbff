"""The fuzzers: targets, reports and kept failures."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from . import hangs

FUZZ = Path(__file__).parents[1] / "fuzz"
SAMPLE = """
import pytest
from hypothesis import given, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

@given(x=st.integers())
def test_holds(x):
    assert isinstance(x, int)

@given(x=st.integers())
async def test_waits(x):
    assert x < 1000

@pytest.mark.parametrize(("low", "high"), [(0, 10), pytest.param(0, 20), pytest.param(0, 10**40)])
@given(x=st.integers(0, 10))
def test_every_case(x, low, high):
    assert low <= x < high

@given(x=st.integers())
def test_raises(x):
    with pytest.raises(ValueError):
        int(x)

@given(x=st.integers())
def test_never_ends(x):
    while x:
        pass

@pytest.mark.skipif(True, reason="here")
@given(x=st.integers())
def test_elsewhere(x):
    assert False

class Machine(RuleBasedStateMachine):
    count = 0

    @rule(more=st.integers(0, 5))
    def add(self, more):
        self.count += more
        assert self.count < 9

TestMachine = Machine.TestCase
"""


@pytest.fixture
def sample(tmp_path, monkeypatch):
    """Return a module of tests, and the fuzzer with a temporary folder for failures."""
    (tmp_path / "sample.py").write_text(SAMPLE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(FUZZ))
    monkeypatch.syspath_prepend(str(tmp_path))
    targets = importlib.import_module("fuzz_targets")
    monkeypatch.setattr(targets, "KEPT", tmp_path / "kept")
    yield importlib.import_module("sample"), targets
    del sys.modules["sample"]


ENOUGH = 100
"""A number of inputs that is enough to find each fault of the sample."""


def test_failures_are_reported_and_kept_until_fixed(sample, monkeypatch):
    module, targets = sample
    monkeypatch.setattr(hangs, "LONGEST", 1)
    found = {target.name.partition(".")[2]: target for target in targets.targets_of(module)}
    for target in found.values():
        for _ in range(20):  # a busy machine tries few inputs at a time
            if target.tried < ENOUGH and not target.failure:
                target.run(0.2)
    reported = {
        "test_waits": "x=1000",
        "test_every_case[0_10]": "x=10",
        "test_raises": "DID NOT RAISE",
        "test_never_ends": "Hangs on {'x': ",
        "Machine": "state.add(more=",
    }
    assert found.keys() == {"test_holds", "test_every_case[0_20]", "test_every_case[2]", *reported}
    assert {name for name, target in found.items() if target.failure} == reported.keys()
    assert all(words in found[name].failure for name, words in reported.items())
    assert all(target.tried for target in found.values())

    again = found["test_raises"]
    again.failure = ""
    again.redo()
    assert "DID NOT RAISE" in again.failure
    monkeypatch.setattr(module, "int", [].index, raising=False)  # raises for all inputs
    again.failure = ""
    again.redo()
    assert again.failure == ""


def program(*arguments, path=()):
    """Return the output of a program with the import path of this process."""
    paths = f"import sys; sys.path[:] = {[*map(str, path), str(FUZZ), *sys.path]!r}; "
    command = [sys.executable, "-c", paths + arguments[0], *arguments[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_run_prints_the_tried_cases(tmp_path):
    report = tmp_path / "report.json"
    chosen = ["--seconds", "0.5", "--match", "test_markers", "--json", str(report)]
    *_, table, _, sums = program("import fuzz; sys.exit(fuzz.main())", *chosen)
    figures = json.loads(report.read_text(encoding="utf-8"))
    held = [target for target in figures["targets"] if target["inputs"]]
    assert table.startswith(("holds", "untried"))
    assert sums.startswith(f"{len(held)} of {len(figures['targets'])} properties held, 0 crashes")
    assert figures["inputs"] == sum(target["inputs"] for target in held) > 0
    assert all("test_markers" in target["name"] for target in held)


GUIDE = """
import json, time, fuzz_targets, coverage_guided, sample
from pathlib import Path
coverage_guided.KEPT = fuzz_targets.KEPT = Path(sys.argv[1])
coverage_guided.CORPUS = coverage_guided.KEPT / "corpus"
coverage_guided.TURN = 1
found = [target for target in fuzz_targets.targets_of(sample, "test_holds")]
found += [target for target in fuzz_targets.targets_of(sample, "Machine")]
print(json.dumps(coverage_guided.explore(found, time.monotonic() + 3)))
"""


@pytest.mark.skipif(find_spec("atheris") is None, reason="atheris is not installed")
def test_guided_by_coverage(sample, tmp_path):
    runs = json.loads(program(GUIDE, str(tmp_path), path=[tmp_path])[-1])
    for name, tried, _, ended in runs:
        assert tried
        assert ("failed" in ended) is (name == "sample.Machine")
    assert len(runs) == 2
