r"""Translation of JSON Schema's patterns (ECMA 262) to patterns of the `regex` package.

    pattern   = branch *("|" branch)        branch = *(assertion / atom [times ["?"]])
    assertion = "^" / "$" / "\b" / "\B" / "(?" ("=" / "!" / "<=" / "<!") pattern ")"
    times     = "*" / "+" / "?" / "{m}" / "{m,}" / "{m,n}"
    atom      = "." / char / escape / class / "(" ["?:" / "?<name>"] pattern ")"
    escape    = "\" ("d" / "w" / "s" / "D" / "W" / "S" / "t" / "n" / "v" / "f" / "r" / "0" / "cA"
              / "x0F" / "u0FAF" / "u{1F600}" / "p{L}" / "P{L}" / any sign except letters and digits)
    class     = "[" ["^"] *(char ["-" char] / escape) "]"

JSON strings consist of characters, not of halves of surrogate pairs. Patterns are therefore read
with the flag `u`, and without other flags. `^` and `$` match at the ends of the text, never at a
line break. `\d`, `\w` and `\b` are limited to ASCII, and `\s` follows the standard.

Some syntax is valid only without `u`: lone `{` and `]`, `\-` and `\@`, `[\w-.]`. It is accepted,
because `u` gives it no other meaning. Syntax that only Python has is refused: in ECMA, `\Z` is `Z`
or an error.

Groups never capture, because only the existence of a match matters. Character sets become ranges,
also negated sets, because `regex` has bugs in combinations of negated sets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

import regex

__all__ = ["NotAPattern", "NotTranslated", "compiled", "is_pattern"]

MAX_NESTING = 50
"""Limit of nested groups. The reader recurses once per group."""

LAST = 0x10FFFF
Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""A set of characters: the first and last code point of each range."""


DIGIT: Ranges = ((0x30, 0x39),)
WORD: Ranges = (*DIGIT, (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
SPACES = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff"
SPACE: Ranges = (*((ord(char), ord(char)) for char in SPACES), (0x2000, 0x200A))
LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))

CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}
TIMES = re.compile(r"(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})\??", re.ASCII)
NAME = re.compile(r"<([^>]*)>")
CODES = re.compile(r"x([\da-fA-F]{2})|u([\da-fA-F]{4})|u\{([\da-fA-F]+)\}")
LOW_HALF = re.compile(r"\\u([dD][c-fC-F][\da-fA-F]{2})")
PROPERTY = re.compile(r"([pP])\{(?:(\w+)=)?(\w+)\}", re.ASCII)
PROPERTIES = frozenset({"General_Category", "gc", "Script", "sc", "Script_Extensions", "scx"})
"""Properties with values. A single name is a general category or a binary property."""

ALONE = {name: (name,) for name in ("ASCII", "Assigned")}
INSTEAD = {
    "Z": r"write $: \Z is Python's",
    "z": r"write $: \z is no escape of ECMA 262",
    "A": r"write ^: \A is Python's",
}
WORD_EDGE = r"(?:(?<={0})(?!{0})|(?<!{0})(?={0}))"
NO_EDGE = r"(?:(?<={0})(?={0})|(?<!{0})(?!{0}))"
ANCHORS = {"^": r"\A", "$": r"\Z"}
NONE = r"[^\x00-\U0010ffff]"


class NotAPattern(ValueError):
    """Invalid ECMA 262 pattern. The message contains the reason."""


class NotTranslated(ValueError):
    """Valid ECMA 262 pattern without an equivalent here. The message contains the reason."""


@lru_cache(maxsize=256)
def compiled(pattern: str) -> regex.Pattern[str]:
    r"""Return the translated pattern, to be searched anywhere in a text.

    Raises:
        NotAPattern: the pattern is invalid.
        NotTranslated: a part of the pattern has no exact equivalent, e.g. `\1`.
    """
    reader = _Reader(pattern, _of_property)
    source = reader.whole()
    if reader.beyond:
        raise NotTranslated(f"{pattern!r}: {reader.beyond} cannot be translated")
    try:
        return regex.compile(source, regex.V0)
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise NotTranslated(f"{pattern!r} cannot be translated: {error}") from error


