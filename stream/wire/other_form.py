"""The second form of calls after the same marker.

Versions of one model write calls as JSON or with a name before the arguments:
`[TOOL_CALLS][{"name": "f"}]` and `[TOOL_CALLS]f{}`. A name never begins with a bracket, so the
first character identifies the form. All other settings apply to both forms. Grammars and samples
contain only the first form.
"""

from __future__ import annotations

from functools import lru_cache

from .format import WireFormat
from .groups import ToolFormat

__all__ = ["other_form"]


@lru_cache(maxsize=256)
def other_form(fmt: WireFormat) -> WireFormat | None:
    """Return the format with its calls in the second form, None if it has one form only.

    Args:
        fmt: the wire format.
    """
    tools = fmt.tools
    if tools.also is ToolFormat.NONE:
        return None
    # Without the reset of `also`, the forms would refer to each other forever.
    changes: dict[str, object] = {"format": tools.also, "also": ToolFormat.NONE}
    if tools.also is ToolFormat.TAG_WITH_JSON:
        # In JSON, the marker may precede a list. With names, it precedes each call.
        marker = tools.per_call_start or tools.section_start
        changes |= {"section_start": "", "per_call_start": marker, "separator": ""}
        # Brackets begin only the first form.
        changes |= {"array_wrapped": False}
    return fmt.replace(tools=changes)
