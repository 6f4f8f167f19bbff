"""The command `deltaparse grammar`: print a grammar for constrained decoding.

Comments in GBNF and Lark list the triggers of a lazy grammar, and the parts of the schemas that
the grammar does not enforce.
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
    """Add the arguments of the command to a parser."""
    add = parser.add_argument
    add_source(parser)
    add_switches(parser)
    add("--tools", metavar="FILE", help="constrain calls to these OpenAI tools, a JSON list")
    add(
        "--as",
        dest="form",
        choices=FORMS,
        default="gbnf",
        help="select the notation: gbnf (llama.cpp), lark (llguidance) or structural-tag "
        "(xgrammar) (default: gbnf)",
    )
    add(
        "--tool-choice",
        metavar="CHOICE",
        default="auto",
        help="allow or force calls: auto, none, required, or the name of a tool (default: auto)",
    )
    add("--single", action="store_true", help="allow one call at most (default: any number)")
    add("--response-schema", metavar="FILE", help="constrain the content to this JSON Schema")
    add("--prompt", metavar="FILE", help="use this rendered prompt, or its end (default: none)")
    add(
        "--vocabulary",
        metavar="SOURCE",
        help="write markers that are special tokens as tokens, not as text, from a "
        "tokenizer.json, a tekken.json, a model's folder or a GGUF file (default: text)",
    )
    add(
        "--reasoning-budget",
        metavar="N",
        type=int,
        help="limit reasoning to N tokens (default: no limit)",
    )
    add(
        "--eager",
        action="store_true",
        help="constrain the whole response, for engines without lazy grammars "
        "(default: from the first trigger on)",
    )
    add(
        "--check",
        action="store_true",
        help="exit with status 1 if the grammar does not enforce the schemas completely",
    )


def run(options: argparse.Namespace) -> None:
    """Print the grammar.

    Raises:
        BadInput: a file cannot be used, or no grammar can be built from the files.
    """
    text, loose = _text(options)
    print(text)
    if options.check and loose:
        raise SystemExit(1)


def _text(options: argparse.Namespace) -> tuple[str, bool]:
    """Return the grammar, and True if it does not enforce the schemas completely."""
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
        raise BadInput(f"{name}: not a JSON Schema (expected an object)")
    return schema


def _nothing(fmt: dp.WireFormat, tools: list[Any] | None, options: argparse.Namespace) -> str:
    """Return the reason for an empty grammar."""
    if not options.tools:
        return "nothing to constrain: give --tools or --response-schema"
    if options.tool_choice == "none":
        return "nothing to constrain: --tool-choice none forbids calls"
    if not tools:
        return f"{options.tools}: nothing to constrain: the list of tools is empty"
    why = fmt.issues[0] if fmt.issues else "the template renders no tool calls"
    return f"{_source(options)}: nothing to constrain: {why}"


def _source(options: argparse.Namespace) -> str:
    return str(options.template or options.format)


def _notes(grammar: dp.Grammar, left_out: Sequence[tuple[str, str]]) -> list[str]:
    return [
        *(f"trigger ({kind}): {json.dumps(value)}" for kind, value in grammar.triggers),
        *(f"not enforced: {keyword} of {place}" for place, keyword in left_out),
    ]


GRAMMAR = Subcommand(
    name="grammar",
    help="print a grammar for constrained decoding",
    add_arguments=add_arguments,
    run=run,
    epilog=TEMPLATES,
)
