"""What a chat template can call and name: what transformers offers it, made harmless.

A tag, functions, filters and types, as `apply_chat_template` has them; each differs from Python's
or Jinja's own only where that would let a template reach more than a conversation, or spend more
than its budget.
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
from .shown import shown

__all__ = ["FILTERS", "FUNCTIONS", "GenerationTag", "Refusal", "Unknown"]


class Refusal(TemplateRuntimeError):
    """The template called `raise_exception`; the text is its own."""


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
    raise Refusal(str(shown(message)))


def _range(*args: int) -> range:
    for arg in args:
        check_bits(abs(arg).bit_length())
    return safe_range(*args)


def _strftime_now(form: str) -> str:
    if len(form) > 1000:
        raise LimitExceeded("the time in a form of more than 1000 characters")
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
    texts, size = [], 0
    for text in encoder.iterencode(value):
        texts.append(text)
        size += len(text)
        budget.allow(size)
    return "".join(texts)


@pass_context
def _sum(context: Context, items: Any, attribute: Any = None, start: Any = 0) -> Any:
    """Add up with the guarded `+`: it may be lists, and each sum is copied."""
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
