"""Conversion of the groups of a wire format to the field `tool_calls`."""

from __future__ import annotations

import re
from typing import Any

from ..format import CallIdPosition, ToolFormat, WireFormat
from .marker_patterns import SPACE, any_of, bare, core, cores, joined, optional

__all__ = [
    "after_calls",
    "calls_field",
    "ends_like_json",
    "in_a_row",
    "lists_around_each",
    "splits_in_json",
]

NAME = r"(?P<name>[^\s<\[{]+?)"
# Names and ids end at a tag or at the beginning of JSON, even without an end marker.
ID = r"[^\s<\[{]+?"
MARKED_ID = r"[^\s<{]+?"
KIND = r"\w+"


def calls_field(fmt: WireFormat) -> dict[str, Any]:
    """Return the field that parses the calls of a format."""
    tools = fmt.tools
    field: dict[str, Any] = {"open_pattern": _opener(fmt)}
    # Without a close pattern, the field ends with the output.
    if close := "|".join(_closers(fmt)):
        field["close_pattern"] = close
    function: Any = {"name": "{name}", "arguments": "{content}"}
    field["content"] = "json"
    if tools.format is ToolFormat.TAG_WITH_TAGGED:
        field["content"] = "xml-inline"
        field["content_args"] = {"tag_pattern": _argument(fmt)}
        # The default parser of values returns text, and would keep the quotes.
        if fmt.arguments.quoted_strings:
            field["content_args"]["value_parser"] = {"name": "json", "args": {}}
    elif fmt.arguments.quote:
        quote = fmt.arguments.quote
        field["content_args"] = {"unquoted_keys": True, "string_delims": [[quote, quote]]}
    # A list for all calls is one match of the field, so its items are transformed one by one.
    each = tools.array_wrapped and not lists_around_each(fmt)
    root = "" if each else "content."
    # Other formats have the name outside of the JSON.
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
    # The standard has no place for an id after the arguments.
    elif fmt.call_id.position not in (CallIdPosition.NONE, CallIdPosition.POST_ARGS):
        transform["id"] = "{id}"
    field["transform"] = transform
    field["transform_each" if each else "repeats"] = True
    return field


def lists_around_each(fmt: WireFormat) -> bool:
    """Return True if each call has its own list, whose brackets are like markers."""
    return fmt.tools.array_wrapped and bool(fmt.tools.per_call_start.strip())


def _begun(fmt: WireFormat, start: str) -> str:
    """Return the pattern of a marker whose beginning may already have closed the previous part."""
    for end in cores(fmt.turn.ends):
        # Content may have been closed at a shorter end of the turn, the beginning of this marker.
        if start.startswith(end) and start != end:
            return f"(?:{end}|(?<={end})){start.removeprefix(end)}"
    return start


def _starts(fmt: WireFormat) -> list[str]:
    """Return the patterns before the id, the name or the JSON of a call.

    The marker of a section is written once. It opens only the first call if calls have their own
    markers.
    """
    tools = fmt.tools
    own = cores([tools.per_call_start])
    # An id before the name has its own markers, and the prefix of the name follows it.
    if fmt.derived.is_tagged and fmt.call_id.position is not CallIdPosition.PRE_FUNC_NAME:
        own += cores([fmt.function.name_prefix])
    section = cores([tools.section_start])
    # In a section without markers for each call, its start marker begins the call.
    starts = [optional(text) if own else text for text in section] + own
    starts[:1] = [_begun(fmt, text) for text in starts[:1]]
    return starts


def _opener(fmt: WireFormat) -> str:
    """Return the pattern before the JSON or before the first argument."""
    starts = _starts(fmt)
    if fmt.tools.format is ToolFormat.JSON_NATIVE:
        # Without markers, only the JSON itself shows the beginning of a call.
        if fmt.derived.unmarked_calls:
            return _unmarked(fmt)
        if in_a_row(fmt):
            return rf"(?:{SPACE}{starts[0]}{SPACE}|{_between(fmt)})(?={_head(fmt)})"
        return SPACE + joined([*starts, r"\[" if lists_around_each(fmt) else ""])
    return SPACE + joined([*starts, *_named(fmt)])


