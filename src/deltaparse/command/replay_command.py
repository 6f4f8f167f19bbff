"""The command `deltaparse replay`: recorded outputs, parsed again. The model, or the parser?"""

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
from .subcommand import TEMPLATES, Subcommand, complain

if TYPE_CHECKING:
    from deltaparse.replay import Replayer, Tally

__all__ = ["REPLAY", "add_reading", "count", "replayer_of"]

EPILOG = (
    TEMPLATES
    + """
A record is a JSON object on a line, or a row of a Parquet file: text, chunks or token_ids; and, if
it has them, id, prompt or messages, tools, finish_reason, model, format or template, and expected,
the OpenAI message (or its chunks) that a server made of it. Where something was expected, a class
says what the server did to what the model wrote: same, whitespace, merge, order, leak, loss,
arguments, call_lost, call_invented. Files may be packed; a log of inspect-ai is read as it is.

  deltaparse replay --template t.jinja log.jsonl --out results.jsonl --picture report.svg
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
    """Describe how records are read: in which format, from which fields, under which policies."""
    add = parser.add_argument
    add("--template", metavar="SOURCE", help="the model's chat template")
    add("--format", metavar="NAME", help="a format by name, or a file that has one as JSON")
    add("--layout", choices=LAYOUTS, help="whose log it is; without: fields have their own names")
    add("--map", action="append", default=[], metavar="FIELD=PATH", help="where a field stands")
    add("--vocabulary", metavar="SOURCE", help="what token_ids are read with: a tokenizer's file")
    add("--policies", metavar="NAME=CHOICE,...", help="what to do where an output is odd")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what the command takes."""
    add = parser.add_argument
    add_reading(parser)
    add(
        "files",
        metavar="FILE",
        nargs="*",
        default=[],
        help="the records: files, folders of them, patterns, all that fsspec takes; -: stdin",
    )
    add("--in", dest="source", metavar="FILE", nargs="+", action="extend", help="the same")
    add("--out", metavar="FILE", help="where the results go; -: stdout; without: nowhere")
    add(
        "--against",
        metavar="FORMAT|POLICIES",
        help="compare with another format, template or policies; only what differs is written",
    )
    add("--differing", action="store_true", help="write only results in which something differs")
    add("--jobs", metavar="N", type=count, help="processes; without: one for each processor")
    add("--unordered", action="store_true", help="write results as they come, a block at a time")
    add("--engine", choices=("local", "ray"), default="local", help="where it runs")
    add("--address", metavar="ADDRESS", help="of a Ray cluster; without: a local one")
    add("--minimal", metavar="ID", help="print the least of this record that shows the fault")
    add(
        "--peer", metavar="MODULE:FUNCTION", help="another parser, for --minimal: chunks and record"
    )
    add(
        "--class",
        dest="kind",
        metavar="CLASS",
        choices=KINDS,
        help=f"the fault, for --minimal with --peer or --against: {', '.join(KINDS)}; without: any",
    )
    add(
        "--as",
        dest="form",
        choices=("json", "test"),
        default="json",
        help="test: print a test of the first record, or of what --minimal finds",
    )
    add("--picture", metavar="FILE", help="write the table as an SVG picture, too")
    add(
        "--inspect",
        metavar="FILE",
        help="write the inspector's page of records that differ, or of what --minimal finds",
    )


def run(options: argparse.Namespace) -> None:
    """Replay the records that the options name; write the results, print the table.

    Raises:
        BadInput: one of the files or choices cannot be used, or no output at all can be parsed.
        UsageError: there is no format of that name, or a file cannot be opened.
    """
    options.source = [*options.files, *(options.source or ())]
    if not options.source:
        raise BadInput("which records? deltaparse replay FILE ..., or --in FILE ...; -: stdin")
    if "-" in options.source and len(options.source) > 1:
        raise BadInput("-: standard input is read alone, without files")
    check_inspect(options)
    _check_minimal(options)
    replayer = replayer_of(options)
    if options.minimal is not None or options.form == "test":
        from .replay_minimal import print_minimal, print_test

        (print_test if options.minimal is None else print_minimal)(replayer, options)
        return
    differing = options.differing or options.against is not None
    if options.engine == "ray":
        from deltaparse.replay.ray_engine import replay_on_ray  # needs ray

        if options.out in (None, "-") or options.source == ["-"]:
            raise BadInput("--engine ray reads and writes files: --in FILE --out FILE")
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
    """Refuse what would be ignored: what a fault is, where nothing is made small."""
    for name, given in (("--peer", options.peer), ("--class", options.kind)):
        if given is not None and options.minimal is None:
            raise BadInput(f"{name} is for --minimal ID, which makes a record small")
    if options.kind is not None and options.peer is None and options.against is None:
        raise BadInput("--class is for --minimal with --peer or --against: a bug of ours has none")


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
    """Refuse records of which not one could be parsed: the files are wrong, or the options."""
    if tally.errors < tally.records:
        return
    where = f"{sources[0]}: " if len(sources) == 1 else ""
    if not tally.records:
        raise BadInput(f"{where}there is no record")
    words = filter(None, (tally.examples[0][:LONGEST_EXAMPLE], remedy(replayer, sources)))
    raise BadInput(f"{where}no output could be parsed: {'; '.join(words)}")


def _report(tally: Tally, options: argparse.Namespace) -> None:
    """Print the table, where results are not printed; say what could not be read."""
    from deltaparse.replay.tables import table

    print(table(tally), end="", file=sys.stderr if options.out == "-" else sys.stdout)
    if tally.errors:
        complain(f"note: {tally.errors} of {tally.records} records could not be read")
    if tally.unrendered:
        count = f"{tally.unrendered} of {tally.records} records"
        complain(f"note: the messages of {count} were not rendered: --template does so")
    if options.picture:
        from deltaparse.replay.picture import picture

        try:
            Path(options.picture).write_text(picture(tally), encoding="utf-8")
        except OSError as error:
            raise BadInput(f"{options.picture}: {error.strerror}") from error


def replayer_of(options: argparse.Namespace) -> Replayer:
    """What replays records as the options say.

    Raises:
        BadInput: one of the files or choices cannot be used.
        UsageError: there is no format of that name.
    """
    from deltaparse.replay import LAYOUTS as MAPS
    from deltaparse.replay import Replayer

    fmt, template = _format_and_template(options.format, options.template)
    if fmt is not None and options.format is None and not fmt.verified:
        why = fmt.issues[0] if fmt.issues else "nothing proves it"
        complain(f"note: {options.template}: what was found is not verified: {why}")
    paths = dict(MAPS[options.layout]) if options.layout else {}
    for given in options.map:
        name, sign, path = given.partition("=")
        if not sign:
            raise BadInput(f"--map {given}: write FIELD=PATH, such as text=response.raw")
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
    """The format that is named, or that of the template; none where each record has its own."""
    template = None if source is None else chat_template(source)
    if name is not None:
        return read_format(name), template
    return (None if template is None else dp.analyze(template)), template


def _holds_format(name: str) -> bool:
    """Whether a file has a format as JSON."""
    with suppress(BadInput, ValueError, dp.DeltaParseError, RecursionError):
        dp.WireFormat.from_json(text_file(name))
        return True
    return False


def _policies(text: str) -> dp.Policies:
    """Policies as they are written in a shell: `unknown_tool=text,extra_calls=drop`, or JSON."""
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
            raise BadInput(f"there is no policy {name!r}: {', '.join(names)}")
    return dp.Policies(**chosen)


def count(text: str) -> int:
    """Read a number from 1 up."""
    with suppress(ValueError):
        if int(text) > 0:
            return int(text)
    raise argparse.ArgumentTypeError(f"a number from 1 up, not {text!r}")


REPLAY = Subcommand(
    name="replay",
    help="parse recorded outputs again, and say whether it is the model or the parser",
    add_arguments=add_arguments,
    run=run,
    epilog=EPILOG,
)
