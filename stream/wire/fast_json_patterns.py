"""The beginning of a JSON call as models write it, and a small call that is all there.

    {"name": "f", "arguments": {

Where the name comes first, in plain letters, with the arguments behind it, one pattern reads up to
the end of the name, and another up to the object; a third reads all of a call, if its arguments are
a small object. `usual.py` says why that is right. The strings hold no escape and nothing that
could prove that one was not closed (`MarkerTables.overrun`).
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

from deltaparse.partial import SMALL_OBJECT

from .fast_patterns import LETTER, SPACE, WORD, FastPattern, Text, so_far, whole

__all__ = ["usual_head"]

NAME = re.compile(LETTER)


class UsualHead:
    """The steps of a call in JSON.

    `name` reads from the brace to the end of the name, which is its group; `arguments` from
    there up to the brace of the arguments. `whole` matches all of a call whose arguments are a
    small object, the groups being both. `begins` is a pattern of what `name` reads but for its
    last character, `parts` are that in parts, and `spelled` how it is usually spelled.
    """

    __slots__ = ("arguments", "begins", "name", "parts", "spelled", "whole")

    def __init__(self, name_field: str, arguments_field: str) -> None:
        name, arguments = (json.dumps(key) for key in (name_field, arguments_field))
        begin = [Text("{"), SPACE, Text(name), SPACE, Text(":"), SPACE, Text('"')]
        behind = [SPACE, Text(","), SPACE, Text(arguments), SPACE, Text(":"), SPACE]
        self.parts = [*begin, WORD]
        self.begins, between = whole(self.parts), whole(behind)
        self.spelled = [f'{{{name}:{gap}"' for gap in (" ", "")]
        named = rf'{whole(begin)}({WORD})"'
        self.name = FastPattern(named, so_far(self.parts), [text + "?" for text in self.spelled])
        keys = [f",{gap}{arguments}:{gap}{{" for gap in (" ", "")]
        self.arguments = FastPattern(rf"{between}(?=\{{)", so_far(behind), keys)
        self.whole = re.compile(rf"{named}{between}({SMALL_OBJECT}){SPACE}\}}")


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
