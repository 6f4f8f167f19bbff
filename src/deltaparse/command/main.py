"""The command `deltaparse`: watch the parser, parse a model's output, analyse a chat template.

It stands on the public API alone. Bad input is one line on stderr and exit code 2.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NoReturn

import deltaparse as dp

from . import analyze_command, formats_command
from .demo import demo
from .grammar_command import add_arguments, grammar_text
from .inputs import BadInput, chat_template, model_output, pieces, text_file, tools_list

__all__ = ["main"]

DESCRIPTION = """\
Turn a language model's output into content, reasoning and tool calls, as it comes.
How the model writes is found out from its chat template; common formats have names, too.

  deltaparse demo                                      see it work
  deltaparse analyze template.jinja                    what a template tells
  deltaparse analyze templates/                        how far many are understood
  deltaparse parse --template template.jinja out.txt   what is in an output
  deltaparse parse --format hermes out.txt             the same, without a template
  deltaparse formats                                   the formats that have names
  deltaparse grammar --template template.jinja --tools tools.json
"""
TEMPLATES = """\
A template is a file of Jinja, or a tokenizer_config.json: take that one where the
template uses the tokenizer's bos_token or eos_token.
"""
LONGEST_LINE = 300


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments, or the process's; return its exit code."""
    if sys.stdout is None:
        _complain("standard output is closed")
        return 1
    if isinstance(sys.stdout, TextIOWrapper):
        # What the output cannot encode must not stop it. In JSON these escapes mean the same.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        options = _arguments().parse_args(argv)
        options.run(options)
        sys.stdout.flush()
    except (BadInput, dp.DeltaParseError) as error:
        _complain(str(error))
        return 2
    except SystemExit as done:  # argparse has printed the help or the version
        return int(done.code or 0)
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        _abandon_output()
        if not isinstance(error, BrokenPipeError):
            _complain(error.strerror or str(error))
        return 1
    return 0


