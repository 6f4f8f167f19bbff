r"""Writer for GBNF, the notation of llama.cpp.

The output uses only features of `llama-grammar.cpp`, fewer than its guide documents. Names contain
only letters, digits and `-`. A counted body (`{m,n}`) must be one symbol, since the rules of a
group count against the limit of 2,000.

The output also has the same meaning in xgrammar. In a class, xgrammar treats `-` as a range unless
it is last, even if escaped, and a leading `^` as negation, even if escaped. After `\xHH`, it reads
further hexadecimal digits as part of the escape. Therefore `^` and `-` are last in a class, after
escaped characters, and are never a class by themselves. A literal is split after characters
xgrammar escapes this way (for example `é`) if a digit follows.

xgrammar has constructs for special tokens, and for text without some markers. In GBNF the latter is
an automaton with one rule for each state, and xgrammar would run its whole vocabulary over these
rules.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from deltaparse.partial.surrogates import is_whole

from ..rules.rulebook import GrammarRules, free_stem
from ..rules.rules import (
    EMPTY,
    QUANTIFIERS,
    Chars,
    Choice,
    Expr,
    Literal,
    Ref,
    Repeat,
    Sequence,
    TextUntil,
    TextWithout,
    Token,
    class_ranges,
    is_special,
)
from ..rules.text_until import is_separate, until_rules
from .split_special_tokens import APART

__all__ = ["LLAMA_CPP", "XGRAMMAR", "Dialect", "to_gbnf"]


class Dialect(NamedTuple):
    """Differences between engines that read GBNF.

    Attributes:
        token: the notation of a special token, with a placeholder for its id.
        excludes: the notation of possibly empty text without some strings, "" if only an automaton
            can express it.
        names_options: True to write an optional rule as one shared rule. xgrammar would otherwise
            create one at each place, and its time grows faster than the number of rules.
    """

    token: str
    excludes: str = ""
    names_options: bool = False


LLAMA_CPP = Dialect("<[{}]>")

XGRAMMAR = Dialect(
    "Token({})", "TagDispatch(loop_after_dispatch=false, excludes=({}))", names_options=True
)

APART_OR_SPELLED = re.compile(rf"{APART.pattern}|(?<=[\x00-\x1f\x7f-\xff])(?=[0-9A-Fa-f])")
LAST_ASCII = 0x7F
ESCAPES = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"}


def to_gbnf(grammar: GrammarRules, dialect: Dialect = LLAMA_CPP) -> str:
    """Write a grammar as GBNF in a `dialect`. The start rule is called `root`."""
    return _Writer(grammar, dialect).text()


class _Writer:
    def __init__(self, grammar: GrammarRules, dialect: Dialect) -> None:
        self._names = sorted(grammar.rules)
        self._grammar = grammar
        self._dialect = dialect
        self._todo = deque(grammar.rules.items())
        self._helpers: dict[Expr, str] = {}

    def text(self) -> str:
        lines: list[str] = []
        while self._todo:
            name, body = self._todo.popleft()
            if isinstance(body, TextUntil | TextWithout):
                lines += self._raw(name, self._spelled(body))
            else:
                lines.append(f"{name} ::= {self._expr(body, name)}")
        return "\n".join(lines) + "\n"

    def _raw(self, name: str, body: TextUntil | TextWithout) -> Iterator[str]:
        """Write the rules of raw text, with the engine's own construct if it has one."""
        if not self._dialect.excludes or not is_separate(body):
            rules = until_rules(body, name, free_stem(f"{name}-s", self._names))
            for rule, inner in rules.items():
                yield f"{rule} ::= {self._expr(inner, name)}"
        elif isinstance(body, TextUntil):
            others = tuple(filter(is_whole, (body.marker, *body.others)))
            text = self._helper(TextWithout(others, most_tokens=body.most_tokens), name)
            yield f"{name} ::= {text} {self._expr(Literal(body.marker), name)}"
        else:
            budget = "" if body.most_tokens is None else f"[max_tokens={body.most_tokens}]"
            texts = ", ".join(map(self._literal, body.others))
            yield f"{name}{budget} ::= {self._dialect.excludes.format(texts)}"

    def _expr(self, expr: Expr, rule: str) -> str:
        match expr:
            case Literal(text):
                return " ".join(map(self._literal, _parts(text)))
            case Chars():
                return _class(expr)
            case Sequence(parts):
                return " ".join(self._part(part, rule) for part in parts) or '""'
            case Choice(options):
                return " | ".join(self._expr(option, rule) for option in options)
            case Repeat(body, least, most):
                return self._repeated(body, least, most, rule)
            case Ref(name):
                return name
            case Token(body):
                return self._expr(body, rule)
            case TextUntil() | TextWithout():
                return self._helper(expr, rule)

    def _part(self, expr: Expr, rule: str) -> str:
        """Write a part of a sequence."""
        inner = expr.body if isinstance(expr, Token) else expr
        text = self._expr(inner, rule)
        return f"({text})" if isinstance(inner, Choice) else text

    def _repeated(self, body: Expr, least: int, most: int | None, rule: str) -> str:
        inner = body.body if isinstance(body, Token) else body
        single = isinstance(inner, Chars | Ref | TextUntil | TextWithout) or (
            isinstance(inner, Literal) and len(_parts(inner.text)) == 1
        )
        if self._dialect.names_options and (least, most) == (0, 1) and isinstance(inner, Ref):
            return self._helper(Choice((EMPTY, inner)), inner.name)
        if (least, most) in QUANTIFIERS:
            text = self._expr(inner, rule)
            return (text if single else f"({text})") + QUANTIFIERS[least, most]
        text = self._expr(inner, rule) if single else self._helper(inner, rule)
        if least == most:
            return f"{text}{{{least}}}"
        return f"{text}{{{least},{'' if most is None else most}}}"

    def _literal(self, text: str) -> str:
        if len(text) == 1 and is_special(text):
            return self._dialect.token.format(self._grammar.tokens[text].id)
        return '"' + "".join(map(_escaped, text)) + '"'

    def _spelled(self, until: TextUntil | TextWithout) -> TextUntil | TextWithout:
        """Exclude the texts of special tokens from raw text, too.

        To an engine that reads this notation, a special token is also its text, so a character
        class would match it.
        """
        tokens = self._grammar.tokens
        marker = until.marker if isinstance(until, TextUntil) else until.end
        kept = filter(is_whole, until.others)
        texts = (tokens[char].text for char in "".join((marker, *until.others)) if char in tokens)
        return replace(until, others=tuple(dict.fromkeys((*kept, *texts))))

    def _helper(self, body: Expr, rule: str) -> str:
        """Return the name of a rule for `body`, written later."""
        if body not in self._helpers:
            name = f"{free_stem(f'{rule}-x', self._names)}{len(self._helpers) + 1}"
            self._helpers[body] = name
            self._todo.append((name, body))
        return self._helpers[body]


