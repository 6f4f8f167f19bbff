"""What `deltaparse replay --minimal` does: the least of one output that still shows a fault."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import deltaparse as dp
from deltaparse.replay import Replayer
from deltaparse.replay.minimal import (
    as_test,
    breaks_against,
    breaks_ours,
    breaks_peer,
    minimal,
    peer_named,
    without_chunks,
)
from deltaparse.replay.records import read_record

from .inputs import BadInput, text_file
from .log_records import id_of, log_outputs
from .replay_pages import write_minimal
from .subcommand import print_json

__all__ = ["print_minimal"]


def print_minimal(replayer: Replayer, options: argparse.Namespace) -> None:
    """Print the least of the record that the options name, as JSON or as a test.

    Raises:
        BadInput: there is no such record.
        UsageError: it does not show the fault.
    """
    record, replayer = _found(replayer, options), replayer.in_place()
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
    record = without_chunks(record)
    least = {**record, "text": "".join(chunks)}
    message = replayer(least).get("message", {})
    if options.inspect is not None:
        write_minimal(replayer, record, chunks, options)
    if options.form == "test":
        print(as_test(replayer, least, chunks, _expression(options, least)), end="")
    else:
        print_json({"id": record.get("id"), "chunks": chunks, "message": message})


def _expression(options: argparse.Namespace, record: Mapping[str, Any]) -> str:
    """The format as a test makes it."""
    name = options.format or record.get("format")
    if options.format is None and options.template is not None:
        return f"dp.analyze(dp.ChatTemplate.load({options.template!r}))"
    if isinstance(name, str) and (name in dp.list_formats() or not Path(name).is_file()):
        return f"dp.get_format({name!r})"
    if isinstance(name, str):
        return f"dp.WireFormat.from_json({text_file(name)!r})"
    if name is not None:
        return f"dp.WireFormat.from_json({json.dumps(name)!r})"
    return f"dp.analyze(dp.ChatTemplate({record.get('template')!r}))"


def _found(replayer: Replayer, options: argparse.Namespace) -> Mapping[str, Any]:
    """The output with this id, or of the record of this number."""
    for number, record in log_outputs(replayer, options.source):
        if isinstance(record, Mapping) and id_of(number, record) == options.minimal:
            return record
    raise BadInput(f"{', '.join(options.source)}: no record has the id {options.minimal}")
