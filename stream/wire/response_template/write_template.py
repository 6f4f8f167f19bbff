"""From a wire format to a response template."""

from __future__ import annotations

from typing import Any

from deltaparse.partial import FormatError

from ..format import CallIdPosition, ContentMode, ReasoningMode, ToolFormat, WireFormat
from ..format_source import as_format
from .marker_patterns import SPACE, any_of, core, cores, optional
from .write_calls import (
    behind_calls,
    calls_field,
    ends_like_json,
    in_a_row,
    lists_round_each,
    splits_in_json,
)
from .write_channels import channel_fields

__all__ = ["response_template_limits", "to_response_template"]

END = r"\Z"
REASONING = "thinking"
"""The field of reasoning: vLLM and SGLang know it by this name only."""


def to_response_template(fmt: WireFormat | str) -> dict[str, Any]:
    """The transformers `response_template` that reads what a wire format describes.

    Returns plain data, for `tokenizer.response_template`. It trims white space at markers, and
    arguments in tags are text unless transformers has the tools. What else it leaves out of what
    the format says, `response_template_limits` names.

    Raises:
        FormatError: the format says what a response template cannot; the text names it.
    """
    fmt = as_format(fmt)
    _refuse(fmt)
    fields = channel_fields(fmt, REASONING) if fmt.derived.has_channels else _fields(fmt)
    return {
        "version": 1,
        "defaults": {"role": "assistant"},
        **_anchor(fmt),
        "fields": fields,
    }


def response_template_limits(fmt: WireFormat | str) -> tuple[str, ...]:
    """List what a response template of this format cannot express and therefore leaves out.

    If something essential cannot be expressed, `to_response_template` raises `FormatError`.
    """
    fmt = as_format(fmt)
    marks, tagged = fmt.arguments, fmt.tools.format is ToolFormat.TAG_WITH_TAGGED
    found = {
        "several messages of reasoning or of content in one turn: the last one counts": (
            fmt.derived.has_channels
        ),
        "text outside of the markers of content": fmt.content.mode is not ContentMode.PLAIN,
        "ids behind the arguments": fmt.call_id.position is CallIdPosition.POST_ARGS,
        "what stands behind the marker of code": fmt.code.start.strip(),
        "code that calls a function": fmt.code.function and not fmt.code.start.strip(),
        "several calls in one of the lists that stand round each": lists_round_each(fmt),
        "calls in a row with nothing between them": in_a_row(fmt) and not fmt.tools.separator,
        "names without quotes that are no words, or behind white space": marks.quote,
        "objects and lists that are not JSON": marks.python_literals or marks.item,
        "arguments in markers or as one object": tagged and marks.object_start,
        "names whose characters are escaped": fmt.function.name_escapes or marks.name_escapes,
    }
    return tuple(what for what, there in found.items() if there)


def _refuse(fmt: WireFormat) -> None:
    """Raise for what no response template can say."""
    tools, derived, marks = fmt.tools, fmt.derived, fmt.arguments
    tagged = tools.format is ToolFormat.TAG_WITH_TAGGED
    name_is_later = derived.unmarked_calls and tools.name_field not in tools.field_order[:1]
    cannot = {
        "calls in messages that have a syntax of their own": derived.calls_in_messages,
        "recipients in the place of channels": (
            derived.has_channels and not fmt.channels.channel.strip()
        ),
        "calls in Python": tools.format is ToolFormat.PYTHONIC,
        "calls in no markers that do not begin with their name": (
            tools.format is ToolFormat.JSON_NATIVE and name_is_later
        ),
        "calls in no markers behind content in markers": (
            fmt.content.mode is ContentMode.WRAPPED_WITH_CALLS and derived.unmarked_calls
        ),
        "calls that begin like content": derived.unproven_calls and not derived.unmarked_calls,
        "names that are keys": tools.name_is_key,
        "arguments that are JSON in a text": tools.arguments_as_text,
        "calls that are closed by name": derived.closes_by_name,
        "calls that only a bracket ends": ends_like_json(fmt),
        "calls in a row between which stands what JSON has too": splits_in_json(fmt),
        "lists round each call that nothing ends": (
            lists_round_each(fmt) and not tools.per_call_end.strip()
        ),
        "calls that no marker begins": derived.in_section and not derived.has_channels,
        "arguments in several ways": marks.alternatives,
        "types before the names": marks.type_first,
        "strings whose characters are escaped": marks.value_escapes,
        "arguments that no marker begins": tagged and not marks.name_prefix.strip(),
        "values that no marker ends": tagged and not marks.value_suffix.strip(),
    }
    found = [what for what, there in cannot.items() if there]
    if found:
        raise FormatError(f"a response template cannot say: {', '.join(found)}")


def _anchor(fmt: WireFormat) -> dict[str, Any]:
    """What the turn begins behind, in a prompt."""
    turn = fmt.turn
    if turn.headers:
        anchors = [*turn.headers]
        if fmt.reasoning.mode is ReasoningMode.DELIMITER and turn.generation_prompt:
            # What the template writes of the reasoning is no part of it.
            anchors.append(turn.generation_prompt)
        return {"start_anchor": list(dict.fromkeys(anchors))}
    # Nothing of the prompt is the turn's, but reasoning that it opens or closes at its end.
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
    fields["content"] = {"content": "text"}
    marks = list(fmt.turn.ends)
    if content.mode is not ContentMode.PLAIN:
        marks.append(content.end)
    if content.mode is ContentMode.ALWAYS_WRAPPED:
        fields["content"]["open"] = content.start.strip()
        # Calls stand within content, or begin without its end.
        ends = [*cores(marks), *(f"(?={text})" for text in cores(fmt.derived.openers))]
    else:
        # Where no content is, these close nothing, and are no content themselves.
        # Conditions before them say where that is.
        ends = cores(marks) + behind_calls(fmt)
        over, headers = cores(fmt.turn.ends), cores(fmt.turn.headers)
        ends += [rf"(?<={end}\s*){header}" for end in over for header in headers]
        thought = cores(end for _, end in fmt.reasoning.pairs)
        ends += [rf"(?<=\A\s*){end}" for end in thought]
        if content.mode is not ContentMode.PLAIN:
            ends += [rf"(?<={place}\s*){core(content.start)}" for place in (r"\A", *thought)]
    if ends:
        fields["content"]["close_pattern"] = SPACE + any_of(ends) + SPACE
    return fields


def _reasoning_opener(fmt: WireFormat) -> str:
    starts = cores(start for start, _ in fmt.reasoning.pairs)
    if not starts:
        return r"\A"
    unseen = fmt.reasoning.mode is ReasoningMode.FORCED_OPEN and not (
        fmt.turn.headers or fmt.turn.generation_prompt
    )
    return rf"\A{SPACE}{optional(starts[0])}" if unseen else SPACE + any_of(starts)


def _reasoning_closer(fmt: WireFormat) -> str:
    ends = cores(end for _, end in fmt.reasoning.pairs)
    if fmt.derived.next_ends_reasoning:
        return f"{SPACE}(?={any_of([*ends, *cores(fmt.derived.openers)])})"
    return SPACE + any_of(ends) + SPACE
