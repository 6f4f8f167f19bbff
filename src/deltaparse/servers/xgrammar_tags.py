"""Structural tags for a server's request, as objects of xgrammar."""

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
"""The schema of unconstrained arguments."""


def structural_tag_of(
    fmt: WireFormat,
    tools: Iterable[Any] | None,
    request: object,
    *,
    parallel: bool,
    all_strict: bool = False,
    reasons: bool = False,
) -> Any:
    """Return xgrammar's `StructuralTag`, or None if it is impossible or xgrammar is missing.

    For tools that are not strict, only the name is constrained, and the arguments to any object, as
    in the servers' own tags. In formats with separate arguments, their names are taken from the
    schema, so a schema is required.

    Args:
        fmt: the format of the calls.
        tools: the request's tools.
        request: an object with the `tool_choice`.
        parallel: allow several calls.
        all_strict: constrain the arguments of all tools to their schemas.
        reasons: include the reasoning before the calls. Most servers handle it separately.
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
    """Return the tools, with unconstrained arguments for tools that are not strict.

    Return [] if the names of arguments would have to be unconstrained, too.
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
            function["strict"] = True  # Its parameters are already relaxed if necessary.
            found.append({"type": "function", "function": function})
    return found


def _freed(schema: Any) -> dict[str, Any] | None:
    """Return a schema with the same names and any values, or None without names."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if schema and not isinstance(properties, Mapping):
        return None
    return {**FREE, "properties": {name: {} for name in properties or ()}}


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
