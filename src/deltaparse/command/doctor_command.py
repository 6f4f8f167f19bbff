"""The command `deltaparse doctor`: check a model and print a one-page report.

It checks that the template's format is verified, and with which switches. It checks that markers
survive decoding and that a grammar can be built for the tools. It lists required engine settings.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import deltaparse as dp

from .inputs import add_switches, chat_template, switches_of, tools_list
from .subcommand import TEMPLATES, Subcommand, print_json
from .terminal import BAD, DIM, GOOD, paint

__all__ = ["DOCTOR"]

Status = Literal["ok", "note", "failed"]
COLOURS: dict[Status, str] = {"ok": GOOD, "note": DIM, "failed": BAD}
ANSWER, QUESTION = "It is nine.", [{"role": "user", "content": "And now?"}]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: the part, its status and a description."""

    part: str
    status: Status
    detail: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to a parser."""
    add = parser.add_argument
    add(
        "--tools",
        metavar="FILE",
        help="check that a grammar can be built for these OpenAI tools, a JSON list "
        "(default: no tools)",
    )
    add("--json", action="store_true", help="print the findings as JSON")
    add_switches(parser)
    add("--cache", metavar="DIR", help="cache analysis results in DIR (default: no cache)")
    add(
        "source",
        metavar="SOURCE",
        help="check this template, tokenizer file, model folder or GGUF file",
    )


def run(options: argparse.Namespace) -> None:
    """Print the findings and exit with status 1 if a check failed.

    Raises:
        BadInput: the source has no chat template, or a file cannot be used.
    """
    template = chat_template(options.source)
    switches = switches_of(options.switch)
    fmt = dp.analyze(template, cache=options.cache, **switches)
    found = [
        *_of_template(template, fmt, switches),
        *_of_tokenizer(options.source, fmt),
        *(_of_tools(fmt, tools_list(options.tools)) if options.tools else ()),
    ]
    failed = any(one.status == "failed" for one in found)
    if options.json:
        print_json({"ok": not failed, "findings": [asdict(one) for one in found]}, indent=2)
    else:
        for one in found:
            status = paint(f"{one.status:<7}", COLOURS[one.status], sys.stdout)
            print(f"{status} {one.part:<12} {one.detail}")
    if failed:
        raise SystemExit(1)


def _of_template(
    template: dp.ChatTemplate, fmt: dp.WireFormat, switches: Mapping[str, Any]
) -> Iterator[Finding]:
    if fmt.verified:
        yield Finding("template", "ok", "rendered conversations parse back unchanged")
    else:
        yield from (Finding("template", "failed", issue) for issue in fmt.issues)
    none = "never rendered by the template" if fmt.verified else "not in any verified rendering"
    for part in ("content", "reasoning", "calls"):
        places = getattr(fmt.proved, part)
        words = f"verified with {_places(places)}" if places else none
        yield Finding(part, "ok" if places else "note", words)
    for name, changes in fmt.switches.items():
        if changes:
            yield Finding("switch", "note", f"{name} changes {', '.join(changes)}")
    reads = template.call_capabilities
    if reads.ids != "any":
        yield Finding("history", "note", f"call ids are converted to {reads.ids}")
    if template.reasoning_key not in ("", "reasoning_content"):
        yield Finding("history", "note", f"reasoning is read from `{template.reasoning_key}`")
    reason = template.why_no_bridge(ANSWER, QUESTION, **switches)
    yield Finding("bridge", "note", f"after an assistant turn: {reason or 'verified'}")


def _places(places: tuple[str, ...]) -> str:
    settings = dict.fromkeys(place.removesuffix(", tools") for place in places)
    return "; ".join(settings)


def _of_tokenizer(source: str, fmt: dp.WireFormat) -> Iterator[Finding]:
    """Check that markers survive decoding, and list required engine settings."""
    path = Path(source)
    if not path.is_dir() and path.suffix.lower() != ".gguf":
        path = path.parent
    try:
        findings = dp.check_tokenizer(path, fmt)
    except dp.UsageError as error:
        yield Finding("tokenizer", "note", f"not checked: {error}")
        return
    for one in findings:
        part = "engine" if one.kind == "setting" else "tokenizer"
        status: Status = "note" if one.kind in ("dropped", "setting") else "ok"
        yield Finding(part, status, str(one))
    if not any(one.kind == "dropped" for one in findings):
        yield Finding("engine", "ok", "no marker is dropped, no setting is required")


def _of_tools(fmt: dp.WireFormat, tools: list[Any]) -> Iterator[Finding]:
    """Check that a grammar can be built for the tools."""
    try:
        grammar = dp.gbnf(fmt, tools)
    except dp.UsageError as error:
        yield Finding("tools", "failed", str(error))
        return
    if not grammar.text:
        words = "cannot build a grammar: the format has no tool-call syntax, or the list is empty"
        yield Finding("tools", "failed", words)
        return
    yield Finding("tools", "ok", f"a grammar can be built (tools: {len(tools)})")
    for place, keyword in grammar.not_expressed:
        yield Finding("tools", "note", f"not enforced by the grammar: {keyword} of {place}")


DOCTOR = Subcommand(
    name="doctor",
    help="check a model's template, tokenizer and tools",
    add_arguments=add_arguments,
    run=run,
    epilog=TEMPLATES,
)
