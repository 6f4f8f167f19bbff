"""Inspector pages of `deltaparse replay --inspect`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .inputs import BadInput
from .log_records import choice_of, log_outputs
from .output_file import write_page
from .subcommand import complain

if TYPE_CHECKING:
    from deltaparse.replay import Replayer, Tally

__all__ = ["check_inspect", "write_differing", "write_minimal"]

MOST = 50
"""Limit of records on a page."""

ALIKE = ("same", "whitespace")


def check_inspect(options: argparse.Namespace) -> None:
    """Check that the records can be read twice, as --inspect requires.

    Raises:
        BadInput: the records are read from standard input.
    """
    if options.inspect is not None and options.source == ["-"]:
        raise BadInput("--inspect reads the records twice, so use --in FILE instead of stdin")


def write_differing(given: Replayer, tally: Tally, options: argparse.Namespace) -> None:
    """Write a page of the first differing records."""
    from deltaparse.inspector import inspect_record, page

    counted: Mapping[str, int] = tally.by[""].get("", {})
    differ = sum(counted[kind] for kind in counted if kind not in (*ALIKE, "not compared"))
    shown: list[Any] = []
    left = min(differ, MOST)
    replayer = given.in_place()
    for number, record in log_outputs(given, options.source) if left else ():
        result = {} if isinstance(record, ValueError) else replayer(record, number)
        if result.get("class", "same") in ALIKE:
            continue
        note = f"{result['class']}: {result.get('difference', {}).get('path', '')}".rstrip(": ")
        note = ", ".join(filter(None, (choice_of(record), note)))
        shown.append(inspect_record(record, replayer, number, note=note))
        if replayer.against is not None:
            named = options.against
            shown.append(inspect_record(record, replayer.against, number, format=named, note=note))
        left -= 1
        if not left:
            break
    if not shown:
        complain("note: no record differs, so no page was written")
        return
    if differ > MOST:
        complain(f"note: the page has the first {MOST} of {differ} differing records")
    write_page(page(shown, beside=None if replayer.against is None else 1), options.inspect, shown)


def write_minimal(
    replayer: Replayer, record: Mapping[str, Any], chunks: list[str], options: argparse.Namespace
) -> None:
    """Write a page of the smallest failing output, next to its comparison."""
    from deltaparse.inspector import inspect_record, page

    text = "".join(chunks)
    least = {**record, "text": text, "chunks": chunks, "token_ids": None}
    shown = [inspect_record(least, replayer, note="smallest output that shows the fault")]
    if options.peer is None and replayer.against is not None:
        other = inspect_record(
            least, replayer.against, format=options.against, note="compared with"
        )
        shown.append(other)
    elif options.peer is None:
        shown.append(inspect_record({**least, "chunks": [text]}, replayer, note="in one chunk"))
    write_page(page(shown, beside=1 if len(shown) > 1 else None), options.inspect, shown)