def is_pattern(text: object) -> bool:
    """Return True if an untrusted text is a valid pattern. Other types are not checked.

    Raises:
        NotAPattern: the pattern is invalid.
    """
    if isinstance(text, str):
        # Listing the characters of a property is slow, and a check does not need them.
        _Reader(text, _checked_property).whole()
    return True


class _Reader:
    """Recursive-descent reader of one pattern. `beyond` describes untranslatable syntax."""

    def __init__(self, pattern: str, property_of: Callable[[str], Ranges]) -> None:
        self._pattern = pattern
        self._property_of = property_of
        self._at = 0
        self.beyond = ""

    def whole(self) -> str:
        """Return the complete pattern in the syntax of `regex`."""
        source = self._branches(0)
        if self._at < len(self._pattern):
            raise self._wrong("unmatched )")
        return source

    def _wrong(self, what: str) -> NotAPattern:
        return NotAPattern(f"{self._pattern!r} is not a pattern of ECMA 262: {what} at {self._at}")

    def _took(self, text: str) -> bool:
        found = self._pattern.startswith(text, self._at)
        self._at += found * len(text)
        return found

    def _matched(self, form: re.Pattern[str]) -> re.Match[str] | None:
        found = form.match(self._pattern, self._at)
        self._at = found.end() if found else self._at
        return found

    def _next(self) -> str:
        char = self._pattern[self._at : self._at + 1]
        if not char:
            raise self._wrong("unexpected end of the pattern")
        self._at += 1
        return char

    def _branches(self, depth: int) -> str:
        if depth > MAX_NESTING:
            raise self._wrong(f"more than {MAX_NESTING} nested groups")
        parts = []
        while self._at < len(self._pattern) and self._pattern[self._at] != ")":
            parts.append("|" if self._took("|") else self._term(depth))
        return "".join(parts)

    def _term(self, depth: int) -> str:
        start = self._at
        char = self._next()
        if TIMES.match(self._pattern, start):
            raise self._wrong("quantifier without an atom")
        if char in ANCHORS:
            return ANCHORS[char]
        if char == "\\" and self._pattern[self._at : self._at + 1] in ("b", "B"):
            edge = WORD_EDGE if self._next() == "b" else NO_EDGE
            return edge.format(_set(WORD))
        if char == "(":
            return self._group(depth)
        return self._times(_set(self._atom(char)))

    def _times(self, source: str) -> str:
        found = self._matched(TIMES)
        if not found:
            return source
        if found[3] and _size(found[3]) < _size(found[1]):
            raise self._wrong("numbers of a quantifier out of order")
        return source + found[0]

    def _group(self, depth: int) -> str:
        opening, looks = "(?:", False
        if self._took("?"):
            opening, looks = self._opening()
        inside = self._branches(depth + 1)
        if not self._took(")"):
            raise self._wrong("unclosed group")
        source = f"{opening}{inside})"
        return source if looks else self._times(source)

    def _opening(self) -> tuple[str, bool]:
        for look in ("=", "!", "<=", "<!"):
            if self._took(look):
                return f"(?{look}", True
        if self._took(":"):
            return "(?:", False
        name = self._matched(NAME)
        if name and name[1].replace("$", "_").isidentifier():
            return "(?:", False
        raise self._wrong("unknown kind of group")

    def _atom(self, char: str) -> Ranges:
        """Read the rest of an atom and return the characters it matches."""
        if char == ".":
            return ANY
        if char == "[":
            return self._class()
        if char == "\\":
            return self._escape(self._next())
        return ((ord(char), ord(char)),)

    def _class(self) -> Ranges:
        negated = self._took("^")
        ranges: list[tuple[int, int]] = []
        while not self._took("]"):
            low = self._member()
            if self._pattern.startswith("-", self._at) and self._pattern[self._at + 1 :][:1] != "]":
                self._at += 1
                ranges += self._between(low, self._member())
            else:
                ranges += low
        return _others(tuple(ranges)) if negated else tuple(ranges)

    def _between(self, low: Ranges, high: Ranges) -> Ranges:
        """Return the range between two members of a class."""
        if not (_single(low) and _single(high)):
            return (*low, (ord("-"), ord("-")), *high)
        if low > high:
            raise self._wrong("range out of order")
        return ((low[0][0], high[0][0]),)

    def _member(self) -> Ranges:
        char = self._next()
        if char != "\\":
            return ((ord(char), ord(char)),)
        char = self._next()
        return ((8, 8),) if char == "b" else self._escape(char)

    def _escape(self, char: str) -> Ranges:
        if ranges := CLASSES.get(char.lower()):
            return ranges if char.islower() else _others(ranges)
        self._at -= 1
        if found := self._matched(PROPERTY):
            return self._property(found)
        if found := self._matched(CODES):
            return self._coded(found)
        self._at += 1
        return ((ord(self._single(char)),) * 2,)

    def _single(self, char: str) -> str:
        """Read the rest of an escape without a code point and return its character."""
        if char in CONTROLS:
            return CONTROLS[char]
        after = self._pattern[self._at : self._at + 1]
        if char == "0" and not (after.isascii() and after.isdigit()):
            return "\0"
        if char == "c" and after.isascii() and after.isalpha():
            return chr(ord(self._next()) % 32)
        if char in "123456789" or (char == "k" and self._matched(NAME)):
            self.beyond = "a backreference"
        elif char.isalnum():
            raise self._wrong(INSTEAD.get(char, f"unknown escape \\{char}"))
        return char

    def _coded(self, found: re.Match[str]) -> Ranges:
        code = int(found[1] or found[2] or found[3], 16)
        if 0xD800 <= code <= 0xDBFF and found[2] and (low := self._matched(LOW_HALF)):
            code = 0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00
        if code > LAST:
            raise self._wrong("code point above U+10FFFF")
        return ((code, code),)

    def _property(self, found: re.Match[str]) -> Ranges:
        kind, key, value = found.groups()
        forms = [f"{key}={value}"] if key in PROPERTIES else []
        if key is None:
            forms = [f"gc={value}", f"{value}=Yes", *ALONE.get(value, ())]
        for form in forms:
            try:
                ranges = self._property_of(form)
            except regex.error:
                continue
            return ranges if kind == "p" else _others(ranges)
        raise self._wrong(f"unknown property {found[0]}")


