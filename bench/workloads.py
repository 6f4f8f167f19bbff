"""The measured streams: a repeated text, after a prefix that sets the state of the parser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import deltaparse as dp
from texts import BEGINNINGS, MARKDOWN, OBJECTS, PROSE, SOURCE, escaped, listed
from timing import Feed

__all__ = [
    "ANSWER",
    "CITY",
    "FORMAT",
    "ITEMS",
    "STRING",
    "TAGGED",
    "TOOLS",
    "WORKLOADS",
    "Workload",
    "tool",
]

FORMAT = dp.WireFormat(
    turn=dp.TurnFormat(headers=("<|model|>",), ends=("<|end|>",)),
    reasoning=dp.ReasoningFormat(
        mode=dp.ReasoningMode.TAG_BASED, start="<think>\n", end="\n</think>\n"
    ),
    tools=dp.ToolsFormat(
        format=dp.ToolFormat.JSON_NATIVE,
        per_call_start="<call>\n",
        per_call_end="\n</call>",
        separator="\n",
        name_field="name",
        arguments_field="arguments",
    ),
)
TAGGED = dp.get_format("qwen3_coder")


def tool(name: str, **types: str) -> dict[str, Any]:
    """Return a tool in the form of a request."""
    properties = {key: {"type": kind} for key, kind in types.items()}
    parameters = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS = [
    tool("write", path="string", text="string", items="array"),
    tool("forecast", city="string", days="integer", units="string", hourly="boolean"),
]


@dataclass(frozen=True)
class Workload:
    """One stream.

    Args:
        kind: the kind of text, used by targets.
        start: the prefix, which is not timed.
        unit: the repeated text. It may be repeated after its end.
        json: the JSON arguments of the call, up to `unit`. `start` ends with them. The rest of the
            arguments is in `json_end`.
        times: the number of repetitions, if it does not depend on the size.
    """

    name: str
    kind: str
    fmt: dp.WireFormat
    start: str
    unit: str
    json: str = ""
    json_end: str = ""
    times: int | None = None
    tools: Sequence[Mapping[str, Any]] | None = None

    def text(self, size: int) -> str:
        """Return the timed text of about `size` characters."""
        return self.unit * (self.times or max(size // len(self.unit), 1))

    def arguments(self, size: int) -> str:
        """Return the arguments alone, for readers of JSON."""
        return self.json + self.text(size).removesuffix(", ") + self.json_end

    def parser(self, **options: Any) -> dp.StreamParser:
        """Return a parser in the state before `unit`."""
        parser = dp.StreamParser(self.fmt, tools=self.tools, **options)
        parser.feed(self.start)
        return parser

    def feed(self) -> Feed:
        """Return the `feed` of a parser in the state before `unit`."""
        return self.parser().feed


def call(arguments: str) -> str:
    """Return the beginning of a call in `FORMAT`."""
    return f'<call>\n{{"name": "write", "arguments": {arguments}'


PARAMETER = "<tool_call>\n<function=write>\n<parameter={}>\n"
STRING = '{"path": "visits.py", "text": "'
ITEMS = '{"items": ['
CITY = '{"city": "Łódź", "days": 3, "units": "metric", "hourly": false}'
ANSWER = (
    "<think>\nThe user asks about the weather in Łódź, so the forecast is what to call. Three days "
    "were asked for, in metric units, as before in this conversation.\n</think>\n"
    "Let me look that up for you. The weather service knows about Łódź, and the forecast for the "
    "next three days should be there; I will come back with what it says in a moment, and with "
    "what to pack for it.\n"
    '<call>\n{"name": "forecast", "arguments": {"city": "Łódź", "days": 3, "units": "metric", '
    '"hourly": false, "note": "for the trip that begins on Friday and ends on Monday"}}\n</call>'
)
"""A complete short response: reasoning, content and a call."""
CALL = f'<call>\n{{"name": "forecast", "arguments": {CITY}}}\n</call>\n'

WORKLOADS = (
    Workload("content", "content", FORMAT, "", PROSE),
    Workload("content, Markdown and code", "markdown", FORMAT, "", MARKDOWN),
    Workload("content full of < and {", "beginnings", FORMAT, "", BEGINNINGS),
    Workload("reasoning", "reasoning", FORMAT, "<think>\n", PROSE),
    Workload("string argument", "string", FORMAT, call(STRING), escaped(SOURCE), STRING, '"}'),
    Workload(
        "string argument, tagged",
        "tagged string",
        TAGGED,
        PARAMETER.format("text"),
        SOURCE,
        tools=TOOLS,
    ),
    Workload(
        "nested arguments", "nested", FORMAT, call(ITEMS), listed(OBJECTS), ITEMS, "]}", times=1
    ),
    Workload("20 parallel calls", "calls", FORMAT, "", CALL, times=20),
)
