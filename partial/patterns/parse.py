r"""A parser for patterns.

    pattern = flags? branch ("|" branch)*           flags  = "(?" [aimsux]+ ")"
    branch  = (item quantifier?)*                   item   = char | class | group | anchor | "\1"
    group   = "(" kind pattern ")"                  anchor = "^" | "$" | "\A" | "\Z"

This is the supported part of the syntax of `regex`, version 0. Other syntax is refused, with an
alternative in the message. `check.py` may refuse a parsed pattern.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn

import regex

from ..errors import UsageError

__all__ = ["Atom", "Group", "Kind", "Node", "Repeat", "parse_pattern"]

# The parser and the checks recurse once per group.
MAX_NESTING = 50
"""The maximum depth of nested groups."""

FLAGS = {"a": regex.A, "i": regex.I, "m": regex.M, "s": regex.S, "u": regex.U, "x": regex.X}
ALLOWED = regex.A | regex.I | regex.M | regex.S | regex.U | regex.X | regex.V0

QUANTIFIER = re.compile(r"([*+?]|\{(?:(\d+)(,?)(\d*)|,(\d+))\})([?+]?)")
# Some braces are literal in `regex`, but others would begin a quantifier or a fuzzy match.
PLAIN_BRACE = re.compile(r"\{(?![\w\s<>,:=+])")
CLASS = re.compile(
    r"\[\^?+\]?+(?:\[:\^?\w+:\]|\\[pP]\{[^}]*\}|\\N\{[^}]*\}|\\[^NpP\d]|[^\\\[\]])*+\]", re.DOTALL
)
# One character: a class, a control character, a code, a name, or an escaped character.
ESCAPE = re.compile(
    r"\\(?:[dDwWsSafnrtv]|x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}"
    r"|[pP]\{[^}]*\}|N\{[^}]*\}|[^\w])",
    re.DOTALL,
)
BACK = re.compile(r"\\([1-9]\d?)(?!\d)|\\g<(\w+)>|\(\?P=(\w+)\)")
# Only these groups are supported. Others begin with the same characters, so the list is explicit.
OPENING = re.compile(r"\((?:\?(?:[:=!>]|<[=!]|P?<(?![=!])\w+>|([imsx]*)(?:-([imsx]+))?:)|(?![?*]))")
COMMENT = re.compile(r"\(\?#[^)]*\)")
BLANK = re.compile(r"(?:\s|#[^\n]*(?:\n|\Z))+")
GLOBAL_FLAGS = re.compile(r"\(\?([aimsux]+)\)")
# Common spellings of "any character". They may be repeated lazily, like a dot.
ANY_CLASS = re.compile(r"\[(?:\\d\\D|\\D\\d|\\s\\S|\\S\\s|\\w\\W|\\W\\w)\]")

WORD_EDGE = r"write (?<!\w) before a word, (?!\w) after it"
# Each refusal names an alternative, because the syntax itself is valid.
INSTEAD = {
    r"\b": WORD_EDGE,
    r"\B": r"write (?<=\w)(?=\w)",
    r"\m": WORD_EDGE,
    r"\M": WORD_EDGE,
    r"\<": WORD_EDGE,
    r"\>": WORD_EDGE,
    r"\K": "use a lookbehind (?<=...) for the part before it, or a group for the part after it",
    r"\G": "use match(), which tries one place only",
    r"\R": r"write (?:\r\n|\n)",
    r"\X": "write . or a class of characters",
    r"\L": "write the words as alternatives (?:...|...)",
    r"\z": r"write \Z",
    r"\0": r"write \x00",
    "(?(": "write both cases as alternatives (?:...|...)",
    "(?|": "number the groups in sequence",
    "(?r": "write the pattern forwards",
    "(?p": "put the longer alternative first",
    "(?b": "spell out the variants: fuzzy matching is not supported",
    "(?e": "spell out the variants: fuzzy matching is not supported",
    "(?f": "use (?i), which compares one character with one",
    "(?R": "recursion is not supported: count brackets in code",
    "(?&": "recursion is not supported: count brackets in code",
    "(?w": "leave the flag out",
    "(?V": "leave it out and use the syntax of version 0",
    "(*": "backtracking verbs are not supported",
    "{": r"write \{ for a brace; fuzzy matching is not supported",
}


class Kind(StrEnum):
    """The kinds of an `Atom`."""

    CHAR = "one character"
    ANY = "any one character"
    START = "the start of the text"
    LINE_START = "the start of a line"
    END = "the end of the text"
    LAST_LINE_END = "the end of the text or of its last line"
    LINE_END = "the end of a line"
    BACK = "the text of a group"


@dataclass(frozen=True, slots=True)
class Atom:
    """The smallest part of a pattern; `flags` are the letters of "imsx" in force."""

    kind: Kind
    source: str
    flags: str

    @property
    def one(self) -> bool:
        """True if the atom is one character."""
        return self.kind in (Kind.CHAR, Kind.ANY)


@dataclass(frozen=True, slots=True)
class Repeat:
    """An item and its quantifier; `high` is None for no limit, `mode` is "", "?" or "+"."""

    item: Node
    quantifier: str
    low: int
    high: int | None
    mode: str


@dataclass(frozen=True, slots=True)
class Group:
    """Branches in parentheses; `opening` is the start of the group, such as "(?:"."""

    opening: str
    branches: tuple[tuple[Node, ...], ...]

    @property
    def ahead(self) -> bool:
        """True if the group is a lookahead."""
        return self.opening in ("(?=", "(?!")

    @property
    def behind(self) -> bool:
        """True if the group is a lookbehind."""
        return self.opening in ("(?<=", "(?<!")


Node = Atom | Repeat | Group


def parse_pattern(pattern: str, flags: int = 0) -> tuple[int, Group]:
    """Parse `pattern`, and return the flags in force and the pattern as one group.

    Raises:
        UsageError: the pattern is invalid, or its syntax is not supported.
    """
    # Patterns for bytes would have other indices than the text of a stream.
    if not isinstance(pattern, str):
        raise UsageError(f"a pattern is a str, not {type(pattern).__name__}")
    # Other flags, e.g. REVERSE and BESTMATCH, change the way of searching.
    if flags & ~ALLOWED:
        names = regex.RegexFlag(flags & ~ALLOWED)
        raise UsageError(f"flags {names!r}: only ASCII, I, M, S, U, X and VERSION0 are supported")
    try:
        # `regex` reports all syntax errors, so this parser sees only valid patterns.
        regex.compile(pattern, flags)
    except (regex.error, ValueError, OverflowError, RecursionError) as error:
        raise UsageError(f"{pattern!r} is not a pattern: {error}") from error
    found = GLOBAL_FLAGS.match(pattern)
    if found:
        for letter in found[1]:
            flags |= FLAGS[letter]
    # Only these flags can change inside a pattern.
    letters = "".join(letter for letter in "imsx" if flags & FLAGS[letter])
    parser = Parser(pattern, found.end() if found else 0)
    return flags, Group("(?:", parser.branches(letters, 0))


class Parser:
    """Reads a pattern that `regex` compiles, so unknown syntax is unsupported, not wrong."""

    __slots__ = ("pattern", "pos")

    def __init__(self, pattern: str, pos: int) -> None:
        self.pattern = pattern
        self.pos = pos

    def branches(self, flags: str, depth: int) -> tuple[tuple[Node, ...], ...]:
        """Read branches up to the closing parenthesis, or to the end."""
        # The recursion must not overflow the stack of the caller.
        if depth > MAX_NESTING:
            raise UsageError(f"a pattern with groups nested more than {MAX_NESTING} deep")
        branches: list[tuple[Node, ...]] = []
        branch: list[Node] = []
        while True:
            # Comments may occur between all items.
            self._blanks(flags)
            char = self.pattern[self.pos : self.pos + 1]
            if char in ("", "|", ")"):
                branches.append(tuple(branch))
                if char != "|":
                    return tuple(branches)
                branch = []
                self.pos += 1
            else:
                item = self._item(char, flags, depth)
                # In a verbose pattern, whitespace may separate an item and its quantifier.
                self._blanks(flags)
                branch.append(self._quantified(item))

    def _blanks(self, flags: str) -> None:
        """Skip comments and, in a verbose pattern, whitespace."""
        while found := (
            COMMENT.match(self.pattern, self.pos)
            or ("x" in flags and BLANK.match(self.pattern, self.pos))
        ):
            self.pos = found.end()

    def _item(self, char: str, flags: str, depth: int) -> Node:
        if found := BACK.match(self.pattern, self.pos):
            self.pos = found.end()
            # In a group, because a digit after the reference would change its number.
            return Atom(Kind.BACK, f"(?:{found[0]})", flags)
        if char == "(":
            return self._group(flags, depth)
        if char == "[":
            found = CLASS.match(self.pattern, self.pos)
            if not found:
                self._refuse("[", r"write \[ for a bracket in a class, and codes as \xHH")
            # Classes of all characters count like a dot with the flag S.
            kind = Kind.ANY if ANY_CLASS.fullmatch(found[0]) else Kind.CHAR
            self.pos = found.end()
            return Atom(kind, found[0], flags)
        if char == "\\":
            return self._escape(flags)
        # `regex` accepts some repeated quantifiers with an unusual meaning.
        if char in "*+?":
            self._refuse(char, "write one quantifier after the repeated item")
        if char == "{" and not PLAIN_BRACE.match(self.pattern, self.pos):
            self._refuse(char, INSTEAD[char])
        self.pos += 1
        if char == ".":
            return Atom(Kind.ANY if "s" in flags else Kind.CHAR, char, flags)
        if char == "^":
            return Atom(Kind.LINE_START if "m" in flags else Kind.START, char, flags)
        if char == "$":
            return Atom(Kind.LINE_END if "m" in flags else Kind.LAST_LINE_END, char, flags)
        # Escaped, because the source is combined with other text in the probe.
        return Atom(Kind.CHAR, regex.escape(char), flags)

    def _escape(self, flags: str) -> Atom:
        two = self.pattern[self.pos : self.pos + 2]
        found = ESCAPE.match(self.pattern, self.pos)
        # Some unsupported escapes look like an escaped character.
        if two in INSTEAD or not (found or two in (r"\A", r"\Z")):
            self._refuse(two, INSTEAD.get(two, r"write the character itself, or its code \xHH"))
        if not found:
            self.pos += 2
            return Atom(Kind.START if two == r"\A" else Kind.END, two, flags)
        self.pos = found.end()
        return Atom(Kind.CHAR, found[0], flags)

    def _group(self, flags: str, depth: int) -> Group:
        found = OPENING.match(self.pattern, self.pos)
        if not found:
            text = self.pattern[self.pos : self.pos + 3]
            # Flags in the middle would apply to the complete pattern, also before them.
            if GLOBAL_FLAGS.match(self.pattern, self.pos):
                self._refuse(text, "write flags at the start, or (?i:...) around the affected part")
            known = (INSTEAD[key] for key in (text, text[:2]) if key in INSTEAD)
            self._refuse(
                text,
                next(
                    known,
                    "only (?:...), (?=...), (?!...), (?<=...), (?<!...),"
                    " (?<name>...), (?imsx-imsx:...) and comments are known",
                ),
            )
        inside = set(flags) | set(found[1] or "")
        # Flags of a group end with the group, so the outer set is not modified.
        inside -= set(found[2] or "")
        self.pos = found.end()
        branches = self.branches("".join(sorted(inside)), depth + 1)
        self.pos += 1
        return Group(found[0], branches)

    def _quantified(self, item: Node) -> Node:
        found = QUANTIFIER.match(self.pattern, self.pos)
        if not found:
            return item
        self.pos = found.end()
        text, low, comma, high, most, mode = found.groups()
        # The short quantifiers have no digits.
        if text in "*+?":
            return Repeat(item, text, int(text == "+"), 1 if text == "?" else None, mode)
        fewest = int(low or 0)
        # `{3}` means exactly three, and `{3,}` has no limit.
        limit = high or most or (None if comma else low)
        return Repeat(item, text, fewest, None if limit is None else int(limit), mode)

    def _refuse(self, construct: str, instead: str) -> NoReturn:
        where = f"at {self.pos} in {self.pattern!r}"
        raise UsageError(f"{construct} {where} is not supported: {instead}")
