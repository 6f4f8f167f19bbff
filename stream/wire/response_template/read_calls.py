"""The field `tool_calls` of a response template, as the groups of a wire format."""

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
TAG = re.compile(r"<([A-Za-z_][\w:.-]*)")
PLACE = re.compile(r"\{(\w+(?:\.\w+)*)\}")
VALUE = AnchorPart(PartKind.CAPTURE, "value")
CONDITIONS = (PartKind.AHEAD, PartKind.EDGE)
Field = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """The groups of a format that say how calls are written; `ends` may end the turn too.

    `several_messages`: a call may be closed by the end of a message behind which another begins.
    """

    tools: ToolsFormat = field(default_factory=ToolsFormat)
    function: FunctionFormat = field(default_factory=FunctionFormat)
    arguments: ArgumentsFormat = field(default_factory=ArgumentsFormat)
    call_id: CallIdFormat = field(default_factory=CallIdFormat)
    ends: tuple[str, ...] = ()
    several_messages: bool = False


@dataclass(frozen=True, slots=True)
class Opening:
    """The beginning of a call: its markers, and the captures, each with the text behind it."""

    section: str
    before: tuple[str, ...]
    namespace: str
    captures: tuple[tuple[str, str], ...]


def read_calls(
    given: Field, turn_ends: Collection[str] = (), headers: Collection[str] = ()
) -> Calls:
    """The groups of a format that say how calls are written, from the field.

    Args:
        given: the field.
        turn_ends: what closes content, and so the turn.
        headers: what the turn begins behind.

    Raises:
        FormatError: the field says what a wire format cannot.
    """
    opening = _opening(given)
    anchors = read_anchor(given, "close", WHERE)
    ends = [_end_before(parts, headers) for parts in anchors]
    own = [parts for parts, end in zip(anchors, ends, strict=True) if not end]
    calls = _read(given, opening, _closers(own, opening, turn_ends))
    messages = tuple(filter(None, ends))
    return replace(calls, ends=(*calls.ends, *messages), several_messages=bool(messages))


def _end_before(parts: list[AnchorPart], headers: Collection[str]) -> str:
    """The text that ends a message before the header of the next, in a close that is both."""
    text = "".join(part.text for part in parts if part.kind is PartKind.TEXT)
    plain = all(part.kind in (PartKind.TEXT, PartKind.SPACE) for part in parts)
    found = (text.removesuffix(header) for header in headers if header and text.endswith(header))
    return next(found, "").strip() if plain else ""


def _read(given: Field, opening: Opening, closing: tuple[list[str], str, tuple[str, ...]]) -> Calls:
    """The groups, from the field, how calls begin, and what `_closers` says of their ends."""
    closers, section_end, ends = closing
    roles = _roles(given)
    parser = given.get("content", "text")
    if bool(given.get("repeats")) is bool(given.get("transform_each")):
        raise FormatError(f"{WHERE}: calls need repeats or transform_each, and not both")
    if parser == "json" and roles["name"][0] != "capture":
        return _json_calls(given, opening, closers, section_end, roles, ends)
    if parser not in ("json", "xml-inline"):
        raise FormatError(f"{WHERE}: calls are 'json' or 'xml-inline', not {parser!r}")
    if roles["name"] != ("capture", "name") or roles["arguments"] != ("content",):
        raise FormatError(f"{WHERE}: the name must be a group 'name', the arguments the content")
    return _tagged_calls(given, opening, closers, section_end, ends)


def _opening(given: Field) -> Opening:
    alternatives = read_anchor(given, "open", WHERE)
    if len(alternatives) != 1:
        raise FormatError(f"{WHERE}: one opener is all that can be said, not {len(alternatives)}")
    parts = [part for part in alternatives[0] if part.kind not in CONDITIONS]
    section = ""
    before: list[str] = []
    namespace = ""
    captures: list[tuple[str, str]] = []
    for at, part in enumerate(parts):
        if part.kind is PartKind.CAPTURE:
            captures.append((part.text, ""))
        elif part.kind is PartKind.SPACE:
            if captures and captures[-1][1]:
                captures[-1] = (captures[-1][0], captures[-1][1] + "\n")
        elif part.kind is PartKind.OPTIONAL:
            if not before and not section and not captures:
                section = part.text
            elif at + 1 < len(parts) and parts[at + 1] == AnchorPart(PartKind.CAPTURE, "name"):
                namespace = part.text
            else:
                raise FormatError(f"{WHERE}: {part.text!r} that may be left out")
        elif captures:
            captures[-1] = (captures[-1][0], captures[-1][1] + part.text)
        else:
            before.append(part.text)
    if not before and not section:
        raise FormatError(f"{WHERE}: no text begins it")
    if len(before) > 2:
        raise FormatError(f"{WHERE}: more than two markers begin a call")
    return Opening(section, tuple(before), namespace, tuple(captures))


