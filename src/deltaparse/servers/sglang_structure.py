"""What SGLang constrains a turn with: a structural tag, or what stands round the arguments."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from deltaparse.stream import CallIdPosition, ToolFormat, WireFormat
from deltaparse.stream.wire.escapes import escapes_of

from .xgrammar_tags import structural_tag_of

__all__ = ["PROBE", "StructureInfo", "around", "sglang_tag"]

PROBE = {
    "type": "function",
    "function": {"name": "f", "parameters": {"type": "object", "properties": {}}},
}
"""A tool to ask with whether a tag can say the format."""


@dataclass
class StructureInfo:
    """What stands round the arguments of a call, and the marker at which a call begins."""

    begin: str
    end: str
    trigger: str


def sglang_tag(
    fmt: WireFormat, tools: Any, tool_choice: Any, *, parallel: bool, reasons: bool = False
) -> Any:
    """Make xgrammar's `StructuralTag` for a request's tools, None where none can say it."""
    request = SimpleNamespace(tool_choice=tool_choice)
    return structural_tag_of(fmt, tools, request, parallel=parallel, reasons=reasons)


def around(fmt: WireFormat, name: str) -> tuple[str, str, str]:
    """Return what stands before and behind the JSON arguments of a function, and the marker.

    Raises:
        NotImplementedError: the arguments are not one JSON object between two texts.
    """
    tools, function = fmt.tools, fmt.function
    before, behind = tools.section_start + tools.per_call_start, tools.per_call_end
    behind += tools.section_end
    trigger = before.strip()
    if tools.format is ToolFormat.JSON_NATIVE and not (
        tools.name_is_key or tools.arguments_as_text
    ):
        quoted = json.dumps(name, ensure_ascii=False)
        fields = f'{{"{tools.name_field}": {quoted}, "{tools.arguments_field}": '
        closing = "}"
        if tools.function_field:
            fields, closing = f'{{"{tools.function_field}": {fields}', "}}"
        if tools.array_wrapped:
            before, behind = f"{before}[", f"]{behind}"
        begin, end = before + fields, closing + behind
    elif (
        tools.format is ToolFormat.TAG_WITH_JSON
        and fmt.call_id.position is CallIdPosition.NONE
        and not fmt.arguments.quote
    ):
        name = escapes_of(function.name_escapes).write(name)
        begin = before + function.name_prefix + name + function.name_suffix
        end = function.close + (name + function.close_suffix) * fmt.derived.closes_by_name + behind
        trigger = trigger or (function.name_prefix).strip()
    else:
        raise NotImplementedError("the arguments are no JSON between two texts")
    if not trigger:
        raise NotImplementedError("no marker begins a call")
    return begin, end, trigger
