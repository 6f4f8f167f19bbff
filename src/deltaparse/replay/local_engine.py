"""Replay of files on this machine: on all cores, ordered and resumable."""

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
from .checkpoints import asked, results_at
from .paths import found_sources
from .replayer import Replayer
from .sources import blocks_of, blocks_of_stream
from .tally import Tally

__all__ = ["Progress", "replay_file", "replay_stream"]

SELDOM = 100_000
"""Threshold of the garbage collector, in objects."""

Progress = Callable[[int, int, int], None]
"""Callback with the number of finished records, of finished bytes, and of all bytes."""


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
    """Replay the records of files, write the results and return their tally.

    An interrupted replay continues when it is called again with the same arguments. Memory use is
    independent of the size of the files.

    Args:
        replayer: the replay function.
        source: one or several files (JSON Lines, also compressed, or Parquet), folders of files or
            patterns such as `logs/*.jsonl`. Each is a local path or a URL for fsspec.
        target: the file of the results. Its suffix selects JSON Lines or Parquet. None writes
            no results.
        jobs: the number of processes (default: one per processor).
        differing: write only differing results.
        ordered: write results in the order of their records. Otherwise a block is written as soon
            as it is finished, so that a slow block does not delay the others.
        progress: called with the number of finished records, of finished bytes, and of all bytes.

    Raises:
        UsageError: a file was not found, or the only file cannot be opened.
        Interrupted: a process was killed, or a file is no longer reachable.
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
    """Replay the lines of a stream that can be read only once. See `replay_file`."""
    with ExitStack() as stack:
        # A unique fingerprint, because a stream cannot be resumed.
        out = results_at(target, uuid4().hex, stack)
        stack.enter_context(_rare_collections())
        for done in _done(replayer, blocks_of_stream(source), _Way(jobs, differing, ordered)):
            out.write(done)
        out.finish()
    return out.tally


@dataclass(frozen=True, slots=True)
class _Way:
    """Options of a replay. See `replay_file`."""

    jobs: int | None
    differing: bool
    ordered: bool


def _done(replayer: Replayer, blocks: Iterator[Block], way: _Way) -> Iterator[Done]:
    """Yield the results of each block, with a bounded number of blocks in memory."""
    # For a single block, starting processes costs more time than it saves.
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
            "a process was killed, perhaps for lack of memory: run again to continue, or use fewer"
            " --jobs"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _next_of(waiting: list[Future[Done]], way: _Way) -> Done:
    """Return the results of the first block, or of the first finished one if unordered."""
    first = waiting[0] if way.ordered else next(as_completed(waiting))
    waiting.remove(first)
    return first.result()


def _may_fork() -> bool:
    """Return True if this process has a single thread.

    A fork starts faster than a spawned process, but may deadlock in a process with threads.
    """
    try:
        return len(list(Path("/proc/self/task").iterdir())) == 1
    except OSError:
        return False


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Run the garbage collector rarely, because a parser leaves no reference cycles."""
    before = gc.get_threshold()
    gc.set_threshold(SELDOM, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


_worker: tuple[Replayer, bool] | None = None
"""Replayer and `differing` of a process of the pool."""


def _begin(replayer: Replayer, differing: bool) -> None:
    global _worker  # noqa: PLW0603 - once in each process
    # The terminal interrupts all processes, but only the main process must shut down the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(SELDOM)
    threading.Thread(target=_end_with_the_first, daemon=True).start()
    _worker = (replayer, differing)


def _end_with_the_first() -> None:
    """Exit this process when its parent has ended for any reason."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _work(block: Block) -> Done:
    assert _worker is not None  # noqa: S101 - for the type checker
    replayer, differing = _worker
    return written(replayer, block, differing=differing)
