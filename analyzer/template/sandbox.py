"""The room a chat template runs in: what transformers offers it, and limits that hold.

A template comes with a model, so it is a stranger's program. Jinja's sandbox keeps it from Python's
insides and from changing what it is given, but not from running for a day or asking for a terabyte.
Here whatever can cost more than a constant is paid for, out of a `Budget`:

    loops                     the iterable is watched: each item pays for the body
    macros and blocks         pay for their body each time they run; calls nest `depth` deep
    operators, calls,         what they would make is estimated before they run, and weighed after
      filters, literals
    comparisons, printing     pay for the values that they read
    `~`, text of a block      the length is added up before anything is joined

Operators, calls, filters and tests are hooks of Jinja's; the rest is put into the syntax tree by
`Guards`, as filters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, cast

from jinja2 import Template, Undefined, nodes, pass_context
from jinja2.exceptions import SecurityError, TemplateRuntimeError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext, markup_join, str_join
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEscapeFormatter, safe_range
from jinja2.utils import Namespace, missing
from jinja2.visitor import NodeTransformer

from .budget import BUDGET, STEP, Budget, LimitExceeded, Limits, Watched, budget_of, check_bits
from .cost_estimates import GROWTH, TESTS, guarded_filter, guarded_test, operated

__all__ = ["MAX_NODES", "MAX_SOURCE", "LimitExceeded", "Limits", "Refusal", "Sandbox", "sandbox"]

MAX_SOURCE = 128 << 10
"""Characters of source; real templates have up to 20 000."""

MAX_NODES = 6000
"""Nodes in the syntax tree; real templates have up to 1100. Compiling takes 0.1 ms for each."""


class Refusal(TemplateRuntimeError):
    """The template called `raise_exception`; the text is its own."""


# The filters of `Guards`. A name with a space stands in no template's source.

WATCH, READ, MADE, SLICED, JOIN = "loop over", "to read", "was made", "was sliced", "to join"


@pass_context
def _watch(context: Context, items: Any, cost: int) -> Watched:
    return budget_of(context).watch(items, cost)


@pass_context
def _read(context: Context, value: Any, cost: int = STEP) -> Any:
    budget = budget_of(context)
    budget.pay(cost + budget.size(value))
    return value


@pass_context
def _made(context: Context, value: Any) -> Any:
    return budget_of(context).made(value)


@pass_context
def _sliced(context: Context, value: Any) -> Any:
    # It is no larger than what it was cut from, so it need not be weighed.
    budget_of(context).pay(STEP + len(value))
    return value


@pass_context
def _join(context: Context, parts: list[Any]) -> Any:
    budget = budget_of(context)
    budget.allow(sum(map(budget.size, parts)))
    return budget.made((markup_join if context.eval_ctx.autoescape else str_join)(parts))


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
        super().__init__()
        for name, value in dict(*args, **kwargs).items():
            self[name] = value

    def __setitem__(self, name: Any, value: Any) -> None:
        if isinstance(name, str) and name.startswith("_"):
            raise SecurityError(f"a name must not begin with an underscore: {name!r}")
        super().__setitem__(name, value)

    def __repr__(self) -> str:
        return "<namespace>"


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
    for arg in args:
        check_bits(abs(arg).bit_length())
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
    budget = budget_of(context)
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
        limits.check_text(self._size)
        return text


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's immutable sandbox, furnished as by transformers, and guarded."""

    intercepted_binops = frozenset(("+", "-", "*", "**", "%"))

    def __init__(self, limits: Limits) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=Unknown,
            extensions=[GenerationTag, loopcontrols],
            optimized=False,  # folding constants would run them before there is a budget
        )
        self.limits = limits
        del self.globals["lipsum"]  # random text, as much as one likes
        self.globals |= {"dict": DictMaker(), "namespace": PublicNamespace, "range": _range}
        self.globals |= {"raise_exception": _raise_exception, "strftime_now": _strftime_now}
        filters = {**self.filters, "tojson": _tojson, "sum": _sum}
        self.filters = {name: guarded_filter(name, make) for name, make in filters.items()}
        self.filters |= {WATCH: _watch, READ: _read, MADE: _made, SLICED: _sliced, JOIN: _join}
        for name in TESTS:
            test = cast("Callable[..., bool]", self.tests[name])
            self.tests[name] = guarded_test(name, test)

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
        self.limits.check_text(sum(map(len, pieces)))
        return "".join(pieces)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Estimate, operate, weigh."""
        budget = budget_of(context)
        budget.allow(operated(budget, operator, left, right))
        return budget.made(super().call_binop(context, operator, left, right))

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Estimate, call, weigh."""
        budget = budget_of(context)
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
        return cast("nodes.Template", Guards().visit(self.parse(source)))

    def run(self, template: Template, variables: Mapping[str, Any], limits: Limits) -> str:
        """Render a template compiled from a guarded tree; what goes wrong is raised as it is."""
        budget = Budget(limits, variables.values())
        context = template.new_context({**variables, BUDGET: budget})
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
