"""Write the page of built-in formats: each with its aliases and a sample turn.

python tools/format_table.py         print docs/formats.md
"""

from __future__ import annotations

from collections.abc import Iterator

import deltaparse as dp
from deltaparse.command.format_sample import sample
from deltaparse.stream.wire.named.registry import unproved_aliases

__all__ = ["page"]

HEAD = """# Formats by name

`get_format(name)`, and wherever a format is taken its name is too. Words in capitals stand for what
a model writes; the names in parentheses mean the same. Where they stand behind "no template seen",
a server reads the calls of these models so, but their headers are unknown: give the parser the
format of `analyze(template)` instead. `tools/format_table.py` writes this page.
"""


def page() -> str:
    """Return the page."""
    return "\n".join([HEAD, *_entries()])


def _entries() -> Iterator[str]:
    for name, aliases in sorted(dp.list_formats().items()):
        unproved = unproved_aliases(name)
        said = ", ".join(sorted({*aliases} - {*unproved}))
        if unproved:
            said += f"; no template seen: {', '.join(unproved)}"
        also = f" ({said.removeprefix('; ')})" if said else ""
        yield f"**{name}**{also}\n\n```text\n{sample(dp.get_format(name)).strip()}\n```\n"


if __name__ == "__main__":
    print(page(), end="")
