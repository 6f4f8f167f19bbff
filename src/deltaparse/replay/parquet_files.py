"""Reader and writer of Parquet files (requires pyarrow). Columns are the fields of records.

A column of records may be nested, or JSON text. Result columns are text. Nested values and
ids that are not strings are written as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO

from deltaparse.partial import UsageError

from .blocks import BEGINNING, Block, Place

__all__ = ["parquet_blocks", "read_note", "row_groups", "write_results"]

ROWS = 256
"""Number of rows per block."""

GROUP = 8192
"""Number of rows per row group of results."""

RESULT_COLUMNS = (
    "file",
    "id",
    "choice",
    "model",
    "format",
    "message",
    "finish_reason",
    "attempts",
    "issues",
    "unrendered",
    "class",
    "difference",
    "against",
    "error",
)
NOTE = "deltaparse"
"""Metadata key of the note in a file of results."""

AS_TEXT = {"file", "model", "format", "finish_reason", "class", "error"}


def parquet_blocks(
    file: BinaryIO,
    start: Place = BEGINNING,
    size: int = 0,
    group: int | None = None,
) -> Iterator[Block]:
    """Split a Parquet file into blocks.

    Args:
        file: the file.
        start: the place of the first row.
        size: the number of bytes of the file, for the progress.
        group: the row group to read (default: all).

    Raises:
        UsageError: the file is not a Parquet file, or pyarrow is not installed.
    """
    arrow, parquet = _pyarrow()
    try:
        whole = parquet.ParquetFile(file)
        at = 0
        for index in range(whole.num_row_groups):
            rows = whole.metadata.row_group(index).num_rows
            if at + rows <= start.at or index != (index if group is None else group):
                at += rows
                continue
            for batch in whole.iter_batches(ROWS, row_groups=[index]):
                end = at + batch.num_rows
                if end > start.at:
                    kept = batch.slice(max(0, start.at - at))
                    here = Place(start.file, end - kept.num_rows + 1, end - kept.num_rows)
                    behind = here.on(kept.num_rows, kept.num_rows)
                    seen = size * end // max(whole.metadata.num_rows, 1)
                    yield Block(here, behind, kept, seen)
                at = end
    except (arrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise UsageError(f"{getattr(file, 'name', 'the file')}: {error}") from error


def _result_table(results: Iterable[dict[str, Any]]) -> Any:
    """Return results as a pyarrow table."""
    arrow, _ = _pyarrow()
    schema = arrow.schema([(name, arrow.string()) for name in RESULT_COLUMNS])
    rows = [{name: _column(name, one.get(name)) for name in RESULT_COLUMNS} for one in results]
    return arrow.Table.from_pylist(rows, schema)


def write_results(
    lines: Iterable[bytes], out: BinaryIO, note: Callable[[], Any] | None = None
) -> None:
    """Write results to a Parquet file.

    Args:
        lines: the results as lines of JSON.
        out: the file.
        note: called after the last result. Returns JSON data for the metadata.
    """
    results: Iterator[dict[str, Any]] = map(json.loads, lines)
    table = _result_table(islice(results, GROUP))
    with _pyarrow()[1].ParquetWriter(out, table.schema) as writer:
        while table.num_rows:
            writer.write_table(table)
            table = _result_table(islice(results, GROUP))
        if note is not None:
            writer.add_key_value_metadata({NOTE: json.dumps(note())})


def read_note(file: BinaryIO) -> Any:
    """Return the note of a file of results, or None."""
    arrow, parquet = _pyarrow()
    try:
        found = (parquet.ParquetFile(file).metadata.metadata or {}).get(NOTE.encode())
    except arrow.ArrowException:
        return None
    return None if found is None else json.loads(found)


def row_groups(file: BinaryIO) -> list[int]:
    """Return the number of rows of each row group of a Parquet file.

    Raises:
        UsageError: the file is not a Parquet file.
    """
    arrow, parquet = _pyarrow()
    try:
        groups = parquet.ParquetFile(file).metadata
    except (arrow.ArrowException, OSError) as error:
        raise UsageError(f"{getattr(file, 'name', 'the file')}: {error}") from error
    return [groups.row_group(at).num_rows for at in range(groups.num_row_groups)]


def _column(name: str, value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and (name in AS_TEXT or name == "id"):
        return value.encode(errors="replace").decode()
    return json.dumps(value, ensure_ascii=False)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise UsageError("Parquet requires pyarrow: pip install 'deltaparse[parquet]'") from None
    return pa, parquet
