"""The names of functions and arguments that the parser can read.

The grammar uses the same rules, so that it permits no name that the parser cannot read.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from deltaparse.partial import Markers, is_python_name

__all__ = ["LONGEST_NAME", "NAME_SO_FAR", "is_python_call_name", "is_readable_name"]

# An unfinished name is buffered, so it needs a limit.
LONGEST_NAME = 256
"""The maximum number of characters in a name, or in the id of a call."""

# Possessive, so that matching takes linear time.
NAME_SO_FAR = re.compile(r"\s*+(?!\[)[^\s\"'`<>{}()]*+\s*+")
"""A name in a tag, possibly incomplete. It does not start like a value of arguments."""


def is_python_call_name(text: str) -> bool:
    """Return whether a call in Python syntax can have this name for a function or an argument."""
    return len(text) <= LONGEST_NAME and is_python_name(text)


def is_readable_name(written: str, known: Collection[str], ends: Markers) -> bool:
    """Return whether the parser reads all of this text as a name in a tag.

    Args:
        written: the name as the model writes it.
        known: the names of the given tools. These may contain any characters.
        ends: the markers that can end a name.
    """
    # The reader strips names, so names with outer whitespace would change.
    fits = len(written) <= LONGEST_NAME and written == written.strip()
    # The reader searches known names first, so these may contain any characters.
    plain = NAME_SO_FAR.fullmatch(written) or written in known
    return fits and bool(plain) and not any(end in written for end in ends.literals)
