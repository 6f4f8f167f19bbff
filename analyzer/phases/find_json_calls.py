"""Phases T1 to T3: calls as JSON objects, with markers around each call or around all of them.

T1 searches for the function name inside JSON, the only heuristic of the analysis, and derives the
layout from the parsed JSON. T2 and T3 compare one call with two.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from deltaparse.partial import Window, python_value
from deltaparse.stream import ArgumentsFormat, ToolFormat, ToolsFormat

from ..probes import ARGUMENT, CALL_IDS, FUNCTIONS, VALUE, call
from .call_texts import CallMarkers, CallTexts, ToolsFinding, json_at, markers_of
from .find_content import without_reasoning

__all__ = ["find_json_calls", "holds_json"]

NO_LAYOUT = "tool calls are JSON, but the keys of the function's name and arguments were not found"
BRACKET = re.compile(r"[{\[]")
REACH, MOST_BEGUN = 10_000, 30
"""Limits of the search for the value around a probe: characters before the probe, and brackets.

For Python literals, parsed in Python instead of C, REACH also limits the text after the probe."""

CODE_BLOCK = re.compile(r"(?P<marker>[^`]*?)\s*```(?P<language>\w*)\s*\Z")
KIND = {"type": "function"}
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class JsonInText:
    """A JSON value with the text before and after it; `python` is True for Python literals."""

    before: str
    text: str
    after: str
    value: Any
    python: bool = False


def find_json_calls(calls: CallTexts) -> ToolsFinding | None:
    """Find the format of JSON calls; return None if a call is neither an object nor in a list.

    Also return None if the call id is outside the JSON: then the text around the name is markers,
    as in tagged calls.
    """
    found = _json_with(calls.turn(call()), FUNCTIONS[0])
    if found is None:
        return None
    if any(calls.number) or CALL_IDS[0] in found.before + found.after:
        return None
    two = calls.turn(call(), call(1))
    if inner := _inner_list(found):
        # An object around the list of calls is treated as a marker.
        both = _json_with(two, FUNCTIONS[0])
        listed = _inner_list(both) if both else None
        found, two = inner, listed.text if listed else ""
    layout, pair = _layout(found.value, _made_second(two)), _json_pair(two)
    if layout is None:
        return ToolsFinding(issues=(NO_LAYOUT,))
    before, after = calls.outside(without_reasoning(found.before, calls.reasoning), found.after)
    markers = _markers(before, pair, after, in_array=layout.array_wrapped)
    gap = markers.first.removesuffix(markers.first.lstrip())
    markers = markers.trimmed()
    if not (markers.section_end.strip() or markers.per_call_end.strip()):
        markers = markers._replace(per_call_end="")
    behind = None if markers.first else calls.behind_content(found.text[:1])
    tools = replace(
        layout,
        content_separator=calls.separator(markers.first, default=behind or gap),
        behind_content=behind is not None,
        supports_tools=True,
        supports_parallel_calls=pair is not None,
        **markers._asdict(),
    )
    return ToolsFinding(
        format=_code_block(tools), arguments=ArgumentsFormat(python_literals=found.python)
    )


def holds_json(text: str) -> bool:
    """Return True if a call is written in JSON."""
    return _json_with(text, FUNCTIONS[0]) is not None


def _inner_list(found: JsonInText) -> JsonInText | None:
    """Return the list of calls if it is the only member of an object, with the text around it."""
    value = found.value
    if len(value) != 1 or found.python:
        return None
    at = found.text.index("[") if "[" in found.text else 0
    listed, end = json_at(found.text, at)
    if not isinstance(listed, list) or found.text[:at].count('"') != 2:
        return None
    before, after = found.before + found.text[:at], found.text[end:] + found.after
    return JsonInText(before, found.text[at:end], after, listed)


def _markers(
    before: str, pair: tuple[str, str] | None, after: str, *, in_array: bool
) -> CallMarkers:
    """T2 and T3: return the markers around calls. Calls in an array have section markers only.

    Args:
        before: the text before the first call.
        pair: the text between two calls, and "[" if both are in one array.
        after: the text after the last call.
        in_array: True if a single call is in an array.
    """
    between, array = pair or (None, "[" * in_array)
    markers = markers_of(before, between, after)
    own = markers.per_call_start.strip() or markers.per_call_end.strip()
    if array or (pair and not own):
        return CallMarkers(section_start=before, separator=between or "", section_end=after)
    return markers


def _made_second(two: str) -> Any:
    """Return the JSON of the second call, or None if it is missing."""
    found = _json_with(two, FUNCTIONS[1])
    both = found.value if found is not None else None
    return both[-1] if isinstance(both, list) else both


def _layout(value: Any, second: Any = None) -> ToolsFormat | None:
    """Return the keys of name, arguments and id in a call; None if they are not found.

    Args:
        value: the JSON of the first call.
        second: the JSON of another call, for comparison.
    """
    array = isinstance(value, list)
    made = value[0] if array and value else value
    arguments = next(_paths(made, _holds_argument), None)
    if arguments is None:
        return None
    found: dict[str, Any] = {"format": ToolFormat.JSON_NATIVE, "array_wrapped": array}
    held = _get(made, arguments)
    found["arguments_as_text"] = isinstance(held, str)
    if arguments and arguments[-1] == FUNCTIONS[0]:
        return ToolsFormat(name_is_key=True, **found)
    name = next(_paths(made, lambda part: part == FUNCTIONS[0]), None)
    if name is None or not arguments or len(name) > 2 or name[:-1] != arguments[:-1]:
        return None
    if CALL_IDS[0] in name:
        return None  # the key contains the id, so it differs for each call
    call_id = next(_paths(made, lambda part: part == CALL_IDS[0]), None)
    counted = next(_paths(made, _counts), None)
    order = [str(key) for key in _get(made, name[:-1])]
    return ToolsFormat(
        function_field=str(name[0]) if len(name) > 1 else "",
        name_field=str(name[-1]),
        arguments_field=str(arguments[-1]),
        id_field=str(call_id[-1]) if call_id else "",
        generated_id_field=str(counted[-1]) if counted and not call_id else "",
        field_order=tuple(order),
        constants=(*_constants(made, second, {*name, *arguments, *(call_id or counted or ())}),),
        **found,
    )


def _constants(made: Mapping[str, Any], second: Any, known: set[str | int]) -> Iterator[str]:
    """Yield the key and JSON value of each member not in `known`; "" for a changing value."""
    for key, value in made.items():
        if key not in known and (key, value) not in KIND.items():
            also = not isinstance(second, Mapping) or second.get(key, value) == value
            yield from (key, json.dumps(value, ensure_ascii=False) * also)


def _code_block(made: ToolsFormat) -> ToolsFormat:
    """Set the code-block fields if the calls are inside a code block."""
    block = CODE_BLOCK.match(made.section_start)
    if block is None:
        return made
    return replace(made, code_block_marker=block["marker"], code_block_language=block["language"])


def _json_with(text: str, probe: str, start: int = 0) -> JsonInText | None:
    """Return the outermost JSON object or array around `probe`, or the same as a Python literal.

    The text around a call is untrusted, and each bracket may start a scan to the end of the text.
    So only a limited number of brackets near the probe are tried.
    """
    at = text.find(probe, start)
    if at < 0:
        return None
    for read, near in ((json_at, text), (_python_at, text[: at + REACH])):
        begun = BRACKET.finditer(text, max(start, at - REACH), at)
        for found in islice(begun, MOST_BEGUN):
            begin = found.start()
            value, end = read(near, begin)
            if end > at:
                python = read is _python_at
                return JsonInText(text[:begin], text[begin:end], text[end:], value, python)
    return None


def _python_at(text: str, start: int) -> tuple[Any, int]:
    """Return the Python literal at `start` and its end position, or (None, 0) if it is not one."""
    src = Window(text, closed=True)
    src.pos = start
    chunks: list[str] = []
    next(python_value(src, chunks.append, lambda *_: None), None)
    value, _ = json_at("".join(chunks), 0) if chunks else (None, 0)
    return value, src.pos if value is not None else 0


def _json_pair(text: str) -> tuple[str, str] | None:
    """Return the text between two calls, and "[" if both are in one array."""
    first, array = _json_with(text, FUNCTIONS[0]), ""
    if first is not None and FUNCTIONS[1] in first.text:
        # Both are in one array: search for the calls inside it.
        text, array = first.text, "["
        first = _json_with(text, FUNCTIONS[0], 1)
    if first is None:
        return None
    start = len(first.before) + len(first.text)
    second = _json_with(text, FUNCTIONS[1], start)
    return (second.before[start:], array) if second else None


def _paths(value: Any, wanted: Any) -> Iterator[Path]:
    """Yield the paths to all parts of a JSON value accepted by `wanted`, outermost first."""
    left: list[tuple[Any, Path]] = [(value, ())]  # may nest deeper than Python's stack
    while left:
        value, path = left.pop()
        if wanted(value):
            yield path
        if isinstance(value, dict):
            left += [(part, (*path, key)) for key, part in reversed(value.items())]


def _get(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def _holds_argument(value: Any) -> bool:
    """Return True if a value is the call's arguments, as an object or as JSON text."""
    if isinstance(value, str) and ARGUMENT in value:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return False
    return isinstance(value, Mapping) and value.get(ARGUMENT) == VALUE


def _counts(value: Any) -> bool:
    """Return True if a value may be a counter: the first call has number 0."""
    return value in ("0", 0) and value is not False
