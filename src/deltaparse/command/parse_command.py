"""The command `deltaparse parse`: parse a model's output and print it as JSON while it streams.

If no call is found, a note on stderr suggests a built-in format with a matching call syntax.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

import deltaparse as dp
from deltaparse.stream import DeltaIterator

from .inputs import (
    BadInput,
    add_source,
    chunks,
    messages_list,
    model_output,
    read_source,
    records,
    switches_of,
    text_file,
    tools_list,
)
from .subcommand import TEMPLATES, Subcommand, complain, print_json, whole_number
from .terminal import progress

__all__ = ["PARSE", "Glance"]

ENOUGH = 1 << 20
"""Bytes of an output that are searched for another format."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to a parser."""
    add = parser.add_argument
    add_source(parser)
    add(
        "--tools",
        metavar="FILE",
        help="allow calls of these OpenAI tools only, a JSON list (default: any name)",
    )
    prompt = parser.add_mutually_exclusive_group()
    prompt.add_argument(
        "--prompt", metavar="FILE", help="use this rendered prompt, or its end (default: none)"
    )
    prompt.add_argument(
        "--messages", metavar="FILE", help="render the prompt from these messages, a JSON list"
    )
    add(
        "--switch",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="set a template variable, e.g. enable_thinking=true (repeatable)",
    )
    add(
        "--chunk",
        metavar="N",
        type=whole_number(),
        help="split the output into chunks of N characters (default: as it arrives)",
    )
    add(
        "--finish",
        metavar="REASON",
        help="set the engine's finish reason, e.g. stop or length (default: derived from the text)",
    )
    add(
        "--as",
        dest="form",
        choices=FORMS,
        default="events",
        help="select the form: events (one JSON line per delta), sse (OpenAI chunks), message "
        "(OpenAI message, with issues and finish reason on stderr), result (all in one object) "
        "(default: events)",
    )
    add(
        "--model",
        metavar="NAME",
        default="deltaparse",
        help="set the model name in OpenAI chunks (default: deltaparse)",
    )
    add(
        "--jsonl",
        action="store_true",
        help="read one JSON record per line and print a result for each, with the fields text and "
        "optionally id, prompt, messages, tools, finish_reason (default: one raw output)",
    )
    add("--check", action="store_true", help="exit with status 1 if there is an issue")
    add(
        "output",
        metavar="FILE",
        nargs="?",
        default="-",
        help='parse this file, "-" for stdin (default: stdin)',
    )


def run(options: argparse.Namespace) -> None:
    """Parse the output and print it in the selected form.

    Raises:
        BadInput: a file cannot be used.
        UsageError: the format name is unknown.
    """
    tools = tools_list(options.tools) if options.tools else None
    with model_output(options.output) as output:
        source = Source(options)
        if options.jsonl:
            found = _print_results(records(output, options.output), source, tools)
        else:
            found = _print_one(output, source, tools)
    if options.check and found:
        raise SystemExit(1)


