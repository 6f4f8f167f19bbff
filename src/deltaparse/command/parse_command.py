"""The command `deltaparse parse`: what becomes of a model's output, as lines of JSON as it comes.

Where no call was found, a note says which format by name would find one.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import deltaparse as dp
from deltaparse.stream import DeltaIterator

from .inputs import BadInput, chat_template, chunks, model_output, text_file, tools_list
from .subcommand import TEMPLATES, Subcommand, complain, print_json

__all__ = ["PARSE", "Glance"]

ENOUGH = 1 << 20
"""Bytes of an output that are looked at for another format."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what the command takes."""
    add = parser.add_argument
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--template", metavar="FILE", help="the model's chat template")
    source.add_argument("--format", metavar="NAME", help="a format by name: `deltaparse formats`")
    add("--tools", metavar="FILE", help="OpenAI tools, a list in JSON; without: any may be called")
    add("--prompt", metavar="FILE", help="the rendered prompt, or its end")
    add("--chunk", metavar="N", type=_positive, help="cut the output in chunks of N characters")
    reasons = ("stop", "length")
    add("--finish", choices=reasons, help="why the output ended; without: its text tells")
    add(
        "--as",
        dest="form",
        choices=FORMS,
        default="events",
        help="events: a line of JSON for each delta (default); sse: OpenAI chunks; message: "
        "the whole OpenAI message",
    )
    add("--model", metavar="NAME", default="deltaparse", help="the model's name in OpenAI chunks")
    add("output", metavar="FILE", nargs="?", default="-", help="the output; without, or -: stdin")


def run(options: argparse.Namespace) -> None:
    """Parse the output that the options name, and print it in the form that they ask for.

    Raises:
        BadInput: one of the files cannot be used.
        UsageError: there is no format of that name.
    """
    template = chat_template(options.template) if options.template is not None else None
    tools = tools_list(options.tools) if options.tools else None
    prompt = text_file(options.prompt) if options.prompt else ""
    with model_output(options.output) as output:
        fmt = dp.get_format(options.format) if template is None else dp.analyze(template)
        glance = Glance(chunks(output, options.chunk))
        try:
            deltas = dp.iter_deltas(
                glance, fmt, tools=tools, prompt=prompt, finish_reason=options.finish
            )
        except dp.UsageError as error:
            raise BadInput(f"{options.tools}: {error}") from error
        if template is not None and not fmt.verified:
            why = fmt.issues[0] if fmt.issues else "nothing proves it"
            complain(f"note: {options.template}: what was found is not verified: {why}")
        FORMS[options.form](deltas, options)
        if tools != [] and not deltas.parser.message.tool_calls and (note := glance.note()):
            complain(f"note: {note}")


class Glance:
    """Iterates over the chunks of an output and keeps the first, to say what it looks like."""

    def __init__(self, texts: Iterable[bytes]) -> None:
        self._texts = texts
        self._kept: list[bytes] = []
        self._room = ENOUGH

    def __iter__(self) -> Iterator[bytes]:
        for text in self._texts:
            if self._room > 0:
                self._kept.append(text[: self._room])
                self._room -= len(text)
            yield text

    def note(self) -> str:
        """Say which format would find calls in the output, "" if none."""
        output = b"".join(self._kept).decode(errors="replace")
        found = next((one for one in dp.suggest_formats(output) if one.calls), None)
        if found is None:
            return ""
        others = f", or {', '.join(found.also)}" if found.also else ""
        return f"no call was parsed, but this looks like --format {found.name}{others}: {found.why}"


def _print_events(deltas: DeltaIterator, _: argparse.Namespace) -> None:
    for delta in deltas:
        print_json(_event(delta))
    for issue in deltas.parser.issues:
        words = {"kind": issue.kind, "span": issue.span, "detail": issue.detail}
        print_json({"type": "issue"} | words)
    print_json({"type": "finish", "finish_reason": deltas.parser.finish_reason})


def _print_sse(deltas: DeltaIterator, options: argparse.Namespace) -> None:
    events = dp.chat_completion_chunks(
        deltas,
        id="chatcmpl-deltaparse",
        model=options.model,
        created=0,  # the same output always gives the same chunks
        finish_reason=lambda: deltas.parser.finish_reason,
    )
    for event in events:
        print_json(event, before="data: ", after="\n\n")
    print("data: [DONE]", end="\n\n")


def _print_message(deltas: DeltaIterator, _: argparse.Namespace) -> None:
    for _delta in deltas:
        pass
    print_json(deltas.parser.message.to_openai(), indent=2)


FORMS = {"events": _print_events, "sse": _print_sse, "message": _print_message}


def _event(delta: dp.Delta) -> dict[str, Any]:
    """Make a JSON object of a delta; what is absent is left out."""
    match delta:
        case dp.ContentDelta(text):
            return {"type": "content", "text": text}
        case dp.ReasoningDelta(text):
            return {"type": "reasoning", "text": text}
        case dp.ToolCallDelta(index, id, name, arguments):
            fields = {"id": id, "name": name, "arguments": arguments}
            there = {field: value for field, value in fields.items() if value}
            return {"type": "tool_call", "index": index} | there


def _positive(text: str) -> int:
    with suppress(ValueError):
        if int(text) > 0:
            return int(text)
    raise argparse.ArgumentTypeError(f"a number of characters from 1 up, not {text!r}")


PARSE = Subcommand(
    name="parse",
    help="parse the raw output of a model",
    add_arguments=add_arguments,
    run=run,
    epilog=TEMPLATES,
)
