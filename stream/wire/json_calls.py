"""Calls that a server constrained the model to write as unmarked JSON, whatever its format.

    calls = call | "[" call ("," call)* "]" | arguments
    call  = {"name": ..., "arguments" or "parameters": ...}

All else of a turn is as the model's format has it: reasoning, content in markers, channels, the
end of the turn. What is peculiar to its own calls means nothing here, but models write the
markers round their calls also when they need not: those are left out, and so is a code block.
"""

from __future__ import annotations

from .format import (
    ArgumentsFormat,
    CallIdFormat,
    CodeFormat,
    FunctionFormat,
    ToolFormat,
    ToolsFormat,
    WireFormat,
)

__all__ = ["in_json"]


def in_json(fmt: WireFormat) -> WireFormat:
    """The format with its calls written as unmarked JSON."""
    tools = ToolsFormat(
        format=ToolFormat.JSON_NATIVE,
        array_wrapped=True,
        name_field="name",
        arguments_field="arguments",
        content_separator=fmt.tools.content_separator,
    )
    if fmt.derived.has_channels:
        # A message to a function is a call by its header.
        return fmt.replace(tools=tools)
    return fmt.replace(
        tools=tools,
        function=FunctionFormat(),
        arguments=ArgumentsFormat(),
        call_id=CallIdFormat(),
        code=CodeFormat(),
    )
