"""Constrained decoding in SGLang: structural tags, or the delimiters of the arguments."""

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
"""A tool for testing if a structural tag can express the format."""


@dataclass
class StructureInfo:
    """The text before and after a call's arguments, and the marker beginning a call."""

    begin: str
    end: str
    trigger: str


def sglang_tag(
    fmt: WireFormat, tools: Any, tool_choice: Any, *, parallel: bool, reasons: bool = False
) -> Any:
    """Return xgrammar's `StructuralTag` for a request's tools, or None if it is impossible."""
    request = SimpleNamespace(tool_choice=tool_choice)
    return structural_tag_of(fmt, tools, request, parallel=parallel, reasons=reasons)


def around(fmt: WireFormat, name: str) -> tuple[str, str, str]:
    """Return the text before and after a function's JSON arguments, and the marker of a call.

    Raises:
        NotImplementedError: the arguments are not one JSON object between two fixed texts.
    """
    tools, function = fmt.tools, fmt.function
    before, after = tools.section_start + tools.per_call_start, tools.per_call_end
    after += tools.section_end
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
            before, after = f"{before}[", f"]{after}"
        begin, end = before + fields, closing + after
    elif (
        tools.format is ToolFormat.TAG_WITH_JSON
        and fmt.call_id.position is CallIdPosition.NONE
        and not fmt.arguments.quote
    ):
        name = escapes_of(function.name_escapes).write(name)
        begin = before + function.name_prefix + name + function.name_suffix
        end = function.close + (name + function.close_suffix) * fmt.derived.closes_by_name + after
        trigger = trigger or (function.name_prefix).strip()
    else:
        raise NotImplementedError("the arguments are not one JSON object between two fixed texts")
    if not trigger:
        raise NotImplementedError("calls have no opening marker in this format")
    return begin, end, trigger
