"""Budgets for the work of the interpreter on each chunk, in counts that CI can check.

Time is too noisy. The counts of calls, lines and resumes are the same in each run, and differ by
one percent between versions of CPython. A change above a budget is a regression, or it has a
reason. In this case, and if a change needs less, renew the budgets and commit the difference:

    PYTHONPATH=src python bench/counts.py > tests/cost_budgets.json
"""

from __future__ import annotations

import importlib
import json
from collections import Counter
from pathlib import Path

import pytest

from deltaparse import StreamParser, ToolGate

HERE = Path(__file__).parent
BUDGETS = json.loads((HERE / "cost_budgets.json").read_text(encoding="utf-8"))
MARGIN = 1.05
LEAST = 0.05


def of_the_benchmark(name):
    """Return a fixture for a module of `bench/`."""

    @pytest.fixture(scope="module", name=name)
    def module():
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(str(HERE.parent / "bench"))
            yield importlib.import_module(name)

    return module


counts, decisions, growth = map(of_the_benchmark, ("counts", "decisions", "growth"))


LINES_OF_DECISIONS = {
    "a message with a call": 2_000,
    "text with a call": 1_600,
    "text without a call": 220,
}
"""Executed lines of Python for each decision."""


def test_gate_decision_stays_within_its_budget(counts, decisions):
    gate = ToolGate(decisions.TOOLS)
    found = {}
    for name, output in decisions.OUTPUTS.items():
        # The first decision fills the caches. A rejected call would cost less, so check the result.
        assert gate.decide(output).executable is ("with a call" in name)
        seen = Counter()
        with counts.watched(seen):
            gate.decide(output)
        found[name] = seen["line"]
    over = {name: lines for name, lines in found.items() if lines > LINES_OF_DECISIONS[name]}
    assert over == {}


def test_all_workloads_have_a_budget(counts):
    assert list(counts.counted()) == list(BUDGETS)


@pytest.mark.parametrize("name", BUDGETS)
def test_chunk_stays_within_its_budget(counts, name):
    found = vars(counts.count(counts.counted()[name]))
    over = {
        what: (count, BUDGETS[name][what])
        for what, count in found.items()
        if count > BUDGETS[name][what] * MARGIN + LEAST
    }
    assert over == {}, "counted and allowed per chunk: " + str(over)


def test_counts_are_the_same_each_time(counts):
    workload = counts.counted()["20 parallel calls"]
    assert counts.count(workload) == counts.count(workload)


def test_extra_work_is_counted(counts, monkeypatch):
    workload = counts.counted()["content"]
    before = counts.count(workload)
    feed = type(workload).feed

    def slower(self):
        quick = feed(self)

        def slow(text):
            len(text)
            return quick(text)

        return slow

    monkeypatch.setattr(type(workload), "feed", slower)
    after = counts.count(workload)
    assert round(after.calls - before.calls, 2) == 2
    assert round(after.lines - before.lines, 2) == 2


def test_properties_cost_the_same_for_long_and_short_turns(growth):
    found = growth.grown(late=150)
    assert {"message", "issues", "attempts", "token spans"} < set(found)
    assert {name: ratio for name, ratio in found.items() if not 0.95 < ratio < 1.05} == {}


def test_growing_objects_are_counted(growth, monkeypatch):
    def asks_after_each(before, units):
        parser = StreamParser(growth.FORMAT)
        for number in (before, units):
            for _ in range(number):
                parser.feed(growth.TURN.unit)
                list(map(str, parser.message.parts))
            yield

    monkeypatch.setattr(growth, "runs", lambda: {"message": asks_after_each})
    assert growth.grown(late=150)["message"] > 1.2


def test_call_keeps_few_bytes(growth):
    assert growth.bytes_of_call(calls=1_000) < 330
