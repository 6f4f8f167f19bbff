"""One record as `deltaparse replay` shows it: as a test, or the least that shows a fault."""

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
    """Print the first record as a test of what comes of it now, to be corrected or reported.

    Raises:
        BadInput: there is no record, or it has no text.
    """
    record, replayer = _found(replayer, options), replayer.in_place()
    _print_as_test(replayer, record, _chunks(record, cut=False), options)


def print_minimal(replayer: Replayer, options: argparse.Namespace) -> None:
    """Print the least of the record that the options name, as JSON or as a test.

    Raises:
        BadInput: there is no such record.
        UsageError: it does not show the fault.
    """
    peer = None if options.peer is None else peer_named(options.peer)
    record, replayer = _found(replayer, options), replayer.in_place()
    if peer is not None:
        breaks = breaks_peer(replayer, record, peer, options.kind)
    elif replayer.against is not None:
        breaks = breaks_against(replayer, record, options.kind)
    else:
        breaks = breaks_ours(replayer, record)
    # What has no chunks came in any; against another format, cuts mean nothing.
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
    """The chunks of a record; where it has none, its text, by the character or in one."""
    read = read_record(record)
    if read.text is None:
        raise BadInput("this record has token ids, and no text to cut")
    return list(read.chunks or (read.text if cut else [read.text]))


def _least(record: Mapping[str, Any], chunks: list[str]) -> Mapping[str, Any]:
    """The record, with what is left of its output."""
    return {**without_chunks(record), "text": "".join(chunks)}


def _print_as_test(
    replayer: Replayer, record: Mapping[str, Any], chunks: list[str], options: argparse.Namespace
) -> None:
    least = _least(record, chunks)
    print(as_test(replayer, least, chunks, _expression(options, least)), end="")


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
    """The output with the id of the options, or of its number; without an id, the first."""
    for number, record in log_outputs(replayer, options.source):
        if isinstance(record, Mapping) and options.minimal in (None, id_of(number, record)):
            return record
    named = "" if options.minimal is None else f" has the id {options.minimal}"
    raise BadInput(f"{', '.join(options.source)}: no record{named}")
