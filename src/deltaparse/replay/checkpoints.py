"""Writers of results, with the state to resume an interrupted replay.

    OUT.part         the results so far: a local file, or a remote folder of files, because
                     remote files cannot be appended to
    OUT.part.json    the progress and a fingerprint of the question; another question restarts

After the last result, `OUT.part` is renamed to `OUT`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from deltaparse.version import __version__

from .blocks import BEGINNING, Done, Place
from .parquet_files import write_results
from .paths import Source, file_system, is_parquet, is_remote, open_binary, reported_paths
from .replayer import Replayer
from .tally import Tally

__all__ = ["Results", "asked", "results_at"]

NO_STATE = (ValueError, LookupError, TypeError)
"""Errors of reading an invalid state."""

SEGMENT = 1 << 24
"""Size of a remote file of results in bytes."""


def asked(replayer: Replayer, sources: Sequence[Source], *words: object) -> str:
    """Return a fingerprint of a replay. Equal fingerprints have equal results."""
    said: list[Any] = [__version__, [(one.path, one.size, one.version) for one in sources], *words]
    one: Replayer | None = replayer
    while one is not None:
        said += [one.format and one.format.to_json(), repr(one.policies), one.mapped.fields]
        said += [one.template and one.template.source, str(one.source)[:1000]]
        one = one.against
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def results_at(target: str | BinaryIO | None, question: str, stack: ExitStack) -> Results:
    """Return a writer of results for a target, resumed from an interrupted run if possible.

    Args:
        target: a path, a file, or None to write no results.
        question: the fingerprint of the replay.
        stack: closes the writer.
    """
    if not isinstance(target, str):
        return Results(target)
    made = _Elsewhere(target, question) if is_remote(target) else _Here(target, question)
    return stack.enter_context(made)


class Results:
    """Writer of results without resumption, to an open file or to no file.

    Attributes:
        next: the place up to which all blocks are finished.
        ahead: further finished blocks, as a mapping from start to end.
        tally: the tally of the results.
    """

    def __init__(self, file: BinaryIO | None = None) -> None:
        self.next, self.tally = BEGINNING, Tally()
        self.ahead: dict[Place, Place] = {}
        self._file = file

    def write(self, done: Done) -> None:
        """Write the results of a block."""
        self.tally.merge(done.tally)
        if self._file is not None:
            self._file.write(done.lines)
        self.ahead[done.start] = done.behind
        while self.next in self.ahead:
            self.next = self.ahead.pop(self.next)

    def finish(self) -> None:
        """Complete the results after the last block."""
        if self._file is not None:
            self._file.flush()

    def _resume(self, state: Mapping[str, Any]) -> None:
        self.next = Place(*state["next"])
        self.ahead = {Place(*start): Place(*behind) for start, behind in state["ahead"]}
        self.tally = Tally.from_json(state["tally"])

    def _state(self, question: str, written: int) -> bytes:
        """Return the state of the results as JSON."""
        state = {
            "asked": question,
            "next": self.next,
            "ahead": list(self.ahead.items()),
            "written": written,
            "tally": self.tally.to_json(),
        }
        return json.dumps(state).encode()


class _Here(Results):
    """Writer of results to a local file, with a temporary file in the same folder."""

    def __init__(self, target: str, question: str) -> None:
        super().__init__()
        self._target, self._question = Path(target), question
        self._part, self._state_at = Path(f"{target}.part"), Path(f"{target}.part.json")
        size = 0
        # An unreadable state must raise an error, because a restart would overwrite the results.
        with reported_paths(target), suppress(FileNotFoundError, *NO_STATE):
            state = json.loads(self._state_at.read_bytes())
            if state["asked"] == question and self._part.stat().st_size >= state["written"]:
                self._resume(state)
                size = state["written"]
        self._out = open_binary(str(self._part), "r+b" if size else "wb")
        self._out.truncate(size)
        self._out.seek(size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._out.close()

    def write(self, done: Done) -> None:
        super().write(done)
        self._out.write(done.lines)
        self._out.flush()
        beside = Path(f"{self._state_at}.new")
        beside.write_bytes(self._state(self._question, self._out.tell()))
        beside.replace(self._state_at)

    def finish(self) -> None:
        self._out.close()
        if is_parquet(str(self._target)):
            made = Path(f"{self._target}.new")
            with self._part.open("rb") as results, made.open("wb") as out:
                write_results(results, out)
            made.replace(self._target)
            self._part.unlink()
        else:
            self._part.replace(self._target)
        self._state_at.unlink(missing_ok=True)


class _Elsewhere(Results):
    """Writer of results to an fsspec file system: many files, joined at the end."""

    def __init__(self, target: str, question: str) -> None:
        super().__init__()
        self._target, self._question = target, question
        self._system, name = file_system(target)
        self._folder, self._state_at = f"{name}.part", f"{name}.part.json"
        self._held: list[bytes] = []
        self._size = self._files = 0
        with reported_paths(target):
            if not self._found():
                self._forget()
                self._system.makedirs(self._folder, exist_ok=True)
                self._put(self._state_at, self._state(question, 0))

    def _found(self) -> bool:
        """Resume an interrupted run of the same question. Return True if there is one."""
        try:
            state = json.loads(self._system.cat_file(self._state_at))
            if state["asked"] != self._question:
                return False
            self._files = int(state["written"])
            if not all(map(self._system.exists, self._names())):
                self._files = 0
                return False
            self._resume(state)
        except (FileNotFoundError, *NO_STATE):
            return False
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None and self._held:
            with suppress(OSError):
                self._flush()

    def write(self, done: Done) -> None:
        super().write(done)
        self._held.append(done.lines)
        self._size += len(done.lines)
        if self._size >= SEGMENT:
            with reported_paths(self._target):
                self._flush()

    def finish(self) -> None:
        with reported_paths(self._target):
            self._flush()
            with self._system.open(self._name, "wb") as out:
                if is_parquet(self._target):
                    write_results(_lines(self._parts()), out)
                else:
                    for part in self._parts():
                        out.write(part)
            self._forget()

    @property
    def _name(self) -> str:
        return self._folder.removesuffix(".part")

    def _names(self) -> Iterator[str]:
        return (f"{self._folder}/{at:08}.jsonl" for at in range(self._files))

    def _parts(self) -> Iterator[bytes]:
        """Yield the written results, one file at a time."""
        return (self._system.cat_file(name) for name in self._names())

    def _flush(self) -> None:
        """Write the buffered results to a new file, then update the state to include it."""
        if self._held:
            self._put(f"{self._folder}/{self._files:08}.jsonl", b"".join(self._held))
            self._files += 1
            self._held, self._size = [], 0
        self._put(self._state_at, self._state(self._question, self._files))

    def _put(self, name: str, data: bytes) -> None:
        self._system.pipe_file(name, data)

    def _forget(self) -> None:
        """Remove the temporary files and the state."""
        for name in (self._state_at, self._folder):
            if self._system.exists(name):
                self._system.rm(name, recursive=True)
        self._files = 0


def _lines(parts: Iterable[bytes]) -> Iterator[bytes]:
    for part in parts:
        yield from part.split(b"\n")[:-1]
