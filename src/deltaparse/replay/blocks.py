"""Many records at once: blocks of a file, small enough to hold, which processes can be given."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from .tally import Tally

__all__ = ["Block", "Done", "Function", "json_blocks", "written"]

Function = Callable[[object, int], Mapping[str, Any]]
"""Makes the result of a record and its number: a `Replayer`."""

SIZE = 1 << 18
"""Bytes of a block, but for the line that it ends with."""


@dataclass(frozen=True, slots=True)
class Block:
    """Records that stand side by side in a file.

    `first` is the number of the first, from 1; `next` that of the first behind it; `end` the place
    in the file where it ends. `rows` is lines of JSON, or rows of a Parquet file.
    """

    first: int
    next: int
    end: int
    rows: Any

    def records(self) -> Iterator[tuple[int, object]]:
        """Yield each record with its number; a `ValueError` for one that is no JSON."""
        if not isinstance(self.rows, bytes):
            from .parquet_files import records_of  # needs pyarrow

            yield from enumerate(records_of(self.rows), self.first)
            return
        for number, line in enumerate(self.rows.split(b"\n"), self.first):
            if not line or line.isspace():
                continue
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                yield number, ValueError(f"not JSON: {error}")


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a block: the results, a line of JSON for each, and their tally."""

    first: int
    next: int
    end: int
    lines: bytes
    tally: Tally


def json_blocks(
    file: BinaryIO, first: int = 1, start: int = 0, size: int = SIZE
) -> Iterator[Block]:
    """Cut the rest of a file of JSON Lines into blocks.

    Args:
        file: the file, which stands at `start`.
        first: the number of the line that begins there.
        start: the place where it stands.
        size: bytes of a block.
    """
    while data := file.read(size):
        data += file.readline()
        start += len(data)
        behind = first + data.count(b"\n")
        yield Block(first, behind, start, data)
        first = behind


def written(replayer: Function, block: Block, *, differing: bool = False) -> Done:
    """Replay the records of a block.

    With `differing`, results in which nothing differs are counted and left out.
    """
    tally, lines = Tally(), []
    for number, record in block.records():
        result: Mapping[str, Any]
        if isinstance(record, ValueError):
            result = {"id": number, "error": str(record)}
        else:
            result = replayer(record, number)
        tally.add(result, number)
        if not differing or result.get("class") != "same":
            lines.append(_line(result))
    return Done(block.first, block.next, block.end, b"".join(lines), tally)


def _line(result: Mapping[str, Any]) -> bytes:
    try:
        return ENCODE(result).encode() + b"\n"
    except UnicodeEncodeError:  # half of a character, in an id
        return json.dumps(result).encode() + b"\n"


ENCODE = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
