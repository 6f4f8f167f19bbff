"""A file of records on this machine: all cores, in order, resumed where it was interrupted.

    OUT.part         the results so far
    OUT.part.json    how far that is, and what was asked: another question begins again

When all is done, `OUT.part` becomes `OUT`. What is not a local file is written at once.
"""

from __future__ import annotations

import gc
import hashlib
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, BinaryIO

from deltaparse.partial import DeltaParseError
from deltaparse.version import __version__

from .blocks import Block, Done, json_blocks, written
from .paths import is_parquet, is_remote, open_binary, stamp
from .replayer import Replayer
from .tally import Tally

__all__ = ["Interrupted", "Progress", "asked", "replay_file", "replay_stream"]

SELDOM = 100_000
"""Objects between two looks of the garbage collector."""

Progress = Callable[[int, int], None]
"""Takes how many records are done, and where in the file that is."""


class Interrupted(DeltaParseError):
    """A process of the pool was killed; what was done is kept."""


def replay_file(
    replayer: Replayer,
    source: str,
    target: str | BinaryIO | None = None,
    *,
    jobs: int | None = None,
    differing: bool = False,
    ordered: bool = True,
    progress: Progress | None = None,
) -> Tally:
    """Replay the records of a file; write a result for each, and return what was counted.

    Run again after it was interrupted, it goes on where it was. Memory does not grow with the file.

    Args:
        replayer: the function over a record.
        source: a file of JSON Lines, or of Parquet; a path, or what fsspec takes.
        target: where results are written, in JSON Lines or Parquet by its name; None for nowhere.
        jobs: how many processes; as many as there are processors, without it.
        differing: write only results in which something differs.
        ordered: results stand in the order of their records. Otherwise as they come, a block at a
            time, so that nobody waits for a slow one.
        progress: is called with how many records are done, and how far in the file that is.

    Raises:
        UsageError: a file cannot be opened.
        Interrupted: a process was killed.
    """
    with ExitStack() as stack:
        out: _Plain | _Kept
        if isinstance(target, str) and not is_remote(target):
            out = _Kept(target, asked(replayer, source, differing=differing), stack)
        else:
            out = _Plain(target, stack)
        blocks = _blocks(source, out.next, out.read, stack)
        left = (block for block in blocks if block.first not in out.ahead)
        return _all(replayer, left, out, _Way(jobs, differing, ordered), progress)


def replay_stream(
    replayer: Replayer,
    source: BinaryIO,
    target: str | BinaryIO | None = None,
    *,
    jobs: int | None = None,
    differing: bool = False,
    ordered: bool = True,
) -> Tally:
    """Replay the lines of a stream that can be read once; see `replay_file`."""
    with ExitStack() as stack:
        out = _Plain(target, stack)
        return _all(replayer, json_blocks(source), out, _Way(jobs, differing, ordered), None)


@dataclass(frozen=True, slots=True)
class _Way:
    """How the work is done; see `replay_file`."""

    jobs: int | None
    differing: bool
    ordered: bool


def _all(
    replayer: Replayer,
    blocks: Iterator[Block],
    out: _Plain | _Kept,
    way: _Way,
    progress: Progress | None,
) -> Tally:
    with _rare_collections():
        for done in _done(replayer, blocks, way):
            out.write(done)
            if progress is not None:
                progress(out.tally.records, done.end)
    out.finish()
    return out.tally


def asked(replayer: Replayer, source: str, *, differing: bool) -> str:
    """Return a fingerprint of what is asked: equal ones have equal results."""
    words: list[Any] = [__version__, source, stamp(source), differing]
    one: Replayer | None = replayer
    while one is not None:
        words += [one.format and one.format.to_json(), repr(one.policies), one.mapped.fields]
        words += [one.template and one.template.source, str(one.source)[:1000]]
        one = one.against
    return hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()


class _Plain:
    """Writes results as they come, to a file that cannot be gone on with, or to none."""

    next, read = 1, 0
    ahead: Mapping[int, tuple[int, int]] = {}

    def __init__(self, target: str | BinaryIO | None, stack: ExitStack) -> None:
        self.tally = Tally()
        self._as_parquet = isinstance(target, str) and is_parquet(target)
        self._target = target
        self._file: BinaryIO | None
        if self._as_parquet:
            from tempfile import TemporaryFile  # few results are written elsewhere as Parquet

            made = TemporaryFile()  # noqa: SIM115 - closed with the stack
            self._file = stack.enter_context(made)
        elif isinstance(target, str):
            self._file = stack.enter_context(open_binary(target, "wb"))
        else:
            self._file = target

    def write(self, done: Done) -> None:
        self.tally.merge(done.tally)
        if self._file is not None:
            self._file.write(done.lines)

    def finish(self) -> None:
        if self._file is not None:
            self._file.flush()
        if self._as_parquet and isinstance(self._target, str) and self._file is not None:
            from .parquet_files import write_results

            self._file.seek(0)
            with open_binary(self._target, "wb") as out:
                write_results(self._file, out)


