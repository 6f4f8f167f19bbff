"""In which way what a server made of an output differs from what was written: one class, a place.

    call_invented   a call that the model did not write
    call_lost       a call that the model wrote is not there
    arguments       a call has other arguments
    loss            text is not there
    leak            text is there that is none of the message: markup, mostly
    order           the same text, calls or parts, in another order
    merge           the same text, in another part: reasoning in the content, two parts in one
    whitespace      white space, or the spelling of equal JSON
    same            nothing of all that

Where several fit, the first counts.
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
"""All classes, the last of those that fit counts."""

EXCERPT = 60
WORDS = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Difference:
    """A class, and where it shows: in which field, at which character, and what stands there.

    `replayed` is the text from there on in the message that was parsed again, `expected` that of
    the record.
    """

    kind: str
    path: str = ""
    at: int = 0
    replayed: str = ""
    expected: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the place as it stands in a result."""
        return {
            "path": self.path,
            "at": self.at,
            "replayed": self.replayed,
            "expected": self.expected,
        }


SAME = Difference("same")


def difference(replayed: Made, expected: Made) -> Difference:
    """Return how `expected` differs from `replayed`, which is what the model wrote."""
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
    """The gravest of some differences, the first of those."""
    return max((one for one in found if one), key=lambda one: CLASSES.index(one.kind), default=SAME)


def _calls(ours: list[Call], theirs: list[Call]) -> Difference | None:
    """How calls differ."""
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
            # A value has no spelling.
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
        # The next of that name, so that one whose arguments are right is not blamed.
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
    """The place of a call that only one of the messages has: the last of that name."""
    at = max(at for at, call in enumerate(calls) if call.name in more)
    text = f"{calls[at].name}({_text(calls[at].arguments)})"[:EXCERPT]
    return Difference(kind, f"tool_calls[{at}]", 0, **{side: text})


def _texts(ours: Made, theirs: Made) -> Difference | None:
    """How the texts differ: reasoning and content."""
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
    """The class of two texts without white space that differ, and the same two with it."""
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
    """The length of the beginning that two texts have in common."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _within(short: str, long: str) -> bool:
    """Whether the characters of a text stand in another in this order."""
    at = 0
    for char in short:
        at = long.find(char, at) + 1
        if not at:
            return False
    return True


def _parts(ours: Made, theirs: Made) -> Difference | None:
    """How the order of the parts differs, where both are known."""
    if ours.kinds is None or theirs.kinds is None or ours.kinds == theirs.kinds:
        return None
    fewer = len(theirs.kinds) < len(ours.kinds)
    return Difference("merge" if fewer else "order", "parts", 0, *map(_listed, (ours, theirs)))


def _listed(made: Made) -> str:
    return ", ".join(made.kinds or ())[:EXCERPT]


def _place(kind: str, path: str, one: str, two: str) -> Difference:
    """A difference with the first character that differs, but for white space where that counts."""
    at = to = _common(one, two)
    if kind != "whitespace":
        at, to = _first_unequal(one, two)
    return Difference(kind, path, to, one[at : at + EXCERPT], two[to : to + EXCERPT])


def _first_unequal(one: str, two: str) -> tuple[int, int]:
    """Where two texts begin to differ, each for itself, but for white space."""
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
    """What of arguments counts: their value, whose numbers no float has rounded."""
    try:
        text = _text(arguments) or "{}"
        return _counted(json.loads(text, parse_float=Decimal, parse_int=Decimal))
    except (ValueError, TypeError, RecursionError, InvalidOperation):
        return arguments


def _counted(value: Any) -> Any:
    """A value that equals another, and is written as it is, if they mean the same in JSON."""
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
