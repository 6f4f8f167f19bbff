"""JSON Schema's `format` for strings, as patterns.

Each pattern accepts a subset of the format, or all of it if the format is regular and small. `date`
checks the days of the months and leap years, from year 1 on. `time` and `date-time` exclude leap
seconds, and allow at most nine digits of a second. `email` and `hostname` are ASCII. Other formats
are not expressed.
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
_ATEXT = r"[A-Za-z0-9!#$%&'*+\-/=?_`{|}~]"
# The limit before the @ is 64 characters.
_LOCAL = (
    rf"(?:{_ATEXT}{{1,30}}(?:\.{_ATEXT}{{1,30}})?|{_ATEXT}{{1,12}}(?:\.{_ATEXT}{{1,12}}){{2,4}})"
)
_POINTER = r"(?:\/(?:[^\/~]|~[01])*)*"
_CLOCKED = r"T(?:\d{1,9}H(?:\d{1,9}M(?:\d{1,9}S)?)?|\d{1,9}M(?:\d{1,9}S)?|\d{1,9}S)"
_DAYS = r"(?:\d{1,9}Y(?:\d{1,9}M(?:\d{1,9}D)?)?|\d{1,9}M(?:\d{1,9}D)?|\d{1,9}D)"
_H16 = r"[0-9a-fA-F]{1,4}"
_LS32 = rf"(?:{_H16}:{_H16}|{_BYTE}(?:\.{_BYTE}){{3}})"
_IPV6 = "|".join(
    [
        rf"(?:{_H16}:){{6}}{_LS32}",
        rf"::(?:{_H16}:){{5}}{_LS32}",
        *(rf"(?:{_H16}(?::{_H16}){{0,{n}}})?::(?:{_H16}:){{{4 - n}}}{_LS32}" for n in range(4)),
        rf"(?:{_H16}(?::{_H16}){{0,4}})?::{_LS32}",
        rf"(?:{_H16}(?::{_H16}){{0,5}})?::{_H16}",
        rf"(?:{_H16}(?::{_H16}){{0,6}})?::",
    ]
)

FORMATS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": rf"{_DATE}T{_TIME}",
    "uuid": r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    "ipv4": rf"{_BYTE}(?:\.{_BYTE}){{3}}",
    "hostname": rf"{_LABEL}(?:\.{_LABEL}){{0,3}}",  # the limit is 253 characters
    "email": rf"{_LOCAL}@{_LABEL}(?:\.{_LABEL}){{1,3}}",
    "ipv6": _IPV6,
    "duration": rf"P(?:{_DAYS}(?:{_CLOCKED})?|{_CLOCKED}|\d{{1,9}}W)",
    "json-pointer": _POINTER,
    "relative-json-pointer": rf"(?:0|[1-9]\d*)(?:#|{_POINTER})",
}


MAX_FORMAT = 5_000
"""Most characters of a format's pattern."""


@cache
def format_text(name: str) -> Expr | None:
    """Return the texts of a format, or None if it is not in `FORMATS`."""
    if name not in FORMATS:
        return None
    return pattern_text(f"^(?:{FORMATS[name]})$", longest=MAX_FORMAT)
