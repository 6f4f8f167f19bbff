"""A wire format in words, for people.

For each group of fields what it says, then those that are not empty, the markers quoted, so that
white space is seen; a turn in this format; and whether it is proved.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import deltaparse as dp

__all__ = ["explanation", "sample", "sample_call"]

# The words for a mode or family; what is not in here is shown by its own name.
WORDS = {
    ("reasoning", "NONE"): "none found",
    ("reasoning", "TAG_BASED"): "between two markers, both written by the model",
    ("reasoning", "DELIMITER"): "from the start of the turn up to a marker",
    ("reasoning", "FORCED_OPEN"): "opened by the prompt, ended by the model",
    ("reasoning", "FORCED_CLOSED"): "opened by the prompt, which closes it where thinking is off",
    ("reasoning", "TOOLS_ONLY"): "between two markers, only in turns with tool calls",
    ("content", "PLAIN"): "the text that is left",
    ("content", "ALWAYS_WRAPPED"): "between two markers",
    ("content", "WRAPPED_WITH_REASONING"): "between two markers in turns with reasoning",
    ("tools", "NONE"): "none found",
    ("tools", "JSON_NATIVE"): "name and arguments in one JSON object",
    ("tools", "TAG_WITH_JSON"): "the name between markers, the arguments a JSON object",
    ("tools", "TAG_WITH_TAGGED"): "the name, each key and each value between markers",
}
GROUPS = ("turn", "reasoning", "content", "tools", "function", "arguments", "call_id")
MODES = ("mode", "format")
FROM_PROMPT = (dp.ReasoningMode.FORCED_OPEN, dp.ReasoningMode.FORCED_CLOSED)


def explanation(fmt: dp.WireFormat) -> str:
    """Say in several lines what a format is, how far it is proved, and what is not known."""
    lines = [line for name in GROUPS for line in _group(name, getattr(fmt, name))]
    lines += ["", "A turn with all it can have, as the model writes it:", ""]
    lines += [f"  | {line}".rstrip() for line in sample(fmt).strip("\n").split("\n")]
    if fmt.verified:
        lines += ["", "Verified: conversations that the template rendered parse back the same."]
    else:
        lines += ["", "Not verified:", *(f"  - {issue}" for issue in fmt.issues)]
    return "\n".join(lines)


def sample(fmt: dp.WireFormat) -> str:
    """A turn in this format with all that it can have, words in capitals for the rest.

    Calls are shown for JSON_NATIVE only. Those that stand in no markers are told from content
    by their place, at the start, and so are shown without it.
    """
    reasoning, content, tools = fmt.reasoning, fmt.content, fmt.tools
    turn = ""
    if reasoning.mode is not dp.ReasoningMode.NONE:
        start = "" if reasoning.mode in FROM_PROMPT else reasoning.start
        turn += f"{start}REASONING{reasoning.end}"
    native = tools.format is dp.ToolFormat.JSON_NATIVE
    if not native or tools.section_start.strip() or tools.per_call_start.strip():
        turn += f"{content.start}CONTENT{content.end}"
        turn += tools.content_separator if native else ""
    if native:
        count = 2 if tools.supports_parallel_calls else 1
        joined = tools.separator.join(sample_call(fmt, index) for index in range(count))
        joined = f"[{joined}]" if tools.array_wrapped else joined
        turn += f"{tools.section_start}{joined}{tools.section_end}"
    return turn + "".join(fmt.turn.ends[:1])


def sample_call(fmt: dp.WireFormat, index: int = 0) -> str:
    """One call in a JSON_NATIVE format, with its markers; `index` counts calls from 0."""
    tools = fmt.tools
    arguments: Any = {"KEY": "VALUE"}
    if tools.arguments_as_text:
        arguments = json.dumps(arguments)
    if tools.name_is_key:
        call: dict[str, Any] = {"NAME": arguments}
    else:
        function = {tools.name_field: "NAME", tools.arguments_field: arguments}
        call = {tools.function_field: function} if tools.function_field else function
        call |= {field: f"ID{index}" for field in (tools.id_field,) if field}
        call |= {field: index for field in (tools.generated_id_field,) if field}
        order = tools.field_order
        call = dict(sorted(call.items(), key=lambda item: (*order, item[0]).index(item[0])))
    return f"{tools.per_call_start}{json.dumps(call)}{tools.per_call_end}"


def _group(name: str, group: Any) -> Iterator[str]:
    """The lines of one group of fields, none if it says nothing."""
    values = {part.name: getattr(group, part.name) for part in fields(group)}
    mode = next((str(values.pop(mode)) for mode in MODES if mode in values), "")
    shown = {field: value for field, value in values.items() if value and value != "NONE"}
    if mode:
        yield f"{name:<27}{WORDS.get((name, mode), mode)}"
    elif shown:
        yield name
    for field, value in shown.items():
        yield f"  {field:<25}{_shown(value)}".rstrip()


def _shown(value: Any) -> str:
    """A field's value; white space in a marker must be seen."""
    if value is True:
        return "yes"
    if isinstance(value, tuple):
        return ", ".join(map(repr, value))
    return str(value) if isinstance(value, dp.CallIdPosition) else repr(value)
