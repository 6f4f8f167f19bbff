"""Where records come from and results go to: local files, and all that fsspec takes (`s3://...`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO, cast

from deltaparse.partial import UsageError

__all__ = ["is_parquet", "is_remote", "open_binary", "stamp"]


def is_remote(path: str) -> bool:
    """Whether fsspec is to open a path."""
    return "://" in path


def is_parquet(path: str) -> bool:
    """Whether a path is that of a Parquet file."""
    return path.lower().endswith((".parquet", ".pq"))


def open_binary(path: str, mode: str = "rb") -> BinaryIO:
    """Open a file, wherever it is.

    Raises:
        UsageError: it cannot be opened, or fsspec is not installed.
    """
    try:
        if is_remote(path):
            return cast(BinaryIO, _fsspec().open(path, mode).open())
        return cast(BinaryIO, Path(path).open(mode))
    except (OSError, ValueError, ImportError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"{path}: {why}") from error


def stamp(path: str) -> tuple[int, float]:
    """Return the size of a file and when it was changed; 0 for what is not known.

    Raises:
        UsageError: there is no such file.
    """
    try:
        if is_remote(path):
            system, inner = _fsspec().core.url_to_fs(path)
            return int(system.info(inner).get("size") or 0), 0.0
        found = Path(path).stat()
    except (OSError, ValueError, ImportError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"{path}: {why}") from error
    return found.st_size, found.st_mtime


def _fsspec() -> Any:
    try:
        import fsspec
    except ImportError:
        raise UsageError("such a path needs fsspec: pip install 'deltaparse[remote]'") from None
    return fsspec
