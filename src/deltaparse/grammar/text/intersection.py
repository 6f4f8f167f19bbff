"""Intersection and difference of expressions, as one expression.

The expressions are matched together, character by character. After a character, the rest of each
expression is a set of expressions: its partial derivatives (Antimirov). These sets are the states
of a machine. Eliminating its states one by one gives one expression. If it would be too large,
there is no result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from ..rules.rules import (
    ANY_CHAR,
    EMPTY,
    NOTHING,
    Chars,
    Choice,
    Expr,
    Literal,
    Repeat,
    Sequence,
    Token,
    chars,
    choice,
    literal,
    may_be_empty,
    optional,
    repeat,
    seq,
    walk,
)
from ..rules.work import spend

__all__ = ["both", "matches"]

MAX_STATES = 300
"""Most states: different rests of the expressions."""

MAX_PARTS = 2_000
"""Most parts of the resulting expression."""

MAX_LEVELS = 60
"""Most nested parts of the resulting expression."""

PER_STEP = 8
"""Parts of an expression visited in one step of work."""

Rest: TypeAlias = frozenset[Expr]
"""Possible rests of one expression."""

State: TypeAlias = tuple[Rest, ...]
ANYTHING = repeat(ANY_CHAR)
ALL: Rest = frozenset((ANYTHING,))
LAST = 0x10FFFF


class _TooLarge(Exception):
    """The resulting expression would be too large."""


def matches(expr: Expr, text: str) -> bool:
    """Return True if a text matches an expression without references."""
    rest: Rest = frozenset((expr,))
    for char in text:
        spend(_cost(rest))
        rest = _after(rest, char)
    return any(map(may_be_empty, rest))


def both(wanted: Iterable[Expr], unwanted: Iterable[Expr] = ()) -> Expr | None:
    """Return the texts that match all of `wanted` and none in `unwanted`.

    Args:
        wanted: expressions without references.
        unwanted: expressions without references.

    Returns:
        One expression, or None if it would be too large.
    """
    wanted, unwanted = tuple(wanted), tuple(unwanted)
    start = tuple(frozenset((expr,)) for expr in (*wanted, *unwanted))
    try:
        return _expression(_machine(start, len(wanted)))
    except _TooLarge:
        return None


class _Machine(NamedTuple):
    """States by number, from 0: the characters to each next state, and final states."""

    steps: list[dict[int, Expr]]
    ends: list[bool]


def _machine(start: State, wanted: int) -> _Machine:
    numbers = {start: 0}
    machine = _Machine([], [])
    todo = [start]
    for state in todo:
        ended = [any(map(may_be_empty, rest)) for rest in state]
        machine.ends.append(all(ended[:wanted]) and not any(ended[wanted:]))
        spans: dict[int, list[tuple[int, int]]] = {}
        cost = sum(map(_cost, state))
        spend(cost)
        for low, high in _spans(state):
            spend(cost)
            after = tuple(_after(rest, chr(low)) for rest in state)
            if all(after[:wanted]) and not any(ANYTHING in rest for rest in after[wanted:]):
                if after not in numbers:
                    numbers[after] = len(numbers)
                    todo.append(after)
                spans.setdefault(numbers[after], []).append((low, high))
        machine.steps.append({to: chars(*found) for to, found in spans.items()})
        if len(numbers) > MAX_STATES:
            raise _TooLarge
    return machine


def _expression(machine: _Machine) -> Expr:
    """Eliminate the states of a machine one by one, states with few paths first."""
    last = len(machine.steps)
    to: dict[int, dict[int, Expr]] = {
        at: steps | ({last: EMPTY} if ends else {})
        for at, (steps, ends) in enumerate(zip(*machine, strict=True))
    }
    to[-1] = {0: EMPTY}
    came: dict[int, set[int]] = {}
    for at, steps in to.items():
        for after in steps:
            came.setdefault(after, set()).add(at)
    left = set(range(last))
    while left:
        spend(len(left) // 10)
        at = min(left, key=lambda one: (len(came.get(one, ())) * len(to[one]), -one))
        left.remove(at)
        steps = to.pop(at)
        again = steps.pop(at, NOTHING)
        loop = repeat(again) if again != NOTHING else EMPTY
        before = came.pop(at, set()) - {at}
        for after in steps:
            came[after].discard(at)
        for one in before:
            first = to[one].pop(at)
            for after, step in steps.items():
                way = seq(first, loop, step)
                found = to[one].get(after)
                to[one][after] = way if found is None else _either(found, way)
                came[after].add(one)
                _check_size(to[one][after])
    return to[-1].get(last, NOTHING)


def _either(a: Expr, b: Expr) -> Expr:
    options = [option for option in (a, b) if option != EMPTY]
    return choice(*options) if len(options) == 2 else optional(choice(*options))


def _check_size(expr: Expr) -> None:
    """Refuse a large or deep expression, and count the work of measuring it."""
    count, level = 0, [expr]
    for _ in range(MAX_LEVELS):
        count += len(level)
        level = [inner for one in level for inner in _parts(one)]
        if count > MAX_PARTS or not level:
            break
    spend(1 + count // PER_STEP)
    if level or count > MAX_PARTS:
        raise _TooLarge


@lru_cache(maxsize=4096)
def _cost(rest: Rest) -> int:
    """Return the number of steps for the next character after `rest`."""
    size = sum(
        len(part.ranges) if isinstance(part, Chars) else 1 for expr in rest for part in walk(expr)
    )
    return 1 + size // PER_STEP


def _parts(expr: Expr) -> Iterable[Expr]:
    match expr:
        case Sequence(parts) | Choice(parts):
            return parts
        case Repeat(body, _, _) | Token(body):
            return (body,)
        case _:
            return ()


def _spans(state: State) -> Iterator[tuple[int, int]]:
    """Split all characters into ranges with the same continuation."""
    ranges = [span for rest in state for expr in rest for span in _firsts(expr)]
    starts = sorted({0, *(low for low, _ in ranges), *(high + 1 for _, high in ranges)})
    # Surrogates are not characters.
    starts = sorted({*(at for at in starts if not 0xD800 <= at <= 0xDFFF), 0xE000})
    for low, after in zip(starts, [*starts[1:], LAST + 1], strict=True):
        if low <= LAST:
            yield low, after - 1


@lru_cache(maxsize=4096)
def _firsts(expr: Expr) -> tuple[tuple[int, int], ...]:
    """Return ranges that include all first characters of an expression."""
    match expr:
        case Literal(text):
            return ((ord(text[0]), ord(text[0])),)
        case Chars(ranges):
            return ranges
        case Sequence(parts):
            found: tuple[tuple[int, int], ...] = ()
            for part in parts:
                found += _firsts(part)
                if not may_be_empty(part):
                    break
            return found
        case Choice(options):
            return tuple(span for option in options for span in _firsts(option))
        case Repeat(body, _, _) | Token(body):
            return _firsts(body)
        case _:
            raise TypeError(f"expected an expression of characters, not {expr}")


def _after(rest: Rest, char: str) -> Rest:
    left = frozenset(after for expr in rest for after in _derived(expr, char) if after != NOTHING)
    return ALL if ANYTHING in left else left


@lru_cache(maxsize=4096)
def _derived(expr: Expr, char: str) -> Rest:
    """Return the possible rests of an expression after a character."""
    match expr:
        case Literal(text):
            return frozenset((literal(text[1:]),)) if text[0] == char else frozenset()
        case Chars(ranges):
            found = any(low <= ord(char) <= high for low, high in ranges)
            return frozenset((EMPTY,)) if found else frozenset()
        case Sequence(parts):
            left: set[Expr] = set()
            for i, part in enumerate(parts):
                left |= {seq(after, *parts[i + 1 :]) for after in _derived(part, char)}
                if not may_be_empty(part):
                    break
            return frozenset(left)
        case Choice(options):
            return frozenset().union(*(_derived(option, char) for option in options))
        case Repeat(body, least, most):
            more = repeat(body, max(0, least - 1), None if most is None else most - 1)
            return frozenset(seq(after, more) for after in _derived(body, char))
        case Token(body):
            return _derived(body, char)
        case _:
            raise TypeError(f"expected an expression of characters, not {expr}")
