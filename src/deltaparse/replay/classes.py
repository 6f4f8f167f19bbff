"""Classification of differences between a server's message and the replayed message.

    call_invented   an extra call
    call_lost       a missing call
    arguments       different arguments of a call
    loss            missing text
    leak            extra text, usually markup
    order           the same text, calls or parts in another order
    merge           the same text in another part, such as reasoning in the content
    whitespace      different whitespace, or different spelling of equal JSON
    same            no difference

If several classes apply, the first one is reported.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from .expected import Call, Made

__all__ = ["CLASSES", "Difference", "difference"]

CLASSES = (
    "same",
    "whitespace",
    "merge",
    "order",
    "leak",
    "loss",
    "arguments",
    "call_lost",
    "call_invented",
)
"""All classes, in order of increasing severity."""

EXCERPT = 60
WORDS = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Difference:
    """Class and place of a difference.

    Attributes:
        kind: the class.
        path: the field with the difference.
        at: the index of the first different character.
        replayed: an excerpt of the replayed message from the difference on.
        expected: an excerpt of the expected message from the difference on.
    """

    kind: str
    path: str = ""
    at: int = 0
    replayed: str = ""
    expected: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the place as a JSON object."""
        return {
            "path": self.path,
            "at": self.at,
            "replayed": self.replayed,
            "expected": self.expected,
        }


SAME = Difference("same")


def difference(replayed: Made, expected: Made) -> Difference:
    """Return the difference of `expected` from `replayed`, the correct message."""
    spelled = None
    if replayed.calls or expected.calls:
        found = _calls(replayed.calls, expected.calls)
        if found is not None and found.kind not in ("order", "whitespace"):
            return found
        spelled = found
    found = _texts(replayed, expected)
    if found is None or found.kind == "whitespace":
        return _later(spelled, _parts(replayed, expected), found)
    return _later(spelled, found) if found.kind == "merge" else found


def _later(*found: Difference | None) -> Difference:
    """Return the most severe difference, the first one of equal severity, or `SAME`."""
    return max((one for one in found if one), key=lambda one: CLASSES.index(one.kind), default=SAME)


def _calls(ours: list[Call], theirs: list[Call]) -> Difference | None:
    """Return the difference between two lists of calls, if any."""
    if len(ours) == len(theirs):
        pairs = list(zip(ours, theirs, strict=True))
        if all(one.name == two.name and one.arguments == two.arguments for one, two in pairs):
            return None
    names, there = (Counter(call.name for call in calls) for calls in (ours, theirs))
    if more := there - names:
        return _one_more("call_invented", theirs, more, "expected")
    if lost := names - there:
        return _one_more("call_lost", ours, lost, "replayed")
    keys, others = ([(call.name, _key(call.arguments)) for call in one] for one in (ours, theirs))
    if keys == others:
        for at, (one, two) in enumerate(zip(ours, theirs, strict=True)):
            # Only arguments given as text have a spelling to compare.
            if isinstance(two.arguments, str) and one.arguments != two.arguments:
                path = f"tool_calls[{at}].function.arguments"
                return _place("whitespace", path, str(one.arguments), two.arguments)
        return None
    if Counter(map(repr, keys)) == Counter(map(repr, others)):
        at = next(at for at, key in enumerate(keys) if key != others[at])
        pair = (f"{calls[at].name}({_text(calls[at].arguments)})" for calls in (ours, theirs))
        return _place("order", f"tool_calls[{at}]", *pair)
    left = list(enumerate(others))
    for at, key in enumerate(keys):
        # Skip calls with an equal partner elsewhere, so that only a wrong call is reported.
        same = [one for one in left if one[1][0] == key[0]]
        equal = next((one for one in same if one[1] == key), None)
        if equal is None:
            left_keys = Counter(map(repr, (one for _, one in left)))
            rest = [one for one in same if left_keys[repr(one[1])] > keys[at:].count(one[1])]
            to = (rest or same)[0][0]
            path = f"tool_calls[{to}].function.arguments"
            return _place("arguments", path, _text(ours[at].arguments), _text(theirs[to].arguments))
        left.remove(equal)
    return None  # pragma: no cover - the counters differ


def _one_more(kind: str, calls: list[Call], more: Counter[str], side: str) -> Difference:
    """Return the difference for a call in one message only: the last call of that name."""
    at = max(at for at, call in enumerate(calls) if call.name in more)
    text = f"{calls[at].name}({_text(calls[at].arguments)})"[:EXCERPT]
    return Difference(kind, f"tool_calls[{at}]", 0, **{side: text})


