"""The command `deltaparse response-template`: write or check a transformers response_template.

It is derived from the chat template's renderings, and verified with transformers' own parser if
installed. `--check` verifies the response_template of a checkpoint on the same turns. One can also
be derived from a format, but not verified, because a format cannot render turns.
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
NO_JUDGE = "not verified: transformers is not installed, or has no response parser"

NO_TEMPLATE = "not verified: built-in formats have no template; pass a template to verify"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to a parser."""
    add = parser.add_argument
    add(
        "--check",
        action="store_true",
        help="check that the existing response_template parses the turns of the chat template, "
        "report losses, and exit with status 1 if there are any",
    )
    add(
        "--shipped",
        metavar="FILE",
        help="check the response_template in FILE "
        f"(default: the {CONFIGURATION} in the folder of the chat template)",
    )
    add_switches(parser)
    add(
        "source",
        metavar="SOURCE",
        help="use this template, tokenizer file, model folder or GGUF file, or a format (its name "
        "or a .json file)",
    )


def run(options: argparse.Namespace) -> None:
    """Print a response template, or check the existing one.

    Exits with status 1 if none can be written, if it loses data, or if it cannot be verified.

    Raises:
        BadInput: the chat template is missing, or a file cannot be used.
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
        advice = "--check, --shipped and --switch require a template (a model's folder or file)"
        raise BadInput(f"{options.source}: a format has no template; {advice}")
    try:
        print_json(dp.to_response_template(fmt), indent=2)
    except dp.FormatError as error:
        complain(f"{options.source}: {error}")
        raise SystemExit(1) from error
    for words in dp.response_template_limits(fmt):
        complain(f"not expressible in the standard: {words}")
    complain(NO_TEMPLATE)


def _report(found: dp.ResponseTemplateCheck) -> Iterator[str]:
    if found.judge:
        yield f"{found.judge} parses {len(found.proved)} kinds of turns without loss"
    else:
        yield NO_JUDGE
    yield from (f"loses {words}" for words in found.lost)
    yield from (f"not expressible in the standard: {words}" for words in found.limits)


def _verdict(found: dp.ResponseTemplateCheck, source: str) -> str:
    """Return the conclusion of a check, with the command that writes a better template."""
    if found.ok:
        return "no avoidable loss"
    return f"avoidable losses; to write a better one: deltaparse response-template {source}"


def _shipped(options: argparse.Namespace) -> Mapping[str, Any]:
    """Read the response template of a checkpoint, or from the file of --shipped."""
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
        raise BadInput(f"{path}: it has no {KEY} (pass another file with --shipped)")
    return found


RESPONSE_TEMPLATE = Subcommand(
    name="response-template",
    help="write or check the response_template of a transformers checkpoint",
    add_arguments=add_arguments,
    run=run,
    epilog=TEMPLATES,
)
