"""A file of records on a cluster: the same function over records, by Ray Data.

The file is cut into parts, which the machines read themselves, so that all of them must reach it: a
shared folder, or what fsspec takes. A part whose process dies is done again by another. Results
are those of the local engine: JSON Lines are the same to the byte; Parquet is a folder of files.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from deltaparse.partial import UsageError

from .blocks import Block, Function, written
from .parquet_files import parquet_blocks, result_table
from .paths import is_parquet, is_remote, open_binary, stamp
from .tally import Tally

__all__ = ["replay_on_ray"]

PART = 1 << 22
"""Bytes of a part."""


def replay_on_ray(
    replayer: Function,
    source: str,
    target: str,
    *,
    address: str | None = None,
    jobs: int | None = None,
    differing: bool = False,
    part: int = PART,
) -> Tally:
    """Replay the records of a file on a Ray cluster; return what was counted.

    Args:
        replayer: the function over a record.
        source: a file of JSON Lines or Parquet, which all machines can read.
        target: where results are written: a file of JSON Lines, by this process; or, with the
            ending of a Parquet file, a folder that the machines write to.
        address: of the cluster; without it, that of the environment, or a local one.
        jobs: how many processes work at once; as many as there are processors, without it.
        differing: write only results in which something differs.
        part: bytes of a part; a part of a Parquet file is a row group.

    Raises:
        UsageError: a file cannot be opened, or Ray is not installed.
    """
    ray = _ray()
    mine = not ray.is_initialized()
    if mine:
        ray.init(address=address, log_to_driver=False, logging_level="error")
    try:
        ray.data.DataContext.get_current().execution_options.preserve_order = True
        ray.data.DataContext.get_current().enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        workers = jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))
        where = _place(source)
        parts = _numbered(ray, where, _parts(where, part))
        # No more processes than parts, each of which is a block of its own.
        data = ray.data.from_items(parts, override_num_blocks=max(1, len(parts)))
        pool = ray.data.ActorPoolStrategy(size=min(workers, max(1, len(parts))))
        made = data.map_batches(
            _Worker,
            fn_constructor_args=(replayer, where, differing, is_parquet(target)),
            batch_size=1,
            compute=pool,
        )
        if is_parquet(target):
            place = _place(target)
            made.write_parquet(place)
            return _counted(ray.data.read_parquet(place))
        return _written(made, target)
    finally:
        if mine:
            ray.shutdown()


class _Worker:
    """A process that replays parts of a file."""

    def __init__(self, replayer: Function, source: str, differing: bool, as_columns: bool) -> None:
        self._replayer, self._source = replayer, source
        self._differing, self._as_columns = differing, as_columns

    def __call__(self, batch: Mapping[str, Any]) -> Any:
        """Return the results of the parts: a row each as columns, or lines of JSON and a tally."""
        lines, tallies = [], []
        for start, end, first in zip(batch["start"], batch["end"], batch["first"], strict=True):
            tally = Tally()
            for block in _blocks(self._source, int(start), int(end), int(first)):
                done = written(self._replayer, block, differing=self._differing)
                tally.merge(done.tally)
                lines.append(done.lines)
            tallies.append(json.dumps(tally.to_json()))
        if not self._as_columns:
            return {"lines": [b"".join(lines)], "tally": [json.dumps(tallies)]}
        return result_table(json.loads(line) for block in lines for line in block.splitlines())


def _blocks(source: str, start: int, end: int, first: int) -> Iterator[Block]:
    """The blocks of a part."""
    with open_binary(source) as file:
        if is_parquet(source):
            yield from parquet_blocks(file, first, group=start)
        else:
            data = _lines_of(file, start, end)
            yield Block(first, first + data.count(b"\n"), end, data)


def _lines_of(file: BinaryIO, start: int, end: int) -> bytes:
    """The lines that begin in a range of a file."""
    if start:
        file.seek(start - 1)
        file.readline()
        start = file.tell()
    data = file.read(end - start) if end > start else b""
    return data if not data or data.endswith(b"\n") else data + file.readline()


def _parts(source: str, part: int) -> list[dict[str, int]]:
    """The parts of a file: ranges of bytes, or row groups; the number of the first of each."""
    if not is_parquet(source):
        size = stamp(source)[0]
        starts = range(0, size, part)
        return [{"start": at, "end": min(at + part, size), "first": 0} for at in starts]
    from pyarrow import parquet

    with open_binary(source) as file:
        groups = parquet.ParquetFile(file).metadata
        sizes = [groups.row_group(at).num_rows for at in range(groups.num_row_groups)]
    return [{"start": at, "end": at + 1, "first": 1 + sum(sizes[:at])} for at in range(len(sizes))]


def _numbered(ray: Any, source: str, parts: list[dict[str, int]]) -> list[dict[str, int]]:
    """The parts with the numbers of their first records: the lines before them are counted."""
    if is_parquet(source) or not parts:
        return parts

    def count(part: dict[str, int]) -> dict[str, int]:
        with open_binary(source) as file:
            return {**part, "lines": _lines_of(file, part["start"], part["end"]).count(b"\n")}

    number, numbered = 1, []
    counted = ray.data.from_items(parts, override_num_blocks=len(parts)).map(count)
    for row in sorted(counted.take_all(), key=lambda one: int(one["start"])):
        numbered.append({"start": row["start"], "end": row["end"], "first": number})
        number += row["lines"]
    return numbered


def _written(made: Any, target: str) -> Tally:
    """Write the lines that come of the parts, in order, as they come."""
    tally = Tally()
    beside = target if is_remote(target) else f"{target}.new"
    with open_binary(beside, "wb") as out:
        for row in made.iter_rows():
            out.write(row["lines"])
            for one in json.loads(row["tally"]):
                tally.merge(Tally.from_json(json.loads(one)))
    if beside != target:
        Path(beside).replace(target)
    return tally


def _counted(data: Any) -> Tally:
    """What is counted of results in columns."""

    def count(batch: Any) -> dict[str, list[str]]:
        return {"tally": [json.dumps(Tally.of(map(_result, batch.to_pylist())).to_json())]}

    tally = Tally()
    for row in data.map_batches(count, batch_format="pyarrow").iter_rows():
        tally.merge(Tally.from_json(json.loads(row["tally"])))
    return tally


def _result(row: Mapping[str, Any]) -> dict[str, Any]:
    """A result that was written in columns."""
    texts = ("id", "model", "format", "finish_reason", "class", "error")
    return {
        name: value if name in texts else json.loads(value)
        for name, value in row.items()
        if value is not None
    }


def _place(path: str) -> str:
    """A path as processes with another working directory find it."""
    return path if is_remote(path) else str(Path(path).resolve())


def _ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError:
        raise UsageError("--engine ray needs Ray: pip install 'deltaparse[ray]'") from None
    return ray
