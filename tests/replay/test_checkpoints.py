"""Remote results: written to several files that are joined at the end."""

from __future__ import annotations

import json

import pytest

import deltaparse as dp
from deltaparse.replay import Replayer, checkpoints, replay_file

from .records import REPLAYER, interrupted, lines, record

TARGET = "memory://results/out"


@pytest.fixture
def system():
    found = pytest.importorskip("fsspec").filesystem("memory")
    if found.exists("/results"):
        found.rm("/results", recursive=True)
    return found


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(lines(record(id=at) for at in range(200)), encoding="utf-8")
    return str(path)


def found(system, target):
    if target.endswith(".parquet"):
        parquet = pytest.importorskip("pyarrow.parquet")
        with system.open(target) as file:
            return [json.loads(row) for row in parquet.read_table(file)["id"].to_pylist()]
    return [json.loads(line)["id"] for line in system.cat_file(target).splitlines()]


def watched(steps):
    return lambda records, *_: steps.append(records)


@pytest.mark.parametrize("segment", [1, 1 << 16, 1 << 30])
@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_remote_results_are_resumed(system, log, monkeypatch, segment, ending):
    monkeypatch.setattr(checkpoints, "SEGMENT", segment)
    target = f"{TARGET}{ending}"
    told = replay_file(REPLAYER, log, jobs=1).to_json()
    for stop in (1, 3):
        interrupted(log, target, stop)
        assert not system.exists(target)
        steps: list[int] = []
        tally = replay_file(REPLAYER, log, target, jobs=1, progress=watched(steps))
        assert tally.to_json() == told
        assert steps[0] > 40 * (stop + 1) or len(steps) == 1  # no block was repeated
        assert found(system, target) == list(range(200))
        assert [name.rpartition("/")[2] for name in system.ls("/results", detail=False)] == [
            f"out{ending}"
        ]
        system.rm(target)


def test_killed_remote_replay_loses_no_counted_result(system, log, monkeypatch):
    """A file that was put there, of which the state does not know, is made again."""
    monkeypatch.setattr(checkpoints, "SEGMENT", 1)
    interrupted(log, f"{TARGET}.jsonl", 2)
    folder = "/results/out.jsonl.part"
    before = system.cat_file(f"{folder}.json")
    interrupted(log, f"{TARGET}.jsonl", 1)
    system.pipe_file(f"{folder}.json", before)
    replay_file(REPLAYER, log, f"{TARGET}.jsonl", jobs=1)
    assert found(system, f"{TARGET}.jsonl") == list(range(200))


@pytest.mark.parametrize("harm", ["file", "state", "question"])
def test_unusable_state_restarts(system, log, monkeypatch, harm):
    monkeypatch.setattr(checkpoints, "SEGMENT", 1)
    interrupted(log, f"{TARGET}.jsonl", 3)
    if harm == "file":
        system.rm("/results/out.jsonl.part/00000001.jsonl")
    elif harm == "state":
        system.pipe_file("/results/out.jsonl.part.json", b"{")
    replayer = Replayer(dp.get_format("hermes")) if harm == "question" else REPLAYER
    replay_file(replayer, log, f"{TARGET}.jsonl", jobs=1)
    assert found(system, f"{TARGET}.jsonl") == list(range(200))
    assert not system.exists("/results/out.jsonl.part")


def test_unreachable_state_is_kept(system, log, monkeypatch):
    """A state that cannot be read for a while is no reason to begin again."""
    interrupted(log, f"{TARGET}.jsonl", 2)
    before = system.find("/results")

    def fails(*_, **__):
        raise OSError(110, "Connection timed out")

    with monkeypatch.context() as patched:
        patched.setattr(type(system), "cat_file", fails)
        with pytest.raises(dp.UsageError, match="timed out"):
            replay_file(REPLAYER, log, f"{TARGET}.jsonl", jobs=1)
    assert system.find("/results") == before


def test_unwritable_target_is_rejected(log):
    pytest.importorskip("fsspec")
    for target in ("nothing://x/out.jsonl", "file:///proc/none/out.jsonl"):
        with pytest.raises(dp.UsageError, match=target.partition(":")[0]):
            replay_file(REPLAYER, log, target, jobs=1)
