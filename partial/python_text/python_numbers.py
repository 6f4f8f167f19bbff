"""Python numbers and names, written as JSON."""

from __future__ import annotations

import json
import re
from decimal import Decimal

from ..json_text.lexer import MAX_TOKEN

__all__ = ["NAMES", "is_python_name", "python_key", "python_number"]

NAMES = {"True": "true", "False": "false", "None": "null"}
# JSON names are accepted too, because models mix both notations.
NAMES |= {name: name for name in NAMES.values()}
# Possessive, because long digit strings would otherwise be retried.
DIGITS = "[0-9](?:_?[0-9])*+"
NUMBER = re.compile(rf"([-+]?)({DIGITS})?+(?:(\.)({DIGITS})?+)?+([eE][-+]?{DIGITS})?+")
NAME = re.compile(r"[^\W\d][-.\w]*+")
# Integers in other bases have no JSON notation, so they are converted.
RADIX = re.compile(r"[-+]?0(?:[xX](?:_?[0-9a-fA-F])++|[oO](?:_?[0-7])++|[bB](?:_?[01])++)")


def python_number(word: str) -> str:
    """Return a Python number as JSON, unchanged if it is valid JSON, or "" for other text."""
    if RADIX.fullmatch(word):
        digits = str(Decimal(int(word, 0)))  # str(int) has a length limit, str(Decimal) has none
        return digits if len(digits) <= MAX_TOKEN else ""
    # Each part is optional, because "1." and ".5" are valid in Python.
    found = NUMBER.fullmatch(word)
    if not found:
        return ""
    sign, whole, point, fraction, exponent = (
        (part or "").replace("_", "") for part in found.groups()
    )
    digits = whole.lstrip("0") or "0"
    # Python rejects leading zeros of nonzero integers, because they were octal once.
    is_octal = whole[:1] == "0" != digits and not point and not exponent
    if is_octal or not (whole or fraction):
        return ""
    return sign.strip("+") + digits + (point and f".{fraction or 0}") + exponent


def python_key(word: str) -> str:
    """Return the key written by `json.dumps` for a number or name, or "" for other text."""
    text = python_number(word)
    # `json.dumps` normalizes float keys, e.g. 1.50 becomes "1.5".
    if any(char in text for char in ".eE"):
        return json.dumps(float(text))
    # In Python -0 and 0 are the same key.
    return NAMES.get(word) or ("0" if text == "-0" else text)


def is_python_name(word: str) -> bool:
    """Return True if `word` may name a function or argument: an identifier with dots and dashes.

    `str.isidentifier` accepts the combining marks of many scripts, which `re` excludes from words.
    """
    plain = word.replace("-", "_").replace(".", "_")
    return NAME.fullmatch(word) is not None or (plain[:1] == word[:1] and plain.isidentifier())