def _checked_property(name: str) -> Ranges:
    """Check that a property exists. Return placeholder characters."""
    regex.compile(rf"\p{{{name}}}", regex.V0)
    return WORD


@lru_cache(maxsize=64)
def _of_property(name: str) -> Ranges:
    """Return the characters with a Unicode property."""
    found = regex.compile(rf"\p{{{name}}}+", regex.V0)
    return tuple((run.start(), run.end() - 1) for run in found.finditer(_all_characters()))


def _all_characters() -> str:
    return "".join(map(chr, range(LAST + 1)))


def _size(digits: str) -> tuple[int, str]:
    """Return a sort key for numbers of any length, without converting them."""
    digits = digits.lstrip("0")
    return len(digits), digits


def _single(ranges: Ranges) -> bool:
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]


def _merged(ranges: Ranges) -> Ranges:
    """Return the same characters as sorted ranges without overlaps or adjacent ranges."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _others(ranges: Ranges) -> Ranges:
    """Return the complement of a set of characters."""
    after, found = 0, []
    for low, high in _merged(ranges):
        if low > after:
            found.append((after, low - 1))
        after = high + 1
    return (*found, (after, LAST)) if after <= LAST else tuple(found)


def _set(ranges: Ranges) -> str:
    """Return a set of characters in the syntax of `regex`."""
    if _single(ranges):
        return regex.escape(chr(ranges[0][0]))
    inside = "".join(rf"\U{low:08x}-\U{high:08x}" for low, high in _merged(ranges))
    return f"[{inside}]" if inside else NONE


ANY = _others(LINE_ENDS)
CLASSES: dict[str, Ranges] = {"d": DIGIT, "w": WORD, "s": SPACE}
