"""The beginning of a call that is written as Python: a name and a parenthesis.

Where it is known that a call stands here, that is enough. Where nothing says so, what follows
must be what Python has in no other place: a named argument, `name=`, or the end of no arguments
at all, and where the tools are known, the name must be that of one. Names may hold dots and
dashes. What may still become a call is held back, which is never more than the limits here
allow; what is none is left unread. The name of no tool may begin what is reported, if it is ASCII;
others are text at their first character that is none of a tool's.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import TYPE_CHECKING

from deltaparse.partial import Steps, Window

from ...wire.call_names import LONGEST_NAME
from ...wire.fast_patterns import FastPattern, so_far, whole
from ...wire.spellings import GAP

if TYPE_CHECKING:
    import regex

__all__ = ["BETWEEN", "cut_head", "python_head", "usual_call"]

BETWEEN = rf"{GAP}(?:[,;]{GAP})?+"
"""What stands between two calls."""

KEY = rf"[^\W\d][-.\w]{{0,{LONGEST_NAME - 1}}}+"


def cut_head(src: Window, *, after: bool, names: Collection[str] | None) -> str:
    """Read the name of a call in whose head the output ends; "" if it is not known to be one.

    A known name and a parenthesis are enough; of other names, an argument must have a name.
    """
    _, so_far = _patterns(BETWEEN if after else GAP, "", sure=False)
    begun = so_far.fullmatch(src.text, src.pos) if src.closed else None
    if not begun or not begun[2]:
        return ""
    known = begun[1] in names if names is not None else src.text.endswith("=")
    src.pos = begun.end(2) if known else src.pos
    return str(begun[1]) if known else ""


def python_head(
    src: Window,
    *,
    sure: bool,
    after: bool = False,
    method: str = "",
    names: Collection[str] | None = None,
    strays: bool = False,
) -> Steps[str | None]:
    """Read a name, with `method` at its end, and the parenthesis after it; return the name.

    `sure`: it is known that a call stands here. `after`: another stands before it, and a
    separator may. `names` are all that are meant, None for any; with `strays`, others in ASCII are
    read too. Returns "" where no call begins,
    None where the input ends too early to tell; then nothing is read.
    """
    whole, so_far = _patterns(BETWEEN if after else GAP, method, sure=sure)
    spelled = None if names is None else {name + method for name in names}
    while True:
        found = whole.match(src.text, src.pos)
        begun = found or so_far.fullmatch(src.text, src.pos)
        if not begun:
            return ""
        name = begun[1] or ""
        if begun[2] and not name.endswith(method):
            return ""
        if spelled is not None and not (strays and name.isascii()):
            if not (
                name in spelled if begun[2] else any(known.startswith(name) for known in spelled)
            ):
                return ""
        if found:
            src.pos = found.end()
            return name.removesuffix(method)
        if src.closed:
            return None
        yield


@lru_cache(maxsize=1)
def usual_call() -> FastPattern:
    """What stands between two calls of a list and begins the second; the group is its name."""
    gap, name = r"[ \t\n\r]{0,16}+", r"[A-Za-z_][-.\w]{0,127}+"
    between = [gap, r"(?:[,;]" + gap + ")?+"]
    return FastPattern(rf"{whole(between)}({name})\(", so_far([*between, name]))


@lru_cache(maxsize=64)
def _patterns(
    before: str, method: str, *, sure: bool
) -> tuple[regex.Pattern[str], regex.Pattern[str]]:
    """Patterns for what begins a call, and for what may become that; the groups are alike.

    To `regex`, the marks that many scripts put on letters are parts of a word, as they are to
    Python; to `re` they are not.
    """
    import regex  # slow to import, and for these calls only

    first = r"\w" if sure else r"[^\W\d]"
    name = rf"({first}[-.\w{re.escape(method)}]{{0,{LONGEST_NAME - 1}}}+)"
    if sure:
        whole, begun = rf"{before}{name}{GAP}(\()", rf"{before}(?:{name}{GAP})?()"
        return regex.compile(whole), regex.compile(begun)
    argument = rf"{GAP}(?:\)|{KEY}{GAP}=[^=])"
    begun = rf"(?:(\(){GAP}(?:{KEY}{GAP}=?)?)?"
    return (
        regex.compile(rf"{before}{name}(\()(?={argument})"),
        regex.compile(rf"{before}(?:{name}{begun})?"),
    )
