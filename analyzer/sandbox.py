"""The room a chat template runs in: what transformers offers it, and limits that hold.

A template comes with a model, so it is a stranger's program. Jinja's sandbox keeps it from Python's
insides and from changing what it is given, but not from running for a day or asking for a terabyte.
Here whatever can cost more than a constant is paid for:

    loops                     the iterable is watched: each item pays for the body
    macros and blocks         pay for their body each time they run; calls nest `depth` deep
    operators, calls,         what they would make is estimated before they run, and weighed after
      filters, literals
    comparisons, printing     pay for the values that they read
    `~`, text of a block      the length is added up before anything is joined

Operators, calls and filters are hooks of Jinja's; the rest is put into the syntax tree by `Guards`,
as filters. Paying uses up fuel; when a slice is gone the clock is read. So no thread, no signal and
no trace function is needed, and a rendering costs little more than without.

The clock is the thread's own processor time: a busy machine must not make a template hostile.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import chain
from math import inf
from time import thread_time
from typing import Any, cast

from jinja2 import Template, Undefined, nodes, pass_context
from jinja2.exceptions import SecurityError, TemplateRuntimeError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext, markup_join, str_join
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEscapeFormatter, safe_range
from jinja2.utils import Namespace, missing
from jinja2.visitor import NodeTransformer

__all__ = ["MAX_NODES", "MAX_SOURCE", "LimitExceeded", "Limits", "Refusal", "Sandbox", "sandbox"]

MAX_SOURCE = 128 << 10
"""Characters of source; real templates have up to 20 000."""

MAX_NODES = 6000
"""Nodes in the syntax tree; real templates have up to 1100. Compiling takes 0.1 ms for each."""

STEP = 32
"""What a step costs, and an item of a container; a character costs 1."""

SLICE = 1000 * STEP
"""What may be used up between two looks at the clock."""

MAX_BITS = 64
"""Of an integer: among longer ones there are many with the same hash, which dicts are slow with."""

MAX_PARTS = 10_000
"""Of an attribute like "a.b,c", which filters look up for each item."""

SCALARS = {int, float, bool, type(None)}

# For `isinstance`; of no type that mypy could narrow a value to.
VIEWS: Any = (type({}.items()), type({}.keys()), type({}.values()))
CONTAINERS: Any = (list, tuple, dict, set, *VIEWS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one rendering may use.

    `seconds` of processor time, and as many again for each 2**20 characters of input; `text`
    characters written, and in any text on the way; `value` characters in a list or dict with all
    it holds, an item counting as 32; `memory` in all that is made on the way; `depth` of calls,
    and of lists within lists.
    """

    seconds: float = 1.0
    text: int = 4 << 20
    value: int = 16 << 20
    memory: int = 256 << 20
    depth: int = 100


class LimitExceeded(TemplateRuntimeError):
    """The template asks for more than its limits allow; the text says for what."""


class Refusal(TemplateRuntimeError):
    """The template called `raise_exception`; the text is its own."""


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
        # A list is weighed once; otherwise one that holds the same list twice, which holds the
        # same list twice, and so on, would take for ever. The list is kept with its weight
        # because an id is only good as long as its object lives.
        self._known: dict[int, tuple[int, int, object]] = {}
        # So a list may change only while no other holds it: the ids of those that may.
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

    def allow(self, size: int) -> None:
        """Check the size of a text, or how many times 32 items are in a list, before it is made."""
        if size > self._limits.text:
            raise _too_long(self._limits)
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
        if not isinstance(value, CONTAINERS):
            return 1, 0
        if STEP * len(value) > self._limits.value:
            raise _too_large(self._limits)
        size = depth = 0
        for child in _children(value):
            if type(child) in SCALARS:
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
        """Hand on what the template has just made, if it is not too much."""
        if isinstance(value, list) and id(value) not in self._known:
            self._open.add(id(value))
        size, depth = self.weigh(value)
        if size > self._limits.value:
            raise _too_large(self._limits)
        if depth > self._limits.depth:
            raise LimitExceeded(f"values nested more than {self._limits.depth} deep")
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise LimitExceeded(f"an integer of more than {MAX_BITS} bits")
        if isinstance(value, str):
            self.allow(size)
            self._memory -= size
        if self._memory < 0:
            raise LimitExceeded(f"more than {self._limits.memory} characters of values")
        return value

    def derived(self, value: Any, origin: object) -> Any:
        """Hand on what a filter made of `origin`; a generator weighs what it will read."""
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
        """Let each item of `items` pay `cost`."""
        return Watched(items, self, cost)

    def enter(self) -> None:
        """Begin a call."""
        self._calls += 1
        if self._calls > self._limits.depth:
            raise LimitExceeded(f"calls nested more than {self._limits.depth} deep")

    def leave(self) -> None:
        """End a call."""
        self._calls -= 1


