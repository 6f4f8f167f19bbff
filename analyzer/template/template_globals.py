"""Safe versions of the functions, filters and types that transformers offers to templates.

They match `apply_chat_template`. They differ from the versions of Python or Jinja only to keep a
template within its conversation and its budget.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, cast

from jinja2 import Undefined, nodes, pass_context
from jinja2.exceptions import SecurityError, TemplateRuntimeError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import SandboxedEnvironment, safe_range
from jinja2.utils import Namespace, missing

from .budget import LimitExceeded, budget_of, check_bits
from .clock import time_of_day
from .safe_repr import shown

__all__ = ["FILTERS", "FUNCTIONS", "GenerationTag", "Refusal", "Unknown"]


class Refusal(TemplateRuntimeError):
    """Raised if the template calls `raise_exception`, with the message of the template."""


class GenerationTag(Extension):
    """The tag `{% generation %}`, which marks model output for training and renders unchanged."""

    tags = {"generation"}  # noqa: RUF012 - as Jinja declares it

    def parse(self, parser: Parser) -> nodes.Node:
        """Parse the tag into a separate scope, as transformers does."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


class PublicNamespace(Namespace):
    """A `namespace` without private names. Its contents are not printed, so it has no weight."""

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
    """Replacement for `dict` with only `dict(...)` and `dict.fromkeys(...)`."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        """Return a dict, as `dict.fromkeys` does."""
        return dict.fromkeys(*args)


class Unknown(Undefined):
    """An undefined value whose error message explains how to pass it to `render`."""

    __slots__ = ()

    @property
    def _undefined_message(self) -> str:
        message = super()._undefined_message
        if self._undefined_hint or self._undefined_obj is not missing:
            return message
        return f"{message}: pass it to render({self._undefined_name}=...)"


def _raise_exception(message: object = "") -> None:
    raise Refusal(str(shown(message)))


def _range(*args: int) -> range:
    for arg in args:
        check_bits(abs(arg).bit_length())
    return safe_range(*args)


def _strftime_now(form: str) -> str:
    if len(form) > 1000:
        raise LimitExceeded("a time format of more than 1000 characters")
    return time_of_day().strftime(form)


@pass_context
def _tojson(
    context: Context,
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Return a value as JSON without HTML escapes. Any iterable is written as a list."""
    budget = budget_of(context)
    width = indent if isinstance(indent, int) else len(indent or "")
    if max(width, *map(len, separators or ("", ""))) > 100:
        raise LimitExceeded("JSON with more than 100 characters between two items")

    def listed(other: Any) -> list[Any]:
        if isinstance(other, Undefined):
            other()  # raises the error with the name of the variable
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
    texts, size = [], 0
    for text in encoder.iterencode(value):
        texts.append(text)
        size += len(text)
        budget.allow(size)
    return "".join(texts)


@pass_context
def _sum(context: Context, items: Any, attribute: Any = None, start: Any = 0) -> Any:
    """Return the sum, computed with the guarded `+`, because sums of lists copy them."""
    room = cast("SandboxedEnvironment", context.environment)
    if attribute is not None:
        items = room.call_filter("map", items, kwargs={"attribute": attribute}, context=context)
    for item in items:
        start = room.call_binop(context, "+", start, item)
    return start


FUNCTIONS: dict[str, Any] = {
    "dict": DictMaker(),
    "namespace": PublicNamespace,
    "range": _range,
    "raise_exception": _raise_exception,
    "strftime_now": _strftime_now,
}
FILTERS: dict[str, Callable[..., Any]] = {"tojson": _tojson, "sum": _sum}
