"""Paths of records and results: local files and fsspec URLs (`s3://...`)."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from deltaparse.partial import UsageError

__all__ = [
    "Source",
    "file_system",
    "found_sources",
    "is_parquet",
    "is_remote",
    "open_binary",
    "reported_paths",
]

PARQUET = (".parquet", ".pq")
PACKED = (".gz", ".zst", ".bz2", ".xz")
LOGS = (".jsonl", ".ndjson", ".json", ".eval", *PARQUET)
"""Suffixes of the files of records in a folder. A suffix for compression may follow."""


@dataclass(frozen=True, slots=True)
class Source:
    """File of records: its path, its size in bytes and a version that changes with the file."""

    path: str
    size: int
    version: str


def is_remote(path: str) -> bool:
    """Return True if a path is a URL for fsspec."""
    return "://" in path


def is_parquet(path: str) -> bool:
    """Return True if the path has the suffix of a Parquet file."""
    return path.lower().endswith(PARQUET)


def open_binary(path: str, mode: str = "rb") -> BinaryIO:
    """Open a local or remote file.

    Raises:
        UsageError: the file cannot be opened, or fsspec is not installed.
    """
    with reported_paths(path):
        if is_remote(path):
            return cast(BinaryIO, _fsspec().open(path, mode).open())
        return cast(BinaryIO, Path(path).open(mode))


def file_system(path: str) -> tuple[Any, str]:
    """Return the fsspec file system of a path, and the path within it.

    Raises:
        UsageError: the file system is unknown, or fsspec is not installed.
    """
    with reported_paths(path):
        system, inner = _fsspec().core.url_to_fs(path)
        return system, inner


def found_sources(paths: str | Sequence[str], target: object = None) -> list[Source]:
    """Return the files of paths. Each path may be a file, a folder of logs or a pattern.

    The files of a folder or pattern are sorted by name, without the file of the results.

    Args:
        paths: one or several paths.
        target: the file of the results.

    Raises:
        UsageError: a file was not found, or it is the file of the results.
    """
    results = _name(target) if isinstance(target, str) else None
    found: dict[str, Source] = {}
    for path in [paths] if isinstance(paths, str) else paths:
        with reported_paths(path):
            some = _remote_sources(path) if is_remote(path) else _local_sources(path)
            own = [one for one in some if _is_of(_name(one.path), results)]
        if own and own == some:
            raise UsageError(
                f"{path}: the results would overwrite the records, choose another file"
            )
        found |= {one.path: one for one in some if one not in own}
    return list(found.values())


def _name(path: str) -> tuple[bool, str]:
    """Return a canonical name of a path, with True for a remote one."""
    if is_remote(path):
        return True, file_system(path)[1]
    return False, str(Path(path).resolve())


def _is_of(name: tuple[bool, str], results: tuple[bool, str] | None) -> bool:
    """Return True if a file contains results or the progress of an interrupted run."""
    if results is None or name[0] != results[0]:
        return False
    rest = name[1].removeprefix(results[1]) if name[1].startswith(results[1]) else "?"
    return not rest or rest.startswith(".part")


def _local_sources(path: str) -> list[Source]:
    place = Path(path)
    if place.is_dir():
        found = [str(one) for one in sorted(place.iterdir()) if _is_log(one.name) and one.is_file()]
        if not found:
            raise UsageError(f"{path}: this folder has no file with suffix {', '.join(LOGS)}")
    elif place.exists() or not glob.has_magic(path):
        found = [path]
    else:
        named = glob.glob(path, recursive=True)  # noqa: PTH207 - a pattern may be absolute
        found = sorted(one for one in named if Path(one).is_file())
        if not found:
            raise UsageError(f"{path}: no file matches this pattern")
    stats = [(one, Path(one).stat()) for one in found]
    return [Source(one, stat.st_size, str(stat.st_mtime_ns)) for one, stat in stats]


def _remote_sources(path: str) -> list[Source]:
    system, inner = _fsspec().core.url_to_fs(path)
    if glob.has_magic(inner) and not system.exists(inner):
        files = system.glob(inner, detail=True)
        named = {name: info for name, info in files.items() if info.get("type") == "file"}
        if not named:
            raise UsageError(f"{path}: no file matches this pattern")
    elif system.isdir(inner):
        infos = system.ls(inner, detail=True)
        named = {one["name"]: one for one in infos if _is_log(one["name"].rpartition("/")[2])}
        if not named:
            raise UsageError(f"{path}: this folder has no file with suffix {', '.join(LOGS)}")
    else:
        return [_remote_source(path, system.info(inner))]
    return [
        _remote_source(system.unstrip_protocol(name), info) for name, info in sorted(named.items())
    ]


def _remote_source(path: str, info: Any) -> Source:
    changed = ("ETag", "etag", "LastModified", "last_modified", "mtime", "updated", "created")
    version = next((str(info[name]) for name in changed if info.get(name)), "")
    return Source(path, int(info.get("size") or 0), version)


def _is_log(name: str) -> bool:
    """Return True if a file name has the suffix of a log and is not hidden."""
    bare = name.lower()
    for ending in PACKED:
        bare = bare.removesuffix(ending)
    return bare.endswith(LOGS) and not name.startswith((".", "_"))


@contextmanager
def reported_paths(path: str) -> Iterator[None]:
    """Convert errors in the block to a `UsageError` with this path."""
    try:
        yield
    except UsageError:
        raise
    except (OSError, ValueError, ImportError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"{path}: {why}") from error


def _fsspec() -> Any:
    try:
        import fsspec
    except ImportError:
        raise UsageError("a URL requires fsspec: pip install 'deltaparse[remote]'") from None
    return fsspec
