"""What each subcommand of `deltaparse` says of itself, and what it may print with."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["TEMPLATES", "Subcommand", "complain", "print_json"]

TEMPLATES = """\
A template is a file of Jinja, a tokenizer_config.json, a model's folder or a GGUF file.
A file of Jinja by itself does not say what the tokenizer's bos_token and eos_token are.
"""
LONGEST_LINE = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Subcommand:
    """A subcommand: its name and help, and two functions.

    `add_arguments` describes the arguments to a parser of them; `run` does what is asked, with the
    arguments that were found. `epilog` stands at the end of the subcommand's own help.
    """

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]
    epilog: str = ""


def print_json(
    value: Any, *, indent: int | None = None, before: str = "", after: str = "\n"
) -> None:
    """Print a JSON text at once, in letters that the output can write."""
    escape = (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"
    text = json.dumps(value, ensure_ascii=escape, indent=indent)
    print(f"{before}{text}", end=after, flush=True)


def complain(words: str) -> None:
    """Print one line to stderr, whatever is in the words."""
    line = " ".join(words.split())
    if len(line) > LONGEST_LINE:
        line = f"{line[:LONGEST_LINE]} ..."
    print(f"deltaparse: {line}", file=sys.stderr)
