"""The second form in which calls may stand behind the marker of the first.

Versions of one model write calls as JSON or behind a name, `[TOOL_CALLS][{"name": "f"}]` and
`[TOOL_CALLS]f{}`. No name begins with a bracket, so the first character tells which it is. A format
says of both forms what it says of one; grammars and samples have the first alone.
"""

from __future__ import annotations

from functools import lru_cache

from .format import WireFormat
from .groups import ToolFormat

__all__ = ["other_form"]


@lru_cache(maxsize=256)
def other_form(fmt: WireFormat) -> WireFormat | None:
    """Return the format in which calls have the second form, None where they have one."""
    tools = fmt.tools
    if tools.also is ToolFormat.NONE:
        return None
    changes: dict[str, object] = {"format": tools.also, "also": ToolFormat.NONE}
    if tools.also is ToolFormat.TAG_WITH_JSON:
        # In JSON one marker may stand before a list, behind a name before each.
        marker = tools.per_call_start or tools.section_start
        changes |= {"section_start": "", "per_call_start": marker, "separator": ""}
        changes |= {"array_wrapped": False}
    return fmt.replace(tools=changes)
