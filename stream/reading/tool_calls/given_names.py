"""Names that are given, where what stands in their place would be read as another name.

    <parameter=a>b>        `a>b`, if the function has an argument that is called so; else `a`
    key="a&quot;b"         the same of a name that has a spelling of its own

The longest that stands there counts, if what ends names stands behind it. White space round a name
is not read as a part of it, so a given name that has some is known without it.
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
"""Names as they are written, without white space round them, each with the name itself."""

NONE: Given = ()
SPACE = re.compile(GAP)
NO_NAME = frozenset("\"'`<>{}()")
"""What else no name has that is not given."""
INDEX = re.compile(r"[^\w\s][0-9]+")


def odd_names(
    names: Iterable[str], ends: Markers, escapes: Escapes, prefixes: Collection[str] = ("",)
) -> Given:
    """List those names that are not read back from what is written, the longest first.

    `ends` are what may follow a name, `prefixes` what may stand before it.
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
        escapes.read(text) != name
        or any(char in NO_NAME or char.isspace() for char in text)
        or any(ends.find(text + end, final=True)[0] != len(text) for end in ends.literals)
    )


def given_name(
    src: Window, given: Given, ends: Markers, *, indexed: bool = False
) -> Steps[tuple[str, str] | None]:
    """Read one of the given names, if it stands here with what ends it; return how it is written.

    And the name itself. `indexed`: a number may stand behind it. Nothing is read if none stands.
    """
    while True:
        text, waits = src.text, False
        start = _space_behind(text, src.pos)
        for written, name in given:
            if not text.startswith(written, start):
                waits |= written.startswith(text[start:])
                continue
            stop = start + len(written)
            if indexed:
                found = INDEX.match(text, stop)
                stop = found.end() if found else stop
                waits |= len(text) - stop < 2
            ended = _is_ended(text, stop, ends, final=src.closed)
            if ended and (src.closed or not waits):
                src.pos = stop
                return text[start:stop], name
            waits |= ended is not False
        if src.closed or not waits:
            return None
        yield


def _is_ended(text: str, pos: int, ends: Markers, *, final: bool) -> bool | None:
    """Whether what ends names stands here, or behind white space; None if it may come."""
    # White space may be what ends a name.
    for place in dict.fromkeys((pos, _space_behind(text, pos))):
        end = ends.match(text, place, final=final)
        if end > place:
            return True
        if end == place:
            return None
    return False


def _space_behind(text: str, pos: int) -> int:
    found = SPACE.match(text, pos)
    return found.end() if found else pos
