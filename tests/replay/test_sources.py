"""Files of records: types, compression and unreadable parts."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deltaparse as dp
from deltaparse.replay import Interrupted, blocks, replay_file, replay_stream, sources
from deltaparse.replay.blocks import BEGINNING, Place, json_blocks
from deltaparse.replay.paths import found_sources
from deltaparse.replay.sources import blocks_of, blocks_of_stream

from .records import REPLAYER, interrupted, lines, record


def ids(results):
    """The ids of results, with the names of their files; of errors, the number and the error."""
    found = []
    for line in results.splitlines():
        one = json.loads(line)
        name = Path(one["file"]).name if "file" in one else None
        found.append((name, one["id"], one.get("error")))
    return found


def replayed(source, **given):
    out = io.BytesIO()
    tally = replay_file(REPLAYER, source, out, jobs=1, **given)
    assert tally.records == out.getvalue().count(b"\n")
    return ids(out.getvalue())


def zstd(data):
    arrow = pytest.importorskip("pyarrow")
    sink = arrow.BufferOutputStream()
    with arrow.CompressedOutputStream(sink, "zstd") as out:
        out.write(data)
    return sink.getvalue().to_pybytes()


PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}


@pytest.mark.parametrize("ending", sorted(PACKED))
@pytest.mark.parametrize("named", [False, True])
def test_packed_files_are_read(tmp_path, ending, named):
    path = tmp_path / (f"log.jsonl.{ending}" if named else "log")
    data = PACKED[ending](lines(record(id=at) for at in range(150)).encode())
    path.write_bytes(data)
    assert replayed(str(path)) == [(None, at, None) for at in range(150)]
    out = io.BytesIO()
    replay_stream(REPLAYER, io.BufferedReader(io.BytesIO(data)), out, jobs=1)
    assert len(ids(out.getvalue())) == 150
    # A truncated file is read up to its end, and the missing rest is reported.
    path.write_bytes(data[: len(data) * 2 // 3])
    *found, last = replayed(str(path))
    assert "cannot be unpacked from here on" in last[2]
    good = [number for _, number, error in found if error is None]
    assert good == list(range(len(good)))
    assert len(found) - len(good) <= 1  # a line that ends in the middle


def test_packed_files_are_gone_on_with(tmp_path):
    path, out = tmp_path / "log.jsonl.gz", tmp_path / "out"
    path.write_bytes(gzip.compress(lines(record(id=at) for at in range(200)).encode()))
    interrupted(str(path), str(out), 2)
    replay_file(REPLAYER, str(path), str(out), jobs=1)
    assert [one[1] for one in ids(out.read_bytes())] == list(range(200))


def test_zstd_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    import sys

    (tmp_path / "a.zst").write_bytes(b"\x28\xb5\x2f\xfd....")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    with pytest.raises(dp.UsageError, match="zstd requires Python"):
        replay_file(REPLAYER, str(tmp_path / "a.zst"))


def test_a_byte_order_mark_is_no_record(tmp_path):
    (tmp_path / "log").write_bytes(b"\xef\xbb\xbf" + lines([record()] * 2).encode())
    assert replayed(str(tmp_path / "log")) == [(None, "a", None)] * 2
    (tmp_path / "log").write_bytes(b"\xef\xbb\xbf")
    assert replayed(str(tmp_path / "log")) == []
    (tmp_path / "log").write_text(lines([record()]), encoding="utf-16")
    ((_, number, error),) = replayed(str(tmp_path / "log"))
    assert (number, "UTF-16" in error) == (1, True)


@pytest.mark.parametrize("last", [b"", b"\n", b'\n{"id": 9}', b'\n{"id": 9}\n'])
def test_overlong_line_is_reported_and_skipped(monkeypatch, last):
    monkeypatch.setattr(blocks, "LONGEST", 50)
    monkeypatch.setattr(blocks, "CHUNK", 7)
    data = b'{"id": 1}\n{"id": 2, "x": "' + b"y" * 300 + b'"}' + last
    for size in (1, 20, 30, 60):
        found = [one for each in json_blocks(io.BytesIO(data), size=size) for one in each.records()]
        words = [(at, one if isinstance(one, dict) else str(one)) for at, one in found]
        length = len(data) - 10 - len(last) + (1 if last else 0)
        assert words == [
            (1, {"id": 1}),
            (2, f"the line has {length} bytes, but at most 50 are allowed"),
            *([(3, {"id": 9})] if b"9" in last else []),
        ]


@given(
    st.lists(st.sampled_from(["", "{}", '{"a": 1}', "[1", "  "]), max_size=20),
    st.integers(1, 40),
    st.booleans(),
)
def test_places_are_where_blocks_begin(texts, size, ended):
    data = "\n".join(texts).encode() + b"\n" * ended
    before = BEGINNING
    for block in json_blocks(io.BytesIO(data), size=size):
        assert block.start == before
        before = block.behind
        file = io.BytesIO(data)
        file.seek(before.at)
        rest = [one for each in json_blocks(file, before) for one in each.records()]
        whole = [one for each in json_blocks(io.BytesIO(data)) for one in each.records()]
        left = [one for one in whole if one[0] >= before.record]
        assert list(map(repr, rest)) == list(map(repr, left))
    assert before.at == len(data)


@pytest.fixture
def logs(tmp_path):
    """A folder of logs and other files."""
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    from pyarrow import parquet

    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "b.jsonl").write_text(lines(record(id=at) for at in range(80)), encoding="utf-8")
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(lines([record(), {}]).encode()))
    (folder / "c.jsonl").write_bytes(b"")
    (folder / "d.ndjson").write_text("no\n", encoding="utf-8")
    parquet.write_table(
        pa.Table.from_pylist([record(id=str(at)) for at in range(90)]), folder / "e.pq"
    )
    (folder / "notes.txt").write_text("?", encoding="utf-8")
    (folder / ".hidden.jsonl").write_text("{}", encoding="utf-8")
    return folder


def test_many_files_are_one_log(logs, tmp_path):
    found = replayed(str(logs))
    assert found[0] == ("a.jsonl.gz", "a", None)
    assert found[1][:2] == ("a.jsonl.gz", 2)
    assert found[2:82] == [("b.jsonl", at, None) for at in range(80)]
    assert found[82][:2] == ("d.ndjson", 1)
    assert found[83:] == [("e.pq", str(at), None) for at in range(90)]
    names = [str(logs / name) for name in ("a.jsonl.gz", "b.jsonl", "c.jsonl", "d.ndjson", "e.pq")]
    assert replayed(names) == found
    assert replayed([str(logs / "[a-c].jsonl*"), str(logs / "d*"), str(logs / "e.pq")]) == found
    assert replayed([*names, *names]) == found
    seen = []
    tally = replay_file(REPLAYER, str(logs), progress=lambda *told: seen.append(told), jobs=2)
    assert tally.errors == 2
    assert "d.ndjson, record 1: not JSON" in tally.examples[1]
    total = sum(Path(name).stat().st_size for name in names)
    assert seen[-1] == (173, total, total)
    assert [one[1] for one in seen] == sorted(one[1] for one in seen)


@pytest.mark.costly
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("far", [False, True])
def test_many_files_are_gone_on_with_after_any_block(logs, tmp_path, monkeypatch, ordered, far):
    short = lines(record(id=at) for at in range(60))
    (logs / "b.jsonl").write_text(short, encoding="utf-8")
    (logs / "d.ndjson.gz").write_bytes(gzip.compress(short.encode()))
    (logs / "e.pq").unlink()
    monkeypatch.setattr(blocks, "SIZE", 10_000)
    out, whole = tmp_path / "out.jsonl", tmp_path / "whole.jsonl"
    target = f"file://{out}" if far else str(out)
    told = replay_file(REPLAYER, str(logs), str(whole), jobs=1).to_json()
    steps = []
    replay_file(REPLAYER, str(logs), jobs=1, progress=lambda *told: steps.append(told))
    assert len(steps) > 7
    for stop in range(1, len(steps) + 1):
        interrupted(str(logs), target, stop, ordered=ordered)
        assert not out.exists()
        if stop % 2:
            left = len(steps) - stop
            if left:
                interrupted(str(logs), target, 1, ordered=ordered)
        assert replay_file(REPLAYER, str(logs), target, jobs=1, ordered=ordered).to_json() == told
        assert out.read_bytes() == whole.read_bytes()
        assert sorted(one.name for one in tmp_path.iterdir()) == [
            "logs",
            "out.jsonl",
            "whole.jsonl",
        ]
        out.unlink()


def test_the_results_are_not_read(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text(lines([record(id=name)]), encoding="utf-8")
    out = str(tmp_path / "out.jsonl")
    for _ in range(2):
        replay_file(REPLAYER, str(tmp_path / "*.jsonl"), out, jobs=1)
        assert [one[1] for one in ids(Path(out).read_bytes())] == ["a", "b"]
    with pytest.raises(dp.UsageError, match="overwrite the records"):
        replay_file(REPLAYER, [str(tmp_path / "a.jsonl"), out], out)


@pytest.mark.parametrize("far", [False, True])
def test_results_among_the_records_are_gone_on_with(tmp_path, far):
    pytest.importorskip("fsspec")
    (tmp_path / "log.jsonl").write_text(lines(record(id=at) for at in range(200)), "utf-8")
    place = f"file://{tmp_path}" if far else str(tmp_path)
    for source in (place, f"{place}/*.js*"):
        interrupted(source, f"{place}/out.jsonl", 2)
        tally = replay_file(REPLAYER, source, f"{place}/out.jsonl", jobs=1)
        assert (tally.records, tally.errors) == (200, 0)
        assert [one[1] for one in ids((tmp_path / "out.jsonl").read_bytes())] == list(range(200))


@pytest.mark.parametrize("bad", ["none.jsonl", "*.jsonl", "empty", "memory://none/*.jsonl"])
def test_missing_files_are_rejected(tmp_path, monkeypatch, bad):
    pytest.importorskip("fsspec")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(dp.UsageError, match=bad.replace("*", r"\*")):
        found_sources([bad])


def test_a_name_that_looks_like_a_pattern(tmp_path):
    path = tmp_path / "log[1].jsonl"
    path.write_text(lines([record()]), encoding="utf-8")
    assert replayed(str(path)) == [(None, "a", None)]


def test_unreadable_file_among_several_is_reported(logs, monkeypatch):
    real = sources.open_binary

    def opened(path, mode="rb"):
        if path.endswith("b.jsonl"):
            raise dp.UsageError(f"{path}: Permission denied")
        return real(path, mode)

    monkeypatch.setattr(sources, "open_binary", opened)
    found = replayed(str(logs))
    assert found[2] == ("b.jsonl", 1, "the file cannot be read from here on: Permission denied")
    assert len(found) == 94
    with pytest.raises(dp.UsageError, match="Permission denied"):
        replay_file(REPLAYER, str(logs / "b.jsonl"))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_a_file_without_permission(logs):
    (logs / "b.jsonl").chmod(0)
    assert "Permission denied" in replayed(str(logs))[2][2]


def test_unreachable_file_interrupts(tmp_path, monkeypatch):
    path, out = tmp_path / "log.jsonl", tmp_path / "out.jsonl"
    path.write_text(lines(record(id=at) for at in range(200)), encoding="utf-8")

    class Fails(io.BytesIO):
        def read(self, size=-1):
            if self.tell() > 70_000:
                raise OSError(5, "Input/output error")
            return super().read(size)

    with monkeypatch.context() as patched:
        patched.setattr(sources, "open_binary", lambda path: Fails(Path(path).read_bytes()))
        with pytest.raises(Interrupted, match="run again to continue"):
            replay_file(REPLAYER, str(path), str(out), jobs=1)
    assert Path(f"{out}.part").stat().st_size > 0
    replay_file(REPLAYER, str(path), str(out), jobs=1)
    assert [one[1] for one in ids(out.read_bytes())] == list(range(200))


def test_damaged_parquet_and_zip(logs):
    (logs / "e.pq").write_bytes(b"PAR1" + b"x" * 90)
    (logs / "f.eval").write_bytes(b"PK\x03\x04" + b"x" * 90)
    *_, one, two = replayed(str(logs))
    assert (one[0], two[0]) == ("e.pq", "f.eval")
    assert "cannot be read" in one[2]
    assert "cannot be read" in two[2]
    for name in ("e.pq", "f.eval"):
        with pytest.raises(dp.UsageError):
            replay_file(REPLAYER, str(logs / name))


def test_a_zip_of_samples(tmp_path):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "{}")
        for at in range(150):
            archive.writestr(f"samples/{at}_epoch_1.json", json.dumps(record(id=at), indent=1))
        archive.writestr("samples/bad_epoch_1.json", "{")
    *found, bad = replayed(str(path))
    assert found == [(None, at, None) for at in range(150)]
    assert (bad[1], "not JSON" in bad[2]) == (151, True)
    data = bytearray(path.read_bytes())
    at = data.index(b"samples/3_epoch") + 60
    data[at : at + 20] = b"\xff" * 20
    path.write_bytes(data)
    assert "cannot be unpacked" in replayed(str(path))[3][2]
    start = Place(0, 65, 64)
    (first, *_) = blocks_of(found_sources(str(path)), start)
    assert first.start == start
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.txt", "?")
    with pytest.raises(dp.UsageError, match="not a log of inspect-ai"):
        replay_file(REPLAYER, str(path))


def test_patterns_and_folders_of_fsspec():
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    for name in ("b.jsonl", "a.jsonl", "c.txt"):
        system.pipe_file(f"/many/{name}", lines([record(id=name)]).encode())
    for source in ("memory://many/*.jsonl", "memory://many"):
        assert replayed(source) == [("a.jsonl", "a.jsonl", None), ("b.jsonl", "b.jsonl", None)]
    assert replayed("memory://many/c.txt") == [(None, "c.txt", None)]


def test_a_zip_packed_with_zstd(tmp_path):
    """Written by hand: Python packs so from 3.14 on, inspect-ai anywhere."""
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for at in range(3):
            archive.writestr(f"samples/{at}.json", zstd(json.dumps(record(id=at)).encode()))
    data = path.read_bytes()
    # The method is in the header of each member, and in the directory.
    for head, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = data.find(head)
        while at >= 0:
            data = data[: at + place] + (93).to_bytes(2, "little") + data[at + place + 2 :]
            at = data.find(head, at + 4)
    path.write_bytes(data)
    assert replayed(str(path)) == [(None, at, None) for at in range(3)]


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_file_with_a_json_document(tmp_path, indent, mark):
    path, found = tmp_path / "log.json", [record(id=at) for at in range(150)]
    wanted = [(None, at, None) for at in range(150)]
    path.write_bytes(mark + json.dumps(found, indent=indent).encode())
    assert replayed(str(path)) == wanted
    listed = lines([[one] for one in found]).encode()
    path.write_bytes(mark + listed)
    assert replayed(str(path)) == wanted
    path.write_bytes(mark + json.dumps({"status": 1, "samples": found}, indent=1).encode())
    assert replayed(str(path)) == wanted
    interrupted(str(path), str(tmp_path / "out"), 2)
    replay_file(REPLAYER, str(path), str(tmp_path / "out"), jobs=1)
    assert ids((tmp_path / "out").read_bytes()) == wanted
    path.write_bytes(mark + json.dumps(record(), indent=1).encode())
    assert replayed(str(path)) == [(None, "a", None)]


@pytest.mark.parametrize("seekable", [True, False])
def test_lines_that_begin_like_one_in_json(monkeypatch, seekable):
    data = ("{\n" + lines(record(id=at) for at in range(3))).encode()
    for longest in (sources.LONGEST, 50):
        monkeypatch.setattr(sources, "LONGEST", longest)
        stream = io.BytesIO(data) if seekable else Pipe(io.BytesIO(data))
        if longest == 50 and not seekable:
            with pytest.raises(dp.UsageError, match="the file's name"):
                list(blocks_of_stream(stream))
            return
        found = [one for block in blocks_of_stream(stream) for one in block.records()]
        assert [number for number, _ in found] == [1, 2, 3, 4]
        assert isinstance(found[0][1], ValueError)
        assert [one["id"] for _, one in found[1:]] == [0, 1, 2]


class Pipe(io.BufferedReader):
    def seekable(self):
        return False


def test_pipe_with_zip_or_parquet_is_rejected():
    for head in (b"PK\x03\x04", b"PAR1"):
        with pytest.raises(dp.UsageError, match="from a pipe"):
            replay_stream(REPLAYER, Pipe(io.BytesIO(head + b"x" * 90)))
