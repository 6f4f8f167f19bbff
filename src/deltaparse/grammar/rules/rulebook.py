"""Rules under construction: named, counted, and checked for unsupported constructs."""

from __future__ import annotations

from bisect import bisect_left
from collections import ChainMap, Counter
from collections.abc import Mapping
from collections.abc import Sequence as Items
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

from deltaparse.partial import UsageError
from deltaparse.partial.surrogates import SURROGATE

from .rules import (
    EMPTY,
    NOTHING,
    Choice,
    Expr,
    Ref,
    Repeat,
    Sequence,
    TextUntil,
    TextWithout,
    Token,
    may_be_empty,
    not_empty,
    optional,
    rebuilt,
    walk,
)
from .work import spend

__all__ = [
    "MAX_SIZE",
    "ROOT",
    "GrammarRules",
    "RuleBook",
    "SpecialToken",
    "Tokens",
    "free_stem",
    "reachable",
]

MAX_SIZE = 50_000
"""Most expressions in one grammar. The largest tool lists in use need a tenth of this."""

LONGEST_NAME = 1_000
"""Most characters of a proposed name that are read."""

ROOT = "root"
"""Name of the start rule, as llama.cpp calls it."""

TAKEN = {ROOT, "start"}
"""Reserved names: Lark's start rule is called `start`."""


class SpecialToken(NamedTuple):
    """A special token: its id and its text."""

    id: int
    text: str


Tokens = Mapping[str, SpecialToken]
"""Special tokens, by the lone surrogates that represent them."""


@dataclass(frozen=True, slots=True)
class GrammarRules:
    """Rules by name, including `ROOT`. `RuleBook.grammar` returns them.

    `tokens` maps the lone surrogates in the rules to special tokens.
    """

    rules: Mapping[str, Expr]
    tokens: Tokens = field(default_factory=dict)

    def spelled(self, text: str) -> str:
        """Return a text of the rules with the texts of its special tokens."""
        return SURROGATE.sub(lambda found: self.tokens[found[0]].text, text)


class RuleBook:
    """Names and counts rules, and builds `GrammarRules` from them."""

    __slots__ = ("_counts", "_names", "_size", "_tokens", "rules")

    def __init__(self, tokens: Tokens | None = None) -> None:
        self._tokens = tokens or {}
        self.rules: dict[str, Expr] = {}
        self._names: dict[tuple[str, Expr], str] = {}
        self._counts: Counter[str] = Counter()
        self._size = 0

    def reserve(self, name: str) -> Ref:
        """Reserve a name similar to `name` for a rule; `define` sets its body."""
        # llama.cpp and Lark both accept names without `_` and without a leading digit.
        name = name[:LONGEST_NAME]
        name = "".join(c if c.isascii() and c.isalnum() else "-" for c in name.lower()).strip("-")
        name = name[:40] if name[:1].isalpha() else f"rule-{name[:40]}".strip("-")
        unique = name
        while unique in self.rules or unique in TAKEN:
            self._counts[name] += 1
            unique = f"{name}-{self._counts[name] + 1}"
        self.rules[unique] = NOTHING
        return Ref(unique)

    def define(self, ref: Ref, body: Expr) -> Ref:
        """Set the body of a reserved rule, which must not match the empty text.

        Raises:
            UsageError: the grammar is larger than `MAX_SIZE`, or takes too much work.
        """
        size = sum(map(_size, walk(body)))
        spend(size + sum(map(_states, walk(body))))
        self._size += size
        if self._size > MAX_SIZE:
            raise UsageError(f"the grammar is too large: more than {MAX_SIZE} parts")
        self.rules[ref.name] = body
        return ref

    def add(self, name: str, body: Expr) -> Expr:
        """Return a reference to a rule with this body, which is reused if it exists."""
        if body in (NOTHING, EMPTY):
            return body
        if may_be_empty(body):
            return optional(self.add(name, not_empty(body)))
        key = name, body
        if key not in self._names:
            self._names[key] = self.define(self.reserve(name), body).name
        return Ref(self._names[key])

    def grammar(self, root: Expr) -> GrammarRules:
        """Return the grammar of `root`, with the rules it needs that match a finite text.

        Raises:
            UsageError: no text matches, or a rule begins with itself.
        """
        needed = reachable(ChainMap({ROOT: root}, self.rules))
        rules = _finite(needed)
        if ROOT not in rules:
            raise UsageError("no finite text fits: the requirements are contradictory or never end")
        if rules is not needed:
            rules = reachable(rules)
        _check_recursion(rules)
        return GrammarRules(rules, self._tokens)