class _Arguments(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{message} (`{self.prog} -h` shows how)")


def _arguments() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    top = _Arguments("deltaparse", description=DESCRIPTION, formatter_class=raw, allow_abbrev=False)
    top.add_argument("--version", action="version", version=f"deltaparse {dp.__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, run: Any, text: str, epilog: str = "") -> argparse.ArgumentParser:
        added = commands.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog=epilog,
            formatter_class=raw,
            allow_abbrev=False,
        )
        added.set_defaults(run=run)
        return added

    command("demo", _demo, "show a recorded answer being parsed, chunk by chunk")

    parsing = command("parse", _parse, "parse the raw output of a model", TEMPLATES)
    add = parsing.add_argument
    source = parsing.add_mutually_exclusive_group(required=True)
    source.add_argument("--template", metavar="FILE", help="the model's chat template")
    source.add_argument("--format", metavar="NAME", help="a format by name: `deltaparse formats`")
    add("--tools", metavar="FILE", help="OpenAI tools, a list in JSON; without: any may be called")
    add("--prompt", metavar="FILE", help="the rendered prompt, or its end")
    add("--chunk", metavar="N", type=_positive, help="cut the output in chunks of N characters")
    reasons = ("stop", "length")
    add("--finish", choices=reasons, help="why the output ended; without: its text tells")
    formats = ("events", "sse", "message")
    add(
        "--as",
        dest="form",
        choices=formats,
        default="events",
        help="events: a line of JSON for each delta (default); sse: OpenAI chunks; message: "
        "the whole OpenAI message",
    )
    add("--model", metavar="NAME", default="deltaparse", help="the model's name in OpenAI chunks")
    add("output", metavar="FILE", nargs="?", default="-", help="the output; without, or -: stdin")

    analyze_command.add_arguments(
        command("analyze", _analyze, "show what a chat template tells", TEMPLATES)
    )
    formats_command.add_arguments(command("formats", _formats, "list the formats with names"))
    add_arguments(command("grammar", _grammar, "constrain what a model writes", TEMPLATES))
    return top


def _demo(_: argparse.Namespace) -> None:
    demo(sys.stdout)


def _analyze(options: argparse.Namespace) -> None:
    if options.json and not Path(options.template).is_dir():
        fmt = dp.analyze(chat_template(options.template))
        _print_json(json.loads(fmt.to_json()), indent=2)
        return
    for line in analyze_command.analysis_lines(options):
        print(line, flush=True)


def _formats(options: argparse.Namespace) -> None:
    for line in formats_command.format_lines(options):
        print(line)


def _grammar(options: argparse.Namespace) -> None:
    print(grammar_text(options))


def _parse(options: argparse.Namespace) -> None:
    template = chat_template(options.template) if options.template is not None else None
    tools = tools_list(options.tools) if options.tools else None
    prompt = text_file(options.prompt) if options.prompt else ""
    with model_output(options.output) as output:
        fmt = dp.get_format(options.format) if template is None else dp.analyze(template)
        try:
            parser = dp.StreamParser(fmt, tools=tools, prompt=prompt)
        except dp.UsageError as error:
            raise BadInput(f"{options.tools}: {error}") from error
        if template is not None and not fmt.verified:
            why = fmt.issues[0] if fmt.issues else "nothing proves it"
            _complain(f"note: {options.template}: what was found is not verified: {why}")
        glance = formats_command.Glance()
        texts = glance.passing(pieces(output, options.chunk))
        _FORMS[options.form](parser, _deltas(parser, texts, options.finish), options)
        if tools != [] and not parser.message.tool_calls and (note := glance.note()):
            _complain(f"note: {note}")


def _deltas(parser: dp.StreamParser, texts: Iterable[bytes], reason: Any) -> Iterator[dp.Delta]:
    for text in texts:
        yield from parser.feed(text)
    yield from parser.finish(reason)


def _print_events(
    parser: dp.StreamParser, deltas: Iterable[dp.Delta], _: argparse.Namespace
) -> None:
    for delta in deltas:
        _print_json(_event(delta))
    for issue in parser.issues:
        words = {"kind": issue.kind, "span": issue.span, "detail": issue.detail}
        _print_json({"type": "issue"} | words)
    _print_json({"type": "finish", "finish_reason": parser.finish_reason})


def _print_sse(
    parser: dp.StreamParser, deltas: Iterable[dp.Delta], options: argparse.Namespace
) -> None:
    chunks = dp.chat_completion_chunks(
        deltas,
        id="chatcmpl-deltaparse",
        model=options.model,
        created=0,  # the same output always gives the same chunks
        finish_reason=lambda: parser.finish_reason,
    )
    for chunk in chunks:
        _print_json(chunk, before="data: ", after="\n\n")
    print("data: [DONE]", end="\n\n")


def _print_message(
    parser: dp.StreamParser, deltas: Iterable[dp.Delta], _: argparse.Namespace
) -> None:
    for _delta in deltas:
        pass
    _print_json(parser.message.to_openai(), indent=2)


_FORMS = {"events": _print_events, "sse": _print_sse, "message": _print_message}


def _event(delta: dp.Delta) -> dict[str, Any]:
    """A delta as a JSON object; what is absent is left out."""
    match delta:
        case dp.ContentDelta(text):
            return {"type": "content", "text": text}
        case dp.ReasoningDelta(text):
            return {"type": "reasoning", "text": text}
        case dp.ToolCallDelta(index, id, name, arguments):
            fields = {"id": id, "name": name, "arguments": arguments}
            there = {field: value for field, value in fields.items() if value}
            return {"type": "tool_call", "index": index} | there


def _print_json(
    value: Any, *, indent: int | None = None, before: str = "", after: str = "\n"
) -> None:
    """Print a JSON text at once, in letters that the output can write."""
    escape = (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"
    text = json.dumps(value, ensure_ascii=escape, indent=indent)
    print(f"{before}{text}", end=after, flush=True)


def _positive(text: str) -> int:
    with suppress(ValueError):
        if int(text) > 0:
            return int(text)
    raise argparse.ArgumentTypeError(f"a number of characters from 1 up, not {text!r}")


def _complain(words: str) -> None:
    """Print one line to stderr, whatever is in the words."""
    line = " ".join(words.split())
    if len(line) > LONGEST_LINE:
        line = f"{line[:LONGEST_LINE]} ..."
    print(f"deltaparse: {line}", file=sys.stderr)


def _abandon_output() -> None:
    """Nobody reads on: let Python's last flush go nowhere, not fail."""
    with suppress(OSError, ValueError):
        output = sys.stdout.fileno()
        os.dup2(os.open(os.devnull, os.O_WRONLY), output)
