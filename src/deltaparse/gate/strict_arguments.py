r"""Strict reader of a candidate's arguments, without repairs and defaults.

JSON follows RFC 8259, with further restrictions: no duplicate keys, no NaN or Infinity, no number
too large for a float, no number rounded to a different integer (0.99999999999999999999,
9007199254740993.0), no lone surrogates, at most `MAX_DEPTH` levels, no text after the value.

    bracket    = [ member *( "," member ) ]
    member     = key "=" value              key: an ASCII identifier
    value      = JSON / True / False / None / single
    single     = "'" *( not "'", "\", control character ) "'"

Other Python syntax is refused, because its meaning would be a guess: names, 1_000, 'a' 'b', **more,
positional arguments, escapes in single quotes, and single quotes inside lists and objects.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal, InvalidOperation
from typing import Any

from .decision import Refusal

__all__ = ["MAX_DEPTH", "SPACE", "arguments_json", "bracket_arguments", "strict_json"]

MAX_DEPTH = 32
"""Limit of nesting. The validator needs at least ten of Python's thousand frames per level."""

SPACE = " \t\r\n"
KEY = re.compile(r"[ \t\r\n]*+([A-Za-z_][A-Za-z0-9_]*+)[ \t\r\n]*+=[ \t\r\n]*+")
SINGLE = re.compile(r"'([^'\\\x00-\x1f]*+)'")
# Unclosed strings are consumed too, so no character is read twice. In JSON a single quotation mark
# is an error, so the rest of the text does not matter.
BRACKETS = re.compile(rf'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|{SINGLE.pattern}|[][{{}}]', re.DOTALL)
WORD = re.compile(r"(?:True|False|None)(?![A-Za-z0-9_])")
NEXT = re.compile(r"[ \t\r\n]*+(,|\Z)")
WORDS = {"True": True, "False": False, "None": None}


def strict_json(text: str) -> Any:
    """Return the value of a strict JSON text.

    Raises:
        Refusal: too_deep, not_json, duplicate_key, non_finite.
    """
    _shallow(text)
    try:
        return DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        # RecursionError is possible despite the limit if the caller's own stack is deep.
        raise Refusal("not_json", f"the payload is not one JSON value: {_short(error)}") from None


def bracket_arguments(text: str) -> dict[str, Any]:
    """Return the arguments of `key=value, ...`. The module docstring has the grammar.

    Raises:
        Refusal: malformed_call, and the reasons of `strict_json`.
    """
    _shallow(text)
    arguments: dict[str, Any] = {}
    pos = 0
    more = bool(text.strip(SPACE))
    while more:
        key = KEY.match(text, pos)
        if key is None:
            raise Refusal("malformed_call", "bracket style requires key=value arguments")
        if key[1] in arguments:
            raise Refusal("duplicate_key", "an argument occurs twice")
        arguments[key[1]], pos = _value(text, key.end())
        after = NEXT.match(text, pos)
        if after is None:
            raise Refusal(
                "malformed_call",
                "expected a comma after a bracket style value",
            )
        more = bool(after[1])
        pos = after.end()
    return arguments


def arguments_json(arguments: dict[str, Any]) -> str:
    """Return the arguments as JSON text without ASCII escapes.

    Raises:
        Refusal: not_text.
    """
    text = json.dumps(arguments, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refusal("not_text", "a string contains a lone surrogate") from None
    return text


def _value(text: str, pos: int) -> tuple[Any, int]:
    if single := SINGLE.match(text, pos):
        return single[1], single.end()
    if word := WORD.match(text, pos):
        return WORDS[word[0]], word.end()
    try:
        return DECODER.raw_decode(text, pos)
    except (ValueError, RecursionError) as error:
        raise Refusal("not_json", f"a bracket style value is not JSON: {_short(error)}") from None


def _shallow(text: str) -> None:
    depth = 0
    for token in BRACKETS.finditer(text):
        depth += (token[0] in "[{") - (token[0] in "]}")
        if depth > MAX_DEPTH:
            raise Refusal("too_deep", f"arguments are nested deeper than {MAX_DEPTH} levels")


def _short(error: BaseException) -> str:
    """Return the decoder's message, without quotes from the untrusted text."""
    return error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise Refusal("duplicate_key", "a key occurs twice in one object")
    return value


def _constant(constant: str) -> None:
    raise Refusal("non_finite", f"{constant} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise Refusal("non_finite", "a number is too large for a float")
    if value.is_integer() and not _is_written(value, digits):
        raise Refusal("non_finite", "a number would be rounded to a different integer")
    return value


def _is_written(value: float, digits: str) -> bool:
    """Return True if the shortest form of a float equals the written number."""
    try:
        return Decimal(repr(value)) == Decimal(digits)
    except InvalidOperation:
        return False  # The exponent is too large for decimals, too.


DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant, parse_float=_finite)
