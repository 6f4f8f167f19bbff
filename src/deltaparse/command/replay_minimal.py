"""What `deltaparse replay --minimal` does: the least of one output that still shows a fault."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from deltaparse.replay import Replayer
from deltaparse.replay.blocks import json_blocks
from deltaparse.replay.minimal import (
    as_test,
    breaks_against,
    breaks_ours,
    breaks_peer,
    minimal,
    peer_named,
)
from deltaparse.replay.parquet_files import parquet_blocks
from deltaparse.replay.paths import is_parquet, open_binary
from deltaparse.replay.records import read_record

from .inputs import BadInput
from .subcommand import print_json

__all__ = ["print_minimal"]


def print_minimal(replayer: Replayer, options: argparse.Namespace) -> None:
    """Print the least of the record that the options name, as JSON or as a test.

    Raises:
        BadInput: there is no such record.
        UsageError: it does not show the fault.
    """
    record = _found(replayer, options)
    read = read_record(record)
    if read.text is None:
        raise BadInput("--minimal cuts text: this record has none")
    if options.peer is not None:
        breaks = breaks_peer(replayer, record, peer_named(options.peer), options.kind)
    elif replayer.against is not None:
        breaks = breaks_against(replayer, record, options.kind)
    else:
        breaks = breaks_ours(replayer, record)
    # What has no chunks came in any; against another format, cuts mean nothing.
    cut = options.peer is not None or replayer.against is None
    chunks = minimal(read.chunks or (list(read.text) if cut else [read.text]), breaks)
    least = {**record, "text": "".join(chunks), "chunks": None, "token_ids": None}
    message = replayer(least).get("message", {})
    if options.form == "test":
        fmt = f"get_format({options.format!r})"
        if options.format is None:
            fmt = f"analyze(ChatTemplate.load({options.template!r}))"
        print(as_test(record, chunks, message, fmt), end="")
    else:
        print_json({"id": record.get("id"), "chunks": chunks, "message": message})


def _found(replayer: Replayer, options: argparse.Namespace) -> Mapping[str, Any]:
    """The record with this id, or of this number."""
    with open_binary(options.source) as file:
        blocks = parquet_blocks(file) if is_parquet(options.source) else json_blocks(file)
        for block in blocks:
            for number, record in block.records():
                mapped = replayer.mapped(record)
                if isinstance(mapped, Mapping):
                    id = mapped.get("id")
                    named = id if isinstance(id, str) else json.dumps(number if id is None else id)
                    if named == options.minimal:
                        return mapped
    raise BadInput(f"{options.source}: no record has the id {options.minimal}")
