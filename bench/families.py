"""A built-in format of each family, and typical outputs in it."""

from __future__ import annotations

import deltaparse as dp
from texts import OBJECTS, PROSE, SOURCE, escaped, listed
from workloads import CITY, ITEMS, STRING, TOOLS, Workload

__all__ = ["COLUMNS", "FAMILIES"]

COLUMNS = ("content", "reasoning", "string", "nested", "calls")

Rows = dict[str, tuple[str, str, str]]

TEXT = escaped(SOURCE)


def rows(content: str, reasoning: str | None) -> Rows:
    """Return the rows of content and of reasoning (if supported), with their beginnings."""
    text: Rows = {"content": ("content", content, PROSE)}
    return text if reasoning is None else text | {"reasoning": ("reasoning", reasoning, PROSE)}


def in_json(before: str, name: str, call: str) -> Rows:
    """Return the rows of JSON arguments.

    Args:
        before: opens the calls.
        name: opens one call.
        call: the repeated call.
    """
    return {
        "string": ("string", before + name + STRING, TEXT),
        "nested": ("nested", before + name + ITEMS, listed(OBJECTS)),
        "calls": ("calls", before, call),
    }


def in_tags(text: str, items: str, call: str) -> Rows:
    """Return the rows of tagged arguments. `text` and `items` open a call and an argument."""
    return {
        "string": ("tagged string", text, SOURCE),
        "nested": ("nested", f"{items}[", listed(OBJECTS)),
        "calls": ("calls", "", call),
    }


def python(call: str) -> Rows:
    """Return the rows of calls in Python syntax, whose arguments are converted to JSON."""
    return {
        "string": ("string in Python", '[write(path="visits.py", text="', TEXT),
        "nested": ("nested in Python", "[write(items=[", listed(OBJECTS, repr)),
        "calls": ("calls in Python", "[", call),
    }


CODER = "<tool_call>\n<function=write>\n<parameter={}>\n"
CODER_CALL = (
    "<tool_call>\n<function=forecast>\n<parameter=city>\nŁódź\n</parameter>\n<parameter=days>\n"
    "3\n</parameter>\n<parameter=units>\nmetric\n</parameter>\n</function>\n</tool_call>\n"
)
GLM = "<tool_call>write\n<arg_key>{}</arg_key>\n<arg_value>"
GLM_CALL = (
    "<tool_call>forecast\n<arg_key>city</arg_key>\n<arg_value>Łódź</arg_value>\n"
    "<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>\n"
)
KIMI = "<|tool_call_begin|>functions.{}:0<|tool_call_argument_begin|>"
OSS = "<|channel|>commentary to=functions.{} <|constrain|>json<|message|>"

FORMATS: dict[str, Rows] = {
    "qwen25": rows("", "<think>\n")
    | in_json(
        "",
        '<tool_call>\n{"name": "write", "arguments": ',
        f'<tool_call>\n{{"name": "forecast", "arguments": {CITY}}}\n</tool_call>\n',
    ),
    "kimi_k2": rows("", "<think>")
    | in_json(
        "<|tool_calls_section_begin|>",
        KIMI.format("write"),
        f"{KIMI.format('forecast')}{CITY}<|tool_call_end|>",
    ),
    "gpt_oss": rows("<|channel|>final<|message|>", "<|channel|>analysis<|message|>")
    | in_json(
        "",
        OSS.format("write"),
        f"{OSS.format('forecast')}{CITY}<|call|><|start|>assistant",
    ),
    "qwen3_coder": rows("", None)
    | in_tags(CODER.format("text"), CODER.format("items"), CODER_CALL),
    "glm45": rows("", "\n<think>") | in_tags(GLM.format("text"), GLM.format("items"), GLM_CALL),
    "llama4_pythonic": rows("", None)
    | python('forecast(city="Łódź", days=3, units="metric", hourly=False), '),
}

FAMILIES = {
    name: {
        column: Workload(f"{name}: {column}", *cell, tools=TOOLS)
        for column, (kind, start, unit) in columns.items()
        for cell in [(kind, dp.get_format(name), start, unit)]
    }
    for name, columns in FORMATS.items()
}
