"""Jinja's sandbox for chat templates, with the `library` and enforced limits."""

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
from .instrumentation import GUARD_FILTERS, TESTS, Guards, guarded_filter, guarded_test
from .safe_repr import shown
from .template_globals import FILTERS, FUNCTIONS, GenerationTag, Unknown

__all__ = ["MAX_SOURCE", "Sandbox", "sandbox"]

# A template is an untrusted program that runs as soon as a model is loaded. Jinja's sandbox denies
# access to Python internals and changes to its input, but does not limit time or memory. Every
# rendering must end soon. The limits must be cheap, because most templates are harmless.
#
# Interrupting a running template is not an option. A separate process takes longer to start than
# the rendering. A signal reaches only the main thread, and some systems have no signals. A trace
# function slows down every line. No method interrupts `'a' * 10**10`, which is one instruction. So
# each operation with more than constant cost asks a `Budget` first. The result is estimated
# (`cost_estimates`) and refused before it is created. The input is charged, and the result weighed.
#
# Every operation must be covered. Jinja's hooks for operators and calls are overridden here.
# `guards` wraps all filters and the tests that read values, and adds checks to the syntax tree for
# all other constructs. Constant folding is off, because it would run before a budget exists.

MAX_SOURCE = 128 << 10
"""Characters of source. Real templates have up to 20 000."""

MAX_FIELDS = 10_000
"""Fields of a text for `format`, which are filled one by one."""


class BoundedFormatter(SandboxedEscapeFormatter):
    """`str.format` with a limit for each width, and for all fields together."""

    _size = 0

    def format_field(self, value: Any, format_spec: str) -> str:
        """Format a field after checking its width plus the length of the previous fields."""
        limits = cast("Sandbox", self._env).limits
        limits.check_text(self._size + widths(format_spec))
        text = super().format_field(shown(value), format_spec)
        self._size += len(text)
        return text

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        """Convert a field after replacing values with memory addresses."""
        return super().convert_field(shown(value), conversion)


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's immutable sandbox with the environment of transformers and budget checks."""

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
        del self.globals["lipsum"]  # it generates any amount of random text
        self.globals |= FUNCTIONS
        filters = {**self.filters, **FILTERS}
        self.filters = {name: guarded_filter(name, make) for name, make in filters.items()}
        self.filters |= GUARD_FILTERS
        for name in TESTS:
            test = cast("Callable[..., bool]", self.tests[name])
            self.tests[name] = guarded_test(name, test)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Allow `append` and `pop`, which `Budget.change` checks, and deny methods with bytes."""
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
        """Estimate the result of an operator, run it, and weigh the result."""
        budget = budget_of(context)
        budget.allow(operator_estimate(budget, operator, left, right))
        if operator == "%" and isinstance(left, str):
            right = shown(right)
        return budget.made(super().call_binop(context, operator, left, right))

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Estimate the result of a call, run it, and weigh the result."""
        budget = budget_of(context)
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        if isinstance(owner, list) and name in ("append", "pop"):
            return budget.change(owner, name, args)
        if isinstance(owner, dict) and name == "get":
            budget.pay()  # not weighed, because `get` returns an existing value
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
            budget.keep(budget.size(owner))  # the text was split, and all parts are new strings
        return made

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Replace `format` and `format_map` of strings with bounded versions."""
        if super().wrap_str_format(value) is None:
            return None

        def bounded(text: str, /, *args: Any, **kwargs: Any) -> str:
            if text.count("{") > MAX_FIELDS:
                raise LimitExceeded(f"a format with more than {MAX_FIELDS} fields")
            if value.__name__ == "format_map":
                args, kwargs = (), dict(*args, **kwargs)
            formatter = BoundedFormatter(self, escape=getattr(text, "escape", str))
            return type(text)(formatter.vformat(text, args, kwargs))

        return MethodType(bounded, value.__self__)  # a method, so that `call` charges the text

    def guarded(self, source: str) -> nodes.Template:
        """Parse a template into a guarded syntax tree."""
        if len(source) > MAX_SOURCE:
            raise LimitExceeded(f"more than {MAX_SOURCE} characters of source")
        return cast("nodes.Template", Guards().visit(self.parse(source)))

    def run(self, template: Template, variables: Mapping[str, Any], limits: Limits) -> str:
        """Render a template compiled from a guarded tree. Errors are raised unchanged."""
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
    """Return the sandbox for these limits. Templates share it, because it keeps no state."""
    return Sandbox(limits)
