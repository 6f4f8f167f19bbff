"""Writer for the dialect of Lark that llguidance reads.

Its lexer takes the longest match and does not backtrack, so the end of each token must be
unambiguous. Each `Token` becomes a terminal (a regular expression), and so does raw text with its
marker. Everything else becomes a rule, and each literal in a rule is a terminal of its own.
Terminals may refer only to terminals, so rules within tokens are terminals too.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import replace

from ..rules.rulebook import ROOT, GrammarRules, free_stem
from ..rules.rules import (
    JSON_SPACE,
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
    walk,
)
from .split_special_tokens import APART, tokens_apart

__all__ = ["to_lark"]

RAW = TextUntil | TextWithout

MAX_LEVELS = 12
"""Most nested sequences and choices. llguidance reads only about sixty brackets."""


def to_lark(grammar: GrammarRules) -> str:
    """Write a grammar for llguidance. The start rule is called `start`."""
    return _Writer(grammar).text()


def _terminal_rules(rules: Mapping[str, Expr]) -> set[str]:
    """Return the rules that must be terminals: tokens, raw text, and the rules within them."""
    inside = {name for name, body in rules.items() if isinstance(body, Token | RAW)}
    stack: list[Expr] = [
        inner for body in rules.values() for inner in walk(body) if isinstance(inner, Token)
    ]
    while stack:
        for inner in walk(stack.pop()):
            if isinstance(inner, Ref) and inner.name not in inside:
                inside.add(inner.name)
                stack.append(rules[inner.name])
    return inside - {ROOT}


class _Writer:
    def __init__(self, grammar: GrammarRules) -> None:
        self._grammar = grammar
        self._rules = tokens_apart(grammar)
        self._terminals = _terminal_rules(self._rules)
        names = sorted(self._rules)
        self._stems = [free_stem(stem, names) for stem in ("token-", "limited-", "inner-")]
        self._tokens: dict[Expr, str] = {}
        self._limited: dict[TextWithout, str] = {}
        self._inner: dict[tuple[Expr, bool], str] = {}
        self._todo: deque[tuple[str, Expr, bool]] = deque()
        self._levels = 0
        self._in_terminal = False

    def text(self) -> str:
        lines = []
        for name, body in self._rules.items():
            # A terminal rule contains its body directly, since another name would add a terminal.
            inner = body.body if name in self._terminals and isinstance(body, Token) else body
            lines.append(self._line(self._name(name), inner, terminal=name in self._terminals))
        for body, name in self._limited.items():
            text_of = replace(body, most_tokens=None)
            lines.append(f"{name}[max_tokens={body.most_tokens}]: {self._token(text_of)}")
        while self._todo:
            lines.append(self._line(*self._todo.popleft()))
        return "\n".join(lines) + "\n"

    def _line(self, name: str, body: Expr, terminal: bool) -> str:
        self._in_terminal = terminal
        return f"{name}: {self._terminal(body) if terminal else self._rule(body)}"

    def _name(self, rule: str) -> str:
        return "start" if rule == ROOT else rule.upper() if rule in self._terminals else rule

    def _terminal(self, body: Expr) -> str:
        return _raw(body) if isinstance(body, RAW) else self._rule(body)

    def _rule(self, body: Expr) -> str:
        match body:
            case Sequence(parts):
                return " ".join(map(self._expr, parts)) or '""'
            case Choice(options):
                return " | ".join(map(self._expr, options))
            case _:
                return self._expr(body)

    def _expr(self, expr: Expr) -> str:
        match expr:
            case Literal(text):
                parts = [self._literal(part) for part in APART.split(text) if part]
                return parts[0] if len(parts) == 1 else f"({' '.join(parts)})"
            case Chars():
                return f"/{_class(expr)}/"
            case Sequence() | Choice():
                return self._bracketed(expr)
            case Repeat(body, least, most):
                text = self._expr(body)
                return (f"({text})" if isinstance(body, Repeat) else text) + _count(least, most)
            case Ref(name):
                return self._name(name)
            case Token(body):
                return self._token(body)
            case TextWithout(most_tokens=int()):
                # Only a rule can have a token limit, and only a rule of one terminal.
                name = f"{self._stems[1]}{len(self._limited) + 1}"
                return self._limited.setdefault(expr, name)
            case TextUntil() | TextWithout():
                return self._token(expr)

    def _literal(self, text: str) -> str:
        if len(text) == 1 and is_special(text):
            return f"<[{self._grammar.tokens[text].id}]>"
        return _quoted(text)

    def _token(self, body: Expr) -> str:
        if isinstance(body, Literal | Chars | Ref):
            return self._expr(body)
        if body not in self._tokens:
            self._tokens[body] = f"{self._stems[0].upper()}{len(self._tokens) + 1}"
            self._todo.append((self._tokens[body], body, True))
        return self._tokens[body]

    def _bracketed(self, body: Expr) -> str:
        """Write an expression in brackets, or as a rule of its own if nested too deep."""
        if self._levels < MAX_LEVELS:
            self._levels += 1
            text = f"({self._rule(body)})"
            self._levels -= 1
            return text
        key = body, self._in_terminal
        if key not in self._inner:
            name = f"{self._stems[2]}{len(self._inner) + 1}"
            self._inner[key] = name.upper() if self._in_terminal else name
            self._todo.append((self._inner[key], body, self._in_terminal))
        return self._inner[key]


def _quoted(text: str) -> str:
    """Write a literal, with unprintable characters escaped, since llguidance refuses them."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(
        char if char.isprintable() or ord(char) > 0xFFFF else f"\\u{ord(char):04x}"
        for char in quoted
    )