def _named(fmt: WireFormat) -> list[str]:
    """Return the patterns of the name and its delimiters, up to the first argument."""
    function, arguments, call_id = fmt.function, fmt.arguments, fmt.call_id
    space = optional(re.escape(function.namespace)) if function.namespace else ""
    # An id may contain the name, for example `functions.f:0`.
    name = rf"(?P<id>{space}{NAME}(?::\d+)?)" if call_id.holds_name else space + NAME
    # Before a marker, an id may contain a bracket. Otherwise a bracket begins the arguments.
    own = MARKED_ID if core(call_id.suffix) else ID
    given = [core(call_id.prefix), rf"(?P<id>{own})", core(call_id.suffix)]
    parts = [name, core(function.name_suffix)]
    if call_id.position is CallIdPosition.PRE_FUNC_NAME:
        parts = [*(() if call_id.holds_name else given), core(function.name_prefix), *parts]
    elif call_id.position is CallIdPosition.BETWEEN_FUNC_AND_ARGS:
        parts += given
    parts = [part for part in (*parts, core(arguments.start)) if part]
    if parts[-1] in (name, given[1]):
        # The name has no end marker, so it ends before the following text.
        parts.append(f"(?={any_of(_followers(fmt))})")
        return parts
    return [*parts, ""]


def _followers(fmt: WireFormat) -> list[str]:
    """Return the patterns that may follow the head of a call without an end marker."""
    # JSON arguments always begin with a brace.
    if fmt.tools.format is ToolFormat.TAG_WITH_JSON:
        return [r"\{"]
    ends = (fmt.arguments.end, *fmt.derived.closers, *fmt.turn.ends)
    return cores([fmt.arguments.name_prefix, *ends, *fmt.derived.openers])


def _unmarked(fmt: WireFormat) -> str:
    """Return the pattern before unmarked calls, at the start of the turn or after reasoning."""
    code = [core(fmt.code.start)] if fmt.code.start.strip() else []
    # These calls may begin anywhere, so the position is not restricted.
    if fmt.tools.behind_content:
        places = [joined(["", *map(optional, code), ""])]
    else:
        ends = cores(end for _, end in fmt.reasoning.pairs)
        # Elsewhere, JSON is part of the answer.
        places = [rf"\A{SPACE}", *(rf"(?<={end}\s*){SPACE}" for end in ends)]
        places += [joined(["", text, ""]) for text in code]
        if in_a_row(fmt):
            places.append(_between(fmt))
    return f"{any_of(places)}(?={_head(fmt)})"


def in_a_row(fmt: WireFormat) -> bool:
    """Return True if several JSON calls may follow each other without own markers."""
    tools = fmt.tools
    none = not tools.per_call_start.strip() and not tools.array_wrapped
    return tools.format is ToolFormat.JSON_NATIVE and none


def splits_in_json(fmt: WireFormat) -> bool:
    """Return True if the separator of calls in a row also separates values within a call."""
    # The parser of transformers matches without the structure of JSON.
    return in_a_row(fmt) and fmt.tools.separator.strip() in (",", ":")


def _between(fmt: WireFormat) -> str:
    """Return the pattern of the text between two calls in a row."""
    separators = cores([fmt.tools.separator])
    if separators:
        return r"(?<=\})" + joined(["", separators[0], ""])
    # At least one character: with an empty match, the second call would end at its start.
    return r"(?<=\})(?:\s*;\s*|\s+)" if fmt.derived.unmarked_calls else r"(?<=\})\s+"


def _head(fmt: WireFormat) -> str:
    """Return the pattern of the beginning of JSON calls, or of a list of them."""
    tools = fmt.tools
    brackets = r"\[\s*\{" if tools.array_wrapped else r"\{"
    # Any other object is an answer in JSON, and not a call.
    keys = [tools.function_field or next(iter(tools.field_order), tools.name_field)]
    # With markers, models may write the keys in another order.
    if not fmt.derived.unmarked_calls:
        inner = ["type"] if tools.function_field else [tools.name_field, tools.arguments_field]
        keys += filter(None, [*inner, tools.id_field, tools.generated_id_field])
    return rf'{brackets}\s*"{any_of(map(re.escape, dict.fromkeys(keys)))}"\s*:'


