"""The command `deltaparse`: finds the subcommand that its arguments name, and runs it.

Each subcommand has a module of its own. They stand on the packages below, as any program may. Bad
input is one line on stderr and exit code 2.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import Any, NoReturn

import deltaparse as dp

from .analyze_command import ANALYZE
from .demo_command import DEMO
from .doctor_command import DOCTOR
from .formats_command import FORMATS
from .grammar_command import GRAMMAR
from .inputs import BadInput
from .inspect_command import INSPECT
from .parse_command import PARSE
from .replay_command import REPLAY
from .response_template_command import RESPONSE_TEMPLATE
from .serve_command import SERVE
from .subcommand import complain

__all__ = ["main"]

SHELLS = ("bash", "zsh", "tcsh")
SUBCOMMANDS = (
    *(DEMO, PARSE, ANALYZE, FORMATS, GRAMMAR, RESPONSE_TEMPLATE),
    *(DOCTOR, REPLAY, INSPECT, SERVE),
)
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
  deltaparse response-template model/                  what transformers reads it with
  deltaparse doctor model/ --tools tools.json          is all well with them
  deltaparse serve --upstream http://127.0.0.1:8000    a gateway for OpenAI's clients
  deltaparse replay --template template.jinja --in log.jsonl --out results.jsonl
  deltaparse inspect --format hermes out.txt           what became of it, as a page
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments, or the process's; return its exit code."""
    if sys.stdout is None:
        complain("standard output is closed")
        return 1
    if isinstance(sys.stdout, TextIOWrapper):
        # What the output cannot encode must not stop it. In JSON these escapes mean the same.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        options, unknown = _arguments().parse_known_args(argv)
        if unknown:
            options.refuse(f"unrecognized arguments: {' '.join(unknown)}")
        options.run(options)
        sys.stdout.flush()
    except (BadInput, dp.DeltaParseError) as error:
        complain(str(error))
        return 2
    except SystemExit as done:  # argparse has printed the help or the version
        return int(done.code or 0)
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        _abandon_output()
        if not isinstance(error, BrokenPipeError):
            complain(error.strerror or str(error))
        return 1
    return 0


class _Arguments(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{message} (`{self.prog} -h` shows how)")


class _Completion(argparse.Action):
    """Prints a script that completes the command in a shell."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,  # noqa: ARG002 - what argparse passes
        values: Any,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        """Print, and be done."""
        try:
            import shtab
        except ImportError:
            words = "--completion needs the package shtab: pip install 'deltaparse[completion]'"
            raise BadInput(words) from None
        print(shtab.complete(parser, values))
        parser.exit()


def _arguments() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    top = _Arguments("deltaparse", description=DESCRIPTION, formatter_class=raw, allow_abbrev=False)
    top.add_argument(
        "--completion",
        action=_Completion,
        choices=SHELLS,
        metavar="SHELL",
        help=f"print what completes the command in {', '.join(SHELLS)}; needs the package shtab",
    )
    top.add_argument("--version", action="version", version=f"deltaparse {dp.__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for subcommand in SUBCOMMANDS:
        text = subcommand.help
        parser = commands.add_parser(
            subcommand.name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog=subcommand.epilog,
            formatter_class=raw,
            allow_abbrev=False,
        )
        subcommand.add_arguments(parser)
        parser.set_defaults(run=subcommand.run, refuse=parser.error)
    return top


def _abandon_output() -> None:
    """Nobody reads on: let Python's last flush go nowhere, not fail."""
    with suppress(OSError, ValueError):
        output = sys.stdout.fileno()
        os.dup2(os.open(os.devnull, os.O_WRONLY), output)
