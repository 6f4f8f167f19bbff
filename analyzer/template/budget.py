"""Limits of a rendering, and its remaining budget.

    time      steps and characters use fuel, and the clock is read after each slice of fuel
    text      the length is checked before the text is created
    lists     are weighed with their contents, each list once
    memory    is the total weight of all created values
    depth     of calls is counted, and depth of lists is weighed

The clock is the processor time of the thread, so a busy machine does not make a template fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from math import inf
from time import thread_time
from typing import Any, cast

from jinja2.exceptions import SecurityError, TemplateRuntimeError
from jinja2.runtime import Context, Macro

__all__ = [
    "BUDGET",
    "CONTAINERS",
    "STEP",
    "Budget",
    "LimitExceeded",
    "Limits",
    "Watched",
    "budget_of",
    "check_bits",
]

STEP = 32
"""Cost of a step and of a container item. A character costs 1."""

SLICE = 1000 * STEP
"""Fuel between two readings of the clock."""

MAX_BITS = 64
"""Bits of an integer. Many longer integers share one hash, which makes dicts slow."""

BUDGET = "the budget"
"""Name of the budget in a rendering's variables. The space keeps templates from naming it."""

SCALARS = {int, float, bool, type(None)}

# Typed as Any, because `isinstance` with these would let mypy narrow values to wrong types.
VIEWS: Any = (type({}.items()), type({}.keys()), type({}.values()))
CONTAINERS: Any = (list, tuple, dict, set, *VIEWS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one rendering.

    Attributes:
        seconds: processor time in seconds, plus the same again for each 2**20 characters of input.
        text: characters of the output and of each intermediate string.
        value: characters of a list or dict with its contents. An item counts as 32.
        memory: total characters of all strings, lists and dicts created during the rendering.
        depth: nesting depth of calls, and of lists.
    """

    seconds: float = 1.0
    text: int = 4 << 20
    value: int = 16 << 20
    memory: int = 256 << 20
    depth: int = 100

    def check_text(self, size: int) -> None:
        """Check the size of a text before it is created."""
        if size > self.text:
            raise LimitExceeded(f"a value of more than {self.text} characters")

    def check_value(self, size: int) -> None:
        """Check the weight of a list or dict."""
        if size > self.value:
            raise LimitExceeded(f"a list or dict with more than {self.value} characters in it")


class LimitExceeded(TemplateRuntimeError):
    """The template exceeds a limit. The message names the limit."""


class Watched:
    """An iterable that charges the budget for each item. It keeps the length and truth value.

    Templates can get hold of a `Watched`. Its attributes begin with an underscore, because the
    sandbox hides these.
    """

    __slots__ = ("_budget", "_cost", "_items")

    def __init__(self, items: Any, budget: Budget, cost: int) -> None:
        self._items = items
        self._budget = budget
        self._cost = cost

    def __iter__(self) -> Iterator[Any]:
        pay, cost = self._budget.pay, self._cost
        for item in self._items:
            pay(cost)
            yield item

    def __len__(self) -> int:
        return len(self._items)

    def __bool__(self) -> bool:
        return bool(self._items)


# A container costs as much as a traversal of it. Printing, comparing or copying it visits an item
# once per reference, which `sys.getsizeof` does not measure. If a template puts a list into a list
# twice, and repeats this sixty times, the value has sixty small lists but cannot be printed. So a
# container weighs the sum of its items, counted once per reference.
#
# Weighing itself must be cheap. Each container is weighed once, from the weights of its items, and
# its weight is stored by id. An id is valid only while its object lives, so the container is stored
# too. A weight that contributed to another weight must not change. A list may therefore be appended
# to only until another container holds it. The immutable sandbox refuses all other changes.
#
# Numbers need no weights, because their bits are limited.


class Budget:
    """Remaining budget of one rendering. Methods raise `LimitExceeded`."""

    __slots__ = (
        "_calls",
        "_deadline",
        "_fuel",
        "_known",
        "_limits",
        "_memory",
        "_open",
        "_seconds",
    )

    def __init__(self, limits: Limits, given: Iterable[object]) -> None:
        self._limits = limits
        self._seconds, self._deadline = limits.seconds, inf
        self._fuel = SLICE
        self._memory = limits.memory
        self._calls = 0
        # Keeps the container itself too, because an id is valid only while its object lives.
        self._known: dict[int, tuple[int, int, object]] = {}
        # Ids of the lists that may still change, because no other container holds them.
        self._open: set[int] = set()
        self._seconds += limits.seconds * sum(map(self.size, given)) / (1 << 20)
        self._deadline = thread_time() + self._seconds

    def pay(self, cost: int = STEP) -> None:
        """Use up `cost`, and read the clock after each slice of fuel."""
        self._fuel -= cost
        # The clock is read once per slice, because a reading costs more than a step.
        if self._fuel < 0:
            if thread_time() > self._deadline:
                raise LimitExceeded(f"more than {self._seconds:.2f} s of processor time")
            self._fuel = SLICE

    def pay_for(self, *values: Any) -> None:
        """Pay for reading values."""
        self.pay(STEP * len(values) + sum(map(self.size, values)))

    def keep(self, size: int) -> None:
        """Count a new value as memory, and pay for it."""
        self.pay(STEP + size)
        self._memory -= size
        if self._memory < 0:
            raise LimitExceeded(f"more than {self._limits.memory} characters of values")

    def allow(self, size: int) -> None:
        """Check the size of a new text, or 32 per item of a new list, and pay for it."""
        self._limits.check_text(size)
        self.pay(STEP + size)

    def weigh(self, value: Any) -> tuple[int, int]:
        """Return size and depth of a value with its contents."""
        if isinstance(value, str):
            return len(value), 0
        known = self._known.get(id(value))
        if known:
            return known[0], known[1]
        if isinstance(value, range):
            return STEP * len(value), 1
        if isinstance(value, Macro):  # it is printed with its name, which the template chooses
            return 1 + len(value.name or ""), 0
        if not isinstance(value, CONTAINERS):
            return 1, 0
        self._limits.check_value(STEP * len(value))
        size = depth = 0
        for child in _children(value):
            kind = type(child)
            if kind is str:
                size += STEP + len(child)
                continue
            if kind in SCALARS:
                size += STEP + 1
                continue
            self._open.discard(id(child))
            child_size, child_depth = self.weigh(child)
            size += STEP + child_size
            depth = max(depth, child_depth)
        self._memory -= STEP * len(value)
        self._known[id(value)] = size, depth + 1, value
        self.pay(STEP * len(value))
        return size, depth + 1

    def size(self, value: Any) -> int:
        """Return the size of a value with its contents."""
        return len(value) if type(value) is str else self.weigh(value)[0]

    def made(self, value: Any) -> Any:
        """Weigh and count a new value of the template, and return it."""
        if isinstance(value, list) and id(value) not in self._known:
            self._open.add(id(value))
        size, depth = self.weigh(value)
        self._limits.check_value(size)
        if depth > self._limits.depth:
            raise LimitExceeded(f"values nested more than {self._limits.depth} deep")
        if isinstance(value, int):
            check_bits(value.bit_length())
        is_text = isinstance(value, str)
        if is_text:
            self._limits.check_text(size)
        self.keep(size if is_text else 0)  # `weigh` has already counted the items of containers
        return value

    def derived(self, value: Any, origin: object) -> Any:
        """Weigh the result of a filter on `origin`. A generator weighs as much as `origin`."""
        if hasattr(value, "__next__"):
            size, depth = self.weigh(origin)
            self._known[id(value)] = size, depth + 1, value
        return value if value is origin else self.made(value)

    def change(self, items: list[Any], name: str, args: tuple[Any, ...]) -> Any:
        """Append to or pop from a list, if the template created it and no container holds it."""
        more, depth = self.weigh(args)  # also marks appended lists as held, even `items` itself
        if id(items) not in self._open:
            raise SecurityError(
                f"{name} needs a list that the template created and no other value contains"
            )
        outcome = getattr(items, name)(*args)
        size, old_depth, _ = self._known[id(items)]
        size += more if name == "append" else -self.size((outcome,))
        self._known[id(items)] = size, max(depth, old_depth), items
        self.made(items)
        return outcome

    def watch(self, items: Any, cost: int = STEP) -> Watched:
        """Return the same items, each charged with `cost` when it is taken."""
        return Watched(items, self, cost)

    def enter(self) -> None:
        """Enter a call, and check the depth of calls."""
        self._calls += 1
        if self._calls > self._limits.depth:
            raise LimitExceeded(f"calls nested more than {self._limits.depth} deep")

    def leave(self) -> None:
        """Leave a call."""
        self._calls -= 1


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return chain(value, value.values())
    return chain.from_iterable(value) if isinstance(value, VIEWS[0]) else value


def budget_of(context: Context) -> Budget:
    """Return the budget of a rendering from its variables."""
    return cast("Budget", context.parent[BUDGET])


def check_bits(bits: int) -> None:
    """Check the length of an integer, before it is created if possible."""
    if bits > MAX_BITS:
        raise LimitExceeded(f"an integer of more than {MAX_BITS} bits")
