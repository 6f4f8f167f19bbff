"""The command `deltaparse inspect`: what became of each character of an output, as a page."""

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
from .pages import write_page, write_text
from .replay_command import add_reading, count, replayer_of
from .replay_hints import remedy
from .subcommand import TEMPLATES, Subcommand, complain
from .terminal import wants_colour

if TYPE_CHECKING:
    from deltaparse.inspector import Inspection
    from deltaparse.replay import Replayer

__all__ = ["INSPECT"]

EPILOG = (
    TEMPLATES
    + """
FILE is the raw text of an output; or, with --jsonl or a name that ends in .jsonl, .ndjson or
.parquet, records as `deltaparse replay` reads them: text, chunks or token_ids, and maybe id,
prompt or messages, tools, finish_reason, format. The page is one file, which needs no network.

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
"""Characters of a text that are looked at for its format."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what the command takes."""
    add = parser.add_argument
    add_reading(parser)
    add("--tools", metavar="FILE", help="OpenAI tools, a list in JSON, for a raw text")
    add("--prompt", metavar="FILE", help="the rendered prompt, or its end, for a raw text")
    add("--finish", metavar="REASON", help="why it ended, in the engine's words, for a raw text")
    add(
        "--chunk",
        metavar="N",
        type=count,
        default=4,
        help="characters of a chunk, where nobody knows how the text came (default: 4)",
    )
    add("--jsonl", action="store_true", help="the file has records in JSON, one a line")
    add("--id", action="append", metavar="ID", help="only the record of this id or number; again")
    add(
        "--limit",
        metavar="N",
        type=count,
        default=MOST,
        help=f"records on a page, at most (default: {MOST})",
    )
    add(
        "--against",
        metavar="FORMAT|POLICIES",
        help="show beside it what another format, template or policies make of it",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--svg", action="store_true", help="a picture of the first output, in SVG")
    form.add_argument("--text", action="store_true", help="text for a terminal")
    add("--out", metavar="FILE", help="where it goes; -: stdout; without: inspect.html or .svg")
    add("file", metavar="FILE", nargs="?", default="-", help="the output; without, or -: stdin")


def run(options: argparse.Namespace) -> None:
    """Record what becomes of the outputs that the options name, and write the page.

    Raises:
        BadInput: one of the files or choices cannot be used, or no output at all can be parsed.
        UsageError: there is no format of that name.
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
    """Refuse a page of nothing but reasons why records could not be read."""
    if all(one.error and not one.text for one in shown):
        words = filter(None, (shown[0].error, remedy(replayer, [options.file])))
        raise BadInput(f"{options.file}: no output could be parsed: {'; '.join(words)}")


def _inspections(replayer: Replayer, options: argparse.Namespace) -> list[Inspection]:
    """The inspections of the outputs that are asked for, each with what it is compared with."""
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
    """The records that are asked for, with their numbers."""
    if not (options.jsonl or options.file.lower().endswith(RECORDS)):
        record = _raw(options)
        if replayer.format is None:
            raise BadInput(
                f"how does the model write: --format NAME or --template SOURCE{_hint(record)}"
            )
        return [(1, record)]
    for name in ("tools", "prompt", "finish"):
        if getattr(options, name) is not None:
            raise BadInput(f"--{name} is for a raw text: records have their own")
    asked = set(options.id or ())
    found = (
        (number, record)
        for number, record in log_outputs(replayer, options.file)
        if not asked or id_of(number, record) in asked
    )
    chosen = list(islice(found, options.limit))
    if not chosen:
        ids = f" of the id {' or '.join(options.id)}" if asked else ""
        raise BadInput(f"{options.file}: there is no record{ids}")
    if not asked and next(found, None) is not None:
        complain(f"note: only the first {options.limit} records: --limit N or --id ID shows others")
    return chosen


def _hint(record: Mapping[str, Any]) -> str:
    """Which format by name would find calls in a raw text, "" if none."""
    text = record["text"][:ENOUGH].encode(errors="replace").decode()
    found = next((one for one in dp.suggest_formats(text) if one.calls), None)
    return "" if found is None else f"; this looks like --format {found.name}: {found.why}"


def _raw(options: argparse.Namespace) -> dict[str, Any]:
    """The record of a raw text."""
    with model_output(options.file) as file:
        data = file.read()
    record: dict[str, Any] = {
        "id": "standard input" if options.file == "-" else Path(options.file).name,
        # What is not UTF-8 is replaced by the parser, which reports it.
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
    help="show what became of each character of an output, chunk by chunk, as a page",
    add_arguments=add_arguments,
    run=run,
    epilog=EPILOG,
)
