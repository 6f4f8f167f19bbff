"""Lower bounds in Python for some workloads, to judge missed targets.

Each reader handles one specific text, with the library's own patterns, and creates the deltas. It
has no window, message, markers or issues, and fails on unusual input. So its cost is the cost of
the language, and no implementation can be faster.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable, Mapping
from typing import Any

import deltaparse as dp
from deltaparse.partial.json_text.states import JsonState
from deltaparse.partial.json_text.token_runs import INSIDE, RUNS
from deltaparse.partial.python_text.python_numbers import NAMES
from deltaparse.partial.python_text.simple_tokens import AFTER_STRING, PLACES, REST
from deltaparse.partial.python_text.writer import OPENERS, Expects
from deltaparse.stream.message.deltas import arguments_deltas
from settings import Settings
from texts import OBJECTS, SOURCE, escaped, listed
from timing import Cost, Feed, Make, Reader, Trial, measure, parts, seconds, undisturbed

__all__ = ["BARE", "measure_bare", "measure_passes"]

Deltas = list[dp.ToolCallDelta]


def bare_string() -> Feed:
    """Return a reader for the inside of a JSON string."""
    match, make, rest = re.compile(INSIDE).match, arguments_deltas(0), ""

    def feed(text: str) -> Deltas:
        nonlocal rest
        text = rest + text
        found = match(text)
        end = found.end() if found else 0
        rest = text[end:]
        return [make(text[:end])] if end else []

    return feed


def bare_nested() -> Feed:
    """Return a reader for the inside of a JSON list."""
    make, stack, runs, rest = arguments_deltas(0), ["["], RUNS[False], ""
    after_open, after_value = JsonState.AFTER_OPEN, JsonState.AFTER_VALUE
    state, here = JsonState.AFTER_COMMA, runs["["]

    def feed(text: str) -> Deltas:
        nonlocal state, here, rest
        text = rest + text
        pos, end = 0, len(text)
        while run := here[state]:
            found = run.match(text, pos)
            pos, last = found.end(), found.lastindex
            if last is not None:
                state, cut = run.ends[last]
                if cut:
                    break
            char = text[pos : pos + 1]
            if char in ("}", "]"):
                stack.pop()
                here, state = runs[stack[-1]], after_value
            elif char in ("{", "["):
                stack.append(char)
                here, state = runs[char], after_open
            else:
                break
            pos += 1
        rest = text[pos:end]
        return [make(text[:pos])] if pos else []

    return feed


def bare_python() -> Feed:
    """Return a reader for the inside of a Python list, which writes it as JSON."""
    make, frames, rest = arguments_deltas(0), [OPENERS["["]], ""
    frame, quote, comma = frames[0], "", ""
    expects: Expects = "element"

    def feed(text: str) -> Deltas:
        nonlocal frame, expects, quote, comma, rest
        text = rest + text
        pos, end, written = 0, len(text), ""
        while pos < end:
            char = text[pos]
            if quote:
                found = REST[expects][quote](text, pos)
                pos = found.end()
                if found.lastgroup != "string":
                    written += found[1]
                    break
                behind, expects = AFTER_STRING[expects]
                written += found[1] + behind
                quote = ""
            elif char == frame.closer and expects != "value":
                written += frame.ends
                frames.pop()
                pos, frame, expects = pos + 1, frames[-1], "comma"
            elif char == "," and expects == "comma":
                pos, comma, expects = pos + 1, ", ", "key" if frame.sign else "element"
            else:
                found = PLACES[frame.sign if expects == "key" else expects](text, pos)
                pos, kind = found.end(), found.lastgroup
                if kind == "space":
                    continue
                if kind == "string":
                    behind, expects = AFTER_STRING[expects]
                    written += f'{comma}"{found[2]}{behind}'
                elif kind == "begun":
                    written += f'{comma}"{found[2]}'
                    quote = found[1]
                elif kind == "word":
                    written += comma + NAMES.get(found[5], found[5])
                    expects = "comma"
                elif kind == "opener":
                    frame = OPENERS[text[pos]]
                    frames.append(frame)
                    written += comma + frame.begins
                    pos, expects = pos + 1, "key" if frame.sign else "element"
                else:
                    break
                comma = ""
        rest = text[pos:]
        return [make(written)] if written else []

    return feed


BARE: dict[str, tuple[Make, str]] = {
    "string argument": (bare_string, escaped(SOURCE)),
    "nested arguments": (bare_nested, listed(OBJECTS)),
    "nested arguments in Python": (bare_python, listed(OBJECTS, repr)),
}
"""The reader of each text. The texts are also used in `workloads` and `families`."""


def measure_bare(how: Settings) -> Mapping[str, Cost]:
    """Measure the cost of a chunk."""
    trials = {
        name: Trial(Reader(make), parts((text * (how.medium // len(text) + 1))[: how.medium]))
        for name, (make, text) in BARE.items()
    }
    return measure(trials, how.rounds)


def measure_passes(how: Settings) -> Mapping[str, float]:
    """Measure the speed of scanning a JSON string in C, in million characters a second."""
    text = escaped(SOURCE)
    text *= max(how.large // len(text), 1)
    whole = f'"{text}"'
    match: Callable[[str], Any] = re.compile(INSIDE).match
    found = {}
    for name, run, given in (("re", match, text), ("json.loads", json.loads, whole)):
        times = []
        for _ in range(how.long_rounds):
            with undisturbed():
                times.append(seconds(run, given))
        found[name] = len(text) / statistics.median(times) / 1e6
    return found
