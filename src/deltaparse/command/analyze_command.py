"""The command `deltaparse analyze`: describe the format of a template, or tabulate a folder."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deltaparse as dp

from .explain import explanation, table, trace_lines
from .inputs import BadInput, add_switches, chat_template, switches_of
from .subcommand import TEMPLATES, Subcommand, print_json
from .terminal import BAD, GOOD, paint, progress

__all__ = ["ANALYZE"]

PATTERNS = ("*.jinja", "*tokenizer_config.json")
"""Names of the files in a directory that are read as templates."""

PAINTED = {"Verified": GOOD, "Not verified": BAD}
"""Beginnings of colored lines, with their colors."""

OF_A_MODEL = ("chat_template.jinja", "tokenizer.json", "config.json")
"""Files of which a model's folder has at least one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to a parser."""
    add = parser.add_argument
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the wire format as JSON")
    form.add_argument("--trace", action="store_true", help="print each comparison with its diff")
    add("--check", action="store_true", help="exit with status 1 if a format is not verified")
    add(
        "--accept",
        action="store_true",
        help="use the call syntax of the suggested built-in format if the template renders no "
        "calls (default: no call syntax)",
    )
    add_switches(parser)
    add("--cache", metavar="DIR", help="cache analysis results in DIR (default: no cache)")
    add(
        "template",
        metavar="FILE|DIR",
        help="analyze this chat template, or all templates in a directory",
    )


def run(options: argparse.Namespace) -> None:
    """Print the format of a template, or a table of the templates in a folder.

    Raises:
        BadInput: the chat template is missing or unusable.
    """
    folder = Path(options.template)
    unverified: list[str] = []
    if not _has_templates(folder):
        lines = _one(options, unverified)
    else:
        lines = _many(folder, options, unverified)
    for line in lines:
        print(_painted(line), flush=True)
    if options.check and unverified:
        raise SystemExit(1)


def _painted(line: str) -> str:
    """Return lines with the verdict in color: green if verified, else red."""
    shown = []
    for one in line.split("\n"):
        colour = next((code for words, code in PAINTED.items() if one.startswith(words)), "")
        shown.append(paint(one, colour, sys.stdout) if colour else one)
    return "\n".join(shown)


def _has_templates(folder: Path) -> bool:
    """Return True for a folder of templates, False for a file or the folder of one model."""
    return folder.is_dir() and not any((folder / name).is_file() for name in OF_A_MODEL)


def _many(folder: Path, options: argparse.Namespace, unverified: list[str]) -> Iterator[str]:
    names = sorted({path for pattern in PATTERNS for path in folder.rglob(pattern)})
    if not names:
        raise BadInput(f"{folder}: no chat template found; expected {' or '.join(PATTERNS)}")
    if options.trace:
        raise BadInput(f"{folder}: --trace requires a single template")
    if options.switch:
        raise BadInput(f"{folder}: --switch requires a single template")

    def rows() -> Iterator[tuple[str, dp.WireFormat | str]]:
        for path in progress(names, "analyzing"):
            fmt, name = _format(path, options), str(path.relative_to(folder))
            if isinstance(fmt, str) or not fmt.verified:
                unverified.append(name)
            yield name, fmt

    if options.json:
        yield json.dumps(
            {
                name: {"error": fmt} if isinstance(fmt, str) else json.loads(fmt.to_json())
                for name, fmt in rows()
            },
            indent=2,
        )
    else:
        yield from table(rows())


def _one(options: argparse.Namespace, unverified: list[str]) -> Iterator[str]:
    from deltaparse.analyzer import Trace  # lazy: imports Jinja, and most commands do not need it

    template = chat_template(options.template)
    trace, switches = Trace(), switches_of(options.switch)
    kept: dict[str, Any] = {"cache": options.cache} if options.json else {"trace": trace}
    fmt = dp.analyze(template, accept_suggestion=options.accept, **kept, **switches)
    if not fmt.verified:
        unverified.append(options.template)
    if options.json:
        print_json(json.loads(fmt.to_json()), indent=2)
    elif options.trace:
        yield from trace_lines(trace)
    else:
        yield explanation(fmt, trace)


def _format(path: Path, options: argparse.Namespace) -> dp.WireFormat | str:
    """Return the format of a template in a file, or the error message."""
    try:
        return dp.analyze(
            chat_template(str(path)), accept_suggestion=options.accept, cache=options.cache
        )
    except (BadInput, dp.DeltaParseError) as error:
        return str(error).removeprefix(f"{path}: ")


ANALYZE = Subcommand(
    name="analyze",
    help="analyze a chat template, or a folder of templates",
    add_arguments=add_arguments,
    run=run,
    epilog=TEMPLATES,
)
