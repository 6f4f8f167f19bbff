r"""JSON Schema's `format` for strings, as patterns.

Each of these is a part of what the format allows, and all of it where that is regular and small:
`date` knows the days of the months and the leap years, from year 1 on; `time` and `date-time` have
no leap second, and nine digits of a second at most; `email` and `hostname` are of ASCII. Formats
that are not here are not expressed.
"""

from __future__ import annotations

from functools import cache

from ..rules.rules import Expr
from .patterns import pattern_text

__all__ = ["FORMATS", "format_text"]

_YEAR = r"(?:\d{3}[1-9]|\d{2}[1-9]0|\d[1-9]00|[1-9]000)"
_LEAP_YEAR = r"(?:\d{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
_DATE = (
    rf"(?:{_YEAR}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))"
    rf"|{_LEAP_YEAR}-02-29)"
)
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d"
_TIME = rf"{_CLOCK}:[0-5]\d(?:\.\d{{1,9}})?(?:Z|[+\-]{_CLOCK})"
_BYTE = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9\-]{0,61}[A-Za-z0-9])?"
_ATEXT = r"[A-Za-z0-9!#$%&'*+\-/=?_`{|}~]{1,30}"

FORMATS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": rf"{_DATE}T{_TIME}",
    "uuid": r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    "ipv4": rf"{_BYTE}(?:\.{_BYTE}){{3}}",
    "hostname": rf"{_LABEL}(?:\.{_LABEL}){{0,3}}",  # 253 characters are allowed
    "email": rf"{_ATEXT}(?:\.{_ATEXT}){{0,1}}@{_LABEL}(?:\.{_LABEL}){{1,3}}",
}


@cache
def format_text(name: str) -> Expr | None:
    """Make the texts of a format, or return None where it is not one of `FORMATS`."""
    return pattern_text(f"^(?:{FORMATS[name]})$") if name in FORMATS else None
