"""Blocks of records: small picklable parts of files that processes can share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple, Protocol

from deltaparse.partial import DeltaParseError

from .tally import Tally

__all__ = [
    "BEGINNING",
    "BOM",
    "Block",
    "Done",
    "Function",
    "Interrupted",
    "Place",
    "json_blocks",
    "written",
]

SIZE = 1 << 18
"""Size of a block in bytes, without the rest of its last line."""

LONGEST = 1 << 28
"""Maximum length of a line in bytes."""

CHUNK = 1 << 20
"""Number of bytes of a longer line that are skipped at once."""

BOM = b"\xef\xbb\xbf"


class Interrupted(DeltaParseError):
    """The replay was interrupted. Finished results are kept, and a new run continues."""


class Function(Protocol):
    """Replay function over a record, such as a `Replayer`."""

    def each(self, record: object, number: int) -> Iterable[Mapping[str, Any]]:
        """Return one result for each choice of the record."""


class Place(NamedTuple):
    """Place of a record in files.

    Attributes:
        file: the index of the file.
        record: the number of the record in the file, from 1.
        at: the offset of the record: uncompressed bytes for lines, else rows or members.
    """

    file: int = 0
    record: int = 1
    at: int = 0

    def on(self, records: int, at: int = 0) -> Place:
        """Return the place advanced by a number of records and an offset."""
        return Place(self.file, self.record + records, self.at + at)


BEGINNING = Place()


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive records of a file.

    Attributes:
        start: the place of its first record.
        behind: the place of the first record of the next block.
        rows: lines of JSON, a list (of JSON texts, records and errors), or rows of Parquet.
        seen: the number of bytes of all files that were read up to the end of the block.
        file: the name of the file, if there are several.
        trouble: the number of a record that is missing in the rows, and the error.
    """

    start: Place
    behind: Place
    rows: Any = b""
    seen: int = 0
    file: str | None = None
    trouble: tuple[int, str] | None = None

    def records(self) -> Iterator[tuple[int, object]]:
        """Yield each record with its number. An unreadable record is a `ValueError`."""
        first = self.start.record
        if isinstance(self.rows, (bytes, list)):
            rows = self.rows if isinstance(self.rows, list) else self.rows.split(b"\n")
            for number, line in enumerate(rows, first):
                if not isinstance(line, bytes):
                    yield number, line
                    continue
                if not line or line.isspace():
                    continue
                try:
                    yield number, LOADS(line.decode("utf-8", "surrogatepass"))
                except (ValueError, RecursionError) as error:
                    yield number, ValueError(f"not JSON: {error}")
        else:
            yield from enumerate(map(_there, self.rows.to_pylist()), first)
        if self.trouble is not None:
            yield self.trouble[0], ValueError(self.trouble[1])


def _there(value: Any) -> Any:
    """Return a value of Parquet without null members.

    A nested column has the members of all rows, so a missing member is null.
    """
    if isinstance(value, dict):
        return {key: _there(one) for key, one in value.items() if one is not None}
    return [_there(one) for one in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Done:
    """Results of a block: one line of JSON per result, and their tally."""

    start: Place
    behind: Place
    seen: int
    lines: bytes
    tally: Tally


def json_blocks(
    file: BinaryIO, start: Place = BEGINNING, size: int | None = None, stop: int | None = None
) -> Iterator[Block]:
    """Split a file of JSON Lines into blocks.

    A line that exceeds `LONGEST` is skipped and reported as an error.

    Args:
        file: the file, already at `start`.
        start: the place of the first line.
        size: the size of a block in bytes (default: `SIZE`).
        stop: the offset of the end (default: the end of the file).
    """
    data, size = b"", size or SIZE
    if not start.at and stop is None:
        data = file.read(len(BOM))
        if data == BOM:
            start, data = Place(start.file, start.record, len(BOM)), b""
    while stop is None or start.at < stop:
        wanted = size if stop is None else min(size, stop - start.at)
        data += file.read(max(wanted - len(data), 0))
        if not data:
            return
        if not data.endswith(b"\n"):
            data += file.readline(LONGEST)
        lines, whole = data, len(data)
        too_long = not data.endswith(b"\n") and len(data) >= LONGEST
        if too_long:
            lines = data[: data.rfind(b"\n") + 1]
            while (more := file.readline(CHUNK)) and not more.endswith(b"\n"):
                whole += len(more)
            whole += len(more)
        # The last line of a file may lack its newline, but it counts as a record.
        behind = start.on(lines.count(b"\n") + (too_long or not lines.endswith(b"\n")), whole)
        trouble = None
        if too_long:
            words = f"the line has {whole - len(lines)} bytes, but at most {LONGEST} are allowed"
            trouble = (behind.record - 1, words)
        yield Block(start, behind, lines, behind.at, trouble=trouble)
        start, data = behind, b""


def written(replayer: Function, block: Block, *, differing: bool = False) -> Done:
    """Replay the records of a block.

    With `differing`, equal results are counted, but not written.
    """
    tally, lines = Tally(), []
    for number, record in block.records():
        results: Iterable[Mapping[str, Any]]
        if isinstance(record, ValueError):
            results = ({"id": number, "error": str(record)},)
        else:
            results = replayer.each(record, number)
        for result in results:
            tally.add(result, number, block.file)
            if differing and result.get("class") == "same":
                continue
            lines.append(_line(result if block.file is None else {"file": block.file, **result}))
    return Done(block.start, block.behind, block.seen, b"".join(lines), tally)


def _line(result: Mapping[str, Any]) -> bytes:
    try:
        return ENCODE(result).encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate in an id
        return json.dumps(result).encode() + b"\n"


LOADS = json.JSONDecoder().decode
ENCODE = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
