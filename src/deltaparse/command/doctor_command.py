"""The command `deltaparse doctor`: whether all is well with a model, in one page.

It asks what goes wrong in practice: does the template prove itself, and under which switches; do
its markers survive decoding; do these tools make grammars; what does each engine need set.
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
    """One thing that was looked at: in which part, how it is, and in words."""

    part: str
    status: Status
    detail: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what the command takes."""
    add = parser.add_argument
    add("--tools", metavar="FILE", help="OpenAI tools, a list in JSON: do they make grammars?")
    add("--json", action="store_true", help="the findings as JSON")
    add_switches(parser)
    add("--cache", metavar="DIR", help="keep what templates tell in this folder")
    add("source", metavar="SOURCE", help="a template, a tokenizer's file, a model's folder, a GGUF")


def run(options: argparse.Namespace) -> None:
    """Print what was found; exit with status 1 if something failed.

    Raises:
        BadInput: there is no chat template, or a file cannot be used.
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
        yield Finding("template", "ok", "what it renders parses back the same")
    else:
        yield from (Finding("template", "failed", issue) for issue in fmt.issues)
    none = "no rendering shows any" if fmt.verified else "no rendering that came back shows any"
    for part in ("content", "reasoning", "calls"):
        places = getattr(fmt.proved, part)
        words = f"proved with {_places(places)}" if places else none
        yield Finding(part, "ok" if places else "note", words)
    for name, changes in fmt.switches.items():
        if changes:
            yield Finding("switch", "note", f"{name} changes {', '.join(changes)}")
    reads = template.calls_read
    if reads.ids != "any":
        yield Finding("history", "note", f"ids of calls are made to be {reads.ids}")
    if template.reasoning_key not in ("", "reasoning_content"):
        yield Finding("history", "note", f"reasoning is read under {template.reasoning_key}")
    reason = template.why_no_bridge(ANSWER, QUESTION, **switches)
    yield Finding("bridge", "note", f"behind an answer: {reason or 'proved'}")


def _places(places: tuple[str, ...]) -> str:
    settings = dict.fromkeys(place.removesuffix(", tools") for place in places)
    return "; ".join(settings)


def _of_tokenizer(source: str, fmt: dp.WireFormat) -> Iterator[Finding]:
    """What decoding does to the markers, and what engines need set."""
    path = Path(source)
    if not path.is_dir() and path.suffix.lower() != ".gguf":
        path = path.parent
    try:
        findings = dp.check_tokenizer(path, fmt)
    except dp.UsageError as error:
        yield Finding("tokenizer", "note", f"none to look at: {error}")
        return
    for one in findings:
        part = "engine" if one.kind == "setting" else "tokenizer"
        status: Status = "note" if one.kind in ("dropped", "setting") else "ok"
        yield Finding(part, status, str(one))
    if not any(one.kind == "dropped" for one in findings):
        yield Finding("engine", "ok", "no marker is dropped: nothing need be set")


def _of_tools(fmt: dp.WireFormat, tools: list[Any]) -> Iterator[Finding]:
    """Whether a model can be held to the tools."""
    try:
        grammar = dp.gbnf(fmt, tools)
    except dp.UsageError as error:
        yield Finding("tools", "failed", str(error))
        return
    if not grammar.text:
        yield Finding("tools", "failed", "the format has no calls that could be held to them")
        return
    yield Finding("tools", "ok", f"{len(tools)} make a grammar")
    for place, keyword in grammar.not_expressed:
        yield Finding("tools", "note", f"not held to: {keyword} of {place}")


DOCTOR = Subcommand(
    name="doctor",
    help="say whether all is well with a model's template, tokenizer and tools",
    add_arguments=add_arguments,
    run=run,
    epilog=TEMPLATES,
)
