"""Known names, compared because the general reader would misread them.

    <parameter=a>b>        `a>b`, if the function has an argument with this name, otherwise `a`
    key="a&quot;b"         the same for a name with escapes

The longest name before an end marker counts. Whitespace around a name is not read as part of it, so
a known name with whitespace at its edges is compared without it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TypeAlias

from deltaparse.partial import Markers, Steps, Window

from ...wire.escapes import Escapes
from ...wire.spellings import GAP

__all__ = ["NONE", "Given", "given_name", "odd_names"]

Given: TypeAlias = tuple[tuple[str, str], ...]
"""Written names without whitespace around them, each with the name itself."""

NONE: Given = ()
SPACE = re.compile(GAP)
NO_NAME = frozenset("\"'`<>{}()")
"""Other characters that only known names contain."""
INDEX = re.compile(r"[^\w\s][0-9]+")


def odd_names(
    names: Iterable[str], ends: Markers, escapes: Escapes, prefixes: Collection[str] = ("",)
) -> Given:
    """Return the names that cannot be read back from their written form, longest first.

    Args:
        names: the names.
        ends: the end markers of names.
        escapes: the escapes in names.
        prefixes: possible text before a name.
    """
    found = {
        (prefix + escapes.write(name)).strip(): name
        for name in names
        if name.strip() and _is_odd(name, ends, escapes)
        for prefix in prefixes
    }
    return tuple(sorted(found.items(), key=lambda pair: -len(pair[0])))


def _is_odd(name: str, ends: Markers, escapes: Escapes) -> bool:
    written = escapes.write(name)
    text = written.strip()
    return (
        # A name is odd if the general reader would end it early or read other characters.
        escapes.read(text) != name
        or any(char in NO_NAME or char.isspace() for char in text)
        or any(ends.find(text + end, final=True)[0] != len(text) for end in ends.literals)
    )


def given_name(
    src: Window, given: Given, ends: Markers, *, indexed: bool = False
) -> Steps[tuple[str, str] | None]:
    """Read one of the given names before an end marker, and return its written form and the name.

    Returns None if there is no such name. Then all text stays unread. `indexed` allows a number
    after the name.
    """
    while True:
        # Each chunk is compared again from the start, because given names are few and short.
        text, waits = src.text, False
        start = _after_space(text, src.pos)
        # The names are sorted by length, so the first match is the longest.
        for written, name in given:
            if not text.startswith(written, start):
                # A prefix of a longer name may still grow into it.
                waits |= written.startswith(text[start:])
                continue
            stop = start + len(written)
            # The model adds an index to the name, which is not a part of it.
            if indexed:
                found = INDEX.match(text, stop)
                stop = found.end() if found else stop
                # The number may still grow with the next text.
                waits |= len(text) - stop < 2
            ended = _is_ended(text, stop, ends, final=src.closed)
            # A longer name takes precedence, so wait until it is excluded.
            if ended and (src.closed or not waits):
                src.pos = stop
                return text[start:stop], name
            waits |= ended is not False
        if src.closed or not waits:
            return None
        yield


def _is_ended(text: str, pos: int, ends: Markers, *, final: bool) -> bool | None:
    """Return True before an end marker, with whitespace or without, or None if it may follow."""
    # The whitespace may be an end marker itself.
    for place in dict.fromkeys((pos, _after_space(text, pos))):
        end = ends.match(text, place, final=final)
        if end > place:
            return True
        if end == place:
            return None
    return False


def _after_space(text: str, pos: int) -> int:
    found = SPACE.match(text, pos)
    return found.end() if found else pos
