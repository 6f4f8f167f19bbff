"""Description of a subcommand, and helpers that print its output."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["TEMPLATES", "Subcommand", "complain", "print_json", "whole_number"]

TEMPLATES = """\
A template is a Jinja file, a tokenizer_config.json, a model's folder or a GGUF file.
A Jinja file alone does not contain the tokenizer's bos_token and eos_token.
"""
LONGEST_LINE = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Subcommand:
    """A subcommand of `deltaparse`.

    Attributes:
        name: the word on the command line.
        help: one line for the list of commands.
        add_arguments: adds the arguments to a parser.
        run: executes the subcommand with the parsed arguments.
        epilog: text at the end of the subcommand's help.
    """

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]
    epilog: str = ""


def print_json(
    value: Any, *, indent: int | None = None, before: str = "", after: str = "\n"
) -> None:
    """Print a value as JSON and flush. Escape non-ASCII unless the output is UTF-8."""
    escape = (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"
    text = json.dumps(value, ensure_ascii=escape, indent=indent)
    print(f"{before}{text}", end=after, flush=True)


def whole_number(least: int = 1, most: int | None = None) -> Callable[[str], int]:
    """Return a type for `add_argument`: whole numbers within bounds."""

    def number(text: str) -> int:
        if text.isascii() and text.isdigit() and least <= int(text):
            if most is None or int(text) <= most:
                return int(text)
        bounds = f"from {least} up" if most is None else f"from {least} to {most}"
        raise argparse.ArgumentTypeError(f"must be a whole number {bounds}, not {text!r}")

    return number


def complain(words: str) -> None:
    """Print a message to stderr as one line, truncated if it is too long."""
    line = " ".join(words.split())
    if len(line) > LONGEST_LINE:
        line = f"{line[:LONGEST_LINE]} ..."
    print(f"deltaparse: {line}", file=sys.stderr)
