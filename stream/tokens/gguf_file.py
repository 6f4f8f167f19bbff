"""The metadata of a GGUF file, as far as it is asked for.

A file begins with its metadata: keys, and values with a type each. They are read where they stand
in the file, of which the rest, the weights, is not touched.
"""

from __future__ import annotations

import mmap
from collections.abc import Container
from pathlib import Path
from struct import Struct
from struct import error as struct_error
from typing import Any

from deltaparse.partial import UsageError

__all__ = ["is_gguf", "read_gguf"]

STRING, ARRAY = 8, 9
SCALARS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIifBQqd", strict=True))
"""The types of numbers, by the letters that `struct` has for them."""

NUMBER = "Q"
"""How lengths and counts are written."""

DEEPEST = 4

MAGIC = b"GGUF"


def is_gguf(path: Path) -> bool:
    """Return whether a file is one, whatever its name: in caches its name is its hash.

    A name that says so is taken at its word, so that what is wrong in the file is told.
    """
    if path.suffix.lower() == ".gguf":
        return True
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False  # whoever reads it says what is wrong


def read_gguf(path: Path, keys: Container[str]) -> dict[str, Any]:
    """Read values of a GGUF file; strings are `bytes`.

    Args:
        path: the file.
        keys: those that are wanted.

    Raises:
        UsageError: it cannot be read, or is no GGUF file.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Reader(data).read(keys)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except (EOFError, OverflowError, struct_error) as error:
        words = f"it is cut at byte {path.stat().st_size}, in its metadata: fetch it again"
        raise UsageError(f"{path}: not a whole GGUF file: {words}") from error
    except (ValueError, LookupError) as error:
        raise UsageError(f"{path}: not a GGUF file: {error}") from error


class _Reader:
    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = len(MAGIC)
        if data[: len(MAGIC)] != MAGIC:
            raise ValueError("it does not begin with GGUF")
        # The version is a small number in the order of bytes of the whole file.
        self._order = "<" if data[4:6] != b"\0\0" else ">"
        self._length = Struct(f"{self._order}{NUMBER}")
        version = self._number("I")
        if version < 2:
            raise ValueError(f"version {version}")

    def read(self, keys: Container[str]) -> dict[str, Any]:
        """Read the values of some keys."""
        self._number(NUMBER)  # of tensors
        found = {}
        for _ in range(self._number(NUMBER)):
            key = self._string().decode()
            kind = self._number("I")
            if key in keys:
                found[key] = self._value(kind, DEEPEST)
            else:
                self._skip(kind, DEEPEST)
        return found

    def _number(self, letter: str) -> Any:
        number = Struct(self._order + letter)
        (value,) = number.unpack_from(self._data, self._at)
        self._at += number.size
        return value

    def _string(self) -> bytes:
        (length,) = self._length.unpack_from(self._data, self._at)
        start = self._at + self._length.size
        self._at = start + length
        self._check()
        return self._data[start : self._at]

    def _value(self, kind: int, deepest: int) -> Any:
        if kind == STRING:
            return self._string()
        if kind != ARRAY or not deepest:
            return self._number(SCALARS[kind])
        inner, count = self._number("I"), self._number(NUMBER)
        if inner in SCALARS:
            numbers = Struct(f"{self._order}{count}{SCALARS[inner]}")
            start = self._at
            self._at += numbers.size
            return list(numbers.unpack_from(self._data, start))
        return [self._value(inner, deepest - 1) for _ in range(count)]

    def _skip(self, kind: int, deepest: int) -> None:
        if kind != ARRAY or not deepest:
            self._value(kind, 0)
            return
        inner, count = self._number("I"), self._number(NUMBER)
        if inner in SCALARS:
            self._at += count * Struct(self._order + SCALARS[inner]).size
            self._check()
            return
        if inner == STRING:
            self._skip_strings(count)
            return
        for _ in range(count):
            self._skip(inner, deepest - 1)

    def _skip_strings(self, count: int) -> None:
        """Step over texts, of which a file has hundreds of thousands."""
        data, at, unpack, size = self._data, self._at, self._length.unpack_from, self._length.size
        for _ in range(count):
            at += size + unpack(data, at)[0]
        self._at = at
        self._check()

    def _check(self) -> None:
        if self._at > len(self._data):
            raise EOFError
