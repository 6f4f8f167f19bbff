"""Files of records on this machine: all cores, in order, resumed where it was interrupted."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing.connection import wait
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from .blocks import Block, Done, Interrupted, written
from .kept import asked, results_at
from .paths import found_sources
from .replayer import Replayer
from .sources import blocks_of, blocks_of_stream
from .tally import Tally

__all__ = ["Progress", "replay_file", "replay_stream"]

SELDOM = 100_000
"""Objects between two looks of the garbage collector."""

Progress = Callable[[int, int, int], None]
"""Takes how many records are done, how many bytes of the files that is, and of how many."""


def replay_file(
    replayer: Replayer,
    source: str | Sequence[str],
    target: str | BinaryIO | None = None,
    *,
    jobs: int | None = None,
    differing: bool = False,
    ordered: bool = True,
    progress: Progress | None = None,
) -> Tally:
    """Replay the records of files; write a result for each, and return what was counted.

    Run again after it was interrupted, it goes on where it was. Memory does not grow with the
    files.

    Args:
        replayer: the function over a record.
        source: a file of JSON Lines, packed or not, or of Parquet; a folder of them; a pattern
            such as `logs/*.jsonl`; or several of these. Paths, or what fsspec takes.
        target: where results are written, in JSON Lines or Parquet by its name; None for nowhere.
        jobs: how many processes; as many as there are processors, without it.
        differing: write only results in which something differs.
        ordered: results stand in the order of their records. Otherwise as they come, a block at a
            time, so that nobody waits for a slow one.
        progress: is called with how many records are done, how many bytes of the files that is,
            and how many those are.

    Raises:
        UsageError: there is no such file; or there is one, and it cannot be opened.
        Interrupted: a process was killed, or a file cannot be reached any more.
    """
    sources = found_sources(source, target)
    total = sum(one.size for one in sources)
    with ExitStack() as stack:
        out = results_at(target, asked(replayer, sources, differing), stack)
        left = (block for block in blocks_of(sources, out.next) if block.start not in out.ahead)
        stack.enter_context(_rare_collections())
        for done in _done(replayer, left, _Way(jobs, differing, ordered)):
            out.write(done)
            if progress is not None:
                progress(out.tally.records, done.seen, total)
        out.finish()
    return out.tally


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
        out = results_at(target, uuid4().hex, stack)  # nobody asks the same again
        stack.enter_context(_rare_collections())
        for done in _done(replayer, blocks_of_stream(source), _Way(jobs, differing, ordered)):
            out.write(done)
        out.finish()
    return out.tally


@dataclass(frozen=True, slots=True)
class _Way:
    """How the work is done; see `replay_file`."""

    jobs: int | None
    differing: bool
    ordered: bool


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
