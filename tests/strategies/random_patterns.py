"""Random patterns, cases of other projects, and an oracle that searches the complete text."""

from __future__ import annotations

import random

import regex
from hypothesis import assume
from hypothesis import strategies as st

from deltaparse.partial import Pattern, UsageError

ATOMS = ["a", "b", "c", "a", "b", ".", "[ab]", "[^a]", "\n", r"\s"]
ANCHORS = ["^", "$", r"\A", r"\Z", "(?m:^)", "(?m:$)"]
QUANTIFIERS = ["", "", "", "", "*", "+", "?", "{2}", "{1,2}", "{2,}", "{,2}"]
LAZY = ["(?s:.*?)", "(?s:.+?)", r"[\s\S]*?", "(?s:.{2,}?)"]
BEHIND = ["(?<=a)", "(?<!b)", "(?<=[ab]c)", "(?<=ab|c)", "(?<!a{1,2})", "(?<=^a)"]


def branches(rnd, depth, *, lazy):
    """Return a random pattern of alternatives, each with one to three items."""
    sizes = rnd.choices([1, 2, 3], k=rnd.choice([1, 1, 2, 3]))
    return "|".join("".join(item(rnd, depth, lazy) for _ in range(size)) for size in sizes)


def item(rnd, depth, lazy):
    kind = rnd.random() if depth else rnd.choice([0, 0.05, 0.13, 1, 1, 1, 1, 1])
    if kind < 0.05:
        return rnd.choice(ANCHORS)
    if kind < 0.13:
        return rnd.choice(LAZY if lazy else BEHIND)
    if kind < 0.16:
        return r"\1"
    if kind < 0.24:
        return rnd.choice(["(?=", "(?!"]) + branches(rnd, depth - 1, lazy=lazy) + ")"
    if kind < 0.5:
        inside = branches(rnd, depth - 1, lazy=False)
        return rnd.choice(["(", "(?:", "(?i:"]) + inside + ")" + rnd.choice(QUANTIFIERS)
    return rnd.choice(ATOMS) + rnd.choice([*QUANTIFIERS, *QUANTIFIERS, "++", "*+", "?+"])


# Built from a seed, because drawing each choice would dominate the run time.
RANDOM = st.builds(
    lambda seed, lazy: branches(random.Random(seed), 2, lazy=lazy),
    st.integers(0, 2**32),
    st.booleans(),
)


def accepted(text, **limits):
    """Compile a pattern, and skip rejected ones; `regex` must not compile in a strategy."""
    try:
        return Pattern(text, **limits)
    except UsageError:
        assume(condition=False)


TEXTS = st.text("abc\n", max_size=9)


def offline(pattern, text, flags=0):
    """Return all matches of `regex` in the complete text."""
    compiled, found, pos = regex.compile(pattern.pattern, flags), [], 0
    while match := compiled.search(text, pos):
        found.append((match.span(), match[0], match.groups()))
        pos = match.end()
    return found
