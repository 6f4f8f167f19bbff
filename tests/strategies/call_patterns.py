"""A call in every format family, with placeholders for hostile text in each place."""

from __future__ import annotations

import re
from dataclasses import dataclass

from deltaparse import StreamParser, Tools, WireFormat, get_format

from ..support import as_joined
from .wire_by_hand import ELEMENTS, KEYED, LIST, TAGS, UNMARKED
from .wire_channels import HARMONY

WHOLE = 1 << 30
"""A chunk size beyond the length of any text."""


@dataclass(frozen=True)
class Family:
    """A call pattern: %n is the name, %i the id, %k a key and %v its value."""

    format: WireFormat
    call: str

    def write(self, **parts):
        """Write a call with the given parts (`n`, `i`, `k`, `v`) and defaults for the others."""
        known = {"n": "f", "i": "i", "k": "a", "v": "1"} | parts
        return re.sub("%([nikv])", lambda part: known[part[1]], self.call)

    def has(self, part):
        """Return whether a call has this part."""
        return f"%{part}" in self.call


JSON = '{"%k": %v}'
FAMILIES = {
    "JSON": Family(TAGS, f'<call>{{"name": "%n", "arguments": {JSON}}}</call>'),
    "JSON with ids": Family(LIST, f'[CALLS][{{"id": "%i", "name": "%n", "arguments": {JSON}}}]'),
    "names as keys": Family(KEYED, f'<|calls|>[{{"%n": {JSON}}}]<|/calls|>'),
    "unmarked objects": Family(UNMARKED, f'{{"name": "%n", "parameters": {JSON}}}'),
    "JSON in tags": Family(
        get_format("kimi_k2"),
        f"<|tool_call_begin|>%n<|tool_call_argument_begin|>{JSON}<|tool_call_end|>",
    ),
    "JSON and ids in tags": Family(
        get_format("mistral_small"), f"[TOOL_CALLS]%n[CALL_ID]%i[ARGS]{JSON}"
    ),
    "quotes of its own": Family(get_format("gemma4"), f"<|tool_call>call:%n{JSON}<tool_call|>"),
    "tags": Family(
        get_format("qwen3_coder"),
        "<tool_call>\n<function=%n>\n<parameter=%k>\n%v\n</parameter>\n</function>\n</tool_call>",
    ),
    "keys and values in tags": Family(
        get_format("glm45"),
        "<tool_call>%n\n<arg_key>%k</arg_key>\n<arg_value>%v</arg_value>\n</tool_call>",
    ),
    "tags that tell types": Family(
        get_format("deepseek_v32"),
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="%n">\n'
        '<｜DSML｜parameter name="%k" string="false">%v</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    ),
    "elements": Family(ELEMENTS, '<jobs><job of="%n"><%k>%v</%k></job></jobs>'),
    "Python": Family(get_format("llama4_pythonic"), "[%n(%k=%v)]"),
    "Python in markers": Family(get_format("olmo3"), "<function_calls>%n(%k=%v)</function_calls>"),
    "channels": Family(
        HARMONY,
        "<|channel|>commentary to=functions.%n <|constrain|>json<|message|>" + JSON + "<|call|>",
    ),
    "recipients": Family(get_format("functionary_v32"), f">>>%n\n{JSON}"),
    "methods": Family(get_format("llama3_json"), "<|python_tag|>%n.call(%k=%v)"),
}


NAMED = Tools([{"name": name} for name in ("f", *(f"w{at}w" for at in range(400)))])
"""The tools of the calls in these tests."""


def tools_for(fmt):
    """Return `NAMED` for formats whose calls are known only by their names, else None."""
    return NAMED if fmt.derived.unproven_calls and not fmt.code.start else None


def read(fmt, text, size=WHOLE, reason="stop", **options):
    """Return a parser that was fed `text` in chunks of `size`, and finished with `reason`.

    By default it has the tools of `tools_for`.
    """
    options = {"tools": tools_for(fmt)} | options
    parser = StreamParser(fmt, **options)
    for at in range(0, len(text), size):
        parser.feed(text[at : at + size])
    parser.finish(reason)
    return parser


def kinds(parser):
    """Return the set of the kinds of its issues."""
    return {issue.kind for issue in parser.issues}


def emitted(parser):
    """Return all emitted text: content, reasoning, ids, names, arguments and issue details."""
    content, reasoning, calls = as_joined(parser.message)
    details = [issue.detail for issue in parser.issues]
    return "\n".join([content, reasoning, *("\n".join(call) for call in calls), *details])
