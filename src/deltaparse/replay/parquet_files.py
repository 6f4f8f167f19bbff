"""Parquet in and out, by pyarrow: columns are the fields of records.

A column may be nested, or JSON text. Results have a column each, with JSON text in those that are
nested; an id is text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO

from deltaparse.partial import UsageError

from .blocks import Block

__all__ = ["RESULT_COLUMNS", "parquet_blocks", "records_of", "result_table", "write_results"]

ROWS = 256
"""Rows of a block."""

GROUP = 8192
"""Rows of a group of results."""

RESULT_COLUMNS = (
    "id",
    "model",
    "format",
    "message",
    "finish_reason",
    "attempts",
    "issues",
    "class",
    "difference",
    "against",
    "error",
)
AS_TEXT = {"model", "format", "finish_reason", "class", "error"}


def parquet_blocks(
    file: BinaryIO, first: int = 1, rows: int = ROWS, group: int | None = None
) -> Iterator[Block]:
    """Cut a Parquet file into blocks, from the row of this number on; or one of its row groups.

    Raises:
        UsageError: it is no Parquet file, or pyarrow is not installed.
    """
    arrow, parquet = _pyarrow()
    try:
        whole = parquet.ParquetFile(file)
        number = 1
        for at in range(whole.num_row_groups):
            size = whole.metadata.row_group(at).num_rows
            if number + size <= first or at != (at if group is None else group):
                number += size
                continue
            for batch in whole.iter_batches(rows, row_groups=[at]):
                behind = number + batch.num_rows
                if behind > first:
                    kept = batch.slice(max(0, first - number))
                    yield Block(behind - kept.num_rows, behind, behind - 1, kept)
                number = behind
    except arrow.ArrowInvalid as error:
        raise UsageError(f"{getattr(file, 'name', 'the file')}: {error}") from error


def records_of(batch: Any) -> list[dict[str, Any]]:
    """Return the rows of a batch as records; members that a row does not have are left out."""
    return [_there(row) for row in batch.to_pylist()]


def result_table(results: Iterable[dict[str, Any]]) -> Any:
    """Return results as a table of pyarrow."""
    arrow, _ = _pyarrow()
    schema = arrow.schema([(name, arrow.string()) for name in RESULT_COLUMNS])
    rows = [{name: _column(name, one.get(name)) for name in RESULT_COLUMNS} for one in results]
    return arrow.Table.from_pylist(rows, schema)


def write_results(lines: Iterable[bytes], out: BinaryIO) -> None:
    """Write results, a line of JSON each, as a Parquet file."""
    results: Iterator[dict[str, Any]] = map(json.loads, lines)
    table = result_table(islice(results, GROUP))
    with _pyarrow()[1].ParquetWriter(out, table.schema) as writer:
        while table.num_rows:
            writer.write_table(table)
            table = result_table(islice(results, GROUP))


def _there(value: Any) -> Any:
    """A value without the members that are null: a column has those of all its rows."""
    if isinstance(value, dict):
        return {key: _there(one) for key, one in value.items() if one is not None}
    return [_there(one) for one in value] if isinstance(value, list) else value


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
        raise UsageError("Parquet needs pyarrow: pip install 'deltaparse[parquet]'") from None
    return pa, parquet
