"""The field `tool_calls` of a response template, from the groups of a wire format."""

from __future__ import annotations

import re
from typing import Any

from ..format import CallIdPosition, ToolFormat, WireFormat
from .marker_patterns import SPACE, any_of, core, cores, optional, written

__all__ = ["after_last_call", "calls_field", "ends_like_json"]

NAME = r"(?P<name>[^\s<\[{]+?)"
ID = r"(?P<id>[^\s<\[{]+?)"
KIND = r"\w+"


def calls_field(fmt: WireFormat) -> dict[str, Any]:
    """The field that reads the calls of a format."""
    tools = fmt.tools
    field: dict[str, Any] = {"open_pattern": _opener(fmt)}
    if close := "|".join(_closers(fmt)):
        field["close_pattern"] = close
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
    id_field = tools.id_field or tools.generated_id_field
    if tools.format is ToolFormat.JSON_NATIVE and id_field:
        transform["id"] = f"{{{root}{id_field}}}"
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


def _begun(fmt: WireFormat, start: str) -> str:
    """The pattern of a marker whose beginning may have ended what stood before it."""
    for end in cores(fmt.turn.ends):
        if start.startswith(end) and start != end:
            return f"(?:{end}|(?<={end})){start.removeprefix(end)}"
    return start


def _opener(fmt: WireFormat) -> str:
    """The pattern up to the JSON, or to the first argument."""
    tools, function, arguments = fmt.tools, fmt.function, fmt.arguments
    if tools.format is ToolFormat.JSON_NATIVE:
        if fmt.facts.unmarked_calls:
            return _unmarked(fmt)
        starts = cores([tools.section_start, tools.per_call_start])
        if len(starts) > 1 and not tools.array_wrapped:
            starts[0] = optional(starts[0])
        if _in_a_row(fmt):
            return rf"(?:{SPACE}{starts[0]}|{_between(fmt)}){SPACE}(?={_head(fmt)})"
        return _before(fmt) + SPACE.join([_begun(fmt, starts[0]), *starts[1:]])
    starts = cores([tools.per_call_start, function.name_prefix])
    if tools.section_start.strip():
        # Without another marker it is written once, and opens the first call only.
        section = core(tools.section_start)
        starts = [optional(section), *starts] if starts else [section]
    suffix = function.name_suffix.strip() or arguments.start.strip()
    behind = SPACE + written(suffix) + SPACE if suffix else r"(?=\s|[<\[{])" + SPACE
    starts[:1] = [_begun(fmt, text) for text in starts[:1]]
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
    code = optional(core(fmt.code.start) + SPACE) if fmt.code.start.strip() else ""
    if fmt.tools.behind_content:
        return f"{SPACE}{code}(?={_head(fmt)})"
    ends = cores(end for _, end in fmt.reasoning.pairs)
    places = [r"\A", *(rf"(?<={end}\s*)" for end in ends)]
    if _in_a_row(fmt):
        places.append(_between(fmt))
    return rf"(?:{'|'.join(places)}){SPACE}{code}(?={_head(fmt)})"


def _in_a_row(fmt: WireFormat) -> bool:
    """Whether several calls that are JSON may stand in a row, with no markers round each."""
    tools = fmt.tools
    return (
        tools.format is ToolFormat.JSON_NATIVE
        and not tools.array_wrapped
        and not tools.per_call_start.strip()
        and (tools.supports_parallel_calls or fmt.facts.unmarked_calls)
    )


def _between(fmt: WireFormat) -> str:
    """The pattern of what stands between two calls in a row."""
    separators = cores([fmt.tools.separator])
    if not separators and fmt.facts.unmarked_calls:
        separators = [optional(";")]
    return r"(?<=\})" + "".join(SPACE + text for text in separators)


def _head(fmt: WireFormat) -> str:
    """The pattern that the JSON of a call, or of a list of them, begins with."""
    tools = fmt.tools
    brackets = r"\[\s*\{" if tools.array_wrapped else r"\{"
    key = tools.function_field or next(iter(tools.field_order), tools.name_field)
    return rf'{brackets}\s*"{re.escape(key)}"\s*:'


def after_last_call(fmt: WireFormat) -> str:
    """A pattern for what ends the section of calls, where a call has just ended; "" for none."""
    ends, section = _own_ends(fmt), cores([fmt.tools.section_end])
    if not ends or not section or section[0] in ends:
        return ""
    return rf"(?<={ends[-1]}\s*){section[0]}"


def ends_like_json(fmt: WireFormat) -> bool:
    """Whether calls that are JSON end with what JSON itself ends with, and nothing else."""
    tools = fmt.tools
    ends = (fmt.arguments.end, fmt.function.close, tools.per_call_end)
    own = "".join(ends)
    if tools.array_wrapped or (tools.format is ToolFormat.JSON_NATIVE and not own.strip()):
        own += tools.section_end
    in_json = tools.format in (ToolFormat.JSON_NATIVE, ToolFormat.TAG_WITH_JSON)
    return in_json and bool(own.strip()) and not own.strip("]}, \t\r\n")


def _own_ends(fmt: WireFormat) -> list[str]:
    """The patterns that a call ends with, one behind the other."""
    tools, function, arguments, call_id = fmt.tools, fmt.function, fmt.arguments, fmt.call_id
    ends = cores([arguments.end])
    if call_id.position is CallIdPosition.POST_ARGS:
        ends.append(rf"{core(call_id.prefix)}[^\s<\[{{]+{core(call_id.suffix)}")
    ends += cores([function.close, tools.per_call_end])
    if tools.array_wrapped or (tools.format is ToolFormat.JSON_NATIVE and not ends):
        ends += cores([tools.section_end])
    return ends


def _closers(fmt: WireFormat) -> list[str]:
    """The patterns behind the JSON, or behind the last argument, any of which ends a call.

    The end of the output ends it without one. None may match more where more text has come: the
    parser closes what it can at once.
    """
    tools = fmt.tools
    next_call = [rf"(?={_between(fmt)}{SPACE}{_head(fmt)})"] if _in_a_row(fmt) else []
    if ends := _own_ends(fmt):
        return [SPACE + SPACE.join(ends) + SPACE, *next_call]
    # Nothing closes a call but another, the end of all, and the end of the output.
    starts = cores([tools.per_call_start or tools.section_start or fmt.function.name_prefix])
    ends = cores((tools.section_end, *fmt.turn.ends))
    others = [text for text in starts if not any(map(text.startswith, ends))]
    edges = [] if tools.array_wrapped else [f"(?={SPACE}{text})" for text in others]
    return [*edges, *(SPACE + end for end in ends), *next_call]


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
