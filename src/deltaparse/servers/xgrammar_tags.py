"""The structural tags of a server's request, as objects of xgrammar where it is at hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from deltaparse.grammar import structural_tag
from deltaparse.partial import UsageError
from deltaparse.stream import ToolFormat, WireFormat
from deltaparse.stream.tools import read_tools

from .plugin import imported
from .requests import tool_choice_of, tools_of

__all__ = ["structural_tag_of"]

FREE = {"type": "object"}
"""The schema of arguments that a tag leaves free."""


def structural_tag_of(
    fmt: WireFormat,
    tools: Iterable[Any] | None,
    request: object,
    *,
    parallel: bool,
    all_strict: bool = False,
    reasons: bool = False,
) -> Any:
    """Make xgrammar's `StructuralTag`, None where none can say it, or xgrammar is not there.

    A tool that is not strict has its name held to, and its arguments to be an object, as in the
    servers' own tags. Where each argument stands for itself, they have the names of its schema:
    without one, no tag can say it.

    Args:
        request: what has the `tool_choice`.
        all_strict: the arguments of all tools are held to their schemas.
        reasons: the tag has the reasoning before the calls, which servers mostly let pass.
    """
    tags = imported(["xgrammar"], "StructuralTag")
    given = _as_strict(fmt, tools, all_strict=all_strict)
    if tags is None or not given:
        return None
    try:
        made = structural_tag(
            fmt,
            given,
            tool_choice=tool_choice_of(request, given),
            parallel_tool_calls=parallel,
            reasoning="include" if reasons else "exclude",
        )
        return tags[0].model_validate(made)
    except (UsageError, ValueError):
        return None


def _as_strict(
    fmt: WireFormat, tools: Iterable[Any] | None, *, all_strict: bool
) -> list[dict[str, Any]]:
    """Return the tools, the arguments of those that are not strict left free.

    None at all where the names of arguments would have to be free too.
    """
    found = []
    named = fmt.tools.format in (ToolFormat.TAG_WITH_TAGGED, ToolFormat.PYTHONIC)
    for given in tools_of(tools) or ():
        for tool in read_tools([given]):
            function = dict(tool["function"])
            inner = _field(given, "function")
            if not all_strict and _field(inner or given, "strict") is not True:
                free = _freed(function.get("parameters")) if named else FREE
                if free is None:
                    return []
                function["parameters"] = free
            function["strict"] = True  # it is held to what it has now
            found.append({"type": "function", "function": function})
    return found


def _freed(schema: Any) -> dict[str, Any] | None:
    """Return a schema that has the names of another, each with any value; None without names."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if schema and not isinstance(properties, Mapping):
        return None
    return {**FREE, "properties": {name: {} for name in properties or ()}}


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
