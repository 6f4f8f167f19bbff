"""The field `tool_calls` of a response template, from the groups of a wire format."""

from __future__ import annotations

import re
from typing import Any

from ..format import CallIdPosition, ToolFormat, WireFormat
from .marker_patterns import SPACE, any_of, bare, core, cores, joined, optional

__all__ = [
    "behind_calls",
    "calls_field",
    "ends_like_json",
    "in_a_row",
    "lists_round_each",
    "splits_in_json",
]

NAME = r"(?P<name>[^\s<\[{]+?)"
ID = r"[^\s<\[{]+?"
MARKED_ID = r"[^\s<{]+?"
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
    each = tools.array_wrapped and not lists_round_each(fmt)
    root = "" if each else "content."
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
    field["transform_each" if each else "repeats"] = True
    return field


def lists_round_each(fmt: WireFormat) -> bool:
    """Whether each call stands in a list of its own: its brackets are markers then."""
    return fmt.tools.array_wrapped and bool(fmt.tools.per_call_start.strip())


def _begun(fmt: WireFormat, start: str) -> str:
    """The pattern of a marker whose beginning may have ended what stood before it."""
    for end in cores(fmt.turn.ends):
        if start.startswith(end) and start != end:
            return f"(?:{end}|(?<={end})){start.removeprefix(end)}"
    return start


def _starts(fmt: WireFormat) -> list[str]:
    """The patterns that a call begins with, up to its id, its name or its JSON.

    The marker of the section is written once, and opens the first call only, where another marker
    begins each.
    """
    tools = fmt.tools
    own = cores([tools.per_call_start])
    if fmt.derived.is_tagged and fmt.call_id.position is not CallIdPosition.PRE_FUNC_NAME:
        own += cores([fmt.function.name_prefix])
    section = cores([tools.section_start])
    starts = [optional(text) if own else text for text in section] + own
    starts[:1] = [_begun(fmt, text) for text in starts[:1]]
    return starts


def _opener(fmt: WireFormat) -> str:
    """The pattern up to the JSON, or to the first argument."""
    starts = _starts(fmt)
    if fmt.tools.format is ToolFormat.JSON_NATIVE:
        if fmt.derived.unmarked_calls:
            return _unmarked(fmt)
        if in_a_row(fmt):
            return rf"(?:{SPACE}{starts[0]}{SPACE}|{_between(fmt)})(?={_head(fmt)})"
        return SPACE + joined([*starts, r"\[" if lists_round_each(fmt) else ""])
    return SPACE + joined([*starts, *_named(fmt)])


def _named(fmt: WireFormat) -> list[str]:
    """The patterns of a name and of what stands round it, up to the first argument."""
    function, arguments, call_id = fmt.function, fmt.arguments, fmt.call_id
    space = optional(re.escape(function.namespace)) if function.namespace else ""
    name = rf"(?P<id>{space}{NAME}(?::\d+)?)" if call_id.holds_name else space + NAME
    # Where a marker ends it, an id may have the bracket that arguments may begin with.
    own = MARKED_ID if core(call_id.suffix) else ID
    given = [core(call_id.prefix), rf"(?P<id>{own})", core(call_id.suffix)]
    parts = [name, core(function.name_suffix)]
    if call_id.position is CallIdPosition.PRE_FUNC_NAME:
        parts = [*(() if call_id.holds_name else given), core(function.name_prefix), *parts]
    elif call_id.position is CallIdPosition.BETWEEN_FUNC_AND_ARGS:
        parts += given
    parts = [part for part in (*parts, core(arguments.start)) if part]
    if parts[-1] in (name, given[1]):
        # No marker ends the name: what follows it does.
        parts.append(f"(?={any_of(_followers(fmt))})")
        return parts
    return [*parts, ""]


def _followers(fmt: WireFormat) -> list[str]:
    """The patterns of what may stand behind the head of a call, where no marker ends that."""
    if fmt.tools.format is ToolFormat.TAG_WITH_JSON:
        return [r"\{"]
    ends = (fmt.arguments.end, *fmt.derived.closers, *fmt.turn.ends)
    return cores([fmt.arguments.name_prefix, *ends, *fmt.derived.openers])


def _unmarked(fmt: WireFormat) -> str:
    """The pattern that nothing opens: a turn, or what is behind reasoning, that begins so."""
    code = [core(fmt.code.start)] if fmt.code.start.strip() else []
    if fmt.tools.behind_content:
        places = [joined(["", *map(optional, code), ""])]
    else:
        ends = cores(end for _, end in fmt.reasoning.pairs)
        places = [rf"\A{SPACE}", *(rf"(?<={end}\s*){SPACE}" for end in ends)]
        places += [joined(["", text, ""]) for text in code]
        if in_a_row(fmt):
            places.append(_between(fmt))
    return f"{any_of(places)}(?={_head(fmt)})"


