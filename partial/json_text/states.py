"""Where in a JSON value a lexer stands."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["JsonState"]


class JsonState(StrEnum):
    """Where in a JSON value a lexer or scanner stands.

    START        before the value
    AFTER_OPEN   behind an opening bracket
    KEY          in a key
    AFTER_KEY    behind a key, before its colon
    AFTER_COLON  behind a colon, before the value
    STRING       in a string that is a value
    AFTER_VALUE  behind a value, before a comma or a closing bracket
    AFTER_COMMA  behind a comma, before the next key or value
    DONE         behind the whole value
    BROKEN       before a character that cannot follow
    """

    START = "start"
    AFTER_OPEN = "after_open"
    KEY = "key"
    AFTER_KEY = "after_key"
    AFTER_COLON = "after_colon"
    STRING = "string"
    AFTER_VALUE = "after_value"
    AFTER_COMMA = "after_comma"
    DONE = "done"
    BROKEN = "broken"
