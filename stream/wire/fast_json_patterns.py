"""Fast patterns for the beginning of a usual JSON call, and for a small complete call.

    {"name": "f", "arguments": {

These apply if the name is the first member, has plain letters, and is followed by the arguments.
One pattern reads to the end of the name. Another one reads on to the object. A third one reads a
complete call with a small object. `fast_patterns.py` explains why the results are the same. Strings
have no escapes, and no text that could prove an unclosed string (`MarkerTables.overrun`).
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

from deltaparse.partial import SMALL_OBJECT

from .fast_patterns import LETTER, SPACE, WORD, FastPattern, Text, so_far, whole

__all__ = ["fast_head"]

# Keys are usually plain letters, and then JSON does not escape them.
NAME = re.compile(LETTER)


class FastHead:
    """The fast patterns of a JSON call.

    Args:
        name_field: the key of the name.
        arguments_field: the key of the arguments.

    Attributes:
        name: from the brace to the end of the name, which is the group.
        arguments: from the name to the brace of the arguments.
        whole: a complete call with a small object. The groups are name and arguments.
        begins: the pattern of `name` without its last character.
        parts: the parts of `begins`.
        spelled: the usual spellings of the text before the name.
    """

    __slots__ = ("arguments", "begins", "name", "parts", "spelled", "whole")

    def __init__(self, name_field: str, arguments_field: str) -> None:
        # JSON text of the keys, as models write it.
        name, arguments = (json.dumps(key) for key in (name_field, arguments_field))
        begin = [Text("{"), SPACE, Text(name), SPACE, Text(":"), SPACE, Text('"')]
        behind = [SPACE, Text(","), SPACE, Text(arguments), SPACE, Text(":"), SPACE]
        # The closing quote is missing: with it, the text is a match.
        self.parts = [*begin, WORD]
        self.begins, between = whole(self.parts), whole(behind)
        # With and without a space: these are the outputs of the usual JSON writers.
        self.spelled = [f'{{{name}:{gap}"' for gap in (" ", "")]
        named = rf'{whole(begin)}({WORD})"'
        self.name = FastPattern(named, so_far(self.parts), [text + "?" for text in self.spelled])
        keys = [f",{gap}{arguments}:{gap}{{" for gap in (" ", "")]
        # The brace is not consumed, because the reader of objects begins there.
        self.arguments = FastPattern(rf"{between}(?=\{{)", so_far(behind), keys)
        # Without `FastPattern`: an incomplete call does not wait here, since the name is emitted
        # early.
        self.whole = re.compile(rf"{named}{between}({SMALL_OBJECT}){SPACE}\}}")


@lru_cache(maxsize=64)
def fast_head(name_field: str, arguments_field: str, firsts: str) -> FastHead | None:
    """Return the fast patterns for calls with these keys, None if a fast path is not possible.

    They are made once.

    Args:
        name_field: the key of the name.
        arguments_field: the key of the arguments.
        firsts: the first characters of texts that could prove an unclosed string.
    """
    # Escaped keys, or a name with one of these characters, are left to the complete reader.
    keys = name_field + arguments_field
    # Equal keys could not distinguish name and arguments.
    plain = bool(name_field and arguments_field) and name_field != arguments_field
    plain = plain and all(map(NAME.match, keys))
    return (
        FastHead(name_field, arguments_field)
        if plain and not any(map(NAME.match, firsts))
        else None
    )
