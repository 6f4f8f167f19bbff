"""Files of records on a cluster: the same function over records, by Ray Data.

The files are cut into parts, which the machines read themselves, so that all of them must reach
them: a shared folder, or what fsspec takes. A part whose process dies is done again by another.

Results are those of the local engine. JSON Lines are the same to the byte; this process writes
them, and they are resumed as there (`kept.py`). Parquet is a folder, with a file for each part that
the machines write; what is asked and counted stands in each, so that a file that is there need not
be made again.
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
from .kept import asked, results_at
from .local_engine import Progress
from .parquet_files import parquet_blocks, read_note, row_groups, write_results
from .paths import Source, file_system, found_sources, is_parquet, is_remote, open_binary
from .replayer import Replayer
from .sources import blocks_of, kind_of
from .tally import Tally

__all__ = ["replay_on_ray"]

PART = 1 << 22
"""Bytes of a part."""

CHUNK = 1 << 20
"""Bytes that are read at once where lines are counted."""

ENOUGH = 1 << 22
"""Bytes of results that are handed over at once."""


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
    """Replay the records of files on a Ray cluster; return what was counted.

    Run again after it was interrupted, it goes on where it was.

    Args:
        replayer: the function over a record.
        source: files that all machines can read; see `replay_file`.
        target: where results are written: a file of JSON Lines, by this process; or, with the
            ending of a Parquet file, a folder that the machines write to.
        address: of the cluster; without it, that of the environment, or a local one.
        jobs: how many processes work at once; as many as there are processors, without it.
        differing: write only results in which something differs.
        part: bytes of a part; a part of a Parquet file is a row group, and a packed file is one.
        progress: as `replay_file` takes it.

    Raises:
        UsageError: a file cannot be opened, Ray is not installed or not reached, or other files
            stand in the folder.
    """
    ray = _ray()
    sources = found_sources(source, target)
    with ExitStack() as stack:
        if not ray.is_initialized():
            try:
                ray.init(address=address, log_to_driver=False, logging_level="error")
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise UsageError(f"no Ray at {address or 'this machine'}: {error}") from error
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
    """Records that one process replays: from a place to a byte, a row group, or a whole file.

    `stop` and `group` are -1 where they say nothing.
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
        """The name of the file of its results."""
        return f"part-{self.file:05}-{self.at:014}.parquet"


class _Run:
    """What is done for one question."""

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
        # Processes have another working directory; results name files as they were given.
        reached = [replace(one, path=_reached(one.path)) for one in sources]
        self._reached, self._given = reached, (replayer, reached, sources, differing)

    def tell(self, records: int, seen: int) -> None:
        """Tell how many records are done."""
        if self._progress is not None:
            self._progress(records, seen, self._size)

    def lines(self, start: Place) -> Iterator[Done]:
        """Yield what comes of the parts, in their order, from a place on."""
        for row in self._rows(_Lines, self._given, self._parts(start)):
            # Between two parts there may be none: the end of a file, a byte order mark.
            behind, tally = Place(*json.loads(row["behind"])), json.loads(row["tally"])
            yield Done(start, behind, int(row["seen"]), row["lines"], Tally.from_json(tally))
            start = behind

    def to_folder(self, folder: str, question: str) -> Tally:
        """Let the parts that have no file in a folder make it; count them all."""
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
        _files_in(folder, question, names)  # what processes left that died
        return tally

    def _rows(self, worker: type, given: tuple[Any, ...], parts: list[_Part]) -> Iterator[Any]:
        """What a worker makes of parts, in their order, as it comes."""
        if not parts:
            return
        # No more processes than parts, each of which is a block of its own.
        rows = [asdict(one) for one in parts]
        data = self._ray.data.from_items(rows, override_num_blocks=len(rows))
        pool = self._ray.data.ActorPoolStrategy(size=min(self._jobs, len(rows)))
        made = data.map_batches(worker, fn_constructor_args=given, batch_size=1, compute=pool)
        yield from made.iter_rows()

    def _parts(self, start: Place) -> list[_Part]:
        """The parts from a place on."""
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
        """The parts of lines with the numbers of their first records: those before are counted."""
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
    """What a file is, and the sizes of its row groups, if it has any."""
    try:
        with open_binary(source.path) as file:
            kind = kind_of(file)
            if kind == "parquet" or is_parquet(source.path):
                return "parquet", row_groups(file)
            return kind, []
    except UsageError:
        if alone:
            raise
        return "unreadable", []  # whose worker tells


def _groups_from(start: Place, groups: list[int]) -> Iterator[_Part]:
    at = 0
    for index, rows in enumerate(groups):
        if at >= start.at:
            yield _Part(start.file, at + 1, at, group=index)
        at += rows


class _Worker:
    """A process that replays parts of files."""

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
        """What comes of the blocks of a part."""
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
    """Makes lines of JSON of parts."""

    def __call__(self, batch: Mapping[str, Any]) -> Iterator[dict[str, list[Any]]]:
        """Yield the results of the parts, some at a time, and their tallies."""
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
    """Writes a Parquet file for each part."""

    def __init__(self, *given: Any) -> None:
        *others, self._folder, self._question = given
        super().__init__(*others)

    def __call__(self, batch: Mapping[str, Any]) -> Iterator[dict[str, list[Any]]]:
        """Yield the names of the files, and their tallies."""
        for part in _parts_of(batch):
            # It stands under its name when it is whole; two processes may write the same.
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
        """The results of a part, which are counted."""
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
    """Where the lines that begin in a range of a file begin and stop, and how many they are."""
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
    """The place behind the line that goes through a place."""
    file.seek(at)
    while data := file.readline(CHUNK):
        at += len(data)
        if data.endswith(b"\n"):
            break
    return at


def _files_in(folder: str, question: str, names: set[str]) -> dict[str, Tally]:
    """The files of a folder that answer a question; what is left of other runs is removed.

    Raises:
        UsageError: other files stand there.
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
            raise UsageError(f"{folder}: {name} is no result of a replay: name another folder")
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
    """A path as processes with another working directory find it."""
    return path if is_remote(path) else str(Path(path).resolve())


def _ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError:
        raise UsageError("--engine ray needs Ray: pip install 'deltaparse[ray]'") from None
    return ray
