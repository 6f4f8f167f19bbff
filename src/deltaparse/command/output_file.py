"""Writers of a page or text to a file or to standard output."""

from __future__ import annotations

import sys
from collections.abc import Sized
from pathlib import Path

from .inputs import BadInput
from .subcommand import complain

__all__ = ["write_page", "write_text"]


def write_page(page: str, name: str, outputs: Sized) -> None:
    """Write a page of outputs to a file, or to standard output for "-"."""
    write_text(page, name, f"{len(outputs)} output{'s' * (len(outputs) != 1)}")


def write_text(text: str, name: str, what: str) -> None:
    """Write a text to a file and report it on stderr, or write to standard output for "-".

    Args:
        text: the text.
        name: the file's name, or "-".
        what: a description of the text for the report.

    Raises:
        BadInput: the file cannot be written.
    """
    if name == "-":
        sys.stdout.write(text)
        return
    try:
        Path(name).write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise BadInput(f"{name}: {error.strerror}") from error
    complain(f"wrote {name}: {what}")
