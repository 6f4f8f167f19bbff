r"""From the text of a candidate to its arguments: strict, nothing repaired, nothing filled in.

JSON is RFC 8259, and less: no key twice, no NaN or Infinity nor a number that becomes one, none
that becomes another whole number (0.99999999999999999999, 9007199254740993.0), no half of a
surrogate pair, no more than `MAX_DEPTH` levels, nothing after the value.

    bracket    = [ member *( "," member ) ]
    member     = key "=" value              key: an ASCII identifier
    value      = JSON / True / False / None / single
    single     = "'" *( not "'", "\", control character ) "'"

What Python would also read here (a name, 1_000, 'a' 'b', **more, an argument without its name, an
escape in single quotes) is refused, because its meaning would be guessed. So are single quotes
inside lists and objects.
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
"""Levels of nesting: the validator needs ten frames or more for each, of the thousand there are."""

SPACE = " \t\r\n"
KEY = re.compile(r"[ \t\r\n]*+([A-Za-z_][A-Za-z0-9_]*+)[ \t\r\n]*+=[ \t\r\n]*+")
SINGLE = re.compile(r"'([^'\\\x00-\x1f]*+)'")
# Both a string that ends and one that does not are consumed: no character is read twice. In JSON a
# single quotation mark is an error, behind which nothing is read.
BRACKETS = re.compile(rf'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|{SINGLE.pattern}|[][{{}}]', re.DOTALL)
WORD = re.compile(r"(?:True|False|None)(?![A-Za-z0-9_])")
NEXT = re.compile(r"[ \t\r\n]*+(,|\Z)")
WORDS = {"True": True, "False": False, "None": None}


def strict_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        Refusal: too_deep, not_json, duplicate_key, non_finite.
    """
    _shallow(text)
    try:
        return DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        # RecursionError: the caller stands deep in its own stack.
        raise Refusal("not_json", f"the payload is not one JSON value: {_short(error)}") from None


def bracket_arguments(text: str) -> dict[str, Any]:
    """Return the arguments that `key=value, ...` names; the grammar is at the top of this module.

    Raises:
        Refusal: as `strict_json`, and malformed_call.
    """
    _shallow(text)
    arguments: dict[str, Any] = {}
    pos = 0
    more = bool(text.strip(SPACE))
    while more:
        key = KEY.match(text, pos)
        if key is None:
            raise Refusal("malformed_call", "bracket style takes key=value arguments only")
        if key[1] in arguments:
            raise Refusal("duplicate_key", "an argument is given twice")
        arguments[key[1]], pos = _value(text, key.end())
        after = NEXT.match(text, pos)
        if after is None:
            raise Refusal("malformed_call", "a bracket style value is JSON, and a comma follows it")
        more = bool(after[1])
        pos = after.end()
    return arguments


def arguments_json(arguments: dict[str, Any]) -> str:
    """Return the arguments as JSON text, not in ASCII only.

    Raises:
        Refusal: not_text.
    """
    text = json.dumps(arguments, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refusal("not_text", "a string holds half of a surrogate pair") from None
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
            raise Refusal("too_deep", f"arguments nest at most {MAX_DEPTH} levels deep")


def _short(error: BaseException) -> str:
    """What the decoder says, which quotes nothing of the text."""
    return error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise Refusal("duplicate_key", "a key stands twice in one object")
    return value


def _constant(constant: str) -> None:
    raise Refusal("non_finite", f"{constant} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise Refusal("non_finite", "a number is larger than any float")
    if value.is_integer() and not _is_written(value, digits):
        raise Refusal("non_finite", "a number that no float holds becomes another whole number")
    return value


def _is_written(value: float, digits: str) -> bool:
    """Whether a float, written as short as can be, is the number that was written."""
    try:
        return Decimal(repr(value)) == Decimal(digits)
    except InvalidOperation:
        return False  # an exponent that no decimal has either


DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant, parse_float=_finite)
