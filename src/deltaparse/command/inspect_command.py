"""The command `deltaparse inspect`: write a page that shows how each character was parsed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deltaparse as dp

from .inputs import BadInput, model_output, text_file, tools_list
from .log_records import choice_of, id_of, log_outputs
from .output_file import write_page, write_text
from .replay_command import add_reading, replayer_of
from .replay_hints import remedy
from .subcommand import TEMPLATES, Subcommand, complain, whole_number
from .terminal import wants_colour

if TYPE_CHECKING:
    from deltaparse.inspector import Inspection
    from deltaparse.replay import Replayer

__all__ = ["INSPECT"]

EPILOG = (
    TEMPLATES
    + """
FILE is the raw text of an output. With --jsonl, or if its name ends in .jsonl, .ndjson or
.parquet, it contains records as in `deltaparse replay`: text, chunks or token_ids, and optionally
id, prompt or messages, tools, finish_reason, format. The page is a single file and works offline.

  deltaparse inspect --format hermes out.txt
  deltaparse inspect --template t.jinja --tools tools.json --finish stop out.txt
  deltaparse inspect --format hermes --id 17 --id 23 log.jsonl --out both.html
  deltaparse inspect --format hermes --against qwen3_coder out.txt
  deltaparse inspect --format hermes --text out.txt
"""
)
RECORDS = (".jsonl", ".ndjson", ".parquet", ".pq")
MOST = 50
ENOUGH = 1 << 16
"""Characters of a text that are searched for its format."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to a parser."""
    add = parser.add_argument
    add_reading(parser)
    add(
        "--tools",
        metavar="FILE",
        help="use these OpenAI tools, a JSON list, for a raw text (default: any name)",
    )
    add(
        "--prompt",
        metavar="FILE",
        help="use this rendered prompt, or its end, for a raw text (default: none)",
    )
    add(
        "--finish",
        metavar="REASON",
        help="set the engine's finish reason for a raw text (default: derived from the text)",
    )
    add(
        "--chunk",
        metavar="N",
        type=whole_number(),
        default=4,
        help="set the chunk size in characters for inputs without recorded chunks (default: 4)",
    )
    add("--jsonl", action="store_true", help="read one JSON record per line (default: by the name)")
    add(
        "--id",
        action="append",
        metavar="ID",
        help="inspect only the record with this id or number (repeatable, default: all records)",
    )
    add(
        "--limit",
        metavar="N",
        type=whole_number(),
        default=MOST,
        help=f"limit the number of records on the page (default: {MOST})",
    )
    add(
        "--against",
        metavar="FORMAT|POLICIES",
        help="compare with another format, template or policies, side by side",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--svg",
        action="store_true",
        help="write an SVG picture of the first output (default: HTML)",
    )
    form.add_argument(
        "--text", action="store_true", help="write text for a terminal (default: HTML)"
    )
    add(
        "--out",
        metavar="FILE",
        help='write to FILE, "-" for stdout (default: inspect.html or inspect.svg, stdout for '
        "--text)",
    )
    add(
        "file",
        metavar="FILE",
        nargs="?",
        default="-",
        help='inspect this file, "-" for stdin (default: stdin)',
    )


def run(options: argparse.Namespace) -> None:
    """Inspect the selected outputs and write the page.

    Raises:
        BadInput: a file or option cannot be used, or no output can be parsed.
        UsageError: the format name is unknown.
    """
    from deltaparse.inspector import page, svg_picture, text_picture

    replayer = replayer_of(options)
    shown = _inspections(replayer, options)
    _check_parsed(replayer, shown, options)
    if options.svg:
        write_text(svg_picture(shown[0]), options.out or "inspect.svg", "a picture")
    elif options.text:
        colour = options.out is None and wants_colour(sys.stdout)
        text = "\n".join(text_picture(one, colour=colour) for one in shown)
        write_text(text, options.out or "-", "text")
    else:
        beside = 1 if options.against is not None else None
        write_page(page(shown, beside=beside), options.out or "inspect.html", shown)


def _check_parsed(replayer: Replayer, shown: list[Inspection], options: argparse.Namespace) -> None:
    """Raise `BadInput` if every inspection is an error."""
    if all(one.error and not one.text for one in shown):
        words = filter(None, (shown[0].error, remedy(replayer, [options.file])))
        raise BadInput(f"{options.file}: no output could be parsed: {'; '.join(words)}")


def _inspections(replayer: Replayer, options: argparse.Namespace) -> list[Inspection]:
    """Return the inspections of the selected outputs, each followed by its comparison, if any."""
    from deltaparse.inspector import inspect_record

    named = options.format or (Path(options.template).name if options.template else "")
    shown: list[Inspection] = []
    chosen, there = _chosen(replayer, options), replayer.in_place()
    for number, record in chosen:
        words = {"chunk": options.chunk, "note": choice_of(record)}
        shown.append(inspect_record(record, there, number, format=named, **words))
        if there.against is not None:
            other = inspect_record(record, there.against, number, format=options.against, **words)
            shown.append(other)
    return shown


def _chosen(replayer: Replayer, options: argparse.Namespace) -> list[tuple[int, Any]]:
    """Return the selected records with their numbers."""
    if not (options.jsonl or options.file.lower().endswith(RECORDS)):
        record = _raw(options)
        if replayer.format is None:
            raise BadInput(
                f"no format given: use --format NAME or --template SOURCE{_hint(record)}"
            )
        return [(1, record)]
    for name in ("tools", "prompt", "finish"):
        if getattr(options, name) is not None:
            raise BadInput(f"--{name} requires a raw text: records have their own {name}")
    asked = set(options.id or ())
    found = (
        (number, record)
        for number, record in log_outputs(replayer, options.file)
        if not asked or id_of(number, record) in asked
    )
    chosen = list(islice(found, options.limit))
    if not chosen:
        ids = f" with the id {' or '.join(options.id)}" if asked else ""
        raise BadInput(f"{options.file}: no record found{ids}")
    if not asked and next(found, None) is not None:
        complain(
            f"note: only the first {options.limit} records are shown; use --limit N or --id ID"
        )
    return chosen


def _hint(record: Mapping[str, Any]) -> str:
    """Return a suggestion of a built-in format with calls in a raw text, or ""."""
    text = record["text"][:ENOUGH].encode(errors="replace").decode()
    found = next((one for one in dp.suggest_formats(text) if one.calls), None)
    return "" if found is None else f"; this looks like --format {found.name}: {found.why}"


def _raw(options: argparse.Namespace) -> dict[str, Any]:
    """Return a raw text as a record."""
    with model_output(options.file) as file:
        data = file.read()
    record: dict[str, Any] = {
        "id": "standard input" if options.file == "-" else Path(options.file).name,
        # Invalid UTF-8 is kept here, because the parser replaces and reports it.
        "text": data.decode("utf-8", "surrogateescape"),
        "finish_reason": options.finish,
    }
    if options.tools:
        record["tools"] = tools_list(options.tools)
    if options.prompt:
        record["prompt"] = text_file(options.prompt)
    return record


INSPECT = Subcommand(
    name="inspect",
    help="write an HTML page that shows chunk by chunk how an output is parsed",
    add_arguments=add_arguments,
    run=run,
    epilog=EPILOG,
)
