"""Files of records: order, other processes, interruption, memory, paths, Parquet."""

from __future__ import annotations

import io
import json
import tracemalloc
from concurrent.futures import Future
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deltaparse as dp
from deltaparse.replay import (
    Interrupted,
    Replayer,
    local_engine,
    replay_file,
    replay_stream,
)
from deltaparse.replay.blocks import json_blocks, written

from .records import FORMAT, REPLAYER, TEXT, Stop, lines, record


def records(count):
    for at in range(count):
        text = TEXT.replace("Oslo", f"Town {at}" * 20)
        given = record(id=at, text=text, model=f"m{at % 2}", format="qwen3")
        right = REPLAYER(given)["message"]
        yield given | {"expected": right if at % 3 else right | {"tool_calls": None}}


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A file of some blocks, with lines that are no records."""
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    half = lines(records(90))
    path.write_text(f'{half}garbage\n\n{{}}\n"x"\n{half}[1', encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def whole(log):
    """The results of the file, and their tally."""
    out = io.BytesIO()
    tally = replay_file(REPLAYER, log, out, jobs=1)
    return out.getvalue(), tally


def test_each_record_has_a_result_in_its_place(whole):
    found = [json.loads(line) for line in whole[0].splitlines()]
    assert [one["id"] for one in found] == [*range(90), 91, 93, 94, *range(90), 185]
    bad = [one["error"] for one in found if "error" in one]
    assert [one.partition(":")[0] for one in bad] == [
        "not JSON",
        "the record lacks text, chunks and token_ids, but has no fields",
        "a record must be an object, not 'x'",
        "not JSON",
    ]
    assert (whole[1].records, whole[1].errors) == (184, 4)
    assert whole[1].examples[0].startswith("record 91: not JSON")


@given(st.integers(1, 3000))
def test_blocks_of_any_size_have_all_lines(size):
    text = "".join(f'{{"id": {at}}}\n' * (at % 3) + "\n" * (at % 2) for at in range(60)) + "5"
    found = []
    for block in json_blocks(io.BytesIO(text.encode()), size=size):
        found += block.records()
    split = [(at, one) for at, one in enumerate(text.split("\n"), 1) if one]
    assert found == [(at, json.loads(one)) for at, one in split]


MAY_FORK = local_engine._may_fork


@pytest.mark.parametrize("fork", [False, True])
def test_processes_make_the_same(log, whole, tmp_path, monkeypatch, fork):
    monkeypatch.setattr(local_engine, "_may_fork", lambda: fork and MAY_FORK())
    out = tmp_path / "out.jsonl"
    seen = []
    tally = replay_file(REPLAYER, log, str(out), jobs=2, progress=lambda *place: seen.append(place))
    assert out.read_bytes() == whole[0]
    assert tally.to_json() == whole[1].to_json()
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
    size = Path(log).stat().st_size
    assert seen[-1] == (184, size, size)
    assert len(seen) > 3


class SlowFirst:
    """Does the work at once, but that of the first block only when five more have come."""

    def __init__(self, _jobs, _context, begin, given):
        self.work = partial(written, given[0], differing=given[1])
        self.asked = 0

    def submit(self, _, block):
        future = Future()
        self.asked += 1
        if self.asked == 1:
            self.first = future, block
        else:
            future.set_result(self.work(block))
        if self.asked == 6:
            future, block = self.first
            future.set_result(self.work(block))
        return future

    def shutdown(self, **_):
        pass


def test_results_that_are_not_ordered_come_as_they_do(tmp_path, monkeypatch):
    path, out, other = (str(tmp_path / name) for name in ("log.jsonl", "out.jsonl", "other.jsonl"))
    Path(path).write_text(lines(records(200)), encoding="utf-8")

    def run(stop_at=None):
        seen = []

        def progress(count, *_):
            seen.append(count)
            if len(seen) == stop_at:
                raise Stop

        return replay_file(REPLAYER, path, out, jobs=2, ordered=False, progress=progress)

    with monkeypatch.context() as patched:
        patched.setattr(local_engine, "ProcessPoolExecutor", SlowFirst)
        with pytest.raises(Stop):
            run(1)
        state = json.loads(Path(f"{out}.part.json").read_text(encoding="utf-8"))
        assert (state["next"], len(state["ahead"])) == ([0, 1, 0], 1)
        with pytest.raises(Stop):
            run(1)
    tally = run()
    assert tally.to_json() == replay_file(REPLAYER, path, other, jobs=1).to_json()
    found, wanted = (Path(name).read_bytes().splitlines() for name in (out, other))
    assert sorted(found) == sorted(wanted)
    assert found != wanted


@pytest.mark.parametrize("torn", [b"", b'{"id": 7, "mess'])
@pytest.mark.parametrize("differing", [False, True])
def test_interrupted_replay_resumes(log, tmp_path, torn, differing):
    def run(out, stop_at=None):
        seen = []

        def progress(count, *_):
            seen.append(count)
            if len(seen) == stop_at:
                raise Stop

        tally = replay_file(REPLAYER, log, str(out), jobs=1, differing=differing, progress=progress)
        return tally.to_json(), len(seen)

    out, other = tmp_path / "out.jsonl", tmp_path / "other.jsonl"
    counted, blocks = run(other)
    for stop_at in (2, 1):
        with pytest.raises(Stop):
            run(out, stop_at)
        assert not out.exists()
        with Path(f"{out}.part").open("ab") as part:
            part.write(torn)
    assert run(out) == (counted, blocks - 3)
    assert out.read_bytes() == other.read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_process_with_threads_is_not_forked(monkeypatch):
    monkeypatch.setattr(local_engine.Path, "iterdir", lambda _: iter("12"))
    assert not local_engine._may_fork()

    def none(_):
        raise FileNotFoundError

    monkeypatch.setattr(local_engine.Path, "iterdir", none)
    assert not local_engine._may_fork()


def test_another_question_begins_again(log, whole, tmp_path):
    def stop(*_):
        raise Stop

    out = tmp_path / "out.jsonl"
    for other in (Replayer(dp.get_format("hermes")), Replayer(FORMAT, fields={"text": "x"})):
        with pytest.raises(Stop):
            replay_file(other, log, str(out), jobs=1, progress=stop)
        replay_file(REPLAYER, log, str(out), jobs=1)
        assert out.read_bytes() == whole[0]
    Path(f"{out}.part.json").write_text("{}", encoding="utf-8")
    replay_file(REPLAYER, log, str(out), jobs=1)
    assert out.read_bytes() == whole[0]


def test_killed_process_is_reported_and_results_are_kept(log, tmp_path, monkeypatch):
    from concurrent.futures.process import BrokenProcessPool

    class Pool:
        def __init__(self, *_):
            self.left = 2

        def submit(self, _, block):
            future = Future()
            self.left -= 1
            if self.left < 0:
                future.set_exception(BrokenProcessPool())
            else:
                future.set_result(written(REPLAYER, block))
            return future

        def shutdown(self, **_):
            pass

    out = tmp_path / "out.jsonl"
    with monkeypatch.context() as patched:
        patched.setattr(local_engine, "ProcessPoolExecutor", Pool)
        with pytest.raises(Interrupted, match="run again to continue"):
            replay_file(REPLAYER, log, str(out), jobs=2)
    assert Path(f"{out}.part").stat().st_size > 0
    assert replay_file(REPLAYER, log, str(out), jobs=1).records == 184


def test_memory_does_not_grow_with_the_file(tmp_path):
    peaks = []
    block = lines(records(50))
    for times in (4, 16):
        path = tmp_path / f"{times}.jsonl"
        path.write_text(block * times, encoding="utf-8")
        tracemalloc.start()
        replay_file(REPLAYER, str(path), str(tmp_path / "out.jsonl"), jobs=1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_a_stream_is_read_once(log, whole):
    out = io.BytesIO()
    assert replay_stream(REPLAYER, io.BytesIO(Path(log).read_bytes()), out, jobs=1).records == 184
    assert out.getvalue() == whole[0]


def test_half_a_character_in_an_id():
    out = io.BytesIO()
    replay_stream(REPLAYER, io.BytesIO(b'{"id": "\\ud800", "text": "\\ud800 \xc3\xa9"}'), out)
    result = json.loads(out.getvalue())
    assert (result["id"], result["message"]["content"]) == ("\ud800", "\ufffd é")


def test_paths_of_fsspec(log, whole):
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://logs/log.jsonl", "wb") as file:
        file.write(Path(log).read_bytes())
    replay_file(REPLAYER, "memory://logs/log.jsonl", "memory://logs/out.jsonl", jobs=1)
    with fsspec.open("memory://logs/out.jsonl") as file:
        assert file.read() == whole[0]
    assert replay_file(REPLAYER, f"file://{log}", jobs=1).records == 184
    for bad in ("memory://logs/none", "no such file", "nothing://x", "memory://logs/none.parquet"):
        with pytest.raises(dp.UsageError):
            replay_file(REPLAYER, bad)


def test_parquet_in_and_out(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    given = [one | {"id": str(one["id"])} for one in records(80)]
    plain = io.BytesIO()
    told = replay_stream(REPLAYER, io.BytesIO(lines(given).encode()), plain)
    rows = [one | {"expected": json.dumps(one["expected"])} for one in given]
    source, target = str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet")
    parquet.write_table(arrow.Table.from_pylist(rows), source, row_group_size=35)
    again = io.BytesIO()
    assert replay_file(REPLAYER, source, again, jobs=1).to_json() == told.to_json()
    assert again.getvalue() == plain.getvalue()

    def stop(count, *_):
        if count > 40:
            raise Stop

    with pytest.raises(Stop):
        replay_file(REPLAYER, source, target, jobs=1, progress=stop)
    assert replay_file(REPLAYER, source, target, jobs=1).to_json() == told.to_json()
    found = parquet.read_table(target).to_pylist()
    results = [json.loads(line) for line in plain.getvalue().splitlines()]
    assert [(row["id"], row["class"], json.loads(row["message"])) for row in found] == [
        (one["id"], one["class"], one["message"]) for one in results
    ]
    replay_file(REPLAYER, source, "memory://results/out.parquet", jobs=1)
    (tmp_path / "bad.parquet").write_bytes(b"x" * 20)
    with pytest.raises(dp.UsageError):
        replay_file(REPLAYER, str(tmp_path / "bad.parquet"))


def test_missing_pyarrow_names_the_extra(monkeypatch, tmp_path):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "in.parquet").write_bytes(b"x")
    with pytest.raises(dp.UsageError, match=r"pip install 'deltaparse\[parquet\]'"):
        replay_file(REPLAYER, str(tmp_path / "in.parquet"))
