"""Conversion of the field `tool_calls` of a response template to the groups of a wire format."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from deltaparse.partial import FormatError

from ..format import (
    ArgumentsFormat,
    CallIdFormat,
    CallIdPosition,
    FunctionFormat,
    ToolFormat,
    ToolsFormat,
)
from .anchors import AnchorPart, PartKind, read_anchor

__all__ = ["Calls", "read_calls"]

WHERE = "field 'tool_calls'"
# Only names of tags: attributes and the closing bracket may differ.
TAG = re.compile(r"<([A-Za-z_][\w:.-]*)")
PLACE = re.compile(r"\{(\w+(?:\.\w+)*)\}")
VALUE = AnchorPart(PartKind.CAPTURE, "value")
# Conditions restrict where a field opens or closes, but a format has its own rules for this.
CONDITIONS = (PartKind.AHEAD, PartKind.EDGE)
Field = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """The groups of a wire format for calls.

    Attributes:
        tools: sections, and the delimiters of calls.
        function: the delimiters of names.
        arguments: the delimiters of arguments.
        call_id: position and delimiters of ids.
        ends: close texts that end the turn instead of a call.
        several_messages: True if a call may be closed by the end of a message, before the header of
            another.
    """

    tools: ToolsFormat = field(default_factory=ToolsFormat)
    function: FunctionFormat = field(default_factory=FunctionFormat)
    arguments: ArgumentsFormat = field(default_factory=ArgumentsFormat)
    call_id: CallIdFormat = field(default_factory=CallIdFormat)
    ends: tuple[str, ...] = ()
    several_messages: bool = False


@dataclass(frozen=True, slots=True)
class Opening:
    """The beginning of a call.

    Attributes:
        section: the optional start of a section.
        before: the markers before the name or the JSON.
        namespace: optional text before the name.
        captures: names of the captures, each with the text after it.
    """

    section: str
    before: tuple[str, ...]
    namespace: str
    captures: tuple[tuple[str, str], ...]


def read_calls(
    given: Field, turn_ends: Collection[str] = (), headers: Collection[str] = ()
) -> Calls:
    """Convert the field of calls.

    Args:
        given: the field.
        turn_ends: texts that close content, and so the turn.
        headers: texts before the turn.

    Raises:
        FormatError: a wire format cannot express the field.
    """
    opening = _opening(given)
    anchors = read_anchor(given, "close", WHERE)
    ends = [_end_before(parts, headers) for parts in anchors]
    # The end of a message is not the closer of a call.
    own = [parts for parts, end in zip(anchors, ends, strict=True) if not end]
    calls = _read(given, opening, _closers(own, opening, turn_ends))
    messages = tuple(filter(None, ends))
    return replace(calls, ends=(*calls.ends, *messages), several_messages=bool(messages))


def _end_before(parts: list[AnchorPart], headers: Collection[str]) -> str:
    """Return the end of a message in a close text that also contains the next header."""
    # A call in a turn of several messages ends with its message.
    text = "".join(part.text for part in parts if part.kind is PartKind.TEXT)
    # With captures or optional text, the split would not be unique.
    plain = all(part.kind in (PartKind.TEXT, PartKind.SPACE) for part in parts)
    found = (text.removesuffix(header) for header in headers if header and text.endswith(header))
    return next(found, "").strip() if plain else ""


def _read(given: Field, opening: Opening, closing: tuple[list[str], str, tuple[str, ...]]) -> Calls:
    """Convert the field, given its beginning and the result of `_closers`."""
    closers, section_end, ends = closing
    roles = _roles(given)
    parser = given.get("content", "text")
    if bool(given.get("repeats")) is bool(given.get("transform_each")):
        raise FormatError(f"{WHERE}: calls need repeats or transform_each, but not both")
    # A captured name is outside of the JSON, in front of the arguments.
    if parser == "json" and roles["name"][0] != "capture":
        return _json_calls(given, opening, closers, section_end, roles, ends)
    if parser not in ("json", "xml-inline"):
        raise FormatError(f"{WHERE}: content must be 'json' or 'xml-inline', not {parser!r}")
    if roles["name"] != ("capture", "name") or roles["arguments"] != ("content",):
        raise FormatError(
            f"{WHERE}: the name must be a group 'name', and the arguments the content"
        )
    return _tagged_calls(given, opening, closers, section_end, ends)


def _opening(given: Field) -> Opening:
    alternatives = read_anchor(given, "open", WHERE)
    # A wire format has one notation for the beginning of calls.
    if len(alternatives) != 1:
        raise FormatError(
            f"{WHERE}: only one opening pattern is supported, not {len(alternatives)}"
        )
    parts = [part for part in alternatives[0] if part.kind not in CONDITIONS]
    section = ""
    before: list[str] = []
    namespace = ""
    captures: list[tuple[str, str]] = []
    for at, part in enumerate(parts):
        if part.kind is PartKind.CAPTURE:
            captures.append((part.text, ""))
        elif part.kind is PartKind.SPACE:
            # Whitespace directly after a capture would be taken for a delimiter of it.
            if captures and captures[-1][1]:
                captures[-1] = (captures[-1][0], captures[-1][1] + "\n")
        elif part.kind is PartKind.OPTIONAL:
            # An optional first marker is the start of a section: only the first call has it.
            if not before and not section and not captures:
                section = part.text
            # Optional text directly before the name is a namespace.
            elif at + 1 < len(parts) and parts[at + 1] == AnchorPart(PartKind.CAPTURE, "name"):
                namespace = part.text
            else:
                raise FormatError(f"{WHERE}: optional text {part.text!r} is not supported here")
        elif captures:
            captures[-1] = (captures[-1][0], captures[-1][1] + part.text)
        else:
            before.append(part.text)
    if not before and not section:
        raise FormatError(f"{WHERE}: the opening pattern has no text")
    # The groups have one marker for a call and one for its name.
    if len(before) > 2:
        raise FormatError(f"{WHERE}: more than two opening markers of a call are not supported")
    return Opening(section, tuple(before), namespace, tuple(captures))


def _closers(
    anchors: list[list[AnchorPart]], opening: Opening, turn_ends: Collection[str]
) -> tuple[list[str], str, tuple[str, ...]]:
    """Return the close texts of calls, the end of the section, and the ends of the turn.

    If there are several alternatives, one may close a call and the others end the turn. The end of
    the text and lookaheads close every open field. So a text next to a lookahead ends the section:
    single calls have no end marker. An exception is the closing tag of the tag that began the call.
    """
    alternatives = [
        [part for part in parts if part.kind not in (PartKind.SPACE, *CONDITIONS)]
        for parts in anchors
    ]
    # A call without its own end is followed by the next call.
    followed = any({part.kind for part in parts} == {PartKind.AHEAD} for parts in anchors)
    # Text of a capture would be lost, because the close has no value.
    if any(part.kind is PartKind.CAPTURE for parts in alternatives for part in parts):
        raise FormatError(f"{WHERE}: a named group in the close pattern is not supported")
    closing = [parts for parts in alternatives if not _consists_of(parts, turn_ends)]
    # Closing tags show which alternative ends the call.
    own = [_own_end(marker) for marker in (opening.section, *opening.before)]
    if len(closing) > 1:
        closing = [parts for parts in closing if _consists_of(parts, own)]
        if len(closing) != 1:
            raise FormatError(f"{WHERE}: the close pattern has several texts that may end a call")
    ends = [p.text for parts in alternatives for p in parts if parts not in closing]
    texts = [part.text for parts in closing for part in parts if part.kind is PartKind.TEXT]
    section = [p.text for parts in closing for p in parts if p.kind is PartKind.OPTIONAL]
    # The groups have one end for the function and one for the call.
    if len(texts) > 2:
        raise FormatError(f"{WHERE}: more than two closing markers of a call are not supported")
    # The next call closes this one, so the text ends all calls.
    if followed and len(texts) == 1 and not section and texts[0] not in own:
        return [], texts[0], tuple(ends)
    return texts, "".join(section), tuple(ends)


def _consists_of(parts: list[AnchorPart], texts: Collection[str]) -> bool:
    """Return True if all parts of an alternative are among the texts."""
    return all(part.text in texts for part in parts)


def _roles(given: Field) -> dict[str, tuple[str, ...]]:
    """Return the sources of name, arguments and id: a path into the content, or a capture."""
    said = given.get("transform")
    transform: Field = said if isinstance(said, Mapping) else {}
    function = transform.get("function")
    each = bool(given.get("transform_each"))
    # The short form: the JSON itself has the members of a call.
    if function == "{content}" and not each:
        function = {"name": "{content.name}", "arguments": "{content.arguments}"}
    if not isinstance(function, Mapping):
        raise FormatError(f"{WHERE}: transform must contain a function with name and arguments")
    places = {"name": function.get("name"), "arguments": function.get("arguments")}
    if transform.get("id") is not None:
        places["id"] = transform["id"]
    roles = {}
    for role, place in places.items():
        found = PLACE.fullmatch(place) if isinstance(place, str) else None
        if found is None:
            raise FormatError(
                f"{WHERE}: transform must have one path in braces for the {role}, not {place!r}"
            )
        # With `transform_each` a path begins in the item, else in the content or a capture.
        path = tuple(found[1].split("."))
        inside = each or path[0] == "content"
        roles[role] = (path if each else path[1:] or path) if inside else ("capture", *path)
    return roles


def _json_calls(
    given: Field,
    opening: Opening,
    closers: list[str],
    section_end: str,
    roles: dict[str, tuple[str, ...]],
    ends: tuple[str, ...],
) -> Calls:
    """Convert calls with the name in JSON."""
    if options := _options(given, "content_args"):
        raise FormatError(
            f"{WHERE}: content_args {', '.join(options)} cannot be expressed for JSON calls"
        )
    # With two opening markers, the outer one begins the section.
    outside = opening.section or "".join(opening.before[:-1])
    in_three = (opening.section and len(opening.before) > 1) or (section_end and len(closers) > 1)
    if opening.captures or in_three:
        raise FormatError(f"{WHERE}: JSON calls must be between markers, at most two on each side")
    # The last one closes the outer marker.
    if len(closers) > 1:
        section_end = closers.pop()
    *outer, name_field = roles["name"]
    *again, arguments_field = roles["arguments"]
    if outer != again or len(outer) > 1:
        raise FormatError(
            f"{WHERE}: name and arguments must be in the same object, on the first or second level"
        )
    id_path = roles.get("id", ())
    if len(id_path) > 1:
        raise FormatError(f"{WHERE}: the id must be a key of the call, not {'.'.join(id_path)!r}")
    layout: dict[str, Any] = {
        "format": ToolFormat.JSON_NATIVE,
        "function_field": "".join(outer),
        "name_field": name_field,
        "arguments_field": arguments_field,
        "id_field": "".join(id_path),
        "field_order": tuple(roles[role][-1] for role in roles),
        "supports_tools": True,
    }
    start, end = "".join(opening.before[-1:]), "".join(closers)
    # A JSON array contains all calls, so the separator is that of JSON.
    if given.get("transform_each"):
        tools = ToolsFormat(
            **layout,
            section_start=outside or start,
            section_end=section_end or end,
            per_call_start=f"{start}\n" if outside else "",
            per_call_end=f"\n{end}" if section_end else "",
            separator=", ",
            array_wrapped=True,
            supports_parallel_calls=True,
        )
    else:
        tools = ToolsFormat(
            **layout,
            section_start=outside,
            section_end=section_end,
            per_call_start=f"{start}\n",
            per_call_end=f"\n{end}" if end else "",
            separator="\n",
            supports_parallel_calls=True,
        )
    return Calls(tools=tools, ends=ends)


def _tagged_calls(
    given: Field, opening: Opening, closers: list[str], section_end: str, ends: tuple[str, ...]
) -> Calls:
    """Convert calls with the name between markers."""
    names = [name for name, _ in opening.captures]
    if sorted(names) not in (["name"], ["id", "name"]):
        raise FormatError(f"{WHERE}: groups must be 'name' and optionally 'id', not {names}")
    behind = dict(opening.captures)
    call_id = CallIdFormat()
    # The order of the captures determines the position of the id.
    if names == ["id", "name"]:
        call_id = CallIdFormat(position=CallIdPosition.PRE_FUNC_NAME, suffix=behind["id"])
    elif names == ["name", "id"]:
        call_id = CallIdFormat(
            position=CallIdPosition.BETWEEN_FUNC_AND_ARGS,
            prefix=behind["name"],
            suffix=behind["id"],
        )
        # The text between name and id belongs to the id.
        behind["name"] = ""
    two = len(opening.before) > 1
    is_json = given.get("content") == "json"
    # JSON shows its own end, but values in tags need an end marker.
    if not is_json:
        closers = _with_missing_ends(opening, closers)
    close = f"{closers[0]}\n" if len(closers) > 1 else ""
    arguments = _json_arguments(given) if is_json else _tagged_arguments(given)
    tools = ToolsFormat(
        format=ToolFormat.TAG_WITH_JSON if is_json else ToolFormat.TAG_WITH_TAGGED,
        section_start=opening.section,
        section_end=section_end,
        per_call_start=f"{opening.before[0]}\n" if two else "".join(opening.before),
        per_call_end="".join(closers[-1:]),
        separator="\n" if two else "",
        supports_tools=True,
        supports_parallel_calls=True,
    )
    function = FunctionFormat(
        name_prefix=opening.before[1] if two else "",
        name_suffix=behind["name"] + ("" if is_json or not behind["name"].strip() else "\n"),
        namespace=opening.namespace,
        close=close,
    )
    return Calls(tools=tools, function=function, arguments=arguments, call_id=call_id, ends=ends)


def _with_missing_ends(opening: Opening, closers: list[str]) -> list[str]:
    """Return the end markers of a call from the inside out, including missing ones.

    transformers ignores any text between the last argument and the close. This library would read
    it as part of the last argument, so the end must be known. For tags it is the closing tag.
    """
    # A call ends in the reverse order of its beginning.
    begun = [*reversed(opening.before or (opening.section,))]
    if len(closers) > 1:
        return closers
    own = [_own_end(marker) for marker in begun]
    # At least the inner marker needs an end, even if the close text ends the call.
    inner = max(len(begun) - len(closers), 1)
    missing = own[: own.index(closers[0]) if closers and closers[0] in own else inner]
    if missing == [""] and len(begun) == 1:
        # A single marker that is not a tag ends with the close text, if any.
        return closers
    if "" in missing:
        raise FormatError(f"{WHERE}: the close pattern has no end for {begun[missing.index('')]!r}")
    return [*missing, *closers]


def _own_end(marker: str) -> str:
    """Return the closing tag of a marker, "" if it is not a tag."""
    tag = TAG.match(marker)
    # Markers of special tokens, e.g. `[TOOL_CALLS]`, have no derivable end.
    return f"</{tag[1]}>" if tag else ""


def _options(within: Field, key: str) -> dict[str, Any]:
    """Return the object under a key, {} if it is missing."""
    found = within.get(key) or {}
    if not isinstance(found, Mapping):
        raise FormatError(f"{WHERE}: {key} must be an object, not {found!r}")
    return dict(found)


def _json_arguments(given: Field) -> ArgumentsFormat:
    options = _options(given, "content_args")
    quotes = options.pop("string_delims", [])
    unquoted = options.pop("unquoted_keys", False)
    quote = ""
    match quotes:
        # A wire format has one quotation mark for both ends.
        case [[str(start), str(end)]] if start == end:
            quote = start
    # Quoted keys with other quotation marks have no notation in wire formats.
    if options or bool(quotes) != bool(unquoted) or bool(quotes) != bool(quote):
        raise FormatError(f"{WHERE}: content_args {given['content_args']!r} cannot be expressed")
    return ArgumentsFormat(quote=quote)


def _tagged_arguments(given: Field) -> ArgumentsFormat:
    options = _options(given, "content_args")
    pattern = options.pop("tag_pattern", None)
    value_parser = _options(options, "value_parser") or {"name": "text"}
    options.pop("value_parser", None)
    if options:
        raise FormatError(f"{WHERE}: content_args {', '.join(options)} cannot be expressed")
    if value_parser.get("name") not in ("text", "json"):
        raise FormatError(f"{WHERE}: value_parser must be 'text' or 'json', not {value_parser!r}")
    # The key without `_pattern` is "tag", so the name of the pattern fits.
    alternatives = read_anchor({"tag_pattern": pattern}, "tag", WHERE)
    captures = (
        [p.text for p in alternatives[0] if p.kind is PartKind.CAPTURE] if alternatives else []
    )
    if len(alternatives) != 1 or captures != ["key", "value"]:
        raise FormatError(f"{WHERE}: tag_pattern must have the groups key and value, in this order")
    # Before the key, between key and value, and after the value.
    texts = ["", "", ""]
    escapes = ["", ""]
    place = 0
    parts = alternatives[0]
    for at, part in enumerate(parts):
        if part.kind is PartKind.CAPTURE:
            place += 1
        elif part.kind is PartKind.SPACE:
            texts[place] += "\n"
        elif part.kind is PartKind.TEXT:
            texts[place] += part.text
        elif part.kind is PartKind.OPTIONAL and VALUE in parts[max(at - 1, 0) : at + 2]:
            escapes[place - 1] = part.text
        else:
            odd = f"optional text {part.text!r}" if part.text else "a condition"
            raise FormatError(f"{WHERE}: tag_pattern has {odd}, which is not supported here")
    before, within, after = texts
    # A lenient parser keeps unquoted strings, so strings are not always quoted.
    lenient = _options(value_parser, "args").get("allow_non_json")
    strict = value_parser.get("name") == "json" and not lenient
    return ArgumentsFormat(
        name_prefix=before.strip(),
        name_suffix=within,
        value_suffix=f"{after}\n",
        escape_start=escapes[0],
        escape_end=escapes[1],
        quoted_strings=strict,
    )
