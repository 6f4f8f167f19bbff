"""Many records at once: blocks of files, small enough to hold, which processes can be given."""

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
"""Bytes of a block, but for the line that it ends with."""

LONGEST = 1 << 28
"""Bytes of a line."""

CHUNK = 1 << 20
"""Bytes of such a line that are passed over at once."""

BOM = b"\xef\xbb\xbf"


class Interrupted(DeltaParseError):
    """The work cannot go on now; what was done is kept."""


class Function(Protocol):
    """Makes the results of a record and its number: a `Replayer`."""

    def each(self, record: object, number: int) -> Iterable[Mapping[str, Any]]:
        """Return them: one, or one for each of the choices of the record."""


class Place(NamedTuple):
    """A place in files: which file, the number of the record there, and where it begins.

    That is a byte of lines, unpacked, or how many rows or members stand before it.
    """

    file: int = 0
    record: int = 1
    at: int = 0

    def on(self, records: int, at: int = 0) -> Place:
        """Return the place so many records, and so much of the file, further on."""
        return Place(self.file, self.record + records, self.at + at)


BEGINNING = Place()


@dataclass(frozen=True, slots=True)
class Block:
    """Records that stand side by side in a file.

    `start` and `behind` are the places where it begins, and where the next one does. `rows` is
    lines of JSON, or a list of JSON texts, records, and what hindered others, or rows of Parquet.
    `seen` is how many bytes of all files are read then, `file` the name of the file, where there
    are several. `trouble` is the number of a record that is not among the rows, and why.
    """

    start: Place
    behind: Place
    rows: Any = b""
    seen: int = 0
    file: str | None = None
    trouble: tuple[int, str] | None = None

    def records(self) -> Iterator[tuple[int, object]]:
        """Yield each record with its number; a `ValueError` for one that is no JSON."""
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
    """A value of Parquet without the members that are null: a column has those of all its rows."""
    if isinstance(value, dict):
        return {key: _there(one) for key, one in value.items() if one is not None}
    return [_there(one) for one in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a block: the results, a line of JSON for each, and their tally."""

    start: Place
    behind: Place
    seen: int
    lines: bytes
    tally: Tally


def json_blocks(
    file: BinaryIO, start: Place = BEGINNING, size: int | None = None, stop: int | None = None
) -> Iterator[Block]:
    """Cut a file of JSON Lines, which stands at a place, into blocks, to its end or to a byte.

    A line that is longer than can be is passed over, and told.
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
        # The last line may have no end.
        behind = start.on(lines.count(b"\n") + (too_long or not lines.endswith(b"\n")), whole)
        trouble = None
        if too_long:
            words = f"a line of {whole - len(lines)} bytes: {LONGEST} are the most"
            trouble = (behind.record - 1, words)
        yield Block(start, behind, lines, behind.at, trouble=trouble)
        start, data = behind, b""


def written(replayer: Function, block: Block, *, differing: bool = False) -> Done:
    """Replay the records of a block.

    With `differing`, results in which nothing differs are counted and left out.
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
    except UnicodeEncodeError:  # half of a character, in an id
        return json.dumps(result).encode() + b"\n"


LOADS = json.JSONDecoder().decode
ENCODE = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
