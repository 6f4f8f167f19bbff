"""What a template pays for, put in its way: in its syntax tree, its filters and its tests.

    loops                      the iterable is watched: each item pays for the body
    macros and blocks          pay for their body each time they run
    literals, set blocks, `~`  are weighed when they are made, `~` before
    slices                     are counted by their length
    comparisons, printing      pay for the values that they read
    filters                    pay for what they read; what they make is estimated, then weighed
    tests                      pay for the values that they read

Jinja has hooks for operators and calls, which `Sandbox` overrides, and filters and tests can be
wrapped. For the rest it has none, so `Guards` puts filters of its own into the syntax tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jinja2 import nodes, pass_context
from jinja2.runtime import Context, markup_join, str_join
from jinja2.visitor import NodeTransformer

from .budget import STEP, LimitExceeded, Watched, budget_of
from .cost_estimates import ESTIMATES, attribute_steps
from .shown import shown

__all__ = ["GUARD_FILTERS", "MAX_NODES", "TESTS", "Guards", "guarded_filter", "guarded_test"]

MAX_NODES = 6000
"""Nodes in the syntax tree; real templates have up to 1100. Compiling takes 0.1 ms for each."""

MAX_PARTS = 10_000
"""Of an attribute like "a.b,c", which filters look up for each item."""

POINTER = 8
"""What an item of a copied list takes in memory."""

# The names of the filters of `Guards`; with a space, so that no template's source can name them.
WATCH, READ, MADE, SLICED, JOIN = "loop over", "to read", "was made", "was sliced", "to join"
PRINT = "to print"

# Filters that go through their value item by item.
READING = {"batch", "groupby", "list", "map", "max", "min", "slice", "sort", "sum", "unique"}
READING |= {"select", "reject", "selectattr", "rejectattr"}

# Filters that make a text of what they are given.
WRITING = {"capitalize", "center", "e", "escape", "forceescape", "format"}
WRITING |= {"indent", "join", "lower", "pprint", "replace", "safe", "string", "striptags", "title"}
WRITING |= {"trim", "truncate", "upper", "urlencode", "urlize", "wordcount", "wordwrap", "xmlattr"}

# Tests made of `%`, which for a text would be formatting; and those that read both values.
ARITHMETIC = {"odd", "even", "divisibleby"}
TESTS = {"in", "eq", "equalto", "==", "ne", "!=", "lt", "lessthan", "<", "le", "<=", *ARITHMETIC}
TESTS |= {"gt", "greaterthan", ">", "ge", ">="}


class Guards(NodeTransformer):
    """Put the checks for which Jinja has no hook into a template's syntax tree."""

    def __init__(self) -> None:
        self._nodes = 0

    def visit(self, node: nodes.Node, *_: Any, **__: Any) -> nodes.Node:
        """Guard a node, and those below it first."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise LimitExceeded(f"more than {MAX_NODES} nodes in its syntax tree")
        before = self._nodes
        guarded = self.generic_visit(node)
        cost = STEP * (self._nodes - before)
        match guarded:
            case nodes.Output() as output:  # each value becomes text
                output.nodes = [n if _constant(n) else _filter(n, PRINT) for n in output.nodes]
            case nodes.Compare() as compare:  # stops where one side ends; `in` reads the right one
                left = compare.expr
                for operand in compare.ops:
                    right, searched = operand.expr, operand.op in ("in", "notin")
                    if not _constant(right) and (searched or not _constant(left)):
                        operand.expr = _filter(right, READ)
                    left = right
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
            case nodes.AssignBlock(filter=inner) as kept:
                kept.filter = nodes.Filter(inner, MADE, [], [], None, None, lineno=kept.lineno)
        return node


def _constant(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Filter) and node.name == MADE and node.node:
        return all(isinstance(item, nodes.Const) for item in node.node.iter_child_nodes())
    return isinstance(node, (nodes.Const, nodes.TemplateData))


def _filter(node: nodes.Node, name: str, *args: int) -> nodes.Filter:
    constants = [nodes.Const(arg, lineno=node.lineno) for arg in args]
    return nodes.Filter(node, name, constants, [], None, None, lineno=node.lineno)


def guarded_filter(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a filter pay for what it reads, ask for what it makes, and have that weighed."""
    estimate, reading = ESTIMATES.get(name), name in READING

    @pass_context
    def guarded(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        budget = budget_of(context)
        given = value
        if name == "join" and not isinstance(value, str):
            # To add up the lengths of what a generator yields, that must be kept.
            given = list(budget.watch(value))
        budget.pay_for(given, *args, *kwargs.values())
        if estimate:
            budget.allow(estimate(budget, given, args, kwargs))
        if name in WRITING:
            given = shown(given)
            args = tuple(map(shown, args))
            kwargs = {key: shown(item) for key, item in kwargs.items()}
        if reading:
            parts = attribute_steps((*args, *kwargs.values()))
            if parts > MAX_PARTS:
                raise LimitExceeded(f"an argument of {name} with more than {MAX_PARTS} parts")
            given = budget.watch(given, STEP * (1 + parts))
        return budget.derived(context.call(function, given, *args, **kwargs), value)

    return guarded


def guarded_test(name: str, function: Callable[..., bool]) -> Callable[..., bool]:
    """Let a test pay for the values that it reads."""

    @pass_context
    def guarded(context: Context, value: Any, *args: Any) -> bool:
        if name in ARITHMETIC and isinstance(value, str):
            raise TypeError(f"{name} needs a number, not {type(value).__name__}")
        budget = budget_of(context)
        budget.pay_for(value, *args)
        return function(value, *args)

    return guarded


@pass_context
def _watch(context: Context, items: Any, cost: int) -> Watched:
    return budget_of(context).watch(items, cost)


@pass_context
def _read(context: Context, value: Any, cost: int = STEP) -> Any:
    budget = budget_of(context)
    budget.pay(cost + budget.size(value))
    return value


@pass_context
def _printed(context: Context, value: Any) -> Any:
    return shown(_read(context, value))


@pass_context
def _made(context: Context, value: Any) -> Any:
    return budget_of(context).made(value)


@pass_context
def _sliced(context: Context, value: Any) -> Any:
    # It is no larger than what it was cut from, so it need not be weighed: it is as long as it is.
    budget_of(context).keep(len(value) * (1 if isinstance(value, str) else POINTER))
    return value


@pass_context
def _join(context: Context, parts: list[Any]) -> Any:
    budget = budget_of(context)
    budget.allow(sum(map(budget.size, parts)))
    return budget.made(
        (markup_join if context.eval_ctx.autoescape else str_join)(map(shown, parts))
    )


GUARD_FILTERS: dict[str, Callable[..., Any]] = {
    WATCH: _watch,
    READ: _read,
    PRINT: _printed,
    MADE: _made,
    SLICED: _sliced,
    JOIN: _join,
}
"""What `Guards` puts into the syntax tree, by name."""
