r"""JSON Schema's `pattern`: the regular subset of ECMA 262's regular expressions.

    pattern = branch *("|" branch)            branch = ["^"] *(atom [times]) ["$"]
    times   = ("*" / "+" / "?" / "{m}" / "{m,}" / "{m,n}") ["?"]
    atom    = "." / char / escape / "[" ["^"] *(char ["-" char] / escape) "]" / "(" ["?:"] ... ")"

A pattern may match anywhere in the text, so without `^` or `$` any text may surround it. `\d` and
`\w` are ASCII. `\s` is the whitespace on which Python and ECMA agree.
"""

from __future__ import annotations

from ..rules.rules import (
    ANY_CHAR,
    EMPTY,
    MAX_REPEAT,
    NOTHING,
    QUANTIFIERS,
    Chars,
    Choice,
    Expr,
    Literal,
    Repeat,
    Sequence,
    chars,
    choice,
    except_chars,
    repeat,
    seq,
)

__all__ = ["MAX_PATTERN", "NotRegular", "lengths", "pattern_text"]

MAX_PATTERN = 1_000
"""Most characters of a pattern."""

MAX_NESTING = 20

DIGIT = chars("09")
WORD = chars("az", "AZ", "09", "_")
SPACES = (
    (9, 13),
    " ",
    "\u00a0",
    "\u1680",
    "\u2000\u200a",
    "\u2028\u2029",
    "\u202f",
    "\u205f",
    "\u3000",
)
LINE_ENDS = chars("\n", "\r", "\u2028", "\u2029")

CLASSES = {
    "d": DIGIT,
    "w": WORD,
    "s": chars(*SPACES),
    "D": except_chars(DIGIT),
    "W": except_chars(WORD),
    "S": except_chars(chars(*SPACES, (0x1C, 0x1F), "\x85", "\ufeff")),
}

CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "0": "\0"}
HEX = {"x": 2, "u": 4}
COUNTED = {char: bounds for bounds, char in QUANTIFIERS.items()}


class NotRegular(ValueError):
    """An invalid or untranslatable pattern. The message gives the reason."""


def pattern_text(pattern: str, longest: int = MAX_PATTERN) -> Expr:
    """Return the texts that match a pattern.

    Args:
        pattern: the regular expression.
        longest: the most characters of the pattern.

    Raises:
        NotRegular: the pattern is invalid, or has lookaround, back references, inner anchors or
            Unicode properties.
    """
    if len(pattern) > longest:
        raise NotRegular("the pattern is too long")
    reader = _Reader(pattern)
    found = reader.branches(anchored=True, depth=0)
    if reader.at < len(pattern):
        raise NotRegular(f"unbalanced {pattern[reader.at]!r}")
    return found


