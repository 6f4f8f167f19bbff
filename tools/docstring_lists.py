"""Lists in docstrings, as the reference shows them.

    name          what it is, and
                  what else there is to say
    other, more:  the same with a colon

Such a list is read well where it is written; Markdown makes one paragraph of it. This makes it a
list of Markdown, while the site is built.
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
    """Return a docstring with its aligned lists in Markdown; all else stays."""
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
    """Runs for each object that is read."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Change its docstring, if it has one."""
        if obj.docstring is not None:
            obj.docstring.value = with_lists(obj.docstring.value)


if find_spec("griffe"):  # which is there where the site is built
    AlignedLists = type("AlignedLists", (_Lists, import_module("griffe").Extension), {})
