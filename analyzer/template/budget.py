"""What one rendering may use, and what it has left.

    time      steps and characters use up fuel; when a slice of it is gone the clock is read
    text      its length is checked before it is made
    lists     are weighed with all they hold, each once, however often it is held
    memory    is what all that was made weighs together
    depth     of calls is counted, that of lists is weighed

The clock is the thread's own processor time: a busy machine must not make a template hostile.
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
"""What a step costs, and an item of a container; a character costs 1."""

SLICE = 1000 * STEP
"""What may be used up between two looks at the clock."""

MAX_BITS = 64
"""Of an integer: among longer ones there are many with the same hash, which dicts are slow with."""

BUDGET = "the budget"
"""Its name among a rendering's variables; with a space, so that no template can name it."""

SCALARS = {int, float, bool, type(None)}

# For `isinstance`; of no type that mypy could narrow a value to.
VIEWS: Any = (type({}.items()), type({}.keys()), type({}.values()))
CONTAINERS: Any = (list, tuple, dict, set, *VIEWS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one rendering may use.

    Attributes:
        seconds: of processor time, and as many again for each 2**20 characters of input.
        text: characters of the output, and of any text on the way.
        value: characters of a list or dict with all it holds, an item counting as 32.
        memory: characters of all texts, lists and dicts that are made on the way, together.
        depth: of calls within calls, and of lists within lists.
    """

    seconds: float = 1.0
    text: int = 4 << 20
    value: int = 16 << 20
    memory: int = 256 << 20
    depth: int = 100

    def check_text(self, size: int) -> None:
        """Check the size of a text before it is made."""
        if size > self.text:
            raise LimitExceeded(f"a value of more than {self.text} characters")

    def check_value(self, size: int) -> None:
        """Check what a list or dict weighs."""
        if size > self.value:
            raise LimitExceeded(f"a list or dict with more than {self.value} characters in it")


class LimitExceeded(TemplateRuntimeError):
    """The template asks for more than its limits allow; the text says for what."""


class Watched:
    """An iterable whose items are paid for as they are taken; as long and as true as it is.

    A template can get hold of one, so its names have underscores, which the sandbox hides.
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


# What a list or dict costs is what going through it costs: printing, comparing, copying it visit an
# item as often as it is held. `sys.getsizeof` says nothing of that. A template that puts a list
# into a list twice, and that into another twice, has after sixty steps a value of sixty small lists
# that nobody can print. So a container weighs what it holds, as often as it holds it.
#
# It must not cost that much to find out. So each container is weighed once, from the weights of
# those in it, and its weight is remembered under its id. Two things follow. An id is only good as
# long as its object lives, so the container is kept with its weight. And a weight that others were
# made of must not change, so a list may be appended to only while nothing else holds it; all other
# changes the immutable sandbox refuses.
#
# Numbers are exempt from all of this, for their bits are limited.


class Budget:
    """What one rendering has left. Methods raise `LimitExceeded`."""

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
        # Size, depth and the container itself, by its id.
        self._known: dict[int, tuple[int, int, object]] = {}
        # The ids of the lists that may change.
        self._open: set[int] = set()
        self._seconds += limits.seconds * sum(map(self.size, given)) / (1 << 20)
        self._deadline = thread_time() + self._seconds

    def pay(self, cost: int = STEP) -> None:
        """Use up `cost`, and look at the clock now and then."""
        self._fuel -= cost
        if self._fuel < 0:
            if thread_time() > self._deadline:
                raise LimitExceeded(f"more than {self._seconds:.2f} s of processor time")
            self._fuel = SLICE

    def pay_for(self, *values: Any) -> None:
        """Pay for values that are read."""
        self.pay(STEP * len(values) + sum(map(self.size, values)))

    def keep(self, size: int) -> None:
        """Count what is in memory from now on, and pay for it."""
        self.pay(STEP + size)
        self._memory -= size
        if self._memory < 0:
            raise LimitExceeded(f"more than {self._limits.memory} characters of values")

    def allow(self, size: int) -> None:
        """Check the size of a text, or 32 for each item of a list, before it is made; pay it."""
        self._limits.check_text(size)
        self.pay(STEP + size)

    def weigh(self, value: Any) -> tuple[int, int]:
        """Size and depth of `value`, with all it holds."""
        if isinstance(value, str):
            return len(value), 0
        known = self._known.get(id(value))
        if known:
            return known[0], known[1]
        if isinstance(value, range):
            return STEP * len(value), 1
        if isinstance(value, Macro):  # a template chooses its name, with which it is printed
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
        """The first half of `weigh`."""
        return len(value) if type(value) is str else self.weigh(value)[0]

    def made(self, value: Any) -> Any:
        """Weigh what the template has just made, and return it."""
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
        self.keep(size if is_text else 0)  # `weigh` has counted the items of all others
        return value

    def derived(self, value: Any, origin: object) -> Any:
        """The same for what a filter made of `origin`; a generator weighs what it will read."""
        if hasattr(value, "__next__"):
            size, depth = self.weigh(origin)
            self._known[id(value)] = size, depth + 1, value
        return value if value is origin else self.made(value)

    def change(self, items: list[Any], name: str, args: tuple[Any, ...]) -> Any:
        """Append to a list, or pop from it, if the template made it and no other holds it."""
        more, depth = self.weigh(args)  # what is appended is held from now on, be it `items`
        if id(items) not in self._open:
            raise SecurityError(f"{name} needs a list that the template made and no other holds")
        outcome = getattr(items, name)(*args)
        size, old_depth, _ = self._known[id(items)]
        size += more if name == "append" else -self.size((outcome,))
        self._known[id(items)] = size, max(depth, old_depth), items
        self.made(items)
        return outcome

    def watch(self, items: Any, cost: int = STEP) -> Watched:
        """The same items; each is paid for with `cost` when it is taken."""
        return Watched(items, self, cost)

    def enter(self) -> None:
        """Begin a call."""
        self._calls += 1
        if self._calls > self._limits.depth:
            raise LimitExceeded(f"calls nested more than {self._limits.depth} deep")

    def leave(self) -> None:
        """End a call."""
        self._calls -= 1


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return chain(value, value.values())
    return chain.from_iterable(value) if isinstance(value, VIEWS[0]) else value


def budget_of(context: Context) -> Budget:
    """The budget of a rendering, found in its variables."""
    return cast("Budget", context.parent[BUDGET])


def check_bits(bits: int) -> None:
    """Check the length of an integer, where it can be known before it is made."""
    if bits > MAX_BITS:
        raise LimitExceeded(f"an integer of more than {MAX_BITS} bits")
