"""Raw text up to a marker, or without some strings, for engines without negation.

This is the automaton of Aho and Corasick (for one marker, that of Knuth, Morris and Pratt), with
one rule for each state. The state is the longest marker prefix at the end of the text. The rule of
a state lists the next state for each character, and the end of the marker ends the text.

A special token in a marker is one of its characters, and occurs nowhere else in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Sequence as Items
from typing import NamedTuple

from deltaparse.partial import UsageError, is_whole

from .rules import (
    EMPTY,
    JSON_SPACE,
    NOTHING,
    Choice,
    Expr,
    Literal,
    Ref,
    Repeat,
    Sequence,
    TextUntil,
    TextWithout,
    chars,
    choice,
    except_chars,
    is_special,
    optional,
    rebuilt,
    seq,
)

__all__ = ["is_counted", "is_separate", "text_until", "until_rules"]

MAX_COUNTED = 1_500
"""Most states of the automaton, each multiplied by the number of counted characters."""

MAX_MARKERS = 1_000
"""Most characters of all markers together. Each adds a state."""


def text_until(
    marker: str,
    *others: str,
    most_tokens: int | None = None,
    least: int = 0,
    most: int | None = None,
    not_first: str = "",
) -> TextUntil:
    r"""Return texts that end with their first `marker`, without any of `others` in them.

    Arguments with only an end marker are written this way: a parser stops at the first marker, so
    it reads exactly this text. If one of `others` is a suffix of the marker, it may end the text as
    part of the marker. An example is text up to "\n</p>" and without "</p>".

    Raises:
        UsageError: a marker is empty, or the markers are longer than `MAX_MARKERS` together.
    """
    markers = (marker, *others)
    if not all(markers) or sum(map(len, markers)) > MAX_MARKERS:
        raise UsageError(
            f"markers must not be empty or longer than {MAX_MARKERS} characters together"
        )
    return TextUntil(marker, others, most_tokens, least, most, not_first)


def is_counted(until: TextUntil) -> bool:
    """Return True if counting the characters of a text takes few enough rules."""
    states = sum(map(len, (until.marker, *until.others)))
    return states * max(until.least, until.most or 0) <= MAX_COUNTED


def is_separate(until: TextUntil | TextWithout) -> bool:
    """Return True if text without the markers, then the marker, is equivalent to `until`.

    It is not equivalent if a marker may overlap the end of the text, if a special end is required,
    or if characters are counted.
    """
    if until.least or until.most is not None:
        return False
    if isinstance(until, TextWithout):
        return bool(until.others) and not until.end
    marker = until.marker
    across = (
        marker.startswith(one[at:]) for one in (marker, *until.others) for at in range(1, len(one))
    )
    return not any(across) and not any(other in marker[:-1] for other in until.others)


def until_rules(until: TextUntil | TextWithout, name: str, stem: str) -> Mapping[str, Expr]:
    """Return the rules of `until`: the first is called `name`, the others `stem` and a number.

    Numbers follow the marker prefixes, by length and then in the order of the markers. The same
    markers therefore always produce the same text.
    """
    ending = until.marker if isinstance(until, TextUntil) else until.end
    markers = tuple(filter(None, (ending, *until.others)))
    beginnings = dict.fromkeys(["", *(text[:n] for text in markers for n in range(len(text)))])
    states = sorted(beginnings, key=len)
    alphabet = _alphabet({char for marker in markers for char in marker})
    if until.least or until.most is not None:
        return _counted(until, states, alphabet, name, stem)
    names = {state: f"{stem}{i}" if i else name for i, state in enumerate(states)}
    steps = _steps(until, names)
    return {names[state]: _rule(state, alphabet, steps) for state in states}


class _Alphabet(NamedTuple):
    """Characters with transitions of their own, and the class of all others."""

    listed: Items[str]
    others: Expr


def _alphabet(listed: Iterable[str]) -> _Alphabet:
    ordered = sorted(listed)
    ordinary = chars(*(char for char in ordered if not is_special(char)))
    return _Alphabet(ordered, except_chars(ordinary))


def _rule(state: str, alphabet: _Alphabet, steps: Step) -> Expr:
    """Return the rule of a state: the next state for each character."""
    found: dict[Expr, list[str]] = {}
    for char in alphabet.listed:
        after = steps(state, char)
        if after != NOTHING:
            found.setdefault(after, []).append(char)
    ends = [_one_of(found.pop(EMPTY))] if EMPTY in found else []
    ways = [seq(_one_of(to), after) for after, to in found.items()]
    # After a special token, only the rest of its marker may follow.
    if is_whole(state):
        ways.append(seq(alphabet.others, steps("", None)))
    return choice(*ends, *ways)


def _counted(
    until: TextUntil | TextWithout,
    states: Items[str],
    alphabet: _Alphabet,
    name: str,
    stem: str,
) -> Mapping[str, Expr]:
    """Return one rule for each state and count of a text whose characters are counted.

    If `not_first` is set, states after only whitespace are separate.
    """
    ending = until.marker if isinstance(until, TextUntil) else until.end
    begins = bool(until.not_first)
    names = {("", 0, begins): name}
    steps = _steps(until, {state: state for state in states})
    begun = {
        state: max(n for n in range(len(state) + 1) if state.endswith(ending[:n]))
        for state in states
    }

    def limited(after: Expr, count: int, begins: bool) -> Expr:
        """Restrict the text after `count` characters to the limits."""
        length = count - len(ending)
        may_end = until.least <= length and (until.most is None or length <= until.most)
        if after == EMPTY:
            return EMPTY if may_end else NOTHING
        ref = after.body if isinstance(after, Repeat) else after
        if not isinstance(ref, Ref):
            return NOTHING
        rest: Expr = NOTHING
        if until.most is None or count - begun[ref.name] <= until.most:
            bound = until.least + len(ending) if until.most is None else count
            key = ref.name, min(count, bound), begins
            rest = Ref(names.setdefault(key, f"{stem}{len(names)}"))
        if after == ref or not may_end:
            return rest
        return EMPTY if rest == NOTHING else optional(rest)

    first = _alphabet({*alphabet.listed, *until.not_first, *JSON_SPACE})
    rules: dict[str, Expr] = {}
    todo = [("", 0, begins)]
    for state, count, begins in todo:
        known = len(names)

        def step(state: str, char: str | None, count: int = count, begins: bool = begins) -> Expr:
            if begins and char is not None and char in until.not_first:
                return NOTHING
            is_space = char is not None and char in JSON_SPACE
            return limited(steps(state, char), count + 1, begins and is_space)

        rules[names[state, count, begins]] = _rule(state, first if begins else alphabet, step)
        todo += list(names)[known:]
    return _without_dead_ends(rules)


def _without_dead_ends(rules: dict[str, Expr]) -> Mapping[str, Expr]:
    """Drop rules without a match. Each rule refers to later rules only, or can end."""
    dead: set[str] = set()
    first = next(iter(rules))

    def pruned(expr: Expr) -> Expr:
        match expr:
            case Ref(name):
                return NOTHING if name in dead else expr
            case Sequence() | Choice() | Repeat():
                return rebuilt(expr, pruned)
            case _:
                return expr

    kept: dict[str, Expr] = {}
    for name, body in reversed(rules.items()):
        kept[name] = pruned(body)
        if kept[name] == NOTHING and name != first:
            dead.add(name)
    return {name: kept[name] for name in rules if name not in dead}


Step = Callable[[str, str | None], Expr]
"""Continuation after a character in a state. None is any character outside the markers."""


def _steps(until: TextUntil | TextWithout, names: Mapping[str, str]) -> Step:
    return _upto(until, names) if isinstance(until, TextUntil) else _without(until, names)


def _upto(until: TextUntil, names: Mapping[str, str]) -> Step:
    next_rule = _continuation(names)

    def step(state: str, char: str | None) -> Expr:
        if char is None:
            return Ref(names[""])
        text = state + char
        ended = [other for other in until.others if text.endswith(other)]
        if text.endswith(until.marker):
            # One of `others` may end here only as a suffix of the marker.
            return EMPTY if all(map(until.marker.endswith, ended)) else NOTHING
        return NOTHING if ended else next_rule(text)

    return step


def _without(without: TextWithout, names: Mapping[str, str]) -> Step:
    next_rule = _continuation(names)

    def step(state: str, char: str | None) -> Expr:
        text = state + (char or "")
        if any(text.endswith(other) for other in without.others):
            return NOTHING
        after = next_rule(text)
        return optional(after) if text.endswith(without.end) else after

    return step


def _continuation(names: Mapping[str, str]) -> Callable[[str], Expr]:
    """Return a function from a text to the rule of its longest suffix among the states."""
    by_last: dict[str, list[str]] = {}
    for state in sorted(names, key=len, reverse=True):
        by_last.setdefault(state[-1:], []).append(state)

    def next_rule(text: str) -> Expr:
        state = next(filter(text.endswith, by_last.get(text[-1:], ())), "")
        # The text before the state cannot contain special tokens.
        return Ref(names[state]) if is_whole(text[: len(text) - len(state)]) else NOTHING

    return next_rule


def _one_of(found: list[str]) -> Expr:
    special = [Literal(char) for char in found if is_special(char)]
    ordinary = [char for char in found if not is_special(char)]
    return choice(*special, *([chars(*ordinary)] if ordinary else []))
