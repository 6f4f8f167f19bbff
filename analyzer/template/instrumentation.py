"""Budget checks in the syntax tree, the filters and the tests of a template.

    loops                      pay for the body with each item of the iterable
    macros and blocks          pay for their body each time they run
    literals, set blocks, `~`  are weighed after they are created, `~` before
    slices                     are counted by their length
    comparisons, printing      pay for the values they read
    filters                    pay for their input, and the result is estimated and then weighed
    tests                      pay for the values they read

`Sandbox` overrides Jinja's hooks for operators and calls. Filters and tests can be wrapped. Jinja
has no hooks for other constructs, so `Guards` inserts its own filters into the syntax tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jinja2 import nodes, pass_context
from jinja2.runtime import Context, markup_join, str_join
from jinja2.visitor import NodeTransformer

from .budget import STEP, LimitExceeded, Watched, budget_of
from .cost_estimates import ESTIMATES, attribute_steps
from .safe_repr import shown

__all__ = ["GUARD_FILTERS", "MAX_NODES", "TESTS", "Guards", "guarded_filter", "guarded_test"]

MAX_NODES = 6000
"""Nodes in the syntax tree. Real templates have up to 1100. Compiling takes 0.1 ms per node."""

MAX_PARTS = 10_000
"""Parts of an attribute like "a.b,c", which filters look up for each item."""

POINTER = 8
"""Bytes of memory per item of a copied list."""

# Names of the filters of `Guards`. The space keeps template source from naming them.
WATCH, READ, MADE, SLICED, JOIN = "loop over", "to read", "was made", "was sliced", "to join"
PRINT = "to print"

# Filters that iterate over their value, so each item is charged.
READING = {"batch", "groupby", "list", "map", "max", "min", "slice", "sort", "sum", "unique"}
READING |= {"select", "reject", "selectattr", "rejectattr"}

# Filters that convert their input to text, so values with memory addresses are replaced first.
WRITING = {"capitalize", "center", "e", "escape", "forceescape", "format"}
WRITING |= {"indent", "join", "lower", "pprint", "replace", "safe", "string", "striptags", "title"}
WRITING |= {"trim", "truncate", "upper", "urlencode", "urlize", "wordcount", "wordwrap", "xmlattr"}

# ARITHMETIC tests use `%`, which is formatting for a text. The other tests read both values.
ARITHMETIC = {"odd", "even", "divisibleby"}
TESTS = {"in", "eq", "equalto", "==", "ne", "!=", "lt", "lessthan", "<", "le", "<=", *ARITHMETIC}
TESTS |= {"gt", "greaterthan", ">", "ge", ">="}


class Guards(NodeTransformer):
    """Transformer for adding checks to a syntax tree, for constructs without a hook in Jinja."""

    def __init__(self) -> None:
        self._nodes = 0

    def visit(self, node: nodes.Node, *_: Any, **__: Any) -> nodes.Node:
        """Guard a node after its children."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise LimitExceeded(f"more than {MAX_NODES} nodes in its syntax tree")
        before = self._nodes
        guarded = self.generic_visit(node)
        cost = STEP * (self._nodes - before)
        match guarded:
            case nodes.Output() as output:  # each value is converted to text
                output.nodes = [n if _constant(n) else _filter(n, PRINT) for n in output.nodes]
            # A comparison reads at most its shorter side, so a constant side makes it cheap. Only
            # `in` always reads its right side.
            case nodes.Compare() as compare:
                left = compare.expr
                for operand in compare.ops:
                    right, searched = operand.expr, operand.op in ("in", "notin")
                    if not _constant(right) and (searched or not _constant(left)):
                        operand.expr = _filter(right, READ)
                    left = right
            case nodes.Concat() as concat:  # `~` has no hook, unlike `+`
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
    """Wrap a filter: charge its input, check the estimate of its result, and weigh the result."""
    estimate, reading = ESTIMATES.get(name), name in READING

    @pass_context
    def guarded(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        budget = budget_of(context)
        given = value
        if name == "join" and not isinstance(value, str):
            # A generator can be read only once, so its items are kept for the estimate.
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
    """Wrap a test: charge the values it reads."""

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
    # A slice is never larger than its source, so counting its length is enough.
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
"""The filters that `Guards` inserts into the syntax tree, by name."""
