"""The records of a log: a file of JSON Lines or Parquet, or standard input, one at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from .inputs import model_output

if TYPE_CHECKING:
    from deltaparse.replay import Replayer

__all__ = ["id_of", "log_records"]


def log_records(name: str) -> Iterator[tuple[int, object]]:
    """Yield the records of a file, each with its number; a `ValueError` for what is no JSON.

    Raises:
        UsageError: the file cannot be opened.
    """
    from deltaparse.replay.blocks import json_blocks
    from deltaparse.replay.parquet_files import parquet_blocks
    from deltaparse.replay.paths import is_parquet, open_binary

    if name == "-":
        with model_output(name) as file:
            for block in json_blocks(file):
                yield from block.records()
        return
    with open_binary(name) as opened:
        for block in parquet_blocks(opened) if is_parquet(name) else json_blocks(opened):
            yield from block.records()


def id_of(replayer: Replayer, number: int, record: object) -> str:
    """The id of a record as one types it, or its number."""
    mapped = replayer.mapped(record) if isinstance(record, Mapping) else None
    id = mapped.get("id") if isinstance(mapped, Mapping) else None
    return id if isinstance(id, str) else json.dumps(number if id is None else id, default=repr)
