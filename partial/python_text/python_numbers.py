"""Python numbers and names, written as JSON."""

from __future__ import annotations

import json
import re
from decimal import Decimal

from ..json_text.lexer import MAX_TOKEN

__all__ = ["NAMES", "is_python_name", "python_key", "python_number"]

NAMES = {"True": "true", "False": "false", "None": "null"}
NAMES |= {name: name for name in NAMES.values()}
DIGITS = "[0-9](?:_?[0-9])*+"
NUMBER = re.compile(rf"([-+]?)({DIGITS})?+(?:(\.)({DIGITS})?+)?+([eE][-+]?{DIGITS})?+")
NAME = re.compile(r"[^\W\d][-.\w]*+")
RADIX = re.compile(r"[-+]?0(?:[xX](?:_?[0-9a-fA-F])++|[oO](?:_?[0-7])++|[bB](?:_?[01])++)")


def python_number(word: str) -> str:
    """Return a Python number as JSON, unchanged if it is valid JSON; "" for other text."""
    if RADIX.fullmatch(word):
        digits = str(Decimal(int(word, 0)))  # str(int) has a length limit, str(Decimal) has none
        return digits if len(digits) <= MAX_TOKEN else ""
    found = NUMBER.fullmatch(word)
    if not found:
        return ""
    sign, whole, point, fraction, exponent = (
        (part or "").replace("_", "") for part in found.groups()
    )
    digits = whole.lstrip("0") or "0"
    is_octal = whole[:1] == "0" != digits and not point and not exponent
    if is_octal or not (whole or fraction):
        return ""
    return sign.strip("+") + digits + (point and f".{fraction or 0}") + exponent


def python_key(word: str) -> str:
    """Return the key that `json.dumps` makes of a number or name; "" for other text."""
    text = python_number(word)
    if any(char in text for char in ".eE"):
        return json.dumps(float(text))
    return NAMES.get(word) or ("0" if text == "-0" else text)


def is_python_name(word: str) -> bool:
    """Return True if `word` may name a function or argument: an identifier with dots and dashes.

    `str.isidentifier` accepts the combining marks of many scripts, which `re` excludes from words.
    """
    plain = word.replace("-", "_").replace(".", "_")
    return NAME.fullmatch(word) is not None or (plain[:1] == word[:1] and plain.isidentifier())
