"""The field `tool_calls` of a response template, from the groups of a wire format."""

from __future__ import annotations

import re
from typing import Any

from ..format import CallIdPosition, ToolFormat, WireFormat
from .marker_patterns import SPACE, any_of, core, cores, optional, written

__all__ = ["calls_field"]

NAME = r"(?P<name>[^\s<\[{]+?)"
ID = r"(?P<id>[^\s<\[{]+?)"
KIND = r"\w+"


def calls_field(fmt: WireFormat) -> dict[str, Any]:
    """The field that reads the calls of a format."""
    tools = fmt.tools
    field: dict[str, Any] = {"open_pattern": _opener(fmt), "close_pattern": _closer(fmt)}
    function: Any = {"name": "{name}", "arguments": "{content}"}
    field["content"] = "json"
    if tools.format is ToolFormat.TAG_WITH_TAGGED:
        field["content"] = "xml-inline"
        field["content_args"] = {"tag_pattern": _argument(fmt)}
        if fmt.arguments.quoted_strings:
            field["content_args"]["value_parser"] = {"name": "json", "args": {}}
    elif fmt.arguments.quote:
        quote = fmt.arguments.quote
        field["content_args"] = {"unquoted_keys": True, "string_delims": [[quote, quote]]}
    root = "" if tools.array_wrapped else "content."
    if tools.format is ToolFormat.JSON_NATIVE:
        inner = f"{root}{tools.function_field}." if tools.function_field else root
        function = {
            "name": f"{{{inner}{tools.name_field}}}",
            "arguments": f"{{{inner}{tools.arguments_field}}}",
        }
    transform: dict[str, Any] = {"type": "function", "function": function}
    if tools.format is ToolFormat.JSON_NATIVE and tools.id_field:
        transform["id"] = f"{{{root}{tools.id_field}}}"
    elif fmt.call_id.position not in (CallIdPosition.NONE, CallIdPosition.POST_ARGS):
        transform["id"] = "{id}"
    field["transform"] = transform
    field["transform_each" if tools.array_wrapped else "repeats"] = True
    return field


def _before(fmt: WireFormat) -> str:
    """What may stand before a call that is a message of its own."""
    if not fmt.turn.several_messages:
        return SPACE
    ends, headers = any_of(cores(fmt.turn.ends)), any_of(cores(fmt.turn.headers))
    return SPACE + optional(ends + SPACE + headers + SPACE)


def _opener(fmt: WireFormat) -> str:
    """The pattern up to the JSON, or to the first argument."""
    tools, function, arguments = fmt.tools, fmt.function, fmt.arguments
    if tools.format is ToolFormat.JSON_NATIVE:
        if fmt.facts.unmarked_calls:
            return _unmarked(fmt)
        starts = cores([tools.section_start, tools.per_call_start])
        if len(starts) > 1 and not tools.array_wrapped:
            starts[0] = optional(starts[0])
        return _before(fmt) + SPACE.join(starts)
    starts = cores([tools.per_call_start, function.name_prefix])
    if tools.section_start.strip():
        # Without another marker it is written once, and opens the first call only.
        section = core(tools.section_start)
        starts = [optional(section), *starts] if starts else [section]
    suffix = function.name_suffix.strip() or arguments.start.strip()
    behind = SPACE + written(suffix) + SPACE if suffix else r"(?=\s|[<\[{])" + SPACE
    return _before(fmt) + SPACE.join(starts) + (SPACE if starts else "") + _named(fmt) + behind


def _named(fmt: WireFormat) -> str:
    """The pattern of a name, with its namespace and the id beside it."""
    call_id = fmt.call_id
    space = optional(re.escape(fmt.function.namespace)) if fmt.function.namespace else ""
    if call_id.holds_name:
        return rf"(?P<id>{space}{NAME}(?::\d+)?)"
    name = space + NAME
    if call_id.position is CallIdPosition.BETWEEN_FUNC_AND_ARGS:
        return f"{name}{core(call_id.prefix)}{ID}{core(call_id.suffix)}"
    if call_id.position is CallIdPosition.PRE_FUNC_NAME:
        return f"{core(call_id.prefix)}{ID}{core(call_id.suffix)}{name}"
    return name


def _unmarked(fmt: WireFormat) -> str:
    """The pattern that nothing opens: a turn, or what is behind reasoning, that begins so."""
    ends = cores(end for _, end in fmt.reasoning.pairs)
    behind = "".join(rf"|(?<={end}\s*)" for end in ends)
    brackets = r"\[\s*\{" if fmt.tools.array_wrapped else r"\{"
    return rf'(?:\A{behind}){SPACE}(?={brackets}\s*"{re.escape(fmt.tools.name_field)}"\s*:)'


def _closer(fmt: WireFormat) -> str:
    """The pattern behind the JSON, or behind the last argument."""
    tools, function, arguments, call_id = fmt.tools, fmt.function, fmt.arguments, fmt.call_id
    ends = cores([arguments.end])
    if call_id.position is CallIdPosition.POST_ARGS:
        ends.append(rf"{core(call_id.prefix)}[^\s<\[{{]+{core(call_id.suffix)}")
    ends += cores([function.close, tools.per_call_end])
    section = cores([tools.section_end])
    if tools.array_wrapped or (tools.format is ToolFormat.JSON_NATIVE and not ends):
        ends += section
    if ends:
        # What ends the section is not looked for here: transformers closes what it can at once.
        return SPACE + SPACE.join(ends) + SPACE
    # Nothing closes a call but another, the end of all, and the end of the output.
    starts = cores([tools.per_call_start or tools.section_start or function.name_prefix])
    edges = [] if tools.array_wrapped else [f"(?={SPACE}{text})" for text in starts]
    over = [SPACE + text for text in (*section, *cores(fmt.turn.ends))]
    return "|".join([*over, *edges, r"\Z"])


def _argument(fmt: WireFormat) -> str:
    """The pattern of one argument, with its name and its value."""
    marks = fmt.arguments
    suffixes = [written(marks.name_suffix)]
    if marks.literal_name_suffix.strip():
        suffixes.append(written(marks.literal_name_suffix))
    if marks.type_suffix.strip():
        suffixes = [written(marks.name_suffix) + KIND + written(marks.type_suffix)]
    within = any_of(suffixes) + written(marks.value_prefix)
    value = "(?P<value>.*?)"
    if marks.escape_start.strip():
        value = optional(core(marks.escape_start)) + value + optional(core(marks.escape_end))
    behind = written(marks.value_suffix.rstrip())
    if marks.key_suffix:
        behind += "(?P=key)" + written(marks.key_suffix.rstrip())
    return f"{core(marks.name_prefix)}(?P<key>.+?){within}{value}{behind}"
