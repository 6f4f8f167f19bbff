"""The states of a JSON lexer."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["JsonState"]


# Strings, because the names are part of error messages.
class JsonState(StrEnum):
    """The position of a lexer or scanner in a JSON value.

    START        before the value
    AFTER_OPEN   after an opening bracket
    KEY          in a key
    AFTER_KEY    after a key, before its colon
    AFTER_COLON  after a colon, before the value
    STRING       in a string value
    AFTER_VALUE  after a value, before a comma or a closing bracket
    AFTER_COMMA  after a comma, before the next key or value
    DONE         after the complete value
    BROKEN       before an invalid character
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
