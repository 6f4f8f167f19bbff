"""A file of records. Each line is complete, or missing."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra `serve` is not installed")

from deltaparse.gateway.record_file import RecordFile


@pytest.fixture
def path(tmp_path):
    return tmp_path / "records.jsonl"


def fill_disk(monkeypatch, room):
    """Allow `room` bytes to be written, in parts. Then the disk is full."""
    real = os.write
    left = [room]

    def write(file, data):
        if not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = real(file, data[: min(left[0], 3)])
        left[0] -= written
        return written

    monkeypatch.setattr(os, "write", write)


@pytest.mark.parametrize("room", [0, 1, 6])
def test_line_without_room_leaves_no_part(path, monkeypatch, room):
    file = RecordFile(path)
    file.append(b"first\n")
    with monkeypatch.context() as patch:
        fill_disk(patch, room)
        with pytest.raises(OSError, match="No space"):
            file.append(b"second\n")
    file.append(b"third\n")
    file.close()
    assert path.read_bytes() == b"first\nthird\n"


def test_line_written_in_parts_is_complete(path, monkeypatch):
    file = RecordFile(path)
    fill_disk(monkeypatch, 100)
    file.append(b"in several parts\n")
    file.close()
    assert path.read_bytes() == b"in several parts\n"


def test_part_that_cannot_be_removed_is_a_line_of_its_own(path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EPERM, "append only")

    file = RecordFile(path)
    with monkeypatch.context() as patch:
        fill_disk(patch, 4)
        patch.setattr(os, "ftruncate", refuse)
        with pytest.raises(OSError, match="append only"):
            file.append(b"second\n")
    file.append(b"third\n")
    file.close()
    assert path.read_bytes() == b"seco\nthird\n"


def test_line_after_a_torn_one_of_another_process_is_separate(path):
    path.write_bytes(b"whole\ntor")
    file = RecordFile(path)
    file.append(b"next\n")
    file.close()
    assert path.read_bytes() == b"whole\ntor\nnext\n"


def test_lines_of_several_writers_are_never_mixed(path, monkeypatch):
    fill_disk(monkeypatch, 1 << 30)  # each line takes several writes

    def write(letter):
        file = RecordFile(path)
        for _ in range(30):
            file.append(letter * 50 + b"\n")
        file.close()

    threads = [threading.Thread(target=write, args=(letter,)) for letter in (b"a", b"b", b"c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = path.read_bytes().splitlines()
    assert sorted(lines) == sorted([letter * 50 for letter in (b"a", b"b", b"c")] * 30)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
def test_special_file_reports_write_errors():
    file = RecordFile("/dev/full")
    with pytest.raises(OSError, match="No space"):
        file.append(b"a\n")
    file.close()
