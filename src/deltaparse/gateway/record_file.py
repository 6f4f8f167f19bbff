"""An append-only file of lines, shared by several processes. Lines are written atomically."""

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

    If the disk is full, an incomplete line is removed. If that is impossible, or if a process died
    while writing, the next append starts on a new line.

    Args:
        path: the file. It is created if it does not exist.

    Raises:
        OSError: the file is not writable.
    """

    def __init__(self, path: Path) -> None:
        binary = os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        try:
            self._file = os.open(path, os.O_RDWR | binary, 0o600)
        except PermissionError:  # a file with write permission only
            self._file = os.open(path, os.O_WRONLY | binary, 0o600)
        self._is_regular = stat.S_ISREG(os.fstat(self._file).st_mode)
        self._is_torn = False

    def append(self, line: bytes) -> None:
        """Append a line, including its line feed.

        Raises:
            OSError: the line cannot be written completely. An incomplete line is not a record.
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
        """Return True if the last line of the file is incomplete."""
        if not self._is_regular or not size or not hasattr(os, "pread"):
            return False
        with suppress(OSError):
            return os.pread(self._file, 1, size - 1) != b"\n"
        return False

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the file against other processes. Systems without locks continue unlocked."""
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
