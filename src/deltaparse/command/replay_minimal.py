"""One record of `deltaparse replay` as a test, or reduced to the smallest failing output."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import deltaparse as dp
from deltaparse.replay import Replayer
from deltaparse.replay.minimize import (
    as_test,
    breaks_against,
    breaks_ours,
    breaks_peer,
    minimal,
    peer_named,
    without_chunks,
)
from deltaparse.replay.records import plain_id, read_record

from .inputs import BadInput, text_file
from .log_records import id_of, log_outputs
from .replay_pages import write_minimal
from .subcommand import print_json

__all__ = ["print_minimal", "print_test"]


def print_test(replayer: Replayer, options: argparse.Namespace) -> None:
    """Print a test of the first record that expects its current result.

    The user corrects the expected result, or reports the test.

    Raises:
        BadInput: the record is missing, or it has no text.
    """
    record, replayer = _found(replayer, options), replayer.in_place()
    _print_as_test(replayer, record, _chunks(record, cut=False), options)


def print_minimal(replayer: Replayer, options: argparse.Namespace) -> None:
    """Print the smallest part of the selected record that shows the fault.

    Raises:
        BadInput: the record was not found.
        UsageError: the record does not show the fault.
    """
    peer = None if options.peer is None else peer_named(options.peer)
    record, replayer = _found(replayer, options), replayer.in_place()
    if peer is not None:
        breaks = breaks_peer(replayer, record, peer, options.kind)
    elif replayer.against is not None:
        breaks = breaks_against(replayer, record, options.kind)
    else:
        breaks = breaks_ours(replayer, record)
    # A record without chunks may have been cut anywhere, and for another format cuts do not matter.
    cut = peer is not None or replayer.against is None
    chunks = minimal(_chunks(record, cut=cut), breaks)
    if options.inspect is not None:
        write_minimal(replayer, without_chunks(record), chunks, options)
    if options.form == "test":
        _print_as_test(replayer, record, chunks, options)
    else:
        message = replayer(_least(record, chunks)).get("message", {})
        print_json({"id": plain_id(record.get("id")), "chunks": chunks, "message": message})


def _chunks(record: Mapping[str, Any], *, cut: bool) -> list[str]:
    """Return the chunks of a record.

    Without recorded chunks, the text is cut into characters if `cut`, else kept as one chunk.
    """
    read = read_record(record)
    if read.text is None:
        raise BadInput("this record has only token ids, but a text is required")
    return list(read.chunks or (read.text if cut else [read.text]))


def _least(record: Mapping[str, Any], chunks: list[str]) -> Mapping[str, Any]:
    """Return the record with the chunks as its text."""
    return {**without_chunks(record), "text": "".join(chunks)}


def _print_as_test(
    replayer: Replayer, record: Mapping[str, Any], chunks: list[str], options: argparse.Namespace
) -> None:
    least = _least(record, chunks)
    print(as_test(replayer, least, chunks, _expression(options, least)), end="")


def _expression(options: argparse.Namespace, record: Mapping[str, Any]) -> str:
    """Return the Python expression for the format in a test."""
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
    """Return the output with the id of --minimal (an id or number), or the first output."""
    for number, record in log_outputs(replayer, options.source):
        if isinstance(record, Mapping) and options.minimal in (None, id_of(number, record)):
            return record
    named = "" if options.minimal is None else f" with the id {options.minimal}"
    raise BadInput(f"{', '.join(options.source)}: no record found{named}")