class Source:
    """The format of the outputs, and the template and switches that render prompts."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.template, self.fmt = read_source(options)
        self.switches = switches_of(options.switch)
        if self.template is None and (options.messages or self.switches):
            raise BadInput("--messages and --switch require --template, which renders the prompt")
        if self.template is not None and not self.fmt.verified:
            why = self.fmt.issues[0] if self.fmt.issues else "no conversation was rendered"
            complain(f"note: {options.template}: the format is not verified: {why}")

    def prompt(self, tools: list[Any] | None) -> str:
        """Return the prompt from --messages or --prompt, or "" without them."""
        if self.options.messages:
            return self.rendered(messages_list(self.options.messages), tools)
        return text_file(self.options.prompt) if self.options.prompt else ""

    def rendered(self, messages: list[Any], tools: list[Any] | None) -> str:
        """Return the prompt of a conversation.

        Raises:
            BadInput: no template was given.
        """
        if self.template is None:
            raise BadInput("records with messages require --template, which renders the prompt")
        return self.template.render(messages, tools, add_generation_prompt=True, **self.switches)


def _print_one(output: io.BufferedReader, source: Source, tools: list[Any] | None) -> bool:
    """Print one parsed output. Return True if there were issues."""
    options = source.options
    glance = Glance(chunks(output, options.chunk))
    prompt = source.prompt(tools)
    try:
        deltas = dp.iter_deltas(
            glance, source.fmt, tools=tools, prompt=prompt, finish_reason=options.finish
        )
    except dp.UsageError as error:
        raise BadInput(f"{options.tools}: {error}") from error
    FORMS[options.form](deltas, options)
    if tools != [] and not deltas.parser.message.tool_calls and (note := glance.note()):
        complain(f"note: {note}")
    return bool(deltas.parser.issues)


def _print_results(
    found: Iterator[dict[str, Any]], source: Source, tools: list[Any] | None
) -> bool:
    """Print the result of each record. Return True if there were issues."""
    from deltaparse.replay.records import plain_id  # lazy: only --jsonl needs the replay package

    issues = False
    for record in progress(found, "parsing"):
        given = record.get("tools", tools)
        prompt = record.get("prompt") or ""
        if not prompt and record.get("messages"):
            prompt = source.rendered(record["messages"], given)
        parser = dp.StreamParser(source.fmt, tools=given, prompt=prompt or source.prompt(given))
        parser.feed(record["text"])
        parser.finish(record.get("finish_reason", source.options.finish))
        head = {"id": plain_id(record["id"])} if "id" in record else {}
        print_json(head | _result(parser))
        issues = issues or bool(parser.issues)
    return issues


class Glance:
    """Iterator over the chunks of an output that keeps its beginning to suggest a format."""

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
        """Return a note about a built-in format with matching calls, or ""."""
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
    _tell_issues(deltas.parser)


def _print_message(deltas: DeltaIterator, _: argparse.Namespace) -> None:
    for _delta in deltas:
        pass
    print_json(deltas.parser.message.to_openai(), indent=2)
    _tell_issues(deltas.parser)
    complain(f"finish reason: {deltas.parser.finish_reason}")


def _print_result(deltas: DeltaIterator, _: argparse.Namespace) -> None:
    for _delta in deltas:
        pass
    print_json(_result(deltas.parser), indent=2)


def _tell_issues(parser: dp.StreamParser) -> None:
    """Print the issues to stderr, for forms of output without a place for issues."""
    for issue in parser.issues:
        complain(f"{issue.kind} at {issue.span[0]}-{issue.span[1]}: {issue.detail}")


def _result(parser: dp.StreamParser) -> dict[str, Any]:
    """Return the message, finish reason, issues and attempts of a finished turn."""
    return {
        "message": parser.message.to_openai(),
        "finish_reason": parser.finish_reason,
        "issues": [asdict(issue) for issue in parser.issues],
        "attempts": [asdict(attempt) for attempt in parser.attempts],
    }


FORMS = {
    "events": _print_events,
    "sse": _print_sse,
    "message": _print_message,
    "result": _print_result,
}


def _event(delta: dp.Delta) -> dict[str, Any]:
    """Return a delta as a JSON object without its absent fields."""
    match delta:
        case dp.ContentDelta(text):
            return {"type": "content", "text": text}
        case dp.ReasoningDelta(text):
            return {"type": "reasoning", "text": text}
        case dp.ToolCallDelta(index, id, name, arguments):
            fields = {"id": id, "name": name, "arguments": arguments}
            there = {field: value for field, value in fields.items() if value}
            return {"type": "tool_call", "index": index} | there


PARSE = Subcommand(
    name="parse",
    help="parse the raw output of a model, and print it as JSON while it streams",
    add_arguments=add_arguments,
    run=run,
    epilog=TEMPLATES,
)
