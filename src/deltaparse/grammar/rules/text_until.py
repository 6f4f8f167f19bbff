"""Raw text up to a marker, or without some texts, for engines that know no negation.

The automaton of Aho and Corasick (for one marker, that of Knuth, Morris and Pratt), a rule for each
state: how much of a marker the text ends with. Nothing else of it matters. A state's rule says
which state each character leads to; the marker's end is the end of the text.

A special token in a marker is one character of it, which stands nowhere else in the text.
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

__all__ = ["is_counted", "stands_apart", "text_until", "until_rules"]

MAX_COUNTED = 1_500
"""States of the automaton, once for each character that is counted."""

MAX_MARKERS = 1_000
"""Characters, of each of which the automaton remembers whether it was the last."""


def text_until(
    marker: str,
    *others: str,
    most_tokens: int | None = None,
    least: int = 0,
    most: int | None = None,
    not_first: str = "",
) -> TextUntil:
    r"""Make the texts that end with their first `marker`, and have none of `others` in them.

    An argument that ends at `marker` alone is written so, and a parser that stops at the first
    marker reads just this text. One of `others` that is the marker's own
    end may end the text with it: up to "\n</p>" and without "</p>", say.

    Raises:
        UsageError: a marker is empty, or all are longer than `MAX_MARKERS` together.
    """
    markers = (marker, *others)
    if not all(markers) or sum(map(len, markers)) > MAX_MARKERS:
        raise UsageError(f"markers must not be empty, nor longer than {MAX_MARKERS} together")
    return TextUntil(marker, others, most_tokens, least, most, not_first)


def is_counted(until: TextUntil) -> bool:
    """Whether there are few enough rules where the characters of a text are counted."""
    states = sum(map(len, (until.marker, *until.others)))
    return states * max(until.least, until.most or 0) <= MAX_COUNTED


def stands_apart(until: TextUntil | TextWithout) -> bool:
    """Whether text without any of the markers, and the marker behind it, says the same.

    It does not where text and marker together may hold one of them, where an end is asked for
    otherwise, and where characters are counted.
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
    """Make rules for `until`: the first is called `name`, the others `stem` and a number.

    The numbers count the beginnings of the markers by length, then in the order of the markers, so
    that the same markers always make the same text.
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
    """The characters that a rule tells apart, and all that are none of them."""

    told: Items[str]
    others: Expr


def _alphabet(told: Iterable[str]) -> _Alphabet:
    ordered = sorted(told)
    ordinary = chars(*(char for char in ordered if not is_special(char)))
    return _Alphabet(ordered, except_chars(ordinary))


def _rule(state: str, alphabet: _Alphabet, steps: Step) -> Expr:
    """Make the rule of a state: where each character leads."""
    found: dict[Expr, list[str]] = {}
    for char in alphabet.told:
        after = steps(state, char)
        if after != NOTHING:
            found.setdefault(after, []).append(char)
    ends = [_one_of(found.pop(EMPTY))] if EMPTY in found else []
    ways = [seq(_one_of(to), after) for after, to in found.items()]
    # Behind a special token of a marker the marker goes on.
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
    """Make the rules of a text whose characters are counted: one for each state and count.

    Others are those where nothing but white space has come, if what follows that is limited.
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
        """Hold to the limits what is to follow `count` characters."""
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

    first = _alphabet({*alphabet.told, *until.not_first, *JSON_SPACE})
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
    """Leave out the rules that no text fits; each is made of later ones only, or can end."""
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
"""What follows a character in a state; None is any that no marker has."""


def _steps(until: TextUntil | TextWithout, names: Mapping[str, str]) -> Step:
    return _upto(until, names) if isinstance(until, TextUntil) else _without(until, names)


def _upto(until: TextUntil, names: Mapping[str, str]) -> Step:
    goes_on = _goes_on(names)

    def step(state: str, char: str | None) -> Expr:
        if char is None:
            return Ref(names[""])
        text = state + char
        ended = [other for other in until.others if text.endswith(other)]
        if text.endswith(until.marker):
            # Only where nothing of `others` ends here but as the end of the marker.
            return EMPTY if all(map(until.marker.endswith, ended)) else NOTHING
        return NOTHING if ended else goes_on(text)

    return step


def _without(without: TextWithout, names: Mapping[str, str]) -> Step:
    goes_on = _goes_on(names)

    def step(state: str, char: str | None) -> Expr:
        text = state + (char or "")
        if any(text.endswith(other) for other in without.others):
            return NOTHING
        after = goes_on(text)
        return optional(after) if text.endswith(without.end) else after

    return step


def _goes_on(names: Mapping[str, str]) -> Callable[[str], Expr]:
    """Make what finds the rule that a text goes on with: of its longest end that is a state."""
    by_last: dict[str, list[str]] = {}
    for state in sorted(names, key=len, reverse=True):
        by_last.setdefault(state[-1:], []).append(state)

    def goes_on(text: str) -> Expr:
        state = next(filter(text.endswith, by_last.get(text[-1:], ())), "")
        # What comes before it is text, and no special token is.
        return Ref(names[state]) if is_whole(text[: len(text) - len(state)]) else NOTHING

    return goes_on


def _one_of(found: list[str]) -> Expr:
    special = [Literal(char) for char in found if is_special(char)]
    ordinary = [char for char in found if not is_special(char)]
    return choice(*special, *([chars(*ordinary)] if ordinary else []))