def in_a_row(fmt: WireFormat) -> bool:
    """Whether several calls that are JSON may stand in a row, with no markers round each."""
    tools = fmt.tools
    none = not tools.per_call_start.strip() and not tools.array_wrapped
    return tools.format is ToolFormat.JSON_NATIVE and none


def splits_in_json(fmt: WireFormat) -> bool:
    """Whether what stands between two calls in a row stands between values within one too."""
    return in_a_row(fmt) and fmt.tools.separator.strip() in (",", ":")


def _between(fmt: WireFormat) -> str:
    """The pattern of what stands between two calls in a row."""
    separators = cores([fmt.tools.separator])
    if separators:
        return r"(?<=\})" + joined(["", separators[0], ""])
    # Nothing at all cannot stand there: the second call would end where it begins.
    return r"(?<=\})(?:\s*;\s*|\s+)" if fmt.derived.unmarked_calls else r"(?<=\})\s+"


def _head(fmt: WireFormat) -> str:
    """The pattern that the JSON of a call, or of a list of them, begins with."""
    tools = fmt.tools
    brackets = r"\[\s*\{" if tools.array_wrapped else r"\{"
    keys = [tools.function_field or next(iter(tools.field_order), tools.name_field)]
    if not fmt.derived.unmarked_calls:
        inner = ["type"] if tools.function_field else [tools.name_field, tools.arguments_field]
        keys += filter(None, [*inner, tools.id_field, tools.generated_id_field])
    return rf'{brackets}\s*"{any_of(map(re.escape, dict.fromkeys(keys)))}"\s*:'


def behind_calls(fmt: WireFormat) -> list[str]:
    """Patterns of what stands behind a call that has just ended, and is no content."""
    ends = _own_ends(fmt)
    tools = fmt.tools
    one_by_one = not in_a_row(fmt) and (lists_round_each(fmt) or not tools.array_wrapped)
    others = cores([tools.section_end, tools.separator * one_by_one])
    return [rf"(?<={ends[-1]}\s*){text}" for text in others if ends and text != ends[-1]]


def ends_like_json(fmt: WireFormat) -> bool:
    """Whether calls end with what values in them end with too, and nothing else."""
    own = fmt.arguments.end + fmt.function.close + fmt.tools.per_call_end
    own = own if own.strip() else fmt.tools.section_end
    return bool(own.strip()) and not own.strip("]}, \t\r\n")


def _own_ends(fmt: WireFormat) -> list[str]:
    """The patterns that a call ends with, one behind the other."""
    tools, function, arguments, call_id = fmt.tools, fmt.function, fmt.arguments, fmt.call_id
    ends = cores([arguments.end])
    if call_id.position is CallIdPosition.POST_ARGS:
        ends.append(joined(filter(None, [core(call_id.prefix), ID, core(call_id.suffix)])))
    ends += cores([function.close, tools.per_call_end])
    if lists_round_each(fmt):
        return [r"\]", *ends]
    if tools.array_wrapped or (in_a_row(fmt) and not ends):
        ends += cores([tools.section_end])
    return ends


def _closers(fmt: WireFormat) -> list[str]:
    """The patterns behind the JSON, or behind the last argument, any of which ends a call.

    The end of the output ends it without one. None may match more where more text has come: the
    parser closes what it can at once.
    """
    tools = fmt.tools
    next_call = [f"(?={_between(fmt)}{_head(fmt)})"] if in_a_row(fmt) else []
    if ends := _own_ends(fmt):
        return [SPACE + joined(ends) + SPACE, *next_call]
    # Nothing closes a call but another, the end of all, and the end of the output.
    starts = cores([tools.per_call_start, fmt.function.name_prefix, tools.section_start])[:1]
    ends = cores((tools.section_end, fmt.content.end, *fmt.turn.ends))
    others = [text for text in starts if not any(map(text.startswith, ends))]
    edges = [f"(?={SPACE}{text})" for text in others]
    # What separates calls is no part of their arguments.
    between = [SPACE + text + SPACE for text in cores([tools.separator])]
    edges += [f"{text}(?={other})" for text in between for other in others]
    return [*edges, *(SPACE + end + SPACE for end in ends), *next_call]


def _argument(fmt: WireFormat) -> str:
    """The pattern of one argument, with its name and its value."""
    marks = fmt.arguments
    suffixes = [marks.name_suffix]
    if marks.literal_name_suffix.strip():
        suffixes.append(marks.literal_name_suffix)
    if marks.type_suffix.strip():
        within = joined([core(marks.name_suffix), KIND, bare(marks.type_suffix)])
    else:
        within = any_of(map(bare, suffixes))
    within += bare(marks.value_prefix)
    value = "(?P<value>.*?)"
    if marks.escape_start.strip():
        value = optional(core(marks.escape_start)) + value + optional(core(marks.escape_end))
    if marks.key_suffix:
        behind = bare(marks.value_suffix) + "(?P=key)" + bare(marks.key_suffix.rstrip())
    else:
        behind = bare(marks.value_suffix.rstrip())
    return joined([core(marks.name_prefix), "(?P<key>.+?)", within]) + value + behind
