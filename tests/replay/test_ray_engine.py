"""Ray: a local one with two processes makes what the local engine makes, one killed or none."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from deltaparse.replay import Replayer, replay_file
from deltaparse.replay.ray_engine import _counted

from .records import FORMAT, lines, record

PROGRAM = """
import json, os, sys
from pathlib import Path
from deltaparse import get_format
from deltaparse.replay import Replayer
from deltaparse.replay.ray_engine import replay_on_ray

class Dies:
    '''Ends its process at a record, once.'''
    def __init__(self, flag):
        self.flag, self.replayer = flag, Replayer(get_format("qwen3"))
    def __call__(self, record, number):
        if number == 700 and not Path(self.flag).exists():
            Path(self.flag).touch()
            os._exit(9)
        return self.replayer(record, number)

source, target, flag = sys.argv[1:]
replayer = Dies(flag) if flag else Replayer(get_format("qwen3"))
tally = replay_on_ray(replayer, source, target, jobs=2, part=100_000)
print(json.dumps(tally.to_json()))
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("ray") / "log.jsonl"
    records = [record(id=at) | ({"id": None} if at % 10 == 0 else {}) for at in range(1000)]
    path.write_text(f"{lines(records)}\nno\n", encoding="utf-8")
    return path


def run(log, target, flag=""):
    """What is counted in a process of its own, with a Ray of its own."""
    pytest.importorskip("ray")
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(log), str(target), str(flag)],
        env=os.environ | paths | {"RAY_USAGE_STATS_ENABLED": "0"},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
        timeout=300,
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("dies", [False, True])
def test_lines_are_those_of_the_local_engine(log, tmp_path, dies):
    flag = tmp_path / "flag" if dies else ""
    tally = run(log, tmp_path / "ray.jsonl", flag)
    local = replay_file(Replayer(FORMAT), str(log), str(tmp_path / "local.jsonl"), jobs=1)
    assert (tmp_path / "ray.jsonl").read_bytes() == (tmp_path / "local.jsonl").read_bytes()
    assert tally == local.to_json()
    assert (tmp_path / "flag").exists() == dies


def test_parquet_has_the_same_results(log, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    tally = run(log, tmp_path / "ray.parquet")
    local = replay_file(Replayer(FORMAT), str(log), str(tmp_path / "local.parquet"), jobs=1)
    tables = [parquet.read_table(tmp_path / f"{name}.parquet") for name in ("ray", "local")]
    one, two = (sorted(table.to_pylist(), key=lambda row: row["id"]) for table in tables)
    assert one == two
    # Here the numbers of records are not known, by which examples are named.
    assert tally | {"examples": 0} == local.to_json() | {"examples": 0}


def test_parts_have_each_line_once(log):
    data = log.read_bytes()
    for part in (1, 7, 3000, len(data)):
        size = len(data) if part > 100 else 3000
        with log.open("rb") as file:
            found = b"".join(
                _lines_of(file, at, min(at + part, size))
                for at in range(0, size, part)
                if file.seek(0) == 0
            )
        assert found == data[: len(found)]
        assert found.endswith(b"\n")
        assert len(found) >= size
