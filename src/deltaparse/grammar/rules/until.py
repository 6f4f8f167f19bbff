"""Raw text up to a marker, for engines that know no negation.

The automaton of Aho and Corasick (for one marker, that of Knuth, Morris and Pratt), a rule for each
state: how much of a marker the text ends with. Nothing else of it matters. A state's rule says
which state each character leads to; the marker's end is the end of the text.
"""

from __future__ import annotations

from collections.abc import Mapping

from deltaparse.partial import UsageError

from .rules import Expr, Ref, TextUntil, chars, choice, except_chars, seq

__all__ = ["text_until", "until_rules"]

MAX_MARKERS = 1_000
"""Characters, of each of which the automaton remembers whether it was the last."""


def text_until(marker: str, *others: str) -> TextUntil:
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
    return TextUntil(marker, others)


def until_rules(until: TextUntil, name: str, stem: str) -> Mapping[str, Expr]:
    """Make rules for `until`: the first is called `name`, the others `stem` and a number.

    The numbers count the beginnings of the markers by length, then in the order of the markers, so
    that the same markers always make the same text.
    """
    markers = (until.marker, *until.others)
    beginnings = dict.fromkeys(marker[:n] for marker in markers for n in range(len(marker)))
    states = sorted(beginnings, key=len)
    names = {state: f"{stem}{i}" if i else name for i, state in enumerate(states)}
    alphabet = sorted({char for marker in markers for char in marker})
    rules: dict[str, Expr] = {}
    for state in states:
        back: dict[str, list[str]] = {}
        ends: list[Expr] = []
        for char in alphabet:
            text = state + char
            if any(text.endswith(marker) for marker in markers):
                # Only where nothing of `others` ends here but as the end of the marker.
                if text.endswith(until.marker) and all(
                    until.marker.endswith(other) for other in until.others if text.endswith(other)
                ):
                    ends.append(chars(char))
            else:
                back.setdefault(_state(text, names), []).append(char)
        rest = seq(except_chars(chars(*alphabet)), Ref(name))
        steps = (seq(chars(*to), Ref(names[after])) for after, to in back.items())
        rules[names[state]] = choice(*ends, *steps, rest)
    return rules


def _state(text: str, names: Mapping[str, str]) -> str:
    """Find the longest end of `text` that a marker begins with."""
    return next(text[i:] for i in range(len(text) + 1) if text[i:] in names)
