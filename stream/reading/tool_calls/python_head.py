"""The head of a call in Python: a name and a parenthesis.

If the call is proved, that is enough. Otherwise a named argument (`name=`) or the end of empty
arguments must follow, because Python has these nowhere else. If the tools are known, the name must
be the name of a tool. Names may contain dots and dashes.

Text that may become a call is buffered, up to the limits here. Other text stays unread. An unknown
name is read and reported if it is ASCII. Otherwise it is text from the first character that differs
from all names of tools.
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

__all__ = ["BETWEEN", "cut_head", "fast_call", "python_head"]

BETWEEN = rf"{GAP}(?:[,;]{GAP})?+"
"""Text between two calls."""

KEY = rf"[^\W\d][-.\w]{{0,{LONGEST_NAME - 1}}}+"


def cut_head(src: Window, *, after: bool, names: Collection[str] | None) -> str:
    """Read the name of a call that is truncated in its head, or return "".

    A known name needs a parenthesis. An unknown name needs the name of an argument too.
    """
    _, so_far = _patterns(BETWEEN if after else GAP, "", sure=False)
    # More text may follow before the end of the input, so a truncated head is not decided earlier.
    begun = so_far.fullmatch(src.text, src.pos) if src.closed else None
    if not begun or not begun[2]:
        return ""
    # Prose has parentheses after words, but it has no named arguments.
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
    """Read a name that ends with `method`, and the parenthesis after it, and return the name.

    Args:
        src: the window.
        sure: True if the call is proved.
        after: True if a call precedes it, possibly with a separator.
        method: the end of the name.
        names: the accepted names, None for all.
        strays: True to accept other names in ASCII too.

    Returns:
        The name, "" if no call starts here, or None if the input ends too early to decide. Then
        all text stays unread.
    """
    whole, so_far = _patterns(BETWEEN if after else GAP, method, sure=sure)
    # The method is a part of the text, so it is added once and not for each chunk.
    spelled = None if names is None else {name + method for name in names}
    while True:
        found = whole.match(src.text, src.pos)
        begun = found or so_far.fullmatch(src.text, src.pos)
        # The text differs from any head, so it is not buffered any longer.
        if not begun:
            return ""
        name = begun[1] or ""
        # The parenthesis follows another name, so more text cannot help.
        if begun[2] and not name.endswith(method):
            return ""
        # Text that cannot become a tool's name must not be buffered.
        if spelled is not None and not (strays and name.isascii()):
            if not (
                name in spelled if begun[2] else any(known.startswith(name) for known in spelled)
            ):
                return ""
        if found:
            src.pos = found.end()
            return name.removesuffix(method)
        # The text so far fits a call, but its end is missing.
        if src.closed:
            return None
        yield


@lru_cache(maxsize=1)
def fast_call() -> FastPattern:
    """Return the pattern of the text between two calls in a list. Its group is the second name."""
    # Names start with ASCII here, so that the faster module `re` is sufficient.
    gap, name = r"[ \t\n\r]{0,16}+", r"[A-Za-z_][-.\w]{0,127}+"
    between = [gap, r"(?:[,;]" + gap + ")?+"]
    return FastPattern(rf"{whole(between)}({name})\(", so_far([*between, name]))


@lru_cache(maxsize=64)
def _patterns(
    before: str, method: str, *, sure: bool
) -> tuple[regex.Pattern[str], regex.Pattern[str]]:
    """Return patterns for the head of a call and for an incomplete head, with the same groups.

    Combining marks, which many scripts put on letters, belong to a word for Python and for `regex`,
    but not for `re`.
    """
    import regex  # imported lazily: it is slow to import, and only these calls need it

    # A proved call may have a name that starts with a digit, which in text is a number.
    first = r"\w" if sure else r"[^\W\d]"
    name = rf"({first}[-.\w{re.escape(method)}]{{0,{LONGEST_NAME - 1}}}+)"
    if sure:
        whole, begun = rf"{before}{name}{GAP}(\()", rf"{before}(?:{name}{GAP})?()"
        return regex.compile(whole), regex.compile(begun)
    # `==` is a comparison, which occurs in ordinary code.
    argument = rf"{GAP}(?:\)|{KEY}{GAP}=[^=])"
    begun = rf"(?:(\(){GAP}(?:{KEY}{GAP}=?)?)?"
    return (
        regex.compile(rf"{before}{name}(\()(?={argument})"),
        regex.compile(rf"{before}(?:{name}{begun})?"),
    )
