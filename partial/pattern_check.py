r"""What a pattern is made of, and whether it can be looked for in text that is not all there.

    pattern = flags? branch ("|" branch)*           flags  = "(?" [aimsux]+ ")"
    branch  = (item quantifier?)*                   item   = char | class | group | anchor | "\1"
    group   = "(" kind pattern ")"                  anchor = "^" | "$" | "\A" | "\Z"

This is a part of the syntax of `regex`, version 0, and the only part that is accepted: what is not
known here is refused, with a word on what to write instead, because a pattern whose partial
matches are inexact loses or delays text, and does so only for some ways of cutting it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, NoReturn

import regex

from .errors import UsageError

__all__ = [
    "MAX_BEHIND",
    "MISSING",
    "ONE",
    "Atom",
    "CheckedPattern",
    "Group",
    "Kind",
    "Node",
    "Repeat",
    "check_pattern",
    "parse_pattern",
]

MAX_BEHIND = 255
"""Characters that a lookbehind may look at: as many are kept of the text that is done with."""

MAX_NESTING = 50

MISSING = r"[^\x00-\U0010ffff]"
r"""No character there is. (`[^\s\S]` would say so, but `regex` 2026.11 matches any with it.)"""

FLAGS = {"a": regex.A, "i": regex.I, "m": regex.M, "s": regex.S, "u": regex.U, "x": regex.X}
ALLOWED = regex.A | regex.I | regex.M | regex.S | regex.U | regex.X | regex.V0

QUANTIFIER = re.compile(r"([*+?]|\{(?:(\d+)(,?)(\d*)|,(\d+))\})([?+]?)")
PLAIN_BRACE = re.compile(r"\{(?![\w\s<>,:=+])")
CLASS = re.compile(
    r"\[\^?+\]?+(?:\[:\^?\w+:\]|\\[pP]\{[^}]*\}|\\N\{[^}]*\}|\\[^NpP\d]|[^\\\[\]])*+\]", re.DOTALL
)
# One character: a kind of characters, a control character, a code, a name, or itself.
ESCAPE = re.compile(
    r"\\(?:[dDwWsSafnrtv]|x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}"
    r"|[pP]\{[^}]*\}|N\{[^}]*\}|[^\w])",
    re.DOTALL,
)
BACK = re.compile(r"\\([1-9]\d?)(?!\d)|\\g<(\w+)>|\(\?P=(\w+)\)")
OPENING = re.compile(r"\((?:\?(?:[:=!>]|<[=!]|P?<(?![=!])\w+>|([imsx]*)(?:-([imsx]+))?:)|(?![?*]))")
COMMENT = re.compile(r"\(\?#[^)]*\)")
BLANK = re.compile(r"(?:\s|#[^\n]*(?:\n|\Z))+")
GLOBAL_FLAGS = re.compile(r"\(\?([aimsux]+)\)")
ANY_CLASS = re.compile(r"\[(?:\\d\\D|\\D\\d|\\s\\S|\\S\\s|\\w\\W|\\W\\w)\]")

WORD_EDGE = r"write (?<!\w) before a word, (?!\w) after it"
INSTEAD = {
    r"\b": WORD_EDGE,
    r"\B": r"write (?<=\w)(?=\w)",
    r"\m": WORD_EDGE,
    r"\M": WORD_EDGE,
    r"\<": WORD_EDGE,
    r"\>": WORD_EDGE,
    r"\K": "put what comes before it into a lookbehind (?<=...), or what comes after into a group",
    r"\G": "use match(), which looks at one place only",
    r"\R": r"write (?:\r\n|\n)",
    r"\X": "write . or a class of characters",
    r"\L": "write the words as alternatives (?:...|...)",
    r"\z": r"write \Z",
    r"\0": r"write \x00",
    "(?(": "write both cases as alternatives (?:...|...)",
    "(?|": "number the groups one after the other",
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
    """What an `Atom` is."""

    CHAR = "one character"
    ANY = "any one character"
    START = "the start of the text"
    LINE_START = "the start of a line"
    END = "the end of the text"
    LAST_LINE_END = "the end of the text or of its last line"
    LINE_END = "the end of a line"
    BACK = "what a group matched"


ONE = (Kind.CHAR, Kind.ANY)


@dataclass(frozen=True, slots=True)
class Atom:
    """The smallest part of a pattern; `flags` are those of "imsx" that are on for it."""

    kind: Kind
    source: str
    flags: str


@dataclass(frozen=True, slots=True)
class Repeat:
    """An item and its quantifier. `high` is None for no limit, `mode` "", "?" or "+"."""

    item: Node
    quantifier: str
    low: int
    high: int | None
    mode: str


@dataclass(frozen=True, slots=True)
class Group:
    """Branches in parentheses. `opening` is how it begins, such as "(?:"."""

    opening: str
    branches: tuple[tuple[Node, ...], ...]

    @property
    def ahead(self) -> bool:
        """Whether it is a lookahead."""
        return self.opening in ("(?=", "(?!")

    @property
    def behind(self) -> bool:
        """Whether it is a lookbehind."""
        return self.opening in ("(?<=", "(?<!")


Node = Atom | Repeat | Group


class CheckedPattern(NamedTuple):
    """What `check_pattern` found out.

    `flags` are those given and those that the pattern begins with; `probe` is the pattern without
    these, in which each end of the text is a place where text is missing; `behind` is how far it
    looks behind; `first` matches the characters that a match can begin with ("" if not known),
    with its own flags but A and U.
    """

    flags: int
    probe: str
    behind: int
    first: str


def check_pattern(pattern: str, flags: int = 0) -> CheckedPattern:
    """Check that `pattern` can be looked for exactly; raise `UsageError` where it cannot."""
    flags, tree = parse_pattern(pattern, flags)
    backwards = any(map(_looks_back, _walk(tree)))
    for node in _walk(tree):
        _check(node)
        if isinstance(node, Repeat):
            _check_lazy(node, backwards=backwards)
    if _width(tree)[0] == 0:
        raise UsageError(
            f"{pattern!r} may match the empty text, which is everywhere: let at least one character"
            " of it be needed (+ for *, no ? at the end)"
        )
    first = _first(tree.branches)
    return CheckedPattern(
        flags=flags & ~regex.X,
        probe=_source(tree, ends=False),
        behind=_behind(tree),
        first="" if first is None else "|".join(sorted(first)),
    )


def parse_pattern(pattern: str, flags: int = 0) -> tuple[int, Group]:
    """Parse `pattern`; return the flags in force and the whole as one group.

    Raises `UsageError` for what is wrong, and for all syntax that is not known here.
    """
    if not isinstance(pattern, str):
        raise UsageError(f"a pattern is a str, not {type(pattern).__name__}")
    if flags & ~ALLOWED:
        names = regex.RegexFlag(flags & ~ALLOWED)
        raise UsageError(f"flags {names!r}: only ASCII, I, M, S, U, X and VERSION0 are supported")
    try:
        regex.compile(pattern, flags)
    except (regex.error, ValueError, OverflowError, RecursionError) as error:
        raise UsageError(f"{pattern!r} is not a pattern: {error}") from error
    found = GLOBAL_FLAGS.match(pattern)
    if found:
        for letter in found[1]:
            flags |= FLAGS[letter]
    letters = "".join(letter for letter in "imsx" if flags & FLAGS[letter])
    parser = Parser(pattern, found.end() if found else 0)
    return flags, Group("(?:", parser.branches(letters, 0))


class Parser:
    """Reads a pattern that `regex` compiles, so that what is wrong is not known, but not bad."""

    __slots__ = ("pattern", "pos")

    def __init__(self, pattern: str, pos: int) -> None:
        self.pattern = pattern
        self.pos = pos

    def branches(self, flags: str, depth: int) -> tuple[tuple[Node, ...], ...]:
        """Read up to the parenthesis that closes this, or the end."""
        if depth > MAX_NESTING:
            raise UsageError(f"a pattern with groups nested more than {MAX_NESTING} deep")
        branches: list[tuple[Node, ...]] = []
        branch: list[Node] = []
        while True:
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
                self._blanks(flags)
                branch.append(self._quantified(item))

    def _blanks(self, flags: str) -> None:
        """Skip comments and, in a verbose pattern, white space."""
        while found := (
            COMMENT.match(self.pattern, self.pos)
            or ("x" in flags and BLANK.match(self.pattern, self.pos))
        ):
            self.pos = found.end()

    def _item(self, char: str, flags: str, depth: int) -> Node:
        if found := BACK.match(self.pattern, self.pos):
            self.pos = found.end()
            return Atom(Kind.BACK, f"(?:{found[0]})", flags)
        if char == "(":
            return self._group(flags, depth)
        if char == "[":
            found = CLASS.match(self.pattern, self.pos)
            if not found:
                self._refuse("[", r"write \[ for a bracket in a class, and codes as \xHH")
            kind = Kind.ANY if ANY_CLASS.fullmatch(found[0]) else Kind.CHAR
            self.pos = found.end()
            return Atom(kind, found[0], flags)
        if char == "\\":
            return self._escape(flags)
        if char in "*+?":
            self._refuse(char, "write one quantifier after what it repeats")
        if char == "{" and not PLAIN_BRACE.match(self.pattern, self.pos):
            self._refuse(char, INSTEAD[char])
        self.pos += 1
        if char == ".":
            return Atom(Kind.ANY if "s" in flags else Kind.CHAR, char, flags)
        if char == "^":
            return Atom(Kind.LINE_START if "m" in flags else Kind.START, char, flags)
        if char == "$":
            return Atom(Kind.LINE_END if "m" in flags else Kind.LAST_LINE_END, char, flags)
        return Atom(Kind.CHAR, regex.escape(char), flags)

    def _escape(self, flags: str) -> Atom:
        two = self.pattern[self.pos : self.pos + 2]
        found = ESCAPE.match(self.pattern, self.pos)
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
            if GLOBAL_FLAGS.match(self.pattern, self.pos):
                self._refuse(
                    text, "write flags at the start, or as (?i:...) round what they affect"
                )
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
        if text in "*+?":
            return Repeat(item, text, int(text == "+"), 1 if text == "?" else None, mode)
        fewest = int(low or 0)
        limit = high or most or (None if comma else low)
        return Repeat(item, text, fewest, None if limit is None else int(limit), mode)

    def _refuse(self, construct: str, instead: str) -> NoReturn:
        where = f"at {self.pos} in {self.pattern!r}"
        raise UsageError(f"{construct} {where} is not supported: {instead}")


def _walk(node: Node) -> Iterator[Node]:
    yield node
    if isinstance(node, Repeat):
        yield from _walk(node.item)
    elif isinstance(node, Group):
        for branch in node.branches:
            for item in branch:
                yield from _walk(item)


def _check_lazy(node: Repeat, *, backwards: bool) -> None:
    """Raise `UsageError` for lazy repeats, save of what is exact: no limit, any character."""
    if node.mode == "?" and (backwards or node.high is not None or not _any(node.item)):
        raise UsageError(
            f"{_source(node)}: only any character may be repeated lazily, as (?s:.*?), without a"
            " limit, and not beside a lookbehind or (?m:^): write a greedy repeat of what may"
            " stand there, such as [^<]*"
        )
    if any(isinstance(inner, Repeat) and inner.mode == "?" for inner in _walk(node.item)):
        raise UsageError(
            f"{_source(node)}: a lazy repeat may not be repeated: let one (?s:.*?) take all of it"
        )


def _check(node: Node) -> None:
    """Raise `UsageError` for what is known but makes partial matches inexact."""
    if isinstance(node, Repeat):
        whole = _source(node)
        one = isinstance(node.item, Atom) and node.item.kind in ONE
        if _width(node.item)[1] == 0:
            raise UsageError(f"{whole}: what matches no characters cannot be repeated")
        if node.mode == "+" and not one:
            raise UsageError(
                f"{whole}: only one character may be repeated possessively: leave + out"
            )
    elif isinstance(node, Group):
        low, high = _width(node, inside=True)
        if node.opening == "(?>" and (low, high) != (1, 1):
            raise UsageError(f"{_source(node)}: only one character may be atomic: write (?:...)")
        if node.behind:
            if high is None or _behind(node) > MAX_BEHIND:
                raise UsageError(
                    f"{_source(node)}: a lookbehind may look at {MAX_BEHIND} characters at most:"
                    " let its repeats have a limit"
                )
            if any(_looks_ahead(inner) for inner in _walk(node)):
                raise UsageError(
                    f"{_source(node)}: a lookbehind may look neither ahead nor for an end"
                )


def _any(node: Node) -> bool:
    return isinstance(node, Atom) and node.kind is Kind.ANY


def _looks_back(node: Node) -> bool:
    if isinstance(node, Group):
        return node.behind
    return isinstance(node, Atom) and node.kind is Kind.LINE_START


def _looks_ahead(node: Node) -> bool:
    if isinstance(node, Group):
        return node.ahead
    return isinstance(node, Atom) and node.kind in ENDS


ENDS = {
    Kind.END: MISSING,
    Kind.LINE_END: rf"(?=\n|{MISSING})",
    Kind.LAST_LINE_END: rf"(?=\n?{MISSING})",
}
# Where a group repeats, `regex` looks whether its first character follows, and at the end of the
# text takes none for no. It does not look past a branch.
UNSEEN = "(?:|(?!))"


def _source(node: Node, *, ends: bool = True) -> str:
    """The pattern again. Without `ends`, it is one for text that goes on after its end."""
    if isinstance(node, Atom):
        return node.source if ends else ENDS.get(node.kind, node.source)
    if isinstance(node, Repeat):
        item = _source(node.item, ends=ends)
        if not ends and not (isinstance(node.item, Atom) and node.item.kind in ONE):
            item = f"(?:{UNSEEN}{item})"
        return item + node.quantifier + node.mode
    branches = ("".join(_source(item, ends=ends) for item in branch) for branch in node.branches)
    return f"{node.opening}{'|'.join(branches)})"


def _width(node: Node, *, inside: bool = False) -> tuple[int, int | None]:
    """How many characters it matches: the fewest and the most, None for no limit."""
    if isinstance(node, Atom):
        if node.kind is Kind.BACK:
            return 0, None
        one = int(node.kind in ONE)
        return one, one
    if isinstance(node, Repeat):
        low, high = _width(node.item)
        most = None if high is None or node.high is None else high * node.high
        return low * node.low, most
    if (node.ahead or node.behind) and not inside:
        return 0, 0
    lows, highs = [], []
    for branch in node.branches:
        widths = [_width(item) for item in branch]
        lows.append(sum(low for low, _ in widths))
        known = [high for _, high in widths if high is not None]
        highs.append(sum(known) if len(known) == len(widths) else None)
    limits = [high for high in highs if high is not None]
    return min(lows), max(limits) if len(limits) == len(highs) else None


def _behind(node: Node) -> int:
    """How many characters before a match it looks at, lookbehinds within lookbehinds included."""
    if isinstance(node, Atom):
        return 0
    if isinstance(node, Repeat):
        return _behind(node.item)
    inner = max((_behind(item) for branch in node.branches for item in branch), default=0)
    return inner + (_width(node, inside=True)[1] or 0 if node.behind else 0)


def _first(branches: tuple[tuple[Node, ...], ...]) -> set[str] | None:
    """Patterns for the characters that a match may begin with; None where that is not known."""
    found: set[str] = set()
    for branch in branches:
        for node in branch:
            more = _first_of(node)
            if more is None:
                return None
            found |= more
            if _width(node)[0]:
                break
    return found


def _first_of(node: Node) -> set[str] | None:
    if isinstance(node, Repeat):
        return _first_of(node.item)
    if isinstance(node, Group):
        return set() if node.ahead or node.behind else _first(node.branches)
    if node.kind is Kind.BACK:
        return None
    if node.kind not in ONE:
        return set()
    on = "".join(letter for letter in "is" if letter in node.flags)
    return {f"(?{on}:{node.source})" if on else node.source}
