"""Phases T1 to T3: how a template writes tool calls.

T1 looks for the function's name inside JSON, the one heuristic of the analysis, and reads the
layout off the JSON itself; T2 and T3 compare one call with two, which tells the markers of each
call from those of the section, and both from what stands between two calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from deltaparse.partial import Window, python_value
from deltaparse.stream import (
    ArgumentsFormat,
    ContentFormat,
    ReasoningFormat,
    ToolFormat,
    ToolsFormat,
)

from ..diff import common_prefix, common_suffix
from ..probes import (
    ARGUMENT,
    CALL_IDS,
    CONTENT,
    FUNCTIONS,
    NEXT_USER,
    TOOLS,
    VALUE,
    assistant,
    call,
    result,
    user,
)
from ..trace import phase
from ..turns import Renderer
from .content import without_reasoning
from .frame import Frame
from .pythonic import find_pythonic
from .tagged import Bodies, ToolsFinding, find_tagged

__all__ = ["ToolsFinding", "find_tool_calls"]

DECODER = json.JSONDecoder()
CODE_BLOCK = re.compile(r"(?P<marker>[^`]*?)\s*```(?P<language>\w*)\s*\Z")
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class JsonInText:
    """A JSON value and the text that stands before and after it."""

    before: str
    text: str
    after: str
    value: Any
    python: bool = False


@phase("T1-T7, A1, A2")
def find_tool_calls(
    render: Renderer, frame: Frame, reasoning: ReasoningFormat, content: ContentFormat
) -> ToolsFinding:
    """Find how calls are written, as far as they are JSON objects."""
    tools_shown = render([user()], tools=TOOLS)
    supports = tools_shown is not None and all(name in tools_shown for name in FUNCTIONS)
    none = ToolsFormat(supports_tools=supports)
    one = frame.body(render([user(), assistant("", calls=[call()])], tools=TOOLS))
    if one is None or FUNCTIONS[0] not in one:
        reason = "the template does not render tool calls" if supports else ""
        return ToolsFinding(format=none, issues=(reason,) if reason else ())
    found = _json_with(one, FUNCTIONS[0])
    if found is None or not isinstance(found.value, dict | list):
        bodies = Bodies(render, frame, reasoning, content)
        other = find_pythonic(bodies) or find_tagged(bodies)
        if other is not None:
            return other
        message = (
            "tool calls are rendered, but their syntax was not understood: describe it with "
            "fmt.replace(tools=..., function=..., arguments=...), or take a named format"
        )
        return ToolsFinding(format=none, issues=(message,))
    layout = _layout(found.value)
    if layout is None:
        message = "tool calls are JSON, but the function's name and arguments were not found in it"
        return ToolsFinding(format=none, issues=(message,))
    layout = replace(layout, supports_tools=True)
    before = without_reasoning(found.before, reasoning)
    after = found.after
    if content.start and before.startswith(content.start) and after.endswith(content.end):
        # The calls stand in the content's markers, which are not theirs.
        before, after = before.removeprefix(content.start), after.removesuffix(content.end)
    two = frame.body(render([user(), assistant("", calls=[call(), call(1)])], tools=TOOLS))
    pair = _json_pair(two) if two is not None else None
    if pair is None:
        made = _with_markers(layout, before, after, per_call=not layout.array_wrapped)
    else:
        made = _from_two(layout, before, after, pair)
    made = _separated(made, render, frame)
    return ToolsFinding(
        format=_code_block(made), arguments=ArgumentsFormat(python_literals=found.python)
    )


def _layout(value: Any) -> ToolsFormat | None:
    """Read the layout of a call off its JSON: which key holds what."""
    array = isinstance(value, list)
    made = value[0] if array and value else value
    if not isinstance(made, dict):
        return None
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
    call_id = next(_paths(made, lambda part: part == CALL_IDS[0]), None)
    counted = next(_paths(made, _counts), None)
    order = [str(key) for key in (_get(made, name[:-1]) if name[:-1] else made)]
    return ToolsFormat(
        function_field=str(name[0]) if len(name) > 1 else "",
        name_field=str(name[-1]),
        arguments_field=str(arguments[-1]),
        id_field=str(call_id[-1]) if call_id else "",
        generated_id_field=str(counted[-1]) if counted and not call_id else "",
        field_order=tuple(order),
        **found,
    )


def _from_two(layout: ToolsFormat, before: str, after: str, pair: tuple[str, str]) -> ToolsFormat:
    """T2 and T3: tell section, call and separator apart; `pair` is what two calls show.

    `pair` holds the text between two calls, and "[" if they stand in one array.
    """
    between, array = pair
    layout = replace(layout, supports_parallel_calls=True)
    if array:
        made = _with_markers(layout, before, after, per_call=False)
        return replace(made, separator=between)
    end = after if between.startswith(after) else common_prefix(between, after)
    rest = between.removeprefix(end)
    start = before if rest.endswith(before) else common_suffix(rest, before)
    if not start.strip() and not end.strip():
        made = _with_markers(layout, before, after, per_call=False)
        return replace(made, separator=between)
    return replace(
        layout,
        section_start=before.removesuffix(start),
        per_call_start=start,
        separator=rest.removesuffix(start),
        per_call_end=end,
        section_end=after.removeprefix(end),
    )


def _with_markers(layout: ToolsFormat, before: str, after: str, *, per_call: bool) -> ToolsFormat:
    if per_call:
        return replace(layout, per_call_start=before, per_call_end=after)
    return replace(layout, section_start=before, section_end=after)


def _separated(made: ToolsFormat, render: Renderer, frame: Frame) -> ToolsFormat:
    """Take the white space before the first marker for what separates calls from content."""
    first = "section_start" if made.section_start.strip() else "per_call_start"
    marker = getattr(made, first)
    core = marker.lstrip()
    separator = marker[: len(marker) - len(core)]
    said = [user(), assistant(calls=[call()])]
    for messages in (said, [*said, result(), user(NEXT_USER)]):
        both = frame.body(render(messages, tools=TOOLS)) or ""
        after = both.partition(CONTENT)[2]
        if core and core in after and not after[: after.index(core)].strip():
            separator = after[: after.index(core)]
            break
    last = "section_end" if made.section_end.strip() else "per_call_end"
    end = getattr(made, last)
    # The white space that is taken off here stands between calls as well.
    between = made.separator + (marker.removesuffix(core) if first == "per_call_start" else "")
    texts = {first: core, last: end if end.strip() else "", "separator": between}
    return replace(made, content_separator=separator, **texts)


def _code_block(made: ToolsFormat) -> ToolsFormat:
    """Note a code block round the calls as such."""
    block = CODE_BLOCK.match(made.section_start)
    if block is None:
        return made
    return replace(made, code_block_marker=block["marker"], code_block_language=block["language"])


def _json_with(text: str, probe: str, start: int = 0) -> JsonInText | None:
    """The outermost JSON object or array in `text` that holds `probe`, or one as Python has it."""
    at = text.index(probe, start)
    for read in (_json_at, _python_at):
        for found in re.finditer(r"[{\[]", text[:at]):
            if found.start() < start:
                continue
            value, end = read(text, found.start())
            if end > at:
                begin = found.start()
                return JsonInText(
                    text[:begin], text[begin:end], text[end:], value, read is _python_at
                )
    return None


def _json_at(text: str, start: int) -> tuple[Any, int]:
    """The JSON value that begins at `start` and where it ends, 0 if there is none."""
    try:
        return DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, 0


def _python_at(text: str, start: int) -> tuple[Any, int]:
    """The same of a value as Python writes it."""
    src = Window(text, closed=True)
    src.pos = start
    pieces: list[str] = []
    next(python_value(src, pieces.append, lambda *_: None), None)
    value, _ = _json_at("".join(pieces), 0) if pieces else (None, 0)
    return value, src.pos if value is not None else 0


def _json_pair(text: str) -> tuple[str, str] | None:
    """What stands between two calls, and "[" if both stand in one array."""
    if not all(name in text for name in FUNCTIONS):
        return None
    first = _json_with(text, FUNCTIONS[0])
    if first is None:
        return None
    whole, array = text, ""
    if FUNCTIONS[1] in first.text:
        # Both are in one array: look for the calls inside of it.
        whole, array = first.text, "["
        first = _json_with(whole, FUNCTIONS[0], 1)
        if first is None:
            return None
    start = len(first.before) + len(first.text)
    second = _json_with(whole, FUNCTIONS[1], start) if FUNCTIONS[1] in whole[start:] else None
    return (second.before[start:], array) if second else None


def _paths(value: Any, wanted: Any, path: Path = ()) -> Iterator[Path]:
    """The paths to all parts of a JSON value for which `wanted` is true, outermost first."""
    if wanted(value):
        yield path
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _paths(part, wanted, (*path, key))


def _get(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def _holds_argument(value: Any) -> bool:
    if isinstance(value, str) and ARGUMENT in value:
        try:
            value = json.loads(value)
        except ValueError:
            return False
    return isinstance(value, Mapping) and value.get(ARGUMENT) == VALUE


def _counts(value: Any) -> bool:
    """Whether a value counts the calls: the first has 0."""
    return value in ("0", 0) and value is not False
