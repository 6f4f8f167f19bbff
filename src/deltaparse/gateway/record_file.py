"""A file of lines to which several processes append: each line is there in full, or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["RecordFile"]

HAS_LOCKS = os.name == "posix"
if HAS_LOCKS:
    import fcntl


class RecordFile:
    """Appends lines to a file.

    A line that the disk has no room for is removed again, so that no part of it stays. Where a part
    cannot be removed, or a process died while it wrote, the next line begins on a line of its own.

    Args:
        path: the file; it is made if it is not there.

    Raises:
        OSError: the file cannot be written to.
    """

    def __init__(self, path: Path) -> None:
        binary = os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        try:
            self._file = os.open(path, os.O_RDWR | binary, 0o600)
        except PermissionError:  # a file that may be written and not read
            self._file = os.open(path, os.O_WRONLY | binary, 0o600)
        self._is_regular = stat.S_ISREG(os.fstat(self._file).st_mode)
        self._is_torn = False

    def append(self, line: bytes) -> None:
        """Write a line, which ends with a line feed.

        Raises:
            OSError: it cannot be written in full; nothing of it counts as a line.
        """
        with self._locked():
            size = os.fstat(self._file).st_size
            if self._is_torn or self._ends_torn(size):
                line = b"\n" + line
            left = memoryview(line)
            try:
                while left:
                    left = left[os.write(self._file, left) :]
            except OSError:
                if len(left) < len(line):
                    self._is_torn = True
                    if self._is_regular:
                        os.ftruncate(self._file, size)
                        self._is_torn = False
                raise
            self._is_torn = False

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _ends_torn(self, size: int) -> bool:
        """Return whether the last line of the file has no end."""
        if not self._is_regular or not size or not hasattr(os, "pread"):
            return False
        with suppress(OSError):
            return os.pread(self._file, 1, size - 1) != b"\n"
        return False

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Let no other process append; a system without such locks goes on without."""
        locks = HAS_LOCKS and self._is_regular
        if locks:
            with suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            if locks:
                with suppress(OSError):
                    fcntl.flock(self._file, fcntl.LOCK_UN)
