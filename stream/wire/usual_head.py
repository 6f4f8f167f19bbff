r"""The beginning of a JSON call as models write it, read in two steps.

    {"name": "f", "arguments": {

The readers of calls (`reading/tool_calls/json_native.py`) take a member apart: space, a key, space,
a colon, space, a string. That is right for all that a model may write, and for a call of twenty
tokens it is half of the cost: each of these is a generator that is made, resumed with every chunk,
and left. Nearly all calls begin in one way. So where the name comes first, in plain letters, with
the arguments behind it, one pattern reads up to the end of the name, and another up to the object;
a third reads all of a call that is there, if its arguments are a small object.

Why this equals the long way: a pattern matches only text of which the long way emits nothing before
its last character, and there the reader stands where the long way would, with the same known of the
call. Text that may still become such a beginning is left unread, while nothing is emitted on
either way; at the first character that fits in none, the long way reads all of it, and what it
makes of a text does not depend on how it was cut. The strings hold no escape and nothing that
could prove that one was not closed (`MarkerTables.overrun`), and white space is bounded, for what
waits is looked at again with each chunk.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache

from deltaparse.partial import SMALL_OBJECT, Waiter, Window, nowhere

__all__ = ["UsualHead", "usual_head"]

SPACE = r"[ \t\n\r]{0,16}+"
LETTER = "[-A-Za-z0-9_.:/]"
LONGEST_NAME = 128
NAME = re.compile(LETTER)


class UsualHead:
    """Patterns of a step, and what waits for the rest of it.

    `name` matches from the brace to the end of the name, which is its group; `arguments` from
    there up to the brace of the arguments. `whole` matches all of a call whose arguments are a
    small object, the groups being both.
    """

    __slots__ = ("_before_arguments", "_before_name", "arguments", "name", "whole")

    def __init__(self, name_field: str, arguments_field: str) -> None:
        name, arguments = (json.dumps(key) for key in (name_field, arguments_field))
        begin = [r"\{", SPACE, *_letters(name), SPACE, ":", SPACE, '"']
        behind = [SPACE, ",", SPACE, *_letters(arguments), SPACE, ":", SPACE]
        word = rf"{LETTER}{{1,{LONGEST_NAME}}}+"
        head, between = "".join(begin), "".join(behind)
        self.name = re.compile(rf'{head}({word})"')
        self.arguments = re.compile(rf"{between}(?=\{{)")
        self.whole = re.compile(rf'{head}({word})"{between}({SMALL_OBJECT}){SPACE}\}}')
        self._before_name = _waiter([*begin, word])
        self._before_arguments = _waiter(behind)

    def name_may_follow(self, src: Window) -> bool:
        """Whether the unread text may become what `name` matches; wait for that, if so."""
        return _waits(src, self._before_name)

    def arguments_may_follow(self, src: Window) -> bool:
        """The same of `arguments`."""
        return _waits(src, self._before_arguments)


@lru_cache(maxsize=64)
def usual_head(name_field: str, arguments_field: str, firsts: str) -> UsualHead | None:
    """The head of calls with these keys, made once; None where it could not be told at sight.

    `firsts` are the characters that begin what a string may have overrun.
    """
    keys = name_field + arguments_field
    plain = bool(name_field and arguments_field) and name_field != arguments_field
    plain = plain and all(map(NAME.match, keys))
    return (
        UsualHead(name_field, arguments_field)
        if plain and not any(map(NAME.match, firsts))
        else None
    )


def _letters(text: str) -> Sequence[str]:
    return [re.escape(letter) for letter in text]


def _waiter(parts: Sequence[str]) -> Waiter:
    """What waits while the unread text matches some of the parts of a pattern, and ends there."""
    pattern = ""
    for part in reversed(parts):
        pattern = f"(?:{part}{pattern})?+"
    so_far = re.compile(pattern).fullmatch

    def step(window: Window) -> str | None:
        return "" if so_far(window.text, window.pos) else None

    return Waiter(nowhere, step, nowhere)


def _waits(src: Window, waiter: Waiter) -> bool:
    step = waiter.step
    if src.closed or step is None or step(src) is None:
        return False
    src.waiter = waiter
    return True