class _Kept:
    """Writes results beside their place, and how far they are, until all are there.

    All blocks before the record `next`, which begins at the place `read`, are done; and those in
    `ahead`, by the number of their first record: where the one behind each begins.
    """

    def __init__(self, target: str, asked: str, stack: ExitStack) -> None:
        self._target, self._asked = Path(target), asked
        self._part = Path(f"{target}.part")
        self._state = Path(f"{target}.part.json")
        self.next, self.read, self.tally, size = 1, 0, Tally(), 0
        self.ahead: dict[int, tuple[int, int]] = {}
        state = self._read_state()
        if state is not None:
            self.next, self.read, size = state["next"], state["read"], state["written"]
            self.ahead = {first: (next, end) for first, next, end in state.get("ahead", ())}
            self.tally = Tally.from_json(state["tally"])
        self._file = stack.enter_context(open_binary(str(self._part), "r+b" if size else "wb"))
        self._file.truncate(size)
        self._file.seek(size)

    def _read_state(self) -> dict[str, Any] | None:
        """Read how far an interrupted run was, None where there is none that asked the same."""
        try:
            state: dict[str, Any] = json.loads(self._state.read_text(encoding="utf-8"))
            if state["asked"] != self._asked or self._part.stat().st_size < state["written"]:
                return None
        except (OSError, ValueError, LookupError, TypeError):
            return None
        return state

    def write(self, done: Done) -> None:
        self._file.write(done.lines)
        self._file.flush()
        self.tally.merge(done.tally)
        self.ahead[done.first] = done.next, done.end
        while self.next in self.ahead:
            self.next, self.read = self.ahead.pop(self.next)
        state = {
            "asked": self._asked,
            "next": self.next,
            "read": self.read,
            "ahead": [(first, *behind) for first, behind in self.ahead.items()],
            "written": self._file.tell(),
            "tally": self.tally.to_json(),
        }
        beside = Path(f"{self._state}.new")
        beside.write_text(json.dumps(state), encoding="utf-8")
        beside.replace(self._state)

    def finish(self) -> None:
        self._file.close()
        if is_parquet(str(self._target)):
            from .parquet_files import write_results

            made = Path(f"{self._target}.new")
            with self._part.open("rb") as results, made.open("wb") as out:
                write_results(results, out)
            made.replace(self._target)
            self._part.unlink()
        else:
            self._part.replace(self._target)
        self._state.unlink(missing_ok=True)


def _blocks(source: str, next: int, read: int, stack: ExitStack) -> Iterator[Block]:
    """The blocks of a file from a place on."""
    if is_parquet(source):
        from .parquet_files import parquet_blocks

        return parquet_blocks(stack.enter_context(open_binary(source)), next)
    file = stack.enter_context(open_binary(source))
    if read:
        file.seek(read)
    return json_blocks(file, next, read)


def _done(replayer: Replayer, blocks: Iterator[Block], way: _Way) -> Iterator[Done]:
    """What comes of each block; few of them are held."""
    # Where all fits into one block, other processes would cost more than they help.
    start, jobs = list(islice(blocks, 2)), way.jobs or os.cpu_count() or 1
    if jobs == 1 or len(start) < 2:
        for block in chain(start, blocks):
            yield written(replayer, block, differing=way.differing)
        return
    context = multiprocessing.get_context("fork" if _may_fork() else "spawn")
    pool = ProcessPoolExecutor(jobs, context, _begin, (replayer, way.differing))
    waiting: list[Future[Done]] = []
    try:
        for block in chain(start, blocks):
            waiting.append(pool.submit(_work, block))
            if len(waiting) > 2 * jobs:
                yield _next_of(waiting, way)
        while waiting:
            yield _next_of(waiting, way)
    except BrokenProcessPool:
        raise Interrupted(
            "a process was killed, for want of memory perhaps; run it again to go on, or with fewer"
            " --jobs"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _next_of(waiting: list[Future[Done]], way: _Way) -> Done:
    """The result of the first block that is waited for, or of the first that is there."""
    first = waiting[0] if way.ordered else next(as_completed(waiting))
    waiting.remove(first)
    return first.result()


def _may_fork() -> bool:
    """Whether this process has one thread: a fork begins at once, and one with threads may hang."""
    try:
        return len(list(Path("/proc/self/task").iterdir())) == 1
    except OSError:
        return False


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Let the garbage collector look seldom: a parser leaves nothing for it."""
    before = gc.get_threshold()
    gc.set_threshold(SELDOM, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


_worker: tuple[Replayer, bool] | None = None
"""What a process of the pool works with."""


def _begin(replayer: Replayer, differing: bool) -> None:
    global _worker  # noqa: PLW0603 - once in each process
    # The terminal interrupts all processes; the first of them ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(SELDOM)
    threading.Thread(target=_end_with_the_first, daemon=True).start()
    _worker = (replayer, differing)


def _end_with_the_first() -> None:
    """End this process when the one that began it is gone, however that ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _work(block: Block) -> Done:
    assert _worker is not None  # noqa: S101 - for the type checker
    replayer, differing = _worker
    return written(replayer, block, differing=differing)
