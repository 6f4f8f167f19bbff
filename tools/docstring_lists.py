"""Conversion of aligned lists in docstrings to Markdown, for the reference.

    name          a description, and
        its continuation
    other, more:  the same with a colon

Markdown would turn such a list into one paragraph. It is converted while the site is built.
"""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["with_lists"]

ITEM = re.compile(r"(?P<term>\S(?:.*?\S)?)(?P<gap>:? {2,}|: )(?P<text>\S.*)")
CONTINUED = re.compile(r" {4,}\S")


def with_lists(text: str) -> str:
    """Return a docstring with its aligned lists in Markdown. Other text is unchanged."""
    return "\n\n".join(map(_written, text.split("\n\n")))


def _written(paragraph: str) -> str:
    lines = paragraph.split("\n")
    items: list[list[str]] = []
    aligned = False
    for line in lines:
        found = ITEM.fullmatch(line)
        if CONTINUED.match(line) and items:
            items[-1].append(line.strip())
        elif found and not line.startswith(" "):
            aligned |= len(found["gap"]) > 2
            items.append([f"- **{found['term'].strip('`')}**: {found['text']}"])
        else:
            return paragraph
    return "\n".join(" ".join(item) for item in items) if aligned and len(items) > 1 else paragraph


class _Lists:
    """An extension that processes each documented object."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Convert the lists in an object's docstring, if it has one."""
        if obj.docstring is not None:
            obj.docstring.value = with_lists(obj.docstring.value)


if find_spec("griffe"):  # installed only for building the site
    AlignedLists = type("AlignedLists", (_Lists, import_module("griffe").Extension), {})
