"""From a response template to a wire format."""

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
REASONING = ("reasoning_content", "thinking", "reasoning")
CALLS = "tool_calls"
CONTENT = "content"


def from_response_template(template: Mapping[str, Any]) -> WireFormat:
    """The wire format that a transformers `response_template` describes.

    `template` is the template, or a tokenizer configuration that has one. The parser wants the
    rendered prompt, as transformers does. Arguments in tags have the types that the parser's
    `tools` say; without tools, a value is what it looks like, where transformers leaves text.

    Raises:
        FormatError: no template of version 1, or one that says what a wire format cannot; the text
            names the field and what in it.
    """
    template = _checked(template)
    given = {name: _field(name, field) for name, field in template["fields"].items()}
    implicit = [name for name, field in given.items() if not _opens(field)]
    if len(implicit) > 1:
        raise FormatError(f"two fields have no opener: {' and '.join(implicit)}")
    for name in given:
        if name not in (*REASONING, CALLS, CONTENT):
            raise FormatError(f"field {name!r}: a message has reasoning, content and calls only")
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
    return with_strays(made, given.get(CONTENT))


def _checked(template: object) -> Mapping[str, Any]:
    if isinstance(template, Mapping) and "fields" not in template:
        template = template.get("response_template", template)
    if not isinstance(template, Mapping) or not isinstance(template.get("fields"), Mapping):
        raise FormatError("a response template is a mapping with fields")
    if template.get("version", 1) != 1:
        raise FormatError(f"version {template['version']!r}: only version 1 is known")
    for key in template:
        if key not in KEYS:
            raise FormatError(f"a response template has no {key!r}; it has {', '.join(KEYS)}")
    defaults = template.get("defaults", {})
    if not isinstance(defaults, Mapping) or defaults.keys() - {"role"}:
        raise FormatError("defaults: all that a message can begin with is its role")
    if not template.keys() & {"start_anchor", "start_anchor_pattern"}:
        raise FormatError("a response template needs a start_anchor")
    return template


def _field(name: object, field: object) -> Mapping[str, Any]:
    if not isinstance(field, Mapping):
        raise FormatError(f"field {name!r} must be an object")
    for key in field:
        if key not in FIELD_KEYS:
            raise FormatError(f"field {name!r} has no {key!r}; it has {', '.join(FIELD_KEYS)}")
    return field


def _opens(field: Mapping[str, Any]) -> bool:
    return "open" in field or "open_pattern" in field


def _reasoning(given: Mapping[str, Mapping[str, Any]]) -> ReasoningFormat:
    names = [name for name in REASONING if name in given]
    if not names:
        return ReasoningFormat()
    name, field = names[0], given[names[0]]
    if len(names) > 1:
        raise FormatError(f"fields {' and '.join(names)}: a message has one kind of reasoning")
    _check_text(name, field)
    start, end = literals(field, "open", name), literals(field, "close", name)
    if len(start) != 1 or len(end) != 1:
        raise FormatError(f"field {name!r}: reasoning needs one opener and one close")
    begin, close = _padded(start[0]), _padded(end[0], "\n\n")
    return ReasoningFormat(mode=ReasoningMode.TAG_BASED, start=begin, end=close)


def _content(field: Mapping[str, Any] | None) -> tuple[ContentFormat, list[str]]:
    """The content markers, and the end-of-turn markers."""
    if field is None:
        return ContentFormat(), []
    _check_text(CONTENT, field)
    start, ends = literals(field, "open", CONTENT), literals(field, "close", CONTENT)
    if not _opens(field):
        return ContentFormat(), ends
    if len(start) != 1:
        raise FormatError("field 'content': one opener is all that can be said")
    # What else may close it ends the turn.
    wrapped = ContentFormat(mode=ContentMode.ALWAYS_WRAPPED, start=start[0], end="".join(ends[:1]))
    return wrapped, ends[1:]


def _check_text(name: str, field: Mapping[str, Any]) -> None:
    """Refuse a field that makes something else of its text."""
    parser = field.get("content", "text")
    if parser != "text":
        raise FormatError(f"field {name!r}: it is text, not {parser!r}")
    for key in ("transform", "transform_each", "repeats", "join"):
        if field.get(key):
            raise FormatError(f"field {name!r}: {key} cannot be expressed")


def _padded(marker: str, after: str = "\n") -> str:
    """A marker with the line ends that models write at it, and transformers trims."""
    before = "\n" if len(after) > 1 else ""
    return f"{before}{marker.strip()}{after}"
