"""The command `deltaparse response-template`: a chat template's inverse, as transformers has it.

It is written from what the template renders, and read again by transformers' own parser, where it
is installed. With `--check`, the one that a checkpoint has is held against the same turns. Of a
format it is written too, but not proved: there is nothing that renders.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import deltaparse as dp

from .inputs import BadInput, add_switches, chat_template, named_format, switches_of, text_file
from .subcommand import TEMPLATES, Subcommand, complain, print_json

__all__ = ["RESPONSE_TEMPLATE"]

CONFIGURATION = "tokenizer_config.json"
KEY = "response_template"
NO_JUDGE = "not proved: transformers is not installed, or has no parser of responses"

NO_TEMPLATE = "not proved: a format renders nothing; of a template it is proved too"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what the command takes."""
    add = parser.add_argument
    add(
        "--check",
        action="store_true",
        help="hold the response template that is there against the chat template, and say what it "
        "loses; exit with status 1 if it loses anything",
    )
    add(
        "--shipped",
        metavar="FILE",
        help=f"where it is, if not in the {CONFIGURATION} beside the chat template",
    )
    add_switches(parser)
    add(
        "source",
        metavar="SOURCE",
        help="a template, a tokenizer's file, a model's folder, a GGUF; or a format, by its name "
        "or as a .json file",
    )


def run(options: argparse.Namespace) -> None:
    """Print the response template, or what the one that is there loses.

    Exits with status 1 where none can be written, or something is lost.

    Raises:
        BadInput: there is no chat template, or a file cannot be used.
    """
    fmt = named_format(options.source)
    if fmt is not None:
        _print_of_format(fmt, options)
        return
    template = chat_template(options.source)
    switches = switches_of(options.switch)
    if options.check or options.shipped:
        found = dp.check_response_template(template, _shipped(options), **switches)
        for line in _report(found):
            print(line)
        if found.judge:
            print(_verdict(found, options.source))
        if not found.ok or not found.judge:
            raise SystemExit(1)
        return
    found = dp.check_response_template(template, **switches)
    if found.response_template is None:
        complain(f"{options.source}: {found.limits[0]}")
        raise SystemExit(1)
    print_json(found.response_template, indent=2)
    for line in _report(found):
        complain(line)
    if not found.ok:
        raise SystemExit(1)


def _print_of_format(fmt: dp.WireFormat, options: argparse.Namespace) -> None:
    if options.check or options.shipped or options.switch:
        advice = "--check, --shipped and --switch are for a template: give a model's folder or file"
        raise BadInput(f"{options.source}: a format renders nothing; {advice}")
    try:
        print_json(dp.to_response_template(fmt), indent=2)
    except dp.FormatError as error:
        complain(f"{options.source}: {error}")
        raise SystemExit(1) from error
    for words in dp.response_template_limits(fmt):
        complain(f"the standard cannot say: {words}")
    complain(NO_TEMPLATE)


def _report(found: dp.ResponseTemplateCheck) -> Iterator[str]:
    if found.judge:
        yield f"{found.judge} reads {len(found.proved)} kinds of turns as they were written"
    else:
        yield NO_JUDGE
    yield from (f"loses {words}" for words in found.lost)
    yield from (f"the standard cannot say: {words}" for words in found.limits)


def _verdict(found: dp.ResponseTemplateCheck, source: str) -> str:
    """What a check comes to, and what to do where something is lost."""
    if found.ok:
        return "it loses nothing that a response template could keep"
    return f"one that keeps what can be kept: deltaparse response-template {source}"


def _shipped(options: argparse.Namespace) -> Mapping[str, Any]:
    """Read the response template that a checkpoint has, or the file that is said to have it."""
    path = Path(options.shipped or options.source)
    if path.is_dir():
        path /= CONFIGURATION
    elif not options.shipped and path.suffix.lower() != ".json":
        path = path.with_name(CONFIGURATION)
    try:
        found = json.loads(text_file(str(path)))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: not JSON: {error}") from error
    if isinstance(found, Mapping) and "fields" not in found:
        found = found.get(KEY)
    if not isinstance(found, Mapping):
        raise BadInput(f"{path}: no {KEY} in it")
    return found


RESPONSE_TEMPLATE = Subcommand(
    name="response-template",
    help="write or check the response_template of a transformers checkpoint",
    add_arguments=add_arguments,
    run=run,
    epilog=TEMPLATES,
)