def _size(part: Expr) -> int:
    """Return the size of one part. Counted text becomes many rules."""
    if not isinstance(part, TextUntil):
        return 1
    return 1 + max(part.least, part.most or 0) * sum(map(len, (part.marker, *part.others)))


def _states(part: Expr) -> int:
    """Return the number of steps for the GBNF rules of raw text, two for each state."""
    if not isinstance(part, TextUntil | TextWithout):
        return 0
    ending = part.marker if isinstance(part, TextUntil) else part.end
    return 2 * sum(map(len, (ending, *part.others)))


def free_stem(stem: str, names: Items[str]) -> str:
    """Lengthen `stem` until no name of the sorted `names` begins with it."""
    while (at := bisect_left(names, stem)) < len(names) and names[at].startswith(stem):
        stem = f"{stem[:-1]}x{stem[-1]}"
    return stem


def _finite(rules: dict[str, Expr]) -> dict[str, Expr]:
    """Drop rules without a finite match, such as a list whose nodes all require a next one.

    Returns `rules` itself if every rule ends.
    """
    ending: set[str] = set()
    while new := {
        name for name, body in rules.items() if name not in ending and _ends(body, ending)
    }:
        ending |= new
    if len(ending) == len(rules):
        return rules
    return {name: _pruned(rules[name], ending) for name in rules if name in ending}


def _ends(expr: Expr, ending: set[str]) -> bool:
    match expr:
        case Sequence(parts):
            return all(_ends(part, ending) for part in parts)
        case Choice(options):
            return any(_ends(option, ending) for option in options)
        case Repeat(body, least, _):
            return least == 0 or _ends(body, ending)
        case Ref(name):
            return name in ending
        case _:
            return True


def _pruned(expr: Expr, ending: set[str]) -> Expr:
    match expr:
        case Ref(name) if name not in ending:
            return NOTHING
        case Sequence() | Choice() | Repeat():
            return rebuilt(expr, lambda part: _pruned(part, ending))
        case _:
            return expr


def _references(expr: Expr) -> list[str]:
    return [inner.name for inner in walk(expr) if isinstance(inner, Ref)]


def reachable(rules: Mapping[str, Expr]) -> dict[str, Expr]:
    """Return only the rules `ROOT` needs."""
    seen, stack = {ROOT: rules[ROOT]}, [ROOT]
    while stack:
        for name in _references(rules[stack.pop()]):
            if name not in seen:
                seen[name] = rules[name]
                stack.append(name)
    return seen


def _check_recursion(rules: Mapping[str, Expr]) -> None:
    """Refuse left recursion: top-down engines would recurse forever."""
    begins = {name: _begins_with(body) for name, body in rules.items()}
    while begins:
        free = {name for name, first in begins.items() if not first & begins.keys()}
        if not free:
            raise UsageError(f"{min(begins)}: the schema refers only to itself")
        begins = {name: first for name, first in begins.items() if name not in free}


def _begins_with(expr: Expr) -> frozenset[str]:
    match expr:
        case Ref(name):
            return frozenset({name})
        case Sequence(parts):
            # Parts with an empty match expose the next part at the beginning.
            count = next((i for i, part in enumerate(parts) if not may_be_empty(part)), len(parts))
            return reduce(frozenset.union, map(_begins_with, parts[: count + 1]), frozenset[str]())
        case Choice(options):
            return reduce(frozenset.union, map(_begins_with, options), frozenset[str]())
        case Repeat(body, _, _) | Token(body):
            return _begins_with(body)
        case _:
            return frozenset()
