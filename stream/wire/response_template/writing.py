"""From a wire format to a response template."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from deltaparse.partial import FormatError

from ..format import CallIdPosition, ContentMode, ReasoningMode, ToolFormat, WireFormat
from ..given import as_format

__all__ = ["to_response_template"]

SPACE = r"\s*"


def to_response_template(fmt: WireFormat | str) -> dict[str, Any]:
    """The transformers `response_template` that reads what a wire format describes.

    Returns plain data, for `tokenizer.response_template`. It trims white space at markers, and
    arguments in tags are text unless transformers has the tools.

    Raises:
        FormatError: the format says what a response template cannot; the text names it.
    """
    fmt = as_format(fmt)
    _refuse(fmt)
    reasoning, content, turn = fmt.reasoning, fmt.content, fmt.turn
    fields: dict[str, Any] = {}
    if fmt.facts.has_reasoning:
        fields["reasoning_content"] = {
            "open_pattern": SPACE + _core(reasoning.start),
            "close_pattern": SPACE + _core(reasoning.end) + SPACE,
            "content": "text",
        }
    if fmt.facts.has_calls:
        fields["tool_calls"] = _calls(fmt)
    ends = _cores(turn.ends)
    if content.mode is ContentMode.PLAIN:
        fields["content"] = {"content": "text"}
        if ends:
            fields["content"]["close_pattern"] = f"{SPACE}(?:{'|'.join(ends)})"
    else:
        close = _cores([content.end]) + ends
        fields["content"] = {"open": content.start.strip(), "content": "text"}
        if close:
            fields["content"]["close_pattern"] = f"{SPACE}(?:{'|'.join(close)})"
    return {
        "version": 1,
        "defaults": {"role": "assistant"},
        "start_anchor": list(turn.headers),
        "fields": fields,
    }


def _refuse(fmt: WireFormat) -> None:
    """Raise for what no response template can say."""
    tools, facts, marks = fmt.tools, fmt.facts, fmt.arguments
    tagged = tools.format is ToolFormat.TAG_WITH_TAGGED
    cannot = {
        "messages in channels": facts.has_channels,
        "a turn without a header": not fmt.turn.headers,
        "reasoning that nothing opens": fmt.reasoning.mode is ReasoningMode.DELIMITER,
        "content that is marked only beside reasoning": (
            fmt.content.mode is ContentMode.WRAPPED_WITH_REASONING
        ),
        "calls in Python": tools.format is ToolFormat.PYTHONIC,
        "calls in no markers": facts.unmarked_calls,
        "names that are keys": tools.name_is_key,
        "arguments that are JSON in a text": tools.arguments_as_text,
        "ids that hold the name": fmt.call_id.holds_name,
        "ids behind the arguments": fmt.call_id.position is CallIdPosition.POST_ARGS,
        "calls that are closed by name": facts.closes_by_name,
        "calls that no marker begins": facts.in_section,
        "types that a marker names": marks.literal_name_suffix.strip() or marks.type_suffix,
        "arguments in several ways": marks.alternatives or marks.escape_start,
        "arguments that no marker begins": tagged and not marks.name_prefix.strip(),
        "values that no marker ends": tagged and not marks.value_suffix.strip(),
        "names of arguments that are repeated": marks.key_suffix,
        "code": fmt.code.function,
    }
    found = [what for what, there in cannot.items() if there]
    if found:
        raise FormatError(f"a response template cannot say: {', '.join(found)}")


def _calls(fmt: WireFormat) -> dict[str, Any]:
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
    if tools.format is ToolFormat.JSON_NATIVE:
        root = "" if tools.array_wrapped else "content."
        inner = f"{root}{tools.function_field}." if tools.function_field else root
        function = {
            "name": f"{{{inner}{tools.name_field}}}",
            "arguments": f"{{{inner}{tools.arguments_field}}}",
        }
    transform: dict[str, Any] = {"type": "function", "function": function}
    if tools.format is ToolFormat.JSON_NATIVE and tools.id_field:
        transform["id"] = f"{{{root}{tools.id_field}}}"
    elif fmt.call_id.position is not CallIdPosition.NONE:
        transform["id"] = "{id}"
    field["transform"] = transform
    field["transform_each" if tools.array_wrapped else "repeats"] = True
    return field


def _opener(fmt: WireFormat) -> str:
    """The pattern up to the JSON, or to the first argument."""
    tools, function, call_id = fmt.tools, fmt.function, fmt.call_id
    if tools.format is ToolFormat.JSON_NATIVE:
        starts = _cores([tools.section_start, tools.per_call_start])
        if len(starts) > 1 and not tools.array_wrapped:
            starts[0] = f"(?:{starts[0]})?"
        return SPACE + SPACE.join(starts)
    starts = _cores([tools.per_call_start, function.name_prefix])
    if tools.section_start.strip():
        # Without another marker it is written once, and opens the first call only.
        section = _core(tools.section_start)
        starts = [f"(?:{section})?", *starts] if starts else [section]
    name = f"(?:{re.escape(function.namespace)})?" if function.namespace else ""
    name += "(?P<name>[^\\s<\\[{]+?)"
    if call_id.position is CallIdPosition.BETWEEN_FUNC_AND_ARGS:
        name += f"{_core(call_id.prefix)}(?P<id>[^\\s<\\[{{]+?){_core(call_id.suffix)}"
    elif call_id.position is CallIdPosition.PRE_FUNC_NAME:
        name = f"(?P<id>[^\\s<\\[{{]+?){_core(call_id.suffix)}{name}"
    suffix = function.name_suffix.strip() or fmt.arguments.start.strip()
    behind = SPACE + _written(suffix) + SPACE if suffix else r"(?=\s|[<\[{])" + SPACE
    return SPACE + SPACE.join(starts) + (SPACE if starts else "") + name + behind


def _closer(fmt: WireFormat) -> str:
    """The pattern behind the JSON, or behind the last argument."""
    tools, function, arguments = fmt.tools, fmt.function, fmt.arguments
    ends = _cores([arguments.end, function.close, tools.per_call_end])
    section = _cores([tools.section_end])
    if tools.array_wrapped or (tools.format is ToolFormat.JSON_NATIVE and not ends):
        ends, section = ends + section, []
    if ends:
        after = "".join(f"(?:{SPACE}{text})?" for text in section)
        return SPACE + SPACE.join(ends) + after
    # Nothing closes a call but another, the end of the turn, and the end of the output.
    starts = _cores([tools.per_call_start or tools.section_start or function.name_prefix])
    edges = [] if tools.array_wrapped else [f"(?={SPACE}{text})" for text in starts]
    return "|".join([*(SPACE + text for text in _cores(fmt.turn.ends)), *edges, r"\Z"])


def _argument(fmt: WireFormat) -> str:
    arguments = fmt.arguments
    within = _written(arguments.name_suffix + arguments.value_prefix)
    return (
        f"{_core(arguments.name_prefix)}(?P<key>.+?){within}"
        f"(?P<value>.*?){_written(arguments.value_suffix.rstrip())}"
    )


def _written(marker: str) -> str:
    """A pattern for a marker, each of its line ends as may be."""
    return r"\n?".join(re.escape(line) for line in marker.split("\n"))


def _core(marker: str) -> str:
    return _written(marker.strip())


def _cores(texts: Iterable[str]) -> list[str]:
    return [_core(text) for text in texts if text.strip()]
