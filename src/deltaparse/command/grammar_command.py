"""The command `deltaparse grammar`: what a model may write, for the engine that holds it to it.

GBNF and Lark come with comments that say what is not in the grammar itself: where a lazy one
begins, and which parts of the schemas it does not hold the model to.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

import deltaparse as dp

from .inputs import (
    BadInput,
    add_source,
    add_switches,
    read_source,
    switches_of,
    text_file,
    tools_list,
)
from .subcommand import TEMPLATES, Subcommand

__all__ = ["GRAMMAR"]

FORMS = ("gbnf", "lark", "structural-tag")
CHOICES = ("auto", "none", "required")
COMMENTS = {"gbnf": "#", "lark": "//"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what the command takes."""
    add = parser.add_argument
    add_source(parser)
    add_switches(parser)
    add("--tools", metavar="FILE", help="OpenAI tools, a list in JSON")
    add(
        "--as",
        dest="form",
        choices=FORMS,
        default="gbnf",
        help="gbnf: for llama.cpp (default); lark: for llguidance; structural-tag: for xgrammar",
    )
    add(
        "--tool-choice",
        metavar="CHOICE",
        default="auto",
        help="auto (default), none, required, or the name of a tool",
    )
    add("--single", action="store_true", help="one call and no more")
    add("--response-schema", metavar="FILE", help="the JSON Schema of the content")
    add("--prompt", metavar="FILE", help="the rendered prompt, or its end")
    add(
        "--vocabulary",
        metavar="SOURCE",
        help="the model's tokens: a tokenizer.json, a tekken.json, a model's folder, a GGUF file; "
        "markers that are special tokens are these in the grammar, and not their texts",
    )
    add("--reasoning-budget", metavar="N", type=int, help="the most tokens of reasoning")
    add("--eager", action="store_true", help="the whole turn, for engines that know no triggers")
    add(
        "--check",
        action="store_true",
        help="exit with status 1 if the grammar does not hold the model to all of the schemas",
    )


def run(options: argparse.Namespace) -> None:
    """Print the grammar that the options ask for.

    Raises:
        BadInput: one of the files cannot be used, or no grammar follows from what is in them.
    """
    text, loose = _text(options)
    print(text)
    if options.check and loose:
        raise SystemExit(1)


def _text(options: argparse.Namespace) -> tuple[str, bool]:
    """The grammar, and whether it leaves out something of the schemas."""
    _, fmt = read_source(options, switches_of(options.switch))
    tools = tools_list(options.tools) if options.tools else None
    prompt = text_file(options.prompt) if options.prompt else ""
    request: dict[str, Any] = {
        "tool_choice": _choice(options.tool_choice),
        "parallel_tool_calls": not options.single,
        "response_schema": _schema(options.response_schema),
        "prompt": prompt,
        "vocabulary": _vocabulary(options.vocabulary),
    }
    try:
        if options.form == "structural-tag":
            tag = dp.structural_tag(fmt, tools, **request)
            loose = bool(dp.gbnf(fmt, tools, **request).not_expressed)
            return json.dumps(tag, ensure_ascii=False, indent=2), loose
        budget = options.reasoning_budget
        grammar = dp.gbnf(fmt, tools, **request, lazy=not options.eager, reasoning_budget=budget)
    except dp.UsageError as error:
        raise BadInput(f"{options.tools or _source(options)}: {error}") from error
    if not grammar.text:
        raise BadInput(_nothing(fmt, tools, options))
    is_gbnf = options.form == "gbnf"
    text = grammar.text if is_gbnf else grammar.as_lark()
    left_out = grammar.not_expressed if is_gbnf else grammar.not_expressed_in_lark
    comment = COMMENTS[options.form]
    notes = "".join(f"{comment} {line}\n" for line in _notes(grammar, left_out))
    return notes + text.rstrip("\n"), bool(left_out)


def _choice(text: str) -> str | Mapping[str, Any]:
    if text in CHOICES:
        return text
    return {"type": "function", "function": {"name": text}}


def _vocabulary(source: str | None) -> dp.Vocabulary | None:
    if not source:
        return None
    try:
        return dp.Vocabulary.load(source)
    except dp.DeltaParseError as error:
        raise BadInput(f"{source}: {str(error).removeprefix(f'{source}: ')}") from error


def _schema(name: str | None) -> Mapping[str, Any] | None:
    if not name:
        return None
    try:
        schema = json.loads(text_file(name))
    except ValueError as error:
        raise BadInput(f"{name}: not JSON: {error}") from error
    if not isinstance(schema, Mapping):
        raise BadInput(f"{name}: not a JSON Schema: no object")
    return schema


def _nothing(fmt: dp.WireFormat, tools: list[Any] | None, options: argparse.Namespace) -> str:
    """Say why there is no grammar."""
    if not options.tools:
        return "nothing to constrain: give --tools or --response-schema"
    if options.tool_choice == "none":
        return "nothing to constrain: --tool-choice none lets no tool be called"
    if not tools:
        return f"{options.tools}: nothing to constrain: there is no tool in it"
    why = fmt.issues[0] if fmt.issues else "the template renders no tool calls"
    return f"{_source(options)}: nothing to constrain: {why}"


def _source(options: argparse.Namespace) -> str:
    return str(options.template or options.format)


def _notes(grammar: dp.Grammar, left_out: Sequence[tuple[str, str]]) -> list[str]:
    return [
        *(f"begins at the {kind} {json.dumps(value)}" for kind, value in grammar.triggers),
        *(f"not held to: {keyword} of {place}" for place, keyword in left_out),
    ]


GRAMMAR = Subcommand(
    name="grammar",
    help="constrain what a model writes",
    add_arguments=add_arguments,
    run=run,
    epilog=TEMPLATES,
)
