"""Conversion of a wire format to a response template."""

from __future__ import annotations

from typing import Any

from deltaparse.partial import FormatError

from ..format import CallIdPosition, ContentMode, ReasoningMode, ToolFormat, WireFormat
from ..format_source import as_format
from .marker_patterns import SPACE, any_of, core, cores, optional
from .write_calls import (
    after_calls,
    calls_field,
    ends_like_json,
    in_a_row,
    lists_around_each,
    splits_in_json,
)
from .write_channels import channel_fields

__all__ = ["response_template_limits", "to_response_template"]

# Matches only at the end of the prompt.
END = r"\Z"
REASONING = "thinking"
"""The field of reasoning. vLLM and SGLang accept only this name."""


def to_response_template(fmt: WireFormat | str) -> dict[str, Any]:
    """Return the transformers `response_template` for a wire format.

    The template trims whitespace at markers. Arguments in tags are text unless transformers has the
    tools. `response_template_limits` lists all other losses.

    Args:
        fmt: the format, or the name of a built-in format.

    Returns:
        Plain data for `tokenizer.response_template`.

    Raises:
        FormatError: the standard cannot express an essential part of the format. The message names
            it.
    """
    fmt = as_format(fmt)
    # Checked first, because a partial template would silently lose calls.
    _refuse(fmt)
    fields = channel_fields(fmt, REASONING) if fmt.derived.has_channels else _fields(fmt)
    return {
        "version": 1,
        "defaults": {"role": "assistant"},
        **_anchor(fmt),
        "fields": fields,
    }


def response_template_limits(fmt: WireFormat | str) -> tuple[str, ...]:
    """List the parts of a format that its response template cannot express and leaves out.

    If an essential part cannot be expressed, `to_response_template` raises `FormatError`.

    Args:
        fmt: the format, or the name of a built-in format.

    Returns:
        Descriptions of the losses, () if the template is lossless.
    """
    fmt = as_format(fmt)
    marks, tagged = fmt.arguments, fmt.tools.format is ToolFormat.TAG_WITH_TAGGED
    found = {
        # transformers overwrites the value of a field that occurs twice.
        "several messages of reasoning or of content in one turn: the last one counts": (
            fmt.derived.has_channels
        ),
        "text outside of the markers of content": fmt.content.mode is not ContentMode.PLAIN,
        "ids after the arguments": fmt.call_id.position is CallIdPosition.POST_ARGS,
        # transformers has no parser for code.
        "code after its marker": fmt.code.start.strip(),
        "code that calls a function": fmt.code.function and not fmt.code.start.strip(),
        "several calls in one list, if each call has its own list": lists_around_each(fmt),
        "calls in a row without a separator": in_a_row(fmt) and not fmt.tools.separator,
        "names without quotes that are not words or follow whitespace": marks.quote,
        "objects and lists that are not JSON": marks.python_literals or marks.item,
        "arguments as one JSON object in calls with tags": tagged and marks.object_start,
        "names with escaped characters": fmt.function.name_escapes or marks.name_escapes,
    }
    return tuple(limit for limit, applies in found.items() if applies)


def _refuse(fmt: WireFormat) -> None:
    """Raise `FormatError` for essential parts that a response template cannot express."""
    tools, derived, marks = fmt.tools, fmt.derived, fmt.arguments
    tagged = tools.format is ToolFormat.TAG_WITH_TAGGED
    # The pattern of the opening looks only at the first key.
    name_is_later = derived.unmarked_calls and tools.name_field not in tools.field_order[:1]
    cannot = {
        "calls with their own syntax inside messages in channels": derived.calls_in_messages,
        "recipients instead of channels": (
            derived.has_channels and not fmt.channels.channel.strip()
        ),
        # The standard has parsers for JSON and for tags only.
        "calls in Python": tools.format is ToolFormat.PYTHONIC,
        "unmarked calls that do not begin with their name": (
            tools.format is ToolFormat.JSON_NATIVE and name_is_later
        ),
        "unmarked calls after content in markers": (
            fmt.content.mode is ContentMode.WRAPPED_WITH_CALLS and derived.unmarked_calls
        ),
        "calls that begin like content": derived.unproven_calls and not derived.unmarked_calls,
        # A path in `transform` cannot refer to a key itself.
        "names that are keys": tools.name_is_key,
        "arguments as JSON in a string": tools.arguments_as_text,
        "closing markers that repeat the name of the call": derived.closes_by_name,
        # transformers would end the call at a bracket inside of a value.
        "calls that end with only a bracket": ends_like_json(fmt),
        "calls in a row, separated only by a comma or a colon": splits_in_json(fmt),
        "a list around each call without a closing marker": (
            lists_around_each(fmt) and not tools.per_call_end.strip()
        ),
        "calls without an opening marker": derived.in_section and not derived.has_channels,
        "several notations of arguments": marks.alternatives,
        "types before the names of arguments": marks.type_first,
        "strings with escaped characters": marks.value_escapes,
        "arguments without an opening marker": tagged and not marks.name_prefix.strip(),
        "values without a closing marker": tagged and not marks.value_suffix.strip(),
    }
    found = [part for part, applies in cannot.items() if applies]
    if found:
        raise FormatError(f"a response template cannot express: {', '.join(found)}")


