"""The command `deltaparse replay`: parse recorded outputs again and compare the results."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import deltaparse as dp

from .inputs import BadInput, chat_template, read_format, text_file
from .replay_hints import hint, remedy
from .replay_pages import check_inspect, write_differing
from .replay_progress import progress_line
from .subcommand import TEMPLATES, Subcommand, complain, whole_number

if TYPE_CHECKING:
    from deltaparse.replay import Replayer, Tally

__all__ = ["REPLAY", "add_reading", "replayer_of"]

EPILOG = (
    TEMPLATES
    + """
A record is a JSON object on a line, or a row of a Parquet file. It has text, chunks or token_ids,
and optionally id, prompt or messages, tools, finish_reason, model, format or template, expected.
`expected` is the OpenAI message (or its chunks) that a server returned. It is compared with the
parsed output and classified: same, whitespace, merge, order, leak, loss, arguments, call_lost or
call_invented. Compressed files and logs of inspect-ai are read without options.

  deltaparse replay --template t.jinja log.jsonl --out results.jsonl
  deltaparse replay --format hermes logs/*.jsonl.gz --map text=response.raw
  deltaparse replay --format hermes log.jsonl --against qwen3_coder --out differs.jsonl
  deltaparse replay --format hermes output.jsonl --as test
  deltaparse replay --format hermes log.jsonl --minimal 17 --peer mine:parse --as test
  deltaparse replay --format hermes log.jsonl --inspect differs.html
"""
)
KINDS = (
    *("whitespace", "merge", "order", "leak", "loss", "arguments", "call_lost", "call_invented"),
    "raised",
)
LONGEST_EXAMPLE = 160
LAYOUTS = ("inspect-ai", "lm-eval", "openai-chunks", "openai-parsed", "sglang", "vllm")


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options for reading records: the format, the fields and the policies."""
    add = parser.add_argument
    add("--template", metavar="SOURCE", help="use the format of this chat template")
    add(
        "--format",
        metavar="NAME",
        help="use a built-in format (see `deltaparse formats`), or a format from a JSON file "
        "(default: the format of each record)",
    )
    add(
        "--layout",
        choices=LAYOUTS,
        help="read the log of this program (default: fields with their own names)",
    )
    add(
        "--map",
        action="append",
        default=[],
        metavar="FIELD=PATH",
        help="read a field from this path, e.g. text=response.raw (repeatable)",
    )
    add(
        "--vocabulary",
        metavar="SOURCE",
        help="decode token_ids with this tokenizer file (default: records need a text)",
    )
    add(
        "--policies",
        metavar="NAME=CHOICE,...",
        help="set how to handle malformed output, e.g. unknown_tool=text (default: see Policies)",
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to a parser."""
    add = parser.add_argument
    add_reading(parser)
    add(
        "files",
        metavar="FILE",
        nargs="*",
        default=[],
        help='read records from files, folders, patterns or fsspec URLs, "-" for stdin',
    )
    add(
        "--in",
        dest="source",
        metavar="FILE",
        nargs="+",
        action="extend",
        help="read these files too (same as FILE)",
    )
    add(
        "--out",
        metavar="FILE",
        help='write results to FILE, "-" for stdout (default: summary only)',
    )
    add(
        "--against",
        metavar="FORMAT|POLICIES",
        help="compare with another format, template or policies, and write only differing results",
    )
    add(
        "--differing",
        action="store_true",
        help="write only differing results (default: all results)",
    )
    add(
        "--jobs",
        metavar="N",
        type=whole_number(),
        help="run N processes (default: one per processor)",
    )
    add(
        "--unordered",
        action="store_true",
        help="write blocks of results as they finish (default: in the order of the records)",
    )
    add(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="run on this machine or on Ray (default: local)",
    )
    add(
        "--address",
        metavar="ADDRESS",
        help="use the Ray cluster at this address (default: a local cluster)",
    )
    add(
        "--minimal",
        metavar="ID",
        help="print the smallest part of this record that shows the fault",
    )
    add(
        "--peer",
        metavar="MODULE:FUNCTION",
        help="compare with this parser, a function f(chunks, record) (with --minimal)",
    )
    add(
        "--class",
        dest="kind",
        metavar="CLASS",
        choices=KINDS,
        help="search for this fault, with --minimal and --peer or --against: "
        f"{', '.join(KINDS)} (default: any)",
    )
    add(
        "--as",
        dest="form",
        choices=("json", "test"),
        default="json",
        help="print a test of the first record or of the result of --minimal (default: json)",
    )
    add(
        "--inspect",
        metavar="FILE",
        help="write an inspector page of differing records or of the result of --minimal "
        "(default: no page)",
    )


def run(options: argparse.Namespace) -> None:
    """Replay the records, write the results and print the table.

    Raises:
        BadInput: a file or option cannot be used, or no output can be parsed.
        UsageError: the format name is unknown, or a file cannot be opened.
    """
    options.source = [*options.files, *(options.source or ())]
    if not options.source:
        raise BadInput('no records given: use deltaparse replay FILE ..., with "-" for stdin')
    if "-" in options.source and len(options.source) > 1:
        raise BadInput("-: standard input cannot be combined with files")
    check_inspect(options)
    _check_minimal(options)
    replayer = replayer_of(options)
    if options.minimal is not None or options.form == "test":
        from .replay_minimal import print_minimal, print_test

        (print_test if options.minimal is None else print_minimal)(replayer, options)
        return
    differing = options.differing or options.against is not None
    if options.engine == "ray":
        from deltaparse.replay.ray_engine import replay_on_ray  # lazy: requires ray

        if options.out in (None, "-") or options.source == ["-"]:
            raise BadInput("--engine ray requires files: --in FILE --out FILE")
        with progress_line() as line:
            tally = replay_on_ray(
                replayer,
                options.source,
                options.out,
                address=options.address,
                jobs=options.jobs,
                differing=differing,
                progress=line,
            )
    else:
        tally = _local(replayer, options, differing=differing)
    _check_read(replayer, tally, options.source)
    _report(tally, options)
    if words := hint(replayer, tally, options.source):
        complain(f"note: {words}")
    if options.inspect is not None:
        write_differing(replayer, tally, options)


def _check_minimal(options: argparse.Namespace) -> None:
    """Raise `BadInput` for options that would be ignored without --minimal."""
    for name, given in (("--peer", options.peer), ("--class", options.kind)):
        if given is not None and options.minimal is None:
            raise BadInput(f"{name} requires --minimal ID, which reduces a record")
    if options.kind is not None and options.peer is None and options.against is None:
        raise BadInput("--class requires --peer or --against, because it classifies a comparison")


def _local(replayer: Replayer, options: argparse.Namespace, *, differing: bool) -> Tally:
    from deltaparse.replay import replay_file, replay_stream

    if options.out == "-" and sys.stdout is not None:
        target: Any = cast(BinaryIO, sys.stdout.buffer)
    else:
        target = options.out
    way = {"jobs": options.jobs, "differing": differing, "ordered": not options.unordered}
    if options.source == ["-"]:
        if sys.stdin is None:
            raise BadInput("standard input is closed")
        return replay_stream(replayer, sys.stdin.buffer, target, **way)
    with progress_line() as line:
        return replay_file(replayer, options.source, target, progress=line, **way)


def _check_read(replayer: Replayer, tally: Tally, sources: list[str]) -> None:
    """Raise `BadInput` if no record could be parsed: the files or the options are wrong."""
    if tally.errors < tally.records:
        return
    where = f"{sources[0]}: " if len(sources) == 1 else ""
    if not tally.records:
        raise BadInput(f"{where}no record found")
    words = filter(None, (tally.examples[0][:LONGEST_EXAMPLE], remedy(replayer, sources)))
    raise BadInput(f"{where}no output could be parsed: {'; '.join(words)}")


def _report(tally: Tally, options: argparse.Namespace) -> None:
    """Print the table (to stderr if results go to stdout) and the number of unread records."""
    from deltaparse.replay.tables import table

    print(table(tally), end="", file=sys.stderr if options.out == "-" else sys.stdout)
    if tally.errors:
        complain(f"note: {tally.errors} of {tally.records} records could not be read")
    if tally.unrendered:
        count = f"{tally.unrendered} of {tally.records} records"
        complain(f"note: the messages of {count} were not rendered; use --template")


def replayer_of(options: argparse.Namespace) -> Replayer:
    """Return the replayer for the options.

    Raises:
        BadInput: a file or option cannot be used.
        UsageError: the format name is unknown.
    """
    from deltaparse.replay import LAYOUTS as MAPS
    from deltaparse.replay import Replayer

    fmt, template = _format_and_template(options.format, options.template)
    if fmt is not None and options.format is None and not fmt.verified:
        why = fmt.issues[0] if fmt.issues else "no conversation was rendered"
        complain(f"note: {options.template}: the format is not verified: {why}")
    paths = dict(MAPS[options.layout]) if options.layout else {}
    for given in options.map:
        name, sign, path = given.partition("=")
        if not sign:
            raise BadInput(f"--map {given}: expected FIELD=PATH, e.g. text=response.raw")
        paths[name] = path
    policies = _policies(options.policies) if options.policies else dp.Policies()
    made: dict[str, Any] = {"vocabulary": options.vocabulary, "fields": paths}
    against = None
    if options.against is not None:
        other, other_template, others = fmt, template, policies
        if "=" in options.against:
            others = _policies(options.against)
        elif Path(options.against).exists() and not _holds_format(options.against):
            other, other_template = _format_and_template(None, options.against)
        else:
            other = read_format(options.against)
        against = Replayer(other, template=other_template, policies=others, **made)
    return Replayer(fmt, template=template, policies=policies, against=against, **made)


def _format_and_template(
    name: str | None, source: str | None
) -> tuple[dp.WireFormat | None, dp.ChatTemplate | None]:
    """Return the named format, or that of the template, and the template.

    The format is None if neither is given: then each record has its own.
    """
    template = None if source is None else chat_template(source)
    if name is not None:
        return read_format(name), template
    return (None if template is None else dp.analyze(template)), template


def _holds_format(name: str) -> bool:
    """Return True if a file is a format in JSON."""
    with suppress(BadInput, ValueError, dp.DeltaParseError, RecursionError):
        dp.WireFormat.from_json(text_file(name))
        return True
    return False


def _policies(text: str) -> dp.Policies:
    """Parse policies in the form `unknown_tool=text,extra_calls=drop`, or in JSON.

    Raises:
        BadInput: the text is not JSON, or a policy is unknown.
    """
    chosen: Any
    if text.lstrip().startswith("{"):
        try:
            chosen = json.loads(text)
        except ValueError as error:
            raise BadInput(f"policies: not JSON: {error}") from error
    else:
        pairs = (pair.partition("=") for pair in text.split(","))
        chosen = {name.strip(): choice.strip() for name, _, choice in pairs}
    names = [policy.name for policy in fields(dp.Policies)]
    for name in chosen:
        if name not in names:
            raise BadInput(f"unknown policy {name!r}, expected one of: {', '.join(names)}")
    return dp.Policies(**chosen)


REPLAY = Subcommand(
    name="replay",
    help="parse recorded outputs again, and attribute differences to the model or the parser",
    add_arguments=add_arguments,
    run=run,
    epilog=EPILOG,
)
