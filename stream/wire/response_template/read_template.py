"""Conversion of a response template to a wire format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltaparse.partial import FormatError

from ..format import (
    ContentFormat,
    ContentMode,
    ReasoningFormat,
    ReasoningMode,
    TurnFormat,
    WireFormat,
)
from .anchors import literals
from .read_calls import Calls, read_calls
from .strays import with_strays

__all__ = ["from_response_template"]

# Unknown keys are refused, because they may change the meaning of the template.
KEYS = {"version", "defaults", "fields", "start_anchor", "start_anchor_pattern"}
FIELD_KEYS = {
    "open",
    "open_pattern",
    "close",
    "close_pattern",
    "content",
    "content_args",
    "repeats",
    "join",
    "optional",
    "transform",
    "transform_each",
}
# Checkpoints use three names for the same field.
REASONING = ("reasoning_content", "thinking", "reasoning")
CALLS = "tool_calls"
CONTENT = "content"


def from_response_template(template: Mapping[str, Any]) -> WireFormat:
    """Return the wire format of a transformers `response_template`.

    Pass the rendered prompt to the parser, as to transformers. Arguments in tags have the types of
    the parser's `tools`. Without tools, the look of a value decides, but transformers keeps it as
    text.

    Args:
        template: the template, or a tokenizer configuration with a template.

    Raises:
        FormatError: not a template of version 1, or a wire format cannot express it. The message
            names the field and the unsupported part.
    """
    template = _checked(template)
    # Fields are checked before any is converted, so that errors name the field.
    given = {name: _field(name, field) for name, field in template["fields"].items()}
    # Text outside of all fields can belong to only one field.
    implicit = [name for name, field in given.items() if not _opens(field)]
    if len(implicit) > 1:
        raise FormatError(
            f"only one field may have no opening marker, but {' and '.join(implicit)} have none"
        )
    for name in given:
        if name not in (*REASONING, CALLS, CONTENT):
            raise FormatError(f"field {name!r}: only reasoning, content and calls are supported")
    # Converted first, because a call may end before the header of another message.
    headers = literals(template, "start_anchor", "response_template")
    content, ends = _content(given.get(CONTENT))
    calls = read_calls(given[CALLS], ends, headers) if CALLS in given else Calls()
    turn = TurnFormat(
        headers=tuple(headers),
        ends=tuple(dict.fromkeys((*ends, *calls.ends))),
        several_messages=calls.several_messages,
    )
    made = WireFormat(
        turn=turn,
        reasoning=_reasoning(given),
        content=content,
        tools=calls.tools,
        function=calls.function,
        arguments=calls.arguments,
        call_id=calls.call_id,
    )
    # Last, because conditions refer to markers of the other fields.
    return with_strays(made, given.get(CONTENT))


def _checked(template: object) -> Mapping[str, Any]:
    # Tokenizer configurations contain the template under this key.
    if isinstance(template, Mapping) and "fields" not in template:
        template = template.get("response_template", template)
    if not isinstance(template, Mapping) or not isinstance(template.get("fields"), Mapping):
        raise FormatError("a response template must be a mapping with fields")
    if template.get("version", 1) != 1:
        raise FormatError(f"version {template['version']!r}: only version 1 is supported")
    for key in template:
        if key not in KEYS:
            raise FormatError(
                f"unknown key {key!r} of a response template, expected {', '.join(KEYS)}"
            )
    # Other defaults would be values that no model wrote.
    defaults = template.get("defaults", {})
    if not isinstance(defaults, Mapping) or defaults.keys() - {"role"}:
        raise FormatError("defaults: only the role is supported")
    # Without an anchor, the start of the turn in the prompt is unknown.
    if not template.keys() & {"start_anchor", "start_anchor_pattern"}:
        raise FormatError("a response template needs a start_anchor")
    return template


def _field(name: object, field: object) -> Mapping[str, Any]:
    if not isinstance(field, Mapping):
        raise FormatError(f"field {name!r} must be an object")
    for key in field:
        if key not in FIELD_KEYS:
            raise FormatError(
                f"field {name!r}: unknown key {key!r}, expected {', '.join(FIELD_KEYS)}"
            )
    return field


def _opens(field: Mapping[str, Any]) -> bool:
    return "open" in field or "open_pattern" in field


def _reasoning(given: Mapping[str, Mapping[str, Any]]) -> ReasoningFormat:
    names = [name for name in REASONING if name in given]
    if not names:
        return ReasoningFormat()
    name, field = names[0], given[names[0]]
    if len(names) > 1:
        raise FormatError(f"fields {' and '.join(names)}: only one field of reasoning is supported")
    _check_text(name, field)
    start, end = literals(field, "open", name), literals(field, "close", name)
    if len(start) != 1 or len(end) != 1:
        raise FormatError(f"field {name!r}: reasoning needs one opening and one closing marker")
    begin, close = _padded(start[0]), _padded(end[0], "\n\n")
    return ReasoningFormat(mode=ReasoningMode.TAG_BASED, start=begin, end=close)


def _content(field: Mapping[str, Any] | None) -> tuple[ContentFormat, list[str]]:
    """Return the content markers and the end-of-turn markers."""
    # A template for calls only has no field of content.
    if field is None:
        return ContentFormat(), []
    _check_text(CONTENT, field)
    start, ends = literals(field, "open", CONTENT), literals(field, "close", CONTENT)
    if not _opens(field):
        return ContentFormat(), ends
    if len(start) != 1:
        raise FormatError("field 'content': only one opening marker is supported")
    # The first closing marker ends content. The others end the turn.
    wrapped = ContentFormat(mode=ContentMode.ALWAYS_WRAPPED, start=start[0], end="".join(ends[:1]))
    return wrapped, ends[1:]


def _check_text(name: str, field: Mapping[str, Any]) -> None:
    """Refuse a field that converts its text."""
    parser = field.get("content", "text")
    if parser != "text":
        raise FormatError(f"field {name!r}: content must be 'text', not {parser!r}")
    for key in ("transform", "transform_each", "repeats", "join"):
        if field.get(key):
            raise FormatError(f"field {name!r}: {key} cannot be expressed")


def _padded(marker: str, after: str = "\n") -> str:
    """Return a marker with the line breaks that models write, and transformers trims."""
    # An end marker has its own line. `after` has two line breaks only for end markers.
    before = "\n" if len(after) > 1 else ""
    return f"{before}{marker.strip()}{after}"