def _too_long(limits: Limits) -> LimitExceeded:
    return LimitExceeded(f"a value of more than {limits.text} characters")


def _too_large(limits: Limits) -> LimitExceeded:
    return LimitExceeded(f"a list or dict with more than {limits.value} characters in it")


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return chain(value, value.values())
    return chain.from_iterable(value) if isinstance(value, VIEWS[0]) else value


class GuardedContext(Context):
    """A rendering's variables, and its budget."""

    budget: Budget

    def derived(self, locals: dict[str, Any] | None = None) -> Context:
        """Pass the budget on to scoped blocks."""
        context = super().derived(locals)
        cast("GuardedContext", context).budget = self.budget
        return context


def _budget(context: Context) -> Budget:
    return cast("GuardedContext", context).budget


# How large may become what a filter makes of a value, or a string's method of its string: functions
# of both and of the arguments. What is not listed cannot make much of little.

Args = tuple[Any, ...]
Kwargs = dict[str, Any]
Test = Callable[..., bool]


def _argument(args: Args, kwargs: Kwargs, index: int, name: str) -> Any:
    return args[index] if index < len(args) else kwargs.get(name)


def _integers(values: Iterable[Any]) -> int:
    return sum(abs(value) for value in values if isinstance(value, int))


def _parts(values: Iterable[Any]) -> int:
    """How many steps an attribute like "a.b,c" may take, if it is one."""
    return sum(1 + text.count(".") + text.count(",") for text in values if isinstance(text, str))