def after_calls(fmt: WireFormat) -> list[str]:
    """Return patterns of text directly after a call that is not content."""
    ends = _own_ends(fmt)
    tools = fmt.tools
    # In other lists, the separator is inside of the match.
    one_by_one = not in_a_row(fmt) and (lists_around_each(fmt) or not tools.array_wrapped)
    others = cores([tools.section_end, tools.separator * one_by_one])
    return [rf"(?<={ends[-1]}\s*){text}" for text in others if ends and text != ends[-1]]


def ends_like_json(fmt: WireFormat) -> bool:
    """Return True if calls end only with brackets and commas, as JSON values do."""
    own = fmt.arguments.end + fmt.function.close + fmt.tools.per_call_end
    # Without markers of each call, only the section ends it.
    own = own if own.strip() else fmt.tools.section_end
    return bool(own.strip()) and not own.strip("]}, \t\r\n")


def _own_ends(fmt: WireFormat) -> list[str]:
    """Return the sequence of patterns at the end of a call."""
    tools, function, arguments, call_id = fmt.tools, fmt.function, fmt.arguments, fmt.call_id
    ends = cores([arguments.end])
    if call_id.position is CallIdPosition.POST_ARGS:
        ends.append(joined(filter(None, [core(call_id.prefix), ID, core(call_id.suffix)])))
    ends += cores([function.close, tools.per_call_end])
    # The closing bracket of the list belongs to the call.
    if lists_around_each(fmt):
        return [r"\]", *ends]
    if tools.array_wrapped or (in_a_row(fmt) and not ends):
        ends += cores([tools.section_end])
    return ends


def _closers(fmt: WireFormat) -> list[str]:
    """Return the alternative patterns that end a call, after its JSON or its last argument.

    The end of the output ends a call without a pattern. A pattern must not match more after more
    text arrives, because the parser closes a field as soon as it matches.
    """
    tools = fmt.tools
    # A call without an end of its own ends before the next call.
    next_call = [f"(?={_between(fmt)}{_head(fmt)})"] if in_a_row(fmt) else []
    if ends := _own_ends(fmt):
        return [SPACE + joined(ends) + SPACE, *next_call]
    # Such a call ends only before the next call, or at the end of the section or the turn.
    starts = cores([tools.per_call_start, fmt.function.name_prefix, tools.section_start])[:1]
    ends = cores((tools.section_end, fmt.content.end, *fmt.turn.ends))
    # A marker that ends the turn closes the call in any case.
    others = [text for text in starts if not any(map(text.startswith, ends))]
    edges = [f"(?={SPACE}{text})" for text in others]
    # A separator must not become part of the arguments.
    between = [SPACE + text + SPACE for text in cores([tools.separator])]
    edges += [f"{text}(?={other})" for text in between for other in others]
    return [*edges, *(SPACE + end + SPACE for end in ends), *next_call]


def _argument(fmt: WireFormat) -> str:
    """Return the pattern of one argument with its name and its value."""
    marks = fmt.arguments
    suffixes = [marks.name_suffix]
    # Literal values have another marker after the name.
    if marks.literal_name_suffix.strip():
        suffixes.append(marks.literal_name_suffix)
    # Not captured, because the standard has no types in tags.
    if marks.type_suffix.strip():
        within = joined([core(marks.name_suffix), KIND, bare(marks.type_suffix)])
    else:
        within = any_of(map(bare, suffixes))
    within += bare(marks.value_prefix)
    value = "(?P<value>.*?)"
    if marks.escape_start.strip():
        # Only strings that contain markup have these delimiters.
        value = optional(core(marks.escape_start)) + value + optional(core(marks.escape_end))
    # The closing marker repeats the name of the argument.
    if marks.key_suffix:
        behind = bare(marks.value_suffix) + "(?P=key)" + bare(marks.key_suffix.rstrip())
    else:
        behind = bare(marks.value_suffix.rstrip())
    return joined([core(marks.name_prefix), "(?P<key>.+?)", within]) + value + behind
