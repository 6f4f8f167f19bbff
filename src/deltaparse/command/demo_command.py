"""The command `deltaparse demo`: stream a recorded response through the parser.

The model is invented for the demonstration, so its format cannot be built in. The analysis derives
it from the chat template. Chunks are cut at difficult places: inside markers, a number, an escape
and a name. The response also contains beginnings of markers that are content.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TextIO

import deltaparse as dp

from .explain import sample_call
from .subcommand import Subcommand
from .terminal import wants_colour

__all__ = ["DEMO", "QUESTION", "TEMPLATE", "TOKENS", "TOOLS", "demo"]

TEMPLATE = """\
{%- if tools -%}
~tools~
{% for tool in tools %}
{{ tool.function | tojson }}
{% endfor %}
~dark~
{% endif %}
{%- for message in messages %}
{%- set role = "lantern" if message.role == "assistant" else message.role -%}
~{{ role }}~
{% if message.reasoning_content -%}
..oO( {{ message.reasoning_content }} )Oo..
{% endif %}
{{- message.content or "" }}
{%- for call in message.tool_calls or [] %}

[[ask> {"task": "{{ call.function.name }}", \
"given": {{ call.function.arguments | tojson }}} <ask]]
{%- endfor %}

~dark~
{% endfor %}
{%- if add_generation_prompt -%}
~lantern~
{% endif %}
"""
"""The template of the model "Lantern"."""

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "sunset",
            "description": "When the sun sets.",
            "parameters": {
                "type": "object",
                "properties": {"place": {"type": "string"}, "latitude": {"type": "number"}},
            },
        },
    }
]
QUESTION = "When do they light the lamps in Malmö and in Hội An?"
TOKENS = (
    *("..", "oO", "( Two ", "places", ", so ", "two calls", ".. at", " once", ". )O", "o..\n"),
    *("Let me", " look", " up [", "both", "] of", " them.\n", "[", "[as", "k", '> {"ta'),
    *('sk": "sun', 'set", ', '"given": ', '{"place": "Malm', "\\", "u00", "f6", '", "lati'),
    *('tude": 5', "5.", "605", "}} <a", "sk]]\n[[ask> {", '"task": "sunset", "gi'),
    *('ven": {"pl', 'ace": "H\\u1ed9i', " An", '"', ', "latitude"', ": 15.", "88", "}"),
    *("} ", "<ask]", "]", "\n~", "dark", "~\n"),
)
"""The recorded response, token by token."""

COLOURS = {"reasoning": "35", "content": "32", "call": "1;33", "arguments": "36", "buffered": "2"}
LEFT = 26
"""Width of the column of chunks: the longest chunk with its bars."""


def add_arguments(_: argparse.ArgumentParser) -> None:
    """Add no arguments."""


def run(_: argparse.Namespace) -> None:
    """Show the demonstration."""
    demo(sys.stdout)


def demo(out: TextIO) -> None:
    """Show the analysis of the template, then the deltas of each chunk."""
    template = dp.ChatTemplate(TEMPLATE)
    fmt = dp.analyze(template)
    look = _Look(out)
    look.say('"Lantern" is an invented model. deltaparse derives its format from the')
    look.say("chat template:", "")
    look.say(*(f"  {look.bold(f'{name:<11}')}{text}" for name, text in _findings(fmt)), "")
    look.say("Its response is cut at difficult places. A chunk is buffered if it belongs to a")
    look.say("marker, may start one, or ends inside a name, a number or an escape:", "")
    question = [{"role": "user", "content": QUESTION}]
    prompt = template.render(question, tools=TOOLS, add_generation_prompt=True)
    parser = dp.StreamParser(fmt, tools=TOOLS, prompt=prompt)
    for token in TOKENS:
        look.row(token, parser.feed(token))
    look.row(None, parser.finish("stop"))
    look.say("", look.bold("The message:"), "")
    look.say(json.dumps(parser.message.to_openai(), indent=2), "")
    look.say(f"{look.bold('Finish reason:')} {parser.finish_reason}")


class _Look:
    """Style of the demonstration for one output: colors and encodable symbols."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._colour = wants_colour(out)
        self._bar, self._newline = "│", "↵"
        try:
            (self._bar + self._newline).encode(out.encoding or "ascii")
        except UnicodeEncodeError:
            self._bar, self._newline = "|", "\\n"

    def say(self, *lines: str) -> None:
        for line in lines:
            self._out.write(f"{line}\n")

    def bold(self, text: str) -> str:
        return self._paint(text, "1")

    def row(self, chunk: str | None, deltas: list[dp.Delta]) -> None:
        """Show a chunk (None for the end) with its deltas, one per line."""
        left, width = self._between_bars(chunk) if chunk is not None else ("(end)", 5)
        became = [became for delta in deltas for became in _became(delta)]
        nothing = ("nothing buffered" if chunk is None else "buffered", "")
        for kind, text in became or [nothing]:
            code = COLOURS.get(kind, "2")
            right = self._paint(f"{kind:<11}" if text else kind, code)
            if kind == "call":
                right += self._paint(text, code)
            elif text:
                right += self._between_bars(text, code)[0]
            self.say(f"  {left}{' ' * (LEFT - width)}{right}")
            left, width = "", 0

    def _between_bars(self, text: str, code: str = "0") -> tuple[str, int]:
        """Return a text with visible whitespace, and its width in columns."""
        seen = text.replace("\n", self._newline)
        bar = self._paint(self._bar, "2")
        return f"{bar}{self._paint(seen, code)}{bar}", len(seen) + 2

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text


def _became(delta: dp.Delta) -> Iterator[tuple[str, str]]:
    match delta:
        case dp.ReasoningDelta(text):
            yield "reasoning", text
        case dp.ContentDelta(text):
            yield "content", text
        case dp.ToolCallDelta(index, _, name, arguments):
            if name is not None:
                yield "call", f"{name}, call {index}"
            if arguments:
                yield "arguments", arguments


def _findings(fmt: dp.WireFormat) -> Iterator[tuple[str, str]]:
    yield "reasoning", f"between {fmt.reasoning.start!r} and {fmt.reasoning.end!r}"
    yield "calls", sample_call(fmt)
    yield "turn", f"ends with {fmt.turn.ends[0]!r}"
    yield "verified", "rendered conversations parse back unchanged" if fmt.verified else "no"


DEMO = Subcommand(
    name="demo",
    help="stream a recorded response through the parser, chunk by chunk",
    add_arguments=add_arguments,
    run=run,
)