def _anchor(fmt: WireFormat) -> dict[str, Any]:
    """Return the anchor in the prompt after which the turn begins."""
    turn = fmt.turn
    if turn.headers:
        anchors = [*turn.headers]
        if fmt.reasoning.mode is ReasoningMode.DELIMITER and turn.generation_prompt:
            # Reasoning markers of the template are not part of the turn.
            anchors.append(turn.generation_prompt)
        # The generation prompt may equal a header.
        return {"start_anchor": list(dict.fromkeys(anchors))}
    # Without headers, only reasoning at the end of the prompt belongs to the turn.
    opened = "|".join(
        optional(core(start) + SPACE + optional(core(end) + SPACE)) + END
        for start, end in fmt.reasoning.pairs
        if start.strip()
    )
    return {"start_anchor_pattern": rf"\A.*?(?={opened or END})"}


def _fields(fmt: WireFormat) -> dict[str, Any]:
    content = fmt.content
    fields: dict[str, Any] = {}
    if fmt.derived.has_reasoning:
        fields[REASONING] = {
            "open_pattern": _reasoning_opener(fmt),
            "close_pattern": _reasoning_closer(fmt),
            "content": "text",
        }
    if fmt.derived.has_calls:
        fields["tool_calls"] = calls_field(fmt)
    # The implicit field: it has no opening pattern, so it receives all other text.
    fields["content"] = {"content": "text"}
    # Ends of the turn would otherwise be content.
    marks = list(fmt.turn.ends)
    if content.mode is not ContentMode.PLAIN:
        marks.append(content.end)
    if content.mode is ContentMode.ALWAYS_WRAPPED:
        fields["content"]["open"] = content.start.strip()
        # Calls may be inside content, or begin without its end marker.
        ends = [*cores(marks), *(f"(?={text})" for text in cores(fmt.derived.openers))]
    else:
        # Markers outside of all fields would become content. A close pattern removes them. Its
        # condition restricts it to these positions, so that it does not close other content.
        ends = cores(marks) + after_calls(fmt)
        # A turn may have several messages, each with its header.
        over, headers = cores(fmt.turn.ends), cores(fmt.turn.headers)
        ends += [rf"(?<={end}\s*){header}" for end in over for header in headers]
        # An end of reasoning without its start means that there is no reasoning.
        thought = cores(end for _, end in fmt.reasoning.pairs)
        ends += [rf"(?<=\A\s*){end}" for end in thought]
        if content.mode is not ContentMode.PLAIN:
            ends += [rf"(?<={place}\s*){core(content.start)}" for place in (r"\A", *thought)]
    if ends:
        fields["content"]["close_pattern"] = SPACE + any_of(ends) + SPACE
    return fields


def _reasoning_opener(fmt: WireFormat) -> str:
    starts = cores(start for start, _ in fmt.reasoning.pairs)
    # Reasoning without a start marker begins with the turn.
    if not starts:
        return r"\A"
    # The prompt opens reasoning, but without a header the anchor cannot contain the marker.
    unseen = fmt.reasoning.mode is ReasoningMode.FORCED_OPEN and not (
        fmt.turn.headers or fmt.turn.generation_prompt
    )
    return rf"\A{SPACE}{optional(starts[0])}" if unseen else SPACE + any_of(starts)


def _reasoning_closer(fmt: WireFormat) -> str:
    ends = cores(end for _, end in fmt.reasoning.pairs)
    # The end marker is the start of content, or a call ends reasoning: neither is consumed.
    if fmt.derived.next_ends_reasoning:
        return f"{SPACE}(?={any_of([*ends, *cores(fmt.derived.openers)])})"
    return SPACE + any_of(ends) + SPACE
