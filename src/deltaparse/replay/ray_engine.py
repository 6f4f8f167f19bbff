"""Replay of files on a Ray cluster, with Ray Data.

The files are split into parts, and workers read the parts. So all machines must reach the files:
in a shared folder or by fsspec. If a worker dies, another one repeats its part.

Results equal those of the local engine. JSON Lines are identical to the byte. This process writes
them and resumes them as in `checkpoints.py`. For Parquet, workers write a folder with one file per
part. Each file contains the fingerprint and the tally, so that a later run can skip it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from deltaparse.partial import UsageError

from .blocks import BOM, Block, Done, Function, Place, json_blocks, written
from .checkpoints import asked, results_at
from .local_engine import Progress
from .parquet_files import parquet_blocks, read_note, row_groups, write_results
from .paths import Source, file_system, found_sources, is_parquet, is_remote, open_binary
from .replayer import Replayer
from .sources import blocks_of, kind_of
from .tally import Tally

__all__ = ["replay_on_ray"]

PART = 1 << 22
"""Size of a part in bytes."""

CHUNK = 1 << 20
"""Number of bytes that are read at once to count lines."""

ENOUGH = 1 << 22
"""Number of bytes of results that a worker returns at once."""


def replay_on_ray(
    replayer: Replayer,
    source: str | Sequence[str],
    target: str,
    *,
    address: str | None = None,
    jobs: int | None = None,
    differing: bool = False,
    part: int = PART,
    progress: Progress | None = None,
) -> Tally:
    """Replay the records of files on a Ray cluster and return the tally of the results.

    An interrupted replay continues when it is called again with the same arguments.

    Args:
        replayer: the replay function.
        source: files that all machines can read. See `replay_file`.
        target: a file of JSON Lines, written by this process. Or, with the suffix of a Parquet
            file, a folder that the workers write to.
        address: the address of the cluster (default: from the environment, else a local cluster).
        jobs: the number of processes (default: one per processor).
        differing: write only differing results.
        part: the size of a part in bytes. For Parquet a part is a row group. A compressed file
            is a single part.
        progress: see `replay_file`.

    Raises:
        UsageError: a file cannot be opened, Ray is not installed or not reachable, or the folder
            contains other files.
    """
    ray = _ray()
    sources = found_sources(source, target)
    with ExitStack() as stack:
        if not ray.is_initialized():
            try:
                ray.init(address=address, log_to_driver=False, logging_level="error")
            except (ConnectionError, ValueError, RuntimeError) as error:
                where = address or "this machine"
                raise UsageError(f"cannot connect to Ray at {where}: {error}") from error
            stack.callback(ray.shutdown)
        context = ray.data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        run = _Run(ray, replayer, sources, jobs, differing, part, progress)
        if is_parquet(target):
            return run.to_folder(_reached(target), asked(replayer, sources, differing, part))
        out = results_at(target, asked(replayer, sources, differing, "ray"), stack)
        for done in run.lines(out.next):
            out.write(done)
            run.tell(out.tally.records, done.seen)
        out.finish()
        return out.tally


@dataclass(frozen=True, slots=True)
class _Part:
    """Records for one task: a range of bytes, a row group or a complete file.

    Attributes:
        file: the index of the file.
        record: the number of the first record.
        at: the offset of the first record. See `Place`.
        stop: the offset of the end of a range of bytes, else -1.
        group: the index of a row group, else -1.
    """

    file: int
    record: int = 1
    at: int = 0
    stop: int = -1
    group: int = -1

    @property
    def start(self) -> Place:
        return Place(self.file, self.record, self.at)

    @property
    def name(self) -> str:
        """Name of the file with the results of the part."""
        return f"part-{self.file:05}-{self.at:014}.parquet"


class _Run:
    """One replay on a cluster."""

    def __init__(
        self,
        ray: Any,
        replayer: Function,
        sources: Sequence[Source],
        jobs: int | None,
        differing: bool,
        part: int,
        progress: Progress | None,
    ) -> None:
        self._ray, self._part, self._progress = ray, part, progress
        self._size = sum(one.size for one in sources)
        self._jobs = jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))
        # Workers have another working directory, so they need absolute paths.
        reached = [replace(one, path=_reached(one.path)) for one in sources]
        self._reached, self._given = reached, (replayer, reached, sources, differing)

    def tell(self, records: int, seen: int) -> None:
        """Report the progress."""
        if self._progress is not None:
            self._progress(records, seen, self._size)

    def lines(self, start: Place) -> Iterator[Done]:
        """Yield the results of the parts in order, from a place on."""
        for row in self._rows(_Lines, self._given, self._parts(start)):
            # Parts need not be adjacent, so each result starts at the end of the previous one.
            behind, tally = Place(*json.loads(row["behind"])), json.loads(row["tally"])
            yield Done(start, behind, int(row["seen"]), row["lines"], Tally.from_json(tally))
            start = behind

    def to_folder(self, folder: str, question: str) -> Tally:
        """Write a file for each part without one, and return the tally of all files."""
        parts = self._parts(Place())
        names = {one.name for one in parts}
        counted = _files_in(folder, question, names)
        left = [one for one in parts if one.name not in counted]
        for row in self._rows(_Files, (*self._given, folder, question), left):
            counted[row["name"]] = Tally.from_json(json.loads(row["tally"]))
            share = len(counted) / len(parts)
            self.tell(sum(one.records for one in counted.values()), int(share * self._size))
        tally = Tally()
        for one in parts:
            tally.merge(counted[one.name])
        _files_in(folder, question, names)  # remove temporary files of dead workers
        return tally

    def _rows(self, worker: type, given: tuple[Any, ...], parts: list[_Part]) -> Iterator[Any]:
        """Yield the rows that a worker returns for parts, in order and as they arrive."""
        if not parts:
            return
        # One block per part, so that Ray schedules each part as a task.
        rows = [asdict(one) for one in parts]
        data = self._ray.data.from_items(rows, override_num_blocks=len(rows))
        pool = self._ray.data.ActorPoolStrategy(size=min(self._jobs, len(rows)))
        made = data.map_batches(worker, fn_constructor_args=given, batch_size=1, compute=pool)
        yield from made.iter_rows()

    def _parts(self, start: Place) -> list[_Part]:
        """Return the parts from a place on."""
        made: list[_Part] = []
        ranges: list[dict[str, int]] = []
        for file, source in enumerate(self._reached[start.file :], start.file):
            first = start if file == start.file else Place(file)
            kind, groups = _kind_and_groups(source, alone=len(self._reached) == 1)
            if kind == "parquet":
                made += _groups_from(first, groups)
            elif kind:
                made.append(_Part(*first))
            else:
                ranges += [
                    {"file": file, "start": at, "end": min(at + self._part, source.size)}
                    for at in range(first.at, source.size, self._part)
                ]
        return sorted([*made, *self._numbered(ranges, start)], key=lambda one: one.start)

    def _numbered(self, ranges: list[dict[str, int]], start: Place) -> Iterator[_Part]:
        """Yield the parts of JSON Lines, with record numbers from a count of all lines."""
        if not ranges:
            return
        paths = [one.path for one in self._reached]

        def count(part: dict[str, int]) -> dict[str, int]:
            with open_binary(paths[part["file"]]) as file:
                return part | _counted(file, part["start"], part["end"])

        data = self._ray.data.from_items(ranges, override_num_blocks=len(ranges)).map(count)
        rows = sorted(data.take_all(), key=lambda one: (int(one["file"]), int(one["start"])))
        for file, some in groupby(rows, key=lambda one: int(one["file"])):
            number = start.record if file == start.file else 1
            for row in some:
                if row["begin"] < row["stop"]:
                    yield _Part(file, number, int(row["begin"]), int(row["stop"]))
                number += int(row["lines"])


def _kind_and_groups(source: Source, *, alone: bool) -> tuple[str, list[int]]:
    """Return the type of a file and the sizes of its row groups, if any."""
    try:
        with open_binary(source.path) as file:
            kind = kind_of(file)
            if kind == "parquet" or is_parquet(source.path):
                return "parquet", row_groups(file)
            return kind, []
    except UsageError:
        if alone:
            raise
        return "unreadable", []  # the worker reports the error as a result


def _groups_from(start: Place, groups: list[int]) -> Iterator[_Part]:
    at = 0
    for index, rows in enumerate(groups):
        if at >= start.at:
            yield _Part(start.file, at + 1, at, group=index)
        at += rows


class _Worker:
    """Worker that replays parts of files."""

    def __init__(
        self,
        replayer: Function,
        reached: Sequence[Source],
        named: Sequence[Source],
        differing: bool,
    ) -> None:
        self._replayer, self._reached, self._named = replayer, reached, named
        self._differing = differing

    def _done(self, part: _Part) -> Iterator[Done]:
        """Yield the results of the blocks of a part."""
        several = len(self._named) > 1
        for block in self._blocks(part):
            named = replace(block, file=self._named[part.file].path if several else None)
            yield written(self._replayer, named, differing=self._differing)

    def _blocks(self, part: _Part) -> Iterator[Block]:
        if part.group < 0 and part.stop < 0:
            for block in blocks_of(self._reached, part.start):
                yield block
                if block.behind.file != part.file:
                    return
        source = self._reached[part.file]
        before = sum(one.size for one in self._reached[: part.file])
        with open_binary(source.path) as file:
            if part.group >= 0:
                blocks = parquet_blocks(file, part.start, source.size, part.group)
            else:
                file.seek(part.at)
                blocks = json_blocks(file, part.start, stop=part.stop)
            for block in blocks:
                yield replace(block, seen=before + block.seen)


class _Lines(_Worker):
    """Worker that returns the results of parts as lines of JSON."""

    def __call__(self, batch: Mapping[str, Any]) -> Iterator[dict[str, list[Any]]]:
        """Yield the results of the parts in batches, with their tallies."""
        for part in _parts_of(batch):
            held: list[Done] = []
            for done in self._done(part):
                held.append(done)
                if sum(len(one.lines) for one in held) > ENOUGH:
                    yield _row(held)
                    held = []
            if held:
                yield _row(held)


class _Files(_Worker):
    """Worker that writes a Parquet file for each part."""

    def __init__(self, *given: Any) -> None:
        *others, self._folder, self._question = given
        super().__init__(*others)

    def __call__(self, batch: Mapping[str, Any]) -> Iterator[dict[str, list[Any]]]:
        """Yield the names of the files and their tallies."""
        for part in _parts_of(batch):
            # Rename the complete file with a unique name: two workers may write the same part.
            beside = f"{self._folder}/_{part.name}.{uuid4().hex}"
            tally = Tally()
            with open_binary(beside, "wb") as out:
                write_results(
                    self._lines(part, tally),
                    out,
                    partial(_note, self._question, tally),
                )
            _move(beside, f"{self._folder}/{part.name}")
            yield {"name": [part.name], "tally": [json.dumps(tally.to_json())]}

    def _lines(self, part: _Part, tally: Tally) -> Iterator[bytes]:
        """Yield the results of a part and count them in `tally`."""
        for done in self._done(part):
            tally.merge(done.tally)
            yield from done.lines.split(b"\n")[:-1]


def _note(question: str, tally: Tally) -> list[Any]:
    return [question, tally.to_json()]


def _parts_of(batch: Mapping[str, Any]) -> Iterator[_Part]:
    columns = [batch[name] for name in ("file", "record", "at", "stop", "group")]
    for values in zip(*columns, strict=True):
        yield _Part(*map(int, values))


def _row(held: list[Done]) -> dict[str, list[Any]]:
    tally = Tally()
    for one in held:
        tally.merge(one.tally)
    return {
        "behind": [json.dumps(held[-1].behind)],
        "seen": [held[-1].seen],
        "lines": [b"".join(one.lines for one in held)],
        "tally": [json.dumps(tally.to_json())],
    }


def _counted(file: BinaryIO, start: int, end: int) -> dict[str, int]:
    """Return the begin, stop and number of the lines that start in a range of a file."""
    begin = _next_line(file, start - 1) if start else len(BOM) * (file.read(len(BOM)) == BOM)
    if start and begin >= end:
        return {"begin": begin, "stop": begin, "lines": 0}
    stop, lines, last = _next_line(file, max(begin, end - 1)), 0, b""
    file.seek(begin)
    at = begin
    while at < stop and (data := file.read(min(CHUNK, stop - at))):
        lines, last, at = lines + data.count(b"\n"), data[-1:], at + len(data)
    return {"begin": begin, "stop": stop, "lines": lines + (last not in (b"", b"\n"))}


def _next_line(file: BinaryIO, at: int) -> int:
    """Return the offset after the line at an offset."""
    file.seek(at)
    while data := file.readline(CHUNK):
        at += len(data)
        if data.endswith(b"\n"):
            break
    return at


def _files_in(folder: str, question: str, names: set[str]) -> dict[str, Tally]:
    """Return the tallies of the files with results for a question, and remove other results.

    Raises:
        UsageError: the folder contains other files.
    """
    if is_remote(folder):
        system, inner = file_system(folder)
        system.makedirs(inner, exist_ok=True)
        system.invalidate_cache()
        there = [name.rpartition("/")[2] for name in system.ls(inner, detail=False)]
    else:
        Path(folder).mkdir(parents=True, exist_ok=True)
        there = [one.name for one in Path(folder).iterdir()]
    found, old = {}, []
    for name in sorted(there):
        note = None
        if name.startswith("part-") and is_parquet(name):
            with open_binary(f"{folder}/{name}") as file:
                note = read_note(file)
        if note is not None and note[0] == question and name in names:
            found[name] = Tally.from_json(note[1])
        elif note is not None or name.startswith("_part-"):
            old.append(name)
        else:
            raise UsageError(f"{folder}: {name} is not a replay result: choose another folder")
    for name in old:
        _remove(f"{folder}/{name}")
    return found


def _move(path: str, to: str) -> None:
    if is_remote(path):
        system, inner = file_system(path)
        system.mv(inner, file_system(to)[1])
    else:
        Path(path).replace(to)


def _remove(path: str) -> None:
    if is_remote(path):
        system, inner = file_system(path)
        system.rm(inner)
    else:
        Path(path).unlink()


def _reached(path: str) -> str:
    """Return a path that is valid in another working directory."""
    return path if is_remote(path) else str(Path(path).resolve())


def _ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError:
        raise UsageError("--engine ray requires Ray: pip install 'deltaparse[ray]'") from None
    return ray