def _closers(
    anchors: list[list[AnchorPart]], opening: Opening, turn_ends: Collection[str]
) -> tuple[list[str], str, tuple[str, ...]]:
    """The markers that close a call, that of the section, and those that end the turn instead.

    Of several, one may close a call: the others end the turn. The end of the text, and what stands
    ahead, close whatever is open; so a text beside what stands ahead ends calls of which none has
    an end of its own, unless it ends the tag that began one.
    """
    alternatives = [
        [part for part in parts if part.kind not in (PartKind.SPACE, *CONDITIONS)]
        for parts in anchors
    ]
    followed = any({part.kind for part in parts} == {PartKind.AHEAD} for parts in anchors)
    if any(part.kind is PartKind.CAPTURE for parts in alternatives for part in parts):
        raise FormatError(f"{WHERE}: a group in the close")
    closing = [parts for parts in alternatives if not _are(parts, turn_ends)]
    own = [_own_end(marker) for marker in (opening.section, *opening.before)]
    if len(closing) > 1:
        closing = [parts for parts in closing if _are(parts, own)]
        if len(closing) != 1:
            raise FormatError(f"{WHERE}: close has several texts that may end a call")
    ends = [p.text for parts in alternatives for p in parts if parts not in closing]
    texts = [part.text for parts in closing for part in parts if part.kind is PartKind.TEXT]
    section = [p.text for parts in closing for p in parts if p.kind is PartKind.OPTIONAL]
    if len(texts) > 2:
        raise FormatError(f"{WHERE}: more than two markers end a call")
    if followed and len(texts) == 1 and not section and texts[0] not in own:
        return [], texts[0], tuple(ends)
    return texts, "".join(section), tuple(ends)


def _are(parts: list[AnchorPart], texts: Collection[str]) -> bool:
    """Return whether all that an alternative stands for is among the texts."""
    return all(part.text in texts for part in parts)


def _roles(given: Field) -> dict[str, tuple[str, ...]]:
    """Where name, arguments and id come from: a path into the content, or a capture."""
    said = given.get("transform")
    transform: Field = said if isinstance(said, Mapping) else {}
    function = transform.get("function")
    each = bool(given.get("transform_each"))
    if function == "{content}" and not each:
        function = {"name": "{content.name}", "arguments": "{content.arguments}"}
    if not isinstance(function, Mapping):
        raise FormatError(f"{WHERE}: transform must give a function with name and arguments")
    places = {"name": function.get("name"), "arguments": function.get("arguments")}
    if transform.get("id") is not None:
        places["id"] = transform["id"]
    roles = {}
    for role, place in places.items():
        found = PLACE.fullmatch(place) if isinstance(place, str) else None
        if found is None:
            raise FormatError(f"{WHERE}: transform says {place!r} for the {role}")
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
    """Calls whose name stands in JSON."""
    if options := _options(given, "content_args"):
        raise FormatError(f"{WHERE}: {', '.join(options)} for calls that are JSON")
    outside = opening.section or "".join(opening.before[:-1])
    in_three = (opening.section and len(opening.before) > 1) or (section_end and len(closers) > 1)
    if opening.captures or in_three:
        raise FormatError(f"{WHERE}: calls that are JSON stand between markers, two at most")
    if len(closers) > 1:
        section_end = closers.pop()
    *outer, name_field = roles["name"]
    *again, arguments_field = roles["arguments"]
    if outer != again or len(outer) > 1:
        raise FormatError(f"{WHERE}: name and arguments stand in one object")
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
    """Calls whose name stands between markers."""
    names = [name for name, _ in opening.captures]
    if sorted(names) not in (["name"], ["id", "name"]):
        raise FormatError(f"{WHERE}: it has the groups {names}; it may have 'name' and 'id'")
    behind = dict(opening.captures)
    call_id = CallIdFormat()
    if names == ["id", "name"]:
        call_id = CallIdFormat(position=CallIdPosition.PRE_FUNC_NAME, suffix=behind["id"])
    elif names == ["name", "id"]:
        call_id = CallIdFormat(
            position=CallIdPosition.BETWEEN_FUNC_AND_ARGS,
            prefix=behind["name"],
            suffix=behind["id"],
        )
        behind["name"] = ""
    two = len(opening.before) > 1
    is_json = given.get("content") == "json"
    if not is_json:
        closers = _unsaid(opening, closers)
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


def _unsaid(opening: Opening, closers: list[str]) -> list[str]:
    """What ends a call from the inside out, with the ends that the close leaves out.

    The standard ignores text between the last argument and the close, whatever it is. Here it
    would go on with the last argument, so that it must be known: for tags, it is.
    """
    begun = [*reversed(opening.before or (opening.section,))]
    if len(closers) > 1:
        return closers
    own = [_own_end(marker) for marker in begun]
    inner = max(len(begun) - len(closers), 1)
    missing = own[: own.index(closers[0]) if closers and closers[0] in own else inner]
    if missing == [""] and len(begun) == 1:
        # The marker that has no tag is ended by the close, or by nothing.
        return closers
    if "" in missing:
        raise FormatError(f"{WHERE}: close does not say what ends {begun[missing.index('')]!r}")
    return [*missing, *closers]


def _own_end(marker: str) -> str:
    """What ends the tag that a marker begins, "" where it is no tag."""
    tag = TAG.match(marker)
    return f"</{tag[1]}>" if tag else ""


def _options(within: Field, key: str) -> dict[str, Any]:
    """What an object says under a key, none where it does not have it."""
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
        case [[str(start), str(end)]] if start == end:
            quote = start
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
        raise FormatError(f"{WHERE}: values are 'text' or 'json', not {value_parser!r}")
    alternatives = read_anchor({"tag_pattern": pattern}, "tag", WHERE)
    captures = (
        [p.text for p in alternatives[0] if p.kind is PartKind.CAPTURE] if alternatives else []
    )
    if len(alternatives) != 1 or captures != ["key", "value"]:
        raise FormatError(f"{WHERE}: tag_pattern must have the groups key and value, in this order")
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
            what = f"{part.text!r} that may be left out" if part.text else "a condition"
            raise FormatError(f"{WHERE}: tag_pattern has {what}")
    before, within, after = texts
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
