"""Ray engine: a local cluster returns the results of the local engine, even if a worker dies."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse.partial import UsageError
from deltaparse.replay import Replayer, replay_file
from deltaparse.replay.ray_engine import _counted, _files_in

from .records import FORMAT, lines, record

PROGRAM = """
import json, os, sys, threading, time
from pathlib import Path
from deltaparse import get_format
from deltaparse.replay import Replayer
from deltaparse.replay.ray_engine import replay_on_ray

class Marks(Replayer):
    '''Says in a folder which records it has replayed; ends its process at one, once.'''
    folder = dies = None
    def __reduce__(self):
        return marks, (self.folder, self.dies)
    def each(self, record, number):
        mark = Path(self.folder, f"{os.getpid()}-{time.monotonic_ns()}-{number}")
        mark.touch()
        died = Path(self.folder, "died")
        if self.dies and number == 700 and not died.exists():
            died.touch()
            os._exit(9)
        return super().each(record, number)

def marks(folder, dies):
    made = Marks(get_format("qwen3"))
    made.folder, made.dies = folder, dies
    return made

def main():
    given = json.loads(sys.argv[1])
    stops, seen = given.pop("stops", 0), []
    def progress(records, *_):
        seen.append(records)
        if len(seen) == stops:
            os._exit(7)
    replayer = marks(given.pop("marks"), given.pop("dies", False))
    tally = replay_on_ray(replayer, jobs=2, progress=progress, **given)
    print(json.dumps(tally.to_json()))
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    # Workers import the function, so it must not be defined in `__main__`.
    path = tmp_path_factory.mktemp("program") / "marking_replayer.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Three files: one packed, one with a byte order mark, one without a final newline."""
    folder = tmp_path_factory.mktemp("logs")
    records = [record(id=at) | ({"id": None} if at % 10 == 0 else {}) for at in range(1000)]
    (folder / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + f"{lines(records)}\nno\n".encode())
    with gzip.open(folder / "b.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(lines(records[:300]))
    (folder / "c.jsonl").write_text(lines(records[:200])[:-1] + "\n[1", encoding="utf-8")
    (folder / "d.jsonl").write_bytes(b"")
    return folder


def started(program, marks, **given):
    """A process of its own, with a Ray of its own, that has ended."""
    pytest.importorskip("ray")
    marks.mkdir(exist_ok=True)
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, (str(program.parent), *sys.path)))}
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "import marking_replayer as m; m.main()",
            json.dumps({"marks": str(marks), **given}),
        ],
        env=os.environ | paths | {"RAY_USAGE_STATS_ENABLED": "0"},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def run(program, marks, **given):
    """Return the count of a worker."""
    done = started(program, marks, **given)
    assert done.returncode == 0
    return json.loads(done.stdout.splitlines()[-1])


def replayed(marks):
    return len([one for one in marks.iterdir() if one.name != "died"])


def test_lines_equal_the_local_engine_after_a_worker_dies(program, logs, tmp_path):
    given = {"source": str(logs), "target": str(tmp_path / "ray.jsonl"), "part": 100_000}
    tally = run(program, tmp_path / "marks", dies=True, **given)
    local = replay_file(Replayer(FORMAT), str(logs), str(tmp_path / "local.jsonl"), jobs=1)
    assert (tmp_path / "ray.jsonl").read_bytes() == (tmp_path / "local.jsonl").read_bytes()
    assert tally == local.to_json()
    assert (tmp_path / "marks" / "died").exists()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["local.jsonl", "marks", "ray.jsonl"]


@pytest.mark.parametrize("target", ["ray.jsonl", "ray.parquet"])
def test_interrupted_replay_resumes(program, logs, tmp_path, target):
    parquet = pytest.importorskip("pyarrow.parquet")
    target = str(tmp_path / target)
    given = {"source": str(logs), "target": target, "part": 60_000}
    first, second = tmp_path / "first", tmp_path / "second"
    stopped = started(program, first, stops=4, **given)
    assert stopped.returncode == 7
    tally = run(program, second, **given)
    ending = target.rpartition(".")[2]
    local = replay_file(Replayer(FORMAT), str(logs), str(tmp_path / f"local.{ending}"), jobs=1)
    assert tally == local.to_json()
    assert local.records == 1502
    if ending == "jsonl":
        assert (tmp_path / "ray.jsonl").read_bytes() == (tmp_path / "local.jsonl").read_bytes()
    else:
        tables = [parquet.read_table(name) for name in (target, tmp_path / "local.parquet")]
        assert tables[0].to_pylist() == tables[1].to_pylist()
    assert replayed(second) < local.records
    assert not list(tmp_path.glob("*.part*"))


def test_a_folder_of_other_files_is_left_alone(tmp_path):
    pytest.importorskip("pyarrow")
    folder = tmp_path / "out.parquet"
    assert _files_in(str(folder), "?", set()) == {}
    (folder / "_part-00000.parquet.dead").write_bytes(b"x")
    (folder / "mine.parquet").write_bytes(b"x")
    with pytest.raises(UsageError, match=r"mine\.parquet is not a replay result"):
        _files_in(str(folder), "?", set())
    (folder / "mine.parquet").unlink()
    assert _files_in(str(folder), "?", set()) == {}
    assert list(folder.iterdir()) == []


LINES = st.lists(st.sampled_from(["", "{}", '{"a": 1}', " " * 30]), max_size=12)


@given(LINES, st.integers(1, 40), st.booleans(), st.booleans())
def test_parts_have_each_line_once(texts, part, marked, ended):
    data = (b"\xef\xbb\xbf" if marked else b"") + "\n".join(texts).encode() + b"\n" * ended
    found, number = [], 1
    for start in range(0, len(data), part):
        one = _counted(io.BytesIO(data), start, min(start + part, len(data)))
        if one["begin"] < one["stop"]:
            found.append(data[one["begin"] : one["stop"]])
            assert data[: one["begin"]].count(b"\n") == number - 1
        number += one["lines"]
    whole = data.removeprefix(b"\xef\xbb\xbf") if marked else data
    assert b"".join(found) == whole
    assert all(one.endswith(b"\n") for one in found[:-1])
