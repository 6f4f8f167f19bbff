"""Limits for the work of validating one response: steps are counted, and results are cached.

A recursive schema may check one value many times: in each of several alternatives, and for
`unevaluatedProperties`. Without a cache, the work would double with each level of the arguments.
Each result of a keyword is therefore cached as its first error, by the schema and the value.

The remaining work is limited. A step is one keyword applied to one value, or one search of a
pattern. All searches together also have a time limit, because an operator's pattern may backtrack
on untrusted text.

The counters are in a `ContextVar`, because several threads may share a validator.
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
"""Limit of steps for one response: keywords applied to values, and searches of patterns."""

SECONDS = 1.0
"""Limit of processor time for all searches of patterns in one response."""

LEAST = 0.001
"""Time limit in seconds for a search after the total time is used up."""

DYNAMIC = frozenset({"$dynamicRef", "$recursiveRef"})
"""Keywords whose meaning depends on the referring schemas, so their results are not cached."""

Keyword: TypeAlias = Callable[[Any, Any, Any, Any], Iterable[Any] | None]
"""A keyword of jsonschema: a function of validator, keyword value, instance and schema."""

Key: TypeAlias = tuple[str, int, int]
"""A keyword, and the identities of its schema and of the instance."""


class Steps:
    """Counters and cached results for one response."""

    __slots__ = ("_begun", "_dynamic", "_known", "_seconds", "taken")

    def __init__(self) -> None:
        self.taken = 0
        self._seconds = SECONDS
        self._dynamic = 0
        self._begun: set[Key] = set()
        # References keep the schema and the instance alive, so their identities stay unique.
        self._known: dict[Key, tuple[Any, Any, Any]] = {}

    def take(self) -> None:
        """Count one step.

        Raises:
            Refusal: validator_error, after too many steps.
        """
        self.taken += 1
        if self.taken > MAX_STEPS:
            rule = f"more than {MAX_STEPS} steps"
            raise Refusal("validator_error", f"validating the calls takes {rule}")

    def errors(
        self, keyword: str, apply: Keyword, validator: Any, value: Any, instance: Any, schema: Any
    ) -> list[Any]:
        """Return a list with the first error of a keyword, or an empty list."""
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
        # A copy is returned, because jsonschema writes the path into each error.
        return [] if error is None else [type(error).create_from(error)]

    @contextmanager
    def within(self, key: Key) -> Iterator[None]:
        """Detect a check that depends on its own result.

        Raises:
            RecursionError: at once, because a stack overflow in compiled code may crash.
        """
        if key in self._begun:
            raise RecursionError("the schema refers to itself endlessly")
        self._begun.add(key)
        try:
            yield
        finally:
            self._begun.remove(key)

    def found(self, pattern: regex.Pattern[str], text: str) -> bool:
        """Return True if a pattern is found in a text.

        Raises:
            Refusal: validator_error, after too many steps or too much time.
        """
        self.take()
        start = time.process_time()
        try:
            # Short searches may exceed the total time, and `regex` rejects negative timeouts.
            match = pattern.search(text, timeout=max(self._seconds, LEAST))
        except TimeoutError:
            raise Refusal("validator_error", "the patterns of the schema take too long") from None
        self._seconds -= time.process_time() - start
        return match is not None


_STEPS: ContextVar[Steps] = ContextVar("steps")


@contextmanager
def counting() -> Iterator[Steps]:
    """Count the steps within the context for one response."""
    steps = Steps()
    token = _STEPS.set(steps)
    try:
        yield steps
    finally:
        _STEPS.reset(token)


def counted(keyword: str, apply: Keyword) -> Keyword:
    """Return a keyword with counted steps and cached results."""

    def applied(validator: Any, value: Any, instance: Any, schema: Any) -> list[Any]:
        return _STEPS.get().errors(keyword, apply, validator, value, instance, schema)

    return applied


def within(keyword: str, instance: Any, schema: Any) -> AbstractContextManager[None]:
    """Count a step, and detect recursion without progress within the context."""
    steps = _STEPS.get()
    steps.take()
    return steps.within((keyword, id(schema), id(instance)))


def found(pattern: regex.Pattern[str], text: str) -> bool:
    """Return True if a pattern is found in a text, and count the search."""
    return _STEPS.get().found(pattern, text)
