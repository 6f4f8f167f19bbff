"""The blocks of files of records, one file after the other; what a file is, its first bytes say.

    JSON Lines      as they are, or packed: gzip, bzip2, xz, zstd
    one in JSON     a list of records, or an object that has one as `samples`: it is held whole
    Parquet         rows
    a zip           its members in JSON under samples/: a log of inspect-ai

What of a file cannot be read is an error in the place of a record, and the next file follows.
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
"""Bytes that say what a file is."""

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
"""What a packed file raises that is cut off or damaged; and `OSError` without a number."""

DOCUMENT = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\[|\{\s*[\r\n])")
OPEN = re.compile(rb"(?:\xef\xbb\xbf)?\s*[\[{]\s*[\r\n]")
"""How JSON begins that may be no line, and that is none: a line ends in the middle of it."""

MEMBERS = 64
"""Members of a zip, or of a list, in a block."""

ZSTD_IN_ZIP = 93


def blocks_of(sources: Sequence[Source], start: Place) -> Iterator[Block]:
    """Cut files into blocks, from a place on; each begins where the one before it ends.

    Raises:
        UsageError: there is one file, and it cannot be opened.
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
        # Behind the last block of a file begins the next one.
        held = held or Block(first, first, seen=before)
        yield replace(held, behind=Place(at + 1), seen=before)


def blocks_of_stream(stream: BinaryIO) -> Iterator[Block]:
    """Cut a stream that can be read once into blocks."""
    if not stream.seekable() and kind_of(stream) in ("zip", "parquet"):
        raise UsageError("such a file cannot be read from a pipe: name it")
    yield from _opened(stream, "the input", 0, BEGINNING)


def kind_of(file: BinaryIO) -> str:
    """Say what a file is by its first bytes, which are there to be read again; "" for lines."""
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
    """Whether a file has one line: a list there is the log, and no record of choices."""
    if not file.seekable():
        return False
    alone = len(file.readline(LONGEST)) < LONGEST and not file.read(HEAD).strip()
    file.seek(0)
    return alone


def _blocks(source: Source, start: Place, *, alone: bool) -> Iterator[Block]:
    """The blocks of a file; where it cannot be read, the last one says so."""
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
            raise Interrupted(f"{source.path}: {error}; run it again to go on") from error


def _opened(file: BinaryIO, name: str, size: int, start: Place) -> Iterator[Block]:
    """The blocks of an open file."""
    kind = kind_of(file)
    if kind == "parquet" or name.lower().endswith((".parquet", ".pq")):
        from .parquet_files import parquet_blocks  # needs pyarrow

        yield from parquet_blocks(file, start, size)
    elif kind == "zip":
        yield from _zip_blocks(file, name, size, start)
    elif kind == "document":
        data = file.read(LONGEST + 1)
        found = _document(data)
        if found is not None:
            yield from _listed(found, size, start)
        elif len(data) > LONGEST and not file.seekable():
            raise UsageError(f"{name}: one in JSON of more than {LONGEST} bytes: name the file")
        else:  # lines, the first of which is broken
            yield from _lines(file if file.seekable() else io.BytesIO(data), start)
    elif kind == "utf-16":
        yield _trouble(start, "the file is UTF-16: records are read in UTF-8")
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
    """The blocks of a file of lines."""
    if file.seekable():
        file.seek(start.at)
    yield from json_blocks(file, start)


def _trouble(place: Place, words: str) -> Block:
    """A block that says in the place of a record what cannot be read."""
    return Block(place, place.on(1), trouble=(place.record, words))


class _Unpacked(io.RawIOBase):
    """Reads a packed file to where it is damaged: `trouble` says how."""

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
    """What reads a packed file."""
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
        words = "zstd needs Python 3.14, or pyarrow: pip install 'deltaparse[parquet]'"
        raise UsageError(words) from None
    return lambda file: arrow.CompressedInputStream(file, "zstd")


def _zip_blocks(file: BinaryIO, name: str, size: int, start: Place) -> Iterator[Block]:
    """The blocks of the samples of a zip."""
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
        raise UsageError(f"{name}: a zip without samples/*.json: no log of inspect-ai")
    yield from _listed(samples, size, start, partial(_member, archive))


def _listed(
    items: Sequence[Any], size: int, start: Place, read: Callable[[Any], Any] = lambda item: item
) -> Iterator[Block]:
    """The blocks of a list of records, or of what they are read from."""
    for at in range(start.at, len(items), MEMBERS):
        here = Place(start.file, at + 1, at)
        rows = [read(one) for one in items[at : at + MEMBERS]]
        seen = size * (at + len(rows)) // len(items)
        yield Block(here, here.on(len(rows), len(rows)), rows, seen)


def _document(data: bytes) -> list[Any] | None:
    """The records of a file that is one in JSON, None if it is none, or too long."""
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
    """A member of a zip, or why it cannot be read."""
    try:
        if info.compress_type != ZSTD_IN_ZIP:
            return archive.read(info)
        file = cast(BinaryIO, archive.fp)
        file.seek(info.header_offset)
        # What stands between the header and the data: a name and more, of these lengths.
        name, extra = struct.unpack("<26xHH", file.read(30))
        file.seek(name + extra, io.SEEK_CUR)
        data = io.BytesIO(file.read(info.compress_size))
        return cast(bytes, _unpacker("zstd")(data).read())
    except (*BROKEN, OSError, ValueError, struct.error) as error:
        return ValueError(f"{info.filename} cannot be unpacked: {error}")
