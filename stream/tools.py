"""The tools of a request, read once for all: each function's name and the schema of its arguments.

    {"type": "function", "function": {"name": ..., "parameters": {...}}}     an OpenAI tool
    {"name": ..., "parameters": {...}}                                       a function description

Who asks is strict for a reason, or is not:

    the parser     has an output to read, whatever the request was. So any name and any schema
                   will do, and of two tools of one name the last counts.
    the grammar    holds a model to the schemas. It refuses two tools of one name, a tool without a
                   name, and a schema that is no object's (`grammar/turn/request.py`).
    the gate       holds calls to the schemas. It refuses, beside two tools of one name, names that
                   cannot be written in a tag, and schemas that are not valid (`gate/schemas.py`).
    the servers    have tools as objects of their own classes: `plain_tools` makes mappings of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import count
from typing import Any, Literal

from deltaparse.partial import UsageError

__all__ = ["ToolChoice", "chosen_function", "distinct", "plain_tool", "plain_tools", "read_tools"]

ToolChoice = Literal["auto", "none", "required"] | Mapping[str, Any]
"""Whether a model may call, or has to; a mapping names the function."""

FORM = '{"type": "function", "function": {"name": ..., "parameters": {...}}}'
LONGEST_SHOWN = 200
"""Characters of a bad tool in a message."""

# Whether something is a `dict` is known ten times as fast, and each parser asks for each tool.
MAPPING = (dict, Mapping)


def read_tools(tools: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name of each tool and the JSON Schema of its arguments, None where it has none.

    Raises:
        UsageError: `tools` are no list, or one of them is no tool; the text has its place.
    """
    if not isinstance(tools, list) and not _is_iterable(tools):
        raise UsageError(f"tools are a list of OpenAI tools, not {type(tools).__name__}")
    return map(_function, tools, count())


def distinct(named: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The schemas by name.

    Raises:
        UsageError: two tools have one name.
    """
    found: dict[str, Any] = {}
    for name, schema in named:
        if name in found:
            raise UsageError(f"tool {name!r} is given twice; give each tool once")
        found[name] = schema
    return found


def chosen_function(tool_choice: object, names: Collection[str] | None) -> str | None:
    """The function that a tool choice names, None for "auto", "none" and "required".

    Raises:
        UsageError: `tool_choice` is none of these, or names none of `names` (None: any will do).
    """
    if tool_choice in ("auto", "none", "required"):
        return None
    if not isinstance(tool_choice, Mapping):
        message = f'tool_choice={tool_choice!r}: "auto", "none", "required" or a tool choice object'
        raise UsageError(message)
    function = tool_choice.get("function", tool_choice)
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(name, str):
        form = '{"type": "function", "function": {"name": ...}}'
        raise UsageError(f"a tool choice object is {form}, not {_shown(tool_choice)}")
    if names is not None and name not in names:
        raise UsageError(f"tool_choice names {name!r}, which is not one of the tools")
    return name


def plain_tools(tools: Iterable[Any] | None) -> list[Mapping[str, Any]] | None:
    """Tools as mappings: they are mappings, pydantic objects, or objects with such attributes."""
    return None if tools is None else [plain_tool(tool) for tool in tools]


def plain_tool(tool: Any) -> Mapping[str, Any]:
    """One tool, or a tool choice object, as a mapping; see `plain_tools`."""
    if isinstance(tool, Mapping):
        return tool
    if hasattr(tool, "model_dump"):
        dumped: Mapping[str, Any] = tool.model_dump()
        return dumped
    function = getattr(tool, "function", tool)
    if not isinstance(function, Mapping):
        function = {name: getattr(function, name, None) for name in ("name", "parameters")}
    return {"type": "function", "function": function}


def _is_iterable(tools: object) -> bool:
    return isinstance(tools, Iterable) and not isinstance(tools, str | bytes | Mapping)


def _function(tool: object, at: int) -> tuple[str, Any]:
    function = tool.get("function", tool) if isinstance(tool, MAPPING) else None
    name = function.get("name") if isinstance(function, MAPPING) else None
    if function is None or not isinstance(name, str):
        raise UsageError(f"a tool is {FORM}; tools[{at}] is {_shown(tool)}")
    return name, function.get("parameters")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."
