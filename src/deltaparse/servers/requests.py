"""Tools and tool choice of a server's request, in the form shown to the model.

Servers accept tools other than functions and convert some of them to functions. A custom tool takes
one string, `{"input": ...}`. The functions of a namespace are named `namespace__function`. Other
tools are not shown to the model, so it cannot call them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from deltaparse.stream.tools import ToolChoice, read_tools

__all__ = ["forces_calls", "named_function", "tool_choice_of", "tools_of"]

INPUT = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}
"""The arguments of a custom tool."""


def tools_of(tools: Iterable[Any] | None) -> list[Any] | None:
    """Return a server's tools for a `StreamParser`. With pydantic, `tools` may be an iterator."""
    if tools is None:
        return None
    return [shown for tool in tools for shown in _shown(tool)]


def tool_choice_of(request: object, tools: Sequence[Any] | None = None) -> ToolChoice:
    """Return a request's `tool_choice` for a `StreamParser` (default: "auto").

    A choice of a tool hidden from the model becomes "auto", because it cannot be fulfilled. `tools`
    is the result of `tools_of`, and limits the functions that can be chosen.
    """
    choice = getattr(request, "tool_choice", None)
    if choice in ("none", "required"):
        return "none" if choice == "none" else "required"
    if choice is None or isinstance(choice, str):
        return "auto"
    allowed = _field(choice, "allowed_tools") or choice
    if _field(choice, "type") == "allowed_tools":
        names = [name for one in _field(allowed, "tools") or () if (name := _name(one))]
        names = [name for name in names if tools is None or name in read_tools(tools).schemas]
        mode = "required" if _field(allowed, "mode") == "required" else "auto"
        if not names:
            return "none"
        functions = [{"type": "function", "name": name} for name in names]
        return {"type": "allowed_tools", "mode": mode, "tools": functions}
    name = named_function(request)
    if not name or (tools is not None and name not in read_tools(tools).schemas):
        return "auto"
    return {"type": "function", "function": {"name": name}}


def named_function(request: object) -> str:
    """Return the function named by a request's `tool_choice`, else ""."""
    choice = getattr(request, "tool_choice", None)
    if choice is None or isinstance(choice, str):
        return ""
    return _name(choice)


def forces_calls(request: object) -> bool:
    """Return True if a request requires a call of any function or of a named one."""
    return getattr(request, "tool_choice", None) == "required" or bool(named_function(request))


def _shown(tool: Any) -> list[Any]:
    kind = _field(tool, "type")
    if kind == "namespace":
        return [
            {**_dumped(inner), "name": f"{_field(tool, 'name')}__{_field(inner, 'name')}"}
            for inner in _field(tool, "tools") or ()
            if _field(inner, "type") == "function"
        ]
    if kind == "custom" and _field(tool, "input_schema") is None:
        name = _field(_field(tool, "custom"), "name") or _field(tool, "name")
        return [{"type": "function", "function": {"name": name, "parameters": INPUT}}]
    return [tool]


def _name(choice: object) -> str:
    """Return the function named by a choice, or "" for other kinds of choices."""
    if _field(choice, "type") not in (None, "function", "custom", "tool"):
        return ""
    for inner in (_field(choice, "function"), _field(choice, "custom"), choice):
        name = _field(inner, "name")
        if isinstance(name, str):
            return name
    return ""


def _dumped(tool: Any) -> dict[str, Any]:
    return dict(tool) if isinstance(tool, Mapping) else dict(tool.model_dump())


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