def _multiplied(budget: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    """Each character, or item, becomes as much as the arguments tell."""
    given = (*args, *kwargs.values())
    return (1 + budget.size(value)) * (1 + _integers(given) + sum(map(budget.size, given)))


def _searched(budget: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    """Filters that search a text, some of them again and again: 64 KiB must be enough."""
    return 64 * _multiplied(budget, value, args, kwargs)


def _sorted(budget: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    """The attribute to sort by is looked up for each item."""
    return budget.size(value) * (1 + _parts((*args, *kwargs.values())))


def _rounded(_: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    if not isinstance(value, (int, float)):
        raise TypeError(f"round needs a number, not {type(value).__name__}")
    return 10_000 * _integers((*args, *kwargs.values()))


def _scanned(budget: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    """Methods that compare each character with many; that is quick, a million in a millisecond."""
    return budget.size(value) * sum(map(budget.size, (*args, *kwargs.values()))) // 256


def _replaced(_: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    text, old, new = (
        str(value),
        _argument(args, kwargs, 0, "old"),
        _argument(args, kwargs, 1, "new"),
    )
    count = _argument(args, kwargs, 2, "count")
    places = text.count(str(old))
    if isinstance(count, int) and count >= 0:
        places = min(places, count)
    return len(text) + places * len(str(new))


def _joined(budget: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    """For the filter `value` is the items, for the method what stands between them."""
    items, between = value, _argument(args, kwargs, 0, "d")
    if isinstance(items, str):
        items, between = between, items
    return budget.size(items) + len(items) * budget.size(between)


def _formatted(budget: Budget, value: Any, args: Args, kwargs: Kwargs) -> int:
    """What `%` makes: each number counts as a width, with a `*` also those that are arguments."""
    text = str(value)
    widths = sum(int(digits[:18]) for digits in re.findall("[0-9]+", text))
    if "*" in text:
        widths += _integers(chain.from_iterable(a if isinstance(a, tuple) else (a,) for a in args))
    return len(text) + widths + budget.size((*args, kwargs)) * max(1, text.count("%("))


GROWTH: dict[str, Callable[[Budget, Any, Args, Kwargs], int]] = {
    **dict.fromkeys(("center", "ljust", "rjust", "zfill", "expandtabs"), _multiplied),
    **dict.fromkeys(("batch", "slice", "indent", "translate"), _multiplied),
    **dict.fromkeys(("strip", "lstrip", "rstrip", "trim"), _scanned),
    **dict.fromkeys(("rfind", "rindex", "rsplit", "rpartition"), _scanned),
    **dict.fromkeys(("pprint", "striptags", "title", "urlencode"), _searched),
    **dict.fromkeys(("urlize", "wordwrap", "xmlattr"), _searched),
    **dict.fromkeys(("sort", "groupby", "min", "max"), _sorted),
    "round": _rounded,
    "replace": _replaced,
    "join": _joined,
    "format": _formatted,
}

# Filters that go through their value item by item.
READING = {"batch", "groupby", "list", "map", "max", "min", "slice", "sort", "sum", "unique"}
READING |= {"select", "reject", "selectattr", "rejectattr"}

# Tests that read both values; and tests made of `%`, which for a text would be formatting.
COMPARING = {"in", "eq", "equalto", "==", "ne", "!=", "lt", "lessthan", "<", "le", "<="}
COMPARING |= {"gt", "greaterthan", ">", "ge", ">="}
ARITHMETIC = {"odd", "even", "divisibleby"}


def _operated(budget: Budget, operator: str, left: Any, right: Any) -> int:
    """How large may become what an operator makes."""
    if operator == "%":
        return _formatted(budget, left, (right,), {}) if isinstance(left, str) else 0
    if operator == "**":
        if isinstance(left, int) and isinstance(right, int):
            if left.bit_length() * abs(right) > MAX_BITS:
                raise LimitExceeded(f"an integer of more than {MAX_BITS} bits")
        return 0
    if operator == "*":
        times, whole = (left, right) if isinstance(left, int) else (right, left)
        many = times if isinstance(times, int) and not isinstance(whole, (int, float)) else 0
        return budget.size(whole) * max(many, 0)
    if isinstance(left, str):
        return len(left) + budget.size(right)
    return STEP * sum(len(side) for side in (left, right) if isinstance(side, CONTAINERS))


def _guarded_filter(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    growth, reading = GROWTH.get(name), name in READING

    @pass_context
    def guarded(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        budget = _budget(context)
        given = value
        if name == "join" and not isinstance(value, str):
            # To add up the lengths of what a generator gives, it must be kept.
            given = list(budget.watch(value))
        budget.pay(STEP + budget.size(given))
        if growth:
            budget.allow(growth(budget, given, args, kwargs))
        if reading:
            parts = _parts((*args, *kwargs.values()))
            if parts > MAX_PARTS:
                raise LimitExceeded(f"an argument of {name} with more than {MAX_PARTS} parts")
            given = budget.watch(given, STEP * (1 + parts))
        return budget.derived(context.call(function, given, *args, **kwargs), value)

    return guarded


def _guarded_test(name: str, function: Test) -> Test:
    @pass_context
    def guarded(context: Context, value: Any, *args: Any) -> bool:
        if name in ARITHMETIC and isinstance(value, str):
            raise TypeError(f"{name} needs a number, not {type(value).__name__}")
        budget = _budget(context)
        budget.pay(STEP + sum(map(budget.size, (value, *args))))
        return function(value, *args)

    return guarded


# The filters of `Guards`. A name with a space stands in no template's source.

WATCH, READ, MADE, SLICED, JOIN = "loop over", "to read", "was made", "was sliced", "to join"


@pass_context
def _watch(context: Context, items: Any, cost: int) -> Watched:
    return _budget(context).watch(items, cost)


@pass_context
def _read(context: Context, value: Any, cost: int = STEP) -> Any:
    budget = _budget(context)
    budget.pay(cost + budget.size(value))
    return value


@pass_context
def _made(context: Context, value: Any) -> Any:
    return _budget(context).made(value)


@pass_context
def _sliced(context: Context, value: Any) -> Any:
    # It is no larger than what it was cut from, so it need not be weighed.
    _budget(context).pay(STEP + len(value))
    return value


@pass_context
def _join(context: Context, parts: list[Any]) -> Any:
    budget = _budget(context)
    budget.allow(sum(map(budget.size, parts)))
    return budget.made((markup_join if context.eval_ctx.autoescape else str_join)(parts))


class Guards(NodeTransformer):
    """Put the checks for which Jinja has no hook into a template's syntax tree."""

    def visit(self, node: nodes.Node, *_: Any, **__: Any) -> nodes.Node:
        """Guard a node, and those below it first."""
        cost = 0
        if isinstance(node, (nodes.For, nodes.Macro, nodes.CallBlock, nodes.Block)):
            cost = STEP * _count(node)
        match self.generic_visit(node):
            case nodes.Output() as output:  # each value becomes text
                output.nodes = [n if _constant(n) else _filter(n, READ) for n in output.nodes]
            case nodes.Compare() as compare:  # stops where one side ends; `in` reads the right one
                for operand in compare.ops:
                    searched = operand.op in ("in", "notin")
                    if not _constant(operand.expr) and (searched or not _constant(compare.expr)):
                        operand.expr = _filter(operand.expr, READ)
            case nodes.Concat() as concat:  # has no hook, unlike `+`
                return _filter(nodes.List(concat.nodes, lineno=concat.lineno), JOIN)
            case nodes.Getitem(arg=nodes.Slice()) as copy:
                return _filter(copy, SLICED)
            case nodes.List() | nodes.Dict() | nodes.Tuple(ctx="load") as container:
                return _filter(container, MADE)
            case nodes.For() as loop:
                loop.iter = _filter(loop.iter, WATCH, cost)
            case nodes.Macro() | nodes.CallBlock() | nodes.Block() as block:
                line = block.lineno
                payment = _filter(nodes.Const(None, lineno=line), READ, cost)
                block.body.insert(0, nodes.ExprStmt(payment, lineno=line))
        return node


def _count(node: nodes.Node) -> int:
    return sum(1 for _ in node.find_all(nodes.Node))


def _constant(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Filter) and node.name == MADE and node.node:
        return all(isinstance(item, nodes.Const) for item in node.node.iter_child_nodes())
    return isinstance(node, (nodes.Const, nodes.TemplateData))


def _filter(node: nodes.Node, name: str, *args: int) -> nodes.Filter:
    constants = [nodes.Const(arg, lineno=node.lineno) for arg in args]
    return nodes.Filter(node, name, constants, [], None, None, lineno=node.lineno)


# What the room is furnished with.


class GenerationTag(Extension):
    """`{% generation %}` marks what the model wrote, for training; it changes no text."""

    tags = {"generation"}  # noqa: RUF012 - as Jinja declares it

    def parse(self, parser: Parser) -> nodes.Node:
        """Give the body a scope of its own, as in transformers."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


class PublicNamespace(Namespace):
    """A `namespace` without private names. It prints nothing that it holds: that has no weight."""

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        values = dict(*args, **kwargs)
        for name in values:
            _check_public(name)
        Namespace.__init__(self, values)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_public(name)
        Namespace.__setitem__(self, name, value)

    def __repr__(self) -> str:
        return "<namespace>"


def _check_public(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"the name of an attribute must not begin with an underscore: {name!r}")


def _namespace(*args: Any, **kwargs: Any) -> PublicNamespace:
    return PublicNamespace(*args, **kwargs)


class DictMaker:
    """`dict(...)` and `dict.fromkeys(...)`, and nothing else of the class."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        """As that of `dict`."""
        return dict.fromkeys(*args)


class Unknown(Undefined):
    """An undefined value; its error says what the caller of `render` can do about it."""

    __slots__ = ()

    @property
    def _undefined_message(self) -> str:
        message = super()._undefined_message
        if self._undefined_hint or self._undefined_obj is not missing:
            return message
        return f"{message}: pass it to render({self._undefined_name}=...)"


def _raise_exception(message: object = "") -> None:
    raise Refusal(str(message))


def _range(*args: int) -> range:
    if any(abs(arg).bit_length() > MAX_BITS for arg in args):
        raise LimitExceeded(f"an integer of more than {MAX_BITS} bits")
    return safe_range(*args)


def _strftime_now(form: str) -> str:
    if len(form) > 1000:
        raise LimitExceeded("the time in a form of more than 1000 characters")
    return datetime.now().strftime(form)  # noqa: DTZ005 - the user's own time, as in transformers


@pass_context
def _tojson(
    context: Context,
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Write JSON, not escaped for web pages; any iterable becomes a list."""
    budget = _budget(context)
    width = indent if isinstance(indent, int) else len(indent or "")
    if max(width, *map(len, separators or ("", ""))) > 100:
        raise LimitExceeded("JSON with more than 100 characters between two items")

    def listed(other: Any) -> list[Any]:
        if isinstance(other, Undefined):
            other()  # raises the error that names it
        if isinstance(other, Iterable):
            return list(budget.watch(other))
        raise TypeError(f"{type(other).__name__} cannot be written as JSON")

    encoder = json.JSONEncoder(
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
        default=listed,
    )
    if indent is None and separators is None:
        return encoder.encode(value)
    pieces, size = [], 0
    for piece in encoder.iterencode(value):
        pieces.append(piece)
        size += len(piece)
        budget.allow(size)
    return "".join(pieces)


@pass_context
def _sum(context: Context, items: Any, attribute: Any = None, start: Any = 0) -> Any:
    """Add up with the guarded `+`: it may be lists, and each sum is copied."""
    room = cast("Sandbox", context.environment)
    if attribute is not None:
        items = room.call_filter("map", items, kwargs={"attribute": attribute}, context=context)
    for item in items:
        start = room.call_binop(context, "+", start, item)
    return start


class BoundedFormatter(SandboxedEscapeFormatter):
    """`str.format` with a limit for each width, and for all fields together."""

    _size = 0

    def format_field(self, value: Any, format_spec: str) -> str:
        """Look at the width before, and at the length after."""
        limits = cast("Sandbox", self._env).limits
        widths = [int(digits[:18]) for digits in re.findall("[0-9]+", format_spec)]
        text = "" if sum(widths) > limits.text else super().format_field(value, format_spec)
        self._size += sum(widths) + len(text)
        if self._size > limits.text:
            raise _too_long(limits)
        return text


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's immutable sandbox, furnished as by transformers, and guarded."""

    intercepted_binops = frozenset(("+", "-", "*", "**", "%"))
    context_class = GuardedContext

    def __init__(self, limits: Limits) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=Unknown,
            extensions=[GenerationTag, loopcontrols],
        )
        self.limits = limits
        del self.globals["lipsum"]  # random text, as much as one likes
        self.globals |= {"dict": DictMaker(), "namespace": _namespace, "range": _range}
        self.globals |= {"raise_exception": _raise_exception, "strftime_now": _strftime_now}
        filters = {**self.filters, "tojson": _tojson, "sum": _sum}
        self.filters = {name: _guarded_filter(name, make) for name, make in filters.items()}
        self.filters |= {WATCH: _watch, READ: _read, MADE: _made, SLICED: _sliced, JOIN: _join}
        for name in COMPARING | ARITHMETIC:
            self.tests[name] = _guarded_test(name, cast("Test", self.tests[name]))

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Offer `append` and `pop`, on which `Budget.change` decides, and nothing with bytes."""
        if isinstance(obj, list) and attr in ("append", "pop"):
            return True
        if isinstance(obj, (str, int)) and attr in ("encode", "to_bytes", "from_bytes"):
            return False
        return super().is_safe_attribute(obj, attr, value)

    def concat(self, pieces: Iterable[str]) -> str:
        """Join the text of a macro or a block."""
        pieces = list(pieces)
        if sum(map(len, pieces)) > self.limits.text:
            raise _too_long(self.limits)
        return "".join(pieces)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Estimate, operate, weigh."""
        budget = _budget(context)
        budget.allow(_operated(budget, operator, left, right))
        return budget.made(super().call_binop(context, operator, left, right))

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Estimate, call, weigh."""
        budget = _budget(context)
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        if isinstance(owner, list) and name in ("append", "pop"):
            return budget.change(owner, name, args)
        if isinstance(owner, dict) and name == "get":
            budget.pay()  # not weighed: what comes out was there before
            return super().call(context, obj, *args, **kwargs)
        if args and (isinstance(obj, LoopContext) or (name == "join" and isinstance(owner, str))):
            items = budget.watch(args[0])
            args = (items if isinstance(obj, LoopContext) else list(items), *args[1:])
        if isinstance(owner, str) and name in GROWTH:
            budget.allow(GROWTH[name](budget, owner, args, kwargs))
        budget.pay(STEP + budget.size(owner))
        budget.enter()
        try:
            return budget.made(super().call(context, obj, *args, **kwargs))
        finally:
            budget.leave()

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Replace `format` and `format_map` of strings by bounded ones."""
        if super().wrap_str_format(value) is None:
            return None
        text = value.__self__

        def bounded(*args: Any, **kwargs: Any) -> str:
            if value.__name__ == "format_map":
                args, kwargs = (), dict(*args, **kwargs)
            formatter = BoundedFormatter(self, escape=getattr(text, "escape", str))
            return cast("str", type(text)(formatter.vformat(text, args, kwargs)))

        return bounded

    def guarded(self, source: str) -> nodes.Template:
        """Parse a template into the syntax tree that must be compiled."""
        if len(source) > MAX_SOURCE:
            raise LimitExceeded(f"more than {MAX_SOURCE} characters of source")
        tree = self.parse(source)
        if _count(tree) > MAX_NODES:
            raise LimitExceeded(f"more than {MAX_NODES} nodes in its syntax tree")
        return cast("nodes.Template", Guards().visit(tree))

    def run(self, template: Template, variables: Mapping[str, Any], limits: Limits) -> str:
        """Render a template compiled from a guarded tree; what goes wrong is raised as it is."""
        context = cast("GuardedContext", template.new_context(dict(variables)))
        context.budget = Budget(limits, variables.values())
        pieces, size = [], 0
        for piece in template.root_render_func(context):
            pieces.append(piece)
            size += len(piece)
            if size > limits.text:
                raise LimitExceeded(f"more than {limits.text} characters of output")
        return "".join(pieces)


@lru_cache(maxsize=8)
def sandbox(limits: Limits) -> Sandbox:
    """One sandbox serves all templates with the same limits: it holds nothing of theirs."""
    return Sandbox(limits)