def _parts(text: str) -> list[str]:
    """Split a literal into the parts it is written in."""
    return [part for part in APART_OR_SPELLED.split(text) if part]


@lru_cache(maxsize=1_000)
def _class(expr: Chars) -> str:
    """Write a class, as its complement if it includes the last code point.

    The complement must be ASCII. Otherwise llama.cpp rejects tokens with half a character, if an
    excluded character begins with the same bytes.
    """
    ranges, negated = class_ranges(expr)
    if negated and any(high > LAST_ASCII for _, high in ranges):
        ranges, negated = expr.ranges, False
    if not ranges:
        # Any character: engines disagree on the meaning of `.`.
        return r'([^\n] | "\n")'
    last = "".join(char for char in "^-" if any(low <= ord(char) <= high for low, high in ranges))
    first = sorted((_range(low, high) for low, high in _without(ranges, "-^")), key=_is_escape)
    if last[:1] == "^" and not first and not negated:
        return '"^"' if last == "^" else '("^" | "-")'
    return f"[{'^' * negated}{''.join(first)}{last}]"


def _without(ranges: Iterable[tuple[int, int]], chars: str) -> Iterator[tuple[int, int]]:
    """Remove characters, in the order of their codes, from ranges."""
    for low, high in ranges:
        start = low
        for code in map(ord, chars):
            if start <= code <= high:
                if start < code:
                    yield start, code - 1
                start = code + 1
        if start <= high:
            yield start, high


def _range(low: int, high: int) -> str:
    first, last = (_escaped(chr(code), "]") for code in (low, high))
    return first if low == high else f"{first}{'-' if low + 1 < high else ''}{last}"


def _is_escape(span: str) -> bool:
    return span.startswith((r"\x", r"\u")) or r"-\x" in span or r"-\u" in span


def _escaped(char: str, others: str = "") -> str:
    code = ord(char)
    if char in others:
        return f"\\{char}"
    if char in ESCAPES:
        return ESCAPES[char]
    if char.isprintable() or code > 0xFFFF:
        return char
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
