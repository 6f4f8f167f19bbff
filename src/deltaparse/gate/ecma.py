r"""JSON Schema's patterns, which are ECMA 262's, as patterns of `regex`.

    pattern   = branch *("|" branch)        branch = *(assertion / atom [times ["?"]])
    assertion = "^" / "$" / "\b" / "\B" / "(?" ("=" / "!" / "<=" / "<!") pattern ")"
    times     = "*" / "+" / "?" / "{m}" / "{m,}" / "{m,n}"
    atom      = "." / char / escape / class / "(" ["?:" / "?<name>"] pattern ")"
    escape    = "\" ("d" / "w" / "s" / "D" / "W" / "S" / "t" / "n" / "v" / "f" / "r" / "0" / "cA"
              / "x0F" / "u0FAF" / "u{1F600}" / "p{L}" / "P{L}" / what is no letter and no digit)
    class     = "[" ["^"] *(char ["-" char] / escape) "]"

A text is what JSON has: characters, not halves of them, so patterns mean what they do with the flag
`u`, and without all others. `^` and `$` are the ends of the text, never of a line; `\d`, `\w` and
`\b` are of ASCII; what `\s` is, the standard says. Where only patterns without `u` may be
written so, and `u` knows no other meaning, they are read as those are: `{` and `]` by themselves,
`\-` and `\@`, `[\w-.]`. What Python has beside that is refused: `\Z` is `Z` or an error in ECMA.

Only whether a pattern is found matters, so no group is one that captures. Sets of characters become
ranges, negated ones too: `regex` has errors where negated sets meet.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

import regex

__all__ = ["NotAPattern", "NotTranslated", "compiled", "is_pattern"]

MAX_NESTING = 50
"""Groups within groups."""

LAST = 0x10FFFF
Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Characters, by the first and the last of each run of them."""


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
"""Properties that have values; what stands by itself is a category, or is there or not."""

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
    """Text that is no pattern of ECMA 262; the text says why."""


class NotTranslated(ValueError):
    """A pattern of ECMA 262 that means nothing here; the text says why."""


@lru_cache(maxsize=256)
def compiled(pattern: str) -> regex.Pattern[str]:
    r"""Translate a pattern, which is then looked for anywhere in a text.

    Raises:
        NotAPattern: it is none.
        NotTranslated: it has what cannot be translated to the letter, such as `\1`.
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
    """Whether a text, which may be hostile, is a pattern; what is no text is not asked about.

    Raises:
        NotAPattern: it is none.
    """
    if isinstance(text, str):
        # To find the characters of a property takes long, and here nobody needs them.
        _Reader(text, _checked_property).whole()
    return True


class _Reader:
    """Reads a pattern once; `beyond` is what it has that cannot be translated."""

    def __init__(self, pattern: str, property_of: Callable[[str], Ranges]) -> None:
        self._pattern = pattern
        self._property_of = property_of
        self._at = 0
        self.beyond = ""

    def whole(self) -> str:
        """Return the whole pattern as one of `regex`."""
        source = self._branches(0)
        if self._at < len(self._pattern):
            raise self._wrong("a ) that closes nothing")
        return source

    def _wrong(self, what: str) -> NotAPattern:
        return NotAPattern(f"{self._pattern!r} is no pattern of ECMA 262: {what} at {self._at}")

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
            raise self._wrong("what was begun does not end")
        self._at += 1
        return char

    def _branches(self, depth: int) -> str:
        if depth > MAX_NESTING:
            raise self._wrong(f"groups nest more than {MAX_NESTING} deep")
        parts = []
        while self._at < len(self._pattern) and self._pattern[self._at] != ")":
            parts.append("|" if self._took("|") else self._term(depth))
        return "".join(parts)

    def _term(self, depth: int) -> str:
        start = self._at
        char = self._next()
        if TIMES.match(self._pattern, start):
            raise self._wrong("nothing to repeat")
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
            raise self._wrong("a repeat from more to less")
        return source + found[0]

    def _group(self, depth: int) -> str:
        opening, looks = "(?:", False
        if self._took("?"):
            opening, looks = self._opening()
        inside = self._branches(depth + 1)
        if not self._took(")"):
            raise self._wrong("a group that does not end")
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
        raise self._wrong("a group of an unknown kind")

    def _atom(self, char: str) -> Ranges:
        """Read the rest of what is one character; return which."""
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
        """Return the range from one member of a class to another."""
        if not (_single(low) and _single(high)):
            return (*low, (ord("-"), ord("-")), *high)
        if low > high:
            raise self._wrong("a range from more to less")
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
        """Read the rest of the escape of one character that has no number."""
        if char in CONTROLS:
            return CONTROLS[char]
        after = self._pattern[self._at : self._at + 1]
        if char == "0" and not (after.isascii() and after.isdigit()):
            return "\0"
        if char == "c" and after.isascii() and after.isalpha():
            return chr(ord(self._next()) % 32)
        if char in "123456789" or (char == "k" and self._matched(NAME)):
            self.beyond = "what refers back to a group"
        elif char.isalnum():
            raise self._wrong(INSTEAD.get(char, f"the unknown escape \\{char}"))
        return char

    def _coded(self, found: re.Match[str]) -> Ranges:
        code = int(found[1] or found[2] or found[3], 16)
        if 0xD800 <= code <= 0xDBFF and found[2] and (low := self._matched(LOW_HALF)):
            code = 0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00
        if code > LAST:
            raise self._wrong("a character that there is not")
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
        raise self._wrong(f"the unknown property {found[0]}")


def _checked_property(name: str) -> Ranges:
    """Return some characters in the place of those that have a property, which there must be."""
    regex.compile(rf"\p{{{name}}}", regex.V0)
    return WORD


@lru_cache(maxsize=64)
def _of_property(name: str) -> Ranges:
    """Return the characters that have a property of Unicode."""
    found = regex.compile(rf"\p{{{name}}}+", regex.V0)
    return tuple((run.start(), run.end() - 1) for run in found.finditer(_all_characters()))


def _all_characters() -> str:
    return "".join(map(chr, range(LAST + 1)))


def _size(digits: str) -> tuple[int, str]:
    """Return what numbers, which may have any length, are compared by."""
    digits = digits.lstrip("0")
    return len(digits), digits


def _single(ranges: Ranges) -> bool:
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]


def _merged(ranges: Ranges) -> Ranges:
    """Return the same characters in order, in ranges that do not touch."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _others(ranges: Ranges) -> Ranges:
    """Return all other characters."""
    after, found = 0, []
    for low, high in _merged(ranges):
        if low > after:
            found.append((after, low - 1))
        after = high + 1
    return (*found, (after, LAST)) if after <= LAST else tuple(found)


def _set(ranges: Ranges) -> str:
    """Return characters as a set of `regex`."""
    if _single(ranges):
        return regex.escape(chr(ranges[0][0]))
    inside = "".join(rf"\U{low:08x}-\U{high:08x}" for low, high in _merged(ranges))
    return f"[{inside}]" if inside else NONE


ANY = _others(LINE_ENDS)
CLASSES: dict[str, Ranges] = {"d": DIGIT, "w": WORD, "s": SPACE}
