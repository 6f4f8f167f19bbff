"""Calls that a server constrains to unmarked JSON, whatever the format of the model.

    calls = call | "[" call ("," call)* "]" | arguments
    call  = {"name": ..., "arguments" or "parameters": ...}

The rest of the turn follows the format of the model: reasoning, content in markers, channels, the
end of the turn. Its own call syntax has no meaning here. But models write the markers around their
calls even without need, so these markers are dropped. Code blocks around calls are dropped too.
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
    """Return a format with its calls as unmarked JSON.

    Args:
        fmt: the format of the model.
    """
    # Only the whitespace before calls stays: it belongs to the turn.
    tools = ToolsFormat(
        format=ToolFormat.JSON_NATIVE,
        # Servers may constrain to a list, if several calls are allowed.
        array_wrapped=True,
        name_field="name",
        arguments_field="arguments",
        content_separator=fmt.tools.content_separator,
    )
    # In channels, the header marks a message to a function as a call.
    if fmt.derived.has_channels:
        return fmt.replace(tools=tools)
    return fmt.replace(
        tools=tools,
        # Empty groups remove the format's own call syntax.
        function=FunctionFormat(),
        arguments=ArgumentsFormat(),
        call_id=CallIdFormat(),
        code=CodeFormat(),
    )
