"""A reader of selected metadata of a GGUF file.

A file starts with its metadata: keys and typed values. They are read from a memory map, so the
weights that follow are not loaded.
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
"""The numeric types of GGUF, with their `struct` letters."""

NUMBER = "Q"
"""The `struct` letter of lengths and counts."""

# Limited, because a crafted file could exceed the recursion limit.
DEEPEST = 4

MAGIC = b"GGUF"


def is_gguf(path: Path) -> bool:
    """Return True if the file has the suffix or the first bytes of a GGUF file.

    The first bytes are checked because a file in a cache is named after its hash.
    """
    # Not checked further, so that `read_gguf` reports the error in a broken file.
    if path.suffix.lower() == ".gguf":
        return True
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    # Not reported here, because the caller reads the file again and reports the error then.
    except (OSError, ValueError):
        return False


def read_gguf(path: Path, keys: Container[str]) -> dict[str, Any]:
    """Read values from the metadata of a GGUF file.

    Args:
        path: the file.
        keys: the keys of the values.

    Returns:
        The values by key, strings as `bytes`.

    Raises:
        UsageError: the file cannot be read, or is not a GGUF file.
    """
    # Mapped, because the file has gigabytes of weights.
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Reader(data).read(keys)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    # A length beyond the end of the file raises any of these.
    except (EOFError, OverflowError, struct_error) as error:
        words = f"its metadata ends at byte {path.stat().st_size}"
        raise UsageError(f"{path}: truncated GGUF file: {words}. Download it again") from error
    # An unknown type raises LookupError.
    except (ValueError, LookupError) as error:
        raise UsageError(f"{path}: not a GGUF file: {error}") from error


class _Reader:
    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = len(MAGIC)
        if data[: len(MAGIC)] != MAGIC:
            raise ValueError("it does not start with GGUF")
        # The version is a small number, so its zero bytes reveal the byte order of the file.
        self._order = "<" if data[4:6] != b"\0\0" else ">"
        self._length = Struct(f"{self._order}{NUMBER}")
        version = self._number("I")
        # Version 1 has lengths of 32 bits.
        if version < 2:
            raise ValueError(f"version {version} is not supported")

    def read(self, keys: Container[str]) -> dict[str, Any]:
        """Return the values of `keys`."""
        # Skips the number of tensors.
        self._number(NUMBER)
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
        # A slice after the end of the file would be short without an error.
        self._check()
        return self._data[start : self._at]

    def _value(self, kind: int, deepest: int) -> Any:
        if kind == STRING:
            return self._string()
        # At the maximum depth, an array counts as an unknown type and raises LookupError.
        if kind != ARRAY or not deepest:
            return self._number(SCALARS[kind])
        inner, count = self._number("I"), self._number(NUMBER)
        # Unpacked at once, because arrays have hundreds of thousands of numbers.
        if inner in SCALARS:
            numbers = Struct(f"{self._order}{count}{SCALARS[inner]}")
            start = self._at
            self._at += numbers.size
            return list(numbers.unpack_from(self._data, start))
        return [self._value(inner, deepest - 1) for _ in range(count)]

    def _skip(self, kind: int, deepest: int) -> None:
        # Other values are small, so reading them is as cheap as skipping them.
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
        """Skip an array of strings."""
        # Inlined, because a file has hundreds of thousands of strings.
        data, at, unpack, size = self._data, self._at, self._length.unpack_from, self._length.size
        for _ in range(count):
            at += size + unpack(data, at)[0]
        self._at = at
        self._check()

    def _check(self) -> None:
        if self._at > len(self._data):
            raise EOFError
