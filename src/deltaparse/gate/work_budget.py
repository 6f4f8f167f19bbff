"""How much is done to hold the calls of one output to schemas: counted, remembered, and bounded.

A schema that refers to itself may be asked about one value again and again: by each of several
alternatives, and by `unevaluatedProperties`, at each level of the arguments anew, which doubles the
work with each. So what a keyword says about a value is found out once, as its first error, and
asked for by the schema and the value that it stands in. What is left is bounded: a step is one
keyword that is applied to one value, or one search of a pattern, and of the latter all together
have a time as well, for an operator's pattern may backtrack and the text is hostile.

The keywords of jsonschema are functions of a validator that many threads may share, so what belongs
to one output is a `ContextVar`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

import regex

from .decision import Refusal

__all__ = ["MAX_STEPS", "SECONDS", "Keyword", "Steps", "counted", "counting", "found", "within"]

MAX_STEPS = 200_000
"""Keywords applied to values of one output, and searches of patterns."""

SECONDS = 1.0
"""Processor time of all searches of patterns for one output."""

LEAST = 0.001
"""Seconds of a search behind which no time is left."""

DYNAMIC = frozenset({"$dynamicRef", "$recursiveRef"})
"""Keywords that mean what those who refer to their schema say: of these nothing is remembered."""

Keyword: TypeAlias = Callable[[Any, Any, Any, Any], Iterable[Any] | None]
"""What jsonschema calls with a validator, the keyword's value, the instance and the schema."""

Key: TypeAlias = tuple[str, int, int]
"""A keyword, and the identities of the schema that it stands in and of the instance."""


class Steps:
    """What was done so far, and found out, for one output."""

    __slots__ = ("_begun", "_dynamic", "_known", "_seconds", "taken")

    def __init__(self) -> None:
        self.taken = 0
        self._seconds = SECONDS
        self._dynamic = 0
        self._begun: set[Key] = set()
        # The schema and the instance are kept, so that no other gets the identity of one.
        self._known: dict[Key, tuple[Any, Any, Any]] = {}

    def take(self) -> None:
        """Count one step.

        Raises:
            Refusal: validator_error, for too many.
        """
        self.taken += 1
        if self.taken > MAX_STEPS:
            rule = f"more than {MAX_STEPS} steps"
            raise Refusal("validator_error", f"to hold the calls to their schemas takes {rule}")

    def errors(
        self, keyword: str, apply: Keyword, validator: Any, value: Any, instance: Any, schema: Any
    ) -> list[Any]:
        """Return the first error of a keyword, or nothing where it holds."""
        self.take()
        key = (keyword, id(schema), id(instance))
        if key in self._known:
            error = self._known[key][0]
        else:
            dynamic = self._dynamic
            self._dynamic += keyword in DYNAMIC
            with self.within(key):
                error = next(iter(apply(validator, value, instance, schema) or ()), None)
            if self._dynamic == dynamic:
                self._known[key] = (error, schema, instance)
        # Whoever gets an error writes into it where it came from.
        return [] if error is None else [type(error).create_from(error)]

    @contextmanager
    def within(self, key: Key) -> Iterator[None]:
        """Do what needs itself to be done first no more than once.

        Raises:
            RecursionError: at once; an overflow within code that is not Python raises worse.
        """
        if key in self._begun:
            raise RecursionError("the schema refers to itself without end")
        self._begun.add(key)
        try:
            yield
        finally:
            self._begun.remove(key)

    def found(self, pattern: regex.Pattern[str], text: str) -> bool:
        """Whether a pattern is found in a text.

        Raises:
            Refusal: validator_error, for too many steps, or for patterns that take too long.
        """
        self.take()
        start = time.process_time()
        try:
            # Many short searches may have used up all of it, and `regex` takes no time below 0.
            match = pattern.search(text, timeout=max(self._seconds, LEAST))
        except TimeoutError:
            raise Refusal("validator_error", "the patterns of the schema take too long") from None
        self._seconds -= time.process_time() - start
        return match is not None


_STEPS: ContextVar[Steps] = ContextVar("steps")


@contextmanager
def counting() -> Iterator[Steps]:
    """Count what is done within for one output."""
    steps = Steps()
    token = _STEPS.set(steps)
    try:
        yield steps
    finally:
        _STEPS.reset(token)


def counted(keyword: str, apply: Keyword) -> Keyword:
    """Make a keyword of jsonschema one whose work is counted, and remembered."""

    def applied(validator: Any, value: Any, instance: Any, schema: Any) -> list[Any]:
        return _STEPS.get().errors(keyword, apply, validator, value, instance, schema)

    return applied


def within(keyword: str, instance: Any, schema: Any) -> AbstractContextManager[None]:
    """Count a step, in which what a schema says of an instance is looked for."""
    steps = _STEPS.get()
    steps.take()
    return steps.within((keyword, id(schema), id(instance)))


def found(pattern: regex.Pattern[str], text: str) -> bool:
    """Whether a pattern is found in a text; counted."""
    return _STEPS.get().found(pattern, text)
