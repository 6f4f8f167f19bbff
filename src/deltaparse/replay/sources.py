"""Blocks of files of records. The type of a file is detected by its first bytes.

    JSON Lines      plain or compressed: gzip, bzip2, xz, zstd
    JSON document   a list of records, or an object with a list `samples`. Read into memory
    Parquet         rows
    zip             members samples/*.json: a log of inspect-ai

An unreadable part of a file is reported as an error in place of a record. Reading continues with
the next file.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, BinaryIO, cast
from zipfile import BadZipFile, ZipFile, ZipInfo

from deltaparse.partial import UsageError

from .blocks import BEGINNING, LONGEST, Block, Interrupted, Place, json_blocks
from .paths import Source, open_binary

__all__ = ["blocks_of", "blocks_of_stream", "kind_of"]

HEAD = 16
"""Number of bytes that identify the type of a file."""

MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"PAR1": "parquet",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
BROKEN = (EOFError, zlib.error, lzma.LZMAError, BadZipFile, NotImplementedError)
"""Errors of truncated or damaged compressed files, in addition to `OSError` without errno."""

DOCUMENT = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\[|\{\s*[\r\n])")
OPEN = re.compile(rb"(?:\xef\xbb\xbf)?\s*[\[{]\s*[\r\n]")
"""Beginnings of a JSON document: one that may be a single line, and one with several lines."""

MEMBERS = 64
"""Number of members of a zip or a list per block."""

ZSTD_IN_ZIP = 93


def blocks_of(sources: Sequence[Source], start: Place) -> Iterator[Block]:
    """Split files into consecutive blocks, from a place on.

    Raises:
        UsageError: the only file cannot be opened.
    """
    before = sum(one.size for one in sources[: start.file])
    for at, source in enumerate(sources[start.file :], start.file):
        first = start if at == start.file else Place(at)
        held: Block | None = None
        for block in _blocks(source, first, alone=len(sources) == 1):
            if held is not None:
                yield held
            held = replace(
                block,
                seen=before + min(block.seen, source.size),
                file=source.path if len(sources) > 1 else None,
            )
        before += source.size
        # The last block of a file ends at the start of the next file.
        held = held or Block(first, first, seen=before)
        yield replace(held, behind=Place(at + 1), seen=before)


def blocks_of_stream(stream: BinaryIO) -> Iterator[Block]:
    """Split a stream that can be read only once into blocks.

    Raises:
        UsageError: the stream is a pipe with a file format that requires seeking.
    """
    if not stream.seekable() and kind_of(stream) in ("zip", "parquet"):
        raise UsageError("a zip or Parquet file cannot be read from a pipe: pass its name")
    yield from _opened(stream, "the input", 0, BEGINNING)


def kind_of(file: BinaryIO) -> str:
    """Return the type of a file by its first bytes, without consuming them; "" for lines."""
    if file.seekable():
        head = file.read(HEAD)
        file.seek(0)
    else:
        head = cast(io.BufferedReader, file).peek(HEAD)
    kind = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), "")
    if kind or not DOCUMENT.match(head):
        return kind
    return "document" if OPEN.match(head) or _is_one_line(file) else ""


def _is_one_line(file: BinaryIO) -> bool:
    """Return True if a file has a single line.

    A list in a single line is a complete log, not one record with several choices.
    """
    if not file.seekable():
        return False
    alone = len(file.readline(LONGEST)) < LONGEST and not file.read(HEAD).strip()
    file.seek(0)
    return alone


def _blocks(source: Source, start: Place, *, alone: bool) -> Iterator[Block]:
    """Yield the blocks of a file. If it cannot be read, the last block has the error."""
    end = start
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open_binary(source.path))
            for block in _opened(file, source.path, source.size, start):
                yield block
                end = block.behind
        except UsageError as error:
            if alone and end == BEGINNING:
                raise
            why = str(error).removeprefix(f"{source.path}: ")
            yield _trouble(end, f"the file cannot be read from here on: {why}")
        except OSError as error:
            raise Interrupted(f"{source.path}: {error} (run again to continue)") from error


def _opened(file: BinaryIO, name: str, size: int, start: Place) -> Iterator[Block]:
    """Yield the blocks of an open file."""
    kind = kind_of(file)
    if kind == "parquet" or name.lower().endswith((".parquet", ".pq")):
        from .parquet_files import parquet_blocks  # lazy: requires pyarrow

        yield from parquet_blocks(file, start, size)
    elif kind == "zip":
        yield from _zip_blocks(file, name, size, start)
    elif kind == "document":
        data = file.read(LONGEST + 1)
        found = _document(data)
        if found is not None:
            yield from _listed(found, size, start)
        elif len(data) > LONGEST and not file.seekable():
            words = f"a JSON document in a pipe is limited to {LONGEST} bytes: pass the file's name"
            raise UsageError(f"{name}: {words}")
        else:  # JSON Lines with a malformed first line
            yield from _lines(file if file.seekable() else io.BytesIO(data), start)
    elif kind == "utf-16":
        yield _trouble(start, "the file is UTF-16, but records must be UTF-8")
    elif kind:
        packed = _Unpacked(_unpacker(kind)(file), file)
        lines = io.BufferedReader(packed, 1 << 16)
        left = start.at
        while left and (data := lines.read(min(left, 1 << 20))):
            left -= len(data)
        end = start
        for block in json_blocks(cast(BinaryIO, lines), start):
            yield replace(block, seen=file.tell() if file.seekable() else 0)
            end = block.behind
        if packed.trouble:
            yield _trouble(end, packed.trouble)
    else:
        yield from _lines(file, start)


def _lines(file: BinaryIO, start: Place) -> Iterator[Block]:
    """Yield the blocks of a file of JSON Lines."""
    if file.seekable():
        file.seek(start.at)
    yield from json_blocks(file, start)


def _trouble(place: Place, words: str) -> Block:
    """Return a block with an error in place of a record."""
    return Block(place, place.on(1), trouble=(place.record, words))


class _Unpacked(io.RawIOBase):
    """Reader of a compressed file up to the first damage, described by `trouble`."""

    def __init__(self, file: Any, packed: BinaryIO) -> None:
        super().__init__()
        self._file, self._packed = file, packed
        self.trouble = ""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self.trouble:
            return 0
        try:
            data = self._file.read1(len(buffer))
        except (*BROKEN, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            self.trouble = f"the file cannot be unpacked from here on: {error}"
            return 0
        buffer[: len(data)] = data
        return len(data)


def _unpacker(kind: str) -> Callable[[BinaryIO], Any]:
    """Return a function that opens a compressed file."""
    known: dict[str, Callable[[BinaryIO], Any]] = {
        "gzip": lambda file: gzip.GzipFile(fileobj=file),
        "bzip2": bz2.BZ2File,
        "xz": lzma.LZMAFile,
    }
    if kind in known:
        return known[kind]
    try:
        return cast(Callable[[BinaryIO], Any], import_module("compression.zstd").ZstdFile)
    except ImportError:
        pass
    try:
        arrow = import_module("pyarrow")
    except ImportError:
        words = "zstd requires Python 3.14 or pyarrow: pip install 'deltaparse[parquet]'"
        raise UsageError(words) from None
    return lambda file: arrow.CompressedInputStream(file, "zstd")


def _zip_blocks(file: BinaryIO, name: str, size: int, start: Place) -> Iterator[Block]:
    """Yield the blocks of the samples in a zip."""
    try:
        archive = ZipFile(file)
    except BadZipFile as error:
        raise UsageError(f"{name}: {error}") from error
    samples = [
        one
        for one in archive.infolist()
        if one.filename.startswith("samples/") and one.filename.endswith(".json")
    ]
    if not samples:
        raise UsageError(f"{name}: not a log of inspect-ai: the zip has no samples/*.json")
    yield from _listed(samples, size, start, partial(_member, archive))


def _listed(
    items: Sequence[Any], size: int, start: Place, read: Callable[[Any], Any] = lambda item: item
) -> Iterator[Block]:
    """Yield the blocks of a list.

    Args:
        items: the records, or the sources of records.
        size: the number of bytes of the file, for the progress.
        start: the place of the first item.
        read: converts an item to a record.
    """
    for at in range(start.at, len(items), MEMBERS):
        here = Place(start.file, at + 1, at)
        rows = [read(one) for one in items[at : at + MEMBERS]]
        seen = size * (at + len(rows)) // len(items)
        yield Block(here, here.on(len(rows), len(rows)), rows, seen)


def _document(data: bytes) -> list[Any] | None:
    """Return the records of a JSON document, or None if it is too long or not JSON."""
    if len(data) > LONGEST:
        return None
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    if isinstance(found, dict) and isinstance(found.get("samples"), list):
        found = found["samples"]
    return found if isinstance(found, list) else [found]


def _member(archive: ZipFile, info: ZipInfo) -> bytes | ValueError:
    """Return a member of a zip, or a `ValueError` if it cannot be read."""
    try:
        if info.compress_type != ZSTD_IN_ZIP:
            return archive.read(info)
        file = cast(BinaryIO, archive.fp)
        file.seek(info.header_offset)
        # `zipfile` cannot read zstd, so skip the name and extra field of the local header here.
        name, extra = struct.unpack("<26xHH", file.read(30))
        file.seek(name + extra, io.SEEK_CUR)
        data = io.BytesIO(file.read(info.compress_size))
        return cast(bytes, _unpacker("zstd")(data).read())
    except (*BROKEN, OSError, ValueError, struct.error) as error:
        return ValueError(f"{info.filename} cannot be unpacked: {error}")