def _count(least: int, most: int | None) -> str:
    if (least, most) in QUANTIFIERS:
        return QUANTIFIERS[least, most]
    return f"{{{least},{'' if most is None else most}}}"


def _raw(raw: TextUntil | TextWithout) -> str:
    """Write raw text."""
    if isinstance(raw, TextUntil):
        return _until(raw)
    text = f"/{_anywhere(_regex(raw.end))}/" if raw.end else "/(?s:.+)/"
    text += _sized(raw, raw.end)
    if not raw.others:
        return text
    others = "|".join(map(_regex, raw.others))
    return f"{text} & ~/{_anywhere(f'(?:{others})')}(?s:.*)/"


def _until(until: TextUntil) -> str:
    """Write raw text up to a marker, with the marker or a suffix of it only at its end."""
    # One combined pattern: engines abort if they must match many patterns at a time.
    ended = [text for text in until.others if until.marker.endswith(text)]
    wrong = [f"(?:{'|'.join(map(_regex, [until.marker, *ended]))})(?s:.)"]
    wrong += [_regex(text) for text in until.others if text not in ended]
    until_marker = _anywhere(_regex(until.marker))
    any_wrong = _anywhere(f"(?:{'|'.join(wrong)})")
    return f"/{until_marker}/ & ~/{any_wrong}(?s:.*)/{_sized(until, until.marker)}"


def _sized(raw: TextUntil | TextWithout, end: str) -> str:
    """Limit the number of characters before the end of raw text, and its first characters."""
    if not raw.least and raw.most is None:
        return ""
    sized = f" & /(?s:.){_count(raw.least, raw.most)}{_regex(end)}/"
    if not raw.not_first:
        return sized
    return f"{sized} & ~/[{_regex(JSON_SPACE)}]*[{_regex(raw.not_first)}](?s:.*)/"


def _anywhere(pattern: str) -> str:
    return f"(?s:.*){pattern}"


def _regex(text: str) -> str:
    return "".join(map(_in_class, text))


def _class(expr: Chars) -> str:
    ranges, negated = class_ranges(expr)
    if not ranges:
        return "(?s:.)"
    spans = (
        _in_class(chr(low)) + (f"-{_in_class(chr(high))}" if low < high else "")
        for low, high in ranges
    )
    return f"[{'^' * negated}{''.join(spans)}]"


def _in_class(char: str) -> str:
    if char.isascii() and (char.isalnum() or char in " _"):
        return char
    return f"\\x{{{ord(char):x}}}"
