"""The room a chat template runs in: Jinja's sandbox, with the `library`, and limits that hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from types import MethodType
from typing import Any, cast

from jinja2 import Template, nodes
from jinja2.ext import loopcontrols
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEscapeFormatter

from .budget import BUDGET, Budget, LimitExceeded, Limits, budget_of
from .cost_estimates import METHOD_ESTIMATES, operator_estimate, widths
from .guards import GUARD_FILTERS, TESTS, Guards, guarded_filter, guarded_test
from .library import FILTERS, FUNCTIONS, GenerationTag, Unknown
from .shown import shown

__all__ = ["MAX_SOURCE", "Sandbox", "sandbox"]

# A template comes with a model, so it is a stranger's program, and it runs as soon as the model is
# named. Jinja's sandbox keeps it from Python's insides and from changing what it is given, but not
# from running for a day or asking for a terabyte. A rendering must end soon, whatever the template,
# and cost hardly more than without limits, for most templates mean no harm.
#
# The obvious way is to let it run and stop it. A process of its own takes longer to start than the
# rendering; a signal reaches the main thread only, and none on some systems; a trace function slows
# down every line; and none of them stops `'a' * 10**10`, which is one instruction. So here nothing
# has to be stopped: whatever can cost more than a constant asks a `Budget` first. What it will make
# is estimated (`cost_estimates`) and refused before there is any of it; what it reads is paid for;
# what it has made is weighed.
#
# For that, no operation may be forgotten. Jinja has hooks for operators and calls, overridden here;
# `guards` wraps all filters and the tests that read, and puts checks into the syntax tree for the
# rest. Constants are not folded, since that would run them before there is a budget.

MAX_SOURCE = 128 << 10
"""Characters of source; real templates have up to 20 000."""

MAX_FIELDS = 10_000
"""Of a text that `format` fills in, one by one."""


class BoundedFormatter(SandboxedEscapeFormatter):
    """`str.format` with a limit for each width, and for all fields together."""

    _size = 0

    def format_field(self, value: Any, format_spec: str) -> str:
        """Look at the width before, and at the length of those before it."""
        limits = cast("Sandbox", self._env).limits
        limits.check_text(self._size + widths(format_spec))
        text = super().format_field(shown(value), format_spec)
        self._size += len(text)
        return text

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        """Convert what may be shown."""
        return super().convert_field(shown(value), conversion)


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's immutable sandbox, furnished as by transformers, and guarded."""

    intercepted_binops = frozenset(("+", "-", "*", "**", "%"))

    def __init__(self, limits: Limits) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=Unknown,
            extensions=[GenerationTag, loopcontrols],
            optimized=False,
        )
        self.limits = limits
        del self.globals["lipsum"]  # random text, as much as one likes
        self.globals |= FUNCTIONS
        filters = {**self.filters, **FILTERS}
        self.filters = {name: guarded_filter(name, make) for name, make in filters.items()}
        self.filters |= GUARD_FILTERS
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

    def concat(self, texts: Iterable[str]) -> str:
        """Join the texts of a macro or a block."""
        texts = list(texts)
        self.limits.check_text(sum(map(len, texts)))
        return "".join(texts)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Estimate, operate, weigh."""
        budget = budget_of(context)
        budget.allow(operator_estimate(budget, operator, left, right))
        if operator == "%" and isinstance(left, str):
            right = shown(right)
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
        of_text = isinstance(owner, str)
        if len(args) == 1 and (isinstance(obj, LoopContext) or (of_text and name == "join")):
            args = (list(budget.watch(args[0])),)
        budget.pay_for(owner, *args, *kwargs.values())
        if of_text:
            args = tuple(map(shown, args))
            if name in METHOD_ESTIMATES:
                budget.allow(METHOD_ESTIMATES[name](budget, owner, args, kwargs))
        budget.enter()
        try:
            made = budget.made(super().call(context, obj, *args, **kwargs))
        finally:
            budget.leave()
        if of_text and isinstance(made, (list, tuple)):
            budget.keep(budget.size(owner))  # it was taken apart, and all parts are new
        return made

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Replace `format` and `format_map` of strings by bounded ones."""
        if super().wrap_str_format(value) is None:
            return None

        def bounded(text: str, /, *args: Any, **kwargs: Any) -> str:
            if text.count("{") > MAX_FIELDS:
                raise LimitExceeded(f"a format with more than {MAX_FIELDS} fields")
            if value.__name__ == "format_map":
                args, kwargs = (), dict(*args, **kwargs)
            formatter = BoundedFormatter(self, escape=getattr(text, "escape", str))
            return type(text)(formatter.vformat(text, args, kwargs))

        return MethodType(bounded, value.__self__)  # which `call` lets pay for the text

    def guarded(self, source: str) -> nodes.Template:
        """Parse a template into the syntax tree that must be compiled."""
        if len(source) > MAX_SOURCE:
            raise LimitExceeded(f"more than {MAX_SOURCE} characters of source")
        return cast("nodes.Template", Guards().visit(self.parse(source)))

    def run(self, template: Template, variables: Mapping[str, Any], limits: Limits) -> str:
        """Render a template compiled from a guarded tree; what goes wrong is raised as it is."""
        budget = Budget(limits, variables.values())
        context = template.new_context({**variables, BUDGET: budget})
        texts, size = [], 0
        for text in template.root_render_func(context):
            texts.append(text)
            size += len(text)
            if size > limits.text:
                raise LimitExceeded(f"more than {limits.text} characters of output")
        return "".join(texts)


@lru_cache(maxsize=8)
def sandbox(limits: Limits) -> Sandbox:
    """One sandbox serves all templates with the same limits: it holds nothing of theirs."""
    return Sandbox(limits)