def _texts(ours: Made, theirs: Made) -> Difference | None:
    """Return the difference in reasoning or content, if any."""
    if ours.content == theirs.content and ours.reasoning == theirs.reasoning:
        return None
    pairs = {
        "reasoning_content": (ours.reasoning, theirs.reasoning),
        "content": (ours.content, theirs.content),
    }
    bare = {path: ("".join(a.split()), "".join(b.split())) for path, (a, b) in pairs.items()}
    unequal = [path for path, (one, two) in bare.items() if one != two]
    if not unequal:
        path = next(path for path, (one, two) in pairs.items() if one != two)
        return _place("whitespace", path, *pairs[path])
    path = unequal[0]
    if len(unequal) == 1:
        kind = _kind(*bare[path], *pairs[path])
    else:
        one, two = ("".join(pair[side] for pair in bare.values()) for side in (0, 1))
        words = (" ".join(pair[side] for pair in pairs.values()) for side in (0, 1))
        kind = "merge" if one == two else _kind(one, two, *words)
    return _place(kind, path, *pairs[path])


def _kind(one: str, two: str, words: str, others: str) -> str:
    """Classify two different texts.

    Args:
        one: the replayed text without whitespace.
        two: the expected text without whitespace.
        words: the replayed text.
        others: the expected text.
    """
    start = _common(one, two)
    one, two = one[start:], two[start:]
    end = _common(one[::-1], two[::-1])
    one, two = one[: len(one) - end], two[: len(two) - end]
    if _within(one, two):
        return "leak"
    if _within(two, one):
        return "loss"
    ours, theirs = Counter(WORDS.findall(words)), Counter(WORDS.findall(others))
    if ours == theirs or Counter(one) == Counter(two):
        return "order"
    return "loss" if ours - theirs else "leak"


def _common(one: str, two: str) -> int:
    """Return the length of the common prefix of two texts, found by binary search."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _within(short: str, long: str) -> bool:
    """Return True if `short` is a subsequence of `long`."""
    at = 0
    for char in short:
        at = long.find(char, at) + 1
        if not at:
            return False
    return True


def _parts(ours: Made, theirs: Made) -> Difference | None:
    """Return the difference in the order of parts, if both orders are known."""
    if ours.kinds is None or theirs.kinds is None or ours.kinds == theirs.kinds:
        return None
    fewer = len(theirs.kinds) < len(ours.kinds)
    return Difference("merge" if fewer else "order", "parts", 0, *map(_listed, (ours, theirs)))


def _listed(made: Made) -> str:
    return ", ".join(made.kinds or ())[:EXCERPT]


def _place(kind: str, path: str, one: str, two: str) -> Difference:
    """Return a difference at the first different character.

    Whitespace is ignored unless the class is "whitespace".
    """
    at = to = _common(one, two)
    if kind != "whitespace":
        at, to = _first_unequal(one, two)
    return Difference(kind, path, to, one[at : at + EXCERPT], two[to : to + EXCERPT])


def _first_unequal(one: str, two: str) -> tuple[int, int]:
    """Return the indexes in both texts of the first difference, ignoring whitespace."""
    at = to = 0
    while True:
        while at < len(one) and one[at].isspace():
            at += 1
        while to < len(two) and two[to].isspace():
            to += 1
        if at == len(one) or to == len(two) or one[at] != two[to]:
            return at, to
        at, to = at + 1, to + 1


def _text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _key(arguments: Any) -> Any:
    """Return a comparable value of arguments, with exact numbers."""
    try:
        text = _text(arguments) or "{}"
        return _counted(json.loads(text, parse_float=Decimal, parse_int=Decimal))
    except (ValueError, TypeError, RecursionError, InvalidOperation):
        return arguments


def _counted(value: Any) -> Any:
    """Return a value that is equal, with an equal `repr`, for equal JSON values."""
    if isinstance(value, dict):
        return {key: _counted(one) for key, one in sorted(value.items())}
    if isinstance(value, list):
        return [_counted(one) for one in value]
    if isinstance(value, Decimal):
        sign, digits, power = value.as_tuple()
        text = "".join(map(str, digits)).lstrip("0")
        figures = text.rstrip("0")
        power = int(power) + len(text) - len(figures) if figures else 0
        return ("number", sign if figures else 0, figures, power)
    return ("constant", repr(value)) if isinstance(value, (bool, float)) else value