class _Reader:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self.at = 0

    def _peek(self) -> str:
        return self._pattern[self.at : self.at + 1]

    def _next(self) -> str:
        char = self._peek()
        if not char:
            raise NotRegular("the pattern ends too early")
        self.at += 1
        return char

    def _took(self, text: str) -> bool:
        found = self._pattern.startswith(text, self.at)
        self.at += found * len(text)
        return found

    def branches(self, *, anchored: bool, depth: int) -> Expr:
        if depth > MAX_NESTING:
            raise NotRegular("groups are nested too deeply")
        options = [self._branch(anchored, depth)]
        while self._took("|"):
            options.append(self._branch(anchored, depth))
        return choice(*options)

    def _branch(self, anchored: bool, depth: int) -> Expr:
        anything = repeat(ANY_CHAR) if anchored else EMPTY
        before = EMPTY if anchored and self._took("^") else anything
        parts: list[Expr] = []
        while self._peek() not in {"", "|", ")", "$"}:
            parts.append(self._repeated(self._atom(depth)))
        after = EMPTY if anchored and self._took("$") else anything
        if self._peek() not in {"", "|", ")"}:
            raise NotRegular("inner anchors are not supported")
        return seq(before, *parts, after)

    def _repeated(self, atom: Expr) -> Expr:
        char = self._peek()
        if char in COUNTED:
            self.at += 1
            least, most = COUNTED[char]
        elif char == "{":
            least, most = self._count()
        else:
            return atom
        self._took("?")  # greedy and lazy match the same texts
        return repeat(atom, least, most)

    def _count(self) -> tuple[int, int | None]:
        end = self._pattern.find("}", self.at)
        low, comma, high = self._pattern[self.at + 1 : end].partition(",")
        if end < 0 or not all(text.isascii() and text.isdigit() for text in (low, high or "0")):
            raise NotRegular("`{` must begin a count")
        self.at = end + 1
        if len(low) > 4 or len(high) > 4 or max(int(low), int(high or 0)) > MAX_REPEAT:
            raise NotRegular(f"counts must not exceed {MAX_REPEAT}")
        most = int(high) if high else None if comma else int(low)
        if most is not None and most < int(low):
            raise NotRegular("the bounds of a count are reversed")
        return int(low), most

    def _atom(self, depth: int) -> Expr:
        match self._next():
            case "(":
                return self._group(depth)
            case "[":
                return self._class()
            case ".":
                return except_chars(LINE_ENDS)
            case "\\":
                return self._escape()
            case "^" | "*" | "+" | "?" | "{" | "}" | "]" as char:
                raise NotRegular(f"unexpected {char!r}")
            case char:
                return chars(char)

    def _group(self, depth: int) -> Expr:
        if self._took("?") and not self._took(":"):
            raise NotRegular("lookaround and named groups are not supported")
        inside = self.branches(anchored=False, depth=depth + 1)
        if not self._took(")"):
            raise NotRegular("unclosed group, or an anchor in a group")
        return inside

    def _escape(self) -> Expr:
        char = self._next()
        if char in CLASSES:
            return CLASSES[char]
        return chars(self._escaped(char))

    def _escaped(self, char: str) -> str:
        """Read the rest of an escaped single character."""
        if char in HEX:
            digits = self._pattern[self.at : self.at + HEX[char]]
            self.at += HEX[char]
            if len(digits) < HEX[char] or any(d not in "0123456789abcdefABCDEF" for d in digits):
                raise NotRegular(f"invalid escape \\{char}{digits}")
            return chr(int(digits, 16))
        if char in CONTROLS and not (char == "0" and self._peek().isdigit()):
            return CONTROLS[char]
        if char.isalnum():
            raise NotRegular(f"unsupported escape \\{char}")
        return char

    def _class(self) -> Expr:
        negated = self._took("^")
        ranges: list[tuple[int, int]] = []
        while not self._took("]"):
            low = self._member()
            if self._peek() == "-" and not self._pattern.startswith("-]", self.at):
                self.at += 1
                high = self._member()
                if not isinstance(low, str) or not isinstance(high, str) or low > high:
                    raise NotRegular("invalid range in a class")
                ranges.append((ord(low), ord(high)))
            elif isinstance(low, str):
                ranges.append((ord(low), ord(low)))
            elif isinstance(low, Chars):
                ranges.extend(low.ranges)
        inside = chars(*ranges)
        return except_chars(inside) if negated else inside

    def _member(self) -> str | Expr:
        char = self._next()
        if char == "[" or (char == "&" and self._peek() == "&"):
            raise NotRegular(f"{char!r} in a class")  # a set, in some dialects
        if char != "\\":
            return char
        char = self._next()
        if char == "b":
            return "\b"
        return CLASSES[char] if char in CLASSES else self._escaped(char)


def lengths(expr: Expr) -> tuple[int, int | None]:
    """Return the minimum and maximum length of a text without a `Ref` (None: unbounded)."""
    match expr:
        case Literal(text):
            return len(text), len(text)
        case Chars():
            return 1, 1
        case Sequence(parts):
            pairs = [lengths(part) for part in parts]
            most = [high for _, high in pairs if high is not None]
            return sum(low for low, _ in pairs), sum(most) if len(most) == len(pairs) else None
        case Choice(options) if options:
            pairs = [lengths(option) for option in options]
            most = [high for _, high in pairs if high is not None]
            return min(low for low, _ in pairs), max(most) if len(most) == len(pairs) else None
        case Repeat(body, least, times):
            low, high = lengths(body)
            return low * least, None if high is None or times is None else high * times
        case _:
            return 0, 0 if expr == NOTHING else None
